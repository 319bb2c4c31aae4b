"""Constant factors as networks of shifts and additions: fewer additions than the constant has signed digits, and no
more of them one after another than in a balanced tree of those digits.

All multiples of the argument are odd, as a shift costs nothing. What one addition makes of two of them is what
Voronenko and Püschel (Multiplierless multiple constant multiplication, 2007, definition 1) call an A-operation. The
search is theirs and Dempster and Macleod's (Constant integer multiplication using minimum adders, 1994) in spirit: all
networks with up to four additions whose last one has arguments of at most two levels, most of those with five, and
for longer constants the best cut through the digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

import numpy as np

SEARCHED = (2, 3)
"""Levels of the constants that are searched for as a whole: those with up to eight digits. Others are parted first."""
LONGEST = 28
"""Bits of these at most."""
TRIED = 24
"""Networks with equally many additions whose widths are compared."""
FREE_SIGNS = 8
"""Additions of a network whose partial results' signs are chosen."""


@dataclass(frozen=True)
class Addition:
    """``signs``[0] · low + ``signs``[1] · high · 2^``shift``, without its ``drop`` lowest bits, which are zero; never
    are both subtracted.

    ``low`` and ``high`` are the numbers of two values: 0 is the argument, 1 what the first addition makes of it.
    """

    low: int
    high: int
    shift: int
    signs: tuple[int, int]
    drop: int = 0

    def of(self, values: Sequence[int]) -> int:
        """The value, by those of all numbers before it."""
        low = self.signs[0] * values[self.low]
        high = self.signs[1] * values[self.high]
        return (low + (high << self.shift)) >> self.drop


@dataclass(frozen=True)
class AdderGraph:
    """A constant as ``additions``, of which the last makes the result; without any, the result is the argument."""

    additions: tuple[Addition, ...] = ()

    @cached_property
    def values(self) -> tuple[int, ...]:
        """What each value is a multiple of the argument by, the argument first; all are odd, some negative."""
        found = [1]
        for addition in self.additions:
            found.append(addition.of(found))
        return tuple(found)

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """How many additions each value takes one after another."""
        found = [0]
        for addition in self.additions:
            before = max(found[addition.low], found[addition.high])
            found.append(before + 1)
        return tuple(found)

    @property
    def depth(self) -> int:
        """How many additions the result takes one after another."""
        return self.levels[-1]

    def growth(self, k: int) -> int:
        """Bits of a value beyond those of the argument."""
        return self.values[k].bit_length() if k else 0

    @cached_property
    def adder_growths(self) -> tuple[int, ...]:
        """Bits of every adder beyond those of the argument. Where the low value is not the one that is subtracted,
        its bits below the high one are the sum's, without logic."""
        found = []
        for value, addition in zip(self.values[1:], self.additions, strict=True):
            bits = value.bit_length() + addition.drop
            if addition.signs[0] > 0:
                bits -= addition.shift
            found.append(bits)
        return tuple(found)

    def crossing(self, level: int) -> list[int]:
        """The numbers of the values that are there after ``level`` additions and used by a later one."""
        found = set()
        for addition, own in zip(self.additions, self.levels[1:], strict=True):
            if own > level:
                arguments = addition.low, addition.high
                found.update(arguments)
        return sorted(k for k in found if self.levels[k] <= level)


def signed_digits(value: int) -> tuple[tuple[int, int], ...]:
    """Canonical signed-digit form of a positive integer, (sign, position) with the fewest non-zero digits, lowest digit
    first (Reitwiesner 1960)."""
    digits = []
    position = 0
    while value:
        if value & 1:
            digit = 2 - (value & 3)
            digits.append((digit, position))
            value -= digit
        value >>= 1
        position += 1
    return tuple(digits)


@lru_cache(maxsize=4096)
def adder_graph(mantissa: int) -> AdderGraph:
    """A network for an odd positive constant, with at most as many additions as a tree of its signed digits has, and at
    most as many levels."""
    depth = _tree_depth(mantissa)
    return min(_graphs(mantissa, depth), key=_cost)


