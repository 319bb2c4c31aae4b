"""Inverse dynamics by the recursive Newton-Euler algorithm, cut per body into ``Rf_i`` and ``Rb_i``.

The form is the classical one (Luh, Walker & Paul 1980; Featherstone 2008, section 5.3 gives the spatial form): what
travels outward is the angular velocity ω, the angular acceleration ω̇ and the acceleration of the body's origin, all in
body coordinates and relative to free fall. With K = [ω̇]× + [ω]×² every point r of the body accelerates
by a + K r, so that force and moment are linear in the inertial parameters (m, h, Σ):
f = m a + K h and n = h × a + vee(K Σ − Σ Kᵀ). Linear velocities are not needed at all, and the products ω_j ω_k in K
are shared by the body's force, its moment and all of its children's origins.
"""

from __future__ import annotations

from dataclasses import dataclass

from rbdgen.algo.following import collect, coordinates, rates
from rbdgen.model.body import Body, Inertia
from rbdgen.model.joints import JointPlacement
from rbdgen.model.robot import DRY_WIDTH, Robot
from rbdgen.spatial import (
    TRIGONOMETRY,
    ZERO3,
    Enter,
    Matrix,
    Scalar,
    Vector,
    absolute,
    add,
    anywhere,
    cross,
    divide,
    dot,
    matvec,
    mul,
    sub,
    transpose,
    vadd,
    vscale,
    vsub,
)


def friction_forces(robot: Robot, i: int, v: Vector) -> Vector:
    """The forces (nv) that it takes to move the joint of body ``i`` at ``v`` (nv) against its friction."""
    forces = []
    kinds = robot.dampers(i), robot.rubs(i), v
    for damping, dry, rate in zip(*kinds, strict=True):
        force = mul(damping, rate)
        if dry:
            # smooth where a sign would jump: formats need a bounded slope at rest
            rubbing = mul(dry, _dry_share(rate))
            force = add(force, rubbing)
        forces.append(force)
    return tuple(forces)


def _dry_share(rate: Scalar) -> Scalar:
    """v / (w + |v|): what of a dry friction acts at a velocity, with w where half of it does."""
    speed = absolute(rate)
    beyond = add(DRY_WIDTH, speed)
    return divide(rate, beyond)


def drive_forces(robot: Robot, i: int, v: Vector, a: Vector) -> Vector:
    """The forces (nv) that the drive of body ``i``'s joint takes at its velocity and acceleration (nv each)."""
    turned = []
    rotors = robot.bodies[i].rotors
    for rotor, x in zip(rotors, a, strict=True):
        force = mul(rotor, x)
        turned.append(force)
    rubbing = friction_forces(robot, i, v)
    return vadd(rubbing, tuple(turned))


def friction_slopes(
    robot: Robot,
    i: int,
    v: Vector,
    enter: Enter = anywhere,
) -> tuple[Scalar, ...]:
    """By degree of freedom (nv), how friction grows with the velocity ``v`` (nv)."""
    slopes = []
    kinds = robot.dampers(i), robot.rubs(i), v
    for damping, dry, rate in zip(*kinds, strict=True):
        # a constant: it costs no operation until something is added
        slope: Scalar = damping
        if dry:
            # a quotient costs: the force has it in the same place
            with enter("Rb", i):
                share = _dry_share(rate)
            # w / (w + |v|)² is (1 − |s|)² / w
            missing = sub(1.0, absolute(share))
            square = mul(missing, missing)
            rubbing = mul(dry / DRY_WIDTH, square)
            slope = add(slope, rubbing)
        slopes.append(slope)
    return tuple(slopes)


CYCLES = ((0, 1, 2), (1, 2, 0), (2, 0, 1))
"""Coordinate axes, each with the two that follow it."""


@dataclass(frozen=True)
class Motion:
    """Motion of a body in its own coordinates: ``angular_velocity`` ω, ``angular_acceleration`` ω̇, ``acceleration`` of
    its origin minus gravity, and ``gradient`` K = [ω̇]× + [ω]×² (3×3)."""

    angular_velocity: Vector
    angular_acceleration: Vector
    acceleration: Vector
    gradient: Matrix


@dataclass(frozen=True)
class Wrench:
    """``moment`` about the origin and ``force``, both in body coordinates."""

    moment: Vector
    force: Vector

    def __add__(self, other: Wrench) -> Wrench:
        moment = vadd(self.moment, other.moment)
        return Wrench(moment, vadd(self.force, other.force))

    def __sub__(self, other: Wrench) -> Wrench:
        moment = vsub(self.moment, other.moment)
        return Wrench(moment, vsub(self.force, other.force))


