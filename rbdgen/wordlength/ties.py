"""What is to have equal formats because hardware does it in turn: counterparts in alike branches, and in columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import networkx as nx

from rbdgen.ir.graph import Graph
from rbdgen.layout.columns import Group
from rbdgen.layout.folding import CONSTANT

GIVEN = ("const", "table_sin", "table_cos", "table_reciprocal", "residual", "normalise", "shift")
"""Operations whose formats are not chosen for them alone."""


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


def make_ties(
    graph: Graph,
    branches: Sequence[tuple[int, ...]] = (),
    columns: Sequence[Group] = (),
    operands: bool = False,
) -> Ties:
    """The ties of nodes in alike ``branches`` and of ``columns``, with ``operands`` of what columns read as well."""
    models: dict[int, int] = {}
    for members in branches:
        models |= dict.fromkeys(members, members[0])
    links = nx.Graph()
    factors: list[FactorTie] = []
    for members in branches:
        nx.add_star(links, members)
        factors += _branch_factors(graph, members, models)
    for group in columns:
        for k in range(len(group.columns[0].nodes)):
            alike = [column.nodes[k] for column in group.columns]
            nx.add_star(links, alike)
            factors += _column_factors(graph, group, k)
            if operands:
                _link_operands(graph, group, k, links)
    groups = nx.connected_components(links)
    formats = sorted(tuple(sorted(group)) for group in groups)
    return Ties(tuple(formats), tuple(factors), models)


def _branch_factors(
    graph: Graph, members: tuple[int, ...], models: dict[int, int]
) -> list[FactorTie]:
    """The ties of the products of one node in each alike branch; their terms may stand in any order."""

    def modelled_on(a: int) -> int:
        # constants are nobody's: each branch has its own in the same place
        return CONSTANT if graph.nodes[a].op == "const" else models.get(a, a)

    own = []
    for i in members:
        factors = [modelled_on(a) for a in graph.nodes[i].factors]
        own.append(_pairs(factors))
    wanted = [own[0]] * len(members)
    return _tied_products(members, own, wanted)


def _column_factors(graph: Graph, group: Group, k: int) -> list[FactorTie]:
    """The ties of the products of the ``k``-th nodes of columns."""
    members, own, wanted = [], [], []
    for column in group.columns:
        node = graph.nodes[column.nodes[k]]
        members.append(column.nodes[k])
        own.append(_pairs(node.factors))
        wanted.append(_pairs(column.turn(graph, k).args[: len(node.factors)]))
    return _tied_products(members, own, wanted)


def _pairs(factors: Sequence[int]) -> list[Factors]:
    """Factors by product."""
    return list(zip(factors[::2], factors[1::2], strict=True))


def _tied_products(
    members: Sequence[int], own: Sequence[list[Factors]], wanted: Sequence[list[Factors]]
) -> list[FactorTie]:
    """The ties of nodes' products: of each node its ``own``, and those ``wanted``, of which the same are to be tied.
    Without those that a node does not have."""
    by_node = []
    for i, products, pairs in zip(members, own, wanted, strict=True):
        by_node.append(_found_products(i, products, pairs))
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
            del left[product.product]
        found.append(product)
    return found


def _link_operands(graph: Graph, group: Group, k: int, links: nx.Graph) -> None:
    """Link (in place) what the ``k``-th nodes of columns read."""
    read = [column.turn(graph, k).args for column in group.columns]
    for args in zip(*read, strict=True):
        chosen = [a for a in dict.fromkeys(args) if graph.nodes[a].op not in GIVEN]
        nx.add_star(links, chosen)
