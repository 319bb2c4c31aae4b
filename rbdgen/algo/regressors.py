"""Regressors: torques and energies as what is linear in the links' inertial parameters, one column each.

A link has ten: mass m, first moment h = m c (3), and the rotational inertia I about its frame's origin (xx, xy, yy, xz,
yz, zz), Pinocchio's order. Every point r of it accelerates by a + K r (:mod:`rbdgen.algo.rnea`), so that it takes the
force f = m a + K h and the moment n = h × a + I ω̇ + ω × I ω. Along (e, d), angular and linear part of how a joint
moves the link, a column is felt as e·n + d·f: of m it is d·a, of h it is Kᵀ d + a × e, and of I three products.

How joints move a link goes outward in its own coordinates (``Yj_i``), where its own joint's axis is constant; columns
are submodule ``Yb_i``. Energies need velocities and gravity there (``Ye_i``). Sources: Atkeson, An & Hollerbach 1986;
Gautier & Khalil 1988 for energies.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rbdgen.algo.composite import Column, origin_of, outward, velocity
from rbdgen.algo.rnea import Motion, acceleration_gradient, base_motion
from rbdgen.model.body import PARAMETERS, ROTATIONAL, Placement
from rbdgen.model.joints import JointPlacement
from rbdgen.model.robot import Robot
from rbdgen.spatial import (
    ZERO3,
    Enter,
    Entries,
    Scalar,
    Vector,
    add,
    anywhere,
    cross,
    dot,
    is_constant,
    matvec,
    mul,
    sub,
    transpose,
    vadd,
    vscale,
    vsub,
)


@dataclass(frozen=True)
class _Moved:
    """How a link moves in its own frame: ``acceleration`` of its origin less gravity, K = ``gradient``, and of I the
    ``moments`` (6, 3) that its parameters take."""

    acceleration: Vector
    gradient: tuple[Vector, ...]
    moments: tuple[Vector, ...]


def _seen(frame: Placement, motion: Motion) -> _Moved:
    """A body's motion in the link's own ``frame``, which is constant in the body's."""
    inward = transpose(frame.rotation)
    origin = matvec(motion.gradient, frame.translation)
    acceleration = matvec(inward, vadd(motion.acceleration, origin))
    omega = matvec(inward, motion.angular_velocity)
    alpha = matvec(inward, motion.angular_acceleration)
    # the same products where the frames' directions are
    gradient = acceleration_gradient(omega, alpha)
    return _Moved(acceleration, gradient, _moments(omega, alpha))


def _moments(omega: Vector, alpha: Vector) -> tuple[Vector, ...]:
    """I ω̇ + ω × I ω of each moment of inertia alone, in the order of :data:`rbdgen.model.body.ROTATIONAL`."""
    x, y, z = omega
    ax, ay, az = alpha
    xx = mul(x, x)
    yy = mul(y, y)
    zz = mul(z, z)
    xy = mul(x, y)
    xz = mul(x, z)
    yz = mul(y, z)
    about_x = ax, xz, sub(0.0, xy)
    about_y = sub(0.0, yz), ay, xy
    about_z = yz, sub(0.0, xz), az
    # off the diagonal each stands for two entries of I
    first = sub(ay, xz)
    second = add(ax, yz)
    mixed_xy = first, second, sub(xx, yy)
    first = add(az, xy)
    third = sub(ax, yz)
    second = sub(zz, xx)
    mixed_xz = first, second, third
    second = sub(az, xy)
    third = add(ay, xz)
    first = sub(yy, zz)
    mixed_yz = first, second, third
    return about_x, mixed_xy, about_y, mixed_xz, mixed_yz, about_z


def _felt(column: Column, moved: _Moved) -> list[Scalar]:
    """A link's ten parameters as a joint feels them that moves it along ``column``."""
    e, d = column
    entries: list[Scalar] = []
    entries.append(dot(d, moved.acceleration))
    swung = cross(moved.acceleration, e)
    pulled = matvec(transpose(moved.gradient), d)
    entries += vadd(pulled, swung)
    for moment in moved.moments:
        entries.append(dot(e, moment))
    return entries


def _scaled(factor: float, column: Column) -> Column:
    angular, linear = column
    return vscale(factor, angular), vscale(factor, linear)


def _joined(columns: dict[int, Column], dof: int, more: Column) -> None:
    """Add to how a degree of freedom moves a body (in place)."""
    e, d = columns.get(dof, (ZERO3, ZERO3))
    angular, linear = more
    columns[dof] = vadd(e, angular), vadd(d, linear)


