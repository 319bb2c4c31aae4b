"""Bits behind the binary point of exact results and of what users see of signals: of all nodes of a graph at once.

Both follow from node to node. All nodes are computed at once from what they were before, again until nothing changes:
a graph has no cycles, so that this ends at what computing them in order would give, after as many rounds as a change
has nodes to go through.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from rbdgen.ir.constants import Constant
from rbdgen.ir.graph import Node
from rbdgen.ir.number_formats import BITS
from rbdgen.wordlength.signals import SLACK, Signals

EXACT = 10_000
"""Bits behind the point of an exact result that has any number of them."""
NOTHING = -EXACT
"""The same of what nobody sees."""


@dataclass
class _Groups:
    """Terms of several nodes, one node's behind the other's: whose they are (``nodes``), and where each begins."""

    nodes: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, owners: Iterable[int]) -> _Groups:
        """Groups of terms whose owners are these, equal ones side by side."""
        owned = np.fromiter(owners, int)
        changes = np.flatnonzero(np.diff(owned, prepend=-1))
        return cls(owned[changes], changes)

    def largest(self, terms: np.ndarray) -> np.ndarray:
        """The largest term of each node."""
        if not len(terms):
            return terms
        return np.maximum.reduceat(terms, self.starts)


class ExactFractions:
    """Bits of ``signals`` behind the point before they are rounded; and moves, whose bits follow from others."""

    def __init__(self, signals: Signals) -> None:
        self.signals = signals
        self.count = len(signals.graph.nodes)
        self._find_terms()
        self._find_others()
        self._find_moves()

    def _find_terms(self) -> None:
        """The terms of all sums: of products the site of the first factor and both factors, and addends; and arguments
        of operations whose exact results are as fine as these."""
        products: list[tuple[int, int, int]] = []
        addends: list[int] = []
        owners: list[int] = []
        is_product: list[bool] = []
        for i, node in self.signals.graph:
            if node.terms.multiple is not None:
                continue
            site = self.signals.sites.factors.get(i, 0)
            for _, one, other in node.products:
                products.append((site, one, other))
                owners.append(i)
                is_product.append(True)
                site += 2
            added = node.args if node.operation.aligns else [a for _, a in node.addends]
            for addend in added:
                addends.append(addend)
                owners.append(i)
                is_product.append(False)
        self.products = np.array(products, int).reshape(-1, 3).T
        self.addends = np.array(addends, int)
        self.is_product = np.array(is_product, bool)
        self.sums = _Groups.of(owners)

    def _find_others(self) -> None:
        """Nodes of other operations whose exact results follow from their arguments."""
        self.dots: list[int] = []
        self.scales: list[int] = []
        scaled: list[int] = []
        rescales: list[tuple[int, ...]] = []
        rounded: list[bool] = []
        for i, node in self.signals.graph:
            rounded.append(node.operation.rounds)
            if node.terms.is_dot:
                self.dots.append(i)
            elif node.terms.multiple is not None:
                self.scales.append(i)
                scaled.append(node.args[0])
            elif node.op == "rescale":
                rescales.append((i, *node.args))
        self.scaled = np.array(scaled, int)
        self.rescales = np.array(rescales, int).reshape(-1, 3).T
        self.rounded = np.array(rounded, bool)

    def _find_moves(self) -> None:
        """Moves, with the node that their bits are of in the end and by how many they have less behind the point."""
        source = list(range(self.count))
        less = [0] * self.count
        moves = []
        for i, node in self.signals.graph:
            if node.operation.is_wiring:
                argument = node.args[0]
                source[i] = source[argument]
                less[i] = less[argument]
                if node.is_shift:
                    less[i] += node.attr
                moves.append(i)
        self.moves = np.array(moves, int)
        self.moved = np.array(source)[self.moves]
        self.moved_less = np.array(less)[self.moves]

    def move(self, fracs: np.ndarray) -> None:
        """Give moves the bits that follow from their arguments' (in place)."""
        fracs[self.moves] = fracs[self.moved] - self.moved_less

    def constants(self, fracs: np.ndarray, asked: np.ndarray) -> dict[int, Constant]:
        """The constants of nodes that have one, whose results should have ``asked`` bits."""
        found = {}
        for i, source in zip(self.scales, self.scaled.tolist(), strict=True):
            found[i] = self.signals.constant(i, int(asked[i]), int(fracs[source]))
        return found

    def exact(
        self, fracs: np.ndarray, views: np.ndarray, constants: dict[int, Constant]
    ) -> np.ndarray:
        """Bits behind the point (nodes,) of exact results, for signals with ``fracs`` (nodes,) of which factors are
        seen with ``views`` (sites,)."""
        result = np.full(self.count, EXACT)
        site, one, other = self.products
        first = np.minimum(views[site], fracs[one])
        second = np.minimum(views[site + 1], fracs[other])
        terms = np.empty(len(self.is_product), int)
        terms[self.is_product] = first + second
        terms[~self.is_product] = fracs[self.addends]
        result[self.sums.nodes] = self.sums.largest(terms)
        # an exact sum may have no more bits than 64-bit arithmetic holds
        result[self.dots] = np.minimum(result[self.dots], self._room)
        exponents = np.array([constants[i].exponent for i in self.scales], int)
        result[self.scales] = fracs[self.scaled] + exponents
        i, moved, by = self.rescales
        result[i] = fracs[moved] + self._heads[by] - 1
        return result

    def look(self) -> None:
        """Take note of how many bits signals have before the point now."""
        self._heads = np.array(self.signals.heads)
        nodes = self.signals.graph.nodes
        self._room = np.array([BITS - self._sum_head(nodes[i]) for i in self.dots], int)

    def _sum_head(self, node: Node) -> int:
        """Bits before the binary point that hold any sum of a node's terms, even if those get more room later."""
        heads = self.signals.heads
        terms = [heads[one] + heads[other] for _, one, other in node.products]
        terms += [heads[a] for _, a in node.addends]
        return max(terms) + len(terms).bit_length() + SLACK

    def settle(self, fracs: np.ndarray, views: np.ndarray) -> dict[int, Constant]:
        """Keep no more bits than exact results have (``fracs``, in place); the constants that go with that."""
        asked = fracs.copy()
        while True:
            before = fracs.copy()
            self.move(fracs)
            constants = self.constants(fracs, asked)
            exact = self.exact(fracs, views, constants)
            # from what was asked for: in the round before arguments may not have been settled
            fracs[:] = np.where(self.rounded, np.minimum(asked, exact), fracs)
            if np.array_equal(fracs, before):
                return constants


