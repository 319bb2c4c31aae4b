"""Fixed-point formats and graphs: what a graph means bit by bit.

The rule is one for all operations: the exact result of the exact arguments is rounded to the result's binary point,
half up or, at nodes named for it, downwards; then saturated to its width or, in a graph that says so, wrapped around.
Either raises the task's overflow flag. ``shift`` only moves the binary point.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from rbdgen.ir.constants import AdderGraph, adder_graph
from rbdgen.ir.graph import Graph, Node
from rbdgen.ir.terms import Terms

BITS = 63
"""Bits of an exact result: the models compute in 64-bit integers."""
LONGEST_PRODUCT = 64
"""Bits of both factors of a product that fits 64-bit arithmetic."""
BEYOND = 2
"""Bits that an addend or the result of a dot may have before those of its products, where the accumulator has room."""
ADDING_GUARD = 2
"""Bits below the last place of any dot's result that an accumulator keeps where there is no common word."""
ROUNDED = ("add", "sub", "neg", "abs", "mul", "dot", "scale", "rescale", "round")
"""Operations whose exact result is rounded and saturated to the node's format."""


@dataclass(frozen=True, order=True)
class Format:
    """A signed two's complement number: value = raw · 2^−``frac``, ``width`` bits with the sign.

    ``frac`` may be negative or larger than ``width``.
    """

    width: int
    frac: int

    def __post_init__(self) -> None:
        if self.width < 1:
            raise ValueError(f"width must be at least 1, not {self.width!r}")

    @property
    def minimum(self) -> int:
        """Smallest raw value."""
        return -(1 << (self.width - 1))

    @property
    def maximum(self) -> int:
        """Largest raw value."""
        return (1 << (self.width - 1)) - 1

    @property
    def head(self) -> int:
        """Bits before the binary point, without the sign."""
        return self.width - 1 - self.frac

    @property
    def resolution(self) -> float:
        """Value of one unit in the last place."""
        return math.ldexp(1.0, -self.frac)

    def __str__(self) -> str:
        return f"s{self.width}.{self.frac}".replace("-", "m")

    def quantise(self, value: np.ndarray | float) -> np.ndarray:
        """Nearest raw values (half up), saturated; int64."""
        scaled = np.ldexp(np.asarray(value, float), self.frac)
        return nearest_raw(scaled, self.minimum, self.maximum)

    def wrap(self, raw: np.ndarray) -> np.ndarray:
        """Raw values of any size cut to the width: what two's complement leaves of them."""
        mask = (1 << self.width) - 1
        return ((raw - self.minimum) & mask) + self.minimum

    def convert(self, raw: np.ndarray, source: Format) -> tuple[np.ndarray, np.ndarray]:
        """Raw values of another format in this one, rounded half up and saturated; and which were saturated."""
        drop = source.frac - self.frac
        if drop > 0:
            half = 1 << (drop - 1)
            exact = (raw + half) >> drop
        else:
            exact = np.left_shift(raw, -drop)
        value = np.clip(exact, self.minimum, self.maximum)
        return value, value != exact

    def real(self, raw: np.ndarray) -> np.ndarray:
        """Values of raw numbers, float64."""
        return np.ldexp(np.asarray(raw, float), -self.frac)


def nearest_raw(
    scaled: np.ndarray, minimum: int | np.ndarray, maximum: int | np.ndarray
) -> np.ndarray:
    """The raw values nearest to these (half up), saturated to a format's ends, or to those of each column; int64."""
    nearest = np.floor(scaled + 0.5)
    # float64 has the powers of two at both ends, but not the largest value of a long word
    clipped = np.minimum(np.maximum(nearest, minimum), np.negative(minimum))
    return np.minimum(clipped.astype(np.int64), maximum)


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


@lru_cache(maxsize=64)
def sine_table(address_bits: int, fmt: Format) -> tuple[int, ...]:
    """Raw sines of the middles of 2^address_bits equal intervals of the first quarter turn."""
    size = 1 << address_bits
    angles = (np.arange(size) + 0.5) / size * (math.pi / 2)
    raw = fmt.quantise(np.sin(angles))
    return tuple(raw.tolist())


@lru_cache(maxsize=64)
def reciprocal_table(address_bits: int, fmt: Format) -> tuple[int, ...]:
    """Raw reciprocals of the middles of 2^address_bits equal intervals of [1, 2)."""
    size = 1 << address_bits
    middles = 1.0 + (np.arange(size) + 0.5) / size
    raw = fmt.quantise(1.0 / middles)
    return tuple(raw.tolist())


