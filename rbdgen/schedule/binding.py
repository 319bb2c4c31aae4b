"""Which of a unit's multipliers makes which product, and which factor goes to which of its inputs.

The schedule says when products are made; in one phase any of the unit's multipliers may take any of them. Wide products
go to the same multipliers in all phases, so that few multipliers are wide; beyond that, products that have a factor in
common go to the same one, so that its multiplexers have fewer inputs.
"""

from __future__ import annotations

from collections import Counter
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
    crossed: dict[int, bool] = {}

    def ways(p: Product, k: int) -> list[bool]:
        """The ways round in which multiplier ``k`` can make ``p``."""
        (wide, narrow), (first, second) = p.widths, largest[k]
        return [way for way, (a, b) in ((False, (wide, narrow)), (True, (narrow, wide))) if a <= first and b <= second]

    def put(p: Product, k: int, amount: int) -> None:
        for side in (0, 1):
            inputs[k][side ^ crossed[p.node]][p.read[side]] += amount

    def best(p: Product, k: int) -> tuple[int, bool] | None:
        """How many inputs ``p`` would find on multiplier ``k``, and the way round; None where it does not fit."""
        found = [(sum(inputs[k][side ^ way][p.read[side]] > 0 for side in (0, 1)), not way) for way in ways(p, k)]
        if not found:
            return None
        number, straight = max(found)
        return number, not straight

    for row in slots.values():
        for k, p in enumerate(row):
            if p is not None:
                crossed[p.node] = False
                put(p, k, 1)
    for _ in range(SWEEPS):
        moved = False
        for row in slots.values():
            moved |= _improve(row, best, put, crossed)
        if not moved:
            break
    for row in slots.values():
        for k, p in enumerate(row):
            if p is not None:
                places[p.node] = Place(k, crossed[p.node])
    return places


def _improve(
    row: list[Product | None],
    best: Callable[[Product, int], tuple[int, bool] | None],
    put: Callable[[Product, int, int], None],
    crossed: dict[int, bool],
) -> bool:
    """Exchange the places of one phase's products as long as that leaves fewer inputs; whether any was exchanged."""
    moved = False
    for k in range(len(row)):
        for other in range(k, len(row)):
            pair = [(p, at) for p, at in ((row[k], k), (row[other], other)) if p is not None]
            if k == other:
                pair = pair[:1]
            if not pair:
                continue
            for p, at in pair:
                put(p, at, -1)
            stay = [best(p, at) for p, at in pair]
            go = [best(p, k + other - at) for p, at in pair]
            kept = sum(found[0] for found in stay if found)
            if None not in go and k != other and sum(found[0] for found in go if found) > kept:
                row[k], row[other], chosen, moved = row[other], row[k], go, True
            else:
                chosen = stay
            for (p, at), found in zip(pair, chosen, strict=True):
                assert found is not None
                moved |= chosen is stay and found[1] != crossed[p.node]
                crossed[p.node] = found[1]
                put(p, at if chosen is stay else k + other - at, 1)
    return moved
