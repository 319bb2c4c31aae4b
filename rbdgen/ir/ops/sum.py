"""Operation ``sum``: all arithmetic of graphs, Σ ± a·b + Σ ± c, exact inside and rounded once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from rbdgen.ir.exactness import Span, exact_sum, product_span, product_without, signed
from rbdgen.ir.number_formats import BITS
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
from rbdgen.ir.terms import Terms

if TYPE_CHECKING:
    from rbdgen.ir.builder import Builder
    from rbdgen.ir.fixed import FixedGraph
    from rbdgen.ir.graph import Node

OUTWEIGHED = 1 / 16
"""Share of its largest magnitude that the error of anything but a sum is taken to stay below."""


class Sum(Operation):
    """A sum; its attribute are its :class:`~rbdgen.ir.terms.Terms`, its arguments the products' factors, then the
    addends. Of a multiple by a constant fixed-point graphs have the constant exactly (``FixedGraph.constants``)."""

    name = "sum"
    arity = None
    attribute = Terms

    def arguments(self, node: Node) -> int:
        return node.attr.arguments

    def made(self, builder: Builder, args: Args, attr: Any) -> int:
        return builder.sum(args, attr)

    def value(self, node: Node, x: Values, dtype: Dtype) -> Any:
        terms = node.terms
        if terms.multiple is not None:
            return x[0] * dtype(terms.multiple)
        parts = []
        for k, sign in enumerate(terms.products):
            product = x[2 * k] * x[2 * k + 1]
            parts.append(product if sign > 0 else -product)
        for sign, addend in zip(terms.addends, x[terms.factors :], strict=True):
            parts.append(addend if sign > 0 else -addend)
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total

    def exact(self, fixed: FixedGraph, i: int, node: Node, args: Formats) -> Exact:
        if i not in fixed.constants:
            return exact_sum(node.terms, args, fixed.points.get(i))
        (fmt,) = args
        factor = fixed.constants[i]
        low = fmt.minimum * factor.mantissa
        high = fmt.maximum * factor.mantissa
        return fmt.frac + factor.exponent, low, high

    def raw(self, fixed: FixedGraph, i: int, node: Node, x: Arrays) -> Array:
        if i in fixed.constants:
            return x[0] * fixed.constants[i].mantissa
        if fixed.is_product(i):
            low = fixed.split(*node.args)
            # where no other bits are dropped, the low ones must be rounded as they are taken off
            half = fixed.half(i) if low == fixed.dropped_bits(i) else 0
            return product_without(low, x[0], x[1], half)
        formats = fixed.formats
        parts = []
        for k, (sign, one, other) in enumerate(node.products):
            low = fixed.split(one, other)
            product = product_without(low, x[2 * k], x[2 * k + 1])
            parts.append((sign, product, formats[one].frac + formats[other].frac - low))
        for (sign, a), value in zip(node.addends, x[node.terms.factors :], strict=True):
            parts.append((sign, value, formats[a].frac))
        frac = fixed.exact(i)[0]
        total = np.zeros(np.shape(x[0]), np.int64)
        for sign, value, point in parts:
            places = frac - point
            # shifts by 64 places and more have no meaning; 63 leave nothing but the sign
            aligned = value << places if places >= 0 else value >> min(-places, BITS)
            if sign > 0:
                total += aligned
            else:
                total -= aligned
        return total

    def taken_off(self, fixed: FixedGraph, i: int, node: Node) -> int:
        return fixed.split(*node.args) if fixed.is_product(i) else 0

    def format_fault(self, fixed: FixedGraph, i: int, node: Node) -> Fault:
        if node.terms.multiple is not None and i not in fixed.constants:
            return "must have a constant"
        return super().format_fault(fixed, i, node)

    def cost_of_bit(self, node: Node) -> float:
        if node.terms.is_product:
            return 1.0  # the multiplier counts by itself
        return 2.0 if node.terms.multiple is None else 3.0

    def exact_frac(self, node: Node, heads: Numbers, fracs: Numbers, exponent: int) -> Bits:
        if node.terms.multiple is not None:
            return fracs[node.args[0]] + exponent
        points = [fracs[a] for _, a in node.addends]
        for _, one, other in node.products:
            points.append(fracs[one] + fracs[other])
        return max(points)

    def span(self, node: Node, spans: Spans) -> Span:
        factor = node.terms.multiple
        if factor is not None:
            low, high = spans[node.args[0]]
            ends = low * factor, high * factor
            return min(ends), max(ends)
        lows, highs = zip(*term_spans(node, spans), strict=True)
        return sum(lows), sum(highs)

    def passed_on(self, node: Node, here: Array, at: ValuesOf) -> Passed:
        factor = node.terms.multiple
        if factor is not None:
            return [(node.args[0], here * factor)]
        return [(a, here if sign > 0 else -here) for sign, a in node.addends]

    def arriving(self, node: Node, deviations: Reals, largest: Array, own: float) -> Reals:
        if node.terms.multiple is not None:
            return in_proportion(node, deviations, largest, own)
        errors = []
        for _, one, other in node.products:
            errors.append(_product_error(one, other, deviations, largest))
        errors += [deviations[a] for _, a in node.addends]
        return errors


def term_spans(node: Node, spans: Spans) -> list[Span]:
    """The spans of the terms of a sum: its products, then its addends."""
    found = []
    for sign, one, other in node.products:
        span = product_span(spans[one], spans[other], one == other)
        found.append(signed(sign, span))
    for sign, a in node.addends:
        found.append(signed(sign, spans[a]))
    return found


def _product_error(one: int, other: int, deviations: Reals, largest: Array) -> float:
    """Deviation of the error that a product of two nodes has by theirs: well below the product of their largest
    values, unless one is smaller than its error."""
    largest_one, largest_other = float(largest[one]), float(largest[other])
    first, second = deviations[one], deviations[other]
    error = math.hypot(largest_other * first, largest_one * second, first * second)
    if first <= largest_one and second <= largest_other:
        error = min(error, largest_one * largest_other * OUTWEIGHED)
    return error


OPERATIONS = (Sum(),)
