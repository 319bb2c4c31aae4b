"""Articulated-body inertias: what a subtree with free joints opposes to being moved at its root.

Shared by the articulated-body algorithm and MMinvGen. Source: Featherstone 2008, chapter 7.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rbdgen.algo.plucker import JointedBody, Transform, combination, projections
from rbdgen.algo.rotation import rotate_matrix, rotate_symmetric
from rbdgen.model.body import Inertia
from rbdgen.spatial import (
    Matrix,
    Scalar,
    Vector,
    add,
    constant_matrix,
    is_constant,
    madd,
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

    @classmethod
    def of(cls, entry: Callable[[int, int], Scalar]) -> ArticulatedInertia:
        """The one whose 6×6 matrix has these entries (i, j): those with i ≤ j or both in the same block are asked
        for."""

        def linear_entry(i: int, j: int) -> Scalar:
            return entry(i + 3, j + 3)

        angular = _symmetric(entry)
        coupling = []
        for i in range(3):
            row = [entry(i, j) for j in range(3, 6)]
            coupling.append(tuple(row))
        return cls(angular, tuple(coupling), _symmetric(linear_entry))

    def entry(self, i: int, j: int) -> Scalar:
        """Entry (i, j), i ≤ j or both in the same block, of the 6×6 matrix."""
        if j < 3:
            return self.angular[i][j]
        if i < 3:
            return self.coupling[i][j - 3]
        return self.linear[i - 3][j - 3]

    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia:
        angular = _symmetric_sum(self.angular, other.angular)
        coupling = madd(self.coupling, other.coupling)
        linear = _symmetric_sum(self.linear, other.linear)
        return ArticulatedInertia(angular, coupling, linear)

    def times(self, m: Vector) -> Vector:
        """The force that the motion ``m`` takes."""
        angular, linear = m[:3], m[3:]
        moment = matvec(self.angular, angular)
        moment = vadd(moment, matvec(self.coupling, linear))
        force = matvec(transpose(self.coupling), angular)
        return moment + vadd(force, matvec(self.linear, linear))

    def inward(self, transform: Transform) -> ArticulatedInertia:
        """The same inertia as the parent has it: Xᵀ I X."""
        angular = rotate_symmetric(transform.rotation, self.angular)
        angular = rotate_symmetric(transform.tree, angular)
        coupling = rotate_matrix(transform.rotation, self.coupling)
        coupling = rotate_matrix(transform.tree, coupling)
        linear = rotate_symmetric(transform.rotation, self.linear)
        linear = rotate_symmetric(transform.tree, linear)
        p = skew(transform.offset)
        # with P = [p]×:  H' = H + P M  and  Θ' = Θ + P Hᵀ − H' P
        shifted = madd(coupling, matmul(p, linear))
        # by blocks: a product of 6×6 matrices would compute zeros and both triangles
        below = matmul(p, transpose(coupling))
        beside = matmul(shifted, p)

        def entry(i: int, j: int) -> Scalar:
            total = add(angular[i][j], below[i][j])
            return sub(total, beside[i][j])

        # of Θ' one triangle only: in exact arithmetic it is symmetric
        return ArticulatedInertia(_symmetric(entry), shifted, linear)


@dataclass(frozen=True)
class Elimination:
    """A joint taken out of an articulated inertia I: ``u`` U = I S by column (6 each), ``inverse`` D⁻¹ (nv×nv) with D =
    Sᵀ U and the rotors' inertias on its diagonal, and what is ``left``, I − U D⁻¹ Uᵀ."""

    u: list[Vector]
    inverse: Matrix
    left: ArticulatedInertia


def articulated(inertia: Inertia) -> ArticulatedInertia:
    """A rigid body's inertia."""
    m = inertia.mass
    angular = constant_matrix(inertia.rotational)
    coupling = skew(inertia.first_moment)
    linear = (
        (m, 0.0, 0.0),
        (0.0, m, 0.0),
        (0.0, 0.0, m),
    )
    return ArticulatedInertia(angular, coupling, linear)


def eliminate(inertia: ArticulatedInertia, link: JointedBody) -> Elimination:
    """Take the joint of ``link`` out of ``inertia``."""
    u = [inertia.times(s) for s in link.columns]
    inverse = joint_inverse(u, link)
    # U D⁻¹ once, for all entries
    scaled = [combination(u, row) for row in inverse]
    empty = empty_rows(link)

    def rest(i: int, j: int) -> Scalar:
        # exact zeros: nothing has to be computed, carried or turned for them
        if i in empty or j in empty:
            return 0.0
        value = inertia.entry(i, j)
        for a, b in zip(u, scaled, strict=True):
            taken = mul(a[i], b[j])
            value = sub(value, taken)
        return value

    return Elimination(u, inverse, ArticulatedInertia.of(rest))


