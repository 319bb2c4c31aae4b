"""Constant factors as networks of shifts and additions: fewer additions than the constant has signed digits, and no
more of them one after another than in a balanced tree of those digits.

All multiples of the argument are odd, as a shift costs nothing. What one addition makes of two of them is what
Voronenko and Püschel (Multiplierless multiple constant multiplication, 2007, definition 1) call an A-operation. The
search is theirs and Dempster and Macleod's (Constant integer multiplication using minimum adders, 1994) in spirit: all
networks with up to four additions whose last one has arguments of at most two levels, most of those with five, and
for longer constants the best cut through the digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import product

import numpy as np

SIGNS = ((1, 1), (1, -1), (-1, 1))
"""Of an addition's two arguments."""
SEARCHED = (2, 3)
"""Levels of the constants that are searched for as a whole: those with up to eight digits. Others are parted first."""
LONGEST = 28
"""Bits of these at most."""
Chains = list[list[int]]
"""Multiples of the argument, of which each can be made of two before it: networks without signs."""
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
        low_sign, high_sign = self.signs
        low = low_sign * values[self.low]
        high = high_sign * values[self.high]
        total = low + (high << self.shift)
        return total >> self.drop


@dataclass(frozen=True)
class AdderGraph:
    """A constant as ``additions``, of which the last makes the result; without any, the result is the argument."""

    additions: tuple[Addition, ...] = ()

    @cached_property
    def values(self) -> tuple[int, ...]:
        """Each value as a multiple of the argument, the argument first; all are odd, some negative."""
        found = [1]
        for addition in self.additions:
            found.append(addition.of(found))
        return tuple(found)

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """Additions that each value takes one after another."""
        found = [0]
        for addition in self.additions:
            before = max(found[addition.low], found[addition.high])
            found.append(before + 1)
        return tuple(found)

    @property
    def depth(self) -> int:
        """Additions that the result takes one after another."""
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
        made = [k for k in found if self.levels[k] <= level]
        return sorted(made)


def signed_digits(value: int) -> tuple[tuple[int, int], ...]:
    """Canonical signed-digit form of a positive integer, (sign, position) with the fewest non-zero digits, lowest digit
    first (Reitwiesner 1960)."""
    digits = []
    position = 0
    while value:
        if value & 1:
            # 1 or −1, whichever leaves a zero for the next digit
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
    # ordered by their additions: the first stage that finds anything has the fewest
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
    digits = signed_digits(mantissa)
    terms = [sign << position for sign, position in digits]
    sums = []
    while len(terms) > 1:
        pairs = [terms[k : k + 2] for k in range(0, len(terms), 2)]
        terms = [sum(pair) for pair in pairs]
        odd = map(_odd, terms)
        sums += odd
    return sums


def _odd(value: int) -> int:
    """The odd part of a number, without its sign."""
    lowest = value & -value
    return abs(value) // lowest


def _cut_chains(mantissa: int) -> Iterator[list[int]]:
    """The constant as the sum of its lower and its upper digits, about half of them, each with a network of its own."""
    digits = signed_digits(mantissa)
    middle = len(digits) // 2
    for cut in range(middle - 1, middle + 3):
        chain = []
        for part in (digits[:cut], digits[cut:]):
            value = sum(sign << position for sign, position in part)
            odd = _odd(value)
            chain += _multiples(odd)
        yield [*chain, mantissa]


def _divided_chains(mantissa: int) -> Iterator[list[int]]:
    """The constant as the product of what one addition makes and of a constant with a network of its own."""
    factors = []
    for shift in range(1, mantissa.bit_length()):
        power = 1 << shift
        factors += [power - 1, power + 1]
    for factor in factors:
        rest, left = divmod(mantissa, factor)
        # 2 − 1 is the argument itself, which no addition has to make
        if factor > 1 and not left:
            chain = _multiples(rest)
            yield [*chain, mantissa]


def _multiples(mantissa: int) -> list[int]:
    """All that the network of a constant makes, without signs."""
    values = adder_graph(mantissa).values[1:]
    return [abs(value) for value in values]


def _network(values: Sequence[int]) -> AdderGraph:
    """The network that makes every value, in this order, of two before it, with the fewest levels and then the fewest
    bits."""
    known = [1]
    graph = AdderGraph()
    # parts of a cut may have values in common, which are made once
    for value in dict.fromkeys(values):
        if value in known:
            continue
        ways = []
        for addition in _additions(value, known):
            additions = (*graph.additions, addition)
            way = AdderGraph(additions)
            ways.append(way)
        graph = min(ways, key=_cost)
        known.append(value)
    return _with_signs(graph)


