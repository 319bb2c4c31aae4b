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

A response travels to the ancestors as a wrench, where their joints feel it: ∂τ_j/∂q_i, ∂τ_j/∂q̇_i, M_ji. The other half,
∂τ_i/∂q_j, comes from the adjoint: what joint i feels of x, β and y anywhere below is u·x + n·β + f·y, and (n, f) is
the wrench of M's column. Body i alone does its sums in submodules ``Df_i`` (outward), ``Db_i`` (derivatives, inward)
and ``Mb_i`` (mass matrix, inward).
"""

from __future__ import annotations

from dataclasses import dataclass

from rbdgen.algo.rnea import Motion, Wrench, joint_velocity
from rbdgen.algo.rotation import rotate, rotate_back, rotate_matrix, rotate_symmetric
from rbdgen.algo.submodules import Enter, anywhere
from rbdgen.model.joints import JointPlacement
from rbdgen.model.robot import Body, Robot
from rbdgen.spatial import (
    ZERO3,
    Matrix,
    Scalar,
    Vector,
    add,
    cross,
    dot,
    matvec,
    mul,
    sub,
    transpose,
    vadd,
    vscale,
    vsub,
)

Entries = dict[tuple[int, int], Scalar]
"""A matrix over the degrees of freedom: only the entries that can differ from zero."""


@dataclass(frozen=True)
class CompositeInertia:
    """Mass m, first moment H (3) and second moment Σ (3×3) of a subtree, about its root's origin."""

    mass: float
    first: Vector
    second: Matrix


@dataclass(frozen=True)
class CompositeMomentum:
    """P = ∫ v dm (3) and N = ∫ v rᵀ dm (3×3) of a subtree, about its root's origin; v is relative to the base."""

    linear: Vector
    moment: Matrix


@dataclass(frozen=True)
class Variation:
    """x, β and y of the module's text, in the body's coordinates."""

    velocity: Vector
    angular: Vector
    linear: Vector


def _offset(body: Body, joint: JointPlacement) -> Vector:
    """The body's origin in its parent's frame."""
    return vadd(body.placement.translation, matvec(body.placement.rotation, joint.translation))


def outward(body: Body, joint: JointPlacement, x: Vector) -> Vector:
    """A free vector from the parent's coordinates into the body's."""
    return rotate_back(joint.rotation, matvec(transpose(body.placement.rotation), x))


def inward(body: Body, joint: JointPlacement, x: Vector) -> Vector:
    """A free vector from the body's coordinates into the parent's."""
    return matvec(body.placement.rotation, rotate(joint.rotation, x))


def _wrench_inward(body: Body, joint: JointPlacement, wrench: Wrench) -> Wrench:
    force = inward(body, joint, wrench.force)
    return Wrench(vadd(inward(body, joint, wrench.moment), cross(_offset(body, joint), force)), force)


def _outer(a: Vector, b: Vector) -> Matrix:
    return tuple(vscale(x, b) for x in a)


def _sum(*matrices: Matrix) -> Matrix:
    return tuple(vadd(*rows) for rows in zip(*matrices, strict=True))


def _complement(m: Matrix, x: Vector) -> Vector:
    """(tr M 1 − M) x, without the diagonal entries that cancel."""
    rows = []
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        own = mul(add(m[j][j], m[k][k]), x[i])
        rows.append(sub(sub(own, mul(m[i][j], x[j])), mul(m[i][k], x[k])))
    return tuple(rows)


def composite_inertias(robot: Robot, joints: list[JointPlacement], enter: Enter = anywhere) -> list[CompositeInertia]:
    """Each subtree's inertia, by body."""
    result: list[CompositeInertia | None] = [None] * len(robot.bodies)
    for i in reversed(range(len(robot.bodies))):
        own = robot.bodies[i].inertia
        mass, first, second = own.mass, own.first_moment, own.second_moment
        with enter("Mb", i):
            for child in robot.children[i]:
                body, joint, below = robot.bodies[child], joints[child], result[child]
                assert below is not None
                offset, moment = _offset(body, joint), inward(body, joint, below.first)
                turned = rotate_symmetric(body.placement.rotation, rotate_symmetric(joint.rotation, below.second))
                mixed = _outer(moment, offset)
                shift = _outer(offset, vscale(below.mass, offset))
                second = _sum(second, turned, _symmetric(mixed), shift)
                first = vadd(first, moment, vscale(below.mass, offset))
                mass += below.mass
        result[i] = CompositeInertia(mass, first, second)
    return [c for c in result if c is not None]


def _symmetric(m: Matrix) -> Matrix:
    """M + Mᵀ, each pair computed once."""
    entries = {(i, j): add(m[i][j], m[j][i]) for i in range(3) for j in range(i, 3)}
    return tuple(tuple(entries[min(i, j), max(i, j)] for j in range(3)) for i in range(3))


