"""Formats from an error target: predict, choose, measure with the bit-true model, correct, and measure again."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NoReturn

import numpy as np

from rbdgen.devices.registry import target_device
from rbdgen.errors import ConfigError
from rbdgen.ir.graph import Graph
from rbdgen.model.ranges import InputRanges
from rbdgen.tracing.execute import feedback, with_own_feedback
from rbdgen.tracing.network import AGAIN, FEEDBACK, Network
from rbdgen.wordlength.assembly import assemble
from rbdgen.wordlength.error_bounds import AIM, BoundFinder
from rbdgen.wordlength.experiment import (
    FLAGGED,
    Experiment,
    VectorErrors,
    excess,
    make_experiment,
    share_of_target,
    worst_vector,
)
from rbdgen.wordlength.lengths import PriceSearch, WordLengths, error_ratios
from rbdgen.wordlength.request import FormatRequest, FoundFormats
from rbdgen.wordlength.signals import Signals, WordLengthChoice
from rbdgen.wordlength.sites import ErrorBounds, describe_site, make_sites
from rbdgen.wordlength.targets import ABSOLUTE, Entry, Key, Target
from rbdgen.wordlength.uniform import uniform_formats

GOOD, LOW = 0.7, 0.58
"""Share of the target that the largest error may take (as more states find larger errors than the share that is aimed
at), and should not stay below."""
ROUNDS = 8
"""Corrections of the predicted error by the measured one."""
WORTHWHILE = 0.98
"""Share of the cost that a further correction leaves at most, if another is to follow."""
LEAST_SHARE, MORE_SHARE = 0.7, 1.2
"""Largest correction of a vector's share of its target downwards, and the one upwards."""
FINER = 0.5
"""Share of their last aims that errors are to have where more than a few tasks overflow, or a matrix is not positive
definite."""
STATES = 8192
"""States of a measurement between corrections."""


def find_formats(
    request: FormatRequest,
    ranges: InputRanges,
    seed: int,
    progress: Callable[[str], None] = lambda stage: None,
) -> FoundFormats:
    """The cheapest formats that keep the targets, of one word or per signal, measured at states of their own."""
    measure = make_experiment(request.network, ranges, seed, STATES, request.targets)
    if request.options.formats == "uniform":
        return uniform_formats(request, measure)
    return search_formats(request, measure, progress)


def search_formats(
    request: FormatRequest,
    measure: Experiment,
    progress: Callable[[str], None] = lambda stage: None,
) -> FoundFormats:
    """The cheapest formats per signal that keep all targets in ``measure``.

    ConfigError where no supported formats do, naming the best reachable and the signal that stops it.
    """
    network = with_own_feedback(request.network)
    search = _Search(replace(request, network=network), replace(measure, network=network))
    for number in range(1, ROUNDS + 1):
        progress(f"word lengths, round {number}")
        if search.round(last=number == ROUNDS):
            break
    assert search.best is not None
    return search.best


