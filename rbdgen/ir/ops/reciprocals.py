"""Reciprocals and quotients of positive numbers as algorithms have them, and what hardware makes them of.

``normalise`` moves a positive x by a power of two into [1, 2): x · 2^−e with e = floor(log2 x). ``table_reciprocal``
gives the reciprocal of the middle of the interval that a number in [1, 2) is in. ``rescale`` of y and x is y · 2^−e
with the e of x.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from rbdgen.ir.exactness import Span, exponent, rescaled
from rbdgen.ir.number_formats import Format
from rbdgen.ir.ops.lookup import Lookup, middle
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
    in_proportion,
)

if TYPE_CHECKING:
    from rbdgen.ir.builder import Builder
    from rbdgen.ir.fixed import FixedGraph
    from rbdgen.ir.graph import Node


class Reciprocal(Operation):
    """1 / x of a positive x."""

    name = "reciprocal"
    lowered = False

    def value(self, node: Node, x: Values, dtype: Dtype) -> Any:
        return dtype(1.0) / x[0]


class Quotient(Operation):
    """y / x of y and a positive x."""

    name = "divide"
    arity = 2
    lowered = False

    def made(self, builder: Builder, args: Args, attr: Any) -> int:
        y, x = args
        value = builder.value(x)
        if value is not None:
            return builder.scale(y, 1.0 / value)
        negative = builder.negated(y)
        if negative is not None:
            return builder.neg(self.made(builder, (negative, x), None))
        return builder.node(self.name, args)

    def value(self, node: Node, x: Values, dtype: Dtype) -> Any:
        return x[0] / x[1]


class _Moved(Operation):
    """A move by a power of two that a value gives."""

    traced = False
    moves_by_data = True
    bit_cost = 8.0

    def arriving(self, node: Node, deviations: Reals, largest: Array, own: float) -> Reals:
        return in_proportion(node, deviations, largest, own)

    def passed_on(self, node: Node, here: Array, at: ValuesOf) -> Passed:
        # the exponent is constant but for jumps, so that nothing is passed on to what it is of
        places = exponent(at(node.args[-1]))
        return [(node.args[0], np.ldexp(here, -places))]


class Normalise(_Moved):
    """x · 2^−e in [1, 2). An x that is not positive overflows."""

    name = "normalise"
    rounds = False
    is_partial = True

    def value(self, node: Node, x: Values, dtype: Dtype) -> Any:
        return np.ldexp(x[0], -exponent(x[0]))

    def raw(self, fixed: FixedGraph, i: int, node: Node, x: Arrays) -> Array:
        # what is not positive raises the flag, and any number does in its place
        positive = np.maximum(x[0], 1)
        top = fixed.formats[node.args[0]].width - 2
        aligned = np.left_shift(positive, top - exponent(positive))
        drop = top - fixed.formats[i].frac
        return aligned >> drop if drop > 0 else aligned << -drop

    def lost(self, node: Node, x: Arrays) -> Array | None:
        return x[0] <= 0

    def format_fault(self, fixed: FixedGraph, i: int, node: Node) -> Fault:
        fmt = fixed.formats[i]
        argument = fixed.formats[node.args[0]]
        if fmt.frac != fmt.width - 2 or argument.width < 2:
            return f"format must be that of a number in [1, 2), not {fmt}"
        return None

    def head(self, node: Node, heads: Numbers) -> Bits:
        return 1

    def frac(self, node: Node, fracs: Numbers, word: int) -> Bits:
        return word - 2

    def span(self, node: Node, spans: Spans) -> Span:
        return 1.0, 2.0


class ReciprocalLookup(Lookup):
    """The reciprocal of an interval's middle."""

    name = "table_reciprocal"
    memory = "reciprocals"

    def value(self, node: Node, x: Values, dtype: Dtype) -> Any:
        return 1.0 / middle(x[0], node.attr)

    def raw(self, fixed: FixedGraph, i: int, node: Node, x: Arrays) -> Array:
        table = np.array(reciprocal_table(node.attr, fixed.formats[i]), np.int64)
        # a number in [1, 2) has a one before its address
        size = 1 << node.attr
        return table[self.place(fixed, node, x[0]) & (size - 1)]

    def head(self, node: Node, heads: Numbers) -> Bits:
        return 0

    def span(self, node: Node, spans: Spans) -> Span:
        return 0.5, 1.0


class Rescale(_Moved):
    """y · 2^−e with the e of x."""

    name = "rescale"
    arity = 2

    def value(self, node: Node, x: Values, dtype: Dtype) -> Any:
        return np.ldexp(x[0], -exponent(x[1]))

    def exact(self, fixed: FixedGraph, i: int, node: Node, args: Formats) -> Exact:
        # the largest move is that of an x with only its top bit set
        fmt, x = args
        places = x.width - 2
        frac = fmt.frac + places - x.frac
        return frac, fmt.minimum << places, fmt.maximum << places

    def raw(self, fixed: FixedGraph, i: int, node: Node, x: Arrays) -> Array:
        top = fixed.formats[node.args[1]].width - 2
        positive = np.maximum(x[1], 1)
        return np.left_shift(x[0], top - exponent(positive))

    def exact_frac(self, node: Node, heads: Numbers, fracs: Numbers, exponent: int) -> Bits:
        return fracs[node.args[0]] + heads[node.args[1]] - 1

    def span(self, node: Node, spans: Spans) -> Span:
        y, x = node.args
        return rescaled(spans[y], spans[x])


@lru_cache(maxsize=64)
def reciprocal_table(address_bits: int, fmt: Format) -> tuple[int, ...]:
    """Array reciprocals of the middles of 2^address_bits equal intervals of [1, 2)."""
    size = 1 << address_bits
    middles = 1.0 + (np.arange(size) + 0.5) / size
    raw = fmt.quantise(1.0 / middles)
    return tuple(raw.tolist())


OPERATIONS = (Reciprocal(), Quotient(), Normalise(), ReciprocalLookup(), Rescale())
