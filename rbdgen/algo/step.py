"""One step of time, and what it does to small changes: x⁺ = x(q, v, τ, h) and its Jacobians A = ∂x⁺/∂x, B = ∂x⁺/∂τ.

Semi-implicit Euler: v⁺ = v + h a, q⁺ = q + h v⁺, one evaluation of the acceleration with its derivatives. The classical
Runge-Kutta method: four, K_i = A_i (1 + c_i h K_{i−1}) and L_i = B_i + c_i h A_i L_{i−1} with those of ẋ at each, as
Crocoddyl's integrated action models. x moves on its joints' manifolds, and its
Jacobians are those of its tangent. Velocities of a body that turns are added as if its axes stood still for the step,
as Crocoddyl's are: what that leaves out of a Runge-Kutta step is h³ ω × ω̇ / 12 of a quaternion's turn.

A state is [q, v] with a tangent of 2 nv: of its changes, those of q are velocities of the joints. A way moves q by the
exponential of each joint and adds to v, as Pinocchio's ``integrate`` and Crocoddyl's states. Integration is submodule
``In_i`` of a degree of freedom's body.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
from rbdgen.algo.following import Entries, increase
from rbdgen.algo.rnea import Motion, Wrench, inward_sweep, joint_placements, outward_sweep
from rbdgen.model.joints import JointPlacement
from rbdgen.model.rigid_motions import Functions
from rbdgen.model.robot import Robot
from rbdgen.spatial import Enter, Matrix, Scalar, Vector, add, anywhere, is_constant, mul


class Integration:
    """A robot's, by ``functions`` of the angles by which its joints turn (:mod:`rbdgen.model.rigid_motions`)."""

    def __init__(self, robot: Robot, functions: Functions, enter: Enter = anywhere) -> None:
        self.robot = robot
        self.functions = functions
        self.enter = enter

    @cached_property
    def bodies(self) -> tuple[int, ...]:
        """For each entry of a state's tangent the body of its degree of freedom."""
        bodies = dof_bodies(self.robot)
        return bodies + bodies

    def of_entry(self, k: int) -> AbstractContextManager[None]:
        """Text of an entry of a state's tangent belongs to its integration."""
        return self.enter("In", self.bodies[k])

    def scaled(self, factor: float, rows: Entries) -> Entries:
        """``factor`` times entries by row of the tangent and column; none if it is zero."""
        result: Entries = {}
        if factor == 0.0:
            return result
        for (i, j), x in rows.items():
            with self.of_entry(i):
                result[i, j] = mul(factor, x)
        return result

    def moved(self, q: Vector, way: Vector) -> Vector:
        """q (nq) after a ``way`` (nv)."""
        result: list[Scalar] = []
        for body, own_q, own_v in self.robot.independent:
            own = q[own_q]
            # a step of no length, as the first of Runge-Kutta's, moves nothing
            if not all(is_constant(x, 0) for x in way[own_v]):
                with self.of_entry(own_v.start):
                    own = body.joint.moved(own, way[own_v], self.functions)
            result += own
        return tuple(result)

    def changes(self, way: Vector) -> Changes:
        """Changes at the end of a ``way`` (nv), by those before it and of it."""
        by_start: Entries = {}
        by_way: dict[int, list[tuple[int, Scalar]]] = {}
        for body, _, own in self.robot.independent:
            with self.of_entry(own.start):
                start, through = body.joint.moved_by(way[own], self.functions)
            for (i, k), x in _entries(start, own.start):
                by_start[i, k] = x
            for (i, k), x in _entries(through, own.start):
                by_way.setdefault(k, []).append((i, x))
        return Changes(self, by_start, by_way)


