"""Multipliers that runs of products fill: how many there are, what is free on them; accumulators never wrap."""

from __future__ import annotations

import itertools
import random

import pytest

from rbdgen.ir.exactness import moved
from rbdgen.machines.pipeline.accumulators import Accumulator
from rbdgen.machines.pipeline.multipliers import UnitMultipliers
from tests.conftest import design


def test_there_are_as_many_multipliers_as_runs_fill() -> None:
    unit = UnitMultipliers(6, [(4, 1), (3, 1), (3, 1), (2, 1), (5, 4)])
    # the long one of four blocks, 4 with 2, and 3 with 3
    assert sorted(unit.sizes) == [1, 1, 4]
    assert unit.products == 17


def test_a_run_goes_on_at_the_beginning_of_the_interval() -> None:
    unit = UnitMultipliers(5, [])
    assert unit.phases(0, 2) == 0b00011
    assert unit.phases(4, 2) == 0b10001
    assert unit.phases(13, 3) == 0b11001


@pytest.mark.parametrize("seed", range(20))
def test_runs_that_come_first_leave_room_for_the_others(seed: int) -> None:
    """Runs of 1, 2, 3 and 6 products fill multipliers of 6 phases without a gap, whenever each would start."""
    draw = random.Random(seed)
    runs = [(length, 1) for length in (1, 2, 3, 6) for _ in range(6)]
    unit = UnitMultipliers(6, runs)
    assert len(unit.sizes) * 6 == unit.products
    draw.shuffle(runs)
    taken: dict[int, int] = dict.fromkeys(range(len(unit.sizes)), 0)
    for run in runs:
        earliest = draw.randrange(6)
        for start in range(earliest, earliest + 6):
            number = unit.find(start, run)
            if number is not None:
                break
        else:
            pytest.fail(f"no room for {run}")
        phases = unit.phases(start, run[0])
        assert not taken[number] & phases
        taken[number] |= phases
        unit.take(number, start, run)
    assert set(taken.values()) == {0b111111}


def test_what_is_given_back_is_free_again() -> None:
    unit = UnitMultipliers(4, [(3, 1), (2, 1)])
    number = unit.find(0, (3, 1))
    assert number is not None
    before = unit.gaps
    unit.take(number, 0, (3, 1))
    assert unit.gaps != before
    unit.release(number, 0, (3, 1))
    assert unit.gaps == before
    assert unit.waiting[3, 1] == 1


ACCUMULATING = [
    ("iiwa14", {"functions": ("id", "m"), "ii": 4}),
    pytest.param(
        "iiwa14",
        {"functions": ("dfd",), "ii": 12, "device": "ecp5", "rounding": "truncate"},
        marks=pytest.mark.thorough,
    ),
    ("ur5", {"functions": ("id",), "ii": 6, "word": 32}),
    ("hyq", {"functions": ("id",), "ii": 8, "device": "ecp5"}),
]


@pytest.mark.parametrize(("robot", "options"), ACCUMULATING)
def test_accumulators_never_wrap(robot: str, options: dict) -> None:
    """With every argument at either end of its format, what is accumulated stays within the width after each term, in
    the order in which they come."""
    schedule = design(robot, **options).plan.schedule
    draw = random.Random(1)
    seen = 0
    for nodes in schedule.products.values():
        if not schedule.in_time(nodes[0]):
            continue
        accumulator = Accumulator(schedule, tuple(nodes))
        low, high = -(1 << accumulator.width - 1), (1 << accumulator.width - 1) - 1
        for i in nodes:
            formats = schedule.folds.arguments(schedule.fixed, i)
            point = accumulator.points[i]
            start = accumulator.start(i)
            ends = [(fmt.minimum, fmt.maximum) for fmt in formats]
            every = itertools.product(*ends) if len(ends) < 9 else ()
            corners = list(every) or [tuple(map(draw.choice, ends)) for _ in range(300)]
            for raw in corners:
                total = start.constant
                if start.position is not None:
                    sign = accumulator.signs(i, start.position)[0]
                    total += sign * moved(raw[start.position], start.places)
                    assert low <= total <= high
                for k in schedule.orders[i]:
                    one, other = 2 * k, 2 * k + 1
                    places = point - formats[one].frac - formats[other].frac
                    product = moved(raw[one] * raw[other], places)
                    assert low <= product <= high
                    total += accumulator.signs(i, one)[0] * product
                    assert low <= total <= high
                    seen += 1
    assert seen > 1000