def _tree_depth(mantissa: int) -> int:
    """Levels of a balanced tree of the signed digits."""
    digits = signed_digits(mantissa)
    return (len(digits) - 1).bit_length()


def _cost(graph: AdderGraph) -> tuple[int, int, int]:
    """Additions, levels, and bits of additions: what networks are compared by."""
    return len(graph.additions), graph.depth, sum(graph.adder_growths)


def _graphs(mantissa: int, depth: int) -> list[AdderGraph]:
    """Networks for a constant with at most ``depth`` levels; the tree of its digits among them."""
    tree = _tree(mantissa)
    graphs = _connected([tree], depth)
    if depth in SEARCHED and mantissa.bit_length() <= LONGEST:
        return graphs + _short_graphs(mantissa, depth)
    if depth > min(SEARCHED):
        graphs += _connected(_cut_chains(mantissa), depth)
        graphs += _connected(_divided_chains(mantissa), depth)
    return graphs


def _short_graphs(mantissa: int, depth: int) -> list[AdderGraph]:
    """Networks with as few additions as there are any for, five at most; none where there is none."""
    search = _Search(mantissa.bit_length())
    stages = [search.two]
    if depth > 2:
        stages += [search.three, search.four, search.five, search.paired]
    for stage in stages:
        chains = sorted(stage(mantissa), key=_bits)
        graphs = _connected(chains[:TRIED], depth)
        if graphs:
            return graphs
    return []


def _bits(chain: Sequence[int]) -> tuple[int, Sequence[int]]:
    """By what chains are ordered: the bits of their values."""
    return sum(value.bit_length() for value in chain), chain


def _connected(chains: Iterable[Sequence[int]], depth: int) -> list[AdderGraph]:
    """The networks of chains, of multiples of the argument of which each can be made of two before it, that have at
    most ``depth`` levels."""
    graphs = []
    for chain in chains:
        graph = _network(chain)
        if graph.depth <= depth:
            graphs.append(graph)
    return graphs


def _tree(mantissa: int) -> list[int]:
    """The partial sums of a balanced tree of the constant's signed digits, made odd and positive."""
    terms = [sign << position for sign, position in signed_digits(mantissa)]
    sums = []
    while len(terms) > 1:
        pairs = [terms[k : k + 2] for k in range(0, len(terms), 2)]
        terms = [sum(pair) for pair in pairs]
        sums += [_odd(term) for term in terms]
    return sums


def _odd(value: int) -> int:
    """The odd part of a number, without its sign."""
    return abs(value) // (value & -value)


def _cut_chains(mantissa: int) -> Iterator[list[int]]:
    """The constant as the sum of its lower and its upper digits, about half of them, each with a network of its own."""
    digits = signed_digits(mantissa)
    middle = len(digits) // 2
    for cut in range(middle - 1, middle + 3):
        chain = []
        for part in (digits[:cut], digits[cut:]):
            value = sum(sign << position for sign, position in part)
            chain += _multiples(_odd(value))
        yield [*chain, mantissa]


def _divided_chains(mantissa: int) -> Iterator[list[int]]:
    """The constant as the product of what one addition makes and of a constant with a network of its own."""
    for shift in range(1, mantissa.bit_length()):
        for factor in ((1 << shift) - 1, (1 << shift) + 1):
            rest, left = divmod(mantissa, factor)
            if factor > 1 and not left:
                yield [*_multiples(rest), mantissa]


def _multiples(mantissa: int) -> list[int]:
    """All that the network of a constant makes, without signs."""
    values = adder_graph(mantissa).values[1:]
    return [abs(value) for value in values]


def _network(values: Sequence[int]) -> AdderGraph:
    """The network that makes every value, in this order, of two before it, with the fewest levels and then the fewest
    bits."""
    known = [1]
    graph = AdderGraph()
    for value in dict.fromkeys(values):
        if value in known:
            continue
        ways = []
        for addition in _additions(value, known):
            way = AdderGraph((*graph.additions, addition))
            ways.append(way)
        graph = min(ways, key=_cost)
        known.append(value)
    return _with_signs(graph)


