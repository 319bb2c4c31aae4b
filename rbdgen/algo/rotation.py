"""Rotations with few products: a rotation about a coordinate axis takes three products per vector.

A rotation by θ in a plane is the product of two complex numbers, and that takes three products instead of four (Gauss;
Knuth, *The Art of Computer Programming* 2, 4.6.4): with c = cos θ, s = sin θ and k = c (x + y),
c x − s y = k − (c + s) y and s x + c y = k − (c − s) x. The sums c + s and c − s are shared by all vectors of a joint.
Symmetric matrices rotate by 2θ in their plane, and their trace there stays.
"""

from __future__ import annotations

from dataclasses import dataclass

from rbdgen.spatial import (
    Matrix,
    Scalar,
    Vector,
    add,
    is_constant,
    matmul,
    matvec,
    mul,
    sub,
    transpose,
)


def _number(x: Scalar) -> bool:
    return isinstance(x, (int, float))


@dataclass(frozen=True)
class _AxisRotation:
    """A rotation about a coordinate ``axis`` by an angle with this ``cosine`` and ``sine``."""

    axis: int
    cosine: Scalar
    sine: Scalar

    def plane_first(self, v: tuple) -> tuple:
        """Entries, or rows, in the cyclic order that ends with the axis."""
        first = self.axis + 1
        return tuple(v[first:]) + tuple(v[:first])

    def axes_in_order(self, v: tuple) -> tuple:
        """Inverse of :meth:`plane_first`."""
        first = 2 - self.axis
        return v[first:] + v[:first]

    def matrix_plane_first(self, m: Matrix) -> Matrix:
        """Rows and columns of a matrix in the order of :meth:`plane_first`."""
        return tuple(self.plane_first(row) for row in self.plane_first(m))

    def matrix_in_order(self, m: Matrix) -> Matrix:
        """Inverse of :meth:`matrix_plane_first`."""
        rows = self.axes_in_order(m)
        return tuple(self.axes_in_order(row) for row in rows)

    def turned(self, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
        """(c x − s y, s x + c y)."""
        c, s = self.cosine, self.sine
        if _number(x) or _number(y):
            ahead = sub(mul(c, x), mul(s, y))
            return ahead, add(mul(s, x), mul(c, y))
        k = mul(c, add(x, y))
        change = mul(add(c, s), y)
        ahead = sub(k, change)
        change = mul(sub(c, s), x)
        return ahead, sub(k, change)

    def doubled(self) -> _AxisRotation:
        """The rotation by twice the angle."""
        c, s = self.cosine, self.sine
        cosine = sub(1.0, mul(2.0, mul(s, s)))
        sine = mul(2.0, mul(s, c))
        return _AxisRotation(self.axis, cosine, sine)


def _axis_rotation(rotation: Matrix) -> _AxisRotation | None:
    """``rotation`` as one about a coordinate axis by a variable angle; None for all other rotations."""
    for axis in range(3):
        i = (axis + 1) % 3
        j = (axis + 2) % 3
        own = rotation[axis]
        if not is_constant(own[axis], 1):
            continue
        first = rotation[i]
        second = rotation[j]
        others = own[i], own[j], first[axis], second[axis]
        alone = all(is_constant(x, 0) for x in others)
        cosine = first[i]
        if alone and not _number(cosine):
            return _AxisRotation(axis, cosine, second[i])
    return None


def rotate(rotation: Matrix, v: Vector) -> Vector:
    """R v."""
    about_axis = _axis_rotation(rotation)
    if about_axis is None:
        return matvec(rotation, v)
    x, y, z = about_axis.plane_first(v)
    x, y = about_axis.turned(x, y)
    return about_axis.axes_in_order((x, y, z))


def rotate_back(rotation: Matrix, v: Vector) -> Vector:
    """Rᵀ v."""
    about_axis = _axis_rotation(rotation)
    if about_axis is None:
        return matvec(transpose(rotation), v)
    x, y, z = about_axis.plane_first(v)
    # the inverse rotation is the same rotation of the exchanged pair, so that c + s and c − s serve both
    y, x = about_axis.turned(y, x)
    return about_axis.axes_in_order((x, y, z))


def rotate_matrix(rotation: Matrix, m: Matrix) -> Matrix:
    """R M Rᵀ of a general 3×3 matrix M."""
    about_axis = _axis_rotation(rotation)
    if about_axis is None:
        return matmul(matmul(rotation, m), transpose(rotation))
    first, second, third = about_axis.matrix_plane_first(m)
    xx, xy, xz = first
    yx, yy, yz = second
    zx, zy, zz = third
    total = add(xx, yy)
    twist = sub(yx, xy)
    double = about_axis.doubled()
    difference = sub(xx, yy)
    mixed = add(yx, xy)
    difference, mixed = double.turned(difference, mixed)
    xz, yz = about_axis.turned(xz, yz)
    zx, zy = about_axis.turned(zx, zy)
    xx = _half(add(total, difference))
    yy = _half(sub(total, difference))
    yx = _half(add(mixed, twist))
    xy = _half(sub(mixed, twist))
    first = (xx, xy, xz)
    second = (yx, yy, yz)
    third = (zx, zy, zz)
    return about_axis.matrix_in_order((first, second, third))


def rotate_symmetric(rotation: Matrix, m: Matrix) -> Matrix:
    """R M Rᵀ of a symmetric 3×3 matrix M."""
    about_axis = _axis_rotation(rotation)
    if about_axis is None:
        return upper_twice(matmul(matmul(rotation, m), transpose(rotation)))
    first, second, third = about_axis.matrix_plane_first(m)
    xx, xy, xz = first
    _, yy, yz = second
    total = add(xx, yy)
    double = about_axis.doubled()
    difference = _half(sub(xx, yy))
    difference, xy = double.turned(difference, xy)
    xz, yz = about_axis.turned(xz, yz)
    mean = _half(total)
    xx = add(mean, difference)
    yy = sub(mean, difference)
    first = (xx, xy, xz)
    second = (xy, yy, yz)
    third = (xz, yz, third[2])
    return about_axis.matrix_in_order((first, second, third))


def upper_twice(m: Matrix) -> Matrix:
    """The symmetric 3×3 matrix with the upper triangle of ``m``."""
    first, second, third = m
    xx, xy, xz = first
    _, yy, yz = second
    return (
        (xx, xy, xz),
        (xy, yy, yz),
        (xz, yz, third[2]),
    )


def _half(x: Scalar) -> Scalar:
    return mul(0.5, x)