class _Search:
    """The state of a search: ``share`` of its target that each vector's predicted error may take, and the ``best``
    formats so far, with the ``closest`` that any came to the targets."""

    def __init__(self, request: FormatRequest, measure: Experiment) -> None:
        self.request = request
        self.measure = measure
        self.network = request.network
        self.simplified = request.simple_enough(measure)
        graph = self.simplified.graph
        sites = make_sites(graph, _kept_results(self.network))
        self.finder = BoundFinder(request, self.simplified, sites, measure)
        self.finder.start()
        ties = request.ties(graph)
        fed = _computed_before(self.network, graph)
        self.signals = Signals(graph, self.simplified.magnitudes, sites, ties, fed)
        lengths = WordLengths(
            self.signals, target_device(request.options), request.options.rounding
        )
        self.prices = PriceSearch(lengths)
        self.share: dict[Key, float] = {}
        for function in self.network.functions:
            self.share |= dict.fromkeys(measure.vectors(function), AIM)
        self.best: FoundFormats | None = None
        self.closest = math.inf

    def round(self, last: bool) -> bool:
        """Choose formats, measure them and correct the shares; whether the search is at its end. ConfigError where this
        round is the last, or no better than those before, and no formats were good enough."""
        bounds = self.finder.bounds(self.share)
        choice, predicted = self.prices.search(bounds)
        # room for this choice's errors takes bits from behind the point, so it is made anew
        if self.signals.make_room(choice):
            choice, predicted = self.prices.search(bounds)
        declared = self.network.declared if self.request.options.sound else None
        fixed = assemble(self.signals, choice, self.request.options.overflow, declared)
        errors, flagged = self.measure.measure(fixed)
        reached = excess(errors, flagged)
        before = self.best.cost if self.best else math.inf
        if reached <= GOOD and choice.cost < before:
            pruned = self.network.pruned(fixed.graph)
            self.best = FoundFormats(pruned, fixed, self.simplified, errors, choice.cost)
        if LOW <= reached <= GOOD or choice.cost > WORTHWHILE * before:
            return True
        stuck = last or (predicted > 1 and reached > 0.9 * self.closest)
        if stuck and self.best is None:
            # flagged tasks are left out of the errors, which would name the wrong cause
            _refuse_overflow(flagged, self.request.targets)
            self._refuse(choice, bounds, errors)
        self.closest = min(self.closest, reached)
        for key, measured in errors.items():
            self.share[key] *= _correction(share_of_target(measured), reached)
            if measured.indefinite:
                self.share[key] *= FINER
            if reached == math.inf:
                # errors take signals out of their ranges: finer formats keep them in
                self.share[key] *= FINER
        self.finder.learn(errors)
        return False

    def _refuse(
        self,
        choice: WordLengthChoice,
        bounds: ErrorBounds,
        errors: Mapping[Key, VectorErrors],
    ) -> NoReturn:
        """Say which entry is out of reach, which signal's format stops the search, and how far it got."""
        key, measured = worst_vector(errors)
        ratios = error_ratios(choice, bounds)
        pairs = [k for k, of in enumerate(self.finder.keys) if of == key]
        pair = max(pairs, key=lambda k: ratios[k])
        added = bounds.made_by(pair, choice.square + choice.mean**2)
        most = int(np.argmax(added))
        site = describe_site(self.signals.graph, self.signals.sites, most)
        target = self.request.targets[key[0], measured.entry]
        name = self.request.label(measured.entry)
        if measured.indefinite:
            raise ConfigError(
                f"error: {target} of {name} ({key[0]}) is out of reach: {key[1]} is not positive definite at "
                f"{measured.indefinite} states, and {site} adds most; ask for a smaller error, or narrow its ranges"
            )
        # at other states errors are larger than at those of the search
        reached = target.value * measured.worst / GOOD
        rounded = f"{2 * reached:.1g}"
        ask = replace(target, value=float(rounded))
        possible = f"ask for {name}={ask} or more, or narrow its ranges"
        if ask.value >= 1 and ask.of != ABSOLUTE:
            possible = "narrow its ranges"
        raise ConfigError(
            f"error: {target} of {name} ({key[0]}) is out of reach: the longest words reach {reached:.2g}, and {site} "
            f"adds most; {possible}"
        )


def _kept_results(network: Network) -> frozenset[str]:
    """The results that only go on, into a second pass or the next evaluation of a step, and leave as they are made."""
    onward: set[str] = set()
    answers: set[str] = set()
    for leaving in network.programs.exits:
        if leaving.name in (FEEDBACK, AGAIN):
            onward.update(leaving.results)
        else:
            answers.update(leaving.results)
    return frozenset(onward - answers)


def _computed_before(network: Network, graph: Graph) -> dict[int, int]:
    """The operands that an earlier pass computed, with the nodes of ``graph``, a simplified one of ``network``, that
    they are there; not those only handed on."""
    found: dict[int, int] = {}
    for name, source in feedback(network.pruned(graph)).items():
        if source is None:
            continue
        i = graph.outputs[source]
        if not graph.nodes[i].is_input:
            found[graph.inputs[name]] = i
    return found


def _correction(ratio: float, reached: float) -> float:
    """The factor of a vector's share whose error is ``ratio`` of its target, where the largest ratio is ``reached``."""
    if ratio > GOOD:
        # what was not foreseen at all is bounded by what the finder learns
        return max(math.sqrt(AIM / ratio), LEAST_SHARE)
    if ratio < LOW and reached <= GOOD:
        return MORE_SHARE
    return 1.0


def _refuse_overflow(flagged: Mapping[str, float], targets: Mapping[Entry, Target]) -> None:
    """Say that results are flagged, if they are, with what might do."""
    function = max(flagged, key=lambda f: flagged[f])
    share = flagged[function]
    if share > FLAGGED:
        own = [target for (f, _), target in targets.items() if f == function]
        target = min(own, key=lambda t: t.value)
        raise ConfigError(
            f"error: with formats that are coarse enough for {target} of {function}, {share:.1%} of its tasks "
            f"overflow; ask for {target.value / 4:.1g} or less, or give a word length, such as --word 30"
        )
