"""The choice of how hardware is shared: by cost, keeping what helps, with some choices given."""

from __future__ import annotations

import itertools
import math
import warnings
from dataclasses import replace
from typing import Any

import pytest

from rbdgen import (
    Budget,
    ConfigError,
    Options,
    RbdgenWarning,
    Robot,
    Target,
    compile_robot,
    load_robot,
)
from rbdgen.compiler import Design, choices
from rbdgen.compiler.choices import CHOICES, Workshop, choose
from rbdgen.compiler.cost import CROWDED, Cost
from rbdgen.compiler.lowering import Lowered, Traced, lower
from rbdgen.compiler.stages import default_choices
from rbdgen.functions.registry import common
from rbdgen.model import with_armature
from rbdgen.model.ranges import declared_ranges
from rbdgen.options import GOALS
from rbdgen_boards.board import get_board
from tests.chains import snake

ROBOT = load_robot("pendulum2")
FUNCTIONS = ("fd", "dfd")


def chosen(design: Design) -> dict[str, str]:
    return {name: getattr(design.options, name) for name in default_choices(design.options)}


def test_nothing_is_searched_where_nothing_is_scarce() -> None:
    design = compile_robot(ROBOT, Options(functions=FUNCTIONS, ii=4, word=18))
    assert chosen(design) == default_choices(Options(ii=4, word=18))
    stages: list[str] = []
    compile_robot(ROBOT, Options(ii=4, word=18), stages.append)
    assert stages == ["trace", "formats", "schedule"]


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.slow
def test_no_single_change_would_be_better(goal: str) -> None:
    options = Options(functions=FUNCTIONS, ii=8, goal=goal, word=18)
    workshop = Workshop(ROBOT, declared_ranges(ROBOT, {}), Target(), lambda stage: None)
    values = chosen(choose(workshop, options))

    def key(values: dict[str, str]) -> tuple[float, ...]:
        try:
            design = workshop.design(replace(options, **values), roughly=True)
        except ConfigError:  # the word is too short for it
            return (math.inf,)
        return Cost.of(design).key(goal, {})

    for choice in CHOICES:
        if not choice.is_open(ROBOT, options):
            continue
        for other in choice.values:
            assert key(values | {choice.option: other}) >= key(values)


@pytest.mark.thorough
def test_goals_differ() -> None:
    functions = ("id", *FUNCTIONS)  # the smallest design is another than the fastest
    area, latency, fast = (
        Cost.of(compile_robot(ROBOT, Options(functions=functions, ii=8, goal=goal, word=18)))
        for goal in ("area", "latency", "throughput")
    )
    assert area.area({}) < fast.area({})
    assert latency.latencies < fast.latencies
    assert fast.intervals <= area.intervals
    usual = Cost.of(compile_robot(ROBOT, Options(functions=functions, ii=8, word=18)))
    assert fast.intervals == usual.intervals
    assert fast.area({}) <= usual.area({})


@pytest.mark.slow
def test_what_is_given_stays() -> None:
    for programs, spread in itertools.product(("two", "one"), ("fewest", "twice")):
        options = Options(
            functions=FUNCTIONS, ii=8, goal="area", programs=programs, spread=spread, word=18
        )
        design = compile_robot(ROBOT, options)
        assert (design.options.programs, design.options.spread) == (programs, spread)


