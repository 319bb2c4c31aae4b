"""Passes over constant factors: moved to where fewer of them are needed, taken into a sum's signs, or given to
multipliers.

c·x ± c·y becomes c·(x ± y) where neither product is used elsewhere, and (c·x)·y becomes c·(x·y) where that lets equal
products be shared. A power of two is wiring in hardware; on a processor it is a product, and moves likewise. −(x − y)
is y − x, and −(x + y) is (−x) − y, so that a negation costs nothing where a difference that nothing else uses stands
somewhere below the sum. A factor in logic costs several adders; on a multiplier that is shared anyway it costs a slot.
Factors that make angles of radians, or belong to a table's residual, stay: they need more bits than a word has.
"""

from __future__ import annotations

from collections.abc import Sequence

from rbdgen.ir.builder import Builder, rebuild
from rbdgen.ir.graph import Graph, Node
from rbdgen.ir.terms import DIFFERENCE


def move_constants(graph: Graph) -> Graph:
    """One sweep of the pass over the whole graph."""

    def rule(builder: Builder, i: int, node: Node, args: tuple[int, ...]) -> int | None:
        if not _lone_products(graph, node):
            return None
        factors = [builder.nodes[a].terms.multiple for a in args]
        return _behind(builder, node, args, factors)

    return rebuild(graph, rule)


def move_shifts(graph: Graph) -> Graph:
    """One sweep of the same for powers of two over the whole graph."""

    def rule(builder: Builder, i: int, node: Node, args: tuple[int, ...]) -> int | None:
        if not _lone_terms(graph, node):
            return None
        factors = []
        for a in args:
            term = builder.nodes[a]
            factors.append(2.0**term.attr if term.is_shift else None)
        return _behind(builder, node, args, factors)

    return rebuild(graph, rule)


def _behind(
    builder: Builder, node: Node, args: tuple[int, ...], factors: Sequence[float | None]
) -> int | None:
    """The sum of two terms with its ``factors`` behind it; None where they are not one factor."""
    one, other = factors
    if one is None or one != other:
        return None
    terms = tuple(builder.nodes[a].args[0] for a in args)
    inner = builder.sum(terms, node.terms)
    return builder.scale(inner, one)


def _lone_terms(graph: Graph, node: Node) -> bool:
    """Whether a node is a sum of two terms that nothing else uses."""
    # c·x + c·x has one product already
    if not node.terms.adds_two or len(set(node.args)) < 2:
        return False
    return all(len(graph.users[a]) == 1 and a not in graph.results for a in node.args)


def _lone_products(graph: Graph, node: Node) -> bool:
    """Whether these terms are products with constants, of the sum's submodule."""
    if not _lone_terms(graph, node):
        return False
    products = [graph.nodes[a] for a in node.args]
    return all(p.terms.multiple is not None and p.owner == node.owner for p in products)


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