def wrenches(f_ext: Vector) -> tuple[Wrench, ...]:
    """[force, moment] of every body after the other, the interface's order, as wrenches."""
    result = []
    for i in range(0, len(f_ext), 6):
        force = tuple(f_ext[i : i + 3])
        # Pinocchio has the force first, algorithms here the moment
        moment = tuple(f_ext[i + 3 : i + 6])
        result.append(Wrench(moment, force))
    return tuple(result)


def base_motion(gravity: Vector) -> Motion:
    """A base at rest in the field ``gravity`` (3, m/s²)."""
    still = ((0.0, 0.0, 0.0),) * 3
    # a base that accelerates against gravity is as good as one in a field: bodies need no weight
    return Motion(ZERO3, ZERO3, tuple(0.0 - g for g in gravity), still)


def moving_base(omega: Vector, alpha: Vector, acceleration: Vector, gravity: Vector) -> Motion:
    """A base that turns at ``omega`` (3, rad/s) and ``alpha`` (3, rad/s²) and whose origin accelerates by
    ``acceleration`` (3, m/s²) in the field ``gravity`` (3, m/s²), all in the base's coordinates. At what speed its
    origin moves has no effect."""
    return Motion(omega, alpha, vsub(acceleration, gravity), acceleration_gradient(omega, alpha))


def acceleration_gradient(omega: Vector, alpha: Vector) -> Matrix:
    """K = [ω̇]× + [ω]×², from six products."""
    x, y, z = omega
    ax, ay, az = alpha
    xx = mul(x, x)
    yy = mul(y, y)
    zz = mul(z, z)
    xy = mul(x, y)
    xz = mul(x, z)
    yz = mul(y, z)
    across_x = add(yy, zz)
    # the diagonal of [ω]×² is minus the sum of the two other squares
    first = sub(0.0, across_x), sub(xy, az), add(xz, ay)
    below = add(xy, az)
    across_y = add(xx, zz)
    second = below, sub(0.0, across_y), sub(yz, ax)
    third_x = sub(xz, ay)
    third_y = add(yz, ax)
    across_z = add(xx, yy)
    return first, second, (third_x, third_y, sub(0.0, across_z))


def inertial_wrench(inertia: Inertia, motion: Motion) -> Wrench:
    """The wrench that moves ``inertia`` so, about the body's origin."""
    k = motion.gradient
    acceleration = motion.acceleration
    first = inertia.first_moment
    second = inertia.second_moment
    squares = tuple(mul(w, w) for w in motion.angular_velocity)
    moment = []
    for x, y, z in CYCLES:
        terms = mul(second[y][y], k[z][y])
        term = mul(-second[z][z], k[y][z])
        terms = add(terms, term)
        # K_zz − K_yy = ω_z² − ω_y²: written so that the products are the ones that K already has
        difference = sub(squares[z], squares[y])
        term = mul(second[y][z], difference)
        terms = add(terms, term)
        mixed = mul(second[x][y], k[z][x])
        term = mul(-second[x][z], k[y][x])
        mixed = add(mixed, term)
        moment.append(add(terms, mixed))
    force = vscale(inertia.mass, acceleration)
    force = vadd(force, matvec(k, first))
    swung = cross(first, acceleration)
    return Wrench(vadd(tuple(moment), swung), force)


def joint_velocity(columns: tuple[Vector, ...], rates: Vector) -> Vector:
    """Σ_k columns_k · rates_k."""
    total: Vector = ZERO3
    for column, rate in zip(columns, rates, strict=True):
        moved = vscale(rate, column)
        total = vadd(total, moved)
    return total


def forward(
    body: Body, joint: JointPlacement, v: Vector, a: Vector, parent: Motion
) -> tuple[Motion, Wrench]:
    """``Rf_i``: the body's motion from its parent's, and the wrench that this motion takes.

    ``joint`` is the joint's placement at q; ``v`` and ``a`` are its nv velocities and accelerations.
    """
    tree = body.placement
    # two factors: the constant one folds, the joint's has zeros and ones to fold
    inward = transpose(tree.rotation)
    rotation = transpose(joint.rotation)

    def into_body(x: Vector) -> Vector:
        return matvec(rotation, matvec(inward, x))

    angular_subspace = body.joint.angular_subspace
    linear_subspace = body.joint.linear_subspace
    angular = joint_velocity(angular_subspace, v)
    linear = joint_velocity(linear_subspace, v)
    carried = into_body(parent.angular_velocity)
    omega = vadd(carried, angular)
    alpha = into_body(parent.angular_acceleration)
    alpha = vadd(alpha, joint_velocity(angular_subspace, a))
    # the joint's axis turns with the parent: ω_λ × ω_J
    alpha = vadd(alpha, cross(carried, angular))
    offset = matvec(tree.rotation, joint.translation)
    offset = vadd(tree.translation, offset)
    # in the parent's coordinates, where K is known: one rotation then does for all of it
    acceleration = matvec(parent.gradient, offset)
    acceleration = vadd(parent.acceleration, acceleration)
    acceleration = into_body(acceleration)
    # Coriolis: the joint's own velocity seen from the parent (2 ω_λ × v_J, and ω_J × v_J where the joint also turns)
    both = vadd(carried, omega)
    acceleration = vadd(acceleration, cross(both, linear))
    acceleration = vadd(acceleration, joint_velocity(linear_subspace, a))
    motion = Motion(omega, alpha, acceleration, acceleration_gradient(omega, alpha))
    return motion, inertial_wrench(body.inertia, motion)


