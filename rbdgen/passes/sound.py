"""Analysis: bounds of every signal that hold for all operands inside their declared ranges, by interval arithmetic.

Where a sum turns two signals by the sine and cosine of one angle, s·x ± c·y, its bound is √(x² + y²) instead of x + y.
What depends on the reciprocal of a number that the intervals cannot keep above zero has no bound: pivots of a mass
matrix are positive for reasons that no interval sees.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rbdgen.ir.fixed import ROUNDED, FixedGraph
from rbdgen.ir.graph import Graph

SLACK = 1 + 2.0**-40
"""Factor that covers the rounding of this analysis itself."""


@dataclass(frozen=True)
class SoundBounds:
    """``largest`` magnitude by node, infinite where there is no bound; ``unbounded``: the reciprocals to blame."""

    largest: tuple[float, ...]
    unbounded: tuple[int, ...]


def _angles(graph: Graph) -> dict[int, tuple[int, str]]:
    """The nodes that hold an angle's sine or cosine: the angle's node, and which of both."""
    found: dict[int, tuple[int, str]] = {}
    for i, node in graph:
        if node.op not in ("add", "sub"):
            continue
        for table, step in (node.args, node.args[::-1]):
            op, product = graph.nodes[table].op, graph.nodes[step]
            if op in ("table_sin", "table_cos") and product.op == "mul":
                angle = graph.nodes[table].args[0]
                if any(_is_step(graph, a, angle) for a in product.args):
                    found[i] = angle, op.removeprefix("table_")
    return found


def _is_step(graph: Graph, i: int, angle: int) -> bool:
    """Whether node ``i`` is the residual of ``angle`` in radians."""
    while graph.nodes[i].op in ("scale", "round", "shift"):
        i = graph.nodes[i].args[0]
    return graph.nodes[i].op == "residual" and graph.nodes[i].args[0] == angle


def sound_bounds(graph: Graph, declared: Mapping[str, float], resolution: Sequence[float] | None = None) -> SoundBounds:
    """Bounds for operands up to their ``declared`` magnitudes; with ``resolution`` (by node) of the numbers that
    fixed-point operations make of them, each of which may be off by one last place."""
    angles = _angles(graph)
    low: list[float] = []
    high: list[float] = []
    unbounded: list[int] = []
    for i, node in graph:
        error = resolution[i] if resolution else 0.0
        first, second = (node.args[0], node.args[-1]) if node.args else (0, 0)
        a, b, c, d = (low[first], high[first], low[second], high[second]) if node.args else (0.0,) * 4
        match node.op:
            case "input":
                span = -declared[node.attr], declared[node.attr]
            case "const":
                span = node.attr, node.attr
            case "add":
                span = a + c, b + d
            case "sub":
                span = a - d, b - c
            case "neg":
                span = -b, -a
            case "round":
                span = a, b
            case "mul":
                corners = [_product(x, y) for x in (a, b) for y in (c, d)]
                span = min(corners), max(corners)
                if node.args[0] == node.args[1]:
                    span = (0.0 if a <= 0 <= b else min(corners[0], corners[3])), max(corners[0], corners[3])
            case "scale":
                span = min(a * node.attr, b * node.attr), max(a * node.attr, b * node.attr)
            case "shift":
                span = math.ldexp(a, node.attr), math.ldexp(b, node.attr)
            case "table_sin" | "table_cos":
                span = -1.0, 1.0
            case "residual":
                half = math.ldexp(0.5, -node.attr)
                span, error = (-half, half), 0.0
            case "normalise":
                span = 1.0, 2.0
                if a <= 0:
                    unbounded.append(i)
            case "table_reciprocal":
                span = 0.5, 1.0
            case "rescale":
                x = node.args[1]
                factor = math.ldexp(1.0, -math.floor(math.log2(low[x]))) if low[x] > 0 else math.inf
                corners = [_product(y, factor) for y in (a, b)]
                span = min(0.0, *corners), max(0.0, *corners)
            case _:
                raise ValueError(f"node %{i} ({node.op}): no bound")
        if node.op in ("add", "sub"):
            turned = _turned(graph, node.args, angles, low, high)
            span = max(span[0], -turned), min(span[1], turned)
        if i in angles:
            # a sine and its steps' rounding: never further off than the step itself
            most = 1.0 + 2 * error + _taylor(graph, angles[i][0], graph.nodes[i].args)
            span = max(span[0], -most), min(span[1], most)
        slack = error + (SLACK - 1) * max(abs(x) for x in span) if all(map(math.isfinite, span)) else 0.0
        low.append(span[0] - slack)
        high.append(span[1] + slack)
    largest = tuple(max(abs(x), abs(y)) for x, y in zip(low, high, strict=True))
    return SoundBounds(largest, tuple(unbounded))


def _product(x: float, y: float) -> float:
    """x·y, where nothing times infinity is nothing."""
    return 0.0 if x == 0 or y == 0 else x * y


def _taylor(graph: Graph, angle: int, args: Sequence[int]) -> float:
    """Bound of what a table and a Taylor step are off the unit circle."""
    bits = next(graph.nodes[a].attr for a in args if graph.nodes[a].op in ("table_sin", "table_cos"))
    return (math.pi / 4 * 2.0**-bits) ** 2


def _turned(
    graph: Graph,
    args: Sequence[int],
    angles: Mapping[int, tuple[int, str]],
    low: Sequence[float],
    high: Sequence[float],
) -> float:
    """The bound of a sum of two products with the sine and the cosine of one angle; infinite for other sums."""
    ways: list[list[tuple[tuple[int, str], float]]] = []
    for a in args:
        node, factor = graph.nodes[a], 1.0
        while node.op in ("neg", "shift", "scale", "round"):
            factor *= abs(node.attr) if node.op == "scale" else 2.0**node.attr if node.op == "shift" else 1.0
            a, node = node.args[0], graph.nodes[node.args[0]]
        found = []
        if a in angles:
            found.append((angles[a], factor))
        if node.op == "mul":
            for one, other in (node.args, node.args[::-1]):
                while graph.nodes[one].op == "round":
                    one = graph.nodes[one].args[0]
                if one in angles:
                    found.append((angles[one], factor * max(abs(low[other]), abs(high[other]))))
        ways.append(found)
    bounds = [
        math.hypot(x, y) * (1 + 2.0**-12)
        for (angle, which), x in ways[0]
        for (other, what), y in ways[1]
        if angle == other and which != what
    ]
    return min(bounds, default=math.inf)


def unproven(fixed: FixedGraph, declared: Mapping[str, float]) -> dict[int, float]:
    """The nodes of which no bound shows that they fit their formats, rounding errors included, with their bounds.

    Nodes without any bound are not among them: their overflow flags remain.
    """
    bounds = sound_bounds(fixed.graph, declared, [f.resolution for f in fixed.formats])
    found = {}
    for i, largest in enumerate(bounds.largest):
        fmt = fixed.formats[i]
        outside = math.isfinite(largest) and largest > fmt.maximum * fmt.resolution
        if outside and fixed.graph.nodes[i].op in ROUNDED and fixed.may_overflow(i):
            found[i] = largest
    return found
