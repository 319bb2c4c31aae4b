"""Bits of factors that multipliers see: products built of the blocks that cost least, all products at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rbdgen.wordlength.costs import BLOCK_COST, DOWN, EVEN, rounding_cost
from rbdgen.wordlength.multipliers import Multipliers, multiplier_shapes
from rbdgen.wordlength.signals import Signals


@dataclass(frozen=True)
class FactorChoice:
    """``views`` (2, n): bits behind the point that multipliers see, by side and product; ``blocks`` of all products;
    and the number of the way in which each is built."""

    views: np.ndarray
    blocks: int
    shapes: np.ndarray


class ProductFactors:
    """The n products of some signals, those of one node one after the other, for one device. Arrays are by side and
    product, (2, n)."""

    def __init__(self, signals: Signals, device: Multipliers, rounding: str) -> None:
        self.signals = signals
        self.rounding = rounding
        self.shapes = multiplier_shapes(device)
        sites: list[int] = []
        sources: list[int] = []
        for i, first in signals.sites.factors.items():
            node = signals.graph.nodes[i]
            sites += range(first, first + len(node.factors))
            sources += node.factors
        self.sites = np.array(sites, int).reshape(-1, 2).T
        self.sources = np.array(sources, int).reshape(-1, 2).T
        self.together = _together(signals)

    def choose(
        self, fracs: np.ndarray, weights: np.ndarray, shapes: np.ndarray | None = None
    ) -> FactorChoice:
        """The cheapest shapes to build the products, or certain ``shapes``, for signals with ``fracs`` bits behind the
        point, where a mean square error of 1 costs ``weights`` (sites,) bits."""
        count = self.sites.shape[1]
        frac = fracs[self.sources]
        head = self._heads()
        best = np.full(count, np.inf)
        taken = np.zeros(count, int)
        blocks = np.zeros(count, int)
        views = np.zeros((2, count), int)
        for number, shape in enumerate(self.shapes):
            widths = np.array([[shape.first], [shape.second]])
            # one bit of each input is the sign
            seen = np.minimum(frac, widths - 1 - head)
            cost = np.full(count, BLOCK_COST * shape.blocks)
            for side, width in enumerate((shape.first, shape.second)):
                view = seen[side]
                weight = weights[self.sites[side]]
                square = np.ldexp(weight, -2 * view)
                cut = self._cut_cost(square, float(rounding_cost(np.array(width))))
                cost += np.where(view < frac[side], cut, 0.0)
            better = cost < best if shapes is None else shapes == number
            best = np.where(better, cost, best)
            blocks = np.where(better, shape.blocks, blocks)
            taken = np.where(better, number, taken)
            views = np.where(better, seen, views)
        return FactorChoice(views, int(np.sum(blocks)), taken)

    def _heads(self) -> np.ndarray:
        """Bits before the point; the most where factors go to one input in turn."""
        heads = np.array(self.signals.heads)[self.sources]
        flat = heads.ravel()
        for places in self.together:
            flat[places] = np.max(flat[places])
        return flat.reshape(heads.shape)

    def _cut_cost(self, square: np.ndarray, adder: float) -> np.ndarray:
        """Cost of a cut by its error and, where it rounds half up, its ``adder``; ``square``: what the square of the
        last place costs."""
        truncated = DOWN * square
        rounded = EVEN * square + adder
        if self.rounding == "auto":
            return np.minimum(truncated, rounded)
        return rounded if self.rounding == "nearest" else truncated


def _together(signals: Signals) -> list[list[int]]:
    """Places of factors, by side and product one behind the other, that go to one input of a multiplier in turn."""
    number: dict[int, int] = {}
    count = 0
    for i in signals.sites.factors:
        number[i] = count
        count += len(signals.graph.nodes[i].products)
    together = []
    for members in signals.ties.factors:
        for side in (0, 1):
            places = []
            for tied in members:
                # hardware sends the factors of a swapped product to the other inputs
                own_side = side ^ tied.swapped
                places.append(own_side * count + number[tied.node] + tied.product)
            together.append(places)
    return together
