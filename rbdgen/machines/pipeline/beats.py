"""When the beats of an exit's results are taken from the pipelines.

Results that are sent in several beats are taken beat by beat, each in a cycle of its own: from registers, and in an
order in which few registers are needed until then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rbdgen.ir.programs import Exit
from rbdgen.machines.pipeline.schedule import Schedule, chain_length


@dataclass(frozen=True)
class Beat:
    """Results that leave by an exit together, and the ``cycle`` in which they are taken."""

    results: tuple[str, ...]
    cycle: int


@dataclass(frozen=True)
class _Value:
    """A value that leaves in a beat: the cycle in which it is made, and its bits."""

    finish: int
    width: int


def exit_beats(schedule: Schedule, e: Exit, sent: Sequence[Sequence[str]]) -> tuple[Beat, ...]:
    """The beats of an exit; ``sent`` are the results of each, in the order in which they are sent."""
    order = _Order(schedule, e, sent)
    cycles = order.best()
    beats = []
    for k, results in enumerate(sent):
        beats.append(Beat(tuple(results), cycles[k]))
    return tuple(beats)


class _Order:
    """The search for the cycle of each beat of an exit: beat k may be taken up to k cycles after the first."""

    def __init__(self, schedule: Schedule, e: Exit, sent: Sequence[Sequence[str]]) -> None:
        self.ii, self.count = schedule.ii, len(sent)
        self.values = [_values(schedule, results) for results in sent]
        self.ready = [_ready(values) for values in self.values]
        """The first cycle in which all of a beat is in registers."""
        self.first = schedule.exits[e.name]
        """The cycle of the first beat."""
        # a single beat may be taken as it is made, several come from registers
        if self.count > 1:
            self.first = max(self.first, self.ready[0])

    def _bits(self, k: int, cycle: int) -> int:
        """Bits of the registers in which beat ``k`` waits if it is taken in ``cycle``."""
        total = 0
        for value in self.values[k]:
            length = chain_length(value.finish, cycle, self.ii)
            total += value.width * length
        return total

    def _cost(self, cycles: Mapping[int, int]) -> int:
        total = 0
        for k, cycle in cycles.items():
            total += self._bits(k, cycle)
        return total

    def _sent(self, k: int) -> int:
        """The last cycle in which beat ``k`` may be taken."""
        return self.first + k

    def best(self) -> dict[int, int]:
        """The cycle of each beat: as they are sent, or as many cycles before the last as the interval has, if that
        takes fewer registers."""
        best = {k: self._sent(k) for k in range(self.count)}
        for last in range(self.first, self.first + self.count):
            cycles = self._until(last)
            if not self._valid(cycles):
                continue
            if self._cost(cycles) < self._cost(best):
                best = cycles
        return best

    def _valid(self, cycles: Mapping[int, int]) -> bool:
        """Whether all beats are taken, none later than it is sent."""
        if len(cycles) < self.count:
            return False
        return all(cycle <= self._sent(k) for k, cycle in cycles.items())

    def _until(self, last: int) -> dict[int, int]:
        """Beats in the cycles up to ``last``: in each the one that is due, else the one that would wait in the most
        registers until ``last``."""
        cycles = {0: self.first}
        # an interval later the next task's beats are taken in the same phases
        for cycle in range(last - self.ii + 1, last + 1):
            if cycle == self.first:
                continue
            left = [k for k in range(self.count) if k not in cycles]
            able = [k for k in left if self.ready[k] <= cycle]
            due = [k for k in able if cycle == self._sent(k)]
            if able:
                beat = self._most_waiting(due or able, cycle, last)
                cycles[beat] = cycle
        return cycles

    def _most_waiting(self, beats: Sequence[int], cycle: int, last: int) -> int:
        """The beat whose registers grow most from ``cycle`` to ``last``; the first one of several."""

        def growth(k: int) -> tuple[int, int]:
            now = self._bits(k, cycle)
            then = self._bits(k, last)
            return then - now, -k

        return max(beats, key=growth)


def _ready(values: Sequence[_Value]) -> int:
    """The first cycle in which all values are in registers."""
    last = 0
    for value in values:
        last = max(last, value.finish)
    return last + 1


def _values(schedule: Schedule, results: Sequence[str]) -> list[_Value]:
    """The values of a beat that have a time."""
    graph = schedule.fixed.graph
    found = []
    for name in results:
        i = graph.outputs[name]
        # a constant is there at any time
        if not graph.nodes[i].is_const:
            finish = schedule.slots[i].finish
            found.append(_Value(finish, schedule.width(i)))
    return found
