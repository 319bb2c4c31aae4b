"""Operation ``shift``: times 2^attribute, a move of the binary point that no hardware makes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from rbdgen.ir.exactness import Span
from rbdgen.ir.number_formats import Format
from rbdgen.ir.ops.operation import (
    Args,
    Array,
    Arrays,
    Bits,
    Dtype,
    Fault,
    Numbers,
    Operation,
    Passed,
    Reals,
    Spans,
    Values,
    ValuesOf,
    in_proportion,
)

if TYPE_CHECKING:
    from rbdgen.ir.builder import Builder
    from rbdgen.ir.fixed import FixedGraph
    from rbdgen.ir.graph import Node


class Shift(Operation):
    """``2^attribute`` times its argument."""

    name = "shift"
    attribute = int
    rounds = False
    is_wiring = True
    any_time = True
    keeps_point = True

    def made(self, builder: Builder, args: Args, attr: Any) -> int:
        return builder.shift(args[0], attr)

    def value(self, node: Node, x: Values, dtype: Dtype) -> Any:
        return np.ldexp(x[0], node.attr)

    def raw(self, fixed: FixedGraph, i: int, node: Node, x: Arrays) -> Array:
        return x[0]

    def format_fault(self, fixed: FixedGraph, i: int, node: Node) -> Fault:
        fmt = fixed.formats[i]
        if fmt != self.wired_format(node, fixed.formats[node.args[0]]):
            return f"format must be that of its argument moved by {node.attr}, not {fmt}"
        return None

    def wired_format(self, node: Node, source: Format) -> Format:
        return Format(source.width, source.frac - node.attr)

    def head(self, node: Node, heads: Numbers) -> Bits:
        return heads[node.args[0]] + node.attr

    def frac(self, node: Node, fracs: Numbers, word: int) -> Bits:
        return fracs[node.args[0]] - node.attr

    def span(self, node: Node, spans: Spans) -> Span:
        low, high = spans[node.args[0]]
        return math.ldexp(low, node.attr), math.ldexp(high, node.attr)

    def passed_on(self, node: Node, here: Array, at: ValuesOf) -> Passed:
        return [(node.args[0], np.ldexp(here, node.attr))]

    def arriving(self, node: Node, deviations: Reals, largest: Array, own: float) -> Reals:
        return in_proportion(node, deviations, largest, own)


OPERATIONS = (Shift(),)