def _additions(value: int, known: Sequence[int]) -> Iterator[Addition]:
    """All ways to make a value of two known ones by one addition."""
    for low, one in enumerate(known):
        for high, other in enumerate(known):
            for signs in ((1, 1), (1, -1), (-1, 1)):
                # value = ±one ± other · 2^shift
                shift = _power(signs[1] * (value - signs[0] * one), other)
                if shift is not None:
                    yield Addition(low, high, shift, signs)
                # value · 2^drop = ±one ± other
                drop = _power(signs[0] * one + signs[1] * other, value)
                if drop is not None:
                    yield Addition(low, high, 0, signs, drop)


def _power(value: int, unit: int) -> int | None:
    """Of which power of two ``value`` is the product with ``unit``; None if of none."""
    ratio, rest = divmod(value, unit)
    if rest or ratio <= 0 or ratio & (ratio - 1):
        return None
    return ratio.bit_length() - 1


def _with_signs(graph: AdderGraph) -> AdderGraph:
    """The same network with partial results negated where that makes additions shorter."""
    inner = len(graph.additions) - 1
    if not 0 < inner <= FREE_SIGNS:
        return graph
    best = graph
    for chosen in product((1, -1), repeat=inner):
        other = _negated(graph, (1, *chosen, 1))
        if other is not None and _cost(other) < _cost(best):
            best = other
    return best


def _negated(graph: AdderGraph, signs: Sequence[int]) -> AdderGraph | None:
    """The network with these signs for its values; None where an addition would subtract both of its arguments."""
    additions = []
    for sign, addition in zip(signs[1:], graph.additions, strict=True):
        low = sign * signs[addition.low] * addition.signs[0]
        high = sign * signs[addition.high] * addition.signs[1]
        if low < 0 and high < 0:
            return None
        other = Addition(addition.low, addition.high, addition.shift, (low, high), addition.drop)
        additions.append(other)
    return AdderGraph(tuple(additions))


