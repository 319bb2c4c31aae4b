"""Where a graph in words of one length needs more bits than the word: signals whose own rounding shows in a result.

A word that is long enough for most signals is too short for a few: where M is nearly singular small differences of
torques decide on large accelerations, and what a step of a roll-out adds to a state is small. Which signals these are
follows from the derivatives of the results at sampled states (:mod:`rbdgen.wordlength.sensitivity`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rbdgen.layout.network import Network
from rbdgen.passes.formats import choose_formats
from rbdgen.passes.pipeline import Simplified
from rbdgen.wordlength.error_bounds import BoundFinder
from rbdgen.wordlength.experiment import Experiment
from rbdgen.wordlength.request import FormatRequest
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
