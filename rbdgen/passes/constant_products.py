"""Pass: constant factors become products with a constant, for multipliers that have slots to spare.

A constant factor in logic costs several adders; on a multiplier that is shared anyway it costs a slot. Factors that
make angles of radians, or belong to a table's residual, stay: they need more bits than a word has.
"""

from __future__ import annotations

from rbdgen.ir.builder import Builder, rebuild
from rbdgen.ir.graph import Graph, Node


def multiply_constants(graph: Graph) -> Graph:
    """The graph with products in place of constant factors."""

    def rule(builder: Builder, i: int, node: Node, args: tuple[int, ...]) -> int | None:
        factor = node.terms.multiple
        if factor is None or _needs_precision(graph, i):
            return None
        return builder.constant_product(args[0], factor)

    return rebuild(graph, rule)


def _needs_precision(graph: Graph, i: int) -> bool:
    """Whether node ``i`` makes an angle in quarter turns, or belongs to a table's residual."""
    node = graph.nodes[i]
    source = graph.nodes[node.args[0]]
    if source.op == "residual":
        return True
    users = [graph.nodes[user] for user in graph.users[i]]
    return any(user.operation.is_addressed for user in users)
