"""Pass: moves constant factors to where fewer of them are needed.

c·x ± c·y becomes c·(x ± y) where neither product is used elsewhere, and (c·x)·y becomes c·(x·y) where that lets equal
products be shared.
"""

from __future__ import annotations

from rbdgen.ir.builder import Builder, rebuild
from rbdgen.ir.graph import Graph, Node


def move_constants(graph: Graph) -> Graph:
    """One sweep of the pass over the whole graph."""

    def single(i: int) -> bool:
        return len(graph.users[i]) == 1 and i not in graph.results

    def rule(builder: Builder, i: int, node: Node, args: tuple[int, ...]) -> int | None:
        old = [graph.nodes[a] for a in node.args]
        if node.op in ("add", "sub") and all(o.op == "scale" and o.owner == node.owner for o in old):
            a, b = (builder.nodes[x] for x in args)
            same = a.op == b.op == "scale" and a.attr == b.attr
            if same and all(single(x) for x in node.args) and node.args[0] != node.args[1]:
                return builder.scale(builder.make(node.op, (a.args[0], b.args[0]), None), a.attr)
        return None

    return rebuild(graph, rule)
