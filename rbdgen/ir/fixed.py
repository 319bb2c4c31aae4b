"""Fixed-point formats and graphs: what a graph means bit by bit.

The rule is one for all operations: the exact result of the exact arguments is rounded to the result's binary point,
half up or, at nodes named for it, downwards; then saturated to its width or, in a graph that says so, wrapped around.
Either raises the task's overflow flag. ``shift`` only moves the binary point.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from rbdgen.ir.graph import Graph

BITS = 63
"""Bits of an exact result: the models compute in 64-bit integers."""
ROUNDED = ("add", "sub", "neg", "mul", "scale", "rescale", "round")
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
    def resolution(self) -> float:
        """Value of one unit in the last place."""
        return math.ldexp(1.0, -self.frac)

    def __str__(self) -> str:
        return f"s{self.width}.{self.frac}".replace("-", "m")

    def quantise(self, value: np.ndarray | float) -> np.ndarray:
        """Nearest raw values (half up), saturated; int64."""
        scaled = np.floor(np.ldexp(np.asarray(value, float), self.frac) + 0.5)
        return np.clip(scaled, self.minimum, self.maximum).astype(np.int64)

    def wrap(self, raw: np.ndarray) -> np.ndarray:
        """Raw values of any size cut to the width: what two's complement leaves of them."""
        return ((raw - self.minimum) & ((1 << self.width) - 1)) + self.minimum

    def convert(self, raw: np.ndarray, source: Format) -> tuple[np.ndarray, np.ndarray]:
        """Raw values of another format in this one, rounded half up and saturated; and which were saturated."""
        drop = source.frac - self.frac
        exact = (raw + (1 << (drop - 1))) >> drop if drop > 0 else np.left_shift(raw, -drop)
        value = np.clip(exact, self.minimum, self.maximum)
        return value, value != exact

    def real(self, raw: np.ndarray) -> np.ndarray:
        """Values of raw numbers, float64."""
        return np.ldexp(np.asarray(raw, float), -self.frac)


@dataclass(frozen=True)
class Constant:
    """A constant factor ``mantissa`` · 2^−``exponent``, with an odd positive mantissa."""

    mantissa: int
    exponent: int

    @property
    def value(self) -> float:
        """The factor."""
        return math.ldexp(float(self.mantissa), -self.exponent)

    @cached_property
    def digits(self) -> tuple[tuple[int, int], ...]:
        """Canonical signed digits of the mantissa: (sign, position) with the fewest non-zero digits."""
        return signed_digits(self.mantissa)


def signed_digits(value: int) -> tuple[tuple[int, int], ...]:
    """Canonical signed-digit form of a positive integer, lowest digit first (Reitwiesner 1960)."""
    digits, position = [], 0
    while value:
        if value & 1:
            digit = 2 - (value & 3)
            digits.append((digit, position))
            value -= digit
        value >>= 1
        position += 1
    return tuple(digits)


@lru_cache(maxsize=64)
def sine_table(address_bits: int, fmt: Format) -> tuple[int, ...]:
    """Raw sines of the middles of 2^address_bits equal intervals of the first quarter turn."""
    size = 1 << address_bits
    angles = (np.arange(size) + 0.5) / size * (math.pi / 2)
    return tuple(int(x) for x in fmt.quantise(np.sin(angles)))


@lru_cache(maxsize=64)
def reciprocal_table(address_bits: int, fmt: Format) -> tuple[int, ...]:
    """Raw reciprocals of the middles of 2^address_bits equal intervals of [1, 2)."""
    size = 1 << address_bits
    return tuple(int(x) for x in fmt.quantise(1.0 / (1.0 + (np.arange(size) + 0.5) / size)))


