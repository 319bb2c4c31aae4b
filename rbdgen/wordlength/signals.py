"""Signals that word lengths are chosen for: bits before the binary point, limits of those behind it, and ties of nodes
whose formats are equal because hardware makes them in turn (counterparts in alike branches).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rbdgen.ir.constants import Constant
from rbdgen.ir.graph import Graph
from rbdgen.ir.ops.sum import OUTWEIGHED
from rbdgen.ir.terms import ADDITION
from rbdgen.passes.formats import MARGIN, MAX_WORD, WIDE_MARGIN, integer_bits, quantise_constant
from rbdgen.tracing.folding import CONSTANT
from rbdgen.wordlength.sites import Sites


@dataclass(frozen=True)
class TiedProduct:
    """A product: its ``node``, the number of the ``product`` in that, and whether it is ``swapped``: its second
    factor corresponds to the others' first."""

    node: int
    product: int
    swapped: bool


FactorTie = tuple[TiedProduct, ...]
"""Products that are to have the same factors."""
Factors = tuple[int, int]
"""The two factors of a product, or what they are modelled on."""


@dataclass(frozen=True)
class Ties:
    """``formats``: groups, disjoint, of nodes that are to have one format. ``factors``: groups of
    products that are to have the same factors. ``models``: for nodes that others are modelled on, the node whose
    constant factor is theirs, up to its sign."""

    formats: tuple[tuple[int, ...], ...] = ()
    factors: tuple[FactorTie, ...] = ()
    models: dict[int, int] = field(default_factory=dict)


NO_TIES = Ties()


def make_ties(graph: Graph, branches: Sequence[tuple[int, ...]]) -> Ties:
    """The ties of nodes that are counterparts in alike ``branches``."""
    if not branches:
        return NO_TIES
    import networkx as nx  # takes long to load, and a chain has no branches

    models: dict[int, int] = {}
    for members in branches:
        models |= dict.fromkeys(members, members[0])
    links = nx.Graph()
    factors: list[FactorTie] = []
    for members in branches:
        nx.add_star(links, members)
        factors += _factor_ties(graph, members, models)
    # groups that share a node are one: a node has one format
    groups = nx.connected_components(links)
    formats = sorted(tuple(sorted(group)) for group in groups)
    return Ties(tuple(formats), tuple(factors), models)


def _factor_ties(graph: Graph, members: tuple[int, ...], models: dict[int, int]) -> list[FactorTie]:
    """The ties of the products of one node in each alike branch; their terms may stand in any order. Without those
    that some node does not have."""

    def modelled_on(a: int) -> int:
        # constants are nobody's: each branch has its own in the same place
        return CONSTANT if graph.nodes[a].is_const else models.get(a, a)

    products = []
    for i in members:
        factors = [modelled_on(a) for a in graph.nodes[i].factors]
        pairs = zip(factors[::2], factors[1::2], strict=True)
        products.append(list(pairs))
    by_node = []
    for i, own in zip(members, products, strict=True):
        by_node.append(_found_products(i, own, products[0]))
    ties = []
    for tie in zip(*by_node, strict=True):
        found = [product for product in tie if product is not None]
        if len(found) == len(members):
            ties.append(tuple(found))
    return ties


def _found_products(
    i: int, own: Sequence[Factors], wanted: Sequence[Factors]
) -> list[TiedProduct | None]:
    """The products of node ``i`` with the factors ``wanted``, in either order; None for those that it has not."""
    left = dict(enumerate(own))
    found: list[TiedProduct | None] = []
    for pair in wanted:
        product = None
        for k, factors in left.items():
            if pair in (factors, factors[::-1]):
                product = TiedProduct(i, k, factors != pair)
                break
        if product is not None:
            # of equal products each corresponds to one
            del left[product.product]
        found.append(product)
    return found


WIDEST = 40
"""Bits of a signal; exact sums of such still fit 64-bit arithmetic."""
SLACK = 3
"""Bits that a signal may get later, to tell numbers from errors."""
RESIDUAL = 4
"""Fewest bits of a residual."""
NARROWEST = 3
"""Bits that every signal keeps."""
LEAST_ROOM, MOST_ROOM = 1, 12
"""Bits that a signal has for errors where they are said to take more than the second number, and are not believed."""
NOISE_DEVIATIONS = 8.0
"""Standard deviations of its error that a signal's format leaves room for."""


