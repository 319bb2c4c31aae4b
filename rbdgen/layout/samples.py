"""States to find ranges at: operands of all kinds, with the torques and inverses that go with them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rbdgen.algo.composite import composite_inertias, mass_matrix
from rbdgen.algo.rnea import Motion, acceleration_gradient, joint_placements, rnea, wrenches
from rbdgen.errors import UnsupportedError
from rbdgen.layout.calibration import Calibration
from rbdgen.layout.rollout import BEGIN, COEFFICIENTS, SUM, WEIGHTS
from rbdgen.layout.words import (
    BASE_ACCELERATION,
    BASE_ANGULAR_ACCELERATION,
    BASE_ANGULAR_VELOCITY,
    TraceOptions,
)
from rbdgen.model.ranges import InputRanges, extreme_states, random_states
from rbdgen.model.robot import Robot
from rbdgen.spatial import Vector


@dataclass(frozen=True)
class Samples:
    """States, shapes (n, …): ``q``, ``v``, ``a``, ``f_ext`` (n, bodies, 6) or None, ``tau`` that goes with them,
    ``minv`` (n, nv, nv) or None, ``base`` (n, 9) or None, ``parameters`` (n, k) or None; of roll-outs the number of
    ``steps`` (n, 1) and the ``weights`` c and b (n, 2) of an evaluation, or None."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    f_ext: np.ndarray | None
    tau: np.ndarray
    minv: np.ndarray | None
    base: np.ndarray | None = None
    parameters: np.ndarray | None = None
    steps: np.ndarray | None = None
    weights: np.ndarray | None = None

    def vector(self, name: str, index: tuple[int, ...]) -> np.ndarray:
        """One word's values (n,). Where a step of a roll-out began, and its sum, are about where it is now."""
        kept = {WEIGHTS: "weights"} | {x + kind: x for x in ("q", "v") for kind in (BEGIN, SUM)}
        return getattr(self, kept.get(name, name))[(slice(None), *index)]


def columns(x: np.ndarray) -> Vector:
    """An array (n, k) as k scalars of shape (n,)."""
    return tuple(np.moveaxis(x, -1, 0))


def given_motion(base: Vector) -> Motion:
    """The base's motion from its 9 operands, all in the base's coordinates: angular velocity, angular acceleration,
    and the acceleration of its origin less gravity, which is what an accelerometer there shows."""
    omega, alpha, acceleration = base[:3], base[3:6], base[6:9]
    return Motion(omega, alpha, acceleration, acceleration_gradient(omega, alpha))


def _batch(x: Vector, count: int) -> np.ndarray:
    """Scalars as an array (count, k)."""
    return np.stack([np.broadcast_to(s, count) for s in x], axis=-1)


def random_forces(robot: Robot, options: TraceOptions, count: int, seed: int) -> np.ndarray | None:
    """External forces (count, bodies, 6) inside their declared range, where they are operands."""
    if not options.forces:
        return None
    limits = np.array([options.force_limit] * 3 + [options.moment_limit] * 3)
    return np.random.default_rng(seed).uniform(-1, 1, (count, len(robot.bodies), 6)) * limits


def random_base(options: TraceOptions, count: int, seed: int) -> np.ndarray | None:
    """Motions of the base (count, 9) inside their declared range, where they are operands."""
    if not options.moving_base:
        return None
    limits = np.repeat([BASE_ANGULAR_VELOCITY, BASE_ANGULAR_ACCELERATION, BASE_ACCELERATION], 3)
    return np.random.default_rng(seed + 1).uniform(-1, 1, (count, 9)) * limits


def make_samples(
    robot: Robot,
    cheap: Robot,
    ranges: InputRanges,
    options: TraceOptions,
    calibration: Calibration | None,
    count: int,
    seed: int,
) -> Samples:
    """``count`` states, half uniform in ``ranges``, half straining them; ``cheap`` is the equivalent robot."""
    states = (f(robot, ranges, count // 2, seed) for f in (random_states, extreme_states))
    q, v, a = (np.concatenate(parts) for parts in zip(*states, strict=True))
    f_ext, base = random_forces(robot, options, len(q), seed), random_base(options, len(q), seed)
    parameters = None
    if calibration is not None:
        parameters = calibration.variations[np.arange(len(q)) % len(calibration.variations)]
        cheap = calibration.applied(columns(parameters))
    motion = None if base is None else given_motion(columns(base))
    tau = _batch(rnea(cheap, columns(q), columns(v), columns(a), base=motion), len(q))
    if f_ext is not None:
        # torques are linear in the forces, which act in the frames of the robot as it was given
        still, forces = (0.0,) * robot.nv, wrenches(columns(f_ext.reshape(len(q), -1)))
        pushed, rest = (rnea(robot, columns(q), still, still, f) for f in (forces, None))
        tau = tau + _batch(pushed, len(q)) - _batch(rest, len(q))
    minv = _inverses(cheap, q) if options.needs_inverse else None
    table = options.time_step * np.array(COEFFICIENTS[options.integrator])
    return Samples(q, v, a, f_ext, tau, minv, base, parameters, weights=table[np.arange(len(q)) % len(table)])


def _inverses(cheap: Robot, q: np.ndarray) -> np.ndarray:
    """M⁻¹ (n, nv, nv) at ``q`` (n, nq); UnsupportedError where M is not positive definite."""
    joints = joint_placements(cheap, columns(q))
    entries = mass_matrix(cheap, joints, composite_inertias(cheap, joints)).entries
    m = np.zeros((len(q), cheap.nv, cheap.nv))
    for (i, j), x in entries.items():
        m[:, i, j] = m[:, j, i] = x
    smallest = np.linalg.eigvalsh(m)[:, 0]
    if smallest.min() <= 0:
        share = np.mean(smallest <= 0)
        raise UnsupportedError(
            f"robot {cheap.name!r}: its mass matrix is not positive definite at {share:.1%} of the declared range "
            f"(smallest eigenvalue {smallest.min():.3g}), so that fd, minv, dfd and difd have no meaning; mend the "
            "inertias that no body can have (a warning names them), or ask for id, m and did only"
        )
    return np.linalg.inv(m)
