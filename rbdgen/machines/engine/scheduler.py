"""Modulo schedules: when each job of a task is, so that a task can start every interval.

Nothing of a task goes into the next one, so that an interval is possible where lanes, banks, the special unit and the
streams have room for a task's work. Sums are placed in order of the longest way to a result, long ones somewhat
earlier (:mod:`rbdgen.machines.engine.placing`); several such orders are tried at one interval after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from rbdgen.machines.engine.core import FLAGGED, NEXT, RESULT, STAGE_BITS, Core, intake_cycles
from rbdgen.machines.engine.jobs import Sum, Work
from rbdgen.machines.engine.placing import (
    NoRoomError,
    Placing,
    Schedule,
    delays,
    steps_of,
    stored_nodes,
)

TRIES = (
    (4, 0, 0),
    (8, 4, 0),
    (2, 0, 320),
    (4, 2, 0),
    (8, 0, 0),
    (1, 0, 0),
    (4, 0, 500),
    (2, 0, 500),
    (4, 0, 320),
    (7, 0, 360),
)
"""What is tried at an interval: cycles that a sum starts later for each gap that it leaves beside itself, cycles by
which each of its slots makes it more urgent, and by which the first results are more urgent than the last."""
FEW = 3
"""So many of these until there is any schedule."""
COARSE, FINE = 0.04, 0.003
"""Steps of the interval, as shares of the shortest that may be: until there is a schedule, and to shorten it then."""
STEPS = 0.01, 0.08
"""The shortest and the longest step of the same kind where the first schedule is enough."""
SLOWER, SLOWEST = 0.04, 2.0
"""Step and end, as shares of the shortest interval that may be, in which one with an earlier answer is looked for: at
longer ones nothing overlaps that could bind."""
WORTH = 20
"""By how many hundredths an answer may be later for an interval that is shorter by one, of all that were found."""
MANY = 50_000
"""Slots of a function's work from which on the first schedule is enough: each that is tried takes ten seconds."""
ROWS = 1024
"""Sums whose results are unpacked at a time."""
LONGEST = 3.0
"""Beyond this multiple of the shortest interval that may be no schedule is looked for."""


