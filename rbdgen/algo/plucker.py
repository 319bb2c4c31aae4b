"""Spatial vectors and their transforms between a body and its parent, for the textbook algorithms.

A spatial vector is a tuple of six scalars, angular part first, in a body's own coordinates: a motion (angular velocity,
velocity of the origin) or a force (moment about the origin, force). Source: Featherstone 2008, chapter 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rbdgen.algo.rnea import Motion, Wrench
from rbdgen.algo.rotation import rotate, rotate_back
from rbdgen.model.body import Body, Inertia
from rbdgen.model.joints import JointPlacement
from rbdgen.model.robot import Robot
from rbdgen.spatial import (
    TRIGONOMETRY,
    ZERO3,
    Enter,
    Matrix,
    Scalar,
    Vector,
    add,
    anywhere,
    constant_matrix,
    cross,
    dot,
    matvec,
    transpose,
    vadd,
    vscale,
)

ZERO6: Vector = ZERO3 + ZERO3


@dataclass(frozen=True)
class Transform:
    """The transform between a body and its parent: by ``rotation`` (body to joint's predecessor frame), by the constant
    ``tree`` (to the parent's), and ``offset`` (3, the body's origin in the parent)."""

    tree: Matrix
    rotation: Matrix
    offset: Vector

    def outward(self, x: Vector) -> Vector:
        """A free vector from the parent's coordinates into the body's."""
        return rotate_back(self.rotation, matvec(transpose(self.tree), x))

    def inward(self, x: Vector) -> Vector:
        """A free vector from the body's coordinates into the parent's."""
        return matvec(self.tree, rotate(self.rotation, x))

    def motion(self, m: Vector) -> Vector:
        """A motion of the parent, as the body has it: X m."""
        angular, linear = m[:3], m[3:]
        turned = self.outward(angular)
        moved = vadd(linear, cross(angular, self.offset))
        return turned + self.outward(moved)

    def force(self, f: Vector) -> Vector:
        """A force on the body, as the parent has it: Xᵀ f."""
        moment, force = f[:3], f[3:]
        force = self.inward(force)
        moment = self.inward(moment)
        return vadd(moment, cross(self.offset, force)) + force


def transform(body: Body, joint: JointPlacement) -> Transform:
    """The transform of ``body`` with its joint at ``joint``."""
    tree = body.placement
    offset = matvec(tree.rotation, joint.translation)
    offset = vadd(tree.translation, offset)
    return Transform(tree.rotation, joint.rotation, offset)


def transforms(
    robot: Robot, joints: list[JointPlacement], enter: Enter = anywhere
) -> list[Transform]:
    """Every body's transform."""
    found = []
    with enter(TRIGONOMETRY, None):
        for body, joint in zip(robot.bodies, joints, strict=True):
            found.append(transform(body, joint))
    return found


def columns(body: Body) -> list[Vector]:
    """The motion subspace's columns (6 each), constant in the body's coordinates."""
    joint = body.joint
    result = []
    for angular, linear in zip(joint.angular_subspace, joint.linear_subspace, strict=True):
        result.append(tuple(angular) + tuple(linear))
    return result


@dataclass(frozen=True)
class JointedBody:
    """A body as the textbook algorithms see it: its ``inertia`` and motion subspace (``columns``), the transform
    ``to_parent`` (−1: the base), and the degrees of freedom of its joint with their ``rotors``' inertias."""

    inertia: Inertia
    columns: list[Vector]
    rotors: tuple[float, ...]
    to_parent: Transform
    parent: int
    dofs: range

    @property
    def own(self) -> list[tuple[int, Vector]]:
        """The degrees of freedom with their columns."""
        return list(zip(self.dofs, self.columns, strict=True))

    def entries(self, forces: Mapping[int, Vector]) -> Iterator[tuple[int, int, Scalar]]:
        """Row, column and value of what this joint contributes to the lower triangle of M: it feels the ``forces`` of
        its subtree's degrees of freedom, and turns its rotors."""
        rotors = dict(zip(self.dofs, self.rotors, strict=True))
        for dof, force in forces.items():
            for row, x in self.felt(force):
                # a rotor counts where row and column are its own joint
                if row == dof:
                    rotor = rotors[dof]
                    x = add(x, rotor)
                if row <= dof:
                    yield dof, row, x

    def felt(self, force: Vector) -> list[tuple[int, Scalar]]:
        """The share of each degree of freedom in a force on the body."""
        felt = projections(self.columns, force)
        return list(zip(self.dofs, felt, strict=True))


def jointed_bodies(robot: Robot, transforms: list[Transform]) -> list[JointedBody]:
    """Every body with its transform, and its degrees of freedom in the tree whose joints all move by themselves."""
    result = []
    # followers move as well: what they take is added to their leaders by Reduced
    tree = robot.unreduced
    for body, to_parent, part in zip(tree.bodies, transforms, tree.v_slices, strict=True):
        dofs = range(part.start, part.stop)
        link = JointedBody(body.inertia, columns(body), body.rotors, to_parent, body.parent, dofs)
        result.append(link)
    return result


def combination(vectors: list[Vector], factors: Vector | list[Scalar]) -> Vector:
    """Σ_k factors_k · vectors_k of spatial vectors."""
    total = ZERO6
    for vector, factor in zip(vectors, factors, strict=True):
        scaled = vscale(factor, vector)
        total = vadd(total, scaled)
    return total


def projections(vectors: list[Vector], x: Vector) -> Vector:
    """Each vector's scalar product with ``x``."""
    return tuple(dot(vector, x) for vector in vectors)


def motion_cross(a: Vector, b: Vector) -> Vector:
    """a × b of motions."""
    a_angular, a_linear = a[:3], a[3:]
    b_angular, b_linear = b[:3], b[3:]
    angular = cross(a_angular, b_angular)
    linear = cross(a_angular, b_linear)
    return angular + vadd(linear, cross(a_linear, b_angular))


def force_cross(v: Vector, f: Vector) -> Vector:
    """v ×* f of a motion and a force."""
    angular, linear = v[:3], v[3:]
    moment, force = f[:3], f[3:]
    turned = cross(angular, moment)
    turned = vadd(turned, cross(linear, force))
    return turned + cross(angular, force)


def momentum(inertia: Inertia, v: Vector) -> Vector:
    """I v of a body's inertia and a motion."""
    angular, linear = v[:3], v[3:]
    first = inertia.first_moment
    spin = matvec(constant_matrix(inertia.rotational), angular)
    spin = vadd(spin, cross(first, linear))
    thrust = vscale(inertia.mass, linear)
    return spin + vadd(thrust, cross(angular, first))


def base_vectors(base: Motion) -> tuple[Vector, Vector]:
    """Spatial velocity and acceleration (relative to free fall) of a base, as seen from a frame that moves along with
    its origin: the speed of that has no effect."""
    return base.angular_velocity + ZERO3, base.angular_acceleration + base.acceleration


def force_vector(wrench: Wrench) -> Vector:
    """A wrench as a spatial vector."""
    return wrench.moment + wrench.force
