"""The order of the passes: from a traced graph to a fixed-point graph."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rbdgen.ir.fixed import FixedGraph, verify_fixed
from rbdgen.ir.graph import Graph, verify
from rbdgen.passes.constant_motion import move_constants
from rbdgen.passes.formats import check_word, choose_formats
from rbdgen.passes.noise import prune_noise
from rbdgen.passes.ranges import magnitudes
from rbdgen.passes.trigonometry import expand_trigonometry, sine_method


def lower(graph: Graph, samples: Mapping[str, np.ndarray], declared: Mapping[str, float], word: int) -> FixedGraph:
    """All passes: ``samples`` are operand values by name, ``declared`` the operands' largest magnitudes.

    The graph is verified after every pass. ConfigError for an unsupported word length.
    """
    check_word(word)
    graph = _checked(move_constants(graph))
    graph = _checked(expand_trigonometry(graph, sine_method(word)))
    while True:
        largest = magnitudes(graph, samples, declared)
        choice = choose_formats(graph, largest, word)
        pruned = _checked(move_constants(prune_noise(graph, largest, choice)))
        if pruned == graph:
            break
        graph = pruned
    fixed = FixedGraph(graph, choice.formats, choice.constants)
    verify_fixed(fixed)
    return fixed


def _checked(graph: Graph) -> Graph:
    verify(graph)
    return graph
