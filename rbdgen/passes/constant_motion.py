"""Pass: moves constant factors to where fewer of them are needed.

c·x ± c·y becomes c·(x ± y) where neither product is used elsewhere, and (c·x)·y becomes c·(x·y) where that lets equal
products be shared.
"""

from __future__ import annotations

from rbdgen.ir.builder import Builder, rebuild
from rbdgen.ir.graph import Graph, Node


def move_constants(graph: Graph) -> Graph:
    """One sweep of the pass over the whole graph."""

    def rule(builder: Builder, i: int, node: Node, args: tuple[int, ...]) -> int | None:
        if not node.terms.adds_two:
            return None
        if not _lone_products(graph, node):
            return None
        one, other = (builder.nodes[a] for a in args)
        factor = one.terms.multiple
        if factor is None or factor != other.terms.multiple:
            return None
        terms = one.args[0], other.args[0]
        inner = builder.sum(terms, node.terms)
        return builder.scale(inner, factor)

    return rebuild(graph, rule)


def _lone_products(graph: Graph, node: Node) -> bool:
    """Whether a sum's arguments are two products with constants of its own submodule that nothing else uses."""
    one, other = node.args
    # c·x + c·x has one product already
    if one == other:
        return False
    for a in node.args:
        product = graph.nodes[a]
        if product.terms.multiple is None or product.owner != node.owner:
            return False
        if len(graph.users[a]) != 1 or a in graph.results:
            return False
    return True
