"""The mass matrix and the derivatives of inverse dynamics from composite bodies, without derivative columns.

After Singh, Russell & Wensing, RA-L 2022 (there with spatial vectors), in the classical quantities of
:mod:`rbdgen.algo.rnea`. Let the whole subtree of body i undergo a variation under which the point r (from i's origin)
gets the additional acceleration y + β × r + 2 x × v(r), v(r) being its velocity. With the subtree's mass m, moments
H = ∫ r dm and Σ = ∫ r rᵀ dm, momentum P = ∫ v dm and N = ∫ v rᵀ dm, this takes

    force  F = m y + β × H + 2 x × P,    moment  T = H × y + (tr Σ 1 − Σ) β + 2 (tr N 1 − N) x.

For column (e, d) of a joint's motion subspace, angular and linear part, with the parent's ω', K' and what the origin
carries over from the parent (velocity V', acceleration A'), all in the body's coordinates, the variations are

    ∂/∂q:  x = ω' × e,  β = K' e,          y = A' × e + K' d − 2 x × V'
    ∂/∂q̇:  x = e,       β = (ω' + ω) × e,  y = (ω' + ω) × d − e × (V' + v)
    ∂/∂q̈:  x = 0,       β = e,             y = d.

A response travels to the ancestors as a wrench, where their joints feel it: ∂τ_j/∂q_i, ∂τ_j/∂q̇_i, M_ji. The other
half, ∂τ_i/∂q_j, comes from the adjoint: what joint i feels of x, β and y anywhere below is u·x + n·β + f·y, and (n, f)
is the wrench of M's column. Body i alone does its sums in submodules ``Df_i`` (outward), ``Db_i`` (derivatives, inward)
and ``Mb_i`` (mass matrix, inward).
"""

from __future__ import annotations

from dataclasses import dataclass

from rbdgen.algo.following import Entries, Reduced, rates
from rbdgen.algo.rnea import CYCLES, Motion, Wrench, friction_slopes, joint_velocity
from rbdgen.algo.rotation import rotate, rotate_back, rotate_matrix, rotate_symmetric
from rbdgen.model.body import Body
from rbdgen.model.joints import JointPlacement
from rbdgen.model.robot import Robot
from rbdgen.spatial import (
    ZERO3,
    Enter,
    Matrix,
    Scalar,
    Vector,
    add,
    anywhere,
    cross,
    dot,
    madd,
    matvec,
    mul,
    sub,
    transpose,
    vadd,
    vscale,
    vsub,
)


@dataclass(frozen=True)
class CompositeInertia:
    """Mass m, first moment H (3) and second moment Σ (3×3) of a subtree, about its root's origin."""

    mass: float
    first: Vector
    second: Matrix

    def __add__(self, other: CompositeInertia) -> CompositeInertia:
        """Of both, about the same origin."""
        first = vadd(self.first, other.first)
        second = madd(self.second, other.second)
        return CompositeInertia(self.mass + other.mass, first, second)

    def moved(self, omega: Vector, origin: Vector) -> CompositeMomentum:
        """What it has where it turns at ``omega`` and its origin moves at ``origin``."""
        linear = vscale(self.mass, origin)
        linear = vadd(linear, cross(omega, self.first))
        # ∫ (ω × r) rᵀ dm = [ω]× Σ
        spin = tuple(cross(omega, column) for column in transpose(self.second))
        moment = outer(origin, self.first)
        return CompositeMomentum(linear, madd(moment, transpose(spin)))


@dataclass(frozen=True)
class CompositeMomentum:
    """P = ∫ v dm (3) and N = ∫ v rᵀ dm (3×3) of a subtree, about its root's origin; v is relative to the base."""

    linear: Vector
    moment: Matrix

    def __add__(self, other: CompositeMomentum) -> CompositeMomentum:
        """Of both, about the same origin."""
        linear = vadd(self.linear, other.linear)
        return CompositeMomentum(linear, madd(self.moment, other.moment))

    @property
    def wrench(self) -> Wrench:
        """∫ r × v dm and ∫ v dm: N has the products of the first."""
        n = self.moment
        return Wrench(tuple(sub(n[k][j], n[j][k]) for _, j, k in CYCLES), self.linear)


