"""What is to have equal formats because hardware does it in turn: counterparts in alike branches, and in columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import networkx as nx

from rbdgen.ir.graph import Graph
from rbdgen.layout.columns import Group

GIVEN = ("const", "table_sin", "table_cos", "table_reciprocal", "residual", "normalise", "shift")
"""Operations whose formats are not chosen for them alone."""

FactorTie = tuple[tuple[int, bool], ...]
"""Products, and of each whether its second factor corresponds to the others' first."""


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
        if graph.nodes[members[0]].op == "mul":
            factors.append(_branch_factors(graph, members, models))
    for group in columns:
        for k, template in enumerate(group.columns[0].nodes):
            alike = [column.nodes[k] for column in group.columns]
            nx.add_star(links, alike)
            if graph.nodes[template].op == "mul":
                factors.append(_column_factors(graph, group, k))
            if operands:
                _link_operands(graph, group, k, links)
    groups = nx.connected_components(links)
    formats = sorted(tuple(sorted(group)) for group in groups)
    return Ties(tuple(formats), tuple(factors), models)


def _branch_factors(graph: Graph, members: tuple[int, ...], models: dict[int, int]) -> FactorTie:
    """Products of alike branches."""

    def modelled_on(i: int) -> list[int]:
        return [models.get(a, a) for a in graph.nodes[i].args]

    wanted = modelled_on(members[0])
    return tuple((i, modelled_on(i) != wanted) for i in members)


def _column_factors(graph: Graph, group: Group, k: int) -> FactorTie:
    """The ``k``-th products of columns."""
    tie = []
    for column in group.columns:
        i = column.nodes[k]
        swapped = column.args[k] != graph.nodes[i].args
        tie.append((i, swapped))
    return tuple(tie)


def _link_operands(graph: Graph, group: Group, k: int, links: nx.Graph) -> None:
    """Link (in place) what the ``k``-th nodes of columns read."""
    read = [column.args[k] for column in group.columns]
    for args in zip(*read, strict=True):
        chosen = [a for a in dict.fromkeys(args) if graph.nodes[a].op not in GIVEN]
        nx.add_star(links, chosen)
