"""Interval arithmetic on spans: the lowest and the highest value of a signal."""

from __future__ import annotations

import math

Span = tuple[float, float]
"""Lowest and highest value."""


def magnitude(span: Span) -> float:
    """The largest magnitude of a span."""
    low, high = span
    return max(abs(low), abs(high))


def signed(sign: float, span: Span) -> Span:
    """A span, or that of the negative numbers."""
    low, high = span
    return span if sign > 0 else (-high, -low)


def product(x: float, y: float) -> float:
    """x·y, where nothing times infinity is nothing."""
    return 0.0 if x == 0 or y == 0 else x * y


def product_span(one: Span, other: Span, square: bool) -> Span:
    """The span of a product; ``square``: of a number with itself."""
    corners = [product(x, y) for x in one for y in other]
    if not square:
        return min(corners), max(corners)
    low, high = one
    # a number's square is not negative, whatever the corners say
    ends = corners[0], corners[3]
    least = 0.0 if low <= 0 <= high else min(ends)
    return least, max(ends)


def normalising_factor(span: Span) -> float:
    """The largest power of two that moves a number into [1, 2); infinite for one that may not be positive."""
    least, _ = span
    if least <= 0:
        return math.inf
    exponent = math.floor(math.log2(least))
    return math.ldexp(1.0, -exponent)


def rescaled(span: Span, normalised: Span) -> Span:
    """The span of a number moved by the power of two that normalises another."""
    factor = normalising_factor(normalised)
    moved = [product(y, factor) for y in span]
    # the factor is the largest that may be: what moves by less is nearer to zero
    return min(0.0, *moved), max(0.0, *moved)
