"""The model of depth: levels, chains of other lengths, and cycles near those that schedules promise."""

from __future__ import annotations

from typing import Any

import pytest

from rbdgen import Options, compile_robot, load_robot
from rbdgen.algo.chain import is_serial
from rbdgen.compiler.depth import (
    DepthModel,
    chain_depths,
    chain_of,
)
from rbdgen.devices.registry import get_device
from rbdgen.functions.dynamics_algorithms import elimination_levels, scan_levels
from rbdgen.tracing.trace_options import TraceOptions
from tests.chains import snake
from tests.conftest import few

FAMILIES: dict[str, tuple[dict[str, Any], ...]] = {
    "id": ({}, {"inverse_dynamics": "scan"}),
    "fd": ({}, {"inverse_dynamics": "scan", "forward_dynamics": "cfa"}),
}


@pytest.mark.parametrize(("links", "scans", "eliminations"), [(1, 0, 1), (8, 4, 4), (33, 6, 6)])
def test_levels_grow_by_one_with_each_doubling(links: int, scans: int, eliminations: int) -> None:
    assert scan_levels(links) == scans
    assert elimination_levels(links) == eliminations


@pytest.mark.parametrize("links", [1, 3, 17])
def test_chains_of_any_length_are_made_of_a_robot(links: int) -> None:
    arm = load_robot("iiwa14", base="floating")
    chain = chain_of(arm, links)
    assert is_serial(chain)
    assert len({body.name for body in chain.bodies}) == chain.nv - 5 == links
    assert chain.bodies[:8] == arm.bodies[:links][:8]


@pytest.mark.parametrize("function", few(FAMILIES, "id"))
@pytest.mark.slow
def test_cycles_are_near_those_of_schedules(function: str) -> None:
    """As near as decides which algorithm is sooner."""
    promised, modelled = [], []
    for more in FAMILIES[function]:
        design = compile_robot(snake(8), Options((function,), word=26, **more))
        promised.append(design.pipeline.leaving_cycle(function) + 1)
        model = DepthModel(get_device("generic125"), design.table_word)
        modelled.append(model.cycles(snake(8), design.network.options))
    for cycles, expected in zip(modelled, promised, strict=True):
        assert cycles == pytest.approx(expected, rel=0.35)
    usual, deep = modelled
    assert deep < usual
    assert promised[1] < promised[0]


def test_from_how_many_links_on_an_algorithm_is_sooner() -> None:
    model = DepthModel(get_device("generic125"), 26)
    usual, asked = (TraceOptions(("id",), **more) for more in FAMILIES["id"])
    first = model.pays_from(snake(2), asked, usual)
    assert first is not None
    assert 3 <= first <= 8
    for links, sooner in ((first - 1, False), (first, True), (2 * first, True)):
        chain = chain_of(snake(2), links)
        assert (model.cycles(chain, asked) < model.cycles(chain, usual)) == sooner
    assert model.pays_from(snake(2), usual, usual) is None


@pytest.mark.slow
def test_a_design_says_how_deep_it_is() -> None:
    (depth,) = chain_depths(compile_robot(snake(8), Options(word=26, inverse_dynamics="scan")))
    assert (depth.algorithm, depth.usual, depth.function) == ("scan", "recursive", "id")
    assert depth.levels == 4
    assert depth.at_once == 8
    assert depth.cycles < depth.usual_cycles
    assert chain_depths(compile_robot(snake(2), Options(word=26))) == ()
