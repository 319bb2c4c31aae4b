"""Formats from an error target: predict, choose, measure with the bit-true model, correct, and measure again.

Errors are relative: of a vector or matrix, the largest error of any entry at any state over the largest magnitude of
any entry at any state. The reference is the traced graph in float64, before any pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

import numpy as np

from rbdgen.errors import ConfigError
from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.graph import Graph
from rbdgen.layout.columns import column_groups
from rbdgen.layout.equivalent import equivalent
from rbdgen.layout.execute import BitTrueModel, feedback, float_passes, with_own_feedback
from rbdgen.layout.folding import counterparts
from rbdgen.layout.network import FEEDBACK, PREFIX, Network
from rbdgen.layout.samples import Samples, make_samples
from rbdgen.model.ranges import InputRanges
from rbdgen.passes.assembly import assemble
from rbdgen.passes.formats import MAX_WORD, MIN_WORD
from rbdgen.passes.pipeline import Simplified, fix_formats, prove_formats, simplify, tied
from rbdgen.passes.sensitivity import Pairs, derivatives, one_result_each
from rbdgen.passes.ties import Ties, make_ties
from rbdgen.passes.wordlength import Bounds, Choice, Multipliers, Sites, WordLengths, make_sites

AIM, GOOD, LOW = 0.6, 0.7, 0.58
"""Share of the target that the largest error is to take where word lengths are chosen, may take (as more states find
larger errors), and should not stay below."""
SCOUTS = 512
"""States among which the most sensitive are looked for."""
SENSITIVE, ORDINARY = 20, 8
"""States of each vector at which derivatives of all its entries are taken: the most sensitive, and others."""
PAIRS = 96
"""Pairs of an entry and a state that bound each vector's error; at least one for each entry."""
FOUND = 12
"""Pairs that each measurement adds for a vector that misses its target: those with the largest errors."""
ROUNDS = 8
"""Corrections of the predicted error by the measured one."""
NOISE_BITS, TABLE_BITS, FLOOR = 7, 3, 0.15
"""Noise is what is noise in words this many bits longer than the target's logarithm; tables need this many bits less;
and both together may take this share of a target, else words are longer."""
FLAGGED = 1e-3
"""Share of tasks inside the declared ranges that may overflow."""
FINER = 0.5
"""Share of their last aims that errors are to have where more tasks than that overflow."""
UNIFORM_AIM = 0.9
"""Share of the target that the largest error may take with words of one length."""
STATES = 8192
"""States of a measurement between corrections."""


@dataclass(frozen=True)
class Measured:
    """Errors of one vector of one function: ``worst`` and ``rms`` relative to the largest magnitude; ``where`` are the
    entries and states of the largest errors, worst first."""

    worst: float
    rms: float
    where: tuple[tuple[str, int], ...] = ()


Key = tuple[str, str]
"""Function and vector."""
Passes = Sequence[Mapping[int, np.ndarray]]
"""Values by node of each pass of a task."""


def resolve_targets(given: Mapping[str, float], network: Network) -> dict[Key, float]:
    """The target of every vector of every function, from targets by ``all``, function, vector or ``function.vector``;
    the more specific counts. ConfigError for a name or value that makes no sense, or a function without a target."""
    keys = [(f, v) for f in network.functions for v in network.options.result_vectors(f)]
    known = ["all", *(f for f, _ in keys), *(v for _, v in keys), *(f"{f}.{v}" for f, v in keys)]
    for name, value in given.items():
        if name not in known:
            names = ", ".join(dict.fromkeys(known))
            raise ConfigError(f"error: {name!r} is no function or output of this design; choose from {names}")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1:
            raise ConfigError(f"error: {name}: must be a number above 0 and below 1, not {value!r}")
    targets = {}
    for f, v in keys:
        names = [n for n in (f"{f}.{v}", v, f, "all") if n in given]
        if not names:
            raise ConfigError(f"error: no target for {f}; add {f}=E, or one value for all")
        targets[f, v] = float(given[names[0]])
    return targets


