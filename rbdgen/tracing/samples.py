"""States to find ranges at: operands of all kinds, with the torques and inverses that go with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from rbdgen.algo.composite import composite_inertias, mass_matrix
from rbdgen.algo.rnea import Motion, acceleration_gradient, joint_placements, rnea, wrenches
from rbdgen.errors import UnsupportedError
from rbdgen.functions import registry
from rbdgen.functions.closing import nearly_closed_states
from rbdgen.functions.quantities import States
from rbdgen.model.ranges import InputRanges, extreme_states, random_states
from rbdgen.model.robot import Robot
from rbdgen.spatial import Vector
from rbdgen.tracing.calibration import Calibration
from rbdgen.tracing.trace_options import TraceOptions
from rbdgen.tracing.words import BASE_ACCELERATION, BASE_ANGULAR_ACCELERATION, BASE_ANGULAR_VELOCITY

AFTER_RESET = 0.25
"""Share of the states at which a calibratable design has the robot's own parameters."""


def columns(x: np.ndarray) -> Vector:
    """An array (n, k) as k scalars of shape (n,)."""
    return tuple(np.moveaxis(x, -1, 0))


def given_motion(base: Vector) -> Motion:
    """The base's motion from its 9 operands, all in the base's coordinates: angular velocity, angular acceleration,
    and the acceleration of its origin less gravity, which is what an accelerometer there shows."""
    omega = base[:3]
    alpha = base[3:6]
    acceleration = base[6:9]
    gradient = acceleration_gradient(omega, alpha)
    return Motion(omega, alpha, acceleration, gradient)


def _batch(x: Vector, count: int) -> np.ndarray:
    """Scalars as an array (count, k)."""
    scalars = [np.broadcast_to(s, count) for s in x]
    return np.stack(scalars, axis=-1)


def random_forces(robot: Robot, options: TraceOptions, count: int, seed: int) -> np.ndarray | None:
    """External forces (count, bodies, 6) inside their declared range, where they are operands."""
    if not options.forces:
        return None
    limits = np.repeat([options.force_limit, options.moment_limit], 3)
    rng = np.random.default_rng(seed)
    shares = rng.uniform(-1, 1, (count, len(robot.bodies), 6))
    return shares * limits


def random_base(options: TraceOptions, count: int, seed: int) -> np.ndarray | None:
    """Motions of the base (count, 9) inside their declared range, where they are operands."""
    if not options.moving_base:
        return None
    limits = np.repeat([BASE_ANGULAR_VELOCITY, BASE_ANGULAR_ACCELERATION, BASE_ACCELERATION], 3)
    # the forces' own seed would draw their numbers again
    rng = np.random.default_rng(seed + 1)
    shares = rng.uniform(-1, 1, (count, 9))
    return shares * limits


def random_others(
    robot: Robot, options: TraceOptions, count: int, seed: int
) -> dict[str, np.ndarray]:
    """Values (count, …) of the operands whose range is declared with them, by name, but for those with a format of
    their own."""
    found: dict[str, np.ndarray] = {}
    for f in options.records:
        for quantity in f.operands:
            if quantity.limits is None or quantity.format or quantity.name in found:
                continue
            rng = np.random.default_rng([seed, len(found), count])
            size = quantity.size(robot)
            lower, upper = quantity.limits
            shares = rng.uniform(lower, upper, (count, *size))
            if quantity.whole:
                shares = rng.integers(int(lower), int(upper) + 1, (count, *size)).astype(float)
            found[quantity.name] = shares * np.resize(quantity.scaled(robot), size)
    return found


def bounded_others(
    robot: Robot, options: TraceOptions, q: np.ndarray, others: Mapping[str, np.ndarray]
) -> Mapping[str, np.ndarray]:
    """``others`` at ``q`` (n, nq) such that all functions' results have bounds there."""
    for f in options.records:
        if f.bounded:
            others = f.bounded(robot, options, q, others)
    return others


