"""Pass: drops what cannot reach the resolution of the formats.

An addend that stays below a quarter of the sum's last place is dropped, a sum that stays below a quarter of its
coarser argument's last place is zero, and a factor becomes the nearest power of two where the difference stays below a
quarter of the product's last place. URDFs are full of such noise: a π/2
in single precision leaves cosines of 4e-8 where zeros belong.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from rbdgen.ir.builder import Builder, rebuild
from rbdgen.ir.graph import Graph, Node
from rbdgen.passes.formats import MARGIN, FormatChoice

FRACTION = 0.25
"""Of the last place: what is smaller than this is noise."""


def prune_noise(graph: Graph, magnitudes: np.ndarray, choice: FormatChoice) -> Graph:
    """One sweep; ``magnitudes`` and ``choice`` are for this graph."""

    def rule(builder: Builder, i: int, node: Node, args: tuple[int, ...]) -> int | None:
        formats = choice.formats
        noise = FRACTION * formats[i].resolution / MARGIN
        if node.op in ("add", "sub"):
            coarsest = max(formats[a].resolution for a in node.args)
            if magnitudes[i] < FRACTION * coarsest:
                return builder.const(0.0)
            first, second = args
            one, other = (magnitudes[a] for a in node.args)
            if other < noise:
                return first
            if one < noise and node.op == "add":
                return second
            if one < noise:
                return builder.neg(second)
        if node.op == "scale":
            power = _nearest_power(node.attr)
            difference = abs(node.attr - math.ldexp(1.0, power))
            if difference * magnitudes[node.args[0]] < noise:
                return builder.shift(args[0], power)
        return None

    return rebuild(graph, rule)


def _nearest_power(factor: float) -> int:
    """The exponent of the power of two that is nearest to a positive factor."""
    mantissa, exponent = math.frexp(factor)
    return exponent - 1 if mantissa < 0.75 else exponent


def drop_small_results(
    graph: Graph,
    magnitudes: np.ndarray,
    word: int,
    vectors: Mapping[str, str],
) -> Graph:
    """Leave out results that are always zero, or stay below a quarter of the last place of a ``word`` that holds the
    largest result of the same vector (``vectors``, by result name)."""
    largest: dict[str, float] = {}
    for name, vector in vectors.items():
        if name in graph.outputs:
            i = graph.outputs[name]
            before = largest.get(vector, 0.0)
            largest[vector] = max(before, float(magnitudes[i]))
    kept: dict[str, int] = {}
    for name, i in graph.outputs.items():
        if name in vectors:
            vector = vectors[name]
            last_place = math.ldexp(largest[vector], 1 - word)
            if magnitudes[i] <= FRACTION * last_place:
                continue
        kept[name] = i
    if len(kept) == len(graph.outputs):
        return graph
    return rebuild(Graph(graph.nodes, kept))
