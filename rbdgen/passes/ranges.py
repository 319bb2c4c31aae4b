"""Analysis: the largest magnitude of every node, by evaluation on sample states."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rbdgen.ir.graph import Graph
from rbdgen.ir.interpret import evaluate

CHUNK = 4096
"""States evaluated at once: few enough that all nodes' values stay in the processor's cache."""


def magnitudes(graph: Graph, samples: Mapping[str, np.ndarray], declared: Mapping[str, float]) -> np.ndarray:
    """max |x| of each node (float64, by node) over ``samples``; operands count with their ``declared`` magnitude."""
    count = max((len(s) for s in samples.values()), default=0)
    result = np.zeros(len(graph.nodes))
    for begin in range(0, count, CHUNK):
        values = evaluate(graph, {name: s[begin : begin + CHUNK] for name, s in samples.items()})
        # the ufuncs' own reductions: np.max and np.abs cost more than the arithmetic here
        np.maximum(result, [max(np.maximum.reduce(v, None), -np.minimum.reduce(v, None)) for v in values], out=result)
    for name, i in graph.inputs.items():
        result[i] = max(result[i], declared[name])
    return result