@dataclass(frozen=True)
class Variation:
    """x, β and y of the module's text, in the body's coordinates."""

    velocity: Vector
    angular: Vector
    linear: Vector


def origin_of(body: Body, joint: JointPlacement) -> Vector:
    """The body's origin in its parent's frame."""
    placement = body.placement
    moved = matvec(placement.rotation, joint.translation)
    return vadd(placement.translation, moved)


def outward(body: Body, joint: JointPlacement, x: Vector) -> Vector:
    """A free vector from the parent's coordinates into the body's."""
    # the constant rotation first: what it leaves zero, the joint's need not turn
    return rotate_back(joint.rotation, matvec(transpose(body.placement.rotation), x))


def inward(body: Body, joint: JointPlacement, x: Vector) -> Vector:
    """A free vector from the body's coordinates into the parent's."""
    return matvec(body.placement.rotation, rotate(joint.rotation, x))


def _wrench_inward(body: Body, joint: JointPlacement, wrench: Wrench) -> Wrench:
    """A wrench on the body, as the parent has it."""
    force = inward(body, joint, wrench.force)
    moment = inward(body, joint, wrench.moment)
    lever = cross(origin_of(body, joint), force)
    return Wrench(vadd(moment, lever), force)


def outer(a: Vector, b: Vector) -> Matrix:
    """a bᵀ."""
    return tuple(vscale(x, b) for x in a)


def _complement(m: Matrix, x: Vector) -> Vector:
    """(tr M 1 − M) x, without the diagonal entries that cancel."""
    rows = []
    for i, j, k in CYCLES:
        # m[i][i] appears in the trace and in M, with opposite signs
        trace = add(m[j][j], m[k][k])
        row = mul(trace, x[i])
        term = mul(m[i][j], x[j])
        row = sub(row, term)
        term = mul(m[i][k], x[k])
        row = sub(row, term)
        rows.append(row)
    return tuple(rows)


def composite_inertias(
    robot: Robot, joints: list[JointPlacement], enter: Enter = anywhere
) -> list[CompositeInertia]:
    """Each subtree's inertia, by body."""
    result: dict[int, CompositeInertia] = {}
    for i in reversed(range(len(robot.bodies))):
        own = robot.bodies[i].inertia
        mass = own.mass
        first = own.first_moment
        second = own.second_moment
        with enter("Mb", i):
            for child in robot.children[i]:
                body, joint = robot.bodies[child], joints[child]
                below = result[child]
                offset = origin_of(body, joint)
                moment = inward(body, joint, below.first)
                turned = rotate_symmetric(joint.rotation, below.second)
                turned = rotate_symmetric(body.placement.rotation, turned)
                mixed = outer(moment, offset)
                weighted = vscale(below.mass, offset)
                shift = outer(offset, weighted)
                # ∫ (r + p)(r + p)ᵀ dm, expanded: Σ + H pᵀ + p Hᵀ + m p pᵀ
                second = madd(second, turned, symmetrised(mixed), shift)
                first = vadd(first, moment, weighted)
                mass += below.mass
        result[i] = CompositeInertia(mass, first, second)
    return [result[i] for i in range(len(robot.bodies))]


def symmetrised(m: Matrix) -> Matrix:
    """M + Mᵀ, each pair computed once."""
    rows: list[list[Scalar]] = [[0.0] * 3 for _ in range(3)]
    for i in range(3):
        for j in range(i, 3):
            entry = add(m[i][j], m[j][i])
            rows[i][j] = entry
            rows[j][i] = entry
    return tuple(tuple(row) for row in rows)


Column = tuple[Vector, Vector]
"""A column of a joint's motion subspace: angular and linear part."""


def _columns(body: Body) -> list[Column]:
    joint = body.joint
    return list(zip(joint.angular_subspace, joint.linear_subspace, strict=True))


