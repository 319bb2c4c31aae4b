"""Which of a unit's multipliers makes which product, and which factor goes to which of its inputs.

The schedule says when products are made; in one phase any of the unit's multipliers may take any of them. Wide products
go to the same multipliers in all phases, so that few multipliers are wide; beyond that, products that have a factor in
common go to the same one, so that its multiplexers have fewer inputs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from rbdgen.schedule.device import Device

SWEEPS = 4
"""Passes over all phases in search of better places."""


@dataclass(frozen=True)
class Product:
    """A product to be bound: its ``node``, and of the wider factor and the other one the width and what is ``read``
    there, the same for factors that take the same input of a multiplexer."""

    node: int
    widths: tuple[int, int]
    read: tuple[Hashable, Hashable]


@dataclass(frozen=True)
class Place:
    """Where a product is made: the multiplier's ``number`` in its unit, and whether the wider factor goes to the
    second input (``crossed``)."""

    number: int
    crossed: bool = False


def bind(phases: Mapping[int, Sequence[Product]], device: Device) -> dict[int, Place]:
    """The places of a unit's products, which are given by phase."""

    def size(p: Product) -> tuple[int, tuple[int, int]]:
        return device.blocks(*p.widths), p.widths

    places: dict[int, Place] = {}
    rows = {phase: sorted(products, key=size, reverse=True) for phase, products in phases.items()}
    count = max(map(len, rows.values()), default=0)
    largest = [[0, 0] for _ in range(count)]
    """The widths of every multiplier: those of the widest products that it must make."""
    for row in rows.values():
        for k, p in enumerate(row):
            largest[k] = [max(a, b) for a, b in zip(largest[k], p.widths, strict=True)]
    slots: dict[int, list[Product | None]] = {h: [*row, *[None] * (count - len(row))] for h, row in rows.items()}
    inputs: list[tuple[Counter[Hashable], Counter[Hashable]]] = [(Counter(), Counter()) for _ in range(count)]
    readers: dict[Hashable, Counter[int]] = defaultdict(Counter)
    """Which multipliers read something, and how often."""
    crossed: dict[int, bool] = {}

    def put(p: Product, k: int, amount: int) -> None:
        for side in (0, 1):
            inputs[k][side ^ crossed[p.node]][p.read[side]] += amount
            readers[p.read[side]][k] += amount

    def best(p: Product, k: int) -> tuple[int, bool] | None:
        """How many inputs ``p`` would find on multiplier ``k``, and the way round; None where it does not fit."""
        (wide, narrow), (first, second), (a, b) = p.widths, largest[k], inputs[k]
        x, y = p.read
        straight = (a[x] > 0) + (b[y] > 0) if wide <= first and narrow <= second else -1
        across = (b[x] > 0) + (a[y] > 0) if narrow <= first and wide <= second else -1
        return (max(straight, across), across > straight) if max(straight, across) >= 0 else None

    for row in slots.values():
        for k, p in enumerate(row):
            if p is not None:
                crossed[p.node] = False
                put(p, k, 1)
    for _ in range(SWEEPS):
        moved = False
        for row in slots.values():
            for k in range(count):
                moved |= _improve(row, k, readers, best, put, crossed)
        if not moved:
            break
    for row in slots.values():
        for k, p in enumerate(row):
            if p is not None:
                places[p.node] = Place(k, crossed[p.node])
    return places


def _improve(
    row: list[Product | None],
    k: int,
    readers: Mapping[Hashable, Counter[int]],
    best: Callable[[Product, int], tuple[int, bool] | None],
    put: Callable[[Product, int, int], None],
    crossed: dict[int, bool],
) -> bool:
    """Turn the product on multiplier ``k`` round, or exchange it for that of another one in the same phase that reads
    something of it, if that leaves fewer inputs; whether it did."""
    mine = row[k]
    if mine is None:
        return False
    others = {other for read in mine.read for other, times in readers[read].items() if times > 0}
    for other in sorted(others | {k}):
        pair = [(mine, k, other)]
        if other != k and (theirs := row[other]) is not None:
            pair.append((theirs, other, k))
        before = [crossed[p.node] for p, _, _ in pair]
        for p, at, _ in pair:
            put(p, at, -1)
        stay = [best(p, at) for p, at, _ in pair]
        go = [best(p, to) for p, _, to in pair]
        leaves = other != k and _found(go) > _found(stay)
        for (p, at, to), found in zip(pair, go if leaves else stay, strict=True):
            assert found is not None
            crossed[p.node] = found[1]
            put(p, to if leaves else at, 1)
        if leaves:
            row[k], row[other] = row[other], row[k]
        if leaves or before != [crossed[p.node] for p, _, _ in pair]:
            return True
    return False


def _found(places: Sequence[tuple[int, bool] | None]) -> int:
    """How many inputs are found there already; −1 where something does not fit."""
    return -1 if None in places else sum(place[0] for place in places if place)
