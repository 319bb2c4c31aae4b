"""Acceleration of a free body under a wrench: the inverse of its spatial inertia, carried from frame to frame.

Motions are angular acceleration α and the origin's acceleration a, wrenches a moment n about the origin and a force f;
with the centre of mass c and the rotational inertia J there, α = J⁻¹ (n − c × f) and a = f / m + c × α (Featherstone
2008, section 2.13). A constant one costs no product but those with the sines and cosines of joints.

Inverses of small symmetric matrices are in closed form: few steps one after the other, where factors take one per row.
A positive definite matrix of up to six rows is parted in two, neither part larger than three rows, whose inverse is its
adjugate over its determinant. With the leading part A, the coupling B and the rest C, the complement is taken times
det A, S = det A · C − B adj(A) Bᵀ, so that no division comes before the last one; that of det A runs beside it. What
multiplies the last reciprocal is made while the division is still on its way: one product follows.
"""

from __future__ import annotations

from dataclasses import dataclass

from rbdgen.algo.composite import Column
from rbdgen.algo.rotation import rotate_back, rotate_matrix, rotate_symmetric
from rbdgen.errors import UnsupportedError, short
from rbdgen.model.body import Body, Inertia
from rbdgen.spatial import (
    IDENTITY3,
    Matrix,
    Scalar,
    Vector,
    add,
    cross,
    dot,
    madd,
    matmul,
    matvec,
    msub,
    mul,
    reciprocal,
    skew,
    sub,
    transpose,
    vadd,
    vscale,
    vsub,
)

LARGEST = 3
"""Rows of a part."""


@dataclass(frozen=True)
class ReducedColumn:
    """A right-hand side on its way through a :class:`BlockInverse`: its leading entries ``given`` and A⁻¹ of them
    (``settled``), the ``rest`` less what those take of it, and its product ``weighed`` with S's adjugate."""

    given: Vector
    settled: Vector
    rest: Vector
    weighed: Vector


@dataclass(frozen=True)
class BlockInverse:
    """The inverse of a block in parts: ``adjugate`` and ``reciprocal`` of the leading part's determinant; B A⁻¹
    (``coupling``, by row); det A times the adjugate of S (``weights``), and the reciprocal of S's determinant
    (``last``)."""

    adjugate: Matrix
    reciprocal: Scalar
    coupling: Matrix
    weights: Matrix
    last: Scalar

    def reduced(self, column: Vector) -> ReducedColumn:
        """The part of a right-hand side that can be made before the last reciprocal is there."""
        lead = len(self.adjugate)
        given = column[:lead]
        settled = matvec(self.adjugate, given)
        settled = vscale(self.reciprocal, settled)
        taken = matvec(self.coupling, given)
        rest = vsub(column[lead:], taken)
        weighed = matvec(self.weights, rest)
        return ReducedColumn(given, settled, rest, weighed)

    def solved(self, column: ReducedColumn) -> Vector:
        """The inverse times a right-hand side."""
        rest = vscale(self.last, column.weighed)
        if not column.settled:
            return rest
        columns = transpose(self.coupling)
        taken = matvec(columns, rest)
        leading = vsub(column.settled, taken)
        return leading + rest

    def form(self, left: ReducedColumn, right: ReducedColumn) -> Scalar:
        """leftᵀ times the inverse times right."""
        weighed = dot(left.rest, right.weighed)
        weighed = mul(weighed, self.last)
        own = dot(left.given, right.settled)
        return add(own, weighed)


def block_inverse(m: Matrix) -> BlockInverse:
    """The inverse of a positive definite matrix of one to six rows."""
    size = len(m)
    lead = 0 if size <= LARGEST else size // 2
    leading = tuple(row[:lead] for row in m[:lead])
    coupling = tuple(row[:lead] for row in m[lead:])
    own, determinant = adjugate(leading)
    carried = tuple(matvec(own, row) for row in coupling)
    complement = []
    for k, row in enumerate(m[lead:]):
        entries = []
        for j, x in enumerate(row[lead:]):
            later = max(k, j)
            before = min(k, j)
            taken = dot(carried[later], coupling[before])
            scaled = mul(determinant, x)
            entries.append(sub(scaled, taken))
        complement.append(tuple(entries))
    rest, last = adjugate(tuple(complement))
    last = reciprocal(last)
    inverted = reciprocal(determinant)
    weights = tuple(vscale(determinant, row) for row in rest)
    carried = tuple(vscale(inverted, row) for row in carried)
    return BlockInverse(own, inverted, carried, weights, last)


def adjugate(m: Matrix) -> tuple[Matrix, Scalar]:
    """Adjugate and determinant of a symmetric matrix of up to three rows."""
    match len(m):
        case 0:
            return (), 1.0
        case 1:
            return ((1.0,),), m[0][0]
        case 2:
            (xx, xy), (_, yy) = m
            across = sub(0.0, xy)
            return ((yy, across), (across, xx)), _minor(xx, yy, xy, xy)
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = m
    first = _minor(yy, zz, yz, yz), _minor(xz, yz, xy, zz), _minor(xy, yz, xz, yy)
    second = first[1], _minor(xx, zz, xz, xz), _minor(xy, xz, xx, yz)
    third = first[2], second[2], _minor(xx, yy, xy, xy)
    return (first, second, third), dot(m[0], first)


