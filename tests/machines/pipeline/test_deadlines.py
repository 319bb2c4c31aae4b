"""What goes first where several functions wait for operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest

from rbdgen.machines.pipeline.buffers import operand_chains
from rbdgen.machines.pipeline.deadlines import LATER, LEADS, Deadlines
from rbdgen.machines.pipeline.delays import Operators
from rbdgen.machines.pipeline.schedule import chain_length
from rbdgen.machines.pipeline.scheduler import MORE_TABLES, schedule
from tests.conftest import design

FUNCTIONS = ("id", "m", "minv")
SEVEN = ("id", "fd", "m", "minv", "did", "dfd", "difd")


def deadlines() -> Deadlines:
    """Those of three functions of an arm, of which the mass matrix is the shortest."""
    plan = design("ur5", functions=FUNCTIONS, ii=4).plan
    times = plan.schedule
    operators = Operators(times.fixed, times.device, times.folds, times.ii)
    return Deadlines(operators, times.programs)


def test_without_leads_what_is_farthest_from_a_result_goes_first() -> None:
    found = deadlines()
    priorities = found.priorities(dict.fromkeys(found.heights, 0.0))
    for k, priority in enumerate(priorities):
        assert priority == max(heights[k] for heights in found.heights.values())


def test_with_a_whole_lead_the_first_operation_of_an_exit_is_as_urgent_as_of_the_longest() -> None:
    found = deadlines()
    (shortest, *_) = found.shorter()
    heights = found.heights[shortest]
    first = heights.index(found.longest[shortest])
    leads = dict.fromkeys(found.heights, 0.0) | {shortest: 1.0}
    last = max(found.longest.values())
    assert found.priorities(leads)[first] == pytest.approx(last)


@dataclass(frozen=True)
class Ends:
    """When exits end."""

    cycles: Mapping[str, int]

    def exits(self) -> dict[str, int]:
        """The cycles by exit."""
        return dict(self.cycles)


def tried(found: Deadlines, faster: str, others: float) -> tuple[Ends, int]:
    """The choice where all but the first attempt make one exit twice as fast and all others ``others`` times as late;
    and how many attempts there were."""
    attempts: list[Ends] = []

    def attempt(priorities: Sequence[float]) -> Ends:
        assert priorities
        cycles = dict.fromkeys(found.heights, 99)
        if attempts:
            for name in cycles:
                cycles[name] = 49 if name == faster else round(100 * others) - 1
        attempts.append(Ends(cycles))
        return attempts[-1]

    best = found.quickest(attempt, search=True)
    return best, len(attempts)


def test_every_lead_of_every_shorter_exit_is_tried_and_the_best_attempt_taken() -> None:
    found = deadlines()
    shorter = found.shorter()
    best, count = tried(found, shorter[0], others=1.0)
    assert count == 1 + len(LEADS) * len(shorter)
    assert best.cycles[shorter[0]] == 49


def test_no_exit_pays_for_all_others() -> None:
    found = deadlines()
    shorter = found.shorter()
    best, _ = tried(found, shorter[0], others=LATER + 0.1)
    assert set(best.cycles.values()) == {99}


@pytest.mark.slow
def test_short_functions_need_not_wait_for_long_ones() -> None:
    times = design("ur5", functions=SEVEN, ii=12)
    alone = design("ur5", functions=("m",), ii=12)
    together = times.promised_latency("m")
    assert together <= 1.2 * alone.promised_latency("m")


@pytest.mark.thorough
def test_angles_wait_for_few_more_tables_where_these_are_not_limited() -> None:
    plain = design("ur5", functions=SEVEN, ii=12).plan.schedule
    few = schedule(plain.fixed, plain.device, 12, plain.programs, plain.folds, hurry=False)
    more = schedule(plain.fixed, plain.device, 12, plain.programs, plain.folds, hurry=True)
    for unit, count in few.tables.items():
        assert count <= more.tables[unit] <= MORE_TABLES * count
    assert sum(more.tables.values()) > sum(few.tables.values())


@pytest.mark.thorough
def test_operands_that_wait_in_a_fifo_stand_in_no_registers_beside_it() -> None:
    plan = design("iiwa14", functions=("fd", "dfd"), ii=4).plan
    times = plan.schedule
    through = {(fifo.sink, value) for fifo in plan.fifos for value in fifo.values}
    chains = operand_chains(times, plan.units, plan.fifos)
    direct: dict[int, int] = {}
    waiting = 0
    for unit in plan.units:
        for tap in unit.inputs:
            if tap.node not in chains:
                continue
            length = chain_length(times.stands(tap.node), tap.cycle, times.ii)
            if (unit.name, tap.node) in through:
                waiting = max(waiting, length)
            else:
                direct[tap.node] = max(length, direct.get(tap.node, 0))
    assert waiting > max(chains.values())
    assert all(chains[node] >= length for node, length in direct.items())
