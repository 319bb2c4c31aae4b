"""Roundings at the sites of a choice of word lengths, the noise that they leave, and the bits that they cost."""

from __future__ import annotations

import numpy as np

from rbdgen.passes.pipeline import TRUNCATE
from rbdgen.wordlength.costs import DOWN, EVEN, RESULT_COST, rounding_cost
from rbdgen.wordlength.fractions import ExactFractions
from rbdgen.wordlength.signals import Signals, WordLengthChoice


class Roundings:
    """Fills in of choices of word lengths for some ``signals`` what follows from them: ways of rounding (``auto``,
    ``nearest`` or ``truncate``), noise and cost. ``exact``: what the signals have before they are rounded."""

    def __init__(self, signals: Signals, exact: ExactFractions, rounding: str) -> None:
        self.signals = signals
        self.exact = exact
        self.rounding = rounding
        graph = signals.graph
        costs: list[float] = []
        stored: list[int] = []
        constants: list[int] = []
        values: list[float] = []
        normalised: list[int] = []
        arguments: list[int] = []
        for i, node in graph:
            free = node.operation.is_wiring or node.is_const
            costs.append(0.0 if free else node.operation.cost_of_bit(node))
            if node.is_input or node.operation.looks_up:
                stored.append(i)
            elif node.is_const:
                constants.append(i)
                values.append(node.attr)
            elif node.operation.is_partial:
                normalised.append(i)
                arguments.append(node.args[0])
        self.bit_cost = np.array(costs)
        self.stored = np.array(stored, int)
        self.constants = np.array(constants, int)
        self.values = np.array(values, float)
        self.normalised = np.array(normalised, int)
        self.arguments = np.array(arguments, int)
        factors: list[tuple[int, int]] = []
        for i, first in signals.sites.factors.items():
            factors += enumerate(graph.nodes[i].factors, first)
        results: list[tuple[int, int]] = []
        for name, site in signals.sites.results.items():
            results.append((site, graph.outputs[name]))
        self.factors, self.factor_sources = np.array(factors, int).reshape(-1, 2).T
        self.results, self.result_sources = np.array(results, int).reshape(-1, 2).T

    def fill(self, choice: WordLengthChoice, weights: np.ndarray) -> None:
        """Fill in a choice where a mean square error of 1 at a site costs ``weights`` (sites,) bits. Its views become
        no finer than what they see."""
        count = self.signals.sites.count
        choice.square, choice.mean = np.zeros(count), np.zeros(count)
        choice.truncated = np.zeros(count, bool)
        heads = np.array(self.signals.heads)
        widths = heads + 1 + choice.fracs
        choice.cost = float(self.bit_cost @ widths)
        self._fill_nodes(choice, widths, weights)
        self._fill_factors(choice, weights)
        cost = self._fill_views(
            choice,
            self.results,
            self.result_sources,
            weights,
        )
        own = heads[self.result_sources]
        leaving = own + 1 + choice.views[self.results]
        choice.cost += float(np.sum(cost))
        choice.cost += RESULT_COST * float(np.sum(leaving))

    def _fill_nodes(
        self, choice: WordLengthChoice, widths: np.ndarray, weights: np.ndarray
    ) -> None:
        """Fill in what nodes themselves lose."""
        fracs = choice.fracs
        exact = self.exact.exact(fracs, choice.views, choice.constants)
        cut = np.flatnonzero(self.exact.rounded & (fracs < exact))
        cost = self._cut(
            choice,
            cut,
            fracs[cut],
            widths[cut],
            weights,
        )
        choice.cost += float(np.sum(cost))
        last = np.ldexp(1.0, -fracs)
        # operands and tables' entries are made outside of the graph, rounded half up
        choice.square[self.stored] = last[self.stored] ** 2 * EVEN
        own = fracs[self.constants]
        # a constant's error is the same in every task: a mean, and no noise
        nearest = np.floor(np.ldexp(self.values, own) + 0.5)
        choice.mean[self.constants] = np.ldexp(nearest, -own) - self.values
        heads = np.array(self.signals.heads)
        kept = heads[self.arguments] + fracs[self.arguments] - 1
        # a mantissa has room for all bits of its argument, or drops the last ones unrounded
        short = self.normalised[fracs[self.normalised] < kept]
        choice.square[short] = last[short] ** 2 * EVEN
        choice.mean[short] = -last[short] / 2

    def _fill_factors(self, choice: WordLengthChoice, weights: np.ndarray) -> None:
        """Fill in what products lose of their factors; what several cut in one way is cut once."""
        cost = self._fill_views(
            choice,
            self.factors,
            self.factor_sources,
            weights,
        )
        cuts = np.stack([self.factor_sources, choice.views[self.factors]])
        _, first = np.unique(cuts, axis=1, return_index=True)
        choice.cost += float(np.sum(cost[first]))

    def _fill_views(
        self, choice: WordLengthChoice, sites: np.ndarray, sources: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """Cut what places see of nodes to the bits that they are to see; the cost of each in bits."""
        fracs = np.minimum(choice.views[sites], choice.fracs[sources])
        choice.views[sites] = fracs
        cost = np.zeros(len(sites))
        short = fracs < choice.fracs[sources]
        heads = np.array(self.signals.heads)
        widths = heads[sources] + 1 + fracs
        cost[short] = self._cut(
            choice,
            sites[short],
            fracs[short],
            widths[short],
            weights,
        )
        return cost

    def _cut(
        self,
        choice: WordLengthChoice,
        sites: np.ndarray,
        fracs: np.ndarray,
        widths: np.ndarray,
        weights: np.ndarray,
    ) -> np.ndarray:
        """Drop all bits below ``fracs`` at some sites, of numbers that have ``widths`` then; the cost in bits."""
        last = np.ldexp(1.0, -fracs)
        choice.square[sites] = last**2 * EVEN
        adders = rounding_cost(widths)
        match self.rounding:
            case "auto":
                # truncation spares the adder where the noise that it adds is worth less
                truncated = adders >= weights[sites] * last**2 * (DOWN - EVEN)
            case rounding:
                truncated = np.full(len(sites), rounding == TRUNCATE)
        choice.truncated[sites] = truncated
        choice.mean[sites] = np.where(truncated, -last / 2, choice.mean[sites])
        return np.where(truncated, 0.0, adders)
