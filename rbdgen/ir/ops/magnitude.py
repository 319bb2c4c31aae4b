"""Operations ``abs`` and ``sign``: the magnitude of an argument, and what it is multiplied by to give that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rbdgen.ir.exactness import Span, magnitude
from rbdgen.ir.ops.operation import (
    Args,
    Array,
    Arrays,
    Bits,
    Dtype,
    Exact,
    Fault,
    Formats,
    Numbers,
    Operation,
    Passed,
    Reals,
    Spans,
    Values,
    ValuesOf,
)

if TYPE_CHECKING:
    from rbdgen.ir.builder import Builder
    from rbdgen.ir.fixed import FixedGraph
    from rbdgen.ir.graph import Node


class Magnitude(Operation):
    """|x|. Positive factors stand outside of it."""

    name = "abs"
    any_time = True
    aligns = True
    is_addition = True
    is_bent = True
    bit_cost = 2.0
    keeps_point = True

    def made(self, builder: Builder, args: Args, attr: Any) -> int:
        (a,) = args
        node = builder.nodes[a]
        if node.op == "abs":
            return a
        if node.terms.is_negation:
            return self.made(builder, node.args, None)
        # factors of multiples are positive, as builders make them
        if node.op == "shift" or node.terms.multiple is not None:
            size = self.made(builder, node.args, None)
            return builder.make(node.op, (size,), node.attr)
        return super().made(builder, args, attr)

    def value(self, node: Node, x: Values, dtype: Dtype) -> Any:
        return np.abs(x[0])

    def exact(self, fixed: FixedGraph, i: int, node: Node, args: Formats) -> Exact:
        (argument,) = args
        # the lowest value has one more unit than the highest
        return argument.frac, 0, -argument.minimum

    def raw(self, fixed: FixedGraph, i: int, node: Node, x: Arrays) -> Array:
        return np.abs(x[0])

    def span(self, node: Node, spans: Spans) -> Span:
        span = spans[node.args[0]]
        low, high = span
        return max(low, -high, 0.0), magnitude(span)

    def passed_on(self, node: Node, here: Array, at: ValuesOf) -> Passed:
        (a,) = node.args
        return [(a, np.where(at(a) < 0, -here, here))]


class Sign(Operation):
    """-1 for what is negative, else 1."""

    name = "sign"
    traced = False
    rounds = False

    def value(self, node: Node, x: Values, dtype: Dtype) -> Any:
        return np.where(x[0] < 0, dtype(-1.0), dtype(1.0))

    def raw(self, fixed: FixedGraph, i: int, node: Node, x: Arrays) -> Array:
        one = np.int64(1 << fixed.formats[i].frac)
        return np.where(x[0] < 0, -one, one)

    def format_fault(self, fixed: FixedGraph, i: int, node: Node) -> Fault:
        fmt = fixed.formats[i]
        if fmt.frac < 0 or fmt.width < fmt.frac + 2:
            return f"format must have room for 1, not {fmt}"
        return None

    def head(self, node: Node, heads: Numbers) -> Bits:
        return 1

    def span(self, node: Node, spans: Spans) -> Span:
        return -1.0, 1.0

    def passed_on(self, node: Node, here: Array, at: ValuesOf) -> Passed:
        return []

    def arriving(self, node: Node, deviations: Reals, largest: Array, own: float) -> Reals:
        return [0.0]


OPERATIONS = (Magnitude(), Sign())
