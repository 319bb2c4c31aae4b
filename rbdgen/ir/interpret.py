"""Interpreters of graphs: in float64, and bit by bit; both vectorised over a batch of tasks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from rbdgen.ir.fixed import FixedGraph, reciprocal_table, sine_table
from rbdgen.ir.graph import Graph, Node
from rbdgen.ir.programs import cone


def _middle(angle: np.ndarray, address_bits: int) -> np.ndarray:
    """Middle of the table interval that holds ``angle`` (quarter turns)."""
    return (np.floor(np.ldexp(angle, address_bits)) + 0.5) / (1 << address_bits)


def exponent(x: np.ndarray) -> np.ndarray:
    """floor(log2 x)."""
    return np.frexp(x)[1] - 1


def evaluate(
    graph: Graph, operands: Mapping[str, np.ndarray], dtype: type[np.floating] = np.float64
) -> list[np.ndarray]:
    """Every node's value in float64 (or another ``dtype``) for operands of equal shapes (any)."""
    return list(walk(graph, operands, dtype))


def walk(
    graph: Graph, operands: Mapping[str, np.ndarray], dtype: type[np.floating] = np.float64
) -> Iterator[np.ndarray]:
    """The values of :func:`evaluate` one after the other; each is kept only as long as another one needs it."""
    values: dict[int, np.ndarray] = {}
    last = {a: i for i, node in graph for a in node.args}
    for i, node in graph:
        value = _value(node, [values[a] for a in node.args], operands, dtype)
        for a in set(node.args):
            if last[a] == i:
                del values[a]
        if i in last:
            values[i] = value
        yield value


def evaluate_cone(
    graph: Graph,
    operands: Mapping[str, np.ndarray],
    results: Iterable[str],
    dtype: type[np.floating] = np.float64,
) -> dict[int, np.ndarray]:
    """As :func:`evaluate`, of the nodes that ``results`` depend on, by node."""
    values: dict[int, np.ndarray] = {}
    for i in cone(graph, results):
        node = graph.nodes[i]
        values[i] = _value(node, [values[a] for a in node.args], operands, dtype)
    return values


def _value(node: Node, x: list[np.ndarray], operands: Mapping[str, np.ndarray], dtype: type[np.floating]) -> np.ndarray:
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
        case "neg":
            return -x[0]
        case "round":
            return x[0]
        case "mul":
            return x[0] * x[1]
        case "scale":
            return x[0] * dtype(node.attr)
        case "shift":
            return np.ldexp(x[0], node.attr)
        case "sin":
            return np.sin(x[0])
        case "cos":
            return np.cos(x[0])
        case "table_sin":
            return np.sin(_middle(x[0], node.attr) * (math.pi / 2))
        case "table_cos":
            return np.cos(_middle(x[0], node.attr) * (math.pi / 2))
        case "residual":
            return x[0] - _middle(x[0], node.attr)
        case "reciprocal":
            return dtype(1.0) / x[0]
        case "normalise":
            return np.ldexp(x[0], -exponent(x[0]))
        case "table_reciprocal":
            return 1.0 / _middle(x[0], node.attr)
        case "rescale":
            return np.ldexp(x[0], -exponent(x[1]))
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
    fixed: FixedGraph, operands: Mapping[str, np.ndarray], results: Iterable[str] | None = None
) -> FixedResult:
    """Raw values (int64) for raw operands of one shape (n,): the bit-true model of the hardware.

    With ``results`` only these are computed, and only what they depend on can overflow.
    """
    graph = fixed.graph
    shape = np.shape(next(iter(operands.values())))
    values: dict[int, np.ndarray] = {}
    overflow = np.zeros(shape, bool)
    culprits: dict[int, int] = {}

    def flag(i: int, lost: np.ndarray) -> None:
        count = int(np.count_nonzero(lost))
        if count:
            culprits[i] = count
            np.logical_or(overflow, lost, out=overflow)

    names = list(graph.outputs if results is None else results)
    for i in range(len(graph.nodes)) if results is None else cone(graph, names):
        node = graph.nodes[i]
        fmt = fixed.formats[i]
        args = [fixed.formats[a] for a in node.args]
        x = [values[a] for a in node.args]
        match node.op:
            case "input":
                values[i] = np.asarray(operands[node.attr], np.int64)
                continue
            case "const":
                values[i] = np.broadcast_to(fmt.quantise(node.attr), shape)
                continue
            case "shift":
                values[i] = x[0]
                continue
            case "table_sin" | "table_cos" | "residual":
                step = args[0].frac - node.attr
                if node.op == "residual":
                    values[i] = (x[0] & ((1 << step) - 1)) - (1 << (step - 1))
                    continue
                size = 1 << node.attr
                place = (x[0] >> step) + (size if node.op == "table_cos" else 0)
                quadrant, index = (place >> node.attr) & 3, place & (size - 1)
                table = np.array(sine_table(node.attr, fmt), np.int64)
                value = table[np.where(quadrant & 1, size - 1 - index, index)]
                values[i] = np.where(quadrant & 2, -value, value)
                continue
            case "add" | "sub":
                frac = max(a.frac for a in args)
                one, two = (np.left_shift(v, frac - a.frac) for v, a in zip(x, args, strict=True))
                exact = one + two if node.op == "add" else one - two
            case "normalise":
                flag(i, x[0] <= 0)
                positive = np.maximum(x[0], 1)
                aligned = np.left_shift(positive, args[0].width - 2 - exponent(positive))
                drop = args[0].width - 2 - fmt.frac
                values[i] = aligned >> drop if drop > 0 else aligned << -drop
                continue
            case "table_reciprocal":
                index = (x[0] >> (args[0].frac - node.attr)) & ((1 << node.attr) - 1)
                values[i] = np.array(reciprocal_table(node.attr, fmt), np.int64)[index]
                continue
            case "rescale":
                exact = np.left_shift(x[0], args[1].width - 2 - exponent(np.maximum(x[1], 1)))
            case "neg":
                exact = -x[0]
            case "round":
                exact = x[0]
            case "mul" if fixed.split(i):
                # floor((a·b + half) / 2^drop) in two steps, of which the first takes the low bits of b
                low = fixed.split(i)
                part = x[0] * (x[1] & ((1 << low) - 1)) + fixed.half(i)
                exact = (x[0] * (x[1] >> low) + (part >> low)) >> (fixed.dropped_bits(i) - low)
            case "mul":
                exact = x[0] * x[1]
            case "scale":
                exact = x[0] * fixed.constants[i].mantissa
            case _:
                raise ValueError(f"node %{i} ({node.op}): no fixed-point meaning")
        drop = fixed.dropped_bits(i)
        if drop and not (node.op == "mul" and fixed.split(i)):
            exact = (exact + fixed.half(i)) >> drop
        if fixed.may_overflow(i):
            value = np.clip(exact, fmt.minimum, fmt.maximum) if fixed.saturate else fmt.wrap(exact)
            flag(i, value != exact)
            exact = value
        values[i] = exact
    return FixedResult(values, {name: values[graph.outputs[name]] for name in names}, overflow, culprits)