@dataclass(frozen=True)
class FixedGraph:
    """A graph with a format for every node and an exact constant for every ``scale``.

    ``constants`` is by node number. Raw values of ``const`` nodes are ``Format.quantise`` of their attribute.
    ``truncated``: the nodes that drop bits without rounding. ``saturate``: whether what does not fit becomes the
    nearest number that does; without, it wraps around. ``points``: the binary points at which dots add, where bits of
    their terms below are dropped first.
    """

    graph: Graph
    formats: tuple[Format, ...]
    constants: dict[int, Constant]
    truncated: frozenset[int] = frozenset()
    saturate: bool = True
    points: Mapping[int, int] = field(default_factory=dict)

    def exact(self, i: int, args: Sequence[Format] | None = None) -> tuple[int, int, int]:
        """Of node ``i``'s result before rounding: binary point, and bounds of its raw value there.

        Bounds follow from the arguments' formats alone; ``args``: other ones than their own.
        """
        node = self.graph.nodes[i]
        if args is None:
            args = [self.formats[a] for a in node.args]
        match node.op:
            case "add" | "sub" | "neg" | "mul" | "dot":
                return exact_sum(node.terms, args, self.points.get(i))
            case "abs":
                (argument,) = args
                return argument.frac, 0, -argument.minimum
            case "round":
                fmt = args[0]
            case "scale":
                fmt = args[0]
                factor = self.constants[i]
                frac = fmt.frac + factor.exponent
                low = fmt.minimum * factor.mantissa
                high = fmt.maximum * factor.mantissa
                return frac, low, high
            case "rescale":
                # the largest move is that of an x with only its top bit set
                fmt, x = args
                places = x.width - 2
                frac = fmt.frac + places - x.frac
                return frac, fmt.minimum << places, fmt.maximum << places
            case _:
                fmt = self.formats[i]
        return fmt.frac, fmt.minimum, fmt.maximum

    def dropped_bits(self, i: int) -> int:
        """Bits below the result's binary point that node ``i`` rounds away."""
        frac, _, _ = self.exact(i)
        return frac - self.formats[i].frac

    def half(self, i: int) -> int:
        """What is added before bits are dropped: half of the result's last place, or nothing."""
        if i in self.truncated:
            return 0
        return (1 << self.dropped_bits(i)) >> 1

    def split(self, one: int, other: int) -> int:
        """Low bits of the second of two factors that 64-bit arithmetic must take apart, so that both parts of the
        product fit; 0 where the whole does. What becomes of the product drops at least as many bits."""
        width = self.formats[one].width + self.formats[other].width
        return max(width - LONGEST_PRODUCT, 0)

    def may_overflow(self, i: int) -> bool:
        """Whether any arguments in their formats can saturate node ``i``, or (normalise) be what it cannot do."""
        if self.graph.nodes[i].op == "normalise":
            return True
        frac, low, high = self.exact(i)
        fmt = self.formats[i]
        drop = frac - fmt.frac
        half = self.half(i)
        lowest = (low + half) >> drop
        highest = (high + half) >> drop
        return lowest < fmt.minimum or highest > fmt.maximum


def exact_sum(
    terms: Terms,
    args: Sequence[Format],
    point: int | None = None,
) -> tuple[int, int, int]:
    """Binary point of a sum, and bounds of its raw value there, for arguments of these formats. ``point``: where it is,
    below which bits of the terms are dropped; else the sum is exact."""
    parts = _exact_terms(terms, args)
    frac = point
    if frac is None:
        frac = max(own for own, _, _ in parts)
    least = most = 0
    for own, low, high in parts:
        places = frac - own
        least += moved(low, places)
        most += moved(high, places)
    return frac, least, most


def moved(raw: int, places: int) -> int:
    """A raw value so many places to the left; to the right where that is negative."""
    return raw << places if places >= 0 else raw >> -places


def adding_head(node: Node, heads: Sequence[int], own: int) -> int:
    """Bits before the binary point of the products of a dot, of which an accumulator keeps the upper ones: those of the
    largest, or some fewer than an addend or the result has. ``heads`` are those of all nodes, ``own`` the result's."""
    largest = [heads[one] + heads[other] for _, one, other in node.products]
    largest += [heads[a] - BEYOND for _, a in node.addends]
    return max(*largest, own - BEYOND)


def adding_points(graph: Graph, formats: Sequence[Format], kept: int) -> dict[int, int]:
    """The binary points at which dots add: the ``kept`` upper bits of products are above them (:func:`adding_head`),
    and no more than exact arithmetic has room for. Bits below are dropped first."""
    heads = [fmt.head for fmt in formats]
    points = {}
    for i, node in graph:
        if node.op != "dot":
            continue
        arguments = [formats[a] for a in node.args]
        exact, low, high = exact_sum(node.terms, arguments)
        beyond = max(-low, high).bit_length() - BITS
        point = max(formats[i].frac, kept - adding_head(node, heads, heads[i]))
        points[i] = min(point, exact - beyond)
    return points


