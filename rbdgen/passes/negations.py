"""Pass: a negation of a sum becomes other signs within the sum.

−(x − y) is y − x, and −(x + y) is (−x) − y, so that it costs nothing where a difference that nothing else uses stands
somewhere below the sum.
"""

from __future__ import annotations

from rbdgen.ir.builder import Builder, rebuild
from rbdgen.ir.graph import Graph, Node
from rbdgen.ir.terms import DIFFERENCE

NONE = -1
"""No argument of a node."""


def absorb_negations(graph: Graph) -> Graph:
    """One sweep of the pass over the whole graph."""
    turned: dict[int, int] = {}
    for node in graph.nodes:
        if node.terms.is_negation:
            free = _free_negation(graph, node.args[0])
            turned |= free or {}

    def rule(builder: Builder, i: int, node: Node, args: tuple[int, ...]) -> int | None:
        if node.terms.is_negation and node.args[0] in turned:
            return args[0]
        if i not in turned or not node.terms.adds_two:
            return None
        negative = turned[i]
        if negative == NONE:
            return builder.sub(args[1], args[0])
        return builder.sub(args[negative], args[1 - negative])

    return rebuild(graph, rule)


def _free_negation(graph: Graph, i: int) -> dict[int, int] | None:
    """The nodes to be made with the other sign for the negative of node ``i``, and which of their arguments is one of
    them as well (``NONE``: none, a difference is turned). None where the negative is not free."""
    node = graph.nodes[i]
    # others that use it would get the other sign as well
    if len(graph.users[i]) != 1 or i in graph.results:
        return None
    if node.terms == DIFFERENCE:
        return {i: NONE}
    if node.terms.adds_two or node.terms.multiple is not None or node.is_shift:
        for position, a in enumerate(node.args):
            below = _free_negation(graph, a)
            if below is not None:
                return {**below, i: position}
    return None