class _Table:
    """Chains of values, each the last of its row, in groups: what is in one group can be made beside each other.

    Values of a group are there once.
    """

    def __init__(self, groups: np.ndarray, *columns: np.ndarray) -> None:
        self.groups = groups
        self.keys, rows = np.unique(self.key(groups, columns[-1]), return_index=True)
        self.groups = groups[rows]
        self.chains = np.stack(columns, axis=1)[rows]

    @property
    def values(self) -> np.ndarray:
        """The last values of the chains."""
        return self.chains[:, -1]

    def key(self, groups: np.ndarray, values: np.ndarray) -> np.ndarray:
        """By what values in groups are ordered."""
        return (groups << (LONGEST + 1)) + values

    def find(self, groups: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which of some values in groups there are, and the chains of those."""
        wanted = self.key(groups, values)
        places = np.searchsorted(self.keys, wanted)
        places = np.minimum(places, len(self.keys) - 1)
        hits = self.keys[places] == wanted
        return hits, self.chains[places[hits]]


@lru_cache(maxsize=LONGEST)
class _Search:
    """Networks for the constants of so many ``bits``, by tables of what one, two and three additions make, on two
    levels at most and a bit longer than the constant at most."""

    def __init__(self, bits: int) -> None:
        self.limit = 2 << bits
        self.shifts = np.arange(1, bits + 2, dtype=np.int64)
        argument = np.ones(1, np.int64)
        made = self._made(argument, argument)
        self.ones = np.unique(made[made > 1])
        """What one addition makes."""
        first, second = np.meshgrid(self.ones, self.ones, indexing="ij")
        self.first, self.second = first.ravel(), second.ravel()
        """All pairs of that."""
        self.twos = self._twos()

    def two(self, mantissa: int) -> list[list[int]]:
        """Chains of two additions on two levels."""
        rows = self.twos.values == mantissa
        return self.twos.chains[rows].tolist()

    def three(self, mantissa: int) -> list[list[int]]:
        """Chains of three additions."""
        chains = self._joined(mantissa, self._given, self._near)
        return chains + self._multiplied(mantissa, self.two)

    def four(self, mantissa: int) -> list[list[int]]:
        """Chains of four additions."""
        chains = self._joined(mantissa, self._near, self._near)
        chains += self._joined(mantissa, self._given, self._threes)
        return chains + self._multiplied(mantissa, self.three)

    def five(self, mantissa: int) -> list[list[int]]:
        """Chains of five additions whose first value has a part in both arguments of the last addition, or in one."""
        apart = _Table(np.zeros_like(self.twos.groups), *self.twos.chains.T)
        chains = self._joined(mantissa, apart, apart)
        return chains + self._joined(mantissa, self._near, self._threes)

    def paired(self, mantissa: int) -> list[list[int]]:
        """Chains of five additions whose first two values make both arguments of the last addition."""
        return self._joined(mantissa, self._pairs, self._pairs)

    def _twos(self) -> _Table:
        """Values that one addition makes, each the group of what a second one makes of it."""
        argument = np.ones_like(self.ones)
        made = self._made(self.ones, argument), self._made(self.ones, self.ones)
        rows, values = self._fresh(np.hstack(made))
        first = self.ones[rows]
        return _Table(first, first, values)

    @cached_property
    def _given(self) -> _Table:
        """The same, with the argument and the value itself."""
        first = np.append(self.ones, self.ones)
        argument = np.ones_like(self.ones)
        return _Table(first, first, np.append(argument, self.ones))

    @cached_property
    def _near(self) -> _Table:
        """The same, with what a second addition makes of it or beside it."""
        first = np.append(self.first, self.twos.groups)
        return _Table(first, first, np.append(self.second, self.twos.values))

    @cached_property
    def _threes(self) -> _Table:
        """The same, with what a third addition makes of it and of what a second one makes beside it."""
        rows, values = self._fresh(self._made(self.first, self.second))
        first, second = self.first[rows], self.second[rows]
        return _Table(first, first, second, values)

    @cached_property
    def _pairs(self) -> _Table:
        """Pairs of values that one addition makes, each the group of what a third one makes of them."""
        ordered = np.flatnonzero(self.first < self.second)
        rows, values = self._fresh(self._made(self.first[ordered], self.second[ordered]))
        pairs = ordered[rows]
        return _Table(pairs, self.first[pairs], self.second[pairs], values)

    def _made(self, one: np.ndarray, other: np.ndarray, half: bool = False) -> np.ndarray:
        """All odd values that an addition makes of each pair of ``one`` and ``other``, a row for each; 0 in the place
        of those beyond the limit. What must be added to a value for a sum is made of the sum and the value likewise;
        ``half``: but not where the value is moved, and the sum is the longest."""
        both = self.shifts[:0] if half else self.shifts
        first = self.shifts[:2] if half else self.shifts
        one, other = one[:, None], other[:, None]
        columns = []
        for term in (other, -other):
            total = one + term
            lowest = np.maximum(total & -total, 1)
            columns += [total // lowest, (one << first) + term, one + (term << both)]
        made = np.abs(np.hstack(columns))
        return np.where(made < self.limit, made, 0)

    def _fresh(self, made: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of made values those that one addition does not make, with their rows."""
        rows, columns = np.nonzero(made > 1)
        values = made[rows, columns]
        fresh = ~np.isin(values, self.ones)
        return rows[fresh], values[fresh]

    def _joined(self, mantissa: int, one: _Table, other: _Table) -> list[list[int]]:
        """The chains of two values in one group whose sum is the constant, each followed by that."""
        total = np.full_like(one.values, mantissa)
        made = self._made(total, one.values, half=one is other)
        rows, columns = np.nonzero(made)
        hits, ends = other.find(one.groups[rows], made[rows, columns])
        begins = one.chains[rows[hits]]
        last = np.full((len(ends), 1), mantissa)
        return np.hstack([begins, ends, last]).tolist()

    def _multiplied(
        self, mantissa: int, chains: Callable[[int], list[list[int]]]
    ) -> list[list[int]]:
        """Chains whose last value is the next to last one times what one addition makes of the argument."""
        found = []
        for factor in self.ones.tolist():
            rest, left = divmod(mantissa, factor)
            if not left:
                found += [[*chain, mantissa] for chain in chains(rest)]
        return found
