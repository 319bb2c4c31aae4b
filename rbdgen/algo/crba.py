"""The mass matrix by the composite-rigid-body algorithm, cut per body into ``Mb_i``.

Source: Featherstone 2008, section 6.2 (table 6.2). What travels towards the base is the composite inertia of the
subtree and, for each of its degrees of freedom, the force that a unit acceleration of it takes.
"""

from __future__ import annotations

from dataclasses import dataclass

from rbdgen.algo.plucker import Transform, columns, projections
from rbdgen.algo.rotation import rotate_symmetric
from rbdgen.algo.submodules import Enter, anywhere
from rbdgen.model.robot import Inertia, Robot
from rbdgen.spatial import (
    Matrix,
    Scalar,
    Vector,
    constant_matrix,
    cross,
    matmul,
    matvec,
    skew,
    sub,
    vadd,
    vscale,
)


@dataclass(frozen=True)
class RigidInertia:
    """``mass``, first moment ``first`` (3) and ``rotational`` inertia (symmetric 3×3), about a body's origin."""

    mass: float
    first: Vector
    rotational: Matrix

    def __add__(self, other: RigidInertia) -> RigidInertia:
        rows = zip(self.rotational, other.rotational, strict=True)
        return RigidInertia(
            self.mass + other.mass, vadd(self.first, other.first), _upper(tuple(vadd(a, b) for a, b in rows))
        )

    def times(self, m: Vector) -> Vector:
        """The force that the acceleration ``m`` takes."""
        w, v = m[:3], m[3:]
        moment = vadd(matvec(self.rotational, w), cross(self.first, v))
        return moment + vadd(vscale(self.mass, v), cross(w, self.first))

    def inward(self, way: Transform) -> RigidInertia:
        """The same inertia as the parent has it."""
        first = way.inward(self.first)
        shifted = vadd(first, vscale(self.mass, way.offset))
        turned = rotate_symmetric(way.tree, rotate_symmetric(way.turn, self.rotational))
        p = skew(way.offset)
        # the inertia of points r, −Σ m [r]×², with r + p for r
        below, beside = matmul(p, skew(first)), matmul(skew(shifted), p)
        rows = tuple(tuple(sub(sub(turned[i][j], below[i][j]), beside[i][j]) for j in range(3)) for i in range(3))
        return RigidInertia(self.mass, shifted, _upper(rows))


def rigid(inertia: Inertia) -> RigidInertia:
    """One body's."""
    return RigidInertia(inertia.mass, inertia.first_moment, constant_matrix(inertia.rotational))


def _upper(m: Matrix) -> Matrix:
    """A symmetric matrix by its upper triangle, so that the lower one is not computed."""
    return tuple(tuple(m[min(i, j)][max(i, j)] for j in range(3)) for i in range(3))


def crba(robot: Robot, ways: list[Transform], enter: Enter = anywhere) -> dict[tuple[int, int], Scalar]:
    """Entries (i, j), i ≥ j, of M that can differ from zero; ``ways``: every body's transform."""
    inertias = [rigid(b.inertia) for b in robot.bodies]
    forces: list[dict[int, Vector]] = [{} for _ in robot.bodies]  # by body: by degree of freedom, the force it takes
    entries: dict[tuple[int, int], Scalar] = {}
    for i in reversed(range(len(robot.bodies))):
        with enter("Mb", i):
            for child in robot.children[i]:
                inertias[i] += inertias[child].inward(ways[child])
                forces[i] |= {dof: ways[child].force(f) for dof, f in forces[child].items()}
            subspace = columns(robot.bodies[i])
            own = range(*robot.v_slices[i].indices(robot.nv))
            forces[i] |= {dof: inertias[i].times(s) for dof, s in zip(own, subspace, strict=True)}
            for dof, force in forces[i].items():
                felt = zip(own, projections(subspace, force), strict=True)
                entries |= {(dof, row): x for row, x in felt if row <= dof}
    return entries
