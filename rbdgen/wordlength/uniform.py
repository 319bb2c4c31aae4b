"""Formats from an error target in words of one length: the shortest word that keeps all targets."""

from __future__ import annotations

import math

from rbdgen.errors import ConfigError
from rbdgen.passes.formats import MAX_WORD, MIN_WORD
from rbdgen.wordlength.experiment import Experiment
from rbdgen.wordlength.request import FormatRequest, FoundFormats
from rbdgen.wordlength.verdict import excess, worst_vector
from rbdgen.wordlength.wishes import in_words

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
