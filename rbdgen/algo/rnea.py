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

from rbdgen.algo.submodules import TRIGONOMETRY, Enter, anywhere
from rbdgen.model.joints import JointPlacement
from rbdgen.model.robot import Body, Inertia, Robot
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


def wrenches(f_ext: Vector) -> tuple[Wrench, ...]:
    """[force, moment] of every body in turn, the interface's order, as wrenches."""
    return tuple(Wrench(tuple(f_ext[i + 3 : i + 6]), tuple(f_ext[i : i + 3])) for i in range(0, len(f_ext), 6))


def base_motion(gravity: Vector) -> Motion:
    """A base at rest in the field ``gravity`` (3, m/s²)."""
    still = ((0.0, 0.0, 0.0),) * 3
    return Motion(ZERO3, ZERO3, tuple(0.0 - g for g in gravity), still)


def moving_base(omega: Vector, alpha: Vector, acceleration: Vector, gravity: Vector) -> Motion:
    """A base that turns at ``omega`` (3, rad/s) and ``alpha`` (3, rad/s²) and whose origin accelerates by
    ``acceleration`` (3, m/s²) in the field ``gravity`` (3, m/s²), all in the base's coordinates. At what speed its
    origin moves has no effect."""
    return Motion(omega, alpha, vsub(acceleration, gravity), acceleration_gradient(omega, alpha))


def acceleration_gradient(omega: Vector, alpha: Vector) -> Matrix:
    """K = [ω̇]× + [ω]×², from six products."""
    x, y, z = omega
    xx, yy, zz = mul(x, x), mul(y, y), mul(z, z)
    xy, xz, yz = mul(x, y), mul(x, z), mul(y, z)
    return (
        (sub(0.0, add(yy, zz)), sub(xy, alpha[2]), add(xz, alpha[1])),
        (add(xy, alpha[2]), sub(0.0, add(xx, zz)), sub(yz, alpha[0])),
        (sub(xz, alpha[1]), add(yz, alpha[0]), sub(0.0, add(xx, yy))),
    )


def inertial_wrench(inertia: Inertia, motion: Motion) -> Wrench:
    """What it takes to move ``inertia`` so, about the body's origin."""
    k, a = motion.gradient, motion.acceleration
    h, s = inertia.first_moment, inertia.second_moment
    omega = motion.angular_velocity
    square = tuple(mul(w, w) for w in omega)
    moment = []
    for x, y, z in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        # K_zz − K_yy = ω_z² − ω_y²: written so that the products are the ones that K already has
        terms = add(mul(s[y][y], k[z][y]), mul(-s[z][z], k[y][z]))
        terms = add(terms, mul(s[y][z], sub(square[z], square[y])))
        moment.append(add(terms, add(mul(s[x][y], k[z][x]), mul(-s[x][z], k[y][x]))))
    force = vadd(vscale(inertia.mass, a), matvec(k, h))
    return Wrench(vadd(tuple(moment), cross(h, a)), force)


def joint_velocity(columns: tuple[Vector, ...], rates: Vector) -> Vector:
    """Σ_k columns_k · rates_k."""
    total: Vector = ZERO3
    for column, rate in zip(columns, rates, strict=True):
        total = vadd(total, vscale(rate, column))
    return total


def forward(body: Body, joint: JointPlacement, v: Vector, a: Vector, parent: Motion) -> tuple[Motion, Wrench]:
    """``Rf_i``: the body's motion from its parent's, and the wrench that this motion takes.

    ``joint`` is the joint's placement at q; ``v`` and ``a`` are its nv velocities and accelerations.
    """
    tree, inward = body.placement, transpose(body.placement.rotation)
    turn = transpose(joint.rotation)

    def into_body(x: Vector) -> Vector:
        return matvec(turn, matvec(inward, x))

    angular = joint_velocity(body.joint.angular_subspace, v)
    linear = joint_velocity(body.joint.linear_subspace, v)
    carried = into_body(parent.angular_velocity)
    omega = vadd(carried, angular)
    alpha = vadd(into_body(parent.angular_acceleration), joint_velocity(body.joint.angular_subspace, a))
    alpha = vadd(alpha, cross(carried, angular))
    offset = vadd(tree.translation, matvec(tree.rotation, joint.translation))
    acceleration = into_body(vadd(parent.acceleration, matvec(parent.gradient, offset)))
    # Coriolis: the joint's own velocity seen from the parent (2 ω_λ × v_J, and ω_J × v_J where the joint also turns)
    acceleration = vadd(acceleration, cross(vadd(carried, omega), linear))
    acceleration = vadd(acceleration, joint_velocity(body.joint.linear_subspace, a))
    motion = Motion(omega, alpha, acceleration, acceleration_gradient(omega, alpha))
    return motion, inertial_wrench(body.inertia, motion)


def backward(body: Body, joint: JointPlacement, total: Wrench) -> tuple[Vector, Wrench]:
    """``Rb_i``: the joint's forces (nv) and the addend for the parent, from the wrench on the subtree."""
    columns = zip(body.joint.angular_subspace, body.joint.linear_subspace, strict=True)
    tau = tuple(add(dot(angular, total.moment), dot(linear, total.force)) for angular, linear in columns)
    tree = body.placement
    force = matvec(tree.rotation, matvec(joint.rotation, total.force))
    moment = matvec(tree.rotation, matvec(joint.rotation, total.moment))
    offset = vadd(tree.translation, matvec(tree.rotation, joint.translation))
    return tau, Wrench(vadd(moment, cross(offset, force)), force)


def joint_placements(robot: Robot, q: Vector, enter: Enter = anywhere) -> list[JointPlacement]:
    """Every joint's placement at ``q`` (nq)."""
    with enter(TRIGONOMETRY, None):
        return [b.joint.placement(q[part]) for b, part in zip(robot.bodies, robot.q_slices, strict=True)]


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
            motion, wrench = forward(body, joints[i], v[robot.v_slices[i]], a[robot.v_slices[i]], parent)
            if f_ext is not None:
                external = f_ext[i]
                wrench = Wrench(vsub(wrench.moment, external.moment), vsub(wrench.force, external.force))
            motions.append(motion)
            wrenches.append(wrench)
    return motions, wrenches


def inward_sweep(
    robot: Robot, joints: list[JointPlacement], wrenches: list[Wrench], enter: Enter = anywhere
) -> tuple[Vector, list[Wrench]]:
    """The joints' forces (nv), and the wrench on every subtree."""
    addends: list[Wrench | None] = [None] * len(robot.bodies)
    totals = list(wrenches)
    tau: list[Scalar] = [0.0] * robot.nv
    for i in reversed(range(len(robot.bodies))):
        with enter("Rb", i):
            for child in robot.children[i]:  # lazy update: the parent adds what its children sent
                addend = addends[child]
                assert addend is not None
                totals[i] = Wrench(vadd(totals[i].moment, addend.moment), vadd(totals[i].force, addend.force))
            tau[robot.v_slices[i]], addends[i] = backward(robot.bodies[i], joints[i], totals[i])
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
    return inward_sweep(robot, joints, wrenches, enter)[0]
