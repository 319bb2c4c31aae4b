"""Rotations as joints need them: matrices over abstract scalars, unit quaternions in numbers.

Quaternions are (x, y, z, w), as Pinocchio's. Arrays may have any leading shape.
"""

from __future__ import annotations

import numpy as np

from rbdgen.spatial import Matrix, Scalar, Vector, add, mul, sub

SMALL_ANGLE = 0.03
"""rad: below this the series is more accurate than the closed form of the exponential's coefficients."""


def about_axis(axis: Vector, c: Scalar, s: Scalar) -> Matrix:
    """Rodrigues' formula: rotation by the angle with cosine ``c`` and sine ``s`` about the unit ``axis``."""
    rows = []
    for i in range(3):
        row = []
        for j in range(3):
            k = axis[i] * axis[j]
            # (1 − c) a aᵀ + c 1 + s [a]×; written so that one-hot axes leave c, ±s, 0 and 1 alone
            cosine = mul((1.0 if i == j else 0.0) - k, c)
            sine = 0.0 if i == j else mul(_levi_civita(i, j) * axis[3 - i - j], s)
            row.append(add(add(cosine, sine), k))
        rows.append(tuple(row))
    return tuple(rows)


def _levi_civita(i: int, j: int) -> float:
    """Sign of entry (i, j) of [a]×, which holds ± the third component."""
    return -1.0 if (j - i) % 3 == 1 else 1.0


def quaternion_matrix(q: Vector) -> Matrix:
    """The rotation of a unit quaternion."""
    x, y, z, w = q
    x2, y2, z2 = add(x, x), add(y, y), add(z, z)
    xx, yy, zz = mul(x, x2), mul(y, y2), mul(z, z2)
    xy, xz, yz = mul(x, y2), mul(x, z2), mul(y, z2)
    wx, wy, wz = mul(w, x2), mul(w, y2), mul(w, z2)
    return (
        (sub(1.0, add(yy, zz)), sub(xy, wz), add(xz, wy)),
        (add(xy, wz), sub(1.0, add(xx, zz)), sub(yz, wx)),
        (sub(xz, wy), add(yz, wx), sub(1.0, add(xx, yy))),
    )


def quaternion_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a ∘ b (..., 4): first turned by ``b``, then by ``a``; of unit length to the last bit."""
    va, vb, wa, wb = a[..., :3], b[..., :3], a[..., 3:], b[..., 3:]
    vector = wa * vb + wb * va + np.cross(va, vb)
    scalar = wa * wb - np.sum(va * vb, axis=-1, keepdims=True)
    product = np.concatenate([vector, scalar], axis=-1)
    return product / np.linalg.norm(product, axis=-1, keepdims=True)


def quaternion_rotate(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """v (..., 3) turned by the unit quaternion q (..., 4)."""
    twice = 2 * np.cross(q[..., :3], v)
    return v + q[..., 3:] * twice + np.cross(q[..., :3], twice)


def quaternion_exponential(w: np.ndarray) -> np.ndarray:
    """The unit quaternion (..., 4) of a turn by the rotation vector w (..., 3; radians)."""
    half = np.linalg.norm(w, axis=-1, keepdims=True) / 2
    return np.concatenate([0.5 * np.sinc(half / np.pi) * w, np.cos(half)], axis=-1)


def translation_exponential(v: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The way (..., 3) of a frame that moves for one second at linear velocity v and angular velocity w, both (..., 3)
    and constant in its own coordinates; in the coordinates that it started with."""
    angle = np.linalg.norm(w, axis=-1, keepdims=True)
    first = 0.5 * np.sinc(angle / (2 * np.pi)) ** 2
    square = angle**2
    safe = np.maximum(angle, SMALL_ANGLE)
    second = np.where(angle < SMALL_ANGLE, 1 / 6 - square / 120 + square**2 / 5040, (safe - np.sin(safe)) / safe**3)
    once = np.cross(w, v)
    return v + first * once + second * np.cross(w, once)
