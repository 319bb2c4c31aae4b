"""Scans: what they join, how deep they are and how many joins they take."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import pytest

from rbdgen.algo.chain import inward_sums, outward_sums, shallow_scan, sparing_scan

LENGTHS = (0, 1, 2, 3, 4, 7, 8, 13, 32, 33)


@dataclass(frozen=True)
class Stretch:
    """Items that were joined, in their order, and by how many joins one after the other."""

    items: tuple[int, ...]
    depth: int = 0


class Counter:
    """Joins stretches, and counts."""

    def __init__(self) -> None:
        self.joins = 0

    def join(self, before: Stretch, after: Stretch, i: int) -> Stretch:
        assert after.items[-1] == i
        self.joins += 1
        return Stretch(before.items + after.items, 1 + max(before.depth, after.depth))


@pytest.mark.parametrize("scan", [shallow_scan, sparing_scan])
@pytest.mark.parametrize("links", LENGTHS)
def test_scans_join_neighbours_in_order(scan: Callable[..., list[Stretch]], links: int) -> None:
    found = scan([Stretch((i,)) for i in range(links)], Counter().join)
    assert [s.items for s in found] == [tuple(range(i + 1)) for i in range(links)]


@pytest.mark.parametrize("links", LENGTHS[1:])
def test_the_shallow_scan_is_as_shallow_as_can_be(links: int) -> None:
    found = shallow_scan([Stretch((i,)) for i in range(links)], Counter().join)
    assert max(s.depth for s in found) == math.ceil(math.log2(links))


def test_the_sparing_scan_takes_about_half_for_one_level_more() -> None:
    shallow, sparing = Counter(), Counter()
    shallow_scan([Stretch((i,)) for i in range(32)], shallow.join)
    found = sparing_scan([Stretch((i,)) for i in range(32)], sparing.join)
    assert max(s.depth for s in found) == 6
    assert (shallow.joins, sparing.joins) == (80, 63)


def test_sums_are_of_the_link_that_they_reach() -> None:
    entered: list[tuple[str, int | None]] = []

    def enter(kind: str, body: int | None) -> AbstractContextManager[None]:
        entered.append((kind, body))
        return nullcontext()

    items = [(1.0,), (10.0,), (100.0,)]
    assert outward_sums("Rf", items, enter) == [(1.0,), (11.0,), (111.0,)]
    assert set(entered) == {("Rf", 1), ("Rf", 2)}
    entered.clear()
    assert inward_sums("Rb", items, enter) == [(111.0,), (110.0,), (100.0,)]
    assert set(entered) == {("Rb", 0), ("Rb", 1)}