def backward(body: Body, joint: JointPlacement, total: Wrench) -> tuple[Vector, Wrench]:
    """``Rb_i``: the joint's forces (nv) and the addend for the parent, from the wrench on the subtree."""
    tau = []
    for angular, linear in zip(
        body.joint.angular_subspace, body.joint.linear_subspace, strict=True
    ):
        turning = dot(angular, total.moment)
        tau.append(add(turning, dot(linear, total.force)))
    tree = body.placement
    force = matvec(joint.rotation, total.force)
    force = matvec(tree.rotation, force)
    moment = matvec(joint.rotation, total.moment)
    moment = matvec(tree.rotation, moment)
    offset = matvec(tree.rotation, joint.translation)
    offset = vadd(tree.translation, offset)
    moment = vadd(moment, cross(offset, force))
    return tuple(tau), Wrench(moment, force)


def joint_placements(robot: Robot, q: Vector, enter: Enter = anywhere) -> list[JointPlacement]:
    """Every joint's placement at ``q`` (nq)."""
    placements = []
    with enter(TRIGONOMETRY, None):
        for i, body in enumerate(robot.bodies):
            own = coordinates(robot, i, q)
            placements.append(body.joint.placement(own))
    return placements


def outward_sweep(
    robot: Robot,
    joints: list[JointPlacement],
    v: Vector,
    a: Vector,
    f_ext: tuple[Wrench, ...] | None = None,
    enter: Enter = anywhere,
    base: Motion | None = None,
) -> tuple[list[Motion], list[Wrench]]:
    """Every body's motion, and the wrench that it takes beyond the external one. ``base``: how the base moves (default:
    not at all)."""
    base = base_motion(robot.gravity) if base is None else base
    motions: list[Motion] = []
    wrenches: list[Wrench] = []
    for i, body in enumerate(robot.bodies):
        with enter("Rf", i):
            parent = base if body.parent < 0 else motions[body.parent]
            velocities = rates(robot, i, v)
            accelerations = rates(robot, i, a)
            motion, wrench = forward(body, joints[i], velocities, accelerations, parent)
            if f_ext is not None:
                wrench = wrench - f_ext[i]
            motions.append(motion)
            wrenches.append(wrench)
    return motions, wrenches


def inward_sweep(
    robot: Robot,
    joints: list[JointPlacement],
    v: Vector,
    a: Vector,
    wrenches: list[Wrench],
    enter: Enter = anywhere,
) -> tuple[Vector, list[Wrench]]:
    """The joints' forces (nv), those that their drives take included, and the wrench on every subtree."""
    addends: dict[int, Wrench] = {}
    totals = list(wrenches)
    tau: list[Scalar] = [0.0] * robot.nv
    for i in reversed(range(len(robot.bodies))):
        with enter("Rb", i):
            for child in robot.children[i]:  # lazy update: the parent adds what its children sent
                totals[i] += addends[child]
            felt, addend = backward(robot.bodies[i], joints[i], totals[i])
            addends[i] = addend
            velocities = rates(robot, i, v)
            accelerations = rates(robot, i, a)
            # rotors turn with the joint, not with the link: they are felt here and travel no further
            taken = drive_forces(robot, i, velocities, accelerations)
            felt = vadd(felt, taken)
            collect(robot, i, tau, felt)
    return tuple(tau), totals


def rnea(
    robot: Robot,
    q: Vector,
    v: Vector,
    a: Vector,
    f_ext: tuple[Wrench, ...] | None = None,
    enter: Enter = anywhere,
    base: Motion | None = None,
) -> Vector:
    """τ (nv scalars) for q (nq), v (nv), a (nv) and optional external wrenches on the bodies.

    Each external wrench acts on its body, about the body's origin, in body coordinates. ``enter`` is told which
    submodule the text belongs to. ``base``: how the base moves (default: not at all).
    """
    joints = joint_placements(robot, q, enter)
    _, wrenches = outward_sweep(robot, joints, v, a, f_ext, enter, base)
    return inward_sweep(robot, joints, v, a, wrenches, enter)[0]
