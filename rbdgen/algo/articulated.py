"""Articulated-body inertias: what a subtree with free joints opposes to being moved at its root.

Shared by the articulated-body algorithm and MMinvGen. Source: Featherstone 2008, chapter 7.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rbdgen.algo.plucker import Transform, combination, projections
from rbdgen.algo.rotation import rotate_matrix, rotate_symmetric
from rbdgen.model.robot import Inertia
from rbdgen.spatial import (
    Matrix,
    Scalar,
    Vector,
    add,
    constant_matrix,
    is_constant,
    matmul,
    matvec,
    mul,
    reciprocal,
    skew,
    sub,
    transpose,
    vadd,
)


@dataclass(frozen=True)
class ArticulatedInertia:
    """[[Θ, H], [Hᵀ, M]]: ``angular`` Θ and ``linear`` M (symmetric 3×3) and ``coupling`` H (3×3)."""

    angular: Matrix
    coupling: Matrix
    linear: Matrix

    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia:
        return ArticulatedInertia(
            _symmetric(lambda i, j: add(self.angular[i][j], other.angular[i][j])),
            tuple(vadd(a, b) for a, b in zip(self.coupling, other.coupling, strict=True)),
            _symmetric(lambda i, j: add(self.linear[i][j], other.linear[i][j])),
        )

    def times(self, m: Vector) -> Vector:
        """The force that the motion ``m`` takes."""
        w, v = m[:3], m[3:]
        moment = vadd(matvec(self.angular, w), matvec(self.coupling, v))
        return moment + vadd(matvec(transpose(self.coupling), w), matvec(self.linear, v))

    def inward(self, way: Transform) -> ArticulatedInertia:
        """The same inertia as the parent has it: Xᵀ I X."""
        angular = rotate_symmetric(way.tree, rotate_symmetric(way.turn, self.angular))
        coupling = rotate_matrix(way.tree, rotate_matrix(way.turn, self.coupling))
        linear = rotate_symmetric(way.tree, rotate_symmetric(way.turn, self.linear))
        p = skew(way.offset)
        # with P = [p]×:  H' = H + P M  and  Θ' = Θ + P Hᵀ − H' P
        shifted = tuple(vadd(a, b) for a, b in zip(coupling, matmul(p, linear), strict=True))
        below, beside = matmul(p, transpose(coupling)), matmul(shifted, p)
        angular = _symmetric(lambda i, j: sub(add(angular[i][j], below[i][j]), beside[i][j]))
        return ArticulatedInertia(angular, shifted, linear)


@dataclass(frozen=True)
class Elimination:
    """A joint taken out of an articulated inertia I: ``u`` U = I S by column (6 each), ``inverse`` (Sᵀ U)⁻¹ (nv×nv),
    and what is ``left``, I − U (Sᵀ U)⁻¹ Uᵀ."""

    u: list[Vector]
    inverse: Matrix
    left: ArticulatedInertia


def articulated(inertia: Inertia) -> ArticulatedInertia:
    """A rigid body's inertia."""
    m = inertia.mass
    linear = ((m, 0.0, 0.0), (0.0, m, 0.0), (0.0, 0.0, m))
    return ArticulatedInertia(constant_matrix(inertia.rotational), skew(inertia.first_moment), linear)


def eliminate(inertia: ArticulatedInertia, columns: list[Vector]) -> Elimination:
    """Take the joint with these motion subspace columns out of ``inertia``."""
    u = [inertia.times(s) for s in columns]
    products = [projections(columns[: k + 1], u[k]) for k in range(len(columns))]
    inverse = symmetric_inverse(products)
    scaled = [combination(u, row) for row in inverse]
    # Sᵀ times what is left is zero: exactly so in the rows of one-hot columns
    empty = {_one_hot(s) for s in columns}

    def rest(i: int, j: int) -> Scalar:
        if i in empty or j in empty:
            return 0.0
        value = _entry(inertia, i, j)
        for a, b in zip(u, scaled, strict=True):
            value = sub(value, mul(a[i], b[j]))
        return value

    left = ArticulatedInertia(
        _symmetric(rest),
        tuple(tuple(rest(i, j + 3) for j in range(3)) for i in range(3)),
        _symmetric(lambda i, j: rest(i + 3, j + 3)),
    )
    return Elimination(u, inverse, left)


def symmetric_inverse(m: list[Vector]) -> Matrix:
    """The inverse of a small symmetric positive definite matrix from its lower triangle, by its factors L D Lᵀ."""
    n = len(m)
    # work[i, j] = L_ij D_j
    work = {(i, j): m[i][j] for i in range(n) for j in range(i + 1)}
    lower: dict[tuple[int, int], Scalar] = {}
    inverted: list[Scalar] = []
    for k in range(n):
        inverted.append(reciprocal(work[k, k]))
        for i in range(k + 1, n):
            lower[i, k] = mul(work[i, k], inverted[k])
            for j in range(k + 1, i + 1):
                work[i, j] = sub(work[i, j], mul(lower[i, k], work[j, k]))
    # X = L⁻¹, unit lower triangular; M⁻¹ = Xᵀ D⁻¹ X
    x: dict[tuple[int, int], Scalar] = {}
    for j in range(n):
        x[j, j] = 1.0
        for i in range(j + 1, n):
            total: Scalar = 0.0
            for k in range(j, i):
                total = add(total, mul(lower[i, k], x[k, j]))
            x[i, j] = sub(0.0, total)

    def entry(i: int, j: int) -> Scalar:
        total: Scalar = 0.0
        for k in range(max(i, j), n):
            total = add(total, mul(mul(x[k, i], inverted[k]), x[k, j]))
        return total

    return _symmetric(entry, n)


def _entry(inertia: ArticulatedInertia, i: int, j: int) -> Scalar:
    """Entry (i, j), i ≤ j or both in the same block, of the 6×6 matrix."""
    if j < 3:
        return inertia.angular[i][j]
    return inertia.coupling[i][j - 3] if i < 3 else inertia.linear[i - 3][j - 3]


def _symmetric(entry: Callable[[int, int], Scalar], size: int = 3) -> Matrix:
    """The symmetric matrix whose upper triangle has these entries."""
    upper = {(i, j): entry(i, j) for i in range(size) for j in range(i, size)}
    return tuple(tuple(upper[min(i, j), max(i, j)] for j in range(size)) for i in range(size))


def with_projections(x: Vector, columns: list[Vector], values: Sequence[Scalar]) -> Vector:
    """``x``, whose scalar products with ``columns`` are known to be ``values``: one-hot columns give entries of it
    without computing them."""
    result = list(x)
    for column, value in zip(columns, values, strict=True):
        place = _one_hot(column)
        if place is not None and is_constant(abs(column[place]), 1):
            result[place] = mul(column[place], value)
    return tuple(result)


def _one_hot(s: Vector) -> int | None:
    places = [k for k, x in enumerate(s) if not is_constant(x, 0)]
    return places[0] if len(places) == 1 else None