def least_interval(work: Work, core: Core) -> int:
    """The shortest interval that slots, banks, the special unit and the streams allow."""
    steps = sum(len(steps_of(call)) for call in work.calls)
    # what is sent, the header among it, takes a lane's port
    sent = len(work.results) + 1 if core.lean else 0
    return max(
        -(-(work.slots + sent) // core.lanes),
        -(-len(stored_nodes(work, core.lean)) // core.banks),
        intake_cycles(len(work.inputs)),
        len(work.results) + 1,
        steps,
        max((len(own.slots) for own in work.sums), default=1),
    )


def schedule(work: Work, core: Core, interval: int | None = None) -> Schedule:
    """The schedule at an interval, or at the shortest that is found, or at a longer one whose answers come that much
    sooner (:data:`WORTH`). NoRoomError where there is none."""
    if interval is not None:
        found = _Search(work, core).first(interval)
        if found is None:
            least = shortest(work, core).interval
            raise NoRoomError(
                f"{interval} cycles: too short an interval; the shortest found is {least}"
            )
        return found
    best, *others = _found(work, core)
    for own in others:
        if own.end / best.end - 1 < WORTH * (1 - own.interval / best.interval):
            best = own
    return best


def shortest(work: Work, core: Core) -> Schedule:
    """The schedule at the shortest interval that is found, whenever its answers come. NoRoomError where there is
    none."""
    return _found(work, core)[-1]


def _found(work: Work, core: Core) -> list[Schedule]:
    """Schedules at shorter and shorter intervals; of :data:`MANY` slots only the first one."""
    if work.slots > MANY:
        return [quickest(work, core)]
    search = _Search(work, core)
    coarse, fine = (max(round(share * search.least), 1) for share in (COARSE, FINE))
    tried = search.least
    # what has no place is found out late, so that until there is one only few ways are tried
    while not search.works(tried, FEW):
        tried += coarse
        if tried > LONGEST * search.least + coarse:
            raise NoRoomError(f"no interval up to {tried} cycles has room")
    intervals = [tried]
    while intervals[-1] - fine > search.least and search.works(intervals[-1] - fine):
        intervals.append(intervals[-1] - fine)
    last = [search.soonest(interval) for interval in intervals[-2:]]
    found = [own for own in (*search.found.values(), *last) if own is not None]
    return sorted(found, key=lambda own: (own.interval, own.end), reverse=True)


def quickest(work: Work, core: Core) -> Schedule:
    """The schedule that is found first, some hundredths longer than the shortest, in a quarter of its time: intervals
    are longer by what had no place at the one before. NoRoomError where there is none."""
    search = _Search(work, core)
    shortest, longest = (max(round(share * search.least), 1) for share in STEPS)
    tried = search.least
    while tried <= LONGEST * search.least + longest:
        found = search.first(tried, FEW)
        if found is not None:
            return found
        left = min(search.left.get((tried, way), longest * core.lanes) for way in TRIES[:FEW])
        tried += min(max(-(-left // core.lanes), shortest), longest)
    raise NoRoomError(f"no interval up to {tried} cycles has room")


def soonest(work: Work, core: Core) -> Schedule:
    """The schedule with the earliest result, and of these the one at the shortest interval. NoRoomError where there is
    none."""
    search = _Search(work, core)
    step = max(round(SLOWER * search.least), 1)
    best: Schedule | None = None
    for interval in range(search.least, round(SLOWEST * search.least) + 1, step):
        best = search.soonest(interval, best) or best
    return best or schedule(work, core)


class _Search:
    """Schedules of one function's work, at any interval and by each of the :data:`TRIES`."""

    def __init__(self, work: Work, core: Core) -> None:
        self.work = work
        self.core = core
        self.least = least_interval(work, core)
        self.stored = stored_nodes(work, core.lean)
        self.order = _Order(work)
        self.ways = list(TRIES)
        self.found: dict[tuple[int, tuple[int, int, int]], Schedule | None] = {}
        self.left: dict[tuple[int, tuple[int, int, int]], int] = {}
        """Slots of the first sum without a place and of all behind it, where there was no schedule."""

    def works(self, interval: int, most: int | None = None) -> bool:
        """Whether one of the first ``most`` ways gives a schedule at an interval; that one is the first then."""
        for k, way in enumerate(self.ways[:most]):
            if self._kept(interval, way) is not None:
                self.ways.insert(0, self.ways.pop(k))
                return True
        return False

    def first(self, interval: int, most: int | None = None) -> Schedule | None:
        """The first schedule at an interval that there is, by the first ``most`` ways."""
        return next(filter(None, (self._kept(interval, way) for way in TRIES[:most])), None)

    def soonest(self, interval: int, best: Schedule | None = None) -> Schedule | None:
        """The schedule at an interval with the earliest result, earlier than that of the ``best``; None where there is
        none."""
        sooner = None
        for way in TRIES:
            own = self.found.get((interval, way))
            if (interval, way) not in self.found:
                own = self._by(interval, way, best)
            if own is not None and (best is None or own.end < best.end):
                sooner = best = own
        return sooner

    def _kept(self, interval: int, way: tuple[int, int, int]) -> Schedule | None:
        """The schedule of one way, made once."""
        key = interval, way
        if key not in self.found:
            self.found[key] = self._by(interval, way)
        return self.found[key]

    def _by(
        self,
        interval: int,
        way: tuple[int, int, int],
        best: Schedule | None = None,
    ) -> Schedule | None:
        """The schedule of one way at an interval, None where there is none that ends before the ``best`` one."""
        for call in self.work.calls:
            # a call that comes every interval meets the one before
            places = {step % interval for step in steps_of(call)}
            if len(places) < len(steps_of(call)):
                return None
        pull, urgency, spread = way
        scheduler = Placing(self.work, self.core, interval, pull, self.stored)
        if best is not None:
            scheduler.latest = self.order.latest(best.end)
        order = self.order.sums(urgency, spread)
        try:
            found = scheduler.run(order)
        except NoRoomError:
            left = order[len(scheduler.placed) :]
            self.left[interval, way] = sum(len(own.slots) for own in left)
            return None
        return found if found.stages <= 1 << STAGE_BITS else None


class _Order:
    """The order in which sums are placed."""

    def __init__(self, work: Work) -> None:
        self.jobs = {own.node: own for own in work.sums}
        self.results = len(work.results)
        self.ordered: dict[tuple[int, int], list[Sum]] = {}
        users: dict[int, list[int]] = {}
        for own in work.sums:
            for a in own.sources:
                users.setdefault(a, []).append(own.node)
        called = {call.argument: call for call in work.calls}
        self.made_by = {r: call.argument for call in work.calls for r, _ in delays(call)}
        self.heights: dict[int, float] = {}

        def beyond(node: int) -> float:
            return max((self.heights[u] for u in users.get(node, ())), default=0)

        # copies have negative numbers and take operands only: they come before all others
        for node in sorted(self.jobs, key=lambda n: (n >= 0, n), reverse=True):
            height = beyond(node)
            if node in called:
                for result, delay in delays(called[node]):
                    height = max(height, beyond(result) + delay)
            self.heights[node] = height + len(self.jobs[node].slots) - 1 + NEXT

    @cached_property
    def shares(self) -> dict[int, float]:
        """For each sum the place of the first result that needs it, as a share of all: results stand in an order in
        which each takes as little more as can be, so that what they have in common is made for all of them at once."""
        # arguments have lower numbers, but those of calls and copies
        nodes = [own.node for own in self._after_sources(sorted(self.jobs))]
        sources = {n: self._needed(n) for n in nodes}
        inner = {a for own in sources.values() for a in own}
        last = sorted(set(nodes) - inner)
        count = len(last)
        # by sum the results that need it, as bits, which are packed: there may be ten thousand of them
        row = {n: k for k, n in enumerate(nodes)}
        users = np.zeros((len(nodes), -(-count // 8)), np.uint8)
        for k, n in enumerate(last):
            users[row[n], k // 8] = 1 << 7 - k % 8
        for n in reversed(nodes):
            for a in sources[n]:
                users[row[a]] |= users[row[n]]
        lacking = np.zeros(count, np.int64)
        for first in range(0, len(nodes), ROWS):
            lacking += np.unpackbits(users[first : first + ROWS], axis=1, count=count).sum(
                0, np.int64
            )
        shares: dict[int, float] = {}
        for place in range(count):
            nearest = int(np.argmin(lacking))
            waiting, new = [last[nearest]], []
            while waiting:
                node = waiting.pop()
                if node not in shares:
                    shares[node] = place / count
                    new.append(row[node])
                    waiting += sources[node]
            lacking -= np.unpackbits(users[new], axis=1, count=count).sum(0, np.int64)
            lacking[nearest] = len(nodes)
        return shares

    def _needed(self, node: int) -> list[int]:
        """The sums that one takes, or that calls take which it takes."""
        made = (self.made_by.get(a, a) for a in sorted(self.jobs[node].sources))
        return [a for a in made if a in self.jobs]

    def sums(self, urgency: int, spread: int) -> list[Sum]:
        """The sums, the most urgent first, but none before what it needs; made once."""
        key = urgency, spread
        if key not in self.ordered:
            self.ordered[key] = self._sums(urgency, spread)
        return self.ordered[key]

    def latest(self, end: int) -> dict[int, int]:
        """By sum the cycle before which its last slot must be, for a schedule that ends before ``end``."""
        behind = RESULT + FLAGGED + 1 + self.results
        found = {}
        for node, own in self.jobs.items():
            # from the last slot of this one to that of the last one that needs it
            way = self.heights[node] - (len(own.slots) - 1) - NEXT
            found[node] = int(end - behind - way)
        return found

    def _sums(self, urgency: int, spread: int) -> list[Sum]:
        weights = dict(self.heights)
        for n, own in self.jobs.items():
            weights[n] += urgency * (len(own.slots) - 1)
            if spread:
                weights[n] += spread * (1.0 - self.shares[n])
        ordered = sorted(self.jobs, key=lambda n: (-weights[n], n))
        return list(self._after_sources(ordered))

    def _after_sources(self, ordered: list[int]) -> Iterator[Sum]:
        done: set[int] = set()
        for first in ordered:
            waiting = [first]
            while waiting:
                node = waiting[-1]
                if node in done:
                    waiting.pop()
                    continue
                missing = [a for a in self._needed(node) if a not in done]
                if missing:
                    waiting += missing
                    continue
                waiting.pop()
                done.add(node)
                yield self.jobs[node]
