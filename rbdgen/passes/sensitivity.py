"""Analysis: how much an error made at one signal changes a result, at chosen states.

The derivatives of results with respect to every node, and to every factor of every product, by one reverse sweep over
the graph for many (result, state) pairs at once. What is piecewise constant (tables, a number's exponent) counts as
constant: with the residual that goes with a table, the derivative is that of the function it stands for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from rbdgen.ir.graph import Graph
from rbdgen.ir.interpret import exponent
from rbdgen.ir.programs import cone
from rbdgen.layout.execute import feedback
from rbdgen.layout.network import Network

Visitor = Callable[[int, int, np.ndarray, tuple[np.ndarray, ...]], None]
"""Told which of a task's passes it is, a node's number, the derivatives (p,) of the pairs' results with respect to it,
and, for a product, those with respect to its two factors."""


@dataclass(frozen=True)
class Pairs:
    """p pairs: ``results`` maps names to weights (p,) with which they count in each pair; ``states`` (p,) are numbers
    of states."""

    results: Mapping[str, np.ndarray]
    states: np.ndarray


def one_result_each(results: Iterable[tuple[str, int]], scale: float = 1.0) -> Pairs:
    """Pairs of one result name and one state's number each; derivatives are divided by ``scale``."""
    items = list(results)
    weights: dict[str, np.ndarray] = {}
    for k, (name, _) in enumerate(items):
        weights.setdefault(name, np.zeros(len(items)))[k] = 1.0 / scale
    return Pairs(weights, np.array([s for _, s in items], int))


def derivatives(
    network: Network,
    graph: Graph,
    function: str,
    passes: Sequence[Mapping[int, np.ndarray]],
    pairs: Pairs,
    visit: Visitor,
) -> None:
    """Visit every node that the pairs' results of ``function`` depend on, users first.

    ``passes`` are float64 values (n,) by node of each pass of a task of the function; of ``dfd``, the sweep goes on
    into the first one.
    """
    seeds = {graph.outputs[name]: np.zeros(len(pairs.states)) for name in pairs.results}
    for name, weight in pairs.results.items():
        seeds[graph.outputs[name]] = seeds[graph.outputs[name]] + weight
    arrived = _sweep(
        graph, cone(graph, pairs.results), passes[-1], seeds, pairs.states, partial(visit, len(passes) - 1)
    )
    if len(passes) == 1:
        return
    first: dict[int, np.ndarray] = {}
    for name, source in feedback(network).items():
        operand = graph.inputs[name]
        if source is not None and operand in arrived:
            i = graph.outputs[source]
            first[i] = first[i] + arrived[operand] if i in first else arrived[operand]
    sources = {source for source in feedback(network).values() if source is not None}
    _sweep(graph, cone(graph, sources), passes[0], first, pairs.states, partial(visit, 0))


def _sweep(
    graph: Graph,
    nodes: tuple[int, ...],
    values: Mapping[int, np.ndarray],
    seeds: Mapping[int, np.ndarray],
    states: np.ndarray,
    visit: Callable[[int, np.ndarray, tuple[np.ndarray, ...]], None],
) -> dict[int, np.ndarray]:
    """One reverse sweep over ``nodes`` (ascending); the derivatives with respect to the operands."""
    pending: dict[int, np.ndarray] = dict(seeds)
    operands: dict[int, np.ndarray] = {}

    def at(i: int) -> np.ndarray:
        x = values[i]
        return x[states] if np.ndim(x) else x

    def give(i: int, x: np.ndarray) -> None:
        pending[i] = pending[i] + x if i in pending else x

    for i in reversed(nodes):
        if i not in pending:
            continue
        node, here = graph.nodes[i], pending.pop(i)
        factors: tuple[np.ndarray, ...] = ()
        match node.op:
            case "input":
                operands[i] = here
            case "add" | "round":
                for a in node.args:
                    give(a, here)
            case "sub":
                give(node.args[0], here)
                give(node.args[1], -here)
            case "neg":
                give(node.args[0], -here)
            case "scale":
                give(node.args[0], here * node.attr)
            case "shift":
                give(node.args[0], np.ldexp(here, node.attr))
            case "residual":
                give(node.args[0], here)
            case "normalise":
                give(node.args[0], np.ldexp(here, -exponent(at(node.args[0]))))
            case "rescale":
                give(node.args[0], np.ldexp(here, -exponent(at(node.args[1]))))
            case "mul":
                factors = here * at(node.args[1]), here * at(node.args[0])
                for a, x in zip(node.args, factors, strict=True):
                    give(a, x)
            case "const" | "table_sin" | "table_cos" | "table_reciprocal":
                pass
            case _:
                raise ValueError(f"node %{i} ({node.op}): no derivative")
        visit(i, here, factors)
    return operands
