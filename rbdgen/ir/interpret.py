"""Interpreters of graphs: in float64, and bit by bit; both vectorised over a batch of tasks."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from rbdgen.ir.exactness import dropped
from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.graph import Graph, Node
from rbdgen.ir.programs import cone

Operands = Mapping[str, np.ndarray]
"""Values of operands by name."""


def evaluate(
    graph: Graph, operands: Operands, dtype: type[np.floating] = np.float64
) -> list[np.ndarray]:
    """Every node's value in float64 (or another ``dtype``) for operands of equal shapes (any)."""
    return list(walk(graph, operands, dtype))


def walk(
    graph: Graph, operands: Operands, dtype: type[np.floating] = np.float64
) -> Iterator[np.ndarray]:
    """The values of :func:`evaluate` one after the other; each is kept only as long as another one needs it."""
    values: dict[int, np.ndarray] = {}
    last: dict[int, int] = {}
    for i, node in graph:
        for a in node.args:
            last[a] = i
    for i, node in graph:
        args = [values[a] for a in node.args]
        value = _value(node, args, operands, dtype)
        # a square has its argument twice
        for a in set(node.args):
            if last[a] == i:
                del values[a]
        # nobody reads what only leaves
        if i in last:
            values[i] = value
        yield value


def evaluate_cone(
    graph: Graph,
    operands: Operands,
    results: Iterable[str],
    dtype: type[np.floating] = np.float64,
    kept: Container[int] | None = None,
) -> dict[int, np.ndarray]:
    """As :func:`evaluate`, of the nodes that ``results`` depend on, by node; or only of those that are ``kept``, and of
    the results."""
    results = tuple(results)
    needed = cone(graph, results)
    last: dict[int, int] = {}
    if kept is not None:
        leaving = {graph.outputs[name] for name in results}
        for i in needed:
            for a in graph.nodes[i].args:
                if a not in kept and a not in leaving:
                    last[a] = i
    values: dict[int, np.ndarray] = {}
    for i in needed:
        node = graph.nodes[i]
        args = [values[a] for a in node.args]
        values[i] = _value(node, args, operands, dtype)
        for a in set(node.args):
            if last.get(a) == i:
                del values[a]
    return values


def _value(
    node: Node, x: list[np.ndarray], operands: Operands, dtype: type[np.floating]
) -> np.ndarray:
    """One node's value from its arguments'."""
    if node.is_input:
        return np.asarray(operands[node.attr], dtype)
    return node.operation.value(node, x, dtype)


@dataclass(frozen=True)
class FixedResult:
    """Raw values by node (``values``), by result name (``outputs``), each task's ``overflow`` flag (bool), and the
    nodes that overflowed, with the number of tasks (``culprits``)."""

    values: dict[int, np.ndarray]
    outputs: dict[str, np.ndarray]
    overflow: np.ndarray
    culprits: dict[int, int]


def evaluate_fixed(
    fixed: FixedGraph, operands: Operands, results: Iterable[str] | None = None
) -> FixedResult:
    """Raw values (int64) for raw operands of one shape (n,): the bit-true model of the hardware.

    With ``results`` only these are computed, and only what they depend on can overflow.
    """
    graph = fixed.graph
    names = list(graph.outputs if results is None else results)
    nodes = range(len(graph.nodes))
    if results is not None:
        nodes = cone(graph, names)
    interpreter = _FixedInterpreter(fixed, operands)
    for i in nodes:
        interpreter.compute(i, graph.nodes[i])
    values = interpreter.values
    outputs = {name: values[graph.outputs[name]] for name in names}
    return FixedResult(values, outputs, interpreter.overflow, interpreter.culprits)


class _FixedInterpreter:
    """Computes a fixed-point graph node by node for raw ``operands`` (n,): see :class:`FixedResult`."""

    def __init__(self, fixed: FixedGraph, operands: Operands) -> None:
        self.fixed = fixed
        self.operands = operands
        self.shape = np.shape(next(iter(operands.values())))
        self.values: dict[int, np.ndarray] = {}
        self.overflow = np.zeros(self.shape, bool)
        self.culprits: dict[int, int] = {}

    def compute(self, i: int, node: Node) -> None:
        """The value of node ``i``, whose arguments are there."""
        if node.is_input:
            self.values[i] = np.asarray(self.operands[node.attr], np.int64)
            return
        operation = node.operation
        args = [self.values[a] for a in node.args]
        raw = operation.raw(self.fixed, i, node, args)
        lost = operation.lost(node, args)
        if lost is not None:
            self._flag(i, lost)
        if operation.rounds:
            drop = self.fixed.dropped_bits(i) - operation.taken_off(self.fixed, i, node)
            raw = self._fitted(i, dropped(raw, drop, i not in self.fixed.truncated))
        # constants have a value for each task as well, since they may be results
        self.values[i] = np.broadcast_to(raw, self.shape) if node.is_const else raw

    def _flag(self, i: int, lost: np.ndarray) -> None:
        """Note the tasks in which node ``i`` overflows."""
        count = int(np.count_nonzero(lost))
        if count:
            self.culprits[i] = count
            np.logical_or(self.overflow, lost, out=self.overflow)

    def _fitted(self, i: int, exact: np.ndarray) -> np.ndarray:
        """A rounded result saturated or wrapped around to its format."""
        # most nodes cannot overflow: they are spared two passes over their values
        if not self.fixed.may_overflow(i):
            return exact
        fmt = self.fixed.formats[i]
        if self.fixed.saturates:
            value = np.clip(exact, fmt.minimum, fmt.maximum)
        else:
            value = fmt.wrap(exact)
        self._flag(i, value != exact)
        return value
