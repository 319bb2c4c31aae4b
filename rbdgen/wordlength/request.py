"""What formats are asked for, and the graphs that they are chosen on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rbdgen.errors import ConfigError
from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.graph import Graph
from rbdgen.layout.folding import counterparts
from rbdgen.layout.network import Network
from rbdgen.passes.formats import MAX_WORD, MIN_WORD
from rbdgen.passes.pipeline import (
    Simplified,
    fix_formats,
    prove_formats,
    simplify,
    with_ranges,
)
from rbdgen.wordlength.experiment import Experiment, VectorErrors
from rbdgen.wordlength.multipliers import Multipliers
from rbdgen.wordlength.targets import ABSOLUTE, Entry, Key, Target, entry_label
from rbdgen.wordlength.ties import Ties, make_ties

USUAL = 1e-3
"""The relative error that words are tried for first where only absolute ones are asked for."""
NOISE_BITS, TABLE_BITS, FLOOR = 7, 3, 0.15
"""Noise is what is noise in words this many bits longer than the target's logarithm; tables need this many bits less;
and both together may take this share of a target, else words are longer."""


@dataclass(frozen=True)
class FormatRequest:
    """What to search formats for: see :mod:`rbdgen.wordlength.search` and :func:`rbdgen.passes.pipeline.simplify`.
    ``fold``: whether branches that are alike are to share hardware at this ``interval`` (1: not known yet).
    ``multiply``: constant factors are products."""

    network: Network
    samples: Mapping[str, np.ndarray]
    targets: Mapping[Entry, Target]
    device: Multipliers
    rounding: str = "auto"
    saturate: bool = True
    sound: bool = False
    interval: int = 1
    fold: bool = False
    multiply: bool = False

    def label(self, name: str) -> str:
        """A result's name by joints or frames, as targets call it: ``tau.wrist_3``."""
        network = self.network
        for words in network.results.values():
            for word in words:
                if word.name == name:
                    quantity = network.options.quantities[word.vector]
                    return f"{word.vector}.{entry_label(network.robot, quantity, word.index)}"
        return name

    def fixed(self, simplified: Simplified) -> FixedGraph:
        """The graph in words of one length."""
        truncate = self.rounding == "truncate"
        if not self.sound:
            return fix_formats(simplified, truncate, self.saturate)
        network = self.network
        return prove_formats(simplified, network.declared, truncate, self.saturate)

    def simplified(self, word: int, table_word: int | None = None) -> Simplified:
        """The graph without what is noise at a word length, with its ranges. ConfigError where nothing is left to
        compute."""
        table_word = word if table_word is None else table_word
        graph = self.simple_graph(word, table_word)
        return self._with_ranges(graph, word, table_word)

    def _with_ranges(self, graph: Graph, word: int, table_word: int) -> Simplified:
        declared = self.network.declared
        return with_ranges(graph, self.samples, declared, word, table_word, self.sound)

    def simple_graph(self, word: int, table_word: int) -> Graph:
        """The graph of :meth:`simplified`."""
        network = self.network
        graph = simplify(
            network.graph,
            self.samples,
            network.declared,
            word,
            network.vectors,
            table_word,
            self.sound,
            self.multiply,
        )
        left = network.pruned(graph).results
        if not any(left.values()):
            zero = ", ".join(network.functions)
            raise ConfigError(
                f"functions: every result of {zero} is zero at all states of {network.robot.name!r}; ask for others"
            )
        return graph

    def ties(self, graph: Graph) -> Ties:
        """What is to have equal formats."""
        branches = []
        if self.fold and self.interval > 1:
            branches = counterparts(self.network, graph, self.interval)
        return make_ties(graph, branches)

    def first_word(self) -> int:
        """A word that is long enough for all targets, if a supported one is."""
        relative = [target.value for target in self.targets.values() if target.of != ABSOLUTE]
        smallest = min(relative, default=USUAL)
        word = math.ceil(-math.log2(smallest)) + NOISE_BITS
        return min(max(word, MIN_WORD), MAX_WORD)

    def simple_enough(self, experiment: Experiment) -> Simplified:
        """The graph without what is noise beside the targets; what that costs stays below a share of each."""
        word = self.first_word()
        while True:
            table_word = max(word - TABLE_BITS, MIN_WORD)
            graph = self.simple_graph(word, table_word)
            floor = experiment.floor(graph)
            excess = max(floor.values(), default=0.0) / FLOOR
            if excess <= 1 or word == MAX_WORD:
                return self._with_ranges(graph, word, table_word)
            word = min(word + math.ceil(math.log2(excess)), MAX_WORD)


@dataclass(frozen=True)
class FoundFormats:
    """What a search found: ``fixed``, a graph of ``network``; what it is made of; the errors measured (by function and
    vector); and the ``cost`` in bits."""

    network: Network
    fixed: FixedGraph
    simplified: Simplified
    errors: dict[Key, VectorErrors]
    cost: float = math.nan
