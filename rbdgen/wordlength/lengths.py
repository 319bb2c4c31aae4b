"""Word lengths per signal at given prices of errors: every site has its best format on its own.

An error made at a site (:mod:`rbdgen.wordlength.sites`) reaches the results through known derivatives
(:mod:`rbdgen.wordlength.sensitivity`); here a weight says what it costs there. The prices behind the weights are
:mod:`rbdgen.wordlength.prices`'. What was chosen is made by :mod:`rbdgen.wordlength.assembly`.
"""

from __future__ import annotations

import math

import numpy as np

from rbdgen.ir.fixed import ROUNDED
from rbdgen.ir.graph import Node
from rbdgen.wordlength.costs import BIT_COST, BLOCK_COST, RESULT_COST, best_fraction
from rbdgen.wordlength.factors import ProductFactors
from rbdgen.wordlength.multipliers import Multipliers
from rbdgen.wordlength.roundings import Roundings
from rbdgen.wordlength.signals import NARROWEST, Signals, WordLengthChoice

SHARED_MEMORIES = (("table_sin", "table_cos"), ("table_reciprocal",))
"""Operations whose results have one format, so that all of them can share a memory."""


class WordLengths:
    """The choice of word lengths for some ``signals`` on one device. ``rounding`` is ``auto`` (by cost), ``nearest`` or
    ``truncate``."""

    def __init__(self, signals: Signals, device: Multipliers, rounding: str = "auto") -> None:
        self.signals = signals
        self.rounding = rounding
        self.factors = ProductFactors(signals, device, rounding)
        self.tied = _tied_sites(signals)
        self.shared: list[list[int]] = []
        for ops in SHARED_MEMORIES:
            members = [i for i, node in signals.graph if node.op in ops]
            self.shared.append(members)
        self.bit_cost = [BIT_COST.get(node.op, 1.0) for _, node in signals.graph]

    def choose(self, weights: np.ndarray, shapes: np.ndarray | None = None) -> WordLengthChoice:
        """The best formats where a mean square error of 1 at a site costs ``weights`` (sites,) bits; with products
        built in certain ``shapes``."""
        weights = weights.copy()
        for group in self.tied:
            weights[group] = np.mean(weights[group])
        fracs = self._own_best(weights)
        factors = self.factors.choose(fracs, weights, shapes)
        choice = WordLengthChoice(fracs, factors.views, factors.shapes, factors.blocks)
        self._result_views(choice, weights)
        self._settle(choice)
        self._trim(choice)
        self._settle(choice)
        Roundings(self.signals, choice, weights, self.rounding).settle()
        choice.cost += BLOCK_COST * choice.blocks
        return choice

    def _own_best(self, weights: np.ndarray) -> list[int]:
        """Bits behind the point by node, as each signal would have them alone."""
        fracs: list[int] = []
        for i, node in self.signals.graph:
            if node.op == "shift":
                fracs.append(fracs[node.args[0]] - node.attr)
            elif node.op == "residual":
                fracs.append(fracs[node.args[0]])
            else:
                weight = float(weights[i])
                best = best_fraction(weight, self.bit_cost[i], self.rounding)
                low, high = self.signals.limits[i]
                frac = min(max(best, low), high)
                if node.op == "const":
                    frac = _exact_constant(node, frac, low)
                fracs.append(frac)
        for members in self.shared:
            best = max((fracs[i] for i in members), default=0)
            for i in members:
                fracs[i] = best
        return fracs

    def _result_views(self, choice: WordLengthChoice, weights: np.ndarray) -> None:
        """What leaves of results (in place)."""
        signals = self.signals
        for name, site in signals.sites.results.items():
            i = signals.graph.outputs[name]
            best = best_fraction(weights[site], RESULT_COST, self.rounding)
            least = NARROWEST - 1 - signals.heads[i]
            most = choice.fracs[i]
            choice.views[site] = max(min(best, most), least)

    def _settle(self, choice: WordLengthChoice) -> None:
        """Keep no more bits than the exact result has, and the constants that go with the formats (in place)."""
        signals = self.signals
        fracs = choice.fracs
        choice.constants = {}
        for i, node in signals.graph:
            if node.op == "shift":
                fracs[i] = fracs[node.args[0]] - node.attr
            elif node.op == "residual":
                fracs[i] = fracs[node.args[0]]
            elif node.op in ROUNDED:
                if node.op == "scale":
                    choice.constants[i] = signals.constant(i, fracs)
                exact = signals.exact_fraction(i, choice)
                fracs[i] = min(fracs[i], exact)

    def _trim(self, choice: WordLengthChoice) -> None:
        """Drop bits of nodes that none of their users sees (in place)."""
        signals = self.signals
        fracs = choice.fracs
        for i in range(len(fracs) - 1, -1, -1):
            op = signals.graph.nodes[i].op
            if op not in ROUNDED or i in signals.kept:
                continue
            seen = self._seen(i, choice)
            if seen:
                least, _ = signals.limits[i]
                fracs[i] = max(min(fracs[i], max(seen)), least)

    def _seen(self, i: int, choice: WordLengthChoice) -> list[int]:
        """Bits behind the point of node ``i`` that each of its users sees."""
        graph = self.signals.graph
        leaving = self.signals.leaving.get(i, ())
        seen = [choice.views[site] for site in leaving]
        for u in graph.users[i]:
            user = graph.nodes[u]
            first = self.signals.sites.factors.get(u, 0)
            for site, source in enumerate(user.factors, first):
                if source == i:
                    seen.append(choice.views[site])
            others = user.args[len(user.factors) :]
            if i in others:
                seen.append(self._seen_whole(i, u, choice))
        return seen

    def _seen_whole(self, i: int, user: int, choice: WordLengthChoice) -> int:
        """Bits behind the point of node ``i`` that a user sees which does not multiply it."""
        node = self.signals.graph.nodes[user]
        match node.op:
            case "neg":
                return choice.fracs[user]
            case "shift":
                return choice.fracs[user] + node.attr
            case _:
                return choice.fracs[i]


def _exact_constant(node: Node, frac: int, low: int) -> int:
    """The fewest bits in which a constant is as good as in ``frac`` of them."""
    while frac > low and math.ldexp(node.attr, frac - 1).is_integer():
        frac -= 1
    return frac


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