def _minor(a: Scalar, b: Scalar, c: Scalar, d: Scalar) -> Scalar:
    """a b − c d."""
    first = mul(a, b)
    second = mul(c, d)
    return sub(first, second)


NONE: Matrix = ((0.0, 0.0, 0.0),) * 3
LEAST = 1e-12
"""A moment of inertia at or below this share of the largest counts as none."""


@dataclass(frozen=True)
class Mobility:
    """3×3 blocks: ``turning`` α by n, ``mixed`` a by n (its transpose: α by f), ``sliding`` a by f."""

    turning: Matrix
    mixed: Matrix
    sliding: Matrix

    @classmethod
    def of(cls, rows: Matrix) -> Mobility:
        """From all of it, 6×6."""
        turning = tuple(row[:3] for row in rows[:3])
        mixed = tuple(row[:3] for row in rows[3:])
        sliding = tuple(row[3:] for row in rows[3:])
        return cls(turning, mixed, sliding)

    def __add__(self, other: Mobility) -> Mobility:
        turning = madd(self.turning, other.turning)
        mixed = madd(self.mixed, other.mixed)
        sliding = madd(self.sliding, other.sliding)
        return Mobility(turning, mixed, sliding)

    @property
    def columns(self) -> list[Column]:
        """α and a by each component of a wrench, moments first."""
        by_moment = zip(transpose(self.turning), transpose(self.mixed), strict=True)
        by_force = zip(self.mixed, transpose(self.sliding), strict=True)
        return [*by_moment, *by_force]

    @property
    def rows(self) -> Matrix:
        """All of it, 6×6."""
        columns = tuple(e + d for e, d in self.columns)
        return transpose(columns)

    def about(self, origin: Vector) -> Mobility:
        """About another origin, given in the same coordinates."""
        lever = skew(origin)
        swung = matmul(lever, self.turning)
        mixed = msub(self.mixed, swung)
        by_force = transpose(self.mixed)
        swung = matmul(lever, by_force)
        sliding = msub(self.sliding, swung)
        swung = matmul(mixed, lever)
        sliding = madd(sliding, swung)
        return Mobility(self.turning, mixed, sliding)

    def seen_from(self, rotation: Matrix) -> Mobility:
        """In the coordinates of a frame that is turned by ``rotation``."""
        back = transpose(rotation)
        turning = rotate_symmetric(back, self.turning)
        mixed = rotate_matrix(back, self.mixed)
        sliding = rotate_symmetric(back, self.sliding)
        return Mobility(turning, mixed, sliding)


NO_MOBILITY = Mobility(NONE, NONE, NONE)
"""Of what does not move."""


def moved_column(column: Column, origin: Vector, rotation: Matrix) -> Column:
    """A motion as it is at another ``origin``, in the coordinates of a frame there that is turned by ``rotation``."""
    alpha, acceleration = column
    swung = cross(alpha, origin)
    moved = vadd(acceleration, swung)
    moved = rotate_back(rotation, moved)
    return rotate_back(rotation, alpha), moved


def free_mobility(body: Body, family: str, remedy: str) -> Mobility:
    """A link's, about its frame's origin. UnsupportedError naming a link whose inertia has no inverse. ``family``: the
    algorithm that was asked for; ``remedy``: the one that takes such links."""
    inertia = body.inertia
    if inertia.mass > 0.0:
        inverted = 1.0 / inertia.mass
        centre = vscale(inverted, inertia.first_moment)
        central = _central_rotational(inertia, centre)
        size = max(central[k][k] for k in range(3))
        weights, determinant = adjugate(central)
        if determinant > LEAST * size**3:
            inverted = 1.0 / determinant
            turning = tuple(vscale(inverted, row) for row in weights)
            light = 1.0 / inertia.mass
            sliding = tuple(vscale(light, row) for row in IDENTITY3)
            central = Mobility(turning, NONE, sliding)
            backwards = vscale(-1.0, centre)
            return central.about(backwards)
    raise UnsupportedError(
        f"{family}: link {short(body.name)} has a mass of {inertia.mass:.3g} kg and no inertia that can be inverted; "
        f"use {remedy}"
    )


def _central_rotational(inertia: Inertia, centre: Vector) -> Matrix:
    """The rotational inertia about the centre of mass."""
    carried = tuple(vscale(x, inertia.first_moment) for x in centre)
    second = msub(inertia.second_moment, carried)
    trace = second[0][0] + second[1][1] + second[2][2]
    whole = tuple(vscale(trace, row) for row in IDENTITY3)
    return msub(whole, second)
