"""Formats in words of one length: the shortest word that keeps all targets, and the signals that need more bits than
it.

A word that is long enough for most signals is too short for a few: where M is nearly singular small differences of
torques decide on large accelerations, and what a step of a roll-out adds to a state is small. Which signals these are
follows from the derivatives of the results at sampled states (:mod:`rbdgen.wordlength.sensitivity`).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from rbdgen.errors import ConfigError
from rbdgen.passes.formats import MAX_WORD, MIN_WORD, choose_formats
from rbdgen.passes.pipeline import Simplified
from rbdgen.tracing.network import Network
from rbdgen.wordlength.error_bounds import BoundFinder
from rbdgen.wordlength.experiment import Experiment, excess, worst_vector
from rbdgen.wordlength.request import FormatRequest, FoundFormats
from rbdgen.wordlength.sites import make_sites
from rbdgen.wordlength.targets import LARGEST, Entry, Target

SHOWN = 256.0
"""Of an error of so many last places of a vector's largest value in words of the given length, one rounding may make up
a share."""
SHARE = 0.25
"""That share, as a standard deviation."""


def word_targets(network: Network, word: int) -> dict[Entry, Target]:
    """The errors that roundings are compared with in words of one length."""
    allowed = Target(SHOWN * 2.0 ** (1 - word), LARGEST)
    targets: dict[Entry, Target] = {}
    for function in network.functions:
        for vector in network.options.result_vectors(function):
            for result in network.results[vector]:
                targets[function, result.name] = allowed
    return targets


def in_words(request: FormatRequest, measure: Experiment, word: int) -> Simplified:
    """The graph in formats of one word, with more bits where sensitivities at states of ``measure`` ask for them."""
    simplified = request.simplified(word)
    bounded = replace(request, targets=word_targets(request.network, word))
    measure = measure.judged_by(bounded.targets)
    sites = make_sites(simplified.graph, frozenset())
    finder = BoundFinder(bounded, simplified, sites, measure)
    finder.start()
    precise = _precise_nodes(finder)
    choice = choose_formats(simplified.graph, simplified.magnitudes, word, precise)
    return replace(simplified, choice=choice, precise=precise)


def _precise_nodes(finder: BoundFinder) -> frozenset[int]:
    """The nodes whose roundings to their usual resolutions take more than their share of what any bound allows."""
    usual = finder.usual
    whole = dict.fromkeys(finder.keys, 1.0)
    bounds = finder.bounds(whole)
    errors = np.zeros(finder.sites.count)
    # the variance of rounding half up
    errors[: len(usual)] = usual**2 / 12.0
    most = bounds.largest(errors)
    shown = np.flatnonzero(most > SHARE**2)
    return frozenset(shown.tolist())


UNIFORM_AIM = 0.9
"""Share of the target that the largest error may take with words of one length."""


class _Words:
    """Words tried: what was found with each, and its largest error in units of what that may be."""

    def __init__(self, request: FormatRequest, measure: Experiment) -> None:
        self.request = request
        self.measure = measure
        self.found: dict[int, FoundFormats] = {}
        self.ratios: dict[int, float] = {}

    def ratio(self, word: int) -> float:
        """The largest error with this word, above 1 where that is too large."""
        if word not in self.ratios:
            self._try(word)
        return self.ratios[word]

    def _try(self, word: int) -> None:
        request = self.request
        simplified = in_words(request, self.measure, word)
        fixed = request.fixed(simplified)
        errors, flagged = self.measure.measure(fixed)
        network = request.network.pruned(fixed.graph)
        self.found[word] = FoundFormats(network, fixed, simplified, errors)
        self.ratios[word] = excess(errors, flagged) / UNIFORM_AIM


def uniform_formats(request: FormatRequest, measure: Experiment) -> FoundFormats:
    """The shortest word whose errors keep all targets in ``measure``. ConfigError where none does."""
    tried = _Words(request, measure)
    word = request.first_word()
    while word > MIN_WORD and tried.ratio(word) <= 1:
        # errors halve with every bit, or nearly so
        ratio = max(tried.ratio(word), 1e-9)
        spare = math.floor(-math.log2(ratio))
        word = max(word - max(1, spare), MIN_WORD)
    # the last step may have been too long
    while word < MAX_WORD and tried.ratio(word) > 1:
        word += 1
    if tried.ratio(word) > 1:
        key, worst = worst_vector(tried.found[word].errors)
        target = request.targets[key[0], worst.entry]
        reached = target.value * worst.worst
        name = request.label(worst.entry)
        raise ConfigError(
            f"error: {target} of {name} ({key[0]}) is out of reach of words up to {MAX_WORD} bits, "
            f"which reach {reached:.2g}; ask for that, or leave formats=uniform away"
        )
    return tried.found[word]