def _dof_columns(robot: Robot, i: int) -> list[tuple[int, Column]]:
    """The tree's degrees of freedom that body ``i`` has, with their columns."""
    own = robot.unreduced.v_slices[i]
    dofs = range(own.start, own.stop)
    columns = _columns(robot.bodies[i])
    return list(zip(dofs, columns, strict=True))


def _path(robot: Robot, i: int) -> list[tuple[int, int]]:
    """The bodies from ``i`` to the base, each with its parent; the last one, on the base, is left out."""
    path = []
    parent = robot.bodies[i].parent
    while parent >= 0:
        path.append((i, parent))
        i = parent
        parent = robot.bodies[i].parent
    return path


def felt(column: Column, wrench: Wrench) -> Scalar:
    """A wrench as a joint feels it: its column's projection."""
    angular, linear = column
    turning = dot(angular, wrench.moment)
    return add(turning, dot(linear, wrench.force))


def unit_response(inertia: CompositeInertia, column: Column) -> Wrench:
    """The wrench that takes the subtree to accelerate along ``column``: a column of M, before projection."""
    e, d = column
    pushed = vscale(inertia.mass, d)
    swung = cross(e, inertia.first)
    force = vadd(pushed, swung)
    spun = _complement(inertia.second, e)
    swung = cross(inertia.first, d)
    moment = vadd(spun, swung)
    return Wrench(moment, force)


@dataclass(frozen=True)
class MassMatrix:
    """``entries`` M_ij for i ≥ j, and ``wrenches``: by (degree of freedom i of the tree, body) the wrench of M's column
    i as it arrives at each body on the path to the base."""

    entries: Entries
    wrenches: dict[tuple[int, int], Wrench]


def mass_matrix(
    robot: Robot,
    joints: list[JointPlacement],
    inertias: list[CompositeInertia],
    enter: Enter = anywhere,
) -> MassMatrix:
    """The mass matrix from composite inertias (Featherstone 2008, section 6.2)."""
    matrix = Reduced(robot)
    wrenches: dict[tuple[int, int], Wrench] = {}
    for i in reversed(range(len(robot.bodies))):
        own = _dof_columns(robot, i)
        with enter("Mb", i):
            rotors = robot.bodies[i].rotors
            for a, (row, column) in enumerate(own):
                wrench = unit_response(inertias[i], column)
                wrenches[row, i] = wrench
                # the lower triangle only: the other half is the same
                for dof, before in own[: a + 1]:
                    entry = felt(before, wrench)
                    if dof == row:
                        # a rotor turns with its own joint only, and adds to nothing but the diagonal
                        entry = add(entry, rotors[a])
                    matrix.put_both(row, dof, entry)
        for row, _ in own:
            wrench = wrenches[row, i]
            for below, parent in _path(robot, i):
                body, joint = robot.bodies[below], joints[below]
                # entries belong to the body at which the wrench arrives
                with enter("Mb", parent):
                    wrench = _wrench_inward(body, joint, wrench)
                    wrenches[row, parent] = wrench
                    for dof, column in _dof_columns(robot, parent):
                        entry = felt(column, wrench)
                        matrix.put_both(row, dof, entry)
    return MassMatrix(matrix.entries, wrenches)


def velocity(
    body: Body, joint: JointPlacement, v: Vector, parent: Motion, parent_velocity: Vector
) -> tuple[Vector, Vector]:
    """Velocity of the body's origin: what it carries over from the parent, V', and with the joint's own, v."""
    turning = cross(parent.angular_velocity, origin_of(body, joint))
    carried = outward(body, joint, vadd(parent_velocity, turning))
    own = joint_velocity(body.joint.linear_subspace, v)
    return carried, vadd(carried, own)


