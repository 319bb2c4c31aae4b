"""Layouts for a budget: the fastest that fits, the reason in words, and refusals that say what would do."""

from __future__ import annotations

from typing import Any

import pytest

from rbdgen import ConfigError, Options, RbdgenWarning, compile_robot, load_robot
from rbdgen.devices.registry import get_device
from rbdgen.functions.registry import common
from rbdgen.machines.pipeline.budget import Budget, fit_layout
from rbdgen.machines.pipeline.layout import Layout, SharingOptions, lay_out
from rbdgen.machines.pipeline.multipliers import product_runs
from tests.conftest import design, few, shared_robot

DEVICE = get_device("generic125")
ALL = common()


def fitted(budget: Budget, robot: str = "hyq", functions: tuple[str, ...] = ("id",)):
    d = design(robot, functions=functions, ii=4)
    return d, fit_layout(d.network, d.whole, SharingOptions(), budget)


@pytest.mark.parametrize(
    "count", [3, 47, 400, *(pytest.param(n, marks=pytest.mark.thorough) for n in (20, 100))]
)
def test_the_smallest_interval_within_so_many_multipliers(count: int) -> None:
    d, layout = fitted(Budget(multipliers=count))
    assert sum(layout.multipliers(DEVICE).values()) <= count
    if layout.ii > 1:
        shorter = SharingOptions(ii=layout.ii - 1)
        faster = lay_out(d.network, d.whole, shorter, blocks=count)
        assert sum(faster.multipliers(DEVICE).values()) > count


@pytest.mark.thorough
def test_the_promise_is_what_is_scheduled() -> None:
    d = compile_robot(load_robot("hyq"), Options(ALL, word=18), budget=Budget(multipliers=64))
    assert sum(d.plan.schedule.multipliers.values()) <= 64
    assert d.plan.schedule.utilization > 0.9
    assert d.options.ii == d.plan.schedule.ii == 15
    assert d.why[0] == "936 products on 64 multipliers need an interval of at least 15 cycles"
    assert any(
        "an interval of 16 cycles would do: lf_hip, lh_hip, rf_hip, rh_hip" in line
        for line in d.why
    )
    folded = compile_robot(load_robot("hyq"), Options(ALL, word=18), budget=Budget(multipliers=61))
    assert (
        "4 branches share one, in turns of 4 cycles: lf_hip, lh_hip, rf_hip, rh_hip" in folded.why
    )


def test_a_rate_is_met_with_the_fewest_multipliers() -> None:
    _, layout = fitted(Budget(rate=10e6))
    assert layout.ii == 12


def test_blocks_are_counted_by_the_devices_shape() -> None:
    d, layout = fitted(Budget(blocks=30))
    assert layout.blocks(DEVICE) <= 30
    assert layout.blocks(DEVICE) >= sum(layout.multipliers(DEVICE).values())
    again = lay_out(d.network, d.whole, SharingOptions(ii=layout.ii))
    assert sum(again.multipliers(DEVICE).values()) <= 30


@pytest.mark.parametrize(
    ("robot", "functions", "word"),
    [
        ("iiwa14", ("fd",), 18),
        pytest.param("hyq", ("did", "fd"), 22, marks=pytest.mark.thorough),
    ],
)
def test_products_of_two_sizes_take_no_more_blocks_than_they_must(
    robot: str, functions: tuple[str, ...], word: int
) -> None:
    options = Options(functions, device="ecp5", word=word)
    d = compile_robot(load_robot(robot), options, budget=Budget(blocks=130))
    schedule = d.plan.schedule
    assert schedule.blocks <= 130
    assert schedule.blocks == Layout(schedule.fixed, schedule.folds, schedule.ii, d.fixed).blocks(
        schedule.device
    )
    runs = product_runs(schedule.fixed, schedule.folds, schedule.device)
    assert len({blocks for _, blocks in runs.values()}) > 1


