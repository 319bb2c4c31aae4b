"""Derivatives of results with respect to signals, against finite differences of the graph itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rbdgen import load_robot
from rbdgen.functions.registry import common
from rbdgen.ir.builder import Builder
from rbdgen.ir.graph import Graph, Node
from rbdgen.ir.interpret import evaluate
from rbdgen.ir.terms import ADDITION, Terms
from rbdgen.passes.pipeline import simplify
from rbdgen.tracing.building import build_network, operand_samples
from rbdgen.tracing.execute import float_passes, with_own_feedback
from rbdgen.tracing.trace_options import TraceOptions
from rbdgen.wordlength.sensitivity import Pairs, derivatives, one_result_each

STEP = 1e-6


@pytest.fixture(scope="module", params=["two", "one"])
def traced(request):
    options = TraceOptions(common(), programs=request.param)
    network, states = build_network(load_robot("pendulum2"), options, count=64)
    network = with_own_feedback(network)
    graph = simplify(
        network.graph, operand_samples(network, states), network.declared, 24, network.droppable
    )
    return network.pruned(graph), graph, states


def moved(graph: Graph, node: int) -> Graph:
    """The graph with an operand ``moved`` added to one node."""
    shift = len(graph.nodes)
    nodes = [Node("input", (), "moved", "input"), *graph.nodes]
    nodes = [nodes[0]] + [
        replace(n, args=tuple(a + 1 for a in n.args)) for n in graph.nodes[: node + 1]
    ]
    nodes.append(Node("sum", (node + 1, 0), ADDITION, graph.nodes[node].owner))
    number = (
        {i: i + 1 for i in range(node)}
        | {node: node + 2}
        | {i: i + 2 for i in range(node + 1, shift)}
    )
    nodes += [replace(n, args=tuple(number[a] for a in n.args)) for n in graph.nodes[node + 1 :]]
    return Graph(tuple(nodes), {name: number[i] for name, i in graph.outputs.items()})


@pytest.mark.parametrize("function", common())
def test_derivatives_are_those_of_finite_differences(function: str, traced) -> None:
    network, graph, states = traced
    given = {w.name: states.vector(w.vector, w.index)[:8] for w in network.operand_words(function)}
    passes = float_passes(network, graph, function, given)
    name = network.exit(function).results[0]
    found: dict[int, np.ndarray] = {}

    def visit(turn: int, i: int, here: np.ndarray, factors: tuple[np.ndarray, ...]) -> None:
        # a change of a node changes it in every pass
        found[i] = found[i] + here if i in found else here

    derivatives(
        network, graph, function, passes, one_result_each([(name, s) for s in range(8)]), visit
    )
    nodes = [i for i in found if graph.nodes[i].name in ("add", "sub", "mul", "dot", "rescale")]
    assert len(nodes) >= 3
    for i in nodes[:: max(1, len(nodes) // 12)]:
        bent = moved(graph, i)
        programs = replace(network.programs, parameters=("moved",))
        ends = []
        for sign in (1, -1):
            offset = {"moved": np.full(8, sign * STEP)}
            other = float_passes(
                replace(network, programs=programs), bent, function, given | offset
            )[-1]
            ends.append(other[bent.outputs[name]])
        assert np.allclose((ends[0] - ends[1]) / (2 * STEP), found[i], rtol=1e-4, atol=1e-5), (
            i,
            graph.nodes[i],
        )


def test_a_dot_passes_on_to_every_factor_and_addend(traced) -> None:
    """a·b − c·a + d − a, of which a is used three times."""
    builder = Builder()
    a, b, c, d = map(builder.input, "abcd")
    dot = builder.sum((a, b, c, a, d, a), Terms((1, -1), (1, -1)))
    graph = builder.graph({"out": dot})
    rng = np.random.default_rng(0)
    operands = {name: rng.uniform(-1, 1, 5) for name in "abcd"}
    values = evaluate(graph, operands)
    found: dict[int, np.ndarray] = {}
    of_factors: list[np.ndarray] = []

    def visit(turn: int, i: int, here: np.ndarray, factors: tuple[np.ndarray, ...]) -> None:
        found[i] = here
        of_factors.extend(factors)

    pairs = Pairs({"out": np.ones(5)}, np.arange(5))
    derivatives(traced[0], graph, "id", [dict(enumerate(values))], pairs, visit)
    expected = [values[b], values[a], -values[a], -values[c]]
    assert np.allclose(of_factors, expected)
    for name, i in graph.inputs.items():
        ends = []
        for step in (STEP, -STEP):
            moved_operands = operands | {name: operands[name] + step}
            ends.append(evaluate(graph, moved_operands)[dot])
        assert np.allclose((ends[0] - ends[1]) / (2 * STEP), found[i])


def test_a_magnitude_passes_on_by_its_sign(traced) -> None:
    builder = Builder()
    size = builder.make("abs", (builder.input("x"),))
    graph = builder.graph({"out": builder.mul(size, size)})
    x = np.array([-0.5, 0.25, 2.0, -3.0])
    values = evaluate(graph, {"x": x})
    found: dict[int, np.ndarray] = {}

    def visit(turn: int, i: int, here: np.ndarray, factors: tuple[np.ndarray, ...]) -> None:
        found[i] = here

    pairs = Pairs({"out": np.ones(4)}, np.arange(4))
    derivatives(traced[0], graph, "id", [dict(enumerate(values))], pairs, visit)
    assert np.allclose(found[graph.inputs["x"]], 2 * x)


def test_what_a_step_begins_with_is_the_state() -> None:
    """An error of the state is one of Runge-Kutta's copies of it as well."""
    options = TraceOptions(("roll",), integrator="rk4")
    network, states = build_network(load_robot("pendulum2"), options, count=8)
    graph = simplify(
        network.graph, operand_samples(network, states), network.declared, 24, network.droppable
    )
    network = network.pruned(graph)
    given = {w.name: states.vector(w.vector, w.index) for w in network.operand_words("roll")}
    passes = float_passes(network, graph, "roll", given)
    name = network.exit("roll").results[-1]
    found: dict[int, np.ndarray] = {}

    def visit(turn: int, i: int, here: np.ndarray, factors: tuple[np.ndarray, ...]) -> None:
        if turn == 0 and graph.nodes[i].op == "input":
            found[i] = here

    pairs = one_result_each([(name, s) for s in range(8)])
    derivatives(network, graph, "roll", passes, pairs, visit)
    states_of = [w.name for vector in ("q", "v") for w in network.operands[vector]]
    for operand in states_of:
        ends = []
        for step in (STEP, -STEP):
            there = given | {operand: given[operand] + step}
            ends.append(float_passes(network, graph, "roll", there)[-1][graph.outputs[name]])
        expected = (ends[0] - ends[1]) / (2 * STEP)
        assert np.allclose(found[graph.inputs[operand]], expected, rtol=1e-4, atol=1e-6), operand
