"""The inverse of the mass matrix from its branch-sparse factors M = Lᵀ D L, and the matrix times vectors.

Featherstone, "Efficient factorization of the joint-space inertia matrix for branched kinematic trees", 2005: L is unit
lower triangular and keeps the tree's zeros. With X = L⁻¹, which has them too, M⁻¹ = X D⁻¹ Xᵀ; the sums for X run while
D⁻¹ is not there yet, so that only two products follow the last reciprocal. The step that eliminates degree of
freedom k and its row of X are submodule ``Mf_i`` of its body, the row of M⁻¹ is submodule ``Mi_i``, and the row of a
product with M⁻¹ is ``Mx_i``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from rbdgen.algo.following import Entries
from rbdgen.model.robot import Robot
from rbdgen.spatial import (
    Enter,
    Scalar,
    Vector,
    add,
    anywhere,
    mul,
    negated_matrix_product,
    reciprocal,
    sub,
)


def dof_parents(robot: Robot) -> tuple[int, ...]:
    """For each degree of freedom the one that it is eliminated into (−1: none): the one before it on the path to the
    base, where no joint follows another. Else, what M couples is more than a path, and elimination fills further
    entries in: these are the parents of its elimination tree (Liu 1990)."""
    coupled = _coupled(robot)
    parents = [-1] * robot.nv
    for k in reversed(range(robot.nv)):
        before = coupled[k]
        if before:
            # the nearest one on the way: every other one of the row hangs above it
            parent = max(before)
            parents[k] = parent
            # fill-in: what is eliminated couples all that it was coupled with
            coupled[parent] |= before - {parent}
    return tuple(parents)


def _coupled(robot: Robot) -> list[set[int]]:
    """For each degree of freedom those of smaller number that M couples it with."""
    above: list[set[int]] = []  # by body: what moves it
    coupled: list[set[int]] = [set() for _ in range(robot.nv)]
    parts = robot.unreduced.v_slices
    for body, part in zip(robot.bodies, parts, strict=True):
        geared = robot.gearing[part]
        own = {dof for dof, _ in geared}
        moving = set(own)
        if body.parent >= 0:
            moving |= above[body.parent]
        above.append(moving)
        for one in moving:
            for other in own:
                if one != other:
                    later = max(one, other)
                    coupled[later].add(min(one, other))
    return coupled


def dof_bodies(robot: Robot) -> tuple[int, ...]:
    """For each degree of freedom its body."""
    bodies: list[int] = []
    for i, part in enumerate(robot.v_slices):
        bodies += [i] * (part.stop - part.start)
    return tuple(bodies)


def _paths(parents: Sequence[int]) -> list[list[int]]:
    """For each row those before it that it is coupled with, nearest first."""
    paths: list[list[int]] = []
    for parent in parents:
        paths.append([] if parent < 0 else [parent, *paths[parent]])
    return paths


@dataclass(frozen=True)
class Factors:
    """M = Lᵀ D L: ``lower`` the entries (k, i) of L, i on k's path to the base, without its unit diagonal;
    ``reciprocals`` 1 / D by degree of freedom."""

    lower: Entries
    reciprocals: list[Scalar]


class Elimination:
    """The elimination of a symmetric positive definite matrix, from its last row to its first.

    ``parents``: for each row the one that it is eliminated into (−1: none). ``bodies``: by row, the body whose
    submodules the text belongs to: steps of elimination to those of the first of ``kinds``, rows of results to the
    second's.
    """

    def __init__(
        self,
        parents: Sequence[int],
        bodies: Sequence[int],
        enter: Enter = anywhere,
        kinds: tuple[str, str] = ("Mf", "Mi"),
    ) -> None:
        self.paths = _paths(parents)
        self.bodies = bodies
        self.enter = enter
        self.kinds = kinds
        self.rows = range(len(parents))

    def _step(self, k: int) -> AbstractContextManager[None]:
        return self.enter(self.kinds[0], self.bodies[k])

    def _row(self, k: int) -> AbstractContextManager[None]:
        return self.enter(self.kinds[1], self.bodies[k])

    def factorise(self, matrix: Entries) -> Factors:
        """The factors, from the entries (i, j), i ≥ j."""
        work = dict(matrix)
        lower: Entries = {}
        reciprocals: list[Scalar] = [0.0] * len(self.rows)
        for k in reversed(self.rows):
            with self._step(k):
                pivot = reciprocal(work[k, k])
                reciprocals[k] = pivot
                path = self.paths[k]
                # kept before it is divided: an update needs one factor of each kind
                row = {i: work.get((k, i), 0.0) for i in path}
                for i in path:
                    lower[k, i] = mul(row[i], pivot)
                for i in path:
                    factor = lower[k, i]
                    # the lower triangle of the update, along the path only: all else stays zero
                    for j in [i, *self.paths[i]]:
                        change = mul(factor, row[j])
                        before = work.get((i, j), 0.0)
                        work[i, j] = sub(before, change)
        return Factors(lower, reciprocals)

    def solve(self, factors: Factors, right: Sequence[Scalar]) -> Vector:
        """The inverse times a vector by two substitutions.

        Where the matrix is nearly singular its inverse is large and its products cancel; substitution cancels first.
        """
        rest = self.reduced(factors, right)
        return self.restored(factors, self.scaled(factors, rest))

    def reduced(self, factors: Factors, right: Sequence[Scalar]) -> list[Scalar]:
        """L⁻ᵀ times a vector: the first substitution."""
        rest = list(right)
        for k in reversed(self.rows):
            with self._step(k):
                for i in self.paths[k]:
                    change = mul(factors.lower[k, i], rest[k])
                    rest[i] = sub(rest[i], change)
        return rest

    def scaled(self, factors: Factors, x: Sequence[Scalar]) -> list[Scalar]:
        """D⁻¹ times a vector."""
        result: list[Scalar] = []
        for k in self.rows:
            with self._row(k):
                result.append(mul(x[k], factors.reciprocals[k]))
        return result

    def restored(self, factors: Factors, x: Sequence[Scalar]) -> Vector:
        """L⁻¹ times a vector: the second substitution."""
        result: list[Scalar] = []
        for k in self.rows:
            with self._row(k):
                total = x[k]
                # from the base on: those are known first
                for i in reversed(self.paths[k]):
                    change = mul(factors.lower[k, i], result[i])
                    total = sub(total, change)
                result.append(total)
        return tuple(result)

    def inverse(self, factors: Factors) -> Entries:
        """Entries (i, j), i ≥ j, of the inverse."""
        rows: Entries = {}
        for k in self.rows:
            with self._step(k):
                _inverse_row(k, self.paths, factors.lower, rows)
        result: Entries = {}
        for i in self.rows:
            with self._row(i):
                for j in range(i + 1):
                    common = _common(self.paths, i, j)
                    # branches that share no ancestor do not push each other
                    if common:
                        entry = _inverse_entry(i, j, common, rows, factors.reciprocals)
                        result[i, j] = entry
        return result


def along_tree(robot: Robot, enter: Enter = anywhere) -> Elimination:
    """Of the mass matrix, along the tree."""
    return Elimination(dof_parents(robot), dof_bodies(robot), enter)


def _inverse_row(k: int, paths: list[list[int]], lower: Entries, rows: Entries) -> None:
    """Row ``k`` of X = L⁻¹, from the rows before it (in place)."""
    rows[k, k] = 1.0
    for i in paths[k]:
        # no product for j = i, whose factor is 1
        total: Scalar = lower[k, i]
        for j in paths[k]:
            if i in paths[j]:
                term = mul(lower[k, j], rows[j, i])
                total = add(total, term)
        rows[k, i] = sub(0.0, total)


def _common(paths: list[list[int]], i: int, j: int) -> list[int]:
    """Degrees of freedom that both ``i`` and ``j`` hang on, themselves included, nearest first."""
    path = [i, *paths[i]]
    other = [j, *paths[j]]
    return [k for k in other if k in path]


def _inverse_entry(
    i: int, j: int, common: list[int], rows: Entries, reciprocals: list[Scalar]
) -> Scalar:
    """Entry (i, j) of X D⁻¹ Xᵀ; the nearest common ancestor's reciprocal is there first."""
    total: Scalar = 0.0
    for k in common:
        scaled = mul(rows[i, k], reciprocals[k])
        term = mul(scaled, rows[j, k])
        total = add(total, term)
    return total


