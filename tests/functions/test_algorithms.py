"""Algorithms are records: found, listed, chosen and refused by what they say of themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from rbdgen import ConfigError, Options, UnsupportedError, load_robot
from rbdgen.cli.parser import make_parser
from rbdgen.compiler import compare_families
from rbdgen.functions import algorithms
from rbdgen.functions.algorithms import KINDS, Algorithm, listed, needed_kinds, usual
from rbdgen.functions.registry import function
from rbdgen.ir.interpret import walk
from rbdgen.setting import OPEN
from rbdgen.tracing.building import build_network, operand_samples
from rbdgen.tracing.trace_options import TraceOptions
from tests.chains import snake


@pytest.fixture
def twin() -> Iterator[Algorithm]:
    """The usual algorithm of inverse dynamics under another name, for serial chains."""
    made = replace(usual("inverse_dynamics"), name="twin", serial=True, levels=lambda links: links)
    algorithms.register(made)
    yield made
    algorithms.unregister(made)


def test_the_usual_algorithms_take_trees() -> None:
    for kind in KINDS:
        assert not usual(kind).serial
        assert listed(kind)[0] in (OPEN, usual(kind).name)


def test_functions_need_the_kinds_that_they_are_made_of() -> None:
    assert needed_kinds([function("id")]) == ("inverse_dynamics",)
    assert needed_kinds([function("m")]) == ()
    assert needed_kinds([function("fd"), function("did")]) == (
        "derivative",
        "mass_matrix",
        "inverse_dynamics",
        "forward_dynamics",
    )


def test_one_from_elsewhere_is_listed_chosen_traced_and_compared(twin: Algorithm) -> None:
    assert "twin" in listed("inverse_dynamics")
    chain = snake(3)
    found = []
    for name in (usual(twin.kind).name, "twin"):
        network, states = build_network(chain, TraceOptions(inverse_dynamics=name))
        samples = operand_samples(network, states)
        values = list(walk(network.graph, samples))
        found.append([values[i] for i in network.graph.outputs.values()])
    np.testing.assert_array_equal(*found)
    families = compare_families(chain, Options(("id",), word=24))
    assert "twin" in [f.algorithms["inverse_dynamics"] for f in families]


def test_one_for_serial_chains_refuses_trees(twin: Algorithm) -> None:
    with pytest.raises(
        UnsupportedError, match=r"^inverse-dynamics twin: .*; use inverse-dynamics recursive$"
    ):
        build_network(load_robot("hyq"), TraceOptions(inverse_dynamics="twin"))


def test_a_name_is_taken_once(twin: Algorithm) -> None:
    with pytest.raises(ConfigError, match=r"^algorithm inverse-dynamics twin: the name is taken"):
        algorithms.register(twin)


def test_what_is_there_to_be_compared_with_is_in_no_help(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert Options(("fd",), forward_dynamics="jsiia").forward_dynamics == "jsiia"
    with pytest.raises(ConfigError, match=r"must be one of auto, factors, hybrid, cfa, not 'none'"):
        Options(("fd",), forward_dynamics="none")
    with pytest.raises(SystemExit):
        make_parser(everything=True).parse_args(["layout", "--help-all"])
    assert "jsiia" not in capsys.readouterr().out
    names = [f.algorithms["forward_dynamics"] for f in compare_families(snake(2), Options(("fd",)))]
    assert "jsiia" in names
