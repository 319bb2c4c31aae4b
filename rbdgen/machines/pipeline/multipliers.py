"""The multipliers of a unit, and which of their phases are taken.

What a multiplier makes is a run: the products of one node, one a cycle, so that its accumulator holds one sum at a
time. A run that reaches the end of the interval goes on at its beginning. Runs of a unit fill few multipliers only if
those that come first leave gaps that the others fit into: the runs that are still to come are known, and where one is
put is chosen so that they do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from rbdgen.devices.device import Device
from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.folds import Folds
from rbdgen.tracing.units import first_fit

Run = tuple[int, int]
"""The products of a node: how many they are, and the blocks of a multiplier that makes any of them."""
Gap = tuple[int, int]
"""Free phases one after the other: how many they are, and the blocks of their multiplier."""


def product_runs(fixed: FixedGraph, folds: Folds, device: Device) -> dict[int, Run]:
    """The runs of all nodes with products that have operators: of folded ones the first turn's."""
    runs = {}
    for i, node in fixed.graph:
        if not node.products or folds.template(i) != i:
            continue
        blocks = 0
        for k in range(len(node.products)):
            widths = folds.factor_widths(fixed, i, k)
            blocks = max(blocks, device.blocks(*widths))
        runs[i] = len(node.products), blocks
    return runs