class Changes:
    """On a way: ``by_start`` the entries of what a change of q at its start becomes, and by column those of what a
    change of the way itself does."""

    def __init__(
        self, own: Integration, by_start: Entries, by_way: dict[int, list[tuple[int, Scalar]]]
    ) -> None:
        self.own = own
        self.by_start = by_start
        self.by_way = by_way

    def through(self, ways: Entries) -> Entries:
        """Changes of the state's tangent by changes of the way, by the ways' entries; v changes by those of v."""
        result: Entries = {}
        for (k, j), x in ways.items():
            # velocities are added: their part of the tangent is flat
            if k >= self.own.robot.nv:
                result[k, j] = x
                continue
            for i, factor in self.by_way[k]:
                with self.own.of_entry(i):
                    term = mul(factor, x)
                    increase(result, (i, j), term)
        return result

    def with_start(self, ways: Entries) -> Entries:
        """As :meth:`through`, and what changes of the state at the start become."""
        result = self.through(ways)
        nv = self.own.robot.nv
        held = dict(self.by_start)
        for k in range(nv, 2 * nv):
            held[k, k] = 1.0
        for (i, j), x in held.items():
            with self.own.of_entry(i):
                increase(result, (i, j), x)
        return result


def _entries(m: Matrix, first: int) -> Iterable[tuple[tuple[int, int], Scalar]]:
    """Entries of a block on the diagonal that are not zero, by row and column."""
    for i, row in enumerate(m):
        for j, x in enumerate(row):
            if not is_constant(x, 0):
                yield (first + i, first + j), x


EULER, RUNGE_KUTTA = "euler", "rk4"
COEFFICIENTS = {
    EULER: ((1.0, 1.0),),
    RUNGE_KUTTA: ((0.5, 1 / 6), (0.5, 1 / 3), (1.0, 1 / 3), (0.0, 1 / 6)),
}
"""By integrator, of each evaluation of a step, in units of the time step: how far from the step's begin the next
evaluation is, and its own weight. Euler's are built in."""


@dataclass(frozen=True)
class Given:
    """A step's data of its robot and of its task: ``torques`` (nv), the ``base``'s motion and external ``forces``;
    where it is there already, τ − ID(q, v, 0) at the step's begin (``rest``); ``functions`` of the angles by which
    joints turn."""

    robot: Robot
    torques: Vector
    base: Motion
    forces: tuple[Wrench, ...] | None
    functions: Functions
    enter: Enter = anywhere
    rest: Sequence[Scalar] | None = None

    @cached_property
    def integration(self) -> Integration:
        """The motion of states."""
        return Integration(self.robot, self.functions, self.enter)

    def multiplying(self, k: int) -> AbstractContextManager[None]:
        """Text of a degree of freedom belongs to its row of products with M⁻¹."""
        return self.enter("Mx", self.integration.bodies[k])


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
    # M is needed twice, for the acceleration and for its derivatives
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
            # scaled once here, instead of every entry of two products
            inverse[i, j] = mul(scale, x)
    by_position = negated_product(robot, inverse, found.by_position, enter)
    by_velocity = negated_product(robot, inverse, found.by_velocity, enter)
    return Linear(acceleration, by_position, by_velocity, both_triangles(inverse))


def euler_step(given: Given, q: Vector, v: Vector, h: float) -> Step:
    """A semi-implicit step of ``h`` seconds."""
    now = linearised(given, q, v, h, given.rest)
    return semi_implicit_step(given.integration, now, q, v, h)


def semi_implicit_step(
    integration: Integration, now: Linear, q: Vector, v: Vector, h: float
) -> Step:
    """A semi-implicit step of ``h`` seconds by the acceleration at its begin, ``now``, with ``h`` times its
    derivatives."""
    nv = integration.robot.nv
    speeds: list[Scalar] = []
    way: list[Scalar] = []
    for k, a in enumerate(now.acceleration):
        with integration.of_entry(k):
            gained = mul(h, a)
            speed = add(v[k], gained)
            way.append(mul(h, speed))
        speeds.append(speed)
    changes = integration.changes(tuple(way))
    faster = _side_by_side(now, nv)
    for k in range(nv):
        with integration.of_entry(k):
            # v⁺ = v + h a: its derivative by v is one more
            increase(faster, (k, nv + k), 1.0)
    by_state = changes.through(_semi_implicit(integration, faster, h))
    for (i, j), x in changes.by_start.items():
        with integration.of_entry(i):
            increase(by_state, (i, j), x)
    by_torque = changes.through(_semi_implicit(integration, now.by_torque, h))
    place = integration.moved(q, tuple(way))
    return Step(place, tuple(speeds), by_state, by_torque)


