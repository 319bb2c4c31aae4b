"""The errors that formats make: states, exact results, and what the bit-true model answers beside them.

Errors are by entry, relative to what its target says (:mod:`rbdgen.wordlength.targets`), which usually is the entry's
own largest magnitude at states of the same kind: states of motions, and states of free torques, whose accelerations are
larger. The reference is the traced graph in float64, before any pass. An
entry that is tiny by structure has a floor, and one that is nothing but rounding is left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from rbdgen.functions import registry
from rbdgen.functions.quantities import States
from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.graph import Graph
from rbdgen.model.ranges import InputRanges
from rbdgen.passes.noise import FEW, is_rounding, some_of
from rbdgen.protocol.entries import mirrored
from rbdgen.tracing.equivalent import equivalent
from rbdgen.tracing.execute import BitTrueModel, float_passes
from rbdgen.tracing.network import PREFIX, Network
from rbdgen.tracing.samples import make_samples, sampled_torques
from rbdgen.tracing.torques import MOTION, TORQUE, slowed, with_torques
from rbdgen.tracing.words import Word
from rbdgen.wordlength.targets import ABSOLUTE, ENTRY, FLOOR, LARGEST, Entry, Key, Target

LOADED = "loaded"
"""Remark on kinds of states at which other parameters than the robot's own are loaded."""


