"""Trials of a design without its hardware: random tasks, the bit-true model's answers, float64 results, and errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rbdgen import golden
from rbdgen.compiler import Design
from rbdgen.functions import registry
from rbdgen.functions.quantities import MINV, States
from rbdgen.model.ranges import random_states
from rbdgen.model.robot import Robot
from rbdgen.protocol.entries import mirrored
from rbdgen.protocol.tasks import Flag
from rbdgen.tracing.samples import (
    bounded_others,
    looped_states,
    random_base,
    random_forces,
    random_others,
)
from rbdgen.tracing.torques import MOTION, slowed, with_torques
from rbdgen.wordlength.experiment import entry_scales, kinds_of, nothing_masks

Results = dict[str, np.ndarray]
"""A function's results by vector, shapes (n, nv) or (n, nv, nv)."""
Errors = dict[str, dict[str, np.ndarray]]
"""Errors by vector, ``max`` and ``rms`` of each, shapes (nv,) or (nv, nv)."""
SCALE_STATES = 2048
"""States that say how large the entries of results become, where tasks themselves are too few to."""
SCALE_SEED = 104_729
"""Their seed, added to the design's own."""


@dataclass(frozen=True)
class TaskSet:
    """Tasks of one function: the states they come from, raw operands, and the model's answers.

    ``expected`` are raw results, one (n,) array per result word; ``flags`` (n,) status flags; ``reference`` the float64
    results by vector, shapes (n, nv) or (n, nv, nv). ``parameters``: raw ones to be loaded before.
    """

    function: str
    states: States
    raw: list[np.ndarray]
    expected: list[np.ndarray]
    flags: np.ndarray
    reference: dict[str, np.ndarray]
    parameters: np.ndarray | None = None

    @property
    def count(self) -> int:
        """Number of tasks."""
        return len(self.flags)


def task_states(design: Design, count: int, seed: int, robot: Robot | None = None) -> States:
    """Random states inside the declared ranges, with the torques and inverses that go with them for ``robot`` (default:
    the design's)."""
    robot = robot or design.robot
    options = design.network.options
    q, v, a = random_states(robot, design.ranges, count, seed)
    q, v = looped_states(robot, options, design.ranges, q, v)
    f_ext = random_forces(robot, options, count, seed)
    base = random_base(options, count, seed)
    steps = np.ones((count, 1), int)
    others = random_others(robot, options, count, seed)
    states = States(q, v, a, f_ext, np.zeros_like(v), None, base, steps=steps, others=others)
    return _complete(design, robot, states, seed)


def _complete(design: Design, robot: Robot, s: States, seed: int) -> States:
    """States with torques (:mod:`rbdgen.tracing.torques`), M⁻¹ where that is an operand, and others within bounds."""
    taken: set[str] = set()
    for f in design.network.options.records:
        taken.update(q.name for q in f.operands)
    minv = None
    if MINV.name in taken:
        minv = golden.minverse(robot, s.q)

    def torques_of(states: States) -> np.ndarray:
        # by the golden model, which shares nothing with the compiler's graphs
        return golden.rnea(robot, states.q, states.v, states.a, states.f_ext, root=states.root)

    others = bounded_others(robot, design.network.options, s.q, s.others)
    found = replace(s, tau=torques_of(s), minv=minv, others=others)
    # as the states were made that formats were found at
    if design.options.ranges != MOTION:
        found = slowed(found, design.network.torque_limits, torques_of)
    return with_torques(found, design.network.torque_limits, design.options.ranges, seed)


def reference(design: Design, function: str, s: States, robot: Robot | None = None) -> Results:
    """The function's results in float64 for ``robot`` (default: the design's), by vector."""
    robot = robot or design.robot
    options = design.network.options
    record = registry.function(function)
    values = record.evaluated(robot, s, options, None)
    results: dict[str, np.ndarray] = {}
    for quantity, value in zip(record.results, values, strict=True):
        results[quantity.name] = value
    extra = record.extra
    if extra and options.extra_of(function):
        results[extra.quantity.name] = extra.reference(robot, s)
    return results


