"""Rotations as joints need them: matrices over abstract scalars, unit quaternions in numbers.

Quaternions are (x, y, z, w), as Pinocchio's. Arrays may have any leading shape.
"""

from __future__ import annotations

import math

import numpy as np

from rbdgen.spatial import Matrix, Scalar, Vector, add, constant_matrix, mul, sub

SMALL_ANGLE = 0.03
"""rad: below this the series is more accurate than the closed form of the exponential's coefficients."""
UPRIGHT = 1e-9
"""Cosine of a pitch at or below which it is a right angle, and roll and yaw turn about the same axis."""


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


def quaternion_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a ∘ b (..., 4): first turned by ``b``, then by ``a``; of unit length to the last bit."""
    va, wa = a[..., :3], a[..., 3:]
    vb, wb = b[..., :3], b[..., 3:]
    vector = wa * vb + wb * va
    vector = vector + np.cross(va, vb)
    scalar = wa * wb
    scalar = scalar - np.sum(va * vb, axis=-1, keepdims=True)
    product = np.concatenate([vector, scalar], axis=-1)
    return product / np.linalg.norm(product, axis=-1, keepdims=True)


def quaternion_rotate(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """v (..., 3) turned by the unit quaternion q (..., 4)."""
    vector, scalar = q[..., :3], q[..., 3:]
    twice = 2 * np.cross(vector, v)
    return v + scalar * twice + np.cross(vector, twice)


def quaternion_exponential(w: np.ndarray) -> np.ndarray:
    """The unit quaternion (..., 4) of a turn by the rotation vector w (..., 3; radians)."""
    half = np.linalg.norm(w, axis=-1, keepdims=True) / 2
    vector = 0.5 * np.sinc(half / np.pi) * w
    return np.concatenate([vector, np.cos(half)], axis=-1)


def translation_exponential(v: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The way (..., 3) of a frame that moves for one second at linear velocity v and angular velocity w, both (..., 3)
    and constant in its own coordinates; in the coordinates that it started with."""
    angle = np.linalg.norm(w, axis=-1, keepdims=True)
    first = 0.5 * np.sinc(angle / (2 * np.pi)) ** 2
    square = angle**2
    safe = np.maximum(angle, SMALL_ANGLE)
    series = 1 / 6 - square / 120 + square**2 / 5040
    closed = (safe - np.sin(safe)) / safe**3
    second = np.where(angle < SMALL_ANGLE, series, closed)
    once = np.cross(w, v)
    return v + first * once + second * np.cross(w, once)