class SeenFractions:
    """Bits of ``signals`` behind the point that users see."""

    def __init__(self, signals: Signals) -> None:
        graph = signals.graph
        by_site: list[tuple[int, int]] = []
        by_node: list[tuple[int, int, int]] = []
        whole: set[int] = set()
        trimmed: list[bool] = []
        for i, node in graph:
            leaving = signals.leaving.get(i, [])
            for site in leaving:
                by_site.append((i, site))
            for u in graph.users[i]:
                user = graph.nodes[u]
                first = signals.sites.factors.get(u, 0)
                for site, a in enumerate(user.factors, first):
                    if a == i:
                        by_site.append((i, site))
                # factors are seen as their sites are, other arguments as whole nodes
                if i not in user.args[len(user.factors) :]:
                    continue
                if user.operation.keeps_point:
                    by_node.append((i, u, user.attr or 0))
                elif user.terms.is_negation:
                    by_node.append((i, u, 0))
                else:
                    whole.add(i)
            is_seen = bool(graph.users[i] or leaving)
            # a result without a site leaves with all the bits that it is made with
            can_be_cut = node.operation.rounds and i not in signals.kept
            trimmed.append(is_seen and can_be_cut)
        self.views = np.array([site for _, site in by_site], int)
        self.of_views = _Groups.of(i for i, _ in by_site)
        users = np.array(by_node, int).reshape(-1, 3).T
        self.users, self.more = users[1], users[2]
        self.of_users = _Groups.of(users[0])
        self.whole = np.array(sorted(whole), int)
        self.trimmed = np.array(trimmed, bool)

    def trim(self, fracs: np.ndarray, views: np.ndarray, least: np.ndarray) -> None:
        """Drop bits that no user sees, down to the ``least`` (nodes,) that signals have (``fracs``, in place)."""
        asked = fracs.copy()
        least = np.minimum(least, asked)
        by_views = np.full(len(fracs), NOTHING)
        by_views[self.of_views.nodes] = self.of_views.largest(views[self.views])
        by_views[self.whole] = np.maximum(by_views[self.whole], asked[self.whole])
        while True:
            before = fracs.copy()
            seen = by_views.copy()
            by_users = self.of_users.largest(fracs[self.users] + self.more)
            own = self.of_users.nodes
            seen[own] = np.maximum(seen[own], by_users)
            kept = np.maximum(np.minimum(asked, seen), least)
            fracs[:] = np.where(self.trimmed, kept, fracs)
            if np.array_equal(fracs, before):
                return


def constant_fraction(value: float) -> int:
    """Bits behind the point of a number as it is; ``NOTHING`` of zero."""
    if not value:
        return NOTHING
    numerator, denominator = value.as_integer_ratio()
    if denominator > 1:
        return denominator.bit_length() - 1
    # a whole number's trailing zeros need no bits: its point stands to the right
    return -((numerator & -numerator).bit_length() - 1)


def best_fractions(weights: np.ndarray, costs: np.ndarray | float, square: float) -> np.ndarray:
    """Bits behind the point where one more costs as much as it saves: ``costs`` bits each, where a mean square error of
    1 costs ``weights`` bits and one of a last place is ``square``; the least f with 4^f ≥ what is gained."""
    saved = square * 2 * math.log(2)
    gain = weights * saved / costs
    # infinities and zeros have no exponent
    finite = np.clip(gain, 1e-300, 1e300)
    mantissa, exponent = np.frexp(finite)
    # mantissas begin at one half, at which the exponent is one too large for an exact power
    exponent = exponent - (mantissa == 0.5)
    best = -(-exponent // 2)
    return np.where(weights > 0, best, NOTHING)