def joint_inverse(u: list[Vector], link: JointedBody) -> Matrix:
    """D⁻¹ of the joint of ``link``, from U by column."""
    products = []
    for k, force in enumerate(u):
        felt = projections(link.columns[: k + 1], force)
        own = add(felt[k], link.rotors[k])
        # rotors stand on the diagonal of D: they turn with this joint alone
        products.append((*felt[:k], own))
    return symmetric_inverse(products)


def empty_rows(link: JointedBody) -> set[int]:
    """The rows and columns in which nothing is left of an inertia without the joint of ``link``, whatever it was: Sᵀ
    times what is left is zero, in the rows of one-hot columns exactly so, but for joints with rotors."""
    if any(link.rotors):
        return set()
    found = {one_hot(s) for s in link.columns}
    return {row for row in found if row is not None}


def symmetric_inverse(m: list[Vector]) -> Matrix:
    """The inverse of a small symmetric positive definite matrix from its lower triangle, by its factors L D Lᵀ."""
    n = len(m)
    lower, inverted = _factors(m)
    x = _unit_lower_inverse(lower, n)

    def entry(i: int, j: int) -> Scalar:
        # M⁻¹ = Xᵀ D⁻¹ X
        total: Scalar = 0.0
        for k in range(max(i, j), n):
            scaled = mul(x[k, i], inverted[k])
            term = mul(scaled, x[k, j])
            total = add(total, term)
        return total

    return _symmetric(entry, n)


Entries = dict[tuple[int, int], Scalar]


def _factors(m: list[Vector]) -> tuple[Entries, list[Scalar]]:
    """L without its unit diagonal, and the reciprocals of D."""
    n = len(m)
    work: Entries = {}  # L_ij D_j
    for i, row in enumerate(m):
        for j in range(i + 1):
            work[i, j] = row[j]
    lower: Entries = {}
    inverted: list[Scalar] = []
    for k in range(n):
        # no square roots: factors with a unit diagonal need only reciprocals
        pivot = reciprocal(work[k, k])
        inverted.append(pivot)
        for i in range(k + 1, n):
            factor = mul(work[i, k], pivot)
            lower[i, k] = factor
            for j in range(k + 1, i + 1):
                change = mul(factor, work[j, k])
                work[i, j] = sub(work[i, j], change)
    return lower, inverted


def _unit_lower_inverse(lower: Entries, n: int) -> Entries:
    """X = L⁻¹, unit lower triangular."""
    x: Entries = {}
    for j in range(n):
        x[j, j] = 1.0
        for i in range(j + 1, n):
            total: Scalar = 0.0
            for k in range(j, i):
                term = mul(lower[i, k], x[k, j])
                total = add(total, term)
            x[i, j] = sub(0.0, total)
    return x


def _symmetric_sum(a: Matrix, b: Matrix) -> Matrix:
    def entry(i: int, j: int) -> Scalar:
        return add(a[i][j], b[i][j])

    return _symmetric(entry)


def _symmetric(entry: Callable[[int, int], Scalar], size: int = 3) -> Matrix:
    """The symmetric matrix whose upper triangle has these entries."""
    rows: list[list[Scalar]] = [[0.0] * size for _ in range(size)]
    for i in range(size):
        for j in range(i, size):
            value = entry(i, j)
            rows[i][j] = value
            rows[j][i] = value
    return tuple(tuple(row) for row in rows)


def with_projections(x: Vector, link: JointedBody, values: Sequence[Scalar]) -> Vector:
    """The force ``x`` behind the joint of ``link``, whose scalar products with its columns are known to be ``values``:
    one-hot columns give entries of it without computing them. Rotors take a part of it that is not."""
    if any(link.rotors):
        return x
    result = list(x)
    for column, value in zip(link.columns, values, strict=True):
        entry = one_hot(column)
        # a column of another length would need a division
        if entry is not None and is_constant(abs(column[entry]), 1):
            result[entry] = mul(column[entry], value)
    return tuple(result)


def one_hot(s: Vector) -> int | None:
    """Where the only entry that is not zero is; None for other columns."""
    found = [k for k, x in enumerate(s) if not is_constant(x, 0)]
    return found[0] if len(found) == 1 else None