@dataclass(frozen=True)
class FixedGraph:
    """A graph with a format for every node and an exact constant for every ``scale``.

    ``constants`` is by node number. Raw values of ``const`` nodes are ``Format.quantise`` of their attribute.
    ``truncated``: the nodes that drop bits without rounding. ``saturate``: whether what does not fit becomes the
    nearest number that does; without, it wraps around.
    """

    graph: Graph
    formats: tuple[Format, ...]
    constants: dict[int, Constant]
    truncated: frozenset[int] = frozenset()
    saturate: bool = True

    def exact(self, i: int, args: Sequence[Format] | None = None) -> tuple[int, int, int]:
        """Of node ``i``'s result before rounding: binary point, and bounds of its raw value there.

        Bounds follow from the arguments' formats alone; ``args``: other ones than their own.
        """
        node = self.graph.nodes[i]
        args = [self.formats[a] for a in node.args] if args is None else args
        if node.op in ("add", "sub"):
            frac = max(a.frac for a in args)
            (l0, h0), (l1, h1) = ((a.minimum << (frac - a.frac), a.maximum << (frac - a.frac)) for a in args)
            return (frac, l0 + l1, h0 + h1) if node.op == "add" else (frac, l0 - h1, h0 - l1)
        if node.op == "neg":
            return args[0].frac, -args[0].maximum, -args[0].minimum
        if node.op == "round":
            return args[0].frac, args[0].minimum, args[0].maximum
        if node.op == "mul":
            corners = [x * y for x in (args[0].minimum, args[0].maximum) for y in (args[1].minimum, args[1].maximum)]
            return args[0].frac + args[1].frac, min(corners), max(corners)
        if node.op == "scale":
            c = self.constants[i]
            return args[0].frac + c.exponent, args[0].minimum * c.mantissa, args[0].maximum * c.mantissa
        if node.op == "rescale":
            # the largest move is that of an x with only its top bit set
            y, x = args
            places = x.width - 2
            return y.frac + places - x.frac, y.minimum << places, y.maximum << places
        fmt = self.formats[i]
        return fmt.frac, fmt.minimum, fmt.maximum

    def dropped_bits(self, i: int) -> int:
        """Bits below the result's binary point that node ``i`` rounds away."""
        return self.exact(i)[0] - self.formats[i].frac

    def half(self, i: int) -> int:
        """What is added before bits are dropped: half of the result's last place, or nothing."""
        return 0 if i in self.truncated else (1 << self.dropped_bits(i)) >> 1

    def split(self, i: int) -> int:
        """Low bits of a product's second factor that 64-bit arithmetic must take apart, so that both parts of the
        product fit; 0 where the whole does. The product drops at least as many bits."""
        a, b = (self.formats[a].width for a in self.graph.nodes[i].args)
        return max(a + b - BITS, 0)

    def may_overflow(self, i: int) -> bool:
        """Whether any arguments in their formats can saturate node ``i``, or (normalise) be what it cannot do."""
        if self.graph.nodes[i].op == "normalise":
            return True
        frac, low, high = self.exact(i)
        fmt = self.formats[i]
        drop, half = frac - fmt.frac, self.half(i)
        return (low + half) >> drop < fmt.minimum or (high + half) >> drop > fmt.maximum


def verify_fixed(fixed: FixedGraph) -> None:
    """Check formats and constants; raises ValueError naming the node.

    Every node has a format, no operation gains bits below its exact result, exact results fit 63 bits (those of
    products may have as many more as are dropped), shifts keep
    their argument's bits, residuals and tables have the bits that they need.
    """
    graph = fixed.graph
    if len(fixed.formats) != len(graph.nodes):
        raise ValueError(f"formats: must be one for each of {len(graph.nodes)} nodes, not {len(fixed.formats)}")
    for i, node in graph:
        where, fmt = f"node %{i} ({node.op})", fixed.formats[i]
        if node.op == "scale" and i not in fixed.constants:
            raise ValueError(f"{where}: must have a constant")
        if node.op in ROUNDED:
            frac, low, high = fixed.exact(i)
            if frac < fmt.frac:
                raise ValueError(f"{where}: binary point must be at most {frac}, not {fmt.frac}")
            extra = min(fixed.split(i), fixed.dropped_bits(i)) if node.op == "mul" else 0
            if max(-low, high).bit_length() > BITS + extra:
                raise ValueError(f"{where}: exact result must fit 63 bits, needs {max(-low, high).bit_length() + 1}")
        if node.op == "round" and fmt.frac != node.attr:
            raise ValueError(f"{where}: binary point must be {node.attr}, not {fmt.frac}")
        if node.op == "normalise" and (fmt.frac != fmt.width - 2 or fixed.formats[node.args[0]].width < 2):
            raise ValueError(f"{where}: format must be that of a number in [1, 2), not {fmt}")
        if node.args and node.op in ("shift", "table_sin", "table_cos", "table_reciprocal", "residual"):
            arg = fixed.formats[node.args[0]]
            if node.op == "shift" and (fmt.width, fmt.frac) != (arg.width, arg.frac - node.attr):
                raise ValueError(f"{where}: format must be that of its argument moved by {node.attr}, not {fmt}")
            if node.op != "shift" and arg.frac <= node.attr:
                raise ValueError(f"{where}: argument must have more than {node.attr} fractional bits, not {arg.frac}")
            if node.op == "residual" and fmt != Format(arg.frac - node.attr, arg.frac):
                raise ValueError(f"{where}: format must hold the argument's low bits exactly, not {fmt}")
