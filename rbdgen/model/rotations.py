"""Rotations as joints need them: matrices over abstract scalars. Quaternions are (x, y, z, w), as Pinocchio's."""

from __future__ import annotations

import math

from rbdgen.model.joint import UNIT_TOLERANCE
from rbdgen.spatial import (
    Matrix,
    Scalar,
    Vector,
    add,
    constant_matrix,
    cross,
    dot,
    mul,
    sub,
    vscale,
)

UPRIGHT = 1e-9
"""Cosine of a pitch at or below which it is a right angle, and roll and yaw turn about the same axis."""


def rotation_fault(rotation: Matrix) -> str | None:
    """Why a constant 3×3 matrix is no rotation, in words; None of one that is, as far as files' digits go: its rows are
    of unit length and at right angles, and it mirrors nothing."""
    x, y, z = rotation
    products = dot(x, x) - 1.0, dot(y, y) - 1.0, dot(z, z) - 1.0, dot(x, y), dot(y, z), dot(z, x)
    off = max(map(abs, products))
    # so that what is no number is none
    if not sum(map(abs, products)) < math.inf or off > UNIT_TOLERANCE:
        return f"is no rotation: its rows are off by {off:.3g} from unit length and right angles"
    if dot(cross(x, y), z) < 0.0:
        return "is no rotation: it mirrors"
    return None


def about_axis(axis: Vector, c: Scalar, s: Scalar) -> Matrix:
    """Rodrigues' formula: rotation by the angle with cosine ``c`` and sine ``s`` about the unit ``axis``."""
    rows = []
    for i in range(3):
        row = []
        for j in range(3):
            # (1 − c) a aᵀ + c 1 + s [a]×; written so that one-hot axes leave c, ±s, 0 and 1 alone
            outer = axis[i] * axis[j]
            unit = 1.0 if i == j else 0.0
            entry = mul(unit - outer, c)
            if i != j:
                third = axis[3 - i - j]
                entry = add(entry, mul(_levi_civita(i, j) * third, s))
            row.append(add(entry, outer))
        rows.append(tuple(row))
    return tuple(rows)


def _levi_civita(i: int, j: int) -> float:
    """Sign of entry (i, j) of [a]×, which holds ± the third component."""
    return -1.0 if (j - i) % 3 == 1 else 1.0


def fixed_axes_matrix(roll: float, pitch: float, yaw: float) -> Matrix:
    """The rotation by ``roll`` about x, then ``pitch`` about y, then ``yaw`` about z, all of them fixed (radians)."""
    cr, sr = math.cos(roll), math.sin(roll)
    cp, sp = math.cos(pitch), math.sin(pitch)
    cy, sy = math.cos(yaw), math.sin(yaw)
    rotation = (
        (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
        (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
        (-sp, cp * sr, cp * cr),
    )
    return constant_matrix(rotation)


def fixed_axes_angles(rotation: Matrix) -> tuple[float, float, float]:
    """Roll, pitch and yaw (radians) of :func:`fixed_axes_matrix`; where pitch is a right angle, roll is zero."""
    first, second, third = rotation
    across = math.hypot(first[0], second[0])
    pitch = math.atan2(-third[0], across)
    if across < UPRIGHT:
        return 0.0, pitch, math.atan2(-first[1], second[1])
    return math.atan2(third[1], third[2]), pitch, math.atan2(second[0], first[0])


def quaternion_rates(q: Vector) -> Matrix:
    """How fast a unit quaternion changes (4, 3) at angular velocities of one in the turned frame: half of their
    product."""
    x, y, z, w = vscale(0.5, q)
    back = vscale(-1.0, (x, y, z))
    return (w, back[2], y), (z, w, back[0]), (back[1], x, w), back


def quaternion_matrix(q: Vector) -> Matrix:
    """The rotation of a unit quaternion."""
    x, y, z, w = q
    x2 = add(x, x)
    y2 = add(y, y)
    z2 = add(z, z)
    xx = mul(x, x2)
    yy = mul(y, y2)
    zz = mul(z, z2)
    xy = mul(x, y2)
    xz = mul(x, z2)
    yz = mul(y, z2)
    wx = mul(w, x2)
    wy = mul(w, y2)
    wz = mul(w, z2)
    return (
        (sub(1.0, add(yy, zz)), sub(xy, wz), add(xz, wy)),
        (add(xy, wz), sub(1.0, add(xx, zz)), sub(yz, wx)),
        (sub(xz, wy), add(yz, wx), sub(1.0, add(xx, yy))),
    )
