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

from rbdgen.ir.graph import Graph, Node
from rbdgen.ir.programs import cone
from rbdgen.tracing.execute import begin_operands, pass_sources
from rbdgen.tracing.network import Network

FactorDerivatives = tuple[np.ndarray, ...]
"""Derivatives with respect to each factor of an operation's products; none for operations without."""
Visitor = Callable[[int, int, np.ndarray, FactorDerivatives], None]
"""Told which of a task's passes it is, a node's number, the derivatives (p,) of the pairs' results with respect to it,
and those with respect to each of its factors."""


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
        if name not in weights:
            weights[name] = np.zeros(len(items))
        weights[name][k] = 1.0 / scale
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

    ``passes`` are float64 values (n,) by node of each pass of a task of the function; the sweep goes on from the
    last to the first.
    """
    seeds: dict[int, np.ndarray] = {}
    for name, weight in pairs.results.items():
        _accumulate(seeds, graph.outputs[name], weight)
    results: Iterable[str] = pairs.results
    sources = pass_sources(network, graph, function)
    for number in range(len(passes) - 1, -1, -1):
        sweep = _ReverseSweep(graph, passes[number], pairs.states, partial(visit, number))
        # only the first pass has operands that are copies: later ones read results
        copies = {} if number else _copies(network, graph, function)
        arrived = sweep.run(cone(graph, results), seeds, copies)
        if number > 0:
            seeds, results = _passed_back(graph, sources[number - 1], arrived)


def _copies(network: Network, graph: Graph, function: str) -> dict[int, int]:
    """The operands of a task's first pass that are copies of others, and of which."""
    found = {}
    for name, origin in begin_operands(network, function):
        if name in graph.inputs and origin in graph.inputs:
            found[graph.inputs[name]] = graph.inputs[origin]
    return found


def _passed_back(
    graph: Graph, sources: Mapping[str, str | None], arrived: Mapping[int, np.ndarray]
) -> tuple[dict[int, np.ndarray], set[str]]:
    """An earlier pass's derivatives by node, from what ``arrived`` at the operands of the next, and its results."""
    earlier: dict[int, np.ndarray] = {}
    results: set[str] = set()
    for name, source in sources.items():
        if source is None:
            continue
        results.add(source)
        operand = graph.inputs.get(name)
        if operand is not None and operand in arrived:
            _accumulate(earlier, graph.outputs[source], arrived[operand])
    return earlier, results


def _accumulate(pending: dict[int, np.ndarray], i: int, x: np.ndarray) -> None:
    """Add ``x`` to what is known of node ``i`` (in place)."""
    # a new array: the old one may be another node's derivative as well
    pending[i] = pending[i] + x if i in pending else x


def _signed(x: np.ndarray, sign: int) -> np.ndarray:
    """``x`` with a sign, 1 or −1."""
    return x if sign > 0 else -x


class _ReverseSweep:
    """One sweep over a graph, users first, with float64 ``values`` (n,) by node, for pairs at some ``states``."""

    def __init__(
        self,
        graph: Graph,
        values: Mapping[int, np.ndarray],
        states: np.ndarray,
        visit: Callable[[int, np.ndarray, FactorDerivatives], None],
    ) -> None:
        self.graph = graph
        self.values = values
        self.states = states
        self.visit = visit

    def run(
        self, nodes: tuple[int, ...], seeds: Mapping[int, np.ndarray], copies: Mapping[int, int]
    ) -> dict[int, np.ndarray]:
        """Visit ``nodes`` (ascending) from their end; the derivatives with respect to the operands, of which some are
        ``copies`` of others."""
        pending: dict[int, np.ndarray] = dict(seeds)
        operands: dict[int, np.ndarray] = {}
        # users have higher numbers than their arguments, so that all of a node's came before
        for i in reversed(nodes):
            if i not in pending:
                continue
            node = self.graph.nodes[i]
            here = pending.pop(i)
            if node.is_input:
                operands[i] = here
                continue
            factors = self._factors(node, here)
            for a, x in zip(node.factors, factors, strict=True):
                _accumulate(pending, a, x)
            for a, x in node.operation.passed_on(node, here, self._at):
                _accumulate(pending, a, x)
            self.visit(i, here, factors)
        # an error of the origin is one of every copy
        for copy, origin in copies.items():
            if copy in operands:
                _accumulate(operands, origin, operands[copy])
        for i, here in operands.items():
            self.visit(i, here, ())
        return operands

    def _factors(self, node: Node, here: np.ndarray) -> FactorDerivatives:
        """The derivatives that a node passes on to its factors."""
        found: list[np.ndarray] = []
        for sign, one, other in node.products:
            own = _signed(here, sign)
            found += [own * self._at(other), own * self._at(one)]
        return tuple(found)

    def _at(self, i: int) -> np.ndarray:
        """A node's values at the pairs' states."""
        x = self.values[i]
        return x[self.states] if np.ndim(x) else x
