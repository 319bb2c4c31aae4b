"""The times in which a task keeps each lane of an engine busy, and how many words its values take.

Cycle 0 is that of the program's first word for the task.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from rbdgen.compiler import Design
from rbdgen.machines.engine.allocation import last_reads
from rbdgen.machines.engine.core import COSINE, MANTISSA
from rbdgen.machines.engine.jobs import PRODUCT, Slot
from rbdgen.machines.engine.program import Routine
from rbdgen.machines.engine.special import SINES
from rbdgen.report.drawings.spans import RESULT, TASK, Span, TaskTime

SPECIAL = "special unit"
"""The name of its row."""
PRODUCTS, CONSTANTS, SUMS = "products", "products with constants", "sums"
KINDS = (PRODUCTS, CONSTANTS, SUMS)
"""What a slot of a lane is."""


def lane(number: int) -> str:
    """The name of a lane's row."""
    return f"lane {number}"


def rows(design: Design) -> tuple[str, ...]:
    """All rows in the order in which they are drawn."""
    lanes = [lane(k) for k in range(design.engine.program.core.lanes)]
    return (TASK, *lanes, SPECIAL, RESULT)


def slot_kind(slot: Slot) -> str:
    """What a slot is."""
    if slot.kind != PRODUCT:
        return SUMS
    return CONSTANTS if any(value.node is None for value in slot.values) else PRODUCTS


def slots(routine: Routine) -> Iterator[tuple[int, int, str]]:
    """The slots of a task: lane, cycle and kind."""
    schedule = routine.schedule
    for own in schedule.work.sums:
        place = schedule.placed[own.node]
        for cycle, k in zip(place.cycles, place.order, strict=True):
            yield place.lane, cycle, slot_kind(own.slots[k])


def calls(routine: Routine) -> Iterator[tuple[int, int, str]]:
    """The calls of the special unit: first and last cycle, and what is computed."""
    schedule = routine.schedule
    for call, begin in zip(schedule.work.calls, schedule.calls, strict=True):
        if call.kind == SINES:
            yield begin, begin + COSINE, "sine and cosine"
        else:
            yield begin, begin + MANTISSA, "reciprocal"


def task_time(design: Design, function: str) -> TaskTime:
    """A task: runs of slots without a gap, by lane, and calls."""
    routine = design.engine.routine(function)
    spans = [Span(TASK, "", 0, routine.operands - 1)] if routine.operands else []
    by_lane: dict[int, dict[int, int]] = defaultdict(dict)
    for number, cycle, kind in slots(routine):
        by_lane[number][cycle] = int(kind != SUMS)
    for number, own in sorted(by_lane.items()):
        for first, last in _runs(sorted(own)):
            products = tuple((c, own[c]) for c in range(first, last + 1) if own[c])
            spans.append(Span(lane(number), "", first, last, products))
    for first, last, what in calls(routine):
        spans.append(Span(SPECIAL, what, first, last))
    spans += [Span(RESULT, "", cycle, cycle) for cycle in routine.schedule.read]
    return TaskTime(function, tuple(spans))


def _runs(cycles: list[int]) -> Iterator[tuple[int, int]]:
    """First and last of each run of ascending cycles without a gap."""
    first = last = cycles[0]
    for cycle in cycles[1:]:
        if cycle != last + 1:
            yield first, last
            first = cycle
        last = cycle
    yield first, last


def words_alive(routine: Routine) -> list[int]:
    """Words that values of a task take in all banks, by cycle."""
    schedule = routine.schedule
    last = last_reads(schedule)
    change = [0] * (schedule.end + 2)
    for node, written in schedule.written.items():
        change[written] += 1
        change[min(last.get(node, written), schedule.end) + 1] -= 1
    alive = []
    now = 0
    for difference in change[: schedule.end]:
        now += difference
        alive.append(now)
    return alive