def _columns(body: Body) -> list[tuple[Vector, Vector]]:
    return list(zip(body.joint.angular_subspace, body.joint.linear_subspace, strict=True))


def _felt(column: tuple[Vector, Vector], wrench: Wrench) -> Scalar:
    """What a joint feels of a wrench: its column's projection."""
    return add(dot(column[0], wrench.moment), dot(column[1], wrench.force))


def unit_response(inertia: CompositeInertia, column: tuple[Vector, Vector]) -> Wrench:
    """The wrench that takes the subtree to accelerate along ``column``: a column of M, before projection."""
    e, d = column
    force = vadd(vscale(inertia.mass, d), cross(e, inertia.first))
    return Wrench(vadd(_complement(inertia.second, e), cross(inertia.first, d)), force)


@dataclass(frozen=True)
class MassMatrix:
    """``entries`` M_ij for i ≥ j, and ``wrenches``: by (degree of freedom i, body) the wrench of M's column i as it
    arrives at each body on the way to the base."""

    entries: Entries
    wrenches: dict[tuple[int, int], Wrench]


def mass_matrix(
    robot: Robot, joints: list[JointPlacement], inertias: list[CompositeInertia], enter: Enter = anywhere
) -> MassMatrix:
    """The mass matrix from composite inertias (Featherstone 2008, section 6.2)."""
    entries: Entries = {}
    wrenches: dict[tuple[int, int], Wrench] = {}
    for i in reversed(range(len(robot.bodies))):
        dofs = range(*robot.v_slices[i].indices(robot.nv))
        columns = _columns(robot.bodies[i])
        with enter("Mb", i):
            for a, row in enumerate(dofs):
                wrenches[row, i] = unit_response(inertias[i], columns[a])
                for b, column in enumerate(dofs[: a + 1]):
                    entries[row, column] = _felt(columns[b], wrenches[row, i])
        for row in dofs:
            _descend(
                robot,
                joints,
                i,
                row,
                wrenches,
                enter,
                "Mb",
                lambda dof, felt, row=row: entries.update({(row, dof): felt}),
            )
    return MassMatrix(entries, wrenches)


def _descend(robot, joints, i, dof, wrenches, enter, kind, feel) -> None:  # noqa: ANN001
    """Carry the wrench of degree of freedom ``dof`` from body i to the base; ``feel`` is told what each ancestor's
    degrees of freedom feel of it."""
    body, wrench = i, wrenches[dof, i]
    while robot.bodies[body].parent >= 0:
        parent = robot.bodies[body].parent
        with enter(kind, parent):
            wrench = _wrench_inward(robot.bodies[body], joints[body], wrench)
            wrenches[dof, parent] = wrench
            for k, column in zip(
                range(*robot.v_slices[parent].indices(robot.nv)), _columns(robot.bodies[parent]), strict=True
            ):
                feel(k, _felt(column, wrench))
        body = parent


def velocity(
    body: Body, joint: JointPlacement, v: Vector, parent: Motion, parent_velocity: Vector
) -> tuple[Vector, Vector]:
    """Velocity of the body's origin: what it carries over from the parent, V', and with the joint's own, v."""
    carried = outward(body, joint, vadd(parent_velocity, cross(parent.angular_velocity, _offset(body, joint))))
    return carried, vadd(carried, joint_velocity(body.joint.linear_subspace, v))


def variations(
    body: Body, joint: JointPlacement, parent: Motion, omega: Vector, carried: Vector, origin: Vector
) -> tuple[list[Variation], list[Variation]]:
    """The variations of ∂/∂q and of ∂/∂q̇ for each column of the joint; ``omega``: of the body, ``carried`` V' and
    ``origin`` v of :func:`velocity`."""
    tree, angular = body.placement, outward(body, joint, parent.angular_velocity)
    acceleration = outward(body, joint, vadd(parent.acceleration, matvec(parent.gradient, _offset(body, joint))))
    both = vadd(angular, omega)
    by_position, by_velocity = [], []
    for e, d in _columns(body):
        x = cross(angular, e)
        # K' e = Rᵀ (K (R e)): an axis that its joint turns about is constant in the parent's coordinates

        def along(c: Vector) -> Vector:
            if c == ZERO3:
                return ZERO3
            turned = matvec(tree.rotation, rotate(joint.rotation, c))
            return outward(body, joint, matvec(parent.gradient, turned))

        y = vsub(vadd(cross(acceleration, e), along(d)), vscale(2.0, cross(x, carried)))
        by_position.append(Variation(x, along(e), y))
        y = vsub(cross(both, d), cross(e, vadd(carried, origin)))
        by_velocity.append(Variation(e, cross(both, e), y))
    return by_position, by_velocity


