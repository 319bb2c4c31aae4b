"""What is to have equal formats because hardware does it in turn: counterparts in alike branches, and in columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import networkx as nx

from rbdgen.ir.graph import Graph
from rbdgen.layout.columns import Group

GIVEN = ("const", "table_sin", "table_cos", "table_reciprocal", "residual", "normalise", "shift")
"""Operations whose formats are not chosen for them alone."""


@dataclass(frozen=True)
class Ties:
    """``formats``: groups, disjoint, of nodes that are to have one format. ``factors``: groups of products with, for
    each, whether its second factor corresponds to the others' first. ``models``: for nodes that others are modelled on,
    the node whose constant factor is theirs, up to its sign."""

    formats: tuple[tuple[int, ...], ...] = ()
    factors: tuple[tuple[tuple[int, bool], ...], ...] = ()
    models: dict[int, int] = field(default_factory=dict)


NO_TIES = Ties()


def make_ties(
    graph: Graph, branches: Sequence[tuple[int, ...]] = (), columns: Sequence[Group] = (), operands: bool = False
) -> Ties:
    """The ties of nodes in alike ``branches`` and of ``columns``, with ``operands`` of what columns read as well."""
    models = {i: members[0] for members in branches for i in members}
    factors: list[tuple[tuple[int, bool], ...]] = []
    links = nx.Graph()
    for members in branches:
        nx.add_star(links, members)
        if graph.nodes[members[0]].op == "mul":
            wanted = [models.get(a, a) for a in graph.nodes[members[0]].args]
            factors.append(tuple((i, [models.get(a, a) for a in graph.nodes[i].args] != wanted) for i in members))
    for group in columns:
        for k, template in enumerate(group.columns[0].nodes):
            nx.add_star(links, [c.nodes[k] for c in group.columns])
            if graph.nodes[template].op == "mul":
                factors.append(tuple((c.nodes[k], c.args[k] != graph.nodes[c.nodes[k]].args) for c in group.columns))
            if operands:
                for args in zip(*(c.args[k] for c in group.columns), strict=True):
                    nx.add_star(links, [a for a in dict.fromkeys(args) if graph.nodes[a].op not in GIVEN])
    return Ties(tuple(sorted(tuple(sorted(c)) for c in nx.connected_components(links))), tuple(factors), models)
