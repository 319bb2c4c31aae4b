"""The cheapest word lengths whose predicted errors stay within given bounds.

The cost is minimised under all bounds at once by Lagrange's method: one price of error per bound, lowered where there
is more room than at the tightest one, and all together such that this one is just kept. At given prices every site has
its best format on its own (:mod:`rbdgen.wordlength.lengths`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rbdgen.wordlength.lengths import WordLengths
from rbdgen.wordlength.signals import WordLengthChoice
from rbdgen.wordlength.sites import ErrorBounds

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