def make_tasks(
    design: Design, function: str, states: States, robot: Robot | None = None
) -> TaskSet:
    """Tasks for states, with the model's answers; of a calibratable design for ``robot``, whose parameters are to be
    loaded before (default: those after a reset)."""
    fmt = design.tasks.functions[function]
    words = design.network.operand_words(function)
    values = [states.vector(w.vector, w.index) for w in words]
    raw = fmt.quantise(values)
    parameters = None
    loaded: dict[str, np.ndarray] = {}
    calibratable = design.network.calibration is not None
    if robot is not None and calibratable:
        parameters = raw_parameters(design, robot)
        count = len(states.q)
        own = design.tasks.parameters
        for parameter, x in zip(own, parameters, strict=True):
            loaded[parameter.name] = np.full(count, x)
    expected, flags = model_answers(design, function, raw, loaded)
    # at the states as they are: what rounding of operands costs is part of an error
    truth = reference(design, function, states, robot)
    return TaskSet(function, states, raw, expected, flags, truth, parameters)


def model_answers(
    design: Design,
    function: str,
    raw: Sequence[np.ndarray],
    loaded: Mapping[str, np.ndarray] | None = None,
) -> tuple[list[np.ndarray], np.ndarray]:
    """The right answers of the accelerator to raw operands, one (n,) array per operand word: raw results, one (n,)
    array per result word, and flags (n,). ``loaded``: raw parameters by name, (n,) each, that are not as after a
    reset."""
    answer = design.run(function, raw, loaded)
    overflow = np.where(answer.overflow, Flag.OVERFLOW, 0)
    outside = np.where(design.tasks.functions[function].out_of_range(raw), Flag.RANGE, 0)
    return answer.values, overflow | outside


def raw_parameters(design: Design, robot: Robot) -> np.ndarray:
    """The raw parameters by which a calibratable design becomes that of ``robot``, in the order of their numbers."""
    calibration = design.network.calibration
    assert calibration is not None
    values = {}
    real = calibration.values(robot)
    for own, x in zip(calibration.parameters, real, strict=True):
        values[own.word.name] = x
    raw = []
    for parameter in design.tasks.parameters:
        x = values[parameter.name]
        quantised = parameter.format.quantise(x)
        raw.append(int(quantised))
    return np.array(raw)


def dense_results(
    design: Design, function: str, count: int, values: Sequence[np.ndarray]
) -> Results:
    """Raw results of ``count`` tasks of a function as float64 arrays by vector, shapes (n, nv) or (n, nv, nv); what the
    robot never has is zero."""
    words = design.tasks.functions[function].results
    real = []
    for word, x in zip(words, values, strict=True):
        real.append(word.format.real(x))
    return by_vector(design, function, count, real)


def by_vector(design: Design, function: str, count: int, values: Sequence[np.ndarray]) -> Results:
    """The results of ``count`` tasks of a function, one (n,) array per result word, as dense arrays by vector. There
    may be no words."""
    every = slice(None)
    quantities = design.network.options.quantities
    dense = {}
    for vector in design.network.options.returned(function):
        size = quantities[vector].size(design.robot)
        dense[vector] = np.zeros((count, *size))
    words = design.network.result_words(function)
    for word, value in zip(words, values, strict=True):
        array = dense[word.vector]
        array[(every, *word.index)] = value
        # symmetric matrices are sent as their lower triangles
        if quantities[word.vector].symmetric:
            array[(every, *mirrored(word.index))] = value
    return dense


def output_errors(design: Design, tasks: TaskSet, values: Sequence[np.ndarray]) -> Errors:
    """Errors of raw results against float64, by vector and by entry: ``max`` and ``rms``, shapes (nv,) or (nv, nv),
    relative to the entry's own largest magnitude at states of the same kind (:func:`entry_magnitudes`)."""
    errors = {}
    results = dense_results(design, tasks.function, tasks.count, values)
    known = entry_magnitudes(design, tasks.function)
    kinds = kinds_of(tasks.count, free_torques(tasks))
    for vector, real in results.items():
        truth = tasks.reference[vector]
        size = np.abs(real - truth)
        # free torques reach accelerations beside which errors of motions would look like nothing
        for kind, chosen in kinds.items():
            largest = np.max(np.abs(truth[chosen]), axis=0)
            if kind in known.by_kind:
                largest = np.maximum(largest, known.by_kind[kind][vector])
            size[chosen] /= entry_scales(largest, nothing=known.nothing[vector])
        square = np.mean(size**2, axis=0)
        largest = np.max(size, axis=0)
        errors[vector] = {"max": largest, "rms": np.sqrt(square)}
    return errors