def body_columns(
    robot: Robot, joints: Sequence[JointPlacement], enter: Enter = anywhere
) -> list[dict[int, Column]]:
    """By body, how each degree of freedom that moves it does so: angular and linear part, of the body's origin in its
    own coordinates. Where joints follow others, these are the leaders' degrees of freedom."""
    found: list[dict[int, Column]] = []
    for i, body in enumerate(robot.bodies):
        columns: dict[int, Column] = {}
        with enter("Yj", i):
            above = found[body.parent] if body.parent >= 0 else {}
            offset = origin_of(body, joints[i])
            for dof, (e, d) in above.items():
                turning = outward(body, joints[i], e)
                moved = vadd(d, cross(e, offset))
                columns[dof] = turning, outward(body, joints[i], moved)
            own = zip(body.joint.angular_subspace, body.joint.linear_subspace, strict=True)
            geared = robot.gearing[robot.unreduced.v_slices[i]]
            for (dof, multiplier), column in zip(geared, own, strict=True):
                _joined(columns, dof, _scaled(multiplier, column))
        found.append(columns)
    return found


def _link_frames(robot: Robot, frames: Sequence[Placement] | None) -> Sequence[Placement]:
    """The links' own frames in the bodies', which they are where none are given."""
    return [Placement()] * len(robot.bodies) if frames is None else frames


def _put(entries: Entries, row: tuple[int, ...], body: int, values: Iterable[Scalar]) -> None:
    """Set the entries of a ``row`` that are of a body's parameters, without those that are zero (in place)."""
    for k, x in enumerate(values):
        if not is_constant(x, 0):
            entries[(*row, len(PARAMETERS) * body + k)] = x


def torque_regressor(
    robot: Robot,
    joints: Sequence[JointPlacement],
    motions: Sequence[Motion],
    frames: Sequence[Placement] | None = None,
    enter: Enter = anywhere,
) -> Entries:
    """Y by (degree of freedom, parameter), from the bodies' ``motions``: Y π are the torques that these take.

    Parameters are those of the links' own ``frames`` (in the bodies'; default: the bodies')."""
    found: Entries = {}
    columns = body_columns(robot, joints, enter)
    for i, frame in enumerate(_link_frames(robot, frames)):
        inward = transpose(frame.rotation)
        with enter("Yb", i):
            moved = _seen(frame, motions[i])
            for dof, (e, d) in columns[i].items():
                turning = matvec(inward, e)
                origin = vadd(d, cross(e, frame.translation))
                own = turning, matvec(inward, origin)
                _put(found, (dof,), i, _felt(own, moved))
    return found


@dataclass(frozen=True)
class _Height:
    """Gravity in a body's coordinates, and ``fall``: gravity times where its origin is."""

    gravity: Vector
    fall: Scalar


def energy_regressors(
    robot: Robot,
    joints: Sequence[JointPlacement],
    v: Sequence[Vector],
    motions: Sequence[Motion],
    frames: Sequence[Placement] | None = None,
    enter: Enter = anywhere,
) -> tuple[Entries, Entries]:
    """By parameter (one index), kinetic and potential energy, which is zero at the base's origin, on a base that stands
    still.

    ``v``: by body the velocities of its joint; angular velocities are those of ``motions``; ``frames`` as in
    :func:`torque_regressor`."""
    base = base_motion(robot.gravity)
    origins: list[Vector] = []
    heights: list[_Height] = []
    kinetic: Entries = {}
    potential: Entries = {}
    for i, frame in enumerate(_link_frames(robot, frames)):
        body, joint = robot.bodies[i], joints[i]
        parent, moving, above = base, ZERO3, _Height(robot.gravity, 0.0)
        if body.parent >= 0:
            parent, moving = motions[body.parent], origins[body.parent]
            above = heights[body.parent]
        with enter("Ye", i):
            _, origin = velocity(body, joint, v[i], parent, moving)
            origins.append(origin)
            fallen = dot(above.gravity, origin_of(body, joint))
            fallen = add(above.fall, fallen)
            own = _Height(outward(body, joint, above.gravity), fallen)
            heights.append(own)
            omega = motions[i].angular_velocity
            carried = vadd(origin, cross(omega, frame.translation))
            inward = transpose(frame.rotation)
            linear = matvec(inward, carried)
            turning = matvec(inward, omega)
            _put(kinetic, (), i, _kinetic(linear, turning))
            fall = dot(own.gravity, frame.translation)
            fall = add(own.fall, fall)
            up = vsub(ZERO3, matvec(inward, own.gravity))
            _put(potential, (), i, (sub(0.0, fall), *up))
    return kinetic, potential


def _kinetic(v: Vector, omega: Vector) -> list[Scalar]:
    """½ m v·v + h·(v × ω) + ½ ω·I ω, by parameter."""
    entries: list[Scalar] = []
    entries.append(mul(0.5, dot(v, v)))
    entries += cross(v, omega)
    for i, j in ROTATIONAL:
        product = mul(omega[i], omega[j])
        # off the diagonal each stands for two entries of I
        entries.append(mul(0.5, product) if i == j else product)
    return entries
