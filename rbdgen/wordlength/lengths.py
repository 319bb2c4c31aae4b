"""Word lengths per signal at given prices of errors: every site has its best format on its own.

An error made at a site (:mod:`rbdgen.wordlength.sites`) reaches the results through known derivatives
(:mod:`rbdgen.wordlength.sensitivity`); here a weight says what it costs there. The prices behind the weights are
:mod:`rbdgen.wordlength.prices`'. What was chosen is made by :mod:`rbdgen.wordlength.assembly`.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from rbdgen.wordlength.costs import BLOCK_COST, DOWN, EVEN, RESULT_COST
from rbdgen.wordlength.factors import ProductFactors
from rbdgen.wordlength.fractions import (
    ExactFractions,
    SeenFractions,
    best_fractions,
    constant_fraction,
)
from rbdgen.wordlength.multipliers import Multipliers
from rbdgen.wordlength.roundings import Roundings
from rbdgen.wordlength.signals import NARROWEST, Signals, WordLengthChoice


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
