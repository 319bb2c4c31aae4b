"""Inverses of small symmetric matrices in closed form: few steps one after the other, where factors take one per row.

A positive definite matrix of up to six rows is parted in two, neither part larger than three rows, whose inverse is its
adjugate over its determinant. With the leading part A, the coupling B and the rest C, the complement is taken times
det A, S = det A · C − B adj(A) Bᵀ, so that no division comes before the last one; that of det A runs beside it. What
multiplies the last reciprocal is made while the division is still on its way: one product follows.
"""

from __future__ import annotations

from dataclasses import dataclass

from rbdgen.spatial import (
    Matrix,
    Scalar,
    Vector,
    add,
    dot,
    matvec,
    mul,
    reciprocal,
    sub,
    transpose,
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
        """What of a right-hand side can be made before the last reciprocal is there."""
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