@dataclass
class Experiment:
    """States and exact results of every function, and what is measured against them.

    ``operands`` and ``truth`` are by function: values of operands by word and of parameters, and results by name, (n,)
    each; ``largest`` the largest magnitude of each vector. All states are inside the declared ranges.
    """

    network: Network
    operands: dict[str, dict[str, np.ndarray]]
    truth: dict[str, dict[str, np.ndarray]]
    largest: dict[Key, float] = field(default_factory=dict)

    @classmethod
    def of(cls, network: Network, states: Samples, count: int) -> Experiment:
        """The first ``count`` states, less those at which an operand that follows from others (torques, inverses) is
        outside its range: hardware flags them."""
        every = dict.fromkeys(w for f in network.functions for w in network.operand_words(f))
        values = {w: states.vector(w.vector, w.index)[:count] for w in every}
        inside = np.all([(x >= w.lower) & (x <= w.upper) for w, x in values.items()], axis=0)
        operands, truth, largest = {}, {}, {}
        for function in network.functions:
            words = [*network.operand_words(function), *(p.word for p in network.parameters)]
            operands[function] = {w.name: states.vector(w.vector, w.index)[:count][inside] for w in words}
            values = float_passes(network, network.graph, function, operands[function])[-1]
            truth[function] = {}
            for vector in network.options.result_vectors(function):
                names = [w.name for w in network.results[vector]]
                for name in names:
                    truth[function][name] = np.broadcast_to(values[network.graph.outputs[name]], np.sum(inside))
                largest[function, vector] = max((float(np.max(np.abs(truth[function][n]))) for n in names), default=0.0)
        return cls(network, operands, truth, largest)

    def floor(self, graph: Graph) -> dict[Key, float]:
        """Errors, as in :class:`Measured`, that a simplified graph makes in float64."""
        pruned, errors = self.network.pruned(graph), {}
        for function in self.network.functions:
            values = float_passes(pruned, graph, function, self.operands[function])[-1]
            for vector in self.network.options.result_vectors(function):
                names = [w.name for w in self.network.results[vector]]
                got = {n: values[graph.outputs[n]] if n in graph.outputs else 0.0 for n in names}
                worst = max((float(np.max(np.abs(self.truth[function][n] - got[n]))) for n in names), default=0.0)
                errors[function, vector] = worst / (self.largest[function, vector] or 1.0)
        return errors

    def measure(self, fixed: FixedGraph) -> tuple[dict[Key, Measured], dict[str, float]]:
        """Errors of every vector where nothing overflows, and the share of flagged tasks by function."""
        pruned = self.network.pruned(fixed.graph)
        model = BitTrueModel(pruned, fixed)
        errors, flagged = {}, {}
        for function in self.network.functions:
            given, prefix = self.operands[function], PREFIX[self.network.entry(function)]
            words = pruned.operand_words(function)
            raw = [model.format(prefix + w.name).quantise(given[w.name]) for w in words]
            held = {p.word.name: model.format(p.word.name).quantise(given[p.word.name]) for p in pruned.parameters}
            answer = model.run(function, raw, held)
            good = ~answer.overflow
            flagged[function] = float(np.mean(answer.overflow))
            got = dict(zip((w.name for w in pruned.result_words(function)), answer.values, strict=True))
            for vector in self.network.options.result_vectors(function):
                square, found = 0.0, []
                names = [w.name for w in self.network.results[vector]]
                for name in names:
                    error = self.truth[function][name]
                    if name in got:
                        error = error - fixed.formats[fixed.graph.outputs[name]].real(got[name])
                    error = np.where(good, np.abs(error), 0.0)
                    state = int(np.argmax(error))
                    found.append((float(error[state]), name, state))
                    square += float(np.mean(error**2))
                found.sort(key=lambda x: -x[0])
                scale = self.largest[function, vector] or 1.0
                errors[function, vector] = Measured(
                    found[0][0] / scale if found else 0.0,
                    (square / max(len(names), 1)) ** 0.5 / scale,
                    tuple((name, state) for _, name, state in found),
                )
        return errors, flagged