@pytest.mark.thorough
def test_units_join_further_where_a_board_would_be_too_small() -> None:
    few = compile_robot(
        load_robot("iiwa14"),
        Options(("did",), ii=6, word=18),
        budget=Budget(resources={"multipliers": 128}),
    )
    enough = compile_robot(load_robot("iiwa14"), Options(("did",), ii=6, word=18))
    assert few.plan.schedule.blocks <= 128 < enough.plan.schedule.blocks
    assert few.plan.schedule.utilization > enough.plan.schedule.utilization


def test_units_stay_apart_as_far_as_there_are_multipliers() -> None:
    d = design("iiwa14", functions=("id", "m"), ii=6)

    def units(blocks: int | None = None, **how: Any) -> Layout:
        return lay_out(d.network, d.whole, SharingOptions(ii=6, **how), blocks)

    joined, apart = units(), units(spread="twice")
    assert set(apart.multipliers(DEVICE)) == set(units(share=False).multipliers(DEVICE))
    least, most = joined.blocks(DEVICE), apart.blocks(DEVICE)
    assert len(joined.multipliers(DEVICE)) < len(apart.multipliers(DEVICE))
    assert least < most
    between = units(spread="twice", blocks=(least + most) // 2)
    assert between.blocks(DEVICE) <= (least + most) // 2
    assert (
        len(joined.multipliers(DEVICE))
        < len(between.multipliers(DEVICE))
        < len(apart.multipliers(DEVICE))
    )
    assert units(spread="twice", blocks=least).multipliers(DEVICE) == units(
        blocks=least
    ).multipliers(DEVICE)


def test_the_next_interval_is_longer() -> None:
    d, layout = fitted(Budget(multipliers=20))
    again = fit_layout(
        d.network, d.whole, SharingOptions(), Budget(multipliers=20), beyond=layout.ii
    )
    assert layout.ii < again.ii


def test_a_board_without_enough_logic_is_warned_of() -> None:
    small = Budget(
        blocks=40,
        name="board small",
        resources={"multipliers": 40, "luts": 1000, "registers": 10**6},
    )
    message = (
        r"^board small: by the model, about \d+ of 1000 luts would be used, and place and route rarely connects more "
        r"than 900; use a longer --ii, fewer functions"
    )
    with pytest.warns(RbdgenWarning, match=message):
        compile_robot(load_robot("pendulum2"), Options(device="ecp5", word=18), budget=small)


def test_a_board_without_enough_memories_is_warned_of() -> None:
    small = Budget(name="board small", resources={"memories": 1})
    message = (
        r"^board small: by the model, \d+ block memories would be used, and there are 1; use fewer"
    )
    options = Options(("id", "fd"), machine="engine", lanes=1)
    with pytest.warns(RbdgenWarning, match=message):
        compile_robot(load_robot("pendulum2"), options, budget=small)


@pytest.mark.parametrize("count", few([64, 256], 64))
def test_utilization_of_a_humanoid(count: int) -> None:
    d = compile_robot(
        shared_robot("atlas"), Options(("id",), word=18), budget=Budget(multipliers=count)
    )
    assert d.plan.schedule.utilization >= 0.9 or d.options.ii == 1


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        (Budget(multipliers=0), "multipliers: must be at least 1, not 0"),
        (Budget(rate=-1.0), r"rate: must be above 0 and at most 1\.25e\+08 tasks/s"),
        (Budget(rate=1e9), "rate: must be above 0"),
        (
            Budget(multipliers=10, rate=50e6),
            "and 10 multipliers reach .* tasks/s; ask for fewer or give more",
        ),
    ],
)
def test_what_cannot_be_had(budget: Budget, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        fitted(budget)


def test_a_budget_below_the_smallest_design(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fitted(Budget(multipliers=1))[1].ii >= 164
    monkeypatch.setattr("rbdgen.machines.pipeline.budget.MAX_II", 16)
    message = (
        "board tiny: 2 multiplier blocks are too few for 'hyq'; "
        "the smallest design has 1[0-9], at an interval of 16"
    )
    with pytest.raises(ConfigError, match=message):
        fitted(Budget(blocks=2, name="board tiny"))