def test_a_crowded_device_is_spared_only_as_far_as_that_helps() -> None:
    options = Options(functions=FUNCTIONS, ii=8, word=18)
    usual = Cost.of(compile_robot(ROBOT, options))
    enough = {"luts": usual.tables * 2, "registers": usual.registers * 2, "multipliers": 500}
    budget = Budget(name="board much", resources=enough)
    assert chosen(compile_robot(ROBOT, options, budget=budget)) == default_choices(options)
    few = enough | {"luts": int(usual.tables * 1.1)}
    budget = Budget(name="board little", resources=few)
    design = compile_robot(ROBOT, Options(functions=FUNCTIONS, ii=8, word=18), budget=budget)
    cost = Cost.of(design)
    assert cost.tables < usual.tables
    assert cost.share(few) < usual.share(few)
    assert usual.share(few) > CROWDED
    assert any("look-up tables instead of" in line for line in design.why)


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        (Budget(multipliers=0), "^multipliers: must be at least 1, not 0$"),
        (Budget(multipliers="9"), "^multipliers: must be a whole number, not '9'$"),  # type: ignore[arg-type]
        (Budget(rate=-1.0), "^rate: must be above 0, not -1$"),
        (Budget(rate="fast"), "^rate: must be a number, not 'fast'$"),  # type: ignore[arg-type]
    ],
)
def test_a_demand_that_is_none(budget: Budget, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        compile_robot(ROBOT, Options(word=18), budget=budget)


@pytest.mark.thorough
def test_an_arm_with_all_functions_on_a_board() -> None:
    """What was once 221,587 look-up tables by the model, where nothing said so is fit into a board."""
    board = get_board("tang_mega_138k_pro")
    budget = Budget(blocks=board.resources["multipliers"], name="board", resources=board.resources)
    options = Options(functions=common(), device=board.timing, word=18)
    design = compile_robot(load_robot("iiwa14"), options, budget=budget)
    cost = Cost.of(design)
    assert cost.tables <= 129_000
    assert cost.blocks <= board.resources["multipliers"]
    assert design.options.ii <= 12
    assert chosen(design) == {
        "constants": "multipliers",
        "programs": "one",
        "spread": "fewest",
        "inverse_dynamics": "recursive",
        "forward_dynamics": "factors",
        "operational_space": "factors",
    }


@pytest.mark.thorough
def test_chains_get_the_algorithms_that_answer_first() -> None:
    options = Options(functions=("id",), goal="latency", word=26, constants="logic")
    long = compile_robot(snake(12), options)
    assert long.options.inverse_dynamics == "scan"
    given = replace(options, inverse_dynamics="recursive")
    assert long.promised_latency("id") < compile_robot(snake(12), given).promised_latency("id")
    (note,) = (line for line in long.why if line.startswith("inverse dynamics by prefix sums"))
    assert "latencies of 11 cycles in all instead of" in note
    short = compile_robot(snake(2), options)
    assert short.options.inverse_dynamics == "recursive"


@pytest.mark.slow
def test_algorithms_are_tried_for_the_latency_of_chains_only() -> None:
    def tried(robot: Robot, **more: Any) -> list[str]:
        stages: list[str] = []
        compile_robot(robot, Options(word=26, **more), stages.append)
        return [line for line in stages if line.startswith("try: inverse_dynamics")]

    assert tried(ROBOT, goal="area") == tried(ROBOT) == []
    assert tried(ROBOT, goal="latency") == ["try: inverse_dynamics scan"]
    assert tried(ROBOT, goal="latency", inverse_dynamics="recursive") == []
    assert tried(load_robot("hyq"), goal="latency", ii=4) == []


@pytest.mark.slow
def test_algorithms_that_miss_the_usual_error_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def coarse(traced: Traced, options: Options, *more: Any) -> Lowered:
        if options.inverse_dynamics == "scan":
            warnings.warn("formats are for an error 10 times as large", RbdgenWarning, stacklevel=2)
        return lower(traced, options, *more)

    monkeypatch.setattr(choices, "lower", coarse)
    options = Options(functions=("id",), goal="latency", word=26, constants="logic")
    assert compile_robot(snake(12), options).options.inverse_dynamics == "recursive"


def test_algorithms_that_a_chain_does_not_take_are_left_out() -> None:
    options = Options(functions=("fd",), goal="latency", word=26)
    geared = with_armature(snake(4), {"j1": 0.1})
    assert compile_robot(geared, options).options.forward_dynamics != "cfa"