def variations(
    body: Body,
    joint: JointPlacement,
    parent: Motion,
    omega: Vector,
    carried: Vector,
    origin: Vector,
) -> tuple[list[Variation], list[Variation]]:
    """The variations of ∂/∂q and of ∂/∂q̇ for each column of the joint; ``omega``: of the body, ``carried`` V' and
    ``origin`` v of :func:`velocity`."""
    angular = outward(body, joint, parent.angular_velocity)
    acceleration = matvec(parent.gradient, origin_of(body, joint))
    acceleration = vadd(parent.acceleration, acceleration)
    acceleration = outward(body, joint, acceleration)
    both = vadd(angular, omega)

    def along(c: Vector) -> Vector:
        """K' c = Rᵀ (K (R c)): an axis that its joint turns about is constant in the parent's coordinates."""
        # of a joint that only turns or only slides one half is nothing
        if c == ZERO3:
            return ZERO3
        turned = inward(body, joint, c)
        return outward(body, joint, matvec(parent.gradient, turned))

    by_position, by_velocity = [], []
    for e, d in _columns(body):
        # the joint's axis moves with the parent, so that its velocity does not count
        x = cross(angular, e)
        y = cross(acceleration, e)
        y = vadd(y, along(d))
        dragged = vscale(2.0, cross(x, carried))
        y = vsub(y, dragged)
        by_position.append(Variation(x, along(e), y))
        y = cross(both, d)
        # velocities before and behind the joint: its own part counts once
        dragged = cross(e, vadd(carried, origin))
        y = vsub(y, dragged)
        by_velocity.append(Variation(e, cross(both, e), y))
    return by_position, by_velocity


def response(inertia: CompositeInertia, momentum: CompositeMomentum, change: Variation) -> Wrench:
    """F and T of the module's text."""
    x = change.velocity
    beta = change.angular
    y = change.linear
    twice = vscale(2.0, x)
    pushed = vscale(inertia.mass, y)
    swung = cross(beta, inertia.first)
    dragged = cross(twice, momentum.linear)
    force = vadd(pushed, swung, dragged)
    moment = cross(inertia.first, y)
    spun = _complement(inertia.second, beta)
    turned = _complement(momentum.moment, twice)
    return Wrench(vadd(moment, spun, turned), force)


@dataclass(frozen=True)
class Derivatives:
    """Entries of ∂τ/∂q and ∂τ/∂v, by (row, column)."""

    by_position: Entries
    by_velocity: Entries


def composite_momenta(
    robot: Robot,
    joints: list[JointPlacement],
    omegas: list[Vector],
    origins: list[Vector],
    enter: Enter = anywhere,
) -> list[CompositeMomentum]:
    """Each subtree's momentum, by body, from the bodies' angular velocities and their origins' velocities."""
    result: dict[int, CompositeMomentum] = {}
    for i in reversed(range(len(robot.bodies))):
        own = robot.bodies[i].inertia
        omega = omegas[i]
        origin = origins[i]
        with enter("Db", i):
            inertia = CompositeInertia(own.mass, own.first_moment, own.second_moment)
            moved = inertia.moved(omega, origin)
            linear, moment = moved.linear, moved.moment
            for child in robot.children[i]:
                body, joint = robot.bodies[child], joints[child]
                below = result[child]
                carried = inward(body, joint, below.linear)
                turned = rotate_matrix(joint.rotation, below.moment)
                turned = rotate_matrix(body.placement.rotation, turned)
                shift = outer(carried, origin_of(body, joint))
                moment = madd(moment, turned, shift)
                linear = vadd(linear, carried)
        result[i] = CompositeMomentum(linear, moment)
    return [result[i] for i in range(len(robot.bodies))]