@dataclass
class WordLengthChoice:
    """Word lengths: bits behind the point, ``fracs`` by node and ``views`` by site of factors and results; how each
    product of each node is built (``shapes``), the ``constants``, which sites are ``truncated``, and ``cost`` with its
    ``blocks``; ``square`` and ``mean``: variance and mean of what each site adds."""

    fracs: np.ndarray = field(repr=False)
    views: np.ndarray = field(repr=False)
    shapes: np.ndarray = field(repr=False)
    blocks: int
    constants: dict[int, Constant] = field(default_factory=dict, repr=False)
    truncated: np.ndarray = field(default_factory=lambda: np.zeros(0, bool), repr=False)
    cost: float = 0.0
    square: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)
    mean: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)


class Signals:
    """A graph's signals with their ``magnitudes`` by node and its ``sites``.

    ``ties``: nodes that are to have one format. ``fed``: operands that are results of an earlier pass, errors included,
    with the nodes of those. ``heads``: bits before the binary point by node, without the sign; they grow where errors
    turn out to need room; ``least_heads``: as magnitudes alone need them. ``limits``: fewest and most bits behind it.
    ``leaving``: the sites of the results that a node is; ``kept``: the nodes of results that have no site.
    """

    def __init__(
        self,
        graph: Graph,
        magnitudes: np.ndarray,
        sites: Sites,
        ties: Ties = NO_TIES,
        fed: Mapping[int, int] | None = None,
    ) -> None:
        self.graph = graph
        self.sites = sites
        self.ties = ties
        self.fed = fed or {}
        self.magnitudes = magnitudes.copy()
        for members in map(list, ties.formats):
            self.magnitudes[members] = np.max(self.magnitudes[members])
        self.heads = _first_heads(graph, self.magnitudes)
        self.least_heads = tuple(self.heads)
        self.limits = [_fraction_limits(graph, i, head) for i, head in enumerate(self.heads)]
        self.leaving: dict[int, list[int]] = {}
        for name, site in sites.results.items():
            self.leaving.setdefault(graph.outputs[name], []).append(site)
        self.kept = {i for name, i in graph.outputs.items() if name not in sites.results}
        self._constants: dict[tuple[int, int, int], Constant] = {}

    def constant(self, i: int, frac: int, source_frac: int) -> Constant:
        """The constant factor of node ``i``, as good as its result's bits are: ``frac`` behind the point, where its
        argument has ``source_frac``."""
        # alike branches execute one network of sums, so that all take the same mantissa
        model = self.ties.models.get(i, i)
        source = self.graph.nodes[i].args[0]
        width = self.heads[source] + 1 + source_frac
        # the exact product must fit 63 bits, whatever room its argument gets later
        bits = min(MAX_WORD, 63 - SLACK - max(width, 1))
        key = model, frac, bits
        if key not in self._constants:
            largest = float(self.magnitudes[source]) * MARGIN
            tolerance = math.inf
            if largest > 0:
                tolerance = math.ldexp(0.25, -frac) / largest
            factor = self.graph.nodes[model].terms.multiple
            assert factor is not None
            self._constants[key] = quantise_constant(factor, tolerance, bits)
        return self._constants[key]

    def room(self, choice: WordLengthChoice) -> list[int]:
        """Bits before the binary point that leave room for errors too: what cancels leaves those of its arguments, and
        a number of few bits ends well below its power of two. Errors are taken as independent."""
        heads, deviations = self._room_for_errors(choice, {})
        # only now is it known with which errors fed operands arrive
        if self.fed:
            given = {i: deviations[source] for i, source in self.fed.items()}
            heads, _ = self._room_for_errors(choice, given)
        heads = self._believed(heads)
        for members in self.ties.formats:
            largest = max(heads[i] for i in members)
            for i in members:
                heads[i] = largest
        return heads

    def _believed(self, heads: list[int]) -> list[int]:
        """``heads``, but hardly more than values need where errors seem to be much larger than those: in a long
        elimination they are not independent, and measurements flag what was left too little."""
        pairs = zip(self.least_heads, heads, strict=True)
        grown = max(new - least for least, new in pairs)
        if grown <= MOST_ROOM:
            return heads
        pairs = zip(self.least_heads, heads, strict=True)
        return [min(new, least + LEAST_ROOM) for least, new in pairs]

    def make_room(self, choice: WordLengthChoice) -> bool:
        """Take on the bits that :meth:`room` asks for; whether any are new."""
        before = self.heads
        self.heads = self.room(choice)
        for i, (old, new) in enumerate(zip(before, self.heads, strict=True)):
            low, high = self.limits[i]
            # as many bits as before at most: those before the point are taken from those behind
            self.limits[i] = low, high - (new - old)
        return self.heads != before

    def _room_for_errors(
        self, choice: WordLengthChoice, given: Mapping[int, float]
    ) -> tuple[list[int], list[float]]:
        """Bits before the binary point and the errors' deviations by node, with those of operands ``given``."""
        deviations: list[float] = []
        heads = list(self.heads)
        fracs = choice.fracs.tolist()
        for i, node in self.graph:
            largest = float(self.magnitudes[i])
            last = math.ldexp(1.0, -fracs[i])
            arriving = node.operation.arriving(node, deviations, self.magnitudes, largest)
            error = math.hypot(*arriving, given.get(i, 0.0))
            small = all(deviations[a] <= self.magnitudes[a] for a in node.args)
            if small and not (node.terms.can_cancel or node.is_input):
                # the factors' largest values need not meet: only differences, and what is made of them, are small
                # beside their errors
                error = min(error, largest * OUTWEIGHED)
            deviations.append(math.hypot(error, last / 2))
            if node.operation.rounds or i in given:
                needed = largest * MARGIN + NOISE_DEVIATIONS * deviations[i] + last
                heads[i] = max(heads[i], integer_bits(needed))
            elif node.is_shift:
                moved = heads[node.args[0]] + node.attr
                heads[i] = max(heads[i], moved)
        return heads, deviations