class UnitMultipliers:
    """Multipliers with ``interval`` phases each, for some ``runs``: as many as these fill, the longest of the largest
    first, each on the first multiplier that has room."""

    def __init__(self, interval: int, runs: Iterable[Run]) -> None:
        self.interval = interval
        self.sizes: list[int] = []
        """Blocks of every multiplier."""
        self.waiting = Counter(runs)
        """The runs that have no multiplier yet."""
        largest_first = sorted(self.waiting.elements(), key=_largest_first)
        lengths = [length for length, _ in largest_first]
        self.products = sum(lengths)
        """Of all runs."""
        for (_, blocks), number in zip(largest_first, first_fit(lengths, interval), strict=True):
            # the first run on a multiplier is the largest
            if number == len(self.sizes):
                self.sizes.append(blocks)
        self.taken = [0] * len(self.sizes)
        """The phases that are taken of every multiplier, as bits."""
        self._room: dict[tuple[Run, int, int, int], bool] = {}
        """Answers of :meth:`_leaves_room` since anything changed."""
        self._gaps: dict[int, tuple[Gap, ...]] = {}
        """The gaps of multipliers that did not change since they were found."""

    @property
    def gaps(self) -> dict[Gap, int]:
        """Number of gaps of each kind, of all multipliers."""
        found: dict[Gap, int] = {}
        for number in range(len(self.sizes)):
            if number not in self._gaps:
                self._gaps[number] = tuple(self._gaps_of(number))
            for gap in self._gaps[number]:
                found[gap] = found.get(gap, 0) + 1
        return found

    def _changed(self, number: int) -> None:
        """Nothing that was found of a multiplier is true any more."""
        self._gaps.pop(number, None)
        self._room.clear()

    def phases(self, start: int, length: int) -> int:
        """The phases of a run that starts in cycle ``start``, as bits."""
        interval = self.interval
        ones = (1 << length) - 1
        moved = ones << (start % interval)
        wrapped = moved >> interval
        everything = (1 << interval) - 1
        return (moved | wrapped) & everything

    def find(self, start: int, run: Run, careful: bool = True) -> int | None:
        """The multiplier for a run that starts in cycle ``start``: of the smallest that are free the one with the least
        left beside it. None where there is none. ``careful``: the runs that are still to come must have room."""
        length, blocks = run
        phases = self.phases(start, length)
        best: dict[tuple[int, int, int], int] = {}
        for number, size in enumerate(self.sizes):
            if size < blocks or self.taken[number] & phases:
                continue
            before, behind = self._beside(number, start, length)
            # multipliers with as much left beside the run do equally well: the first will do
            key = size, before, behind
            best.setdefault(key, number)
        for size, before, behind in sorted(best, key=_waste):
            if not careful or self._leaves_room(run, size, before, behind):
                return best[size, before, behind]
        return None

    def _beside(self, number: int, start: int, length: int) -> tuple[int, int]:
        """Free phases before and behind a run on a multiplier; all of them behind where nothing is taken."""
        taken = self.taken[number]
        if not taken:
            return 0, self.interval - length
        return self._free_before(taken, start), self._free_from(taken, start + length)

    def _turned(self, taken: int, phase: int) -> int:
        """The phases that are taken, as bits from this one on."""
        interval = self.interval
        phase %= interval
        return (taken >> phase | taken << (interval - phase)) & ((1 << interval) - 1)

    def _free_from(self, taken: int, phase: int) -> int:
        """Free phases from this one on, where not all are."""
        turned = self._turned(taken, phase)
        return (turned & -turned).bit_length() - 1

    def _free_before(self, taken: int, phase: int) -> int:
        """Free phases before this one, where not all are."""
        return self.interval - self._turned(taken, phase).bit_length()

    def _leaves_room(self, run: Run, size: int, before: int, behind: int) -> bool:
        """Whether the runs that wait have room beside one between so many free phases."""
        key = run, size, before, behind
        if key not in self._room:
            self._room[key] = self._finds_room(run, size, before, behind)
        return self._room[key]

    def _finds_room(self, run: Run, size: int, before: int, behind: int) -> bool:
        """As :meth:`_leaves_room`: the largest and longest first, each in the smallest gap."""
        own_length, _ = run
        gaps = self.gaps
        gaps[before + own_length + behind, size] -= 1
        for free in (before, behind):
            gaps[free, size] = gaps.get((free, size), 0) + 1
        waiting = self.waiting.copy()
        waiting[run] -= 1
        for other in sorted(waiting, key=_largest_first):
            length, _ = other
            count = waiting[other]
            while count > 0:
                gap = _smallest_gap(gaps, other)
                if gap is None:
                    return False
                free, gap_size = gap
                # as many as fill gaps of this size, or all that are left
                each = min(count, free // length)
                times = min(gaps[gap], count // each)
                gaps[gap] -= times
                left = free - each * length, gap_size
                gaps[left] = gaps.get(left, 0) + times
                count -= each * times
        return True

    def take(self, number: int, start: int, run: Run) -> None:
        """Take the phases of a run."""
        length, _ = run
        self.waiting[run] -= 1
        taken = self.taken[number] | self.phases(start, length)
        self._change(number, taken)

    def release(self, number: int, start: int, run: Run) -> None:
        """Give the phases of a run back."""
        length, _ = run
        self.waiting[run] += 1
        taken = self.taken[number] & ~self.phases(start, length)
        self._change(number, taken)

    def _change(self, number: int, taken: int) -> None:
        """Let these phases of a multiplier be taken."""
        self.taken[number] = taken
        self._changed(number)

    def _gaps_of(self, number: int) -> Iterator[Gap]:
        """The gaps of a multiplier."""
        interval = self.interval
        taken = self.taken[number]
        size = self.sizes[number]
        if not taken:
            yield interval, size
            return
        # a gap begins behind what is taken
        begins = ~taken & self._turned(taken, -1)
        while begins:
            lowest = begins & -begins
            phase = lowest.bit_length() - 1
            yield self._free_from(taken, phase), size
            begins -= lowest

    def enlarge(self, number: int, blocks: int) -> None:
        """Let a multiplier be at least so large."""
        self.sizes[number] = max(self.sizes[number], blocks)
        self._changed(number)

    def may_grow(self, used: float) -> bool:
        """Whether there are no more multipliers than runs need that use this share of all phases."""
        return self.products > used * self.interval * len(self.sizes)

    def grow(self, blocks: int) -> int:
        """One more multiplier; its number."""
        self.sizes.append(blocks)
        self.taken.append(0)
        number = len(self.sizes) - 1
        self._changed(number)
        return number


def _largest_first(run: Run) -> tuple[int, int]:
    """The order of runs in which they look for room: the longest of the largest come first."""
    length, blocks = run
    return -blocks, -length


def _smallest_gap(gaps: Mapping[Gap, int], run: Run) -> Gap | None:
    """The shortest gap of the smallest multipliers that a run fits into; None where there is none."""
    length, blocks = run
    best = None
    for gap, count in gaps.items():
        free, size = gap
        if count <= 0 or free < length or size < blocks:
            continue
        if best is None or (size, free) < (best[1], best[0]):
            best = gap
    return best


def _waste(found: tuple[int, int, int]) -> tuple[int, bool, int]:
    """Drawbacks of a place: a large multiplier, gaps on both sides, and much left beside it."""
    size, before, behind = found
    both_sides = before > 0 and behind > 0
    return size, both_sides, before + behind
