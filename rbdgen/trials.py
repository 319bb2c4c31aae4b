"""Trials of a design without its hardware: random tasks, the bit-true model's answers, float64 results, and errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rbdgen import golden
from rbdgen.compiler import Design
from rbdgen.golden.arguments import RootMotion
from rbdgen.host.tasks import Flag
from rbdgen.layout.functions import ROLL_OUT, SYMMETRIC
from rbdgen.layout.samples import Samples, random_base, random_forces
from rbdgen.model.ranges import random_states
from rbdgen.model.robot import Robot


@dataclass(frozen=True)
class TaskSet:
    """Tasks of one function: the states they come from, raw operands, and the model's answers.

    ``expected`` are raw results, one (n,) array per result word; ``flags`` (n,) status flags; ``reference`` the float64
    results by vector, shapes (n, nv) or (n, nv, nv). ``parameters``: raw ones to be loaded before.
    """

    function: str
    states: Samples
    raw: list[np.ndarray]
    expected: list[np.ndarray]
    flags: np.ndarray
    reference: dict[str, np.ndarray]
    parameters: np.ndarray | None = None

    @property
    def count(self) -> int:
        """Number of tasks."""
        return len(self.flags)


def _root_motion(base: np.ndarray | None) -> RootMotion | None:
    """A base's motion as the golden model takes it, from the operands (n, 9): the origin's speed has no effect."""
    if base is None:
        return None
    still = np.zeros((len(base), 3))
    velocity = np.concatenate([still, base[:, :3]], axis=1)
    return RootMotion(velocity, np.concatenate([base[:, 6:], base[:, 3:6]], axis=1), still)


def task_states(design: Design, count: int, seed: int, robot: Robot | None = None) -> Samples:
    """Random states inside the declared ranges, with the torques and inverses that go with them for ``robot`` (default:
    the design's)."""
    robot, options = robot or design.robot, design.network.options
    q, v, a = random_states(robot, design.ranges, count, seed)
    f_ext, base = random_forces(robot, options, count, seed), random_base(options, count, seed)
    minv = golden.minverse(robot, q) if "difd" in design.network.functions else None
    tau = golden.rnea(robot, q, v, a, f_ext, root=_root_motion(base))
    return Samples(q, v, a, f_ext, tau, minv, base, steps=np.ones((count, 1), int))


def roll_out(design: Design, s: Samples, robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Float64 states (n, nq) and (n, nv) after each task's number of steps."""
    options, root = design.network.options, _root_motion(s.base)
    assert s.steps is not None
    h, q, v = options.time_step, s.q.copy(), s.v.copy()

    def acceleration(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return golden.forward_dynamics(robot, q, v, s.tau, s.f_ext, root=root)

    for step in range(int(s.steps.max())):
        if options.integrator == "euler":
            speed = v + h * acceleration(q, v)
            place = q + h * speed
        else:
            v1, a1 = v, acceleration(q, v)
            v2, a2 = v + h / 2 * a1, acceleration(q + h / 2 * v1, v + h / 2 * a1)
            v3, a3 = v + h / 2 * a2, acceleration(q + h / 2 * v2, v + h / 2 * a2)
            v4, a4 = v + h * a3, acceleration(q + h * v3, v + h * a3)
            place, speed = q + h / 6 * (v1 + 2 * v2 + 2 * v3 + v4), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        on = s.steps > step
        q, v = np.where(on, place, q), np.where(on, speed, v)
    return q, v


def reference(design: Design, function: str, s: Samples, robot: Robot | None = None) -> dict[str, np.ndarray]:
    """The function's results in float64 for ``robot`` (default: the design's), by vector."""
    robot, root = robot or design.robot, _root_motion(s.base)
    match function:
        case "id":
            results: Any = golden.rnea(robot, s.q, s.v, s.a, s.f_ext, root=root)
        case "fd":
            results = golden.forward_dynamics(robot, s.q, s.v, s.tau, s.f_ext, root=root)
        case "m":
            results = golden.crba(robot, s.q)
        case "minv":
            results = golden.minverse(robot, s.q)
        case ROLL_OUT.name:
            results = roll_out(design, s, robot)
        case "did":
            results = golden.rnea_derivatives(robot, s.q, s.v, s.a, s.f_ext, root=root)
        case _:
            results = golden.forward_dynamics_derivatives(robot, s.q, s.v, s.tau, s.f_ext, root=root)
    vectors = result_vectors(design, function)
    if function == "dfd" and "minv" in vectors:
        results = (*results, golden.minverse(robot, s.q))
    return dict(zip(vectors, results if len(vectors) > 1 else (results,), strict=True))


def result_vectors(design: Design, function: str) -> tuple[str, ...]:
    """The vectors and matrices that a function returns."""
    return tuple(dict.fromkeys(w.vector for w in design.network.result_words(function)))


def make_tasks(design: Design, function: str, states: Samples, robot: Robot | None = None) -> TaskSet:
    """Tasks for states, with the model's answers; of a calibratable design for ``robot``, whose parameters are to be
    loaded before (default: those after a reset)."""
    fmt, words = design.tasks.functions[function], design.network.operand_words(function)
    raw = fmt.quantise([states.vector(w.vector, w.index) for w in words])
    parameters, held = None, {}
    if robot is not None and design.network.calibration is not None:
        parameters = raw_parameters(design, robot)
        held = {p.name: np.full(len(states.q), x) for p, x in zip(design.tasks.parameters, parameters, strict=True)}
    answer = design.run(function, raw, held)
    flags = np.where(answer.overflow, Flag.OVERFLOW, 0) | np.where(fmt.out_of_range(raw), Flag.RANGE, 0)
    expected = reference(design, function, states, robot)
    return TaskSet(function, states, raw, answer.values, flags, expected, parameters)


def raw_parameters(design: Design, robot: Robot) -> np.ndarray:
    """The raw parameters by which a calibratable design becomes that of ``robot``, in the order of their numbers."""
    calibration = design.network.calibration
    assert calibration is not None
    values = {p.word.name: x for p, x in zip(calibration.parameters, calibration.values(robot), strict=True)}
    return np.array([int(p.format.quantise(values[p.name])) for p in design.tasks.parameters])


def dense_results(design: Design, function: str, values: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Raw results of a function as float64 arrays by vector, shapes (n, nv) or (n, nv, nv); what the robot never has is
    zero."""
    words, nv = design.network.result_words(function), design.robot.nv
    dense = {}
    for vector in result_vectors(design, function):
        shape = (nv,) if vector in ("tau", "a", *ROLL_OUT.results) else (nv, nv)
        dense[vector] = np.zeros((len(values[0]), *shape))
    for word, fmt, value in zip(words, design.tasks.functions[function].results, values, strict=True):
        real = fmt.format.real(value)
        dense[word.vector][(slice(None), *word.index)] = real
        if word.vector in SYMMETRIC:
            dense[word.vector][(slice(None), *reversed(word.index))] = real
    return dense


def output_errors(design: Design, tasks: TaskSet, values: Sequence[np.ndarray]) -> dict[str, dict[str, np.ndarray]]:
    """Errors of raw results against float64, by vector and by entry: ``max`` and ``rms``, shapes (nv,) or (nv, nv),
    relative to the largest magnitude of that vector or matrix among all tasks."""
    errors = {}
    for vector, real in dense_results(design, tasks.function, values).items():
        truth = tasks.reference[vector]
        error = np.abs(real - truth) / np.max(np.abs(truth))
        errors[vector] = {"max": np.max(error, axis=0), "rms": np.sqrt(np.mean(error**2, axis=0))}
    return errors


def relative_errors(design: Design, tasks: TaskSet, values: Sequence[np.ndarray]) -> tuple[float, float]:
    """Largest and rms error of raw results against float64, relative to the largest magnitude of each output; of
    several outputs the worse."""
    return worst_errors(output_errors(design, tasks, values))


def worst_errors(errors: dict[str, dict[str, np.ndarray]]) -> tuple[float, float]:
    """Of :func:`output_errors` the largest, and the rms over the entries of the vector that has the worst."""
    worst = max(float(np.max(e["max"])) for e in errors.values())
    return worst, max(float(np.sqrt(np.mean(e["rms"] ** 2))) for e in errors.values())


def outside_states(design: Design, count: int, seed: int) -> Samples:
    """States of which each has an operand outside its declared range: some by far, some by less than the operand's last
    place."""
    s = task_states(design, count, seed)
    rng = np.random.default_rng(seed)
    parts = {name: np.array(getattr(s, name)) for name in ("q", "v", "a")}
    ranges = design.ranges
    lower = {"q": np.array(ranges.q_lower), "v": -np.array(ranges.v_max), "a": -np.array(ranges.a_max)}
    upper = {"q": np.array(ranges.q_upper), "v": np.array(ranges.v_max), "a": np.array(ranges.a_max)}
    chosen = rng.choice(list(parts), count)
    excess = np.where(rng.random(count) < 0.5, 10.0 ** rng.uniform(-9, -3, count), rng.uniform(0.001, 2, count))
    for name, x in parts.items():
        rows = np.flatnonzero(chosen == name)
        column = rng.integers(x.shape[1], size=len(rows))
        up = rng.random(len(rows)) < 0.5
        span = (upper[name] - lower[name])[column] * excess[rows]
        x[rows, column] = np.where(up, upper[name][column] + span, lower[name][column] - span)
    tau = golden.rnea(design.robot, parts["q"], parts["v"], parts["a"], s.f_ext, root=_root_motion(s.base))
    minv = golden.minverse(design.robot, parts["q"]) if s.minv is not None else None
    return Samples(parts["q"], parts["v"], parts["a"], s.f_ext, tau, minv, s.base)
