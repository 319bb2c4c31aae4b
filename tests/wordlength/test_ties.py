"""Ties: products of alike dots are matched, whatever the order of their terms and factors."""

from __future__ import annotations

from rbdgen.ir.builder import Builder
from rbdgen.ir.graph import Graph
from rbdgen.ir.terms import Terms
from rbdgen.wordlength.signals import TiedProduct, make_ties


def branches() -> tuple[Graph, list[tuple[int, ...]]]:
    """a·b + c·d and d'·c' − a'·b' in two alike branches, and their counterparts."""
    builder = Builder()
    first = [builder.input(name) for name in "abcd"]
    second = [builder.input(name + "'") for name in "abcd"]
    a, b, c, d = first
    one = builder.sum((a, b, c, d), Terms((1, 1)))
    a, b, c, d = second
    other = builder.sum((d, c, a, b), Terms((1, -1)))
    graph = builder.graph({"one": one, "other": other})
    return graph, [*zip(first, second, strict=True), (one, other)]


def test_products_are_tied_to_those_of_the_same_factors() -> None:
    graph, members = branches()
    one, other = members[-1]
    ties = make_ties(graph, members)
    assert ties.factors == (
        (TiedProduct(one, 0, False), TiedProduct(other, 1, False)),
        (TiedProduct(one, 1, False), TiedProduct(other, 0, True)),
    )
    assert ties.formats == tuple(members)


def test_a_product_without_a_counterpart_is_not_tied() -> None:
    graph, members = branches()
    one, other = members[-1]
    # a' is no counterpart of a
    ties = make_ties(graph, members[1:])
    assert ties.factors == ((TiedProduct(one, 1, False), TiedProduct(other, 0, True)),)


def test_constants_in_the_same_place_are_counterparts() -> None:
    builder = Builder()
    x, y = map(builder.input, "xy")
    products = builder.constant_product(x, 0.3), builder.constant_product(y, 0.7)
    graph = builder.graph(dict(zip("xy", products, strict=True)))
    mul = [i for i, node in graph if node.name == "mul"]
    ties = make_ties(graph, [(x, y), tuple(mul)])
    assert ties.factors == ((TiedProduct(mul[0], 0, False), TiedProduct(mul[1], 0, False)),)
