"""Analysis: the largest magnitude of every node, by evaluation on sample states and by bounds that hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rbdgen.ir.graph import Graph
from rbdgen.ir.interpret import walk
from rbdgen.passes.sound import sound_bounds

CHUNK = 4096
"""States evaluated at once: few enough that the values still needed stay in the processor's cache."""


def magnitudes(graph: Graph, samples: Mapping[str, np.ndarray], declared: Mapping[str, float]) -> np.ndarray:
    """max |x| of each node (float64, by node) over ``samples``; operands count with their ``declared`` magnitude."""
    count = max((len(s) for s in samples.values()), default=0)
    result = np.zeros(len(graph.nodes))
    for begin in range(0, count, CHUNK):
        values = walk(graph, {name: s[begin : begin + CHUNK] for name, s in samples.items()})
        # the ufuncs' own reductions: np.max and np.abs cost more than the arithmetic here
        largest = [max(np.maximum.reduce(v, None), -np.minimum.reduce(v, None)) for v in values]
        np.maximum(result, largest, out=result)
    for name, i in graph.inputs.items():
        result[i] = max(result[i], declared[name])
    return result


@dataclass(frozen=True)
class FoundRanges:
    """Largest magnitudes by node: ``sampled``; ``sound`` ones, sampled where there is no bound; and the reciprocals
    because of which there is none (``unbounded``), with all nodes without one (``open``)."""

    sampled: np.ndarray
    sound: np.ndarray
    unbounded: tuple[int, ...]
    open: int

    def extra_bits(self) -> np.ndarray:
        """By how many bits bounds are above samples, by node; 0 where either is missing."""
        both = (self.sampled > 0) & (self.sound > 0)
        return np.where(both, np.log2(np.where(both, self.sound, 1.0) / np.where(both, self.sampled, 1.0)), 0.0)


def find_ranges(graph: Graph, samples: Mapping[str, np.ndarray], declared: Mapping[str, float]) -> FoundRanges:
    """Magnitudes by both ways."""
    sampled, bounds = magnitudes(graph, samples, declared), sound_bounds(graph, declared)
    largest = np.array(bounds.largest)
    finite = np.isfinite(largest)
    return FoundRanges(sampled, np.where(finite, largest, sampled), bounds.unbounded, int(np.sum(~finite)))
