"""Accumulators behind multipliers that several products share: how products move to one binary point, what the sums
start from, and which bits of them are results.

Factors stand at the upper ends of a multiplier's inputs, so that what its output is worth depends on the bits before
their binary points only; where inputs have bits to spare, they stand lower, as far as products come out at one place by
that. A product moves to the point at which its dot adds (:attr:`rbdgen.ir.fixed.FixedGraph.points`) by a number of
places that is the same for most. Half of the result's last place is in what a sum starts from, so that rounding is to
leave bits out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from rbdgen.ir.exactness import moved
from rbdgen.ir.graph import Node
from rbdgen.ir.number_formats import Format
from rbdgen.machines.pipeline.schedule import Schedule


@dataclass(frozen=True)
class Start:
    """Start of a sum: ``constant``, and the argument in ``position``, if there is one, ``places`` to the left
    (negative: to the right)."""

    constant: int
    position: int | None = None
    places: int = 0


@dataclass(frozen=True)
class Accumulator:
    """The accumulator behind the multiplier of some ``nodes`` (of folded ones the first turn's)."""

    schedule: Schedule
    nodes: tuple[int, ...]

    @cached_property
    def inputs(self) -> tuple[int, int]:
        """Bits of the multiplier's inputs: as many as factors have, and of the first, where its blocks have more, as
        many more as bring products to one place."""
        first, second = self.schedule.input_widths(self.nodes)
        missing = 0
        for i, k in self.products:
            one, other = self._factor_widths(i, k)
            spare = first - one + second - other
            missing = max(missing, self._excess(i, k) - spare)
        blocks = self.schedule.device.blocks
        # bits that the blocks have anyway cost nothing
        own = blocks(first, second)
        while missing > 0 and blocks(first + 1, second) == own:
            first += 1
            missing -= 1
        return first, second

    @cached_property
    def products(self) -> tuple[tuple[int, int], ...]:
        """All products, as nodes and numbers within them."""
        found = []
        for i in self.nodes:
            for k in range(len(self._node(i).products)):
                found.append((i, k))
        return tuple(found)

    def _node(self, i: int) -> Node:
        return self.schedule.fixed.graph.nodes[i]

    def _formats(self, i: int) -> tuple[Format, ...]:
        return self.schedule.folds.arguments(self.schedule.fixed, i)

    def _factor_widths(self, i: int, k: int) -> tuple[int, int]:
        """Bits of a product's factors, by the multiplier's inputs."""
        first, second = self.schedule.factors(i, k)
        formats = self._formats(i)
        return formats[first].width, formats[second].width

    def _heads(self, i: int, k: int) -> int:
        """Bits before the binary points of a product's factors, without signs."""
        formats = self._formats(i)
        one, other = formats[2 * k : 2 * k + 2]
        return one.head + other.head

    @cached_property
    def _kept(self) -> int | None:
        """The most upper bits of any product that a dot adds; None where there is no dot."""
        points = self.schedule.fixed.points
        kept = [self._heads(i, k) + points[i] for i, k in self.products if i in points]
        return max(kept, default=None)

    @cached_property
    def points(self) -> dict[int, int]:
        """The binary points at which nodes add. A single product is rounded from as many bits as dots are, if it may
        be."""
        fixed = self.schedule.fixed
        points = {}
        for i in self.nodes:
            if i in fixed.points:
                points[i] = fixed.points[i]
                continue
            # all bits above half of the last place count, and none below
            points[i] = fixed.formats[i].frac + 1
            if self._kept is not None:
                points[i] = max(points[i], self._kept - self._heads(i, 0))
        return points

    def _excess(self, i: int, k: int) -> int:
        """Bits by which product ``k`` of node ``i`` has fewer above the point at which it is added than another one."""
        if self._kept is None:
            return 0
        own = self._heads(i, k) + self.points[i]
        return max(0, self._kept - own)

    def lifts(self, i: int, k: int) -> tuple[int, int]:
        """By how many places the factors of product ``k`` of node ``i`` stand below the upper ends of the multiplier's
        inputs, so that the product comes out where others do: as far as that loses none of their bits."""
        excess = self._excess(i, k)
        found = []
        for width, bits in zip(self.inputs, self._factor_widths(i, k), strict=True):
            lift = min(excess, width - bits)
            found.append(lift)
            excess -= lift
        first, second = found
        return first, second

    def drop(self, i: int, k: int) -> int:
        """By how many places product ``k`` of node ``i`` moves to the right (negative: to the left)."""
        # a sign bit of each factor is neither before nor behind a binary point
        output = sum(self.inputs) - 2 - self._heads(i, k) - sum(self.lifts(i, k))
        return output - self.points[i]

    @cached_property
    def drops(self) -> dict[int, list[tuple[int, int]]]:
        """The products, as nodes and numbers within them, by how far they move."""
        found: dict[int, list[tuple[int, int]]] = {}
        for i, k in self.products:
            alike = found.setdefault(self.drop(i, k), [])
            alike.append((i, k))
        ordered = sorted(found.items())
        return dict(ordered)

    def start(self, i: int) -> Start:
        """The start of the sum of node ``i``."""
        fixed = self.schedule.fixed
        node = self._node(i)
        half = 0
        if i not in fixed.truncated:
            half = (1 << self.tap(i)) >> 1
        if not node.addends:
            return Start(half)
        position = node.terms.factors
        addend = self._formats(i)[position]
        places = self.points[i] - addend.frac
        return Start(half, position, places)

    def signs(self, i: int, position: int) -> tuple[int, ...]:
        """The sign of an argument, or of the product of which it is the first factor, in each turn of node ``i``."""
        turns = self.schedule.folds.turns.get(i)
        if turns is None:
            signs = self._node(i).terms.signs()
            return (signs[position],)
        return tuple(-1 if turn.negated[position] else 1 for turn in turns)

    def must_add(self, i: int) -> bool:
        """Whether a sum's start is itself a sum: bits of the argument overlap with the constant, or it is negative."""
        start = self.start(i)
        if start.position is None:
            return False
        # below the argument's last place the constant costs no sum
        below = max(start.places, 0)
        overlaps = start.constant >> below != 0
        negative = min(self.signs(i, start.position)) < 0
        return overlaps or negative

    @cached_property
    def starts_from_sum(self) -> bool:
        """Whether what sums start from takes an adder."""
        return any(map(self.must_add, self.nodes))

    @cached_property
    def starting(self) -> int:
        """The bits of an accumulator that some sum starts with, as a mask."""
        everything = (1 << self.width) - 1
        # a sum may set any bit
        if self.starts_from_sum:
            return everything
        mask = 0
        for i in self.nodes:
            start = self.start(i)
            mask |= start.constant
            if start.position is not None:
                below = max(start.places, 0)
                mask |= everything & -(1 << below)
        return mask

    def tap(self, i: int) -> int:
        """The bits of the accumulator below the result of node ``i``."""
        return self.points[i] - self.schedule.fixed.formats[i].frac

    @cached_property
    def width(self) -> int:
        """Bits of the accumulator, in which no sum wraps around, and none of its parts."""
        return max(map(self._bits, self.nodes))

    def _bits(self, i: int) -> int:
        """Bits of the sums of node ``i`` and of what they are made of, in any order."""
        point = self.points[i]
        formats = self._formats(i)
        start = self.start(i)
        low = 0
        high = start.constant
        terms: list[tuple[int, int, list[int]]] = []
        for position in range(0, self._node(i).terms.factors, 2):
            one, other = formats[position : position + 2]
            places = point - one.frac - other.frac
            terms.append((position, places, _corners(one, other)))
        if start.position is not None:
            fmt = formats[start.position]
            corners = [fmt.minimum, fmt.maximum]
            terms.append((start.position, start.places, corners))
        for position, places, corners in terms:
            # a sum that is not complete yet lacks some of its terms
            ends = [0]
            for sign in self.signs(i, position):
                ends += [sign * moved(corner, places) for corner in corners]
            low += min(ends)
            high += max(ends)
        sums = max((-low).bit_length(), high.bit_length()) + 1
        result = self.schedule.fixed.formats[i].width + self.tap(i)
        return max(sums, result)


def _corners(one: Format, other: Format) -> list[int]:
    """Products of the largest and smallest numbers of two formats."""
    corners = []
    for x in (one.minimum, one.maximum):
        corners += [x * other.minimum, x * other.maximum]
    return corners
