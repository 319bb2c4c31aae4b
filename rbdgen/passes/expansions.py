"""Passes that make sines, cosines and reciprocals of a table and a short series.

Sines are a quarter-wave table and a Taylor step. The angle in quarter turns, t = q · 2/π, is split at a table
interval's middle m: with d = (t − m)·π/2, sin q = S + d C (order 1) or S + d (C − d/2 S) (order 2), and the cosine from
the same table (C = sin of the mirrored angle) by the same step. What the step leaves out is at most
d^(order+1)/(order+1)!; the smallest table that keeps this below half of 2^−word is chosen, order 1 while that needs no
more than 2^``MAX_ADDRESS_BITS`` entries.

A reciprocal 1/x is by normalisation. x is moved by a power of two into m in [1, 2); with c the middle of m's table
interval, r = 1/c from the table and u = (m − c) r, 1/m = r (1 − u + u² − …). The result, or y times that of a quotient
y/x, moves back by the same power of two: quotients are products before they move, and so lose no bits to the largest
reciprocal. Order 1 leaves out u², order 2 leaves out u³; |u| is at most half a table interval. An x that is not
positive raises the overflow flag.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rbdgen.errors import ConfigError
from rbdgen.ir.builder import Builder, rebuild
from rbdgen.ir.graph import Graph, Node

MAX_ADDRESS_BITS = 10
"""Tables up to 1024 entries: one 18-kbit block memory at 18 bits."""
MIN_ADDRESS_BITS = 4


@dataclass(frozen=True)
class SineMethod:
    """``order`` of the Taylor step and ``address_bits`` of the quarter-wave table."""

    order: int
    address_bits: int

    @property
    def truncation(self) -> float:
        """Bound of what the Taylor step leaves out."""
        d = math.pi / 2 / (1 << (self.address_bits + 1))
        return d ** (self.order + 1) / math.factorial(self.order + 1)


def sine_method(word: int) -> SineMethod:
    """The method for results of ``word`` bits; ConfigError where no supported table is fine enough."""
    for order in (1, 2):
        for address_bits in range(MIN_ADDRESS_BITS, MAX_ADDRESS_BITS + 1):
            method = SineMethod(order, address_bits)
            if method.truncation <= math.ldexp(0.5, -word):
                return method
    raise ConfigError(
        f"word: sines of {word} bits need a finer table than supported; use at most 32"
    )


def expand_trigonometry(graph: Graph, method: SineMethod) -> Graph:
    """Replace every ``sin`` and ``cos``."""

    def rule(builder: Builder, i: int, node: Node, args: tuple[int, ...]) -> int | None:
        if node.op not in ("sin", "cos"):
            return None
        bits = method.address_bits
        turn = builder.scale(args[0], 2 / math.pi)
        residual = builder.make("residual", (turn,), bits)
        step = builder.scale(residual, math.pi / 2)
        # one access answers both, so that the second costs no table
        sine = builder.make("table_sin", (turn,), bits)
        cosine = builder.make("table_cos", (turn,), bits)
        here, slope = sine, cosine
        if node.op == "cos":
            here, slope = cosine, builder.neg(sine)
        if method.order == 2:
            half = builder.shift(builder.mul(step, here), -1)
            slope = builder.sub(slope, half)
        return builder.add(here, builder.mul(step, slope))

    return rebuild(graph, rule)


@dataclass(frozen=True)
class ReciprocalMethod:
    """``order`` of the series and ``address_bits`` of the table."""

    order: int
    address_bits: int

    @property
    def truncation(self) -> float:
        """Bound of what the series leaves out, relative to the result."""
        return math.ldexp(1.0, -(self.address_bits + 1) * (self.order + 1))


def reciprocal_method(word: int) -> ReciprocalMethod:
    """The cheapest method for results of ``word`` bits; ConfigError where no supported table is fine enough."""
    # order 1 first: it takes fewer products, and a larger table only memory
    for order in (1, 2):
        for address_bits in range(MIN_ADDRESS_BITS, MAX_ADDRESS_BITS + 1):
            method = ReciprocalMethod(order, address_bits)
            if method.truncation <= math.ldexp(0.5, -word):
                return method
    raise ConfigError(
        f"word: reciprocals of {word} bits need a finer table than supported; use at most 32"
    )


def expand_reciprocals(graph: Graph, method: ReciprocalMethod) -> Graph:
    """Replace every ``reciprocal`` and ``divide``."""

    def rule(builder: Builder, i: int, node: Node, args: tuple[int, ...]) -> int | None:
        if node.op not in ("reciprocal", "divide"):
            return None
        x = args[-1]
        m = builder.make("normalise", (x,))
        r = builder.make("table_reciprocal", (m,), method.address_bits)
        residual = builder.make("residual", (m,), method.address_bits)
        u = builder.mul(residual, r)
        if method.order == 2:
            u = builder.sub(u, builder.mul(u, u))
        inverse = builder.sub(r, builder.mul(r, u))
        if node.op == "divide":
            inverse = builder.mul(args[0], inverse)
        return builder.make("rescale", (inverse, x))

    return rebuild(graph, rule)