def _additions(value: int, known: Sequence[int]) -> Iterator[Addition]:
    """All ways to make a value of two known ones by one addition."""
    numbers = range(len(known))
    for low, high, signs in product(numbers, numbers, SIGNS):
        low_sign, high_sign = signs
        one = low_sign * known[low]
        other = high_sign * known[high]
        # value = one + other · 2^shift
        shift = _power(value - one, other)
        if shift is not None:
            yield Addition(low, high, shift, signs)
        # value · 2^drop = one + other
        drop = _power(one + other, value)
        if drop is not None:
            yield Addition(low, high, 0, signs, drop)


def _power(value: int, unit: int) -> int | None:
    """Of which power of two ``value`` is the product with ``unit``; None if of none."""
    ratio, rest = divmod(value, unit)
    if rest or ratio <= 0:
        return None
    below = ratio - 1
    if ratio & below:
        return None
    return below.bit_length()


def _with_signs(graph: AdderGraph) -> AdderGraph:
    """The same network with partial results negated where that makes additions shorter."""
    inner = len(graph.additions) - 1
    if not 0 < inner <= FREE_SIGNS:
        return graph
    best = graph
    # all choices are tried, of which there are 2^inner
    for chosen in product((1, -1), repeat=inner):
        # the argument and the result have the signs that they are asked for with
        signs = (1, *chosen, 1)
        other = _negated(graph, signs)
        if other is not None and _cost(other) < _cost(best):
            best = other
    return best


def _negated(graph: AdderGraph, signs: Sequence[int]) -> AdderGraph | None:
    """The network with these signs for its values; None where an addition would subtract both of its arguments."""
    additions = []
    for sign, addition in zip(signs[1:], graph.additions, strict=True):
        low, high = addition.signs
        low *= sign * signs[addition.low]
        high *= sign * signs[addition.high]
        if (low, high) not in SIGNS:
            return None
        other = replace(addition, signs=(low, high))
        additions.append(other)
    chosen = tuple(additions)
    return AdderGraph(chosen)