@dataclass(frozen=True)
class EntryMagnitudes:
    """Magnitudes of a function's results: the largest magnitude of each entry ``by_kind`` of states and vector; and
    masks by vector of those that are ``nothing`` but rounding."""

    by_kind: dict[str, dict[str, np.ndarray]]
    nothing: dict[str, np.ndarray]


def entry_magnitudes(design: Design, function: str) -> EntryMagnitudes:
    """Magnitudes of a function's results, from states of their own."""
    states = task_states(design, SCALE_STATES, design.options.seed + SCALE_SEED)
    truth = reference(design, function, states)
    takes_torques = registry.function(function).takes_torques
    kinds = kinds_of(SCALE_STATES, states.free if takes_torques else None)
    found: dict[str, dict[str, np.ndarray]] = {}
    for kind, chosen in kinds.items():
        found[kind] = {v: np.max(np.abs(x[chosen]), axis=0) for v, x in truth.items()}
    given = given_values(design, function, states)
    return EntryMagnitudes(found, nothing_masks(design.network, function, given))


def given_values(design: Design, function: str, states: States) -> dict[str, np.ndarray]:
    """Values (n,) of a function's operands by word, and of loaded parameters as they are after a reset."""
    network = design.network
    given: dict[str, np.ndarray] = {}
    for word in network.operand_words(function):
        given[word.name] = np.asarray(states.vector(word.vector, word.index), float)
    for p in network.parameters:
        given[p.word.name] = np.full(len(states.q), p.nominal)
    return given


def free_torques(tasks: TaskSet) -> np.ndarray | None:
    """Whether tasks have any torques inside their limits (n,), not those of a motion; None where there are no such
    kinds."""
    return tasks.states.free if registry.function(tasks.function).takes_torques else None


def relative_errors(
    design: Design, tasks: TaskSet, values: Sequence[np.ndarray]
) -> tuple[float, float]:
    """Largest and rms error of raw results against float64, relative to each entry's own largest magnitude; of several
    outputs the worse."""
    return worst_errors(output_errors(design, tasks, values))


def worst_errors(errors: Errors) -> tuple[float, float]:
    """Of :func:`output_errors` the largest, and the rms over the entries of the vector that has the worst."""
    largest = []
    rms = []
    for error in errors.values():
        most = np.max(error["max"])
        largest.append(float(most))
        square = np.mean(error["rms"] ** 2)
        rms.append(float(np.sqrt(square)))
    return max(largest), max(rms)


def outside_states(design: Design, count: int, seed: int) -> States:
    """States of which each has an operand outside its declared range: some by far, some by less than the operand's last
    place."""
    s = task_states(design, count, seed)
    rng = np.random.default_rng(seed)
    parts = {name: np.array(getattr(s, name)) for name in ("q", "v", "a")}
    ranges = design.ranges
    v_max = np.array(ranges.v_max)
    a_max = np.array(ranges.a_max)
    limits = {
        "q": (np.array(ranges.q_lower), np.array(ranges.q_upper)),
        "v": (-v_max, v_max),
        "a": (-a_max, a_max),
    }
    chosen = rng.choice(list(parts), count)
    excess = _excess(rng, count)
    for name, x in parts.items():
        rows = np.flatnonzero(chosen == name)
        column = rng.integers(x.shape[1], size=len(rows))
        up = rng.random(len(rows)) < 0.5
        least, most = limits[name]
        lower = least[column]
        upper = most[column]
        distance = (upper - lower) * excess[rows]
        above = upper + distance
        below = lower - distance
        x[rows, column] = np.where(up, above, below)
    # torques are those of the states as they were moved
    return _complete(design, design.robot, replace(s, **parts), seed)


def _excess(rng: np.random.Generator, count: int) -> np.ndarray:
    """By how much operands are outside their ranges (count,), in units of these."""
    little = rng.random(count) < 0.5
    exponents = rng.uniform(-9, -3, count)
    much = rng.uniform(0.001, 2, count)
    return np.where(little, 10.0**exponents, much)
