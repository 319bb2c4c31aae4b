"""Pass: constant factors become products with a constant, for multipliers that have slots to spare.

A constant factor in logic costs an adder for every signed digit but one; on a multiplier that is shared anyway it costs
a slot. Factors that make angles of radians, or belong to a table's residual, stay: they need more bits than a word has.
"""

from __future__ import annotations

from rbdgen.ir.builder import Builder, rebuild
from rbdgen.ir.graph import Graph, Node

PRECISE = ("residual", "table_sin", "table_cos")
"""What uses an angle in quarter turns."""


def multiply_constants(graph: Graph) -> Graph:
    """The graph with products in place of constant factors."""

    def rule(builder: Builder, i: int, node: Node, args: tuple[int, ...]) -> int | None:
        if node.op != "scale" or graph.nodes[node.args[0]].op == "residual":
            return None
        if any(graph.nodes[u].op in PRECISE for u in graph.users[i]):
            return None
        return builder.constant_product(args[0], node.attr)

    return rebuild(graph, rule)
