"""Schedules: as short as asked of the built-in arm, the same every time, and refused by name where there is no room."""

from __future__ import annotations

import dataclasses

import pytest

from rbdgen import Options, compile_robot, load_robot
from rbdgen.errors import ConfigError
from rbdgen.machines.engine.check import check_program
from rbdgen.machines.engine.composition import compose
from rbdgen.machines.engine.core import Core
from rbdgen.machines.engine.jobs import work_of
from rbdgen.machines.engine.loading import packed, routine_parts
from rbdgen.machines.engine.placing import NoRoomError
from rbdgen.machines.engine.program import make_program
from rbdgen.machines.engine.scheduler import least_interval, quickest, schedule
from rbdgen.machines.engine.sizes import MOST_DEPTH, MOST_WORDS
from tests.machines.engine.mapped import mapped

INTERVALS = {"id": 86, "fd": 194, "m": 80, "minv": 136, "did": 470, "dfd": 730}
"""Cycles from one task of the arm to the next that four lanes and two banks reach, and somewhat more."""
ENDS = {"id": 300, "dfd": 850}
"""Cycles from a task's first word to its last result word that two of them are to keep below."""
NEAR = 1.12
"""Intervals are within this factor of what slots and banks allow."""
LITTLE = 1.05
"""Those that are found first are within this factor of the shortest."""


def test_the_arms_functions_are_as_fast_as_can_be() -> None:
    routines = mapped("iiwa14").program.routines
    assert {f: routines[f].interval for f in INTERVALS if routines[f].interval > INTERVALS[f]} == {}
    assert {f: routines[f].schedule.end for f in ENDS if routines[f].schedule.end > ENDS[f]} == {}
    for routine in routines.values():
        least = least_interval(routine.schedule.work, Core())
        assert routine.interval <= NEAR * least + 1


def test_the_first_schedules_are_hardly_longer() -> None:
    routines = mapped("iiwa14").program.routines
    first = {f: quickest(own.schedule.work, Core()) for f, own in routines.items()}
    assert {f for f in INTERVALS if first[f].interval > LITTLE * routines[f].interval} == set()
    program = make_program(Core(), first, mapped("iiwa14").program.parameters)
    check_program(program, ("id", "did"))


def test_the_same_work_has_the_same_program() -> None:
    own = mapped("pendulum2", ("fd",))
    work = work_of(compose(own.network, own.fixed, "fd", Core()), Core())
    again = make_program(Core(), {"fd": schedule(work, Core())})
    assert again.routines["fd"].words == own.program.routines["fd"].words


def test_more_lanes_take_less_time() -> None:
    intervals = []
    for lanes, banks in ((1, 1), (2, 1), (4, 2), (8, 4)):
        own = mapped("ur5", ("id",), Core(lanes, banks))
        intervals.append(own.program.routines["id"].interval)
    assert intervals == sorted(intervals, reverse=True)
    assert len(set(intervals)) == 4


def test_an_interval_that_is_too_short_is_refused() -> None:
    work = mapped("pendulum2").program.routines["fd"].schedule.work
    with pytest.raises(
        NoRoomError, match=r"8 cycles: too short an interval; the shortest found is \d+"
    ):
        schedule(work, Core(), 8)


def test_memories_that_are_too_small_are_named() -> None:
    own = mapped("pendulum2").program.routines["dfd"].schedule
    small = dataclasses.replace(Core(), words=32)
    with pytest.raises(
        ConfigError, match=r"function 'dfd': needs \d+ words of each memory beside constants"
    ):
        make_program(small, {"dfd": own})
    tiny = dataclasses.replace(Core(), words=4)
    with pytest.raises(ConfigError, match=r"constants: \d+ do not fit 2 banks of 4 words"):
        make_program(tiny, {"dfd": own})


def test_an_engine_without_loops_is_named() -> None:
    options = Options(("roll",), machine="engine")
    work = {"roll": compile_robot(load_robot("pendulum2"), options).engine.routine("roll").schedule}
    complaint = r"^function 'roll': repeats, and its tasks keep 24 words .* 24 more than there are; an engine with 512 "
    with pytest.raises(ConfigError, match=complaint):
        make_program(Core(), work)
    with pytest.raises(ConfigError, match=r"the results of all steps under way need 45 words"):
        make_program(Core(kept=512, results=40), work)


@pytest.mark.parametrize("kept", [0, 1024])
def test_a_part_of_a_routine_is_one_write_in_the_largest_memories(kept: int) -> None:
    largest = Core(words=MOST_WORDS, depth=MOST_DEPTH, results=8192, limits=4096, kept=kept)
    for fields in routine_parts(largest):
        assert packed(fields, {name: (1 << width) - 1 for name, width in fields.items()})
