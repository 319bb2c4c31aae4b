"""One function's work at one interval: at which cycle, lane and bank each of its jobs is.

Each sum is placed as early as its operands, a lane and a bank's port allow, or somewhat later where it leaves fewer
gaps beside itself. What is free is kept as bits of whole numbers, a bit for each cycle of the interval. In which order
sums are placed, and at which intervals, is :mod:`rbdgen.machines.engine.scheduler`'s.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from rbdgen.machines.engine.core import ARRIVAL, FLAGGED, RESULT, STORED, WRITTEN, Core
from rbdgen.machines.engine.jobs import Call, Sum, Work
from rbdgen.machines.engine.special import TIMES

LATEST = 1 << 60
"""A cost that all others are below."""


@dataclass(frozen=True)
class Placed:
    """A sum's place: its lane, the cycles of its slots, and which slots these are, in order."""

    lane: int
    cycles: tuple[int, ...]
    order: tuple[int, ...]

    @property
    def last(self) -> int:
        """The cycle of its last slot."""
        return self.cycles[-1]


@dataclass(frozen=True)
class Schedule:
    """A schedule of one function's work: every ``interval`` cycles a task may start. By node: the ``placed`` sums, the
    cycles in which results are ``written``, and the ``banks`` that they go to. ``calls``: when the argument of each
    call is on the bus. ``header``: the cycle in which a task's header is sent, with its flags. ``read``: the cycle in
    which each result word is read to be sent, behind the header."""

    work: Work
    core: Core
    interval: int
    placed: dict[int, Placed]
    written: dict[int, int]
    banks: dict[int, int]
    calls: tuple[int, ...]
    header: int
    read: tuple[int, ...]

    @property
    def end(self) -> int:
        """The cycle after the last result word is read, or that after the header of a result without words."""
        return (self.read[-1] if self.read else self.header) + 1

    @property
    def stages(self) -> int:
        """Intervals that a task takes, begun ones included."""
        return -(-self.end // self.interval)


class NoRoomError(ValueError):
    """A job has no place at an interval."""


def stored_nodes(work: Work, lean: bool) -> frozenset[int]:
    """The nodes whose values banks keep: those that slots or the stream of results read, but for operands, unless the
    core is ``lean``."""
    read = {v.node for own in work.sums for slot in own.slots for v in slot.values}
    read |= {v.node for v in work.results}
    apart = set() if lean else set(work.inputs)
    return frozenset(i for i in read - apart if i is not None)


def steps_of(call: Call) -> tuple[int, ...]:
    """Cycles after its argument was on the bus in which a call takes the special unit's multiplier."""
    return TIMES[call.kind][0]


def delays(call: Call) -> list[tuple[int, int]]:
    """The results of a call that are needed, and the cycles after its argument in which they are on the bus."""
    times = TIMES[call.kind][1]
    return [(r, d) for r, d in zip(call.results, times, strict=True) if r is not None]


class Placing:
    """Places one function's work at one interval; ``stored`` are its nodes that banks keep (:func:`stored_nodes`).
    ``lanes`` and so on are bits of the cycles that are free; ``busy`` those of two turns in which a lane has a sum of
    several slots; ``open`` the cycles of two turns in which it has none and is free."""

    def __init__(
        self,
        work: Work,
        core: Core,
        interval: int,
        pull: int,
        stored: frozenset[int],
    ) -> None:
        self.work = work
        self.core = core
        self.interval = interval
        self.pull = pull
        self.mask = (1 << interval) - 1
        self.lanes = [self.mask] * core.lanes
        self.busy = [~(self.mask | self.mask << interval)] * core.lanes
        self.open = [list(range(2 * interval)) for _ in self.lanes]
        self.ports = [self.mask] * core.banks
        self.multiplier = self.bus = self.arguments = self.mask
        self.filled = [0] * core.banks
        self.ready: dict[int, int] = {}
        self.placed: dict[int, Placed] = {}
        self.written: dict[int, int] = {}
        self.banks: dict[int, int] = {}
        self.call_of = {c.argument: k for k, c in enumerate(work.calls)}
        self.call_times: dict[int, int] = {}
        self.stored = stored
        self.latest: dict[int, int] = {}

    def run(self, order: list[Sum]) -> Schedule:
        """The schedule. NoRoomError where something has no place."""
        for k, i in enumerate(self.work.inputs):
            if i is None:
                continue
            if self.core.lean:
                self._store(i, k + WRITTEN)
            else:
                self.ready[i] = k + ARRIVAL
        for own in order:
            self._place(own)
        calls = tuple(self.call_times[k] for k in range(len(self.work.calls)))
        header, *read = self._sent()
        return Schedule(
            self.work,
            self.core,
            self.interval,
            self.placed,
            self.written,
            self.banks,
            calls,
            header,
            tuple(read),
        )

    def _sent(self) -> tuple[int, ...]:
        """When a header and the words behind it are sent: one after the other, or in a lean core when the last lane
        reads nothing; within one interval, so that no task's words come between those of another."""
        count = 1 + len(self.work.results)
        first = self._header()
        cycles: Sequence[int] = range(first, first + self.interval)
        if self.core.lean:
            free = self.lanes[-1]
            cycles = [cycle for cycle in cycles if free >> cycle % self.interval & 1]
        if len(cycles) < count:
            raise NoRoomError(f"{count} words have no cycles to be sent in {self.interval}")
        return tuple(cycles[:count])

    def _ahead(self, bits: int, cycles: int) -> int:
        """The bits so many cycles later, at each cycle."""
        k = cycles % self.interval
        return (bits >> k | bits << self.interval - k) & self.mask

    def _take(self, bits: int, cycle: int) -> int:
        """The bits without that of a cycle."""
        return bits & ~(1 << cycle % self.interval)

    def _place(self, own: Sum) -> None:
        """Give a sum its place."""
        times = self._times(own)
        order = tuple(sorted(range(len(times)), key=times.__getitem__))
        earliest = max(times[k] - position for position, k in enumerate(order))
        allowed = self._allowed(own.node)
        several = len(order) > 1
        if not several:
            # so that the cycle of the slot is allowed, the earliest cycle lowest
            allowed = self._ahead(allowed, RESULT + earliest)
        best: tuple[int, int, list[int]] | None = None
        lanes = [self.core.calling] if own.node in self.call_of else range(self.core.lanes)
        for number in lanes:
            limit = best[0] if best else LATEST
            if several:
                found = self._several(number, earliest, len(order), allowed, limit)
            else:
                found = self._single(number, earliest, allowed, limit)
            if found is not None:
                best = found[0], number, found[1]
        if best is None:
            raise NoRoomError(f"node %{own.node}: no room in {self.interval} cycles")
        _, number, cycles = best
        if self.latest and cycles[-1] >= self.latest[own.node]:
            raise NoRoomError(f"node %{own.node}: is too late")
        self._take_slots(number, cycles)
        self.placed[own.node] = Placed(number, tuple(cycles), order)
        if own.node in self.stored:
            self._store(own.node, cycles[-1] + RESULT)
        if own.node in self.call_of:
            self._call(self.call_of[own.node], cycles[-1] + RESULT)

    def _times(self, own: Sum) -> list[int]:
        """For each slot of a sum the first cycle in which it can read its values."""
        ready = self.ready
        times = []
        for nodes in own.reads:
            time = 0
            for a in nodes:
                if ready[a] > time:
                    time = ready[a]
            times.append(time)
        return times

    def _take_slots(self, number: int, cycles: list[int]) -> None:
        """Take slots of a lane, and its accumulator from the first to the last."""
        self.lanes[number] &= ~self._bits(cycles)
        taken: Sequence[int] = cycles
        if len(cycles) > 1:
            taken = range(cycles[0], cycles[-1] + 1)
            bits = self._bits(taken)
            self.busy[number] |= bits | bits << self.interval
        cells = self.open[number]
        for cycle in taken:
            place = cycle % self.interval
            k = bisect_left(cells, place)
            if cells and cells[k] == place:
                del cells[k + len(cells) // 2]
                del cells[k]

    def _bits(self, cycles: Iterable[int]) -> int:
        """The bits of cycles."""
        interval = self.interval
        bits = 0
        for cycle in cycles:
            bits |= 1 << cycle % interval
        return bits

    def _single(
        self, number: int, earliest: int, allowed: int, limit: int
    ) -> tuple[int, list[int]] | None:
        """The cost, below the ``limit``, and the cycle of a single slot, for which no sum's accumulator is needed: best
        where a sum waits."""
        interval = self.interval
        k = earliest % interval
        lane = self.lanes[number]
        # twice as long, so that a turn is a move
        twice = (lane | lane << interval) >> k
        fits = twice & allowed
        # no cost is below that of the first one without gaps
        if not fits or (fits & -fits).bit_length() > limit:
            return None
        before, behind = twice << 1 | lane >> (k - 1) % interval & 1, twice >> 1
        best = None
        for gaps, kind in enumerate((~(before | behind), before ^ behind, before & behind)):
            there = fits & kind
            if there:
                later = (there & -there).bit_length() - 1
                if later + gaps * self.pull < limit:
                    limit = later + gaps * self.pull
                    best = limit, [earliest + later]
        return best

    def _several(
        self, number: int, earliest: int, count: int, allowed: int, limit: int
    ) -> tuple[int, list[int]] | None:
        """The cost, below the ``limit``, and the cycles of a sum's slots, between which others may be that need no
        accumulator."""
        interval, cells = self.interval, self.open[number]
        lane, busy = self.lanes[number], self.busy[number]
        first = earliest % interval
        # windows of so many open cycles, of one turn from the earliest on
        k = bisect_left(cells, first)
        beyond = k + len(cells) // 2 - count
        # what ends from here on costs no less, without gaps
        enough = limit + first + count - 1
        best = None
        blocked = 0
        while k <= beyond:
            begin, end = cells[k], cells[k + count - 1]
            if end >= enough:
                break
            k += 1
            if begin >= blocked:
                # the next cycle in which another sum of several slots has the accumulator
                later = busy >> begin
                blocked = begin + (later & -later).bit_length() - 1
            if end >= blocked:
                k = max(k, bisect_right(cells, blocked))
                continue
            if not allowed >> (end + RESULT) % interval & 1:
                continue
            gaps = begin == first or lane >> (begin - 1) % interval & 1
            if end + 1 < first + interval:
                gaps += lane >> (end + 1) % interval & 1
            cost = end + gaps * self.pull
            if cost < enough:
                enough = cost
                best = k - 1
        if best is None:
            return None
        turn = earliest - first
        return enough - first - count + 1, [turn + c for c in cells[best : best + count]]

    def _allowed(self, node: int) -> int:
        """The cycles in which a sum's result may be on its lane's bus."""
        allowed = self.mask
        ports = reduce(or_, self.ports)
        if node in self.stored:
            allowed = ports
        if node not in self.call_of:
            return allowed
        call = self.work.calls[self.call_of[node]]
        allowed &= self.arguments
        for step in steps_of(call):
            allowed &= self._ahead(self.multiplier, step)
        for _, delay in delays(call):
            # no other result may leave the banks without a port in that cycle
            allowed &= self._ahead(self.bus & ports, delay)
        return allowed

    def _store(self, node: int, cycle: int) -> None:
        """Take a port of the emptier bank that has one free."""
        bit = 1 << cycle % self.interval
        bank = None
        for b, port in enumerate(self.ports):
            if port & bit and (bank is None or self.filled[b] < self.filled[bank]):
                bank = b
        if bank is None:
            raise NoRoomError(f"node %{node}: no bank takes its result in {self.interval} cycles")
        self.ports[bank] ^= bit
        self.filled[bank] += 1
        self.written[node] = cycle
        self.banks[node] = bank
        self.ready[node] = cycle + STORED + 1

    def _call(self, number: int, begin: int) -> None:
        """Take the special unit for a call whose argument is on the bus at ``begin``."""
        call = self.work.calls[number]
        self.arguments = self._take(self.arguments, begin)
        for step in steps_of(call):
            self.multiplier = self._take(self.multiplier, begin + step)
        for result, delay in delays(call):
            self.bus = self._take(self.bus, begin + delay)
            self._store(result, begin + delay)
        self.call_times[number] = begin

    def _header(self) -> int:
        """When the header of a result can be sent: behind everything that may raise the task's flag."""
        ends = [place.last + RESULT for place in self.placed.values()]
        # a function may have nothing but constant results
        return max([0, *ends, *self.written.values()]) + FLAGGED
