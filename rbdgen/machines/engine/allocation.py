"""Addresses: where constants stand, and which word of its bank each value has.

Constants stay in the first words of banks. Behind them addresses rotate: with every interval what a program calls word
v is one further, so that tasks that overlap have words of their own, without a copy of the program for each. A value
that is written in cycle w and last read in cycle r of a task then takes, of every word's time, the same part of a
circle of ``rotating`` intervals: from w − v·interval to r − v·interval (Rau 1992). There values stand behind each
other.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rbdgen.machines.engine.core import STORED, WRITTEN, Core, RoomError
from rbdgen.machines.engine.placing import Schedule


@dataclass(frozen=True)
class Place:
    """Where a program stands in a core that may hold others: its first ``word`` of program memory, the first word of
    each bank that its constants take (``constant``), the number of its first operand's limits (``limit``), and how many
    words rotate, for all programs (None: those that its constants leave)."""

    word: int = 0
    constant: int = 0
    limit: int = 0
    rotating: int | None = None


ALONE = Place()
"""The place of a program that has a core to itself."""


@dataclass(frozen=True)
class Constants:
    """Places of constants: bank and word by raw value, or by a parameter's name; ``words``: of each bank, so many are
    taken, by those before them as well."""

    places: Mapping[int | str, tuple[int, int]]
    words: int


@dataclass(frozen=True)
class Allocation:
    """Words of values by node, before rotation; of operands in the memory of operands. ``needed``: rotating words that
    they take of a bank, and of the memory of operands."""

    words: Mapping[int, int]
    needed: int


def place_constants(constants: Iterable[int | str], core: Core, first: int = 0) -> Constants:
    """Places of these constants from a ``first`` word on: one bank after the other, so that all have as many, and that
    of parameters, which come first, the number is the address at which they are loaded."""
    places: dict[int | str, tuple[int, int]] = {}
    for k, value in enumerate(dict.fromkeys(constants)):
        places[value] = k % core.banks, first + k // core.banks
    return Constants(places, first + -(-len(places) // core.banks))


def needed_words(schedule: Schedule) -> int:
    """Rotating words that a schedule's values take of a bank, and of the memory of operands."""
    return _places(schedule)[1]


def allocate(schedule: Schedule, rotating: int) -> Allocation:
    """Words of a schedule's values among so many rotating ones. ConfigError where these do not do."""
    words, needed = _places(schedule)
    if needed > rotating:
        function = schedule.work.composition.function
        lacking = needed - rotating
        raise RoomError(
            f"function {function!r}: needs {needed} words of each memory beside constants, {lacking} more than there "
            "are; use larger memories or more banks",
            words=schedule.core.words + lacking,
        )
    return Allocation(words, needed)


def _places(schedule: Schedule) -> tuple[dict[int, int], int]:
    """Words of a schedule's values, and how many words that takes."""
    last = last_reads(schedule)
    words: dict[int, int] = {}
    needed = 0
    for bank in range(schedule.core.banks):
        own = [n for n, b in schedule.banks.items() if b == bank]
        spans = {n: (schedule.written[n] + STORED, last[n]) for n in own}
        found, length = _on_circle(spans, schedule.interval)
        words |= found
        needed = max(needed, length)
    arriving = {
        i: (k + WRITTEN, last[i])
        for k, i in enumerate(schedule.work.inputs)
        if i is not None and i not in schedule.banks
    }
    found, length = _on_circle(arriving, schedule.interval)
    words |= found
    needed = max(needed, length)
    return words, needed


def last_reads(schedule: Schedule) -> dict[int, int]:
    """The last cycle in which each node's value is read."""
    last: dict[int, int] = {}
    for own in schedule.work.sums:
        place = schedule.placed[own.node]
        for cycle, k in zip(place.cycles, place.order, strict=True):
            for value in own.slots[k].values:
                if value.node is not None:
                    last[value.node] = max(last.get(value.node, cycle), cycle)
    for cycle, value in zip(schedule.read, schedule.work.results, strict=True):
        if value.node is not None:
            last[value.node] = max(last.get(value.node, cycle), cycle)
    return last


def _on_circle(spans: Mapping[int, tuple[int, int]], interval: int) -> tuple[dict[int, int], int]:
    """Words of values by what cycles they are there, and how many words the circle must have."""
    left = sorted((begin % interval, n) for n, (begin, _) in spans.items())
    words: dict[int, int] = {}
    at = 0
    while left:
        # the value that begins soonest behind the end of the one before
        k = bisect_left(left, (at % interval, -1 << 60)) % len(left)
        residue, n = left.pop(k)
        begin, end = spans[n]
        start = at + (residue - at) % interval
        # start = begin − word·interval, on the circle
        words[n] = (begin - start) // interval
        at = start + end - begin + 1
    length = -(-at // interval)
    return {n: word % length for n, word in words.items()} if length else {}, length


def check_constants(constants: Constants, core: Core, rotating: int | None) -> int:
    """So many ``rotating`` words, or as many as constants leave. ConfigError where these are fewer, or none."""
    left = core.words - constants.words
    if left < (rotating or 1):
        others = "" if rotating is None else f", of which {rotating} are for other values,"
        raise RoomError(
            f"constants: {len(constants.places)} do not fit {core.banks} banks of {core.words} words{others} beside "
            "what is there; use larger memories or fewer functions",
            words=constants.words + (rotating or 1),
        )
    return rotating or left


def rotated(word: int, stage: int, rotating: int) -> int:
    """A word as the program names it in a task's ``stage``: one before for each interval since the task began."""
    return (word - stage) % rotating
