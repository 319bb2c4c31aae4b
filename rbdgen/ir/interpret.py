"""Interpreters of graphs: in float64, and bit by bit; both vectorised over a batch of tasks."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from rbdgen.ir.fixed import (
    ADDRESSED,
    BITS,
    ROUNDED,
    FixedGraph,
    Format,
    reciprocal_table,
    sine_table,
)
from rbdgen.ir.graph import Graph, Node
from rbdgen.ir.programs import cone
from rbdgen.ir.terms import Terms

Operands = Mapping[str, np.ndarray]
"""Values of operands by name."""


def _middle(angle: np.ndarray, address_bits: int) -> np.ndarray:
    """Middle of the table interval that holds ``angle`` (quarter turns)."""
    interval = np.floor(np.ldexp(angle, address_bits))
    return (interval + 0.5) / (1 << address_bits)


def exponent(x: np.ndarray) -> np.ndarray:
    """floor(log2 x)."""
    return np.frexp(x)[1] - 1


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
        for a in set(node.args):
            if last[a] == i:
                del values[a]
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
    match node.op:
        case "input":
            return np.asarray(operands[node.attr], dtype)
        case "const":
            return np.asarray(node.attr, dtype)
        case "add":
            return x[0] + x[1]
        case "sub":
            return x[0] - x[1]
        case "mul":
            return x[0] * x[1]
        case "dot":
            return _float_dot(node.terms, x)
        case "divide":
            return x[0] / x[1]
        case "rescale":
            return np.ldexp(x[0], -exponent(x[1]))
        case _:
            return _value_of_one(node, x[0], dtype)


def _float_dot(terms: Terms, x: list[np.ndarray]) -> np.ndarray:
    """The sum of products and addends."""
    parts = []
    for k, sign in enumerate(terms.products):
        product = x[2 * k] * x[2 * k + 1]
        parts.append(product if sign > 0 else -product)
    for sign, addend in zip(terms.addends, x[terms.factors :], strict=True):
        parts.append(addend if sign > 0 else -addend)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _value_of_one(node: Node, x: np.ndarray, dtype: type[np.floating]) -> np.ndarray:
    """The value of a node with one argument."""
    match node.op:
        case "neg":
            return -x
        case "abs":
            return np.abs(x)
        case "round":
            return x
        case "scale":
            return x * dtype(node.attr)
        case "shift":
            return np.ldexp(x, node.attr)
        case "sin":
            return np.sin(x)
        case "cos":
            return np.cos(x)
        case "table_sin":
            middle = _middle(x, node.attr)
            return np.sin(middle * (math.pi / 2))
        case "table_cos":
            middle = _middle(x, node.attr)
            return np.cos(middle * (math.pi / 2))
        case "residual":
            return x - _middle(x, node.attr)
        case "reciprocal":
            return dtype(1.0) / x
        case "normalise":
            return np.ldexp(x, -exponent(x))
        case "table_reciprocal":
            return 1.0 / _middle(x, node.attr)
        case _:
            raise ValueError(f"node ({node.op}): no float64 meaning")


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
        if node.op in ROUNDED:
            exact = self._exact(i, node)
            rounded = self._rounded(i, node, exact)
            self.values[i] = self._fitted(i, rounded)
        else:
            self.values[i] = self._placed(i, node)

    def _flag(self, i: int, lost: np.ndarray) -> None:
        """Note the tasks in which node ``i`` overflows."""
        count = int(np.count_nonzero(lost))
        if count:
            self.culprits[i] = count
            np.logical_or(self.overflow, lost, out=self.overflow)

    def _placed(self, i: int, node: Node) -> np.ndarray:
        """The value of an operation that neither rounds nor saturates."""
        fmt = self.fixed.formats[i]
        match node.op:
            case "input":
                return np.asarray(self.operands[node.attr], np.int64)
            case "const":
                return np.broadcast_to(fmt.quantise(node.attr), self.shape)
            case "shift":
                return self.values[node.args[0]]
            case "normalise":
                return self._normalised(i, node)
            case _:
                return self._looked_up(i, node)

    def _looked_up(self, i: int, node: Node) -> np.ndarray:
        """What a table holds at the address in its argument, or what the address leaves."""
        if node.op not in ADDRESSED:
            raise ValueError(f"node %{i} ({node.op}): no fixed-point meaning")
        fmt = self.fixed.formats[i]
        source = node.args[0]
        x = self.values[source]
        step = self.fixed.formats[source].frac - node.attr
        if node.op == "residual":
            low_bits = x & ((1 << step) - 1)
            return low_bits - (1 << (step - 1))
        place = x >> step
        size = 1 << node.attr
        if node.op == "table_reciprocal":
            table = np.array(reciprocal_table(node.attr, fmt), np.int64)
            return table[place & (size - 1)]
        if node.op == "table_cos":
            place = place + size
        return _sine(place, node.attr, fmt)

    def _normalised(self, i: int, node: Node) -> np.ndarray:
        """A number moved into [1, 2); what is not positive overflows."""
        x = self.values[node.args[0]]
        self._flag(i, x <= 0)
        positive = np.maximum(x, 1)
        top = self.fixed.formats[node.args[0]].width - 2
        aligned = np.left_shift(positive, top - exponent(positive))
        drop = top - self.fixed.formats[i].frac
        return aligned >> drop if drop > 0 else aligned << -drop

    def _exact(self, i: int, node: Node) -> np.ndarray:
        """The exact result of an operation; of a product too long for 64 bits, without its low bits."""
        first = self.values[node.args[0]]
        last = self.values[node.args[-1]]
        match node.op:
            case "add" | "sub" | "neg" | "dot":
                return self._sum(i, node)
            case "abs":
                return np.abs(first)
            case "round":
                return first
            case "mul":
                low = self.fixed.split(*node.args)
                half = self.fixed.half(i) if low == self.fixed.dropped_bits(i) else 0
                return _product_without(low, first, last, half)
            case "scale":
                return first * self.fixed.constants[i].mantissa
            case "rescale":
                top = self.fixed.formats[node.args[1]].width - 2
                positive = np.maximum(last, 1)
                return np.left_shift(first, top - exponent(positive))
            case _:
                raise ValueError(f"node %{i} ({node.op}): no fixed-point meaning")

    def _sum(self, i: int, node: Node) -> np.ndarray:
        """The sum of a node's terms, all at one binary point."""
        formats = self.fixed.formats
        parts = []
        for sign, one, other in node.products:
            low = self.fixed.split(one, other)
            product = _product_without(low, self.values[one], self.values[other])
            parts.append((sign, product, formats[one].frac + formats[other].frac - low))
        for sign, a in node.addends:
            parts.append((sign, self.values[a], formats[a].frac))
        frac = self.fixed.exact(i)[0]
        total = np.zeros(self.shape, np.int64)
        for sign, value, point in parts:
            places = frac - point
            aligned = value << places if places >= 0 else value >> min(-places, BITS)
            if sign > 0:
                total += aligned
            else:
                total -= aligned
        return total

    def _rounded(self, i: int, node: Node, exact: np.ndarray) -> np.ndarray:
        """An exact result without the bits that its format does not have."""
        drop = self.fixed.dropped_bits(i)
        if node.op == "mul":
            drop -= self.fixed.split(*node.args)
        return _dropped(exact, drop, i not in self.fixed.truncated)

    def _fitted(self, i: int, exact: np.ndarray) -> np.ndarray:
        """A rounded result saturated or wrapped around to its format."""
        if not self.fixed.may_overflow(i):
            return exact
        fmt = self.fixed.formats[i]
        if self.fixed.saturate:
            value = np.clip(exact, fmt.minimum, fmt.maximum)
        else:
            value = fmt.wrap(exact)
        self._flag(i, value != exact)
        return value


def _product_without(low: int, a: np.ndarray, b: np.ndarray, half: int = 0) -> np.ndarray:
    """floor((a·b + half) / 2^low), of which the product may be longer than 64 bits."""
    if not low:
        return a * b
    part = a * (b & ((1 << low) - 1)) + half
    return a * (b >> low) + (part >> low)


def _dropped(exact: np.ndarray, drop: int, rounds: bool) -> np.ndarray:
    """``exact`` without its lowest ``drop`` bits, however many: rounded half up or cut."""
    if not drop:
        return exact
    if not rounds:
        return exact >> min(drop, BITS)
    # not half of the last place first, which is beyond 64 bits where all are dropped
    return ((exact >> min(drop - 1, BITS)) + 1) >> 1


def _sine(place: np.ndarray, address_bits: int, fmt: Format) -> np.ndarray:
    """Raw sines of angles that are ``place`` table intervals long."""
    size = 1 << address_bits
    quadrant = (place >> address_bits) & 3
    index = place & (size - 1)
    mirrored = np.where(quadrant & 1, size - 1 - index, index)
    table = np.array(sine_table(address_bits, fmt), np.int64)
    value = table[mirrored]
    return np.where(quadrant & 2, -value, value)