def shared_points(
    graph: Graph,
    formats: Sequence[Format],
    tied: Iterable[Sequence[int]] = (),
) -> dict[int, int]:
    """The binary points of dots whose results have no common word: as in :func:`adding_points`, with as many upper bits
    for all as the finest result beside its products asks for, so that all can share accumulators.

    Dots that are ``tied``, groups of nodes with one format, add at one point, whatever their factors.
    """
    heads = [fmt.head for fmt in formats]
    needed = []
    for i, node in graph:
        if node.op == "dot":
            needed.append(formats[i].frac + adding_head(node, heads, heads[i]))
    if not needed:
        return {}
    kept = max(needed) + ADDING_GUARD
    points = adding_points(graph, formats, kept)
    for members in tied:
        dropping = [i for i in members if i in points]
        lowest = min((points[i] for i in dropping), default=0)
        for i in dropping:
            enough = max(lowest, formats[i].frac + ADDING_GUARD)
            points[i] = min(points[i], enough)
    return points


def _exact_terms(terms: Terms, args: Sequence[Format]) -> list[tuple[int, int, int]]:
    """The same of each term by itself, with its sign."""
    parts = []
    for k, sign in enumerate(terms.products):
        one, other = args[2 * k : 2 * k + 2]
        corners = []
        for x in (one.minimum, one.maximum):
            corners.append(sign * x * other.minimum)
            corners.append(sign * x * other.maximum)
        frac = one.frac + other.frac
        parts.append((frac, min(corners), max(corners)))
    for sign, fmt in zip(terms.addends, args[terms.factors :], strict=True):
        ends = sign * fmt.minimum, sign * fmt.maximum
        parts.append((fmt.frac, min(ends), max(ends)))
    return parts


class ExactWidthError(ValueError):
    """The exact result of an operation has more bits than the representation holds."""


ADDRESSED = ("table_sin", "table_cos", "table_reciprocal", "residual")
"""Operations that take an address from their argument, or leave it out."""


def verify_fixed(fixed: FixedGraph) -> None:
    """Check formats and constants; raises ValueError naming the node, an ExactWidthError for one that is too wide.

    Every node has a format, no operation gains bits below its exact result, exact results fit 63 bits (those of
    products may have as many more as are dropped), shifts keep
    their argument's bits, residuals and tables have the bits that they need.
    """
    graph = fixed.graph
    if len(fixed.formats) != len(graph.nodes):
        raise ValueError(
            f"formats: must be one for each of {len(graph.nodes)} nodes, not {len(fixed.formats)}"
        )
    for i, node in graph:
        fault = None
        if node.op in ROUNDED:
            fault = _rounded_fault(fixed, i, node)
        elif node.op == "normalise":
            fault = _normalised_fault(fixed, i, node)
        elif node.op == "shift":
            fault = _shifted_fault(fixed, i, node)
        elif node.op in ADDRESSED:
            fault = _addressed_fault(fixed, i, node)
        if fault is not None:
            raise ValueError(f"node %{i} ({node.op}): {fault}")


def _rounded_fault(fixed: FixedGraph, i: int, node: Node) -> str | None:
    """What is wrong with the format of an operation that rounds."""
    fmt = fixed.formats[i]
    if node.op == "scale" and i not in fixed.constants:
        return "must have a constant"
    frac, low, high = fixed.exact(i)
    if frac < fmt.frac:
        return f"binary point must be at most {frac}, not {fmt.frac}"
    extra = 0
    if node.op == "mul":
        extra = min(fixed.split(*node.args), fixed.dropped_bits(i))
    bits = max(-low, high).bit_length()
    if bits > BITS + extra:
        raise ExactWidthError(
            f"node %{i} ({node.op}): exact result must fit 63 bits, needs {bits + 1}"
        )
    if node.op == "round" and fmt.frac != node.attr:
        return f"binary point must be {node.attr}, not {fmt.frac}"
    return None


def _normalised_fault(fixed: FixedGraph, i: int, node: Node) -> str | None:
    """What is wrong with the format of a number moved into [1, 2)."""
    fmt = fixed.formats[i]
    argument = fixed.formats[node.args[0]]
    if fmt.frac != fmt.width - 2 or argument.width < 2:
        return f"format must be that of a number in [1, 2), not {fmt}"
    return None


def _shifted_fault(fixed: FixedGraph, i: int, node: Node) -> str | None:
    """What is wrong with the format of a moved number."""
    fmt = fixed.formats[i]
    argument = fixed.formats[node.args[0]]
    if fmt.width != argument.width or fmt.frac != argument.frac - node.attr:
        return f"format must be that of its argument moved by {node.attr}, not {fmt}"
    return None


def _addressed_fault(fixed: FixedGraph, i: int, node: Node) -> str | None:
    """What is wrong with the formats of a table or a residual."""
    fmt = fixed.formats[i]
    argument = fixed.formats[node.args[0]]
    if argument.frac <= node.attr:
        return f"argument must have more than {node.attr} fractional bits, not {argument.frac}"
    low_bits = Format(argument.frac - node.attr, argument.frac)
    if node.op == "residual" and fmt != low_bits:
        return f"format must hold the argument's low bits exactly, not {fmt}"
    return None
