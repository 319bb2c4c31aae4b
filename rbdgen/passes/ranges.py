"""Analysis: the largest magnitude of every node, by evaluation on sample states."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rbdgen.ir.graph import Graph
from rbdgen.ir.interpret import evaluate


def magnitudes(graph: Graph, samples: Mapping[str, np.ndarray], declared: Mapping[str, float]) -> np.ndarray:
    """max |x| of each node (float64, by node) over ``samples``; operands count with their ``declared`` magnitude."""
    values = evaluate(graph, samples)
    result = np.array([float(np.max(np.abs(v))) for v in values])
    for name, i in graph.inputs.items():
        result[i] = max(result[i], declared[name])
    return result
