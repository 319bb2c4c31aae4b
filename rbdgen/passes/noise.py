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
        noise = FRACTION * choice.formats[i].resolution / MARGIN
        if node.op in ("add", "sub"):
            coarsest = max(choice.formats[a].resolution for a in node.args)
            if magnitudes[i] < FRACTION * coarsest:
                return builder.const(0.0)
            for keep, drop in ((0, 1), (1, 0)):
                if magnitudes[node.args[drop]] < noise:
                    return builder.neg(args[1]) if node.op == "sub" and keep == 1 else args[keep]
        if node.op == "scale":
            mantissa, exponent = math.frexp(node.attr)
            power = exponent - 1 if mantissa < 0.75 else exponent
            if abs(node.attr - math.ldexp(1.0, power)) * magnitudes[node.args[0]] < noise:
                return builder.shift(args[0], power)
        return None

    return rebuild(graph, rule)


def drop_small_results(graph: Graph, magnitudes: np.ndarray, word: int, vectors: Mapping[str, str]) -> Graph:
    """Leave out results that are always zero, or stay below a quarter of the last place of a ``word`` that holds the
    largest result of the same vector (``vectors``, by result name)."""
    largest: dict[str, float] = {}
    for name, i in graph.outputs.items():
        if name in vectors:
            largest[vectors[name]] = max(largest.get(vectors[name], 0.0), float(magnitudes[i]))
    kept = {
        name: i
        for name, i in graph.outputs.items()
        if name not in vectors or magnitudes[i] > FRACTION * math.ldexp(largest[vectors[name]], 1 - word)
    }
    return graph if len(kept) == len(graph.outputs) else rebuild(Graph(graph.nodes, kept))