class _Table:
    """Chains of values, each the last of its row, in groups: what is in one group can be made beside each other.

    Values of a group are there once.
    """

    def __init__(self, groups: np.ndarray, *columns: np.ndarray) -> None:
        keys = self.key(groups, columns[-1])
        self.keys, rows = np.unique(keys, return_index=True)
        self.groups = groups[rows]
        chains = np.stack(columns, axis=1)
        self.chains = chains[rows]

    @property
    def values(self) -> np.ndarray:
        """The last values of the chains."""
        return self.chains[:, -1]

    def key(self, groups: np.ndarray, values: np.ndarray) -> np.ndarray:
        """By what values in groups are ordered."""
        # values are below the search's limit, a bit longer than the constant
        upper = groups << (LONGEST + 1)
        return upper + values

    def find(self, groups: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mask of those of some values in groups that are there, and the chains of those."""
        wanted = self.key(groups, values)
        last = len(self.keys) - 1
        places = np.searchsorted(self.keys, wanted)
        # what is larger than all keys has its place behind the last
        places = np.minimum(places, last)
        hits = self.keys[places] == wanted
        found = places[hits]
        return hits, self.chains[found]


@lru_cache(maxsize=LONGEST)
class _Search:
    """Networks for the constants of so many ``bits``, by tables of what one, two and three additions make, on two
    levels at most and a bit longer than the constant at most."""

    def __init__(self, bits: int) -> None:
        self.limit = 2 << bits
        self.shifts = np.arange(1, bits + 2, dtype=np.int64)
        argument = np.ones(1, np.int64)
        made = self._made(argument, argument)
        # 1 is the argument, and 0 stands for what is beyond the limit
        longer = made[made > 1]
        self.ones = np.unique(longer)
        """Values that one addition makes."""
        first, second = np.meshgrid(self.ones, self.ones, indexing="ij")
        self.first = first.ravel()
        """The first ones of all pairs of that."""
        self.second = second.ravel()
        """And the second ones."""
        self.twos = self._twos()

    def two(self, mantissa: int) -> Chains:
        """Chains of two additions on two levels."""
        rows = self.twos.values == mantissa
        return self.twos.chains[rows].tolist()

    def three(self, mantissa: int) -> Chains:
        """Chains of three additions."""
        chains = self._joined(mantissa, self._given, self._near)
        return chains + self._multiplied(mantissa, self.two)

    def four(self, mantissa: int) -> Chains:
        """Chains of four additions."""
        chains = self._joined(mantissa, self._near, self._near)
        chains += self._joined(mantissa, self._given, self._threes)
        return chains + self._multiplied(mantissa, self.three)

    def five(self, mantissa: int) -> Chains:
        """Chains of five additions whose first value has a part in both arguments of the last addition, or in one."""
        # one group for all: the two may be made of different first values
        group = np.zeros_like(self.twos.groups)
        apart = _Table(group, *self.twos.chains.T)
        chains = self._joined(mantissa, apart, apart)
        chains += self._joined(mantissa, self._near, self._threes)
        return chains

    def paired(self, mantissa: int) -> Chains:
        """Chains of five additions whose first two values make both arguments of the last addition."""
        return self._joined(mantissa, self._pairs, self._pairs)

    def _twos(self) -> _Table:
        """Values that one addition makes, each the group of what a second one makes of it."""
        argument = np.ones_like(self.ones)
        with_argument = self._made(self.ones, argument)
        with_itself = self._made(self.ones, self.ones)
        made = np.hstack([with_argument, with_itself])
        rows, values = self._fresh(made)
        first = self.ones[rows]
        return _Table(first, first, values)

    @cached_property
    def _given(self) -> _Table:
        """The same, with the argument and the value itself."""
        first = np.append(self.ones, self.ones)
        argument = np.ones_like(self.ones)
        second = np.append(argument, self.ones)
        return _Table(first, first, second)

    @cached_property
    def _near(self) -> _Table:
        """The same, with what a second addition makes of it or beside it."""
        first = np.append(self.first, self.twos.groups)
        second = np.append(self.second, self.twos.values)
        return _Table(first, first, second)

    @cached_property
    def _threes(self) -> _Table:
        """The same, with what a third addition makes of it and of what a second one makes beside it."""
        made = self._made(self.first, self.second)
        rows, values = self._fresh(made)
        first = self.first[rows]
        second = self.second[rows]
        return _Table(first, first, second, values)

    @cached_property
    def _pairs(self) -> _Table:
        """Pairs of values that one addition makes, each the group of what a third one makes of them."""
        # both orders of a pair make the same
        ordered = np.flatnonzero(self.first < self.second)
        made = self._made(self.first[ordered], self.second[ordered])
        rows, values = self._fresh(made)
        pairs = ordered[rows]
        first = self.first[pairs]
        second = self.second[pairs]
        return _Table(pairs, first, second, values)

    def _made(self, one: np.ndarray, other: np.ndarray, half: bool = False) -> np.ndarray:
        """All odd values that an addition makes of each pair of ``one`` and ``other``, a row for each; 0 in the place
        of those beyond the limit. What must be added to a value for a sum is made of the sum and the value likewise;
        ``half``: but not where the value is moved, and the sum is the longest."""
        moved = self.shifts
        moved_other = self.shifts
        if half:
            moved = self.shifts[:2]
            moved_other = self.shifts[:0]
        one = one[:, None]
        other = other[:, None]
        columns = []
        for term in (other, -other):
            total = one + term
            # a sum of zero has no lowest bit
            lowest = np.maximum(total & -total, 1)
            columns.append(total // lowest)
            columns.append((one << moved) + term)
            columns.append(one + (term << moved_other))
        made = np.hstack(columns)
        made = np.abs(made)
        return np.where(made < self.limit, made, 0)

    def _fresh(self, made: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of made values those that one addition does not make, with their rows."""
        rows, columns = np.nonzero(made > 1)
        values = made[rows, columns]
        fresh = ~np.isin(values, self.ones)
        return rows[fresh], values[fresh]

    def _joined(self, mantissa: int, one: _Table, other: _Table) -> Chains:
        """The chains of two values in one group whose sum is the constant, each followed by that."""
        total = np.full_like(one.values, mantissa)
        made = self._made(total, one.values, half=one is other)
        rows, columns = np.nonzero(made)
        partners = made[rows, columns]
        groups = one.groups[rows]
        hits, ends = other.find(groups, partners)
        rows = rows[hits]
        begins = one.chains[rows]
        last = np.full((len(ends), 1), mantissa)
        chains = np.hstack([begins, ends, last])
        return chains.tolist()

    def _multiplied(self, mantissa: int, chains: Callable[[int], Chains]) -> Chains:
        """Chains whose last value is the next to last one times what one addition makes of the argument."""
        found = []
        for factor in self.ones.tolist():
            rest, left = divmod(mantissa, factor)
            if not left:
                found += [[*chain, mantissa] for chain in chains(rest)]
        return found


@dataclass(frozen=True)
class Constant:
    """A constant factor ``mantissa`` · 2^−``exponent``, with an odd positive mantissa."""

    mantissa: int
    exponent: int

    @property
    def value(self) -> float:
        """The factor."""
        return math.ldexp(float(self.mantissa), -self.exponent)

    @property
    def graph(self) -> AdderGraph:
        """The network of shifts and additions that makes the mantissa's multiple of its argument."""
        return adder_graph(self.mantissa)