def derivatives(
    robot: Robot,
    joints: list[JointPlacement],
    v: Vector,
    base: Motion,
    motions: list[Motion],
    totals: list[Wrench],
    inertias: list[CompositeInertia],
    mass: MassMatrix,
    enter: Enter = anywhere,
) -> Derivatives:
    """∂τ/∂q and ∂τ/∂v from RNEA's ``motions`` and ``totals`` (the wrench on each subtree)."""
    sweep = _variation_sweep(robot, joints, v, base, motions, enter)
    omegas = [motion.angular_velocity for motion in motions]
    momenta = composite_momenta(robot, joints, omegas, sweep.origins, enter)
    dq = Reduced(robot)
    dv = Reduced(robot)
    for i in reversed(range(len(robot.bodies))):
        momentum = momenta[i]
        own = _dof_columns(robot, i)
        with enter("Db", i):
            speeds = rates(robot, i, v)
            slopes = friction_slopes(robot, i, speeds, enter)
        for a, (dof, column) in enumerate(own):
            with enter("Db", i):
                position = response(inertias[i], momentum, sweep.by_position[i][a])
                speed = response(inertias[i], momentum, sweep.by_velocity[i][a])
                for row, other in own:
                    dq.put(row, dof, felt(other, position))
                    entry = felt(other, speed)
                    if row == dof:
                        entry = add(entry, slopes[a])
                    dv.put(row, dof, entry)
                # only ancestors feel that the subtree's force turns with it; its own joint turns along
                position = position + _turned_wrench(column, totals[i])
                adjoint = momentum_adjoint(column, momentum)
            for body, parent in _path(robot, i):
                moved, joint = robot.bodies[body], joints[body]
                with enter("Db", parent):
                    position = _wrench_inward(moved, joint, position)
                    speed = _wrench_inward(moved, joint, speed)
                    adjoint = inward(moved, joint, adjoint)
                    # the wrenches of M's columns have been here already: the adjoint costs no sweep
                    unit = mass.wrenches[dof, parent]
                    for b, (row, other) in enumerate(_dof_columns(robot, parent)):
                        dq.put(row, dof, felt(other, position))
                        dv.put(row, dof, felt(other, speed))
                        change = sweep.by_position[parent][b]
                        dq.put(dof, row, _adjoint(adjoint, unit, change))
                        change = sweep.by_velocity[parent][b]
                        dv.put(dof, row, _adjoint(adjoint, unit, change))
    return Derivatives(dq.entries, dv.entries)


@dataclass(frozen=True)
class _Variations:
    """By body: the variations of each column, and the velocity of its origin."""

    by_position: list[list[Variation]]
    by_velocity: list[list[Variation]]
    origins: list[Vector]


def _variation_sweep(
    robot: Robot,
    joints: list[JointPlacement],
    v: Vector,
    base: Motion,
    motions: list[Motion],
    enter: Enter,
) -> _Variations:
    """The variations of all bodies, outward."""
    sweep = _Variations([], [], [])
    for i, body in enumerate(robot.bodies):
        parent, below = base, ZERO3
        if body.parent >= 0:
            parent = motions[body.parent]
            below = sweep.origins[body.parent]
        omega = motions[i].angular_velocity
        with enter("Df", i):
            own = rates(robot, i, v)
            carried, origin = velocity(body, joints[i], own, parent, below)
            changes = variations(body, joints[i], parent, omega, carried, origin)
        sweep.origins.append(origin)
        sweep.by_position.append(changes[0])
        sweep.by_velocity.append(changes[1])
    return sweep


def _turned_wrench(column: Column, total: Wrench) -> Wrench:
    """The change of a wrench on a subtree as it turns along with the subtree."""
    e, d = column
    moment = cross(e, total.moment)
    moment = vadd(moment, cross(d, total.force))
    return Wrench(moment, cross(e, total.force))


def momentum_adjoint(column: Column, momentum: CompositeMomentum) -> Vector:
    """2 ∫ v × s dm (3), with s(r) what ``column`` moves: the adjoint of 2 (tr N 1 − N) and of 2 x × P."""
    e, d = column
    turned = _complement(transpose(momentum.moment), e)
    return vscale(2.0, vadd(turned, cross(momentum.linear, d)))


def _adjoint(u: Vector, unit: Wrench, change: Variation) -> Scalar:
    """u·x + n·β + f·y."""
    swept = dot(change.velocity, u)
    turning = dot(change.angular, unit.moment)
    felt = add(turning, dot(change.linear, unit.force))
    return add(swept, felt)
