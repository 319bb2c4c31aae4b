"""The errors that formats make: states, exact results, and what the bit-true model answers beside them.

Errors are relative: of a vector or matrix, the largest error of any entry at any state over the largest magnitude of
any entry at any state of the same kind: states of motions, and states of free torques, whose accelerations are larger.
The reference is the traced graph in float64, before any pass.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rbdgen.functions import registry
from rbdgen.functions.states import States
from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.graph import Graph
from rbdgen.layout.equivalent import equivalent
from rbdgen.layout.execute import BitTrueModel, float_passes
from rbdgen.layout.network import PREFIX, Network
from rbdgen.layout.samples import make_samples
from rbdgen.layout.torques import with_torques
from rbdgen.layout.words import Word
from rbdgen.model.ranges import InputRanges
from rbdgen.wordlength.targets import Key


@dataclass(frozen=True)
class VectorErrors:
    """Errors of one vector of one function: ``worst`` and ``rms`` relative to the largest magnitude; ``where`` are the
    entries and states of the largest errors, worst first."""

    worst: float
    rms: float
    where: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class _Answers:
    """What the bit-true model answers: raw ``results`` (n,) by name, and which tasks overflow (n,)."""

    results: dict[str, np.ndarray]
    overflow: np.ndarray


@dataclass
class Experiment:
    """States and exact results of every function, and what is measured against them.

    ``operands`` and ``truth`` are by function: values of operands by word and of parameters, and results by name, (n,)
    each; ``scales`` (n,) of each vector: its largest magnitude among the states of the same kind; ``free`` (n,) by
    function: the states with free torques, of functions that take them. All states are inside the declared ranges.
    """

    network: Network
    operands: dict[str, dict[str, np.ndarray]]
    truth: dict[str, dict[str, np.ndarray]]
    scales: dict[Key, np.ndarray] = field(default_factory=dict)
    free: dict[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def of(cls, network: Network, states: States, count: int) -> Experiment:
        """The first ``count`` states, less those at which an operand that follows from others (torques, inverses) is
        outside its range: hardware flags them."""
        inside = _inside(network, states, count)
        experiment = cls(network, {}, {}, {})
        for function in network.functions:
            words = list(network.operand_words(function))
            words += _parameter_words(network)
            operands = {}
            for word in words:
                values = states.vector(word.vector, word.index)
                operands[word.name] = values[:count][inside]
            experiment.operands[function] = operands
            record = registry.function(function)
            if states.free is not None and record.takes_torques:
                free = states.free[:count]
                experiment.free[function] = free[inside]
            experiment._find_truth(function, int(np.sum(inside)))
        return experiment

    def _find_truth(self, function: str, count: int) -> None:
        """Exact results of one function at ``count`` states."""
        network = self.network
        graph = network.graph
        passes = float_passes(network, graph, function, self.operands[function], kept=())
        values = passes[-1]
        truth: dict[str, np.ndarray] = {}
        for vector in network.options.result_vectors(function):
            own = {}
            for name in self.names(vector):
                value = values[graph.outputs[name]]
                own[name] = np.broadcast_to(value, count)
            magnitudes = np.zeros(count)
            for value in own.values():
                magnitudes = np.maximum(magnitudes, np.abs(value))
            free = self.free.get(function)
            self.scales[function, vector] = scales(magnitudes, free)
            truth |= own
        self.truth[function] = truth

    def names(self, vector: str) -> list[str]:
        """Names of the results that a vector consists of."""
        return [word.name for word in self.network.results[vector]]

    def floor(self, graph: Graph) -> dict[Key, float]:
        """Errors, as in :class:`VectorErrors`, that a simplified graph makes in float64."""
        pruned = self.network.pruned(graph)
        errors: dict[Key, float] = {}
        for function in self.network.functions:
            passes = float_passes(pruned, graph, function, self.operands[function], kept=())
            values = passes[-1]
            truth = self.truth[function]
            for vector in self.network.options.result_vectors(function):
                key = function, vector
                relative = [0.0]
                for name in self.names(vector):
                    got = 0.0
                    if name in graph.outputs:
                        got = values[graph.outputs[name]]
                    difference = np.abs(truth[name] - got)
                    largest = np.max(difference / self.scales[key])
                    relative.append(float(largest))
                errors[key] = max(relative)
        return errors

    def measure(self, fixed: FixedGraph) -> tuple[dict[Key, VectorErrors], dict[str, float]]:
        """Errors of every vector where nothing overflows, and the share of flagged tasks by function."""
        pruned = self.network.pruned(fixed.graph)
        model = BitTrueModel(pruned, fixed)
        errors: dict[Key, VectorErrors] = {}
        flagged: dict[str, float] = {}
        for function in self.network.functions:
            answers = self._answers(model, function)
            flagged[function] = float(np.mean(answers.overflow))
            for vector in self.network.options.result_vectors(function):
                key = function, vector
                errors[key] = self._errors(key, fixed, answers)
        return errors, flagged

    def _answers(self, model: BitTrueModel, function: str) -> _Answers:
        """What the model computes at all states."""
        network = model.network
        given = self.operands[function]
        prefix = PREFIX[network.entry(function)]
        raw = []
        quantities = network.options.quantities
        for word in network.operand_words(function):
            own = quantities[word.vector].format
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
        square = 0.0
        found: list[tuple[float, str, int]] = []
        names = self.names(vector)
        scale = self.scales[key]
        for name in names:
            error = self.truth[function][name]
            if name in answers.results:
                node = fixed.graph.outputs[name]
                got = fixed.formats[node].real(answers.results[name])
                error = error - got
            error = np.where(answers.overflow, 0.0, np.abs(error) / scale)
            state = int(np.argmax(error))
            largest = float(error[state])
            found.append((largest, name, state))
            square += float(np.mean(error**2))
        found.sort(key=lambda entry: -entry[0])
        worst = found[0][0] if found else 0.0
        mean_square = square / max(len(names), 1)
        rms = mean_square**0.5
        where = tuple((name, state) for _, name, state in found)
        return VectorErrors(worst, rms, where)


def make_experiment(network: Network, ranges: InputRanges, seed: int, count: int) -> Experiment:
    """An experiment at ``count`` states inside the declared ranges that these were not found at."""
    calibration = network.calibration
    cheap = calibration.frames.robot if calibration else equivalent(network.robot).robot
    # the first half of them is uniform in the ranges
    states = make_samples(
        network.robot, cheap, ranges, network.options, calibration, 2 * count, seed + 1
    )
    states = with_torques(states, network.torque_limits, network.options.ranges, seed + 1)
    return Experiment.of(network, states, count)


def _parameter_words(network: Network) -> list[Word]:
    """The words of loaded parameters."""
    return [parameter.word for parameter in network.parameters]


def _inside(network: Network, states: States, count: int) -> np.ndarray:
    """Which of the first ``count`` states have all operands of all functions inside their ranges."""
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


NOTHING = 1e-12
"""An output that is nowhere larger is zero but for the rounding of float64: what the structure of a robot cancels."""


def scale_of(largest: float) -> float:
    """What errors of an output are relative to, from its ``largest`` magnitude: that, or 1 where it is zero."""
    return largest if largest > NOTHING else 1.0


def scales(magnitudes: np.ndarray, free: np.ndarray | None) -> np.ndarray:
    """What errors at n states are relative to (n,): the largest of all ``magnitudes`` (n,), or of those of the same
    kind where some torques are ``free`` (n,)."""
    count = len(magnitudes)
    kinds = [np.ones(count, bool)]
    if free is not None:
        kinds = [free, ~free]
    found = np.zeros(count)
    for kind in kinds:
        largest = np.max(magnitudes, where=kind, initial=0.0)
        found[kind] = scale_of(float(largest))
    return found
