"""One step of time, and what it does to small changes: x⁺ = x(q, v, τ, h) and its Jacobians A = ∂x⁺/∂x, B = ∂x⁺/∂τ.

Semi-implicit Euler: v⁺ = v + h a, q⁺ = q + h v⁺, one evaluation of the acceleration with its derivatives. The classical
Runge-Kutta method: four, K_i = A_i (1 + c_i h K_{i−1}) and L_i = B_i + c_i h A_i L_{i−1} with those of ẋ at each, as
Crocoddyl's integrated action models. q and v are plain vectors here: joints whose coordinates are their velocity's
integral. Integration is submodule ``In_i`` of a degree of freedom's body.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property

from rbdgen.algo.composite import composite_inertias, derivatives, mass_matrix
from rbdgen.algo.factorisation import (
    along_tree,
    both_triangles,
    dof_bodies,
    negated_product,
    remaining_torques,
)
from rbdgen.algo.following import Entries
from rbdgen.algo.rnea import Motion, Wrench, inward_sweep, joint_placements, outward_sweep
from rbdgen.algo.submodules import Enter, anywhere
from rbdgen.model.joint import JointPlacement
from rbdgen.model.robot import Robot
from rbdgen.spatial import Scalar, Vector, add, mul

EULER, RUNGE_KUTTA = "euler", "rk4"
COEFFICIENTS = {
    EULER: ((1.0, 1.0),),
    RUNGE_KUTTA: ((0.5, 1 / 6), (0.5, 1 / 3), (1.0, 1 / 3), (0.0, 1 / 6)),
}
"""By integrator, of each evaluation of a step, in units of the time step: how far from the step's begin the next
evaluation is, and its own weight. Euler's are built in."""


@dataclass(frozen=True)
class Given:
    """What a step takes of its robot and of its task: ``torques`` (nv), the ``base``'s motion and external ``forces``;
    where it is there already, τ − ID(q, v, 0) at the step's begin (``rest``)."""

    robot: Robot
    torques: Vector
    base: Motion
    forces: tuple[Wrench, ...] | None
    enter: Enter = anywhere
    rest: Sequence[Scalar] | None = None

    @cached_property
    def bodies(self) -> tuple[int, ...]:
        """For each entry of a state the body of its degree of freedom."""
        bodies = dof_bodies(self.robot)
        return bodies + bodies

    def integrating(self, k: int) -> AbstractContextManager[None]:
        """Text of an entry of a state belongs to its integration."""
        return self.enter("In", self.bodies[k])

    def multiplying(self, k: int) -> AbstractContextManager[None]:
        """Text of a degree of freedom belongs to its row of products with M⁻¹."""
        return self.enter("Mx", self.bodies[k])


@dataclass(frozen=True)
class Linear:
    """An acceleration (nv), and by entry ``scale`` times its derivatives by q, v and τ."""

    acceleration: Vector
    by_position: Entries
    by_velocity: Entries
    by_torque: Entries


@dataclass(frozen=True)
class Step:
    """The next q and v (nv each), and A (2 nv, 2 nv) and B (2 nv, nv) by entry, both of the state [q, v]."""

    position: Vector
    velocity: Vector
    by_state: Entries
    by_torque: Entries


def _rest(given: Given, joints: list[JointPlacement], v: Vector) -> Sequence[Scalar]:
    """τ − ID(q, v, 0)."""
    robot, enter = given.robot, given.enter
    still = (0.0,) * robot.nv
    _, wrenches = outward_sweep(robot, joints, v, still, given.forces, enter, given.base)
    effects, _ = inward_sweep(robot, joints, v, still, wrenches, enter)
    return remaining_torques(robot, given.torques, effects, enter)


def linearised(
    given: Given, q: Vector, v: Vector, scale: float = 1.0, rest: Sequence[Scalar] | None = None
) -> Linear:
    """Forward dynamics at ``q`` and ``v``; M⁻¹ is multiplied by ``scale`` where it makes derivatives. ``rest``: what
    torques leave there to accelerations, where that is known."""
    robot, enter = given.robot, given.enter
    joints = joint_placements(robot, q, enter)
    if rest is None:
        rest = _rest(given, joints, v)
    inertias = composite_inertias(robot, joints, enter)
    mass = mass_matrix(robot, joints, inertias, enter)
    along = along_tree(robot, enter)
    factors = along.factorise(mass.entries)
    bodies = dof_bodies(robot)
    acceleration = along.solve(factors, rest)
    motions, wrenches = outward_sweep(
        robot, joints, v, acceleration, given.forces, enter, given.base
    )
    _, totals = inward_sweep(robot, joints, v, acceleration, wrenches, enter)
    found = derivatives(robot, joints, v, given.base, motions, totals, inertias, mass, enter)
    inverse: Entries = {}
    for (i, j), x in along.inverse(factors).items():
        with enter("Mi", bodies[i]):
            inverse[i, j] = mul(scale, x)
    by_position = negated_product(robot, inverse, found.by_position, enter)
    by_velocity = negated_product(robot, inverse, found.by_velocity, enter)
    return Linear(acceleration, by_position, by_velocity, both_triangles(inverse))


