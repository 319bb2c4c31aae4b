"""Formats of engines: one width, points by ranges alone, and errors far below the usual target of each entry."""

from __future__ import annotations

import pytest

from rbdgen.functions.registry import common
from rbdgen.machines.engine.core import STEP, Core
from rbdgen.machines.engine.special import is_special
from rbdgen.model.ranges import declared_ranges
from rbdgen.options import Options
from rbdgen.wordlength.experiment import make_experiment
from rbdgen.wordlength.targets import resolve_targets
from tests.conftest import few
from tests.machines.engine.mapped import SEED, mapped

STATES = 2000


@pytest.mark.parametrize("name", few(["pendulum2", "ur5", "iiwa14", "hyq"], "ur5"))
@pytest.mark.slow
def test_words_of_32_bits_keep_every_entry_of_every_function(name: str) -> None:
    own = mapped(name)
    targets = resolve_targets(Options(functions=common()).targets, own.network)
    ranges = declared_ranges(own.network.robot)
    experiment = make_experiment(own.network, ranges, SEED, STATES, targets)
    errors, flagged = experiment.measure(own.fixed)
    assert {key: e.worst for key, e in errors.items() if e.worst > 1} == {}
    assert set(flagged.values()) == {0.0}


@pytest.mark.slow
def test_points_are_multiples_of_a_few_bits() -> None:
    own = mapped("iiwa14")
    graph, formats = own.fixed.graph, own.fixed.formats
    for i, node in graph:
        if node.is_const or node.is_shift or is_special(node):
            continue
        assert formats[i].width == Core().width
        assert formats[i].frac % STEP == 0
