"""The inverse of the mass matrix from its branch-sparse factors M = Lᵀ D L, and the matrix times vectors.

Featherstone, "Efficient factorization of the joint-space inertia matrix for branched kinematic trees", 2005: L is unit
lower triangular and keeps the tree's zeros. With X = L⁻¹, which has them too, M⁻¹ = X D⁻¹ Xᵀ; the sums for X run while
D⁻¹ is still on its way, so that only two products follow the last reciprocal. The step that eliminates degree of
freedom k and its row of X are submodule ``Mf_i`` of its body, the row of M⁻¹ is submodule ``Mi_i``, and the row of a
product with M⁻¹ is ``Mx_i``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rbdgen.algo.composite import Entries
from rbdgen.algo.submodules import Enter, anywhere
from rbdgen.model.robot import Robot
from rbdgen.spatial import Scalar, Vector, add, mul, reciprocal, sub


def dof_parents(robot: Robot) -> tuple[int, ...]:
    """For each degree of freedom the one before it on the way to the base (−1: none)."""
    parents = []
    for body, part in zip(robot.bodies, robot.v_slices, strict=True):
        above = -1 if body.parent < 0 else robot.v_slices[body.parent].stop - 1
        parents += [above, *range(part.start, part.stop - 1)] if part.stop > part.start else []
    return tuple(parents)


def dof_bodies(robot: Robot) -> tuple[int, ...]:
    """For each degree of freedom its body."""
    return tuple(i for i, part in enumerate(robot.v_slices) for _ in range(part.start, part.stop))


def _paths(robot: Robot) -> list[list[int]]:
    """For each degree of freedom those before it on the way to the base, nearest first."""
    paths: list[list[int]] = []
    for parent in dof_parents(robot):
        paths.append([] if parent < 0 else [parent, *paths[parent]])
    return paths


@dataclass(frozen=True)
class Factors:
    """M = Lᵀ D L: ``lower`` the entries (k, i) of L, i on k's way to the base, without its unit diagonal;
    ``reciprocals`` 1 / D by degree of freedom."""

    lower: Entries
    reciprocals: list[Scalar]


def factorise(robot: Robot, mass: Entries, enter: Enter = anywhere) -> Factors:
    """The factors of M, which must be positive definite, from its entries (i, j), i ≥ j."""
    paths, bodies = _paths(robot), dof_bodies(robot)
    work = dict(mass)
    lower: Entries = {}
    reciprocals: list[Scalar] = [0.0] * robot.nv
    for k in reversed(range(robot.nv)):
        with enter("Mf", bodies[k]):
            reciprocals[k] = reciprocal(work[k, k])
            for i in paths[k]:
                lower[k, i] = mul(work[k, i], reciprocals[k])
            for i in paths[k]:
                for j in [i, *paths[i]]:
                    work[i, j] = sub(work[i, j], mul(lower[k, i], work[k, j]))
    return Factors(lower, reciprocals)


def solve(robot: Robot, factors: Factors, right: Sequence[Scalar], enter: Enter = anywhere) -> Vector:
    """M⁻¹ times a vector (nv) by two substitutions.

    Where M is nearly singular its inverse is large and its products cancel; substitution cancels first.
    """
    paths, bodies = _paths(robot), dof_bodies(robot)
    rest, result = list(right), [0.0] * robot.nv
    for k in reversed(range(robot.nv)):
        with enter("Mf", bodies[k]):
            for i in paths[k]:
                rest[i] = sub(rest[i], mul(factors.lower[k, i], rest[k]))
    for k in range(robot.nv):
        with enter("Mi", bodies[k]):
            total = mul(rest[k], factors.reciprocals[k])
            for i in reversed(paths[k]):
                total = sub(total, mul(factors.lower[k, i], result[i]))
            result[k] = total
    return tuple(result)


def inverse(robot: Robot, factors: Factors, enter: Enter = anywhere) -> Entries:
    """Entries (i, j), i ≥ j, of M⁻¹."""
    paths, bodies = _paths(robot), dof_bodies(robot)
    rows: Entries = {}
    for k in range(robot.nv):
        rows[k, k] = 1.0
        with enter("Mf", bodies[k]):
            for i in paths[k]:
                total: Scalar = factors.lower[k, i]
                for j in paths[k]:
                    if i in paths[j]:
                        total = add(total, mul(factors.lower[k, j], rows[j, i]))
                rows[k, i] = sub(0.0, total)
    result: Entries = {}
    for i in range(robot.nv):
        with enter("Mi", bodies[i]):
            for j in range(i + 1):
                common = [k for k in [j, *paths[j]] if k == i or k in paths[i]]
                if common:
                    # the nearest common ancestor's reciprocal is there first
                    total = 0.0
                    for k in common:
                        total = add(total, mul(mul(rows[i, k], factors.reciprocals[k]), rows[j, k]))
                    result[i, j] = total
    return result


def inverse_from_mass(robot: Robot, mass: Entries, enter: Enter = anywhere) -> Entries:
    """Entries (i, j), i ≥ j, of M⁻¹ from those of M, which must be positive definite."""
    return inverse(robot, factorise(robot, mass, enter), enter)


def symmetric_product(
    robot: Robot, inverse: Entries, columns: Sequence[Mapping[int, Scalar]], enter: Enter = anywhere
) -> list[dict[int, Scalar]]:
    """M⁻¹ times each sparse column: entries by row, from the entries (i, j), i ≥ j, of M⁻¹."""
    bodies = dof_bodies(robot)
    result: list[dict[int, Scalar]] = [{} for _ in columns]
    for i in range(robot.nv):
        with enter("Mx", bodies[i]):
            for column, product in zip(columns, result, strict=True):
                terms = [
                    mul(inverse[max(i, k), min(i, k)], x)
                    for k, x in column.items()
                    if (max(i, k), min(i, k)) in inverse
                ]
                while len(terms) > 1:  # a balanced tree: the terms are there at the same time
                    pairs = [add(terms[k], terms[k + 1]) for k in range(0, len(terms) - 1, 2)]
                    terms = pairs + terms[len(pairs) * 2 :]
                if terms:
                    product[i] = terms[0]
    return result