def euler_step(given: Given, q: Vector, v: Vector, h: float) -> Step:
    """A semi-implicit step of ``h`` seconds."""
    nv = given.robot.nv
    now = linearised(given, q, v, h, given.rest)
    speeds: list[Scalar] = []
    places: list[Scalar] = []
    for k, a in enumerate(now.acceleration):
        with given.integrating(k):
            gained = mul(h, a)
            speed = add(v[k], gained)
            moved = mul(h, speed)
            speeds.append(speed)
            places.append(add(q[k], moved))
    below = _side_by_side(now, nv)
    for k in range(nv):
        with given.integrating(k):
            _increase(below, (k, nv + k), 1.0)
    by_state = _semi_implicit(given, below, h)
    for k in range(nv):
        with given.integrating(k):
            _increase(by_state, (k, k), 1.0)
    by_torque = _semi_implicit(given, now.by_torque, h)
    return Step(tuple(places), tuple(speeds), by_state, by_torque)


def _increase(entries: Entries, place: tuple[int, int], x: Scalar) -> None:
    """Add to an entry (in place)."""
    before = entries.get(place, 0.0)
    entries[place] = add(before, x)


def _side_by_side(now: Linear, nv: int) -> Entries:
    """Derivatives of accelerations by the whole state."""
    result = dict(now.by_position)
    for (i, j), x in now.by_velocity.items():
        result[i, nv + j] = x
    return result


def _semi_implicit(given: Given, rows: Entries, h: float) -> Entries:
    """Rows of velocities, and ``h`` times them above: the positions move at the new velocity."""
    result: Entries = {}
    for (i, j), x in rows.items():
        with given.integrating(i):
            result[i, j] = mul(h, x)
        result[given.robot.nv + i, j] = x
    return result


def runge_kutta_step(given: Given, q: Vector, v: Vector, h: float) -> Step:
    """A step of ``h`` seconds by the classical Runge-Kutta method."""
    robot = given.robot
    nv = robot.nv
    begun = (*q, *v)
    slope: Sequence[Scalar] = (0.0,) * (2 * nv)
    by_state: Entries = {}
    by_torque: Entries = {}
    total: list[Scalar] = list(begun)
    all_state: Entries = {}
    all_torque: Entries = {}
    far = 0.0
    for further, weight in COEFFICIENTS[RUNGE_KUTTA]:
        state: list[Scalar] = []
        for k, x in enumerate(slope):
            with given.integrating(k):
                moved = mul(far * h, x)
                state.append(add(begun[k], moved))
        rest = given.rest if far == 0.0 else None
        place = tuple(state[:nv])
        speed = tuple(state[nv:])
        now = linearised(given, place, speed, rest=rest)
        slope = (*speed, *now.acceleration)
        by_state, by_torque = _chained(given, now, by_state, by_torque, far * h)
        for k, x in enumerate(slope):
            with given.integrating(k):
                moved = mul(weight * h, x)
                total[k] = add(total[k], moved)
        _accumulate(given, all_state, by_state, weight * h)
        _accumulate(given, all_torque, by_torque, weight * h)
        far = further
    for k in range(2 * nv):
        with given.integrating(k):
            _increase(all_state, (k, k), 1.0)
    places = tuple(total[:nv])
    speeds = tuple(total[nv:])
    return Step(places, speeds, all_state, all_torque)


def _chained(
    given: Given, now: Linear, by_state: Entries, by_torque: Entries, way: float
) -> tuple[Entries, Entries]:
    """Derivatives of an evaluation's slope [v, a] by the step's begin and by τ, from those of the slope before, which
    moved the state by ``way`` seconds."""
    nv = given.robot.nv
    moved = _moved(given, by_state, way)
    for k in range(2 * nv):
        with given.integrating(k):
            _increase(moved, (k, k), 1.0)
    pushed = _moved(given, by_torque, way)
    state = _through(given, now, moved)
    torque = _through(given, now, pushed)
    for (i, j), x in now.by_torque.items():
        with given.multiplying(i):
            _increase(torque, (nv + i, j), x)
    return state, torque


def _moved(given: Given, slopes: Entries, way: float) -> Entries:
    """``way`` times derivatives of a slope."""
    result: Entries = {}
    if way == 0.0:
        return result
    for (i, j), x in slopes.items():
        with given.integrating(i):
            result[i, j] = mul(way, x)
    return result


def _through(given: Given, now: Linear, moved: Entries) -> Entries:
    """[[0, 1], [∂a/∂q, ∂a/∂v]] times a matrix."""
    nv = given.robot.nv
    result: Entries = {}
    for (i, j), x in moved.items():
        if i >= nv:
            result[i - nv, j] = x
    own = _side_by_side(now, nv)
    by_row: dict[int, list[tuple[int, Scalar]]] = {}
    for (k, j), x in moved.items():
        by_row.setdefault(k, []).append((j, x))
    for (i, k), factor in own.items():
        with given.multiplying(i):
            for j, x in by_row.get(k, ()):
                term = mul(factor, x)
                _increase(result, (nv + i, j), term)
    return result


def _accumulate(given: Given, total: Entries, slopes: Entries, weight: float) -> None:
    """Add ``weight`` times derivatives of a slope (in place)."""
    for (i, j), x in slopes.items():
        with given.integrating(i):
            term = mul(weight, x)
            _increase(total, (i, j), term)
