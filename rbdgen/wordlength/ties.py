"""Nodes that are to have equal formats because hardware makes them in turn: counterparts in alike branches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rbdgen.ir.graph import Graph
from rbdgen.layout.folding import CONSTANT


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
