"""Pass: reciprocals by normalisation, a table and a short series.

x is moved by a power of two into m in [1, 2); with c the middle of m's table interval, r = 1/c from the table and u =
(m − c) r, 1/m = r (1 − u + u² − …). The result, or y times that of a quotient y/x, moves back by the same power of two:
quotients are products before they move, and so lose no bits to the largest reciprocal. Order 1 leaves out u², order 2
leaves out u³; |u| is at most half a table interval. An x that is not positive raises the overflow flag.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rbdgen.errors import ConfigError
from rbdgen.ir.builder import Builder, rebuild
from rbdgen.ir.graph import Graph, Node

MIN_ADDRESS_BITS, MAX_ADDRESS_BITS = 4, 10
"""Smallest and largest table, in address bits."""


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
