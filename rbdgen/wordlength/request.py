"""Requests for formats, and the graphs that they are chosen on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rbdgen.devices.registry import DeviceOptions
from rbdgen.errors import ConfigError
from rbdgen.ir.fixed import FLAG, SATURATE, FixedGraph
from rbdgen.ir.graph import Graph
from rbdgen.passes.formats import MAX_WORD, MIN_WORD, WIDEST
from rbdgen.passes.pipeline import (
    LOGIC,
    MULTIPLIERS,
    NEAREST,
    TRUNCATE,
    Simplified,
    fix_formats,
    prove_formats,
    simplify,
    with_ranges,
)
from rbdgen.setting import INTEGER, OPEN, SWITCH, WORD, setting
from rbdgen.tracing.folding import FoldOptions, counterparts
from rbdgen.tracing.network import Network
from rbdgen.wordlength.experiment import Experiment, VectorErrors
from rbdgen.wordlength.signals import Ties, make_ties
from rbdgen.wordlength.targets import (
    ABSOLUTE,
    DEFAULT_ERROR,
    TARGETS,
    Entry,
    Key,
    Target,
    entry_label,
)

USUAL = 1e-3
"""The relative error that words are tried for first where only absolute ones are asked for."""
NOISE_BITS, TABLE_BITS, FLOOR = 7, 3, 0.15
"""Noise is what is noise in words this many bits longer than the target's logarithm; tables need this many bits less;
and both together may take this share of a target, else words are longer."""


@dataclass(frozen=True)
class FormatOptions(DeviceOptions, FoldOptions):
    """The arithmetic: words or errors, how bits are dropped, what does not fit, constant factors."""

    word: int | None = setting(
        None,
        INTEGER,
        "arithmetic",
        "instead of an error: words of one length, in bits",
        otherwise="none",
        least=MIN_WORD,
        most=WIDEST,
        metavar="BITS",
    )
    error: Mapping[str, float | str] = setting(
        {},
        TARGETS,
        "arithmetic",
        "the largest error allowed of each entry, relative to its own largest magnitude; largest:E: to the largest of "
        "its output, abs:E: in its unit; or NAME=E,NAME=E by function (did), output (dtau_dq), both (did.dtau_dq), or "
        "an entry of these (tau.wrist_3)",
        otherwise=f"{DEFAULT_ERROR:g}",
        metavar="E",
        basic=True,
    )
    formats: str = setting(
        "signal",
        WORD,
        "arithmetic",
        "with an error: a format for each signal, or one word for all",
        otherwise="signal",
        choices=lambda: ("signal", "uniform"),
        metavar="F",
    )
    sound: bool = setting(
        False,
        SWITCH,
        "arithmetic",
        "ranges of signals by bounds that hold, not by sampling",
        otherwise="no",
    )
    rounding: str = setting(
        "auto",
        WORD,
        "arithmetic",
        "how bits are dropped; auto is by cost, signal by signal",
        otherwise="auto",
        choices=lambda: ("auto", NEAREST, TRUNCATE),
        metavar="R",
    )
    overflow: str = setting(
        FLAG,
        WORD,
        "arithmetic",
        "a task in which something does not fit is flagged; saturate: and that value is the nearest that fits",
        otherwise=FLAG,
        choices=lambda: (FLAG, SATURATE),
        metavar="O",
    )
    constants: str = setting(
        OPEN,
        WORD,
        "sharing",
        "constant factors as shifts and adds in logic, or in slots of multipliers",
        otherwise="auto",
        choices=lambda: (OPEN, LOGIC, MULTIPLIERS),
        metavar="C",
    )


@dataclass(frozen=True)
class FormatRequest:
    """Request for formats: see :mod:`rbdgen.wordlength.search` and :func:`rbdgen.passes.pipeline.simplify`."""

    network: Network
    samples: Mapping[str, np.ndarray]
    targets: Mapping[Entry, Target]
    options: FormatOptions

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
        rounding, overflow = self.options.rounding, self.options.overflow
        if not self.options.sound:
            return fix_formats(simplified, rounding, overflow)
        return prove_formats(simplified, self.network.declared, rounding, overflow)

    def simplified(self, word: int, table_word: int | None = None) -> Simplified:
        """The graph without what is noise at a word length, with its ranges. ConfigError where nothing is left to
        compute."""
        table_word = word if table_word is None else table_word
        graph = self.simple_graph(word, table_word)
        return self._with_ranges(graph, word, table_word)

    def _with_ranges(self, graph: Graph, word: int, table_word: int) -> Simplified:
        declared = self.network.declared
        return with_ranges(graph, self.samples, declared, word, table_word, self.options.sound)

    def simple_graph(self, word: int, table_word: int) -> Graph:
        """The graph of :meth:`simplified`."""
        network = self.network
        graph = simplify(
            network.graph,
            self.samples,
            network.declared,
            word,
            network.droppable,
            table_word,
            self.options.sound,
            self.options.constants,
        )
        left = network.pruned(graph).results
        if not any(left.values()):
            zero = ", ".join(network.functions)
            raise ConfigError(
                f"functions: every result of {zero} is zero at all states of {network.robot.name!r}; ask for others"
            )
        return graph

    def ties(self, graph: Graph) -> Ties:
        """Nodes and products that are to have equal formats."""
        branches = []
        # the interval of an error target is known, or of no consequence for formats
        if self.options.fold and self.options.ii > 1:
            branches = counterparts(self.network, graph, self.options.ii)
        return make_ties(graph, branches)

    def first_word(self) -> int:
        """A word that is long enough for all targets, if a supported one is."""
        # an absolute error says nothing of bits until magnitudes are known
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
            # what is noise halves with every bit of the word
            word = min(word + math.ceil(math.log2(excess)), MAX_WORD)


@dataclass(frozen=True)
class FoundFormats:
    """Formats that a search found: ``fixed``, a graph of ``network``; what it is made of; the errors measured (by
    function and vector); and the ``cost`` in bits."""

    network: Network
    fixed: FixedGraph
    simplified: Simplified
    errors: dict[Key, VectorErrors]
    cost: float = math.nan
