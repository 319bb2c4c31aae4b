"""What joins the links of a chain from one end to each of them, in logarithmic depth: prefix and suffix scans.

The networks are Ladner and Fischer's ("Parallel prefix computation", 1980). Sklansky's is the shallowest, ⌈log₂ n⌉
joins deep, with n/2 of them in each level: sums are cheap and take it. Products of rotations take the one that joins
neighbours first and fills the places between them in last: one level more, for about half of the products, and most
of those that are left are with a single joint's rotation, which is mostly zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from rbdgen.algo.submodules import Enter
from rbdgen.spatial import Vector, vadd

T = TypeVar("T")
Join = Callable[[T, T, int], T]
"""``join(before, after, i)`` of two neighbouring stretches of links; ``i``: the link that the longer stretch is
known by, the one at which the scan arrives."""


def shallow_scan(items: Sequence[T], join: Join[T], first: int = 0) -> list[T]:
    """Each item joined with all before it, by Sklansky's network. ``first``: the number of the first item."""
    if len(items) <= 1:
        return list(items)
    half = (len(items) + 1) // 2
    before = shallow_scan(items[:half], join, first)
    after = shallow_scan(items[half:], join, first + half)
    joined = [join(before[-1], x, first + half + i) for i, x in enumerate(after)]
    return before + joined


def sparing_scan(items: Sequence[T], join: Join[T]) -> list[T]:
    """Each item joined with all before it, neighbours first."""
    pairs = []
    for i in range(1, len(items), 2):
        pairs.append(join(items[i - 1], items[i], i))
    odd = shallow_scan(pairs, lambda before, after, k: join(before, after, 2 * k + 1))
    result = list(items[:1])
    for i in range(1, len(items)):
        whole = odd[i // 2] if i % 2 else join(odd[i // 2 - 1], items[i], i)
        result.append(whole)
    return result


def outward_sums(kind: str, items: Sequence[Vector], enter: Enter) -> list[Vector]:
    """Σ_{j ≤ i} of vectors by link, in submodules of this ``kind``."""

    def join(before: Vector, after: Vector, i: int) -> Vector:
        with enter(kind, i):
            return vadd(before, after)

    return shallow_scan(items, join)


def inward_sums(kind: str, items: Sequence[Vector], enter: Enter) -> list[Vector]:
    """Σ_{j ≥ i} of vectors by link, in submodules of this ``kind``."""
    last = len(items) - 1

    def join(behind: Vector, own: Vector, k: int) -> Vector:
        with enter(kind, last - k):
            return vadd(own, behind)

    return shallow_scan(items[::-1], join)[::-1]
