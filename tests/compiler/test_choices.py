"""The choice of how hardware is shared: by cost, keeping what helps, with some choices given."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from rbdgen import Budget, Options, compile_robot, load_robot
from rbdgen.compiler import Design
from rbdgen.compiler.choices import CHOICES, CROWDED, Cost, Workshop, choose
from rbdgen.compiler.stages import PLAIN
from rbdgen.functions.registry import common
from rbdgen.model.ranges import declared_ranges
from rbdgen.options import GOALS
from rbdgen_boards.board import get_board

ROBOT = load_robot("pendulum2")
FUNCTIONS = ("fd", "dfd")


def chosen(design: Design) -> dict[str, str]:
    return {name: getattr(design.options, name) for name in PLAIN}


def test_nothing_is_searched_where_nothing_is_scarce() -> None:
    design = compile_robot(ROBOT, Options(functions=FUNCTIONS, ii=4))
    assert chosen(design) == PLAIN
    stages: list[str] = []
    compile_robot(ROBOT, Options(ii=4), stages.append)
    assert stages == ["trace", "formats", "schedule"]


@pytest.mark.parametrize("goal", GOALS)
def test_no_single_change_would_be_better(goal: str) -> None:
    options = Options(functions=FUNCTIONS, ii=8, goal=goal)
    workshop = Workshop(ROBOT, declared_ranges(ROBOT, {}), None, lambda stage: None)
    values = chosen(choose(workshop, options))

    def key(values: dict[str, str]) -> tuple[float, ...]:
        design = workshop.design(replace(options, **values), roughly=True)
        return Cost.of(design).key(goal, {})

    for choice in CHOICES:
        for other in (choice.other, PLAIN[choice.option]):
            assert key(values | {choice.option: other}) >= key(values)


def test_goals_differ() -> None:
    area, latency, fast = (
        Cost.of(compile_robot(ROBOT, Options(functions=FUNCTIONS, ii=8, goal=goal)))
        for goal in ("area", "latency", "throughput")
    )
    assert area.area({}) < fast.area({})
    assert latency.latencies < fast.latencies
    assert fast.intervals <= area.intervals
    plain = Cost.of(compile_robot(ROBOT, Options(functions=FUNCTIONS, ii=8)))
    assert fast.intervals == plain.intervals
    assert fast.area({}) < plain.area({})


def test_what_is_given_stays() -> None:
    for programs, spread in itertools.product(("two", "one"), ("fewest", "twice")):
        options = Options(functions=FUNCTIONS, ii=8, goal="area", programs=programs, spread=spread)
        design = compile_robot(ROBOT, options)
        assert (design.options.programs, design.options.spread) == (programs, spread)


def test_a_crowded_device_is_spared_only_as_far_as_that_helps() -> None:
    plain = Cost.of(compile_robot(ROBOT, Options(functions=FUNCTIONS, ii=8)))
    enough = {"luts": plain.tables * 2, "registers": plain.registers * 2, "multipliers": 500}
    budget = Budget(name="board much", resources=enough)
    assert chosen(compile_robot(ROBOT, Options(functions=FUNCTIONS, ii=8), budget=budget)) == PLAIN
    few = enough | {"luts": int(plain.tables * 1.1)}
    budget = Budget(name="board little", resources=few)
    design = compile_robot(ROBOT, Options(functions=FUNCTIONS, ii=8), budget=budget)
    cost = Cost.of(design)
    assert cost.tables < plain.tables
    assert cost.share(few) < plain.share(few)
    assert plain.share(few) > CROWDED
    assert any("look-up tables instead of" in line for line in design.why)


def test_an_arm_with_all_functions_on_a_board() -> None:
    """What was once 221,587 look-up tables by the model, where nothing said so is fit into a board."""
    board = get_board("tang_mega_138k_pro")
    budget = Budget(blocks=board.resources["multipliers"], name="board", resources=board.resources)
    options = Options(functions=common(), device=board.timing)
    design = compile_robot(load_robot("iiwa14"), options, budget=budget)
    cost = Cost.of(design)
    assert cost.tables <= 129_000
    assert cost.blocks <= board.resources["multipliers"]
    assert design.options.ii <= 12
    assert chosen(design) == {
        "columns": "fold",
        "constants": "multipliers",
        "programs": "one",
        "spread": "fewest",
    }