class BoundFinder:
    """Collects the bounds of a search: derivatives at pairs of an entry and a state, the error that each may make, and
    each pair's vector (``keys``)."""

    def __init__(self, request: Request, simplified: Simplified, sites: Sites, experiment: Experiment) -> None:
        self.network, self.graph = request.network.pruned(simplified.graph), simplified.graph
        self.sites, self.experiment, self.targets = sites, experiment, request.targets
        self.usual = np.array([f.resolution for f in simplified.choice.formats])
        self.rows: list[tuple[np.ndarray, np.ndarray]] = []
        self.limits: list[float] = []
        self.keys: list[Key] = []

    def values(self, function: str, states: np.ndarray) -> Passes:
        """All nodes' values at some of the experiment's states, by pass."""
        given = {n: x[states] for n, x in self.experiment.operands[function].items()}
        return float_passes(self.network, self.graph, function, given)

    def add(self, key: Key, pairs: Sequence[tuple[str, int]], values: Passes) -> None:
        """Bound the errors of one vector at ``pairs`` of an entry and a number of a state of ``values``."""
        matrices = np.zeros((len(values), len(pairs), self.sites.count), np.float32)

        def visit(turn: int, i: int, here: np.ndarray, factors: tuple[np.ndarray, ...]) -> None:
            matrices[turn, :, i] = here
            for side, x in enumerate(factors):
                matrices[turn, :, self.sites.factors[i] + side] += x

        derivatives(self.network, self.graph, key[0], values, one_result_each(pairs), visit)
        matrix = np.sum(matrices, axis=0)
        # a site that several passes go through makes an error in each of them: the same one where the signal is the
        # same, else one that has nothing to do with the other
        squares = np.where(self._same(values), matrix**2, np.sum(matrices**2, axis=0))
        for k, (name, _) in enumerate(pairs):
            if name in self.sites.results:
                matrix[k, self.sites.results[name]] = squares[k, self.sites.results[name]] = 1.0
        self.rows.append((matrix, squares))
        self.limits += [self.targets[key] * self.experiment.largest[key]] * len(pairs)
        self.keys += [key] * len(pairs)

    def _same(self, values: Passes) -> np.ndarray:
        """By site, whether what is rounded there is the same in all passes."""
        same = np.ones(self.sites.count, bool)
        for i in set.intersection(*(set(x) for x in values)):
            same[i] = all(np.array_equal(x[i], values[0][i]) for x in values)
        for i, site in self.sites.factors.items():
            same[site : site + 2] = [same[a] for a in self.graph.nodes[i].args]
        return same

    def start(self) -> None:
        """Bound every vector at its most sensitive entries and states."""
        for function in self.network.functions:
            total = len(next(iter(self.experiment.operands[function].values())))
            scouts = np.arange(0, total, max(1, total // SCOUTS))
            values = self.values(function, scouts)
            for vector in self.network.options.result_vectors(function):
                names = [w.name for w in self.network.results[vector]]
                if names:
                    states = _sensitive_states(self, function, names, values, len(scouts))
                    pairs = _sensitive_pairs(self, function, names, values, states)
                    self.add((function, vector), pairs, values)

    def learn(self, errors: Mapping[Key, Measured]) -> None:
        """Bound the entries and states at which the largest errors were measured."""
        for (function, vector), measured in errors.items():
            known = {w.name for w in self.network.results[vector]}
            found = [(n, s) for n, s in measured.where if n in known][:FOUND]
            if found and measured.worst > AIM * self.targets[function, vector]:
                values = self.values(function, np.array([s for _, s in found]))
                self.add((function, vector), [(n, k) for k, (n, _) in enumerate(found)], values)

    def bounds(self, share: Mapping[Key, float]) -> Bounds:
        """The bounds, with a ``share`` of the target for each vector."""
        limit = (np.array(self.limits) * np.array([share[k] for k in self.keys]))[:, None].astype(np.float32)
        derivatives, squares = (np.concatenate(part) for part in zip(*self.rows, strict=True))
        return Bounds(derivatives / limit, squares / limit**2)


def _spread(finder: BoundFinder, function: str, values: Passes, pairs: Pairs) -> np.ndarray:
    """Variance (pairs,) of results where every node's error is its usual one."""
    total = np.zeros(len(pairs.states))

    def visit(turn: int, i: int, here: np.ndarray, factors: tuple[np.ndarray, ...]) -> None:
        np.add(total, (here * finder.usual[i]) ** 2, out=total)

    derivatives(finder.network, finder.graph, function, values, pairs, visit)
    return total


def _sensitive_states(finder: BoundFinder, function: str, names: list[str], values: Passes, count: int) -> list[int]:
    """The states at which a vector's error is expected to be largest, then some others.

    The sum over entries of their variances, by the trick of random signs (Hutchinson).
    """
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (len(names), count))
    pairs = Pairs(dict(zip(names, signs, strict=True)), np.arange(count))
    order = np.argsort(-_spread(finder, function, values, pairs), kind="stable")
    return [int(s) for s in (*order[:SENSITIVE], *order[SENSITIVE :: max(1, count // ORDINARY)])]


def _sensitive_pairs(
    finder: BoundFinder, function: str, names: list[str], values: Passes, states: list[int]
) -> list[tuple[str, int]]:
    """The entries and states with the largest expected errors."""
    grid = [(n, s) for n in names for s in states]
    spread = _spread(finder, function, values, one_result_each(grid))
    most = -(-PAIRS // len(names))
    taken: dict[str, int] = {}
    chosen = []
    for k in np.argsort(-spread, kind="stable"):
        name = grid[k][0]
        if taken.get(name, 0) < most:
            taken[name] = taken.get(name, 0) + 1
            chosen.append(grid[k])
    return chosen


@dataclass(frozen=True)
class Request:
    """What to search formats for: see the module and :func:`rbdgen.passes.pipeline.simplify`. ``fold`` and ``columns``:
    whether branches and columns that are alike are to share hardware at this ``interval`` (1: not known yet).
    ``multiply``: constant factors are products."""

    network: Network
    samples: Mapping[str, np.ndarray]
    targets: Mapping[Key, float]
    device: Multipliers
    rounding: str = "auto"
    saturate: bool = True
    sound: bool = False
    interval: int = 1
    fold: bool = False
    columns: bool = False
    multiply: bool = False

    def fixed(self, simplified: Simplified) -> FixedGraph:
        """The graph in words of one length."""
        how = self.rounding == "truncate", self.saturate
        if self.sound:
            return prove_formats(simplified, self.network.declared, self.network.precise, *how)
        return fix_formats(simplified, *how)

    def simplified(self, word: int, table_word: int | None = None) -> Simplified:
        """The graph without what is noise at a word length."""
        network = self.network
        simplified = simplify(
            *(network.graph, self.samples, network.declared, word, network.vectors, network.precise),
            *(table_word, self.sound, self.multiply),
        )
        columns = column_groups(simplified.graph, self.interval) if self.columns else []
        ties = make_ties(simplified.graph, (), columns, operands=not self.targets)
        return tied(simplified, ties.formats, network.precise)

    def ties(self, graph: Graph) -> Ties:
        """What is to have equal formats."""
        branches = counterparts(self.network, graph, self.interval) if self.fold and self.interval > 1 else []
        return make_ties(graph, branches, column_groups(graph, self.interval) if self.columns else [])

    def simple_enough(self, experiment: Experiment) -> Simplified:
        """The graph without what is noise beside the targets; what that costs stays below a share of each."""
        word = math.ceil(-math.log2(min(self.targets.values()))) + NOISE_BITS
        while True:
            word = min(max(word, MIN_WORD), MAX_WORD)
            simplified = self.simplified(word, max(word - TABLE_BITS, MIN_WORD))
            floor = max(e / self.targets[k] for k, e in experiment.floor(simplified.graph).items()) / FLOOR
            if floor <= 1 or word == MAX_WORD:
                return simplified
            word += math.ceil(math.log2(floor))


@dataclass(frozen=True)
class Found:
    """What a search found: ``fixed``, a graph of ``network``; what it is made of; the errors measured (by function and
    vector); and the ``cost`` in bits."""

    network: Network
    fixed: FixedGraph
    simplified: Simplified
    errors: dict[Key, Measured]
    cost: float = math.nan


def excess(errors: Mapping[Key, Measured], flagged: Mapping[str, float], targets: Mapping[Key, float]) -> float:
    """The largest error in units of its target; infinite where more than a few tasks overflow."""
    if max(flagged.values()) > FLAGGED:
        return math.inf
    return max(e.worst / targets[k] for k, e in errors.items())


def uniform_formats(request: Request, measure: Experiment) -> Found:
    """The shortest word whose errors keep all targets in ``measure``. ConfigError where none does."""
    tried: dict[int, Found] = {}
    ratios: dict[int, float] = {}

    def at(word: int) -> float:
        if word not in tried:
            simplified = request.simplified(word)
            fixed = request.fixed(simplified)
            errors, flagged = measure.measure(fixed)
            tried[word] = Found(request.network.pruned(fixed.graph), fixed, simplified, errors)
            ratios[word] = excess(errors, flagged, request.targets) / UNIFORM_AIM
        return ratios[word]

    word = min(max(math.ceil(-math.log2(min(request.targets.values()))) + NOISE_BITS, MIN_WORD), MAX_WORD)
    while word > MIN_WORD and at(word) <= 1:
        # errors halve with every bit, or nearly so
        word = max(word - max(1, math.floor(-math.log2(max(at(word), 1e-9)))), MIN_WORD)
    while word < MAX_WORD and at(word) > 1:
        word += 1
    if at(word) > 1:
        key, worst = max(tried[word].errors.items(), key=lambda kv: kv[1].worst / request.targets[kv[0]])
        raise ConfigError(
            f"error: {request.targets[key]:g} of {key[0]} ({key[1]}) is out of reach of words up to {MAX_WORD} bits, "
            f"which reach {worst.worst:.2g}; ask for that, or leave formats=uniform away"
        )
    return tried[word]


def _computed_before(network: Network, graph: Graph) -> dict[int, int]:
    """The operands that an earlier pass computed, with the nodes of ``graph``, a simplified one of ``network``, that
    they are there; not those only handed on."""
    sources = feedback(network.pruned(graph))
    links = {name: graph.outputs[source] for name, source in sources.items() if source is not None}
    return {graph.inputs[name]: i for name, i in links.items() if graph.nodes[i].op != "input"}


def search_formats(
    request: Request, measure: Experiment, progress: Callable[[str], None] = lambda stage: None
) -> Found:
    """The cheapest formats per signal that keep all targets in ``measure``.

    ConfigError where no supported formats do, naming the best reachable and the signal that stops it.
    """
    network, targets = with_own_feedback(request.network), request.targets
    request, measure = replace(request, network=network), replace(measure, network=network)
    simplified = request.simple_enough(measure)
    kept = frozenset(r for e in network.programs.exits if e.name == FEEDBACK for r in e.results)
    sites = make_sites(simplified.graph, kept)
    finder = BoundFinder(request, simplified, sites, measure)
    finder.start()
    ties = request.ties(simplified.graph)
    fed = _computed_before(network, simplified.graph)
    lengths = WordLengths(simplified.graph, simplified.magnitudes, sites, request.device, request.rounding, ties, fed)
    share = dict.fromkeys(targets, AIM)
    best: Found | None = None
    closest = math.inf
    for number in range(ROUNDS):
        progress(f"word lengths, round {number + 1}")
        bounds = finder.bounds(share)
        choice, predicted = lengths.search(bounds)
        if lengths.make_room(choice):
            choice, predicted = lengths.search(bounds)
        fixed = assemble(lengths, choice, request.saturate, network.declared if request.sound else None)
        errors, flagged = measure.measure(fixed)
        reached = excess(errors, flagged, targets)
        if reached <= GOOD and (best is None or choice.cost < best.cost):
            best = Found(network.pruned(fixed.graph), fixed, simplified, errors, choice.cost)
        if LOW <= reached <= GOOD:
            break
        stuck = number + 1 == ROUNDS or (predicted > 1 and reached > 0.9 * closest)
        if stuck and best is None:
            _refuse_overflow(flagged, targets)
            _refuse(lengths, choice, bounds, finder.keys, errors, targets)
        closest = min(closest, reached)
        for k, r in ((k, e.worst / targets[k]) for k, e in errors.items()):
            # what was not foreseen at all is bounded by what finder.learn adds
            share[k] *= max(math.sqrt(AIM / r), 0.7) if r > GOOD else 1.2 if r < LOW and reached <= GOOD else 1.0
            # errors take signals out of their ranges: finer formats keep them in
            share[k] *= FINER if reached == math.inf else 1.0
        finder.learn(errors)
    assert best is not None
    return best


def _refuse_overflow(flagged: Mapping[str, float], targets: Mapping[Key, float]) -> None:
    """Say that results are flagged, if they are, with what might do."""
    function, share = max(flagged.items(), key=lambda kv: kv[1])
    if share > FLAGGED:
        target = min(t for (f, _), t in targets.items() if f == function)
        raise ConfigError(
            f"error: with formats that are coarse enough for {target:g} of {function}, {share:.1%} of its tasks "
            f"overflow; ask for {target / 4:.1g} or less"
        )


def _refuse(
    lengths: WordLengths,
    choice: Choice,
    bounds: Bounds,
    keys: list[Key],
    errors: Mapping[Key, Measured],
    targets: Mapping[Key, float],
) -> NoReturn:
    """Say which signal's format stops the search, and how far it got."""
    key, reached = max(errors.items(), key=lambda kv: kv[1].worst / targets[kv[0]])
    ratios = lengths.ratios(choice, bounds)
    pair = max((k for k, of in enumerate(keys) if of == key), key=lambda k: ratios[k])
    site = int(np.argmax(bounds.derivatives[pair] ** 2 * (choice.square + choice.mean**2)))
    raise ConfigError(
        f"error: {targets[key]:g} of {key[0]} ({key[1]}) is out of reach: the longest words reach {reached.worst:.2g}, "
        f"and {lengths.describe(site)} adds most; ask for {2 * reached.worst:.1g} or more"
    )


def find_formats(
    request: Request,
    ranges: InputRanges,
    seed: int,
    uniform: bool = False,
    progress: Callable[[str], None] = lambda stage: None,
) -> Found:
    """The cheapest formats that keep the targets, of one word or per signal, measured at states of their own."""
    network = request.network
    calibration = network.calibration
    cheap = calibration.frames.robot if calibration else equivalent(network.robot).robot
    # the first half of them is uniform in the ranges
    states = make_samples(network.robot, cheap, ranges, network.options, calibration, 2 * STATES, seed + 1)
    measure = Experiment.of(network, states, STATES)
    return uniform_formats(request, measure) if uniform else search_formats(request, measure, progress)