def _side_by_side(now: Linear, nv: int) -> Entries:
    """Derivatives of accelerations by the whole state."""
    result = dict(now.by_position)
    for (i, j), x in now.by_velocity.items():
        result[i, nv + j] = x
    return result


def _semi_implicit(integration: Integration, faster: Entries, h: float) -> Entries:
    """By rows of the new velocity those of a state's way: positions move at that velocity for ``h`` seconds."""
    result = integration.scaled(h, faster)
    for (i, j), x in faster.items():
        result[integration.robot.nv + i, j] = x
    return result


def runge_kutta_step(given: Given, q: Vector, v: Vector, h: float) -> Step:
    """A step of ``h`` seconds by the classical Runge-Kutta method."""
    integration = given.integration
    slope: Sequence[Scalar] = (0.0,) * (2 * given.robot.nv)
    by_state: Entries = {}
    by_torque: Entries = {}
    total = list(slope)
    all_state: Entries = {}
    all_torque: Entries = {}
    far = 0.0
    for further, weight in COEFFICIENTS[RUNGE_KUTTA]:
        way = _way(given, slope, far * h)
        place, speed = _moved(given, q, v, way)
        # the first evaluation is at the task's own state, whose bias others have computed
        rest = given.rest if far == 0.0 else None
        now = linearised(given, place, speed, rest=rest)
        slope = (*speed, *now.acceleration)
        by_state, by_torque = _chained(given, now, way, by_state, by_torque, far * h)
        for k, x in enumerate(slope):
            with integration.of_entry(k):
                moved = mul(weight * h, x)
                total[k] = add(total[k], moved)
        # derivatives of slopes add up as slopes do
        _accumulate(given, all_state, by_state, weight * h)
        _accumulate(given, all_torque, by_torque, weight * h)
        far = further
    place, speed = _moved(given, q, v, total)
    changes = integration.changes(tuple(total[: given.robot.nv]))
    return Step(place, speed, changes.with_start(all_state), changes.through(all_torque))


def _way(given: Given, slope: Sequence[Scalar], duration: float) -> list[Scalar]:
    """Where a state's slope leads in that many seconds."""
    way: list[Scalar] = []
    for k, x in enumerate(slope):
        with given.integration.of_entry(k):
            way.append(mul(duration, x))
    return way


def _moved(given: Given, q: Vector, v: Vector, way: Sequence[Scalar]) -> tuple[Vector, Vector]:
    """A state after a way of its whole tangent."""
    nv = given.robot.nv
    speeds: list[Scalar] = []
    for k, (speed, gained) in enumerate(zip(v, way[nv:], strict=True)):
        with given.integration.of_entry(k):
            speeds.append(add(speed, gained))
    return given.integration.moved(q, tuple(way[:nv])), tuple(speeds)


def _chained(
    given: Given,
    now: Linear,
    way: Sequence[Scalar],
    by_state: Entries,
    by_torque: Entries,
    duration: float,
) -> tuple[Entries, Entries]:
    """Derivatives of an evaluation's slope [v, a] by the step's begin and by τ, from those of the slope before, which
    moved the state a ``way`` in so many seconds."""
    nv = given.robot.nv
    changes = given.integration.changes(tuple(way[:nv]))
    moved = changes.with_start(given.integration.scaled(duration, by_state))
    pushed = changes.through(given.integration.scaled(duration, by_torque))
    state = _through(given, now, moved)
    torque = _through(given, now, pushed)
    for (i, j), x in now.by_torque.items():
        with given.multiplying(i):
            increase(torque, (nv + i, j), x)
    return state, torque


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
                increase(result, (nv + i, j), term)
    return result


def _accumulate(given: Given, total: Entries, slopes: Entries, weight: float) -> None:
    """Add ``weight`` times derivatives of a slope (in place)."""
    for (i, j), x in slopes.items():
        with given.integration.of_entry(i):
            term = mul(weight, x)
            increase(total, (i, j), term)
