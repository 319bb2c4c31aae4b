"""Exact arithmetic on raw values: bounds of sums, products longer than 64 bits, what dropped bits leave; and interval
arithmetic on spans, the lowest and the highest value of a signal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rbdgen.ir.number_formats import BITS, Format
from rbdgen.ir.terms import Terms


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


def exponent(x: np.ndarray) -> np.ndarray:
    """floor(log2 x)."""
    return np.frexp(x)[1] - 1


def product_without(low: int, a: np.ndarray, b: np.ndarray, half: int = 0) -> np.ndarray:
    """floor((a·b + half) / 2^low), of which the product may be longer than 64 bits."""
    if not low:
        return a * b
    # low bits of b apart, so that neither product is longer than 64 bits
    part = a * (b & ((1 << low) - 1)) + half
    return a * (b >> low) + (part >> low)


def dropped(exact: np.ndarray, drop: int, rounds: bool) -> np.ndarray:
    """``exact`` without its lowest ``drop`` bits, however many: rounded half up or cut."""
    if not drop:
        return exact
    if not rounds:
        return exact >> min(drop, BITS)
    # not half of the last place first, which is beyond 64 bits where all are dropped
    return ((exact >> min(drop - 1, BITS)) + 1) >> 1


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
