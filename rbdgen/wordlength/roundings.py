"""How each site of a choice of word lengths rounds, the noise that this leaves, and the bits that it costs."""

from __future__ import annotations

import math

import numpy as np

from rbdgen.ir.fixed import ROUNDED
from rbdgen.ir.graph import Node
from rbdgen.wordlength.costs import BIT_COST, DOWN, EVEN, RESULT_COST, rounding_cost
from rbdgen.wordlength.signals import TABLES, Signals, WordLengthChoice

FREE = ("shift", "residual", "const")
"""Operations that no hardware makes."""


class Roundings:
    """Fills in of a choice of word lengths what follows from them, where a mean square error of 1 at a site costs
    ``weights`` (sites,) bits: ways of rounding, noise and cost. Its views become no finer than what they see."""

    def __init__(
        self, signals: Signals, choice: WordLengthChoice, weights: np.ndarray, rounding: str
    ) -> None:
        self.signals = signals
        self.choice = choice
        self.weights = weights
        self.rounding = rounding
        choice.square = np.zeros(signals.sites.count)
        choice.mean = np.zeros(signals.sites.count)

    def settle(self) -> None:
        """Nodes first, then the factors of products, then results."""
        heads = self.signals.heads
        for i, node in self.signals.graph:
            if node.op not in FREE:
                width = heads[i] + 1 + self.choice.fracs[i]
                self.choice.cost += BIT_COST.get(node.op, 1.0) * width
            self._node(i, node)
        self._factors()
        self._results()

    def _cut(self, site: int, frac: int, width: int) -> float:
        """Drop all bits below ``frac`` of a number that has ``width`` then; the cost of that in bits."""
        choice = self.choice
        last = math.ldexp(1.0, -frac)
        choice.square[site] = last**2 * EVEN
        weight = float(self.weights[site])
        if self._truncates(weight * last**2, width):
            choice.truncated.add(site)
            choice.mean[site] = -last / 2
            return 0.0
        return rounding_cost(width)

    def _truncates(self, square: float, width: int) -> bool:
        """Whether a cut does without rounding, where the square of its last place costs ``square`` bits."""
        if self.rounding == "auto":
            return rounding_cost(width) >= square * (DOWN - EVEN)
        return self.rounding == "truncate"

    def _node(self, i: int, node: Node) -> None:
        """What node ``i`` itself loses."""
        choice = self.choice
        heads = self.signals.heads
        frac = choice.fracs[i]
        last = math.ldexp(1.0, -frac)
        if node.op in ROUNDED:
            if frac < self.signals.exact_fraction(i, choice):
                width = heads[i] + 1 + frac
                choice.cost += self._cut(i, frac, width)
        elif node.op == "input" or node.op in TABLES:
            choice.square[i] = last**2 * EVEN
        elif node.op == "const":
            nearest = math.floor(math.ldexp(node.attr, frac) + 0.5)
            choice.mean[i] = math.ldexp(nearest, -frac) - node.attr
        elif node.op == "normalise":
            source = node.args[0]
            exact = heads[source] + choice.fracs[source] - 1
            if frac < exact:
                choice.square[i] = last**2 * EVEN
                choice.mean[i] = -last / 2

    def _factors(self) -> None:
        """What products lose of their factors; what several cut in one way is cut once."""
        nodes = self.signals.graph.nodes
        paid: set[tuple[int, int]] = set()
        for i, first in self.signals.sites.factors.items():
            for site, source in enumerate(nodes[i].factors, first):
                cost = self._view(site, source)
                cut = source, self.choice.views[site]
                if cut not in paid:
                    self.choice.cost += cost
                paid.add(cut)

    def _results(self) -> None:
        """What results lose on their way out."""
        for name, site in self.signals.sites.results.items():
            i = self.signals.graph.outputs[name]
            cost = self._view(site, i)
            width = self.signals.heads[i] + 1 + self.choice.views[site]
            self.choice.cost += RESULT_COST * width
            self.choice.cost += cost

    def _view(self, site: int, source: int) -> float:
        """Cut what a place sees of a node to the bits that it is to see; the cost of that in bits."""
        choice = self.choice
        frac = min(choice.views[site], choice.fracs[source])
        choice.views[site] = frac
        if frac == choice.fracs[source]:
            return 0.0
        width = self.signals.heads[source] + 1 + frac
        return self._cut(site, frac, width)