def inverse_from_mass(robot: Robot, mass: Entries, enter: Enter = anywhere) -> Entries:
    """Entries (i, j), i ≥ j, of M⁻¹ from those of M, which must be positive definite."""
    along = along_tree(robot, enter)
    return along.inverse(along.factorise(mass))


def symmetric_product(
    robot: Robot, inverse: Entries, columns: Sequence[Mapping[int, Scalar]], enter: Enter = anywhere
) -> list[dict[int, Scalar]]:
    """M⁻¹ times each sparse column: entries by row, from the entries (i, j), i ≥ j, of M⁻¹."""
    bodies = dof_bodies(robot)
    result: list[dict[int, Scalar]] = [{} for _ in columns]
    for i in range(robot.nv):
        with enter("Mx", bodies[i]):
            for column, product in zip(columns, result, strict=True):
                terms = []
                for k, x in column.items():
                    entry = max(i, k), min(i, k)
                    if entry in inverse:
                        term = mul(inverse[entry], x)
                        terms.append(term)
                if terms:
                    product[i] = _balanced_sum(terms)
    return result


def negated_product(
    robot: Robot, inverse: Entries, matrix: Mapping[Any, Scalar], enter: Enter = anywhere
) -> Entries:
    """−M⁻¹ times a matrix, from the entries (i, j), i ≥ j, of M⁻¹ and those of the matrix that may differ from zero."""
    # software keeps a product of matrices whole, which processors have loops for
    whole = negated_matrix_product(both_triangles(inverse), dict(matrix))
    if whole is not None:
        return whole
    bodies = dof_bodies(robot)
    columns: dict[int, dict[int, Scalar]] = {}
    for (i, j), x in matrix.items():
        columns.setdefault(j, {})[i] = x
    numbers = sorted(columns)
    products = symmetric_product(robot, inverse, [columns[j] for j in numbers], enter)
    result: Entries = {}
    for j, column in zip(numbers, products, strict=True):
        for i, x in column.items():
            with enter("Mx", bodies[i]):
                result[i, j] = sub(0.0, x)
    return result


def remaining_torques(
    robot: Robot, tau: Sequence[Scalar], effects: Sequence[Scalar], enter: Enter = anywhere
) -> list[Scalar]:
    """The part of the torques ``tau`` (nv) beyond the nonlinear ``effects``: what accelerates."""
    rest: list[Scalar] = []
    for body, torque, effect in zip(dof_bodies(robot), tau, effects, strict=True):
        with enter("Rb", body):
            rest.append(sub(torque, effect))
    return rest


def both_triangles(lower: Mapping[Any, Scalar]) -> Entries:
    """All entries of a symmetric matrix from those of its lower triangle."""
    whole: Entries = {}
    for (i, j), x in lower.items():
        whole[i, j] = x
        whole[j, i] = x
    return whole


def _balanced_sum(terms: list[Scalar]) -> Scalar:
    """The sum by a balanced tree: the terms are there at the same time."""
    while len(terms) > 1:
        sums = []
        pairs = zip(terms[0::2], terms[1::2], strict=False)
        for one, other in pairs:
            sums.append(add(one, other))
        left_over = terms[len(sums) * 2 :]
        terms = sums + left_over
    return terms[0]
