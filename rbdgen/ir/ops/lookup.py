"""Tables that are addressed by the upper bits of a value, and ``residual``: the value less its interval's middle."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from rbdgen.ir.exactness import Span
from rbdgen.ir.number_formats import Format
from rbdgen.ir.ops.operation import (
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
)

if TYPE_CHECKING:
    from rbdgen.ir.fixed import FixedGraph
    from rbdgen.ir.graph import Node


def middle(x: np.ndarray, address_bits: int) -> Array:
    """Middle of the table interval that holds ``x``."""
    interval = np.floor(np.ldexp(x, address_bits))
    return (interval + 0.5) / (1 << address_bits)


class Addressed(Operation):
    """An operation whose attribute is the number of address bits."""

    attribute = int
    traced = False
    rounds = False
    is_addressed = True

    def format_fault(self, fixed: FixedGraph, i: int, node: Node) -> Fault:
        frac = fixed.formats[node.args[0]].frac
        # with fewer, half of an interval would be less than the last place
        if frac <= node.attr:
            return f"argument must have more than {node.attr} fractional bits, not {frac}"
        return None

    def arriving(self, node: Node, deviations: Reals, largest: Array, own: float) -> Reals:
        # which interval a value is in makes no error: the residual has what is left
        return []

    def below(self, fixed: FixedGraph, node: Node) -> int:
        """Bits of the argument below the address."""
        return fixed.formats[node.args[0]].frac - node.attr


class Lookup(Addressed):
    """A table of values at the middles of intervals."""

    looks_up = True

    def place(self, fixed: FixedGraph, node: Node, x: np.ndarray) -> Array:
        """Number of the interval that a raw argument is in."""
        return x >> self.below(fixed, node)

    def frac(self, node: Node, fracs: Numbers, word: int) -> Bits:
        # all tables of a kind have one format, so that they can be one
        head = self.head(node, ())
        return None if head is None else word - 1 - head

    def passed_on(self, node: Node, here: Array, at: ValuesOf) -> Passed:
        return []


class Residual(Addressed):
    """Rest of a value: how far it is from the middle of its interval."""

    name = "residual"
    is_wiring = True

    def value(self, node: Node, x: Values, dtype: Dtype) -> Any:
        return x[0] - middle(x[0], node.attr)

    def raw(self, fixed: FixedGraph, i: int, node: Node, x: Arrays) -> Array:
        below = self.below(fixed, node)
        # the middle is half of an interval beyond what the address alone stands for
        return (x[0] & ((1 << below) - 1)) - (1 << (below - 1))

    def format_fault(self, fixed: FixedGraph, i: int, node: Node) -> Fault:
        fault = super().format_fault(fixed, i, node)
        fmt = fixed.formats[i]
        if fault is None and fmt != self.wired_format(node, fixed.formats[node.args[0]]):
            return f"format must hold the argument's low bits exactly, not {fmt}"
        return fault

    def wired_format(self, node: Node, source: Format) -> Format:
        return Format(source.frac - node.attr, source.frac)

    def head(self, node: Node, heads: Numbers) -> Bits:
        # half of an interval of 2^−attribute, on either side
        return -node.attr - 1

    def frac(self, node: Node, fracs: Numbers, word: int) -> Bits:
        return fracs[node.args[0]]

    def span(self, node: Node, spans: Spans) -> Span:
        half = math.ldexp(0.5, -node.attr)
        return -half, half

    def passed_on(self, node: Node, here: Array, at: ValuesOf) -> Passed:
        return [(node.args[0], here)]


OPERATIONS = (Residual(),)
