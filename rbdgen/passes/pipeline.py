"""The order of the passes: from a traced graph to a fixed-point graph."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rbdgen.ir.fixed import FixedGraph, verify_fixed
from rbdgen.ir.graph import Graph, verify
from rbdgen.ir.precision import Precision
from rbdgen.passes.constant_motion import move_constants
from rbdgen.passes.formats import check_word, choose_formats
from rbdgen.passes.noise import drop_small_results, prune_noise
from rbdgen.passes.ranges import magnitudes
from rbdgen.passes.reciprocal import expand_reciprocals, reciprocal_method
from rbdgen.passes.trigonometry import expand_trigonometry, sine_method


def lower(
    graph: Graph,
    samples: Mapping[str, np.ndarray],
    declared: Mapping[str, float],
    word: int,
    vectors: Mapping[str, str] | None = None,
    precise: Precision | None = None,
) -> FixedGraph:
    """All passes: ``samples`` are operand values by name, ``declared`` the operands' largest magnitudes.

    ``vectors`` maps results to the vector or matrix they belong to: a result that is noise beside its vector's largest
    is left out. ``precise``: see :func:`rbdgen.passes.formats.choose_formats`. The graph is verified after every pass.
    ConfigError for an unsupported word length.
    """
    check_word(word)
    graph = _checked(move_constants(graph))
    graph = _checked(expand_trigonometry(graph, sine_method(word)))
    graph = _checked(expand_reciprocals(graph, reciprocal_method(word)))
    while True:
        largest = magnitudes(graph, samples, declared)
        choice = choose_formats(graph, largest, word, precise)
        pruned = _checked(move_constants(prune_noise(graph, largest, choice)))
        if pruned == graph:
            pruned = _checked(drop_small_results(graph, largest, word, vectors or {}))
        if pruned == graph:
            break
        graph = pruned
    fixed = FixedGraph(graph, choice.formats, choice.constants)
    verify_fixed(fixed)
    return fixed


def _checked(graph: Graph) -> Graph:
    verify(graph)
    return graph
