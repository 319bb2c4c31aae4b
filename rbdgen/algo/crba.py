"""The mass matrix by the composite-rigid-body algorithm, cut per body into ``Mb_i``.

Source: Featherstone 2008, section 6.2 (table 6.2). What travels towards the base is the composite inertia of the
subtree and, for each of its degrees of freedom, the force that a unit acceleration of it takes.
"""

from __future__ import annotations

from dataclasses import dataclass

from rbdgen.algo.following import Reduced
from rbdgen.algo.plucker import Transform, jointed_bodies
from rbdgen.algo.rotation import rotate_symmetric, upper_twice
from rbdgen.model.body import Inertia
from rbdgen.model.robot import Robot
from rbdgen.spatial import (
    Enter,
    Matrix,
    Scalar,
    Vector,
    anywhere,
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
        mass = self.mass + other.mass
        first = vadd(self.first, other.first)
        rows = []
        for own, added in zip(self.rotational, other.rotational, strict=True):
            rows.append(vadd(own, added))
        # both triangles are the same expressions, so that they are built once
        return RigidInertia(mass, first, upper_twice(tuple(rows)))

    def times(self, m: Vector) -> Vector:
        """The force that the acceleration ``m`` takes."""
        angular, linear = m[:3], m[3:]
        moment = matvec(self.rotational, angular)
        moment = vadd(moment, cross(self.first, linear))
        force = vscale(self.mass, linear)
        return moment + vadd(force, cross(angular, self.first))

    def inward(self, transform: Transform) -> RigidInertia:
        """The same inertia as the parent has it."""
        first = transform.inward(self.first)
        shifted = vadd(first, vscale(self.mass, transform.offset))
        turned = rotate_symmetric(
            transform.tree, rotate_symmetric(transform.rotation, self.rotational)
        )
        p = skew(transform.offset)
        # the inertia of points r, −Σ m [r]×², with r + p for r
        below = matmul(p, skew(first))
        beside = matmul(skew(shifted), p)
        rows = []
        for i in range(3):
            row = []
            for j in range(3):
                entry = sub(turned[i][j], below[i][j])
                row.append(sub(entry, beside[i][j]))
            rows.append(tuple(row))
        return RigidInertia(self.mass, shifted, upper_twice(tuple(rows)))


def rigid(inertia: Inertia) -> RigidInertia:
    """One body's."""
    return RigidInertia(inertia.mass, inertia.first_moment, constant_matrix(inertia.rotational))


def crba(
    robot: Robot, transforms: list[Transform], enter: Enter = anywhere
) -> dict[tuple[int, int], Scalar]:
    """Entries (i, j), i ≥ j, of M that can differ from zero; ``transforms``: every body's transform."""
    tree = jointed_bodies(robot, transforms)
    inertias = [rigid(body.inertia) for body in robot.bodies]
    # by body: by degree of freedom of its subtree, the force that it takes
    forces: list[dict[int, Vector]] = [{} for _ in robot.bodies]
    mass = Reduced(robot)
    for i in reversed(range(len(robot.bodies))):
        link = tree[i]
        with enter("Mb", i):
            for child in robot.children[i]:
                to_parent = tree[child].to_parent
                inertias[i] += inertias[child].inward(to_parent)
                for dof, force in forces[child].items():
                    # forces of all columns of the subtree are carried along: each ancestor takes its entry
                    forces[i][dof] = to_parent.force(force)
            for dof, column in link.own:
                forces[i][dof] = inertias[i].times(column)
            for dof, row, x in link.entries(forces[i]):
                mass.put_both(dof, row, x)
    return mass.entries