def response(inertia: CompositeInertia, momentum: CompositeMomentum, change: Variation) -> Wrench:
    """F and T of the module's text."""
    x, beta, y = change.velocity, change.angular, change.linear
    twice = vscale(2.0, x)
    force = vadd(vscale(inertia.mass, y), cross(beta, inertia.first), cross(twice, momentum.linear))
    moment = vadd(cross(inertia.first, y), _complement(inertia.second, beta), _complement(momentum.moment, twice))
    return Wrench(moment, force)


@dataclass(frozen=True)
class Derivatives:
    """Entries of ∂τ/∂q and ∂τ/∂v, by (row, column)."""

    by_position: Entries
    by_velocity: Entries


def composite_momenta(
    robot: Robot, joints: list[JointPlacement], omegas: list[Vector], origins: list[Vector], enter: Enter = anywhere
) -> list[CompositeMomentum]:
    """Each subtree's momentum, by body, from the bodies' angular velocities and their origins' velocities."""
    result: list[CompositeMomentum | None] = [None] * len(robot.bodies)
    for i in reversed(range(len(robot.bodies))):
        own, w, v = robot.bodies[i].inertia, omegas[i], origins[i]
        with enter("Db", i):
            linear = vadd(vscale(own.mass, v), cross(w, own.first_moment))
            spin = tuple(cross(w, column) for column in transpose(own.second_moment))
            moment = _sum(_outer(v, own.first_moment), transpose(spin))
            for child in robot.children[i]:
                body, joint, below = robot.bodies[child], joints[child], result[child]
                assert below is not None
                carried = inward(body, joint, below.linear)
                turned = rotate_matrix(body.placement.rotation, rotate_matrix(joint.rotation, below.moment))
                moment = _sum(moment, turned, _outer(carried, _offset(body, joint)))
                linear = vadd(linear, carried)
        result[i] = CompositeMomentum(linear, moment)
    return [c for c in result if c is not None]


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
    by_position: list[list[Variation]] = []
    by_velocity: list[list[Variation]] = []
    origins: list[Vector] = []
    for i, body in enumerate(robot.bodies):
        with enter("Df", i):
            parent = base if body.parent < 0 else motions[body.parent]
            below = ZERO3 if body.parent < 0 else origins[body.parent]
            carried, origin = velocity(body, joints[i], v[robot.v_slices[i]], parent, below)
            origins.append(origin)
            changes = variations(body, joints[i], parent, motions[i].angular_velocity, carried, origin)
            by_position.append(changes[0])
            by_velocity.append(changes[1])
    momenta = composite_momenta(robot, joints, [m.angular_velocity for m in motions], origins, enter)
    dq: Entries = {}
    dv: Entries = {}
    for i in reversed(range(len(robot.bodies))):
        dofs = range(*robot.v_slices[i].indices(robot.nv))
        columns = _columns(robot.bodies[i])
        for a, dof in enumerate(dofs):
            e, d = columns[a]
            with enter("Db", i):
                momentum, total = momenta[i], totals[i]
                position = response(inertias[i], momentum, by_position[i][a])
                speed = response(inertias[i], momentum, by_velocity[i][a])
                for b, row in enumerate(dofs):
                    dq[row, dof] = _felt(columns[b], position)
                    dv[row, dof] = _felt(columns[b], speed)
                turned = Wrench(vadd(cross(e, total.moment), cross(d, total.force)), cross(e, total.force))
                position = Wrench(vadd(position.moment, turned.moment), vadd(position.force, turned.force))
                # the adjoint of 2 (tr N 1 − N) and of 2 x × P
                n = transpose(momentum.moment)
                adjoint = vscale(2.0, vadd(_complement(n, e), cross(momentum.linear, d)))
            body = i
            while robot.bodies[body].parent >= 0:
                parent = robot.bodies[body].parent
                with enter("Db", parent):
                    moved, joint = robot.bodies[body], joints[body]
                    position = _wrench_inward(moved, joint, position)
                    speed = _wrench_inward(moved, joint, speed)
                    adjoint = inward(moved, joint, adjoint)
                    unit = mass.wrenches[dof, parent]
                    above = range(*robot.v_slices[parent].indices(robot.nv))
                    for b, (k, column) in enumerate(zip(above, _columns(robot.bodies[parent]), strict=True)):
                        dq[k, dof], dv[k, dof] = _felt(column, position), _felt(column, speed)
                        dq[dof, k] = _adjoint(adjoint, unit, by_position[parent][b])
                        dv[dof, k] = _adjoint(adjoint, unit, by_velocity[parent][b])
                body = parent
    return Derivatives(dq, dv)


def _adjoint(u: Vector, unit: Wrench, change: Variation) -> Scalar:
    """u·x + n·β + f·y."""
    return add(dot(change.velocity, u), add(dot(change.angular, unit.moment), dot(change.linear, unit.force)))