def kinds_of(
    count: int, free: np.ndarray | None, loaded: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """Masks (n,) of ``count`` states by kind, of those that there are: of motions, and with ``free`` torques (n,) where
    a function takes any; of either, those apart at which other parameters than the robot's own are ``loaded`` (n,)."""
    kinds = {MOTION: np.ones(count, bool)}
    if free is not None:
        kinds = {MOTION: ~free, TORQUE: free}
    if loaded is not None:
        own = {name: chosen & ~loaded for name, chosen in kinds.items()}
        others = {f"{name}, {LOADED}": chosen & loaded for name, chosen in kinds.items()}
        kinds = own | others
    return {name: chosen for name, chosen in kinds.items() if chosen.any()}


def entry_scales(
    largest: np.ndarray,
    of: np.ndarray | str = ENTRY,
    nothing: np.ndarray | bool = False,
) -> np.ndarray:
    """Magnitudes that errors of a vector's entries are relative to, from their ``largest`` ones at states of one kind
    and what their targets are ``of`` (by entry, or of all): shapes as those.

    Entries that are ``nothing`` but rounding count with the largest of those that are something. Scales of a vector of
    which all are nothing are infinite: no error of it counts."""
    something = np.where(nothing, 0.0, largest)
    most = float(np.max(something, initial=0.0))
    if not most:
        return np.full(largest.shape, np.inf)
    own = np.maximum(something, FLOOR * most)
    found = np.where(np.equal(of, LARGEST) | nothing, most, own)
    return np.where(np.equal(of, ABSOLUTE), 1.0, found)


def nothing_but_rounding(
    network: Network,
    function: str,
    operands: Mapping[str, np.ndarray],
) -> frozenset[str]:
    """The results of ``function`` that a robot's structure cancels, so that float64 leaves its rounding of zero: found
    at a few of the states whose ``operands`` are given (n,) by word."""
    few = some_of(operands, FEW)
    single = {name: x.astype(np.float32) for name, x in few.items()}
    graph = network.graph
    exact = float_passes(network, graph, function, few, kept=())[-1]
    # what single precision cannot hold is told apart by :func:`is_rounding`
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        rough = float_passes(network, graph, function, single, np.float32, kept=())[-1]
    found: set[str] = set()
    for word in network.result_words(function):
        node = graph.outputs[word.name]
        value = np.asarray(exact[node], float)
        size = float(np.max(np.abs(value)))
        single_value = np.asarray(rough[node], float)
        difference = np.abs(single_value - value)
        lost = float(np.max(difference))
        if not size or is_rounding(size, lost):
            found.add(word.name)
    return frozenset(found)


def nothing_masks(
    network: Network,
    function: str,
    operands: Mapping[str, np.ndarray],
) -> dict[str, np.ndarray]:
    """The same by vector, as masks of their entries; entries that are no results at all are nothing."""
    names = nothing_but_rounding(network, function, operands)
    quantities = network.options.quantities
    masks: dict[str, np.ndarray] = {}
    for vector in network.options.returned(function):
        size = quantities[vector].size(network.robot)
        masks[vector] = np.ones(size, bool)
    for word in network.result_words(function):
        mask = masks[word.vector]
        mask[word.index] = word.name in names
        # one half of a symmetric matrix is handed out, and the mask is of both
        if quantities[word.vector].symmetric:
            mask[mirrored(word.index)] = word.name in names
    return masks


@dataclass(frozen=True)
class VectorErrors:
    """Errors of one vector of one function in units of their targets: ``worst``, that of ``entry``; ``where`` are the
    entries and states of the largest errors, worst first. ``indefinite``: at how many states a matrix that is positive
    definite is not."""

    worst: float
    entry: str = ""
    where: tuple[tuple[str, int], ...] = ()
    indefinite: int = 0


@dataclass(frozen=True)
class _Answers:
    """Answers of the bit-true model: raw ``results`` (n,) by name, and which tasks overflow (n,)."""

    results: dict[str, np.ndarray]
    overflow: np.ndarray


@dataclass
class Experiment:
    """States and exact results of every function, and what is measured against them.

    ``targets`` are by entry. ``operands`` and ``truth`` are by function: values of operands by word and of parameters,
    and results by name, (n,) each; ``kinds`` (n,) which states are of which kind; ``allowed`` (n,) by entry: the
    largest error that its target allows, by state; ``nothing``: vectors that are rounding in float64, which no error
    counts of. All states are inside the declared ranges.
    """

    network: Network
    targets: Mapping[Entry, Target]
    operands: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    truth: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    allowed: dict[Entry, np.ndarray] = field(default_factory=dict)
    kinds: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    nothing: dict[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, network: Network, states: States, count: int, targets: Mapping[Entry, Target]
    ) -> Experiment:
        """The first ``count`` states, less those at which an operand that follows from others (torques, inverses) is
        outside its range: hardware flags them."""
        inside = _inside(network, states, count)
        experiment = cls(network, targets)
        loaded = None
        if states.parameters is not None and network.calibration is not None:
            # entries that are far smaller with the robot's own parameters keep their target too
            after_reset = network.calibration.variations[0]
            loaded = np.any(states.parameters != after_reset, axis=1)[:count][inside]
        for function in network.functions:
            words = list(network.operand_words(function))
            words += _parameter_words(network)
            operands = {}
            for word in words:
                values = states.vector(word.vector, word.index)
                operands[word.name] = values[:count][inside]
            experiment.operands[function] = operands
            record = registry.function(function)
            free = None
            if states.free is not None and record.takes_torques:
                free = states.free[:count][inside]
            experiment.kinds[function] = kinds_of(int(np.sum(inside)), free, loaded)
            experiment._find_truth(function)
        return experiment.judged_by(targets)

    def judged_by(self, targets: Mapping[Entry, Target]) -> Experiment:
        """The same states and results, with errors in units of other targets."""
        judged = replace(self, targets=targets, allowed={})
        for function, truth in self.truth.items():
            for vector in self.network.options.result_vectors(function):
                own = {name: truth[name] for name in self.names(vector)}
                if own:
                    judged._allow(function, own)
        return judged

    def _find_truth(self, function: str) -> None:
        """Exact results of one function."""
        network = self.network
        graph = network.graph
        operands = self.operands[function]
        count = len(next(iter(operands.values())))
        values = float_passes(network, graph, function, operands, kept=())[-1]
        self.nothing[function] = nothing_but_rounding(network, function, operands)
        truth: dict[str, np.ndarray] = {}
        for vector in network.options.result_vectors(function):
            for name in self.names(vector):
                # a result that depends on no operand is a single number
                value = values[graph.outputs[name]]
                truth[name] = np.broadcast_to(value, count)
        self.truth[function] = truth

    def _allow(self, function: str, truth: Mapping[str, np.ndarray]) -> None:
        """Find the errors that the targets of one vector's entries allow."""
        names = list(truth)
        targets = []
        is_nothing = []
        for name in names:
            target = self.targets[function, name]
            targets.append(target)
            is_nothing.append(name in self.nothing[function])
        of = np.array([target.of for target in targets])
        values = np.array([target.value for target in targets])
        nothing = np.array(is_nothing)
        kinds = self.kinds[function]
        count = len(next(iter(kinds.values())))
        allowed = np.zeros((len(names), count))
        for chosen in kinds.values():
            largest = []
            for x in truth.values():
                size = np.abs(x[chosen])
                largest.append(np.max(size))
            scales = entry_scales(np.array(largest), of, nothing)
            most = values * scales
            allowed[:, chosen] = most[:, None]
        for name, own in zip(names, allowed, strict=True):
            self.allowed[function, name] = own

    def names(self, vector: str) -> list[str]:
        """Names of the results that a vector consists of."""
        return [word.name for word in self.network.results[vector]]

    def floor(self, graph: Graph) -> dict[Key, float]:
        """Errors in units of their targets, as in :class:`VectorErrors`, that a simplified graph makes in float64."""
        pruned = self.network.pruned(graph)
        errors: dict[Key, float] = {}
        for function in self.network.functions:
            passes = float_passes(pruned, graph, function, self.operands[function], kept=())
            values = passes[-1]
            truth = self.truth[function]
            for key in self.vectors(function):
                relative = [0.0]
                for name in self.names(key[1]):
                    # what simplification left out is zero
                    got = 0.0
                    if name in graph.outputs:
                        got = values[graph.outputs[name]]
                    difference = np.abs(truth[name] - got)
                    largest = np.max(difference / self.allowed[function, name])
                    relative.append(float(largest))
                errors[key] = max(relative)
        return errors

    def vectors(self, function: str) -> list[Key]:
        """The vectors of a function whose errors count."""
        found = []
        for vector in self.network.options.result_vectors(function):
            if not self.nothing[function].issuperset(self.names(vector)):
                found.append((function, vector))
        return found

    def measure(self, fixed: FixedGraph) -> tuple[dict[Key, VectorErrors], dict[str, float]]:
        """Errors of every vector where nothing overflows, and the share of flagged tasks by function."""
        pruned = self.network.pruned(fixed.graph)
        model = BitTrueModel(pruned, fixed)
        errors: dict[Key, VectorErrors] = {}
        flagged: dict[str, float] = {}
        for function in self.network.functions:
            answers = self._answers(model, function)
            flagged[function] = float(np.mean(answers.overflow))
            for key in self.vectors(function):
                errors[key] = self._errors(key, fixed, answers)
        return errors, flagged

    def _answers(self, model: BitTrueModel, function: str) -> _Answers:
        """The answers of the model at all states."""
        network = model.network
        given = self.operands[function]
        prefix = PREFIX[network.entry(function)]
        raw = []
        quantities = network.options.quantities
        for word in network.operand_words(function):
            own = quantities[word.vector].format
            # words that are no signals, such as numbers of steps, have formats of their own
            fmt = own or model.format(prefix + word.name)
            raw.append(fmt.quantise(given[word.name]))
        held = {}
        for word in _parameter_words(network):
            fmt = model.format(word.name)
            held[word.name] = fmt.quantise(given[word.name])
        answer = model.run(function, raw, held)
        names = [word.name for word in network.result_words(function)]
        results = dict(zip(names, answer.values, strict=True))
        return _Answers(results, answer.overflow)

    def _errors(self, key: Key, fixed: FixedGraph, answers: _Answers) -> VectorErrors:
        """The errors of one vector's entries; what the model leaves out is zero."""
        function, vector = key
        found: list[tuple[float, str, int]] = []
        got: dict[str, np.ndarray] = {}
        for name in self.names(vector):
            truth = self.truth[function][name]
            got[name] = np.zeros(len(truth))
            if name in answers.results:
                node = fixed.graph.outputs[name]
                got[name] = fixed.formats[node].real(answers.results[name])
            error = np.abs(truth - got[name]) / self.allowed[function, name]
            # hardware flags these tasks, and promises nothing of their results
            error = np.where(answers.overflow, 0.0, error)
            state = int(np.argmax(error))
            found.append((float(error[state]), name, state))
        found.sort(key=lambda entry: -entry[0])
        worst, entry, _ = found[0] if found else (0.0, "", 0)
        where = tuple((name, state) for _, name, state in found)
        indefinite = self._indefinite(function, vector, got, ~answers.overflow)
        return VectorErrors(worst, entry, where, indefinite)

    def _indefinite(
        self, function: str, vector: str, got: Mapping[str, np.ndarray], good: np.ndarray
    ) -> int:
        """At how many ``good`` states (n,) a matrix that is positive definite is not, as it is handed out."""
        words = self.network.results[vector]
        if not words or not self.network.options.quantities[words[0].vector].definite:
            return 0
        own = self._matrices(words, got)
        true = self._matrices(words, self.truth[function])
        return lost_definiteness(own[good], true[good])

    def _matrices(self, words: Sequence[Word], values: Mapping[str, np.ndarray]) -> np.ndarray:
        """Symmetric matrices (n, k, k) from their entries' values (n,) by name."""
        quantity = self.network.options.quantities[words[0].vector]
        count = len(values[words[0].name])
        matrices = np.zeros((count, *quantity.size(self.network.robot)))
        for word in words:
            i, j = word.index
            matrices[:, i, j] = matrices[:, j, i] = values[word.name]
        return matrices


def lost_definiteness(matrices: np.ndarray, truth: np.ndarray) -> int:
    """Number of symmetric matrices (n, k, k) that are not positive definite, where the true ones are."""
    try:
        # quick, and mostly enough
        np.linalg.cholesky(_with_ones(matrices))
        return 0
    except np.linalg.LinAlgError:
        # the factorisation fails for all matrices at once: eigenvalues tell them apart
        lost = ~_definite(matrices)
        definite = _definite(truth)
        return int(np.count_nonzero(lost & definite))


def _with_ones(matrices: np.ndarray) -> np.ndarray:
    """The matrices with diagonals of ones: a wrist's inertia may be a millionth of a shoulder's."""
    diagonal = np.diagonal(matrices, axis1=1, axis2=2)
    size = np.sqrt(np.abs(diagonal))
    size = np.where(size > 0, size, 1.0)
    return matrices / size[:, :, None] / size[:, None, :]


def _definite(matrices: np.ndarray) -> np.ndarray:
    """Mask (n,) of the symmetric matrices that are positive definite."""
    return np.linalg.eigvalsh(_with_ones(matrices))[:, 0] > 0


def make_experiment(
    network: Network,
    ranges: InputRanges,
    seed: int,
    count: int,
    targets: Mapping[Entry, Target],
) -> Experiment:
    """An experiment at ``count`` states inside the declared ranges that these were not found at."""
    calibration = network.calibration
    # sampling computes torques at every state: the equivalent robot has the same ones for less
    cheap = calibration.frames.robot if calibration else equivalent(network.robot).robot
    # the first half of them is uniform in the ranges
    states = make_samples(
        network.robot, cheap, ranges, network.options, calibration, 2 * count, seed + 1
    )
    torques_of = partial(sampled_torques, network.robot, cheap, calibration)
    states = slowed(states, network.torque_limits, torques_of)
    states = with_torques(states, network.torque_limits, network.options.ranges, seed + 1)
    return Experiment.of(network, states, count, targets)


def _parameter_words(network: Network) -> list[Word]:
    """The words of loaded parameters."""
    return [parameter.word for parameter in network.parameters]


def _inside(network: Network, states: States, count: int) -> np.ndarray:
    """Mask of those of the first ``count`` states that have all operands of all functions inside their ranges."""
    words: dict[Word, None] = {}
    for function in network.functions:
        words |= dict.fromkeys(network.operand_words(function))
    checks = []
    for word in words:
        values = states.vector(word.vector, word.index)[:count]
        high_enough = values >= word.lower
        low_enough = values <= word.upper
        checks.append(high_enough & low_enough)
    return np.all(checks, axis=0)


FLAGGED = 1e-3
"""Share of tasks inside the declared ranges that may overflow."""
INDEFINITE = 2.0
"""Least error, in units of its target, that a matrix that is not positive definite at some state counts as."""


def excess(errors: Mapping[Key, VectorErrors], flagged: Mapping[str, float]) -> float:
    """The largest error in units of its target; infinite where more than a few tasks overflow."""
    if max(flagged.values()) > FLAGGED:
        return math.inf
    return max((share_of_target(measured) for measured in errors.values()), default=0.0)


def share_of_target(measured: VectorErrors) -> float:
    """The largest error of a vector in units of its target, which a matrix that is not positive definite misses."""
    if measured.indefinite:
        return max(measured.worst, INDEFINITE)
    return measured.worst


def worst_vector(errors: Mapping[Key, VectorErrors]) -> tuple[Key, VectorErrors]:
    """The vector with the largest error in units of its target, and its errors."""
    key = max(errors, key=lambda k: share_of_target(errors[k]))
    return key, errors[key]
