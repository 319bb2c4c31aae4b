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


def magnitudes(
    graph: Graph,
    samples: Mapping[str, np.ndarray],
    declared: Mapping[str, float],
) -> np.ndarray:
    """max |x| of each node (float64, by node) over ``samples``; operands count with their ``declared`` magnitude."""
    counts = [len(values) for values in samples.values()]
    count = max(counts, default=0)
    result = np.zeros(len(graph.nodes))
    for begin in range(0, count, CHUNK):
        end = begin + CHUNK
        part = {name: values[begin:end] for name, values in samples.items()}
        largest = [_largest(values) for values in walk(graph, part)]
        np.maximum(result, largest, out=result)
    # samples need not reach the ends of what is declared
    for name, i in graph.inputs.items():
        result[i] = max(result[i], declared[name])
    return result


def _largest(values: np.ndarray) -> float:
    """max |x| by the ufuncs' own reductions: np.max and np.abs cost more than the arithmetic here."""
    highest = np.maximum.reduce(values, None)
    lowest = np.minimum.reduce(values, None)
    return max(highest, -lowest)


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
        bound = np.where(both, self.sound, 1.0)
        sample = np.where(both, self.sampled, 1.0)
        return np.where(both, np.log2(bound / sample), 0.0)


def find_ranges(
    graph: Graph,
    samples: Mapping[str, np.ndarray],
    declared: Mapping[str, float],
) -> FoundRanges:
    """Magnitudes by both ways."""
    sampled = magnitudes(graph, samples, declared)
    # what one pass hands to the next may be beyond what tasks may bring
    reached = {name: max(declared[name], float(sampled[i])) for name, i in graph.inputs.items()}
    bounds = sound_bounds(graph, reached)
    largest = np.array(bounds.largest)
    finite = np.isfinite(largest)
    sound = np.where(finite, largest, sampled)
    return FoundRanges(
        sampled=sampled,
        sound=sound,
        unbounded=bounds.unbounded,
        open=int(np.sum(~finite)),
    )