def _first_heads(graph: Graph, magnitudes: np.ndarray) -> list[int]:
    """Bits before the binary point by node, without the sign, as magnitudes alone need them."""
    heads: list[int] = []
    for i, node in graph:
        head = node.operation.head(node, heads)
        if head is None:
            magnitude = float(magnitudes[i]) * _margin(graph, i)
            # zero has no magnitude, and would have its point without end behind the word
            head = max(integer_bits(magnitude), -4 * MAX_WORD)
        heads.append(head)
    return heads


def _margin(graph: Graph, i: int) -> float:
    """Headroom over the largest magnitude of node ``i``."""
    node = graph.nodes[i]
    if node.is_given:
        return 1.0
    computed = (node.terms.count and not node.terms.is_negation) or node.operation.moves_by_data
    multiplied = any(i in graph.nodes[u].factors for u in graph.users[i])
    # adders are cheap, so that what no multiplier takes can have more headroom
    return WIDE_MARGIN if computed and not multiplied else MARGIN


def _positive_fraction(graph: Graph, i: int) -> int:
    """Bits behind the binary point with which a positive constant plus a magnitude stays positive, however it is
    rounded; no number of them for other nodes."""
    parts = [graph.nodes[a] for a in graph.nodes[i].args]
    if graph.nodes[i].terms != ADDITION or {part.op for part in parts} != {"const", "abs"}:
        return -4 * MAX_WORD
    (constant,) = (part.attr for part in parts if part.is_const)
    return 1 - integer_bits(constant)


def _fraction_limits(graph: Graph, i: int, head: int) -> tuple[int, int]:
    """Fewest and most bits behind the binary point of node ``i``, with ``head`` bits before it."""
    users = graph.users[i]
    using = [graph.nodes[u] for u in users]
    limited = graph.nodes[i].operation.looks_up
    for user in using:
        limited |= user.operation.moves_by_data or user.terms.multiple is not None
    widest = MAX_WORD if limited else WIDEST
    # below a table's address stand some bits of its residual; an angle gets them from its scale's argument
    addressing = list(users)
    for u in users:
        if graph.nodes[u].terms.multiple is not None:
            addressing += graph.users[u]
    least = NARROWEST - 1 - head
    for u in addressing:
        if graph.nodes[u].operation.is_addressed:
            least = max(least, graph.nodes[u].attr + RESIDUAL)
    if any(user.operation.is_partial for user in using):
        least = max(least, _positive_fraction(graph, i))
    return least, widest - 1 - head
