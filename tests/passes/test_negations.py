"""Negations that other signs within a sum take the place of."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from rbdgen.ir.builder import Builder, Expr
from rbdgen.ir.graph import Graph, verify
from rbdgen.ir.interpret import evaluate
from rbdgen.passes.constant_factors import absorb_negations

NAMES = "abcd"


def traced(function: Callable[..., dict[str, Expr]]) -> Graph:
    builder = Builder("Mx")
    outputs = function(*(Expr(builder, builder.input(n)) for n in NAMES))
    return builder.graph({name: x.node for name, x in outputs.items()})


@pytest.mark.parametrize(
    ("function", "before", "after"),
    [
        (lambda a, b, c, d: {"y": -(a - b)}, 1, 0),
        (lambda a, b, c, d: {"y": -((a - b) + c * d)}, 1, 0),
        (lambda a, b, c, d: {"y": -(c * d + (a * b + (c - a)))}, 1, 0),
        (lambda a, b, c, d: {"y": -(3.0 * (a - b) + 4.0 * c)}, 1, 0),
        (lambda a, b, c, d: {"y": -(a + b)}, 1, 1),
        (lambda a, b, c, d: {"y": -(a - b), "z": (a - b) * c}, 1, 1),
        (lambda a, b, c, d: {"y": -((a - b) + c), "z": d * (a - b)}, 1, 1),
    ],
)
def test_negations_go_where_they_cost_nothing(function: Callable, before: int, after: int) -> None:
    graph = traced(function)
    better = absorb_negations(graph)
    verify(better)
    assert (graph.count("neg"), better.count("neg")) == (before, after)
    assert sum(better.count(op) for op in ("add", "sub")) <= sum(
        graph.count(op) for op in ("add", "sub")
    )
    values = {
        n: x
        for n, x in zip(NAMES, np.random.default_rng(1).normal(size=(4, 50)), strict=True)
        if n in graph.inputs
    }
    old, new = evaluate(graph, values), evaluate(better, values)
    for name, i in graph.outputs.items():
        np.testing.assert_allclose(new[better.outputs[name]], old[i], rtol=1e-12, atol=1e-12)