def looped_states(
    robot: Robot, options: TraceOptions, ranges: InputRanges, q: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """``q`` (n, nq) and ``v`` (n, nv), or states near them at which loops are closed, if a function keeps them so."""
    if any(f.closes for f in options.records):
        return nearly_closed_states(robot, ranges, q, v)
    return q, v


def make_samples(
    robot: Robot,
    cheap: Robot,
    ranges: InputRanges,
    options: TraceOptions,
    calibration: Calibration | None,
    count: int,
    seed: int,
) -> States:
    """``count`` states, half uniform in ``ranges``, half straining them; ``cheap`` is the equivalent robot."""
    uniform = random_states(robot, ranges, count // 2, seed)
    straining = extreme_states(robot, ranges, count // 2, seed)
    q, v, a = map(np.concatenate, zip(uniform, straining, strict=True))
    q, v = looped_states(robot, options, ranges, q, v)
    # of an odd count one less, as halves are whole
    made = len(q)
    f_ext = random_forces(robot, options, made, seed)
    base = random_base(options, made, seed)
    parameters = None
    if calibration is not None:
        parameters = _loaded(calibration.variations, made, seed)
    weights = None
    if options.weights:
        weights = _repeated(np.array(options.weights), made)
    steps = np.ones((made, 1))
    others = random_others(robot, options, made, seed)
    others = bounded_others(robot, options, q, others)
    # in their place until all that torques depend on is drawn
    tau = np.zeros_like(v)
    states = States(q, v, a, f_ext, tau, None, base, parameters, steps, weights, others=others)
    tau = sampled_torques(robot, cheap, calibration, states)
    minv = None
    if options.takes_inverse:
        minv = _inverses(_with_parameters(cheap, calibration, states), q)
    return replace(states, tau=tau, minv=minv)


def sampled_torques(
    robot: Robot, cheap: Robot, calibration: Calibration | None, states: States
) -> np.ndarray:
    """The torques (n, nv) of the motions of ``states``; ``cheap`` is the equivalent robot."""
    made = len(states.q)
    positions = columns(states.q)
    motion = None
    if states.base is not None:
        motion = given_motion(columns(states.base))
    own = _with_parameters(cheap, calibration, states)
    torques = rnea(own, positions, columns(states.v), columns(states.a), base=motion)
    tau = _batch(torques, made)
    if states.f_ext is not None:
        # torques are linear in the forces, which act in the frames of the robot as it was given
        still = (0.0,) * robot.nv
        forces = wrenches(columns(states.f_ext.reshape(made, -1)))
        pushed = rnea(robot, positions, still, still, forces)
        rest = rnea(robot, positions, still, still)
        tau = tau + _batch(pushed, made) - _batch(rest, made)
    return tau


def _with_parameters(cheap: Robot, calibration: Calibration | None, states: States) -> Robot:
    """The equivalent robot with the states' own parameters, where these are loaded."""
    if calibration is None or states.parameters is None:
        return cheap
    return calibration.applied(columns(states.parameters))


def _loaded(variations: np.ndarray, count: int, seed: int) -> np.ndarray:
    """``count`` rows of ``variations``, the first of which is what a reset leaves: that has a share of its own."""
    rng = np.random.default_rng([seed, count])
    numbers = rng.integers(len(variations), size=count)
    numbers[rng.uniform(size=count) < AFTER_RESET] = 0
    return variations[numbers]


def _repeated(rows: np.ndarray, count: int) -> np.ndarray:
    """``count`` rows, these again and again."""
    numbers = np.arange(count) % len(rows)
    return rows[numbers]


def _inverses(cheap: Robot, q: np.ndarray) -> np.ndarray:
    """M⁻¹ (n, nv, nv) at ``q`` (n, nq); UnsupportedError where M is not positive definite."""
    joints = joint_placements(cheap, columns(q))
    inertias = composite_inertias(cheap, joints)
    entries = mass_matrix(cheap, joints, inertias).entries
    m = np.zeros((len(q), cheap.nv, cheap.nv))
    for (i, j), x in entries.items():
        m[:, i, j] = x
        m[:, j, i] = x
    smallest = np.linalg.eigvalsh(m)[:, 0]
    if smallest.min() <= 0:
        share = np.mean(smallest <= 0)
        records = registry.known().values()
        inverted = ", ".join(f.name for f in records if f.takes_inverse)
        without = ", ".join(f.name for f in records if not f.takes_inverse)
        raise UnsupportedError(
            f"robot {cheap.name!r}: its mass matrix is not positive definite at {share:.1%} of the declared range "
            f"(smallest eigenvalue {smallest.min():.3g}), so that {inverted} have no meaning; mend the "
            "inertias that no body can have (a warning names them), or ask for "
            f"{without} only"
        )
    return np.linalg.inv(m)
