"""Pass: a negation of a sum becomes other signs within the sum.

−(x − y) is y − x, and −(x + y) is (−x) − y, so that it costs nothing where a difference that nothing else uses stands
somewhere below the sum.
"""

from __future__ import annotations

from rbdgen.ir.builder import Builder, rebuild
from rbdgen.ir.graph import Graph, Node


def absorb_negations(graph: Graph) -> Graph:
    """One sweep of the pass over the whole graph."""
    turned: dict[int, int] = {}
    """Nodes to be made with the other sign, and which of their arguments is one as well (−1: none)."""

    def free(i: int) -> list[tuple[int, int]] | None:
        """The nodes to turn, with their arguments, for the negative of node ``i``; None where that is not free."""
        node = graph.nodes[i]
        if len(graph.users[i]) != 1 or i in graph.results:
            return None
        if node.op == "sub":
            return [(i, -1)]
        if node.op in ("add", "scale", "shift"):
            for k, a in enumerate(node.args):
                below = free(a)
                if below is not None:
                    return [*below, (i, k)]
        return None

    for node in graph.nodes:
        if node.op == "neg":
            turned |= dict(free(node.args[0]) or ())

    def rule(builder: Builder, i: int, node: Node, args: tuple[int, ...]) -> int | None:
        if node.op == "neg" and node.args[0] in turned:
            return args[0]
        if i not in turned or node.op in ("scale", "shift"):
            return None
        k = turned[i]
        return builder.sub(args[1], args[0]) if k < 0 else builder.sub(args[k], args[1 - k])

    return rebuild(graph, rule)
