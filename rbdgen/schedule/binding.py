"""Which of a unit's multipliers makes which product, and which factor goes to which of its inputs.

The schedule says when products are made; in one phase any of the unit's multipliers may take any of them. Wide products
go to the same multipliers in all phases, so that few multipliers are wide. Beyond that, the choices before multipliers
are to be narrow: products that have a factor in common had better go to the same one. Products change multipliers at
random as long as that costs little, and ever less (threshold accepting, Dueck & Scheuer 1990).
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from rbdgen.devices.device import Device

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
class Binding:
    """What makes a product: the multiplier's ``number`` in its unit, and whether the wider factor goes to the second
    input (``crossed``)."""

    number: int
    crossed: bool = False


def bind(
    phases: Mapping[int, Sequence[Product]], device: Device, extra: int = 0
) -> dict[int, Binding]:
    """The bindings of a unit's products, which are given by phase, to as many multipliers as the fullest phase needs
    and up to ``extra`` more."""
    binder = _Binder(phases, device, extra)
    binder.exchange()
    used = sorted({bound.number for bound in binder.bindings.values()})
    renumbered = {old: new for new, old in enumerate(used)}
    bindings = {}
    for node, bound in binder.bindings.items():
        number = renumbered[bound.number]
        bindings[node] = Binding(number, bound.crossed)
    return bindings


class _Binder:
    """Products on multipliers, while they are exchanged."""

    def __init__(self, phases: Mapping[int, Sequence[Product]], device: Device, extra: int) -> None:
        rows = {}
        for phase, products in phases.items():
            rows[phase] = _by_size(products, device)
        self.widths = _input_widths(list(rows.values()), device, extra)
        """What widths the inputs of every multiplier may have."""
        self.products: list[tuple[int, Product]] = []
        """All products with their phases."""
        self.rows: dict[int, list[Product | None]] = {}
        """What every multiplier makes in a phase."""
        self.bindings: dict[int, Binding] = {}
        self.inputs: list[tuple[Counter[Hashable], Counter[Hashable]]] = [
            (Counter(), Counter()) for _ in self.widths
        ]
        """By multiplier how often each of its two inputs reads what."""
        self.read_width: dict[Hashable, int] = defaultdict(int)
        self.readers: dict[Hashable, list[int]] = defaultdict(list)
        """The products that read something."""
        for phase, row in rows.items():
            self.rows[phase] = [None] * len(self.widths)
            for k, product in enumerate(row):
                self.products.append((phase, product))
                self._note(product)
                self._put(phase, product, Binding(k))

    def _note(self, product: Product) -> None:
        """Take down what a product reads."""
        for read, width in zip(product.read, product.widths, strict=True):
            self.read_width[read] = max(self.read_width[read], width)
            self.readers[read].append(product.node)

    def _put(self, phase: int, product: Product, bound: Binding) -> None:
        self.bindings[product.node] = bound
        self.rows[phase][bound.number] = product
        inputs = self.inputs[bound.number]
        for factor in (0, 1):
            counts = inputs[factor ^ bound.crossed]
            counts[product.read[factor]] += 1

    def _take(self, phase: int, product: Product) -> None:
        bound = self.bindings[product.node]
        self.rows[phase][bound.number] = None
        inputs = self.inputs[bound.number]
        for factor in (0, 1):
            counts = inputs[factor ^ bound.crossed]
            read = product.read[factor]
            counts[read] -= 1
            if not counts[read]:
                del counts[read]

    def _cost(self, number: int) -> int:
        """Bits that multiplexers choose before a multiplier: of each of its inputs, all but the widest are added to
        what one alone would take."""
        total = 0
        for counts in self.inputs[number]:
            if len(counts) > 1:
                widths = [self.read_width[read] for read in counts]
                total += sum(widths) - max(widths)
        return total

    def _fits(self, product: Product, bound: Binding) -> bool:
        first, second = self.widths[bound.number]
        a, b = product.widths
        if bound.crossed:
            a, b = b, a
        return a <= first and b <= second

    def exchange(self) -> None:
        """Exchange products of one phase, or their factors, as long as the tolerance lasts."""
        tries = min(TRIES * len(self.products), MOST_TRIES)
        draw = random.Random(1).random
        for n in range(tries):
            chosen = int(draw() * len(self.products))
            phase, product = self.products[chosen]
            if draw() < NEAR:
                others = self.readers[product.read[draw() < 0.5]]
                other = others[int(draw() * len(others))]
                number = self.bindings[other].number
            else:
                number = int(draw() * len(self.widths))
            there = Binding(number, draw() < 0.5)
            crossed = draw() < 0.5
            tolerance = TOLERANCE * (1 - n / tries)
            self._try(phase, product, there, crossed, tolerance)

    def _try(
        self, phase: int, product: Product, there: Binding, crossed: bool, tolerance: float
    ) -> None:
        """Bind ``product`` to ``there`` and what is there to its own multiplier, the factors of that ``crossed`` or
        not, if that costs no more than ``tolerance``."""
        here = self.bindings[product.node]
        if here == there or not self._fits(product, there):
            return
        moves = [(product, there)]
        returns = [(product, here)]
        other = self.rows[phase][there.number]
        if other is not None and other is not product:
            back = Binding(here.number, crossed)
            if not self._fits(other, back):
                return
            moves.append((other, back))
            returns.append((other, self.bindings[other.node]))
        touched = {here.number, there.number}
        before = sum(map(self._cost, touched))
        self._rebind(phase, moves)
        if sum(map(self._cost, touched)) - before > tolerance:
            self._rebind(phase, returns)

    def _rebind(self, phase: int, moves: Sequence[tuple[Product, Binding]]) -> None:
        """Bind products of one phase to other multipliers, all at once."""
        for product, _ in moves:
            self._take(phase, product)
        for product, bound in moves:
            self._put(phase, product, bound)


def _by_size(products: Sequence[Product], device: Device) -> list[Product]:
    """The products of a phase, those of the most multiplier blocks first."""

    def size(product: Product) -> tuple[int, tuple[int, int]]:
        return device.blocks(*product.widths), product.widths

    return sorted(products, key=size, reverse=True)


def _input_widths(
    rows: Sequence[Sequence[Product]], device: Device, extra: int
) -> list[tuple[int, int]]:
    """Widths of the inputs of all multipliers, if in every phase the first makes the largest product, and so on; the
    ``extra`` ones are as the last."""
    widths: list[tuple[int, int]] = []
    for row in rows:
        missing = len(row) - len(widths)
        widths += [(0, 0)] * missing
        for k, product in enumerate(row):
            widths[k] = _wider(widths[k], product.widths)
    rounded = _rounded(widths, device)
    return rounded + rounded[-1:] * extra


def _wider(widths: tuple[int, int], others: tuple[int, int]) -> tuple[int, int]:
    """Widths that hold both."""
    first = max(widths[0], others[0])
    second = max(widths[1], others[1])
    return first, second


def _rounded(widths: Sequence[tuple[int, int]], device: Device) -> list[tuple[int, int]]:
    """Widths that take as many blocks, for multipliers of as many blocks the same as far as that goes."""
    common: dict[int, tuple[int, int]] = {}
    for first, second in widths:
        blocks = device.blocks(first, second)
        before = common.get(blocks, (0, 0))
        wider = _wider(before, (first, second))
        if device.blocks(*wider) != blocks:
            wider = before
        common[blocks] = wider
    rounded = []
    for first, second in widths:
        other = common[device.blocks(first, second)]
        holds = first <= other[0] and second <= other[1]
        rounded.append(other if holds else (first, second))
    return rounded
