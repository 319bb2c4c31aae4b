"""Which of a unit's multipliers makes which product, and which factor goes to which of its inputs.

The schedule says when products are made; in one phase any of the unit's multipliers may take any of them. Wide products
go to the same multipliers in all phases, so that few multipliers are wide. Beyond that, the choices before multipliers
are to be narrow: products that have a factor in common had better go to the same one. Places are exchanged at random as
long as that costs little, and ever less (threshold accepting, Dueck & Scheuer 1990).
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from rbdgen.schedule.device import Device

TRIES, MOST_TRIES = 100, 200_000
"""Exchanges that are tried for every product, and in a unit in all."""
TOLERANCE = 12.0
"""Bits of multiplexers by which an exchange may make things worse at first."""
NEAR = 0.6
"""Share of exchanges with a multiplier that has a factor of the product already."""


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


def bind(phases: Mapping[int, Sequence[Product]], device: Device, extra: int = 0) -> dict[int, Place]:
    """The places of a unit's products, which are given by phase, on as many multipliers as the fullest phase needs and
    up to ``extra`` more."""
    binder = _Binder(phases, device, extra)
    binder.exchange()
    used = sorted({place.number for place in binder.places.values()})
    number = {old: new for new, old in enumerate(used)}
    return {node: Place(number[place.number], place.crossed) for node, place in binder.places.items()}


class _Binder:
    """Products in their places; by multiplier how often each of its two inputs reads what."""

    def __init__(self, phases: Mapping[int, Sequence[Product]], device: Device, extra: int) -> None:
        def size(p: Product) -> tuple[int, tuple[int, int]]:
            return device.blocks(*p.widths), p.widths

        rows = {phase: sorted(products, key=size, reverse=True) for phase, products in phases.items()}
        fewest = max(map(len, rows.values()), default=0)
        largest = [(0, 0)] * fewest
        for row in rows.values():
            for k, p in enumerate(row):
                largest[k] = max(largest[k][0], p.widths[0]), max(largest[k][1], p.widths[1])
        self.largest = _rounded(largest, device)
        """What widths the inputs of every multiplier may have."""
        self.largest += [self.largest[-1]] * extra if fewest else []
        self.products = [(phase, p) for phase, row in rows.items() for p in row]
        self.slots: dict[int, list[Product | None]] = {
            phase: [*row, *[None] * (len(self.largest) - len(row))] for phase, row in rows.items()
        }
        self.places: dict[int, Place] = {}
        self.inputs: list[tuple[Counter[Hashable], Counter[Hashable]]] = [(Counter(), Counter()) for _ in self.largest]
        self.width: dict[Hashable, int] = defaultdict(int)
        self.readers: dict[Hashable, list[int]] = defaultdict(list)
        """The products that read something."""
        for phase, row in self.slots.items():
            for k, p in enumerate(row):
                if p is None:
                    continue
                for read, width in zip(p.read, p.widths, strict=True):
                    self.width[read] = max(self.width[read], width)
                    self.readers[read].append(p.node)
                self._put(phase, p, Place(k))

    def _put(self, phase: int, p: Product, place: Place) -> None:
        self.places[p.node] = place
        self.slots[phase][place.number] = p
        for side in (0, 1):
            self.inputs[place.number][side ^ place.crossed][p.read[side]] += 1

    def _take(self, phase: int, p: Product) -> None:
        place = self.places[p.node]
        self.slots[phase][place.number] = None
        for side in (0, 1):
            counts = self.inputs[place.number][side ^ place.crossed]
            counts[p.read[side]] -= 1
            if not counts[p.read[side]]:
                del counts[p.read[side]]

    def _cost(self, k: int) -> int:
        """Bits that multiplexers choose before multiplier ``k``: of each of its inputs, all but the widest are added to
        what one alone would take."""
        total = 0
        for counts in self.inputs[k]:
            if len(counts) > 1:
                widths = [self.width[read] for read in counts]
                total += sum(widths) - max(widths)
        return total

    def _fits(self, p: Product, place: Place) -> bool:
        first, second = self.largest[place.number]
        a, b = p.widths[::-1] if place.crossed else p.widths
        return a <= first and b <= second

    def exchange(self) -> None:
        """Exchange products of one phase, or their factors, as long as the tolerance lasts."""
        tries = min(TRIES * len(self.products), MOST_TRIES)
        draw = random.Random(1).random
        for n in range(tries):
            phase, p = self.products[int(draw() * len(self.products))]
            here = self.places[p.node]
            if draw() < NEAR:
                others = self.readers[p.read[draw() < 0.5]]
                there = self.places[others[int(draw() * len(others))]].number
            else:
                there = int(draw() * len(self.largest))
            self._try(phase, p, here, Place(there, draw() < 0.5), draw() < 0.5, TOLERANCE * (1 - n / tries))

    def _try(self, phase: int, p: Product, here: Place, there: Place, crossed: bool, tolerance: float) -> None:
        """Move ``p`` to ``there`` and what is there to ``p``'s multiplier, its factors ``crossed`` or not, if that
        costs no more than ``tolerance``."""
        other = self.slots[phase][there.number] if there.number != here.number else None
        moves = [(p, here, there)]
        if other is not None:
            moves.append((other, self.places[other.node], Place(here.number, crossed)))
        if here == there or not all(self._fits(q, to) for q, _, to in moves):
            return
        touched = {here.number, there.number}
        before = sum(map(self._cost, touched))
        for q, _, _ in moves:
            self._take(phase, q)
        for q, _, to in moves:
            self._put(phase, q, to)
        if sum(map(self._cost, touched)) - before > tolerance:
            for q, _, _ in moves:
                self._take(phase, q)
            for q, at, _ in moves:
                self._put(phase, q, at)


def _rounded(widths: Sequence[tuple[int, int]], device: Device) -> list[tuple[int, int]]:
    """Widths that take as many blocks, for multipliers of as many blocks the same as far as that goes."""
    found: dict[int, tuple[int, int]] = {}
    for first, second in widths:
        blocks = device.blocks(first, second)
        before = found.get(blocks, (0, 0))
        wider = max(first, before[0]), max(second, before[1])
        found[blocks] = wider if device.blocks(*wider) == blocks else before
    rounded = []
    for w in widths:
        other = found[device.blocks(*w)]
        rounded.append(other if w[0] <= other[0] and w[1] <= other[1] else w)
    return rounded
