"""Word lengths per signal: at given prices of errors every site has its best format on its own, and prices are sought
at which all predicted errors stay within their bounds.

An error made at a site (:mod:`rbdgen.wordlength.sites`) reaches the results through known derivatives
(:mod:`rbdgen.wordlength.sensitivity`); here a weight says what it costs there. Factors of products are chosen all at
once: blocks are built of what costs least. What was chosen is made by :mod:`rbdgen.wordlength.assembly`.

The cost is minimised under all bounds at once by Lagrange's method: one price of error per bound, lowered where there
is more room than at the tightest one, and all together such that this one is just kept. At given prices every site has
its best format on its own (:mod:`rbdgen.wordlength.lengths`).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from rbdgen.wordlength.costs import (
    BLOCK_COST,
    DOWN,
    EVEN,
    RESULT_COST,
    Multipliers,
    multiplier_shapes,
    rounding_cost,
)
from rbdgen.wordlength.fractions import (
    ExactFractions,
    SeenFractions,
    best_fractions,
    constant_fraction,
)
from rbdgen.wordlength.roundings import Roundings
from rbdgen.wordlength.signals import NARROWEST, Signals, WordLengthChoice
from rbdgen.wordlength.sites import ErrorBounds


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


class WordLengths:
    """The choice of word lengths for some ``signals`` on one device. ``rounding`` is ``auto`` (by cost), ``nearest`` or
    ``truncate``."""

    def __init__(self, signals: Signals, device: Multipliers, rounding: str = "auto") -> None:
        self.signals = signals
        self.square = EVEN if rounding == "nearest" else DOWN
        self.factors = ProductFactors(signals, device, rounding)
        self.exact = ExactFractions(signals)
        self.seen = SeenFractions(signals)
        self.roundings = Roundings(signals, self.exact, rounding)
        self._find_groups()
        self._find_kinds()

    def _find_groups(self) -> None:
        """Sites at which the same is chosen."""
        tied: list[int] = []
        sizes: list[int] = []
        for group in _tied_sites(self.signals):
            tied += group
            sizes.append(len(group))
        self.tied = np.array(tied, int)
        self.tied_sizes = np.array(sizes, int)
        # results from one kind of memory have one format, so that all of them can share it
        memories: dict[str, list[int]] = defaultdict(list)
        for i, node in self.signals.graph:
            if node.operation.looks_up:
                memories[node.operation.memory].append(i)
        self.shared = list(memories.values())

    def _find_kinds(self) -> None:
        """Find costs of bits by node, constants with the bits that they have as they are, and results."""
        graph = self.signals.graph
        bit_costs: list[float] = []
        constants: list[int] = []
        constant_fracs: list[int] = []
        for i, node in graph:
            bit_costs.append(node.operation.cost_of_bit(node))
            if node.is_const:
                constants.append(i)
                constant_fracs.append(constant_fraction(node.attr))
        self.bit_cost = np.array(bit_costs)
        self.constants = np.array(constants, int)
        self.constant_fracs = np.array(constant_fracs, int)
        results = self.signals.sites.results
        self.result_sites = np.array(list(results.values()), int)
        sources = [graph.outputs[name] for name in results]
        self.results = np.array(sources, int)

    def choose(self, weights: np.ndarray, shapes: np.ndarray | None = None) -> WordLengthChoice:
        """The best formats where a mean square error of 1 at a site costs ``weights`` (sites,) bits; with products
        built in certain ``shapes``."""
        self.exact.look()
        heads = np.array(self.signals.heads)
        least, most = np.array(self.signals.limits).T
        weights = self._tied(weights)
        fracs = self._own_best(weights, least, most)
        factors = self.factors.choose(fracs, weights, shapes)
        views = np.zeros(self.signals.sites.count, int)
        views[self.factors.sites] = factors.views
        views[self.result_sites] = self._result_views(fracs, heads, weights)
        self.exact.settle(fracs, views)
        self.seen.trim(fracs, views, least)
        # trimming leaves other exact results, and constants that need be no better than these
        constants = self.exact.settle(fracs, views)
        choice = WordLengthChoice(
            fracs,
            views,
            factors.shapes,
            factors.blocks,
            constants,
        )
        self.roundings.fill(choice, weights)
        choice.cost += BLOCK_COST * choice.blocks
        return choice

    def _tied(self, weights: np.ndarray) -> np.ndarray:
        """Weights, those of sites at which the same is to be chosen in the mean."""
        weights = weights.copy()
        if len(self.tied):
            starts = np.cumsum(self.tied_sizes) - self.tied_sizes
            sums = np.add.reduceat(weights[self.tied], starts)
            means = sums / self.tied_sizes
            weights[self.tied] = np.repeat(means, self.tied_sizes)
        return weights

    def _own_best(
        self,
        weights: np.ndarray,
        least: np.ndarray,
        most: np.ndarray,
    ) -> np.ndarray:
        """Bits behind the point by node, as each signal would have them alone."""
        own = weights[: len(self.bit_cost)]
        best = best_fractions(own, self.bit_cost, self.square)
        fracs = np.minimum(np.maximum(best, least), most)
        # a constant has no bits beyond those that it has as it is
        constants = fracs[self.constants]
        exact = np.maximum(self.constant_fracs, least[self.constants])
        fracs[self.constants] = np.minimum(constants, exact)
        for members in self.shared:
            fracs[members] = np.max(fracs[members])
        self.exact.move(fracs)
        return fracs

    def _result_views(
        self, fracs: np.ndarray, heads: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """Bits behind the point with which results leave."""
        best = best_fractions(weights[self.result_sites], RESULT_COST, self.square)
        least = NARROWEST - 1 - heads[self.results]
        return np.maximum(np.minimum(best, fracs[self.results]), least)


def _tied_sites(signals: Signals) -> list[list[int]]:
    """Groups of sites at which the same is to be chosen."""
    groups = [list(members) for members in signals.ties.formats]
    for members in signals.ties.formats:
        leaving: list[int] = []
        for i in members:
            leaving += signals.leaving.get(i, ())
        groups.append(leaving)
    for members in signals.ties.factors:
        for side in (0, 1):
            group = []
            for factor in members:
                first = signals.sites.factors[factor.node] + 2 * factor.product
                group.append(first + (side ^ factor.swapped))
            groups.append(group)
    return [group for group in groups if len(group) > 1]


DEVIATIONS = 4.5
"""Standard deviations at which the largest of very many errors is expected."""
FIRST_SCALE, HIGHEST_SCALE = 2.0**20, 2.0**80
"""Scale that all prices together begin with, and the one at which every signal has the most bits."""
COARSE_STEPS, FINE_STEPS, LAST_STEP = (2.0**6, 2.0**2), (2.0,), 1.4
"""Steps in which the scale is sought: at first, once prices are known, and where nothing else kept the bounds."""
LONGEST_WAY = 40
"""Steps up or down, each."""
FIRST_SWEEPS, SWEEPS, LEAST_PRICE = 24, 6, 1e-7
"""Changes of prices in the first search and in later ones, which begin with good ones, and the least price relative to
the highest, from which it can rise again."""
CLOSE = 1.02
"""The largest error that prices are changed at is this much below its bound, for the sake of those that are met."""
FAN = tuple(2.0 ** (-k / 2) for k in range(-1, 8))
"""Factors of the best prices that are tried at last, with multipliers as they are: a block more may have bought more
than was needed."""


@dataclass(frozen=True)
class PricedChoice:
    """A choice of word lengths, the prices and their scale that it was made at, and predicted errors relative to their
    bounds: ``ratios`` by bound, and the ``largest``."""

    choice: WordLengthChoice
    prices: np.ndarray
    scale: float
    ratios: np.ndarray
    largest: float

    def better_than(self, other: PricedChoice | None) -> bool:
        """Whether this keeps all bounds at less cost."""
        cheaper = other is None or self.choice.cost < other.choice.cost
        return self.largest <= 1 and cheaper


def error_ratios(choice: WordLengthChoice, bounds: ErrorBounds) -> np.ndarray:
    """Predicted largest error of each pair, relative to its bound."""
    variance = bounds.variances(choice.square)
    mean = bounds.means(choice.mean)
    return np.abs(mean) + DEVIATIONS * np.sqrt(variance)


class PriceSearch:
    """Finds prices for ``lengths``; each search begins with those of the one before, whose bounds come first."""

    def __init__(self, lengths: WordLengths) -> None:
        self.lengths = lengths
        self.prices: np.ndarray | None = None
        self.scale = FIRST_SCALE

    def search(self, bounds: ErrorBounds) -> tuple[WordLengthChoice, float]:
        """The cheapest formats found that keep all bounds, and the largest error relative to its bound: above 1 where
        no supported formats keep them."""
        first = self.prices is None
        prices = self._first_prices(len(bounds.limits))
        scale = self.scale
        for step in COARSE_STEPS if first else FINE_STEPS:
            scale = self._just_kept(bounds, prices, scale, step)
        sweeps = FIRST_SWEEPS if first else SWEEPS
        best = self._best_of_sweeps(bounds, prices, scale, sweeps)
        if best is None:
            # no prices of a sweep kept all bounds: a higher scale does, if any formats do
            scale = self._just_kept(bounds, prices, scale, LAST_STEP)
            self.prices, self.scale = prices, scale
            last = self._at(bounds, prices, scale)
            return last.choice, last.largest
        self.prices, self.scale = best.prices, best.scale
        best = self._best_of_fan(bounds, best)
        return best.choice, best.largest

    def _first_prices(self, count: int) -> np.ndarray:
        """Equal prices for ``count`` bounds; once there was a search, its prices, and the highest for new bounds."""
        if self.prices is None:
            return np.full(count, 1.0 / count)
        highest = float(np.max(self.prices))
        new = np.full(count - len(self.prices), highest)
        return np.concatenate([self.prices, new])

    def _at(
        self,
        bounds: ErrorBounds,
        prices: np.ndarray,
        scale: float,
        shapes: np.ndarray | None = None,
    ) -> PricedChoice:
        """The best choice at these prices."""
        weights = scale * bounds.weights(prices).astype(float)
        choice = self.lengths.choose(weights, shapes)
        ratios = error_ratios(choice, bounds)
        return PricedChoice(choice, prices, scale, ratios, float(np.max(ratios)))

    def _just_kept(
        self, bounds: ErrorBounds, prices: np.ndarray, scale: float, step: float
    ) -> float:
        """The smallest scale in powers of ``step`` from ``scale`` at which the largest ratio is at most 1."""
        for _ in range(LONGEST_WAY):
            if self._at(bounds, prices, scale).largest > 1:
                break
            scale /= step
        for _ in range(LONGEST_WAY):
            if self._at(bounds, prices, scale).largest <= 1 or scale > HIGHEST_SCALE:
                break
            scale *= step
        return scale

    def _best_of_sweeps(
        self, bounds: ErrorBounds, prices: np.ndarray, scale: float, sweeps: int
    ) -> PricedChoice | None:
        """The best choice while prices become those of the bounds that matter; None where none keeps all bounds."""
        best: PricedChoice | None = None
        for sweep in range(sweeps):
            tried = self._at(bounds, prices, scale)
            if tried.better_than(best):
                best = tried
            # errors go with the root of the scale, which keeps the largest at its bound
            change = min(max((CLOSE * tried.largest) ** 2, 0.25), 4.0)
            scale = min(scale * change, HIGHEST_SCALE)
            prices = _changed_prices(tried, 1.0 - 0.7 * sweep / sweeps)
        return best

    def _best_of_fan(self, bounds: ErrorBounds, best: PricedChoice) -> PricedChoice:
        """The best choice with multipliers as they are."""
        prices, scale, shapes = best.prices, best.scale, best.choice.shapes
        for step in FAN:
            tried = self._at(bounds, prices, scale * step, shapes)
            if tried.better_than(best):
                best = tried
        return best


def _changed_prices(tried: PricedChoice, power: float) -> np.ndarray:
    """Lower prices for bounds with more room than the tightest, to a ``power`` that calms the search down."""
    relative = tried.ratios / tried.largest if tried.largest else 1.0
    prices = tried.prices * np.clip(relative, 0.25, 1.0) ** power
    return np.maximum(prices / float(np.sum(prices)), LEAST_PRICE)
