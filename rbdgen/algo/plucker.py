"""Spatial vectors and their transforms between a body and its parent, for the textbook algorithms.

A spatial vector is a tuple of six scalars, angular part first, in a body's own coordinates: a motion (angular velocity,
velocity of the origin) or a force (moment about the origin, force). Source: Featherstone 2008, chapter 2.
"""

from __future__ import annotations

from dataclasses import dataclass

from rbdgen.algo.rnea import Motion, Wrench
from rbdgen.algo.rotation import rotate, rotate_back
from rbdgen.algo.submodules import TRIGONOMETRY, Enter, anywhere
from rbdgen.model.joints import JointPlacement
from rbdgen.model.robot import Body, Inertia, Robot
from rbdgen.spatial import (
    ZERO3,
    Matrix,
    Scalar,
    Vector,
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
    """The way between a body and its parent: turn by ``turn`` (body to joint's predecessor frame), by the constant
    ``tree`` (to the parent's), and ``offset`` (3, the body's origin in the parent)."""

    tree: Matrix
    turn: Matrix
    offset: Vector

    def outward(self, x: Vector) -> Vector:
        """A free vector from the parent's coordinates into the body's."""
        return rotate_back(self.turn, matvec(transpose(self.tree), x))

    def inward(self, x: Vector) -> Vector:
        """A free vector from the body's coordinates into the parent's."""
        return matvec(self.tree, rotate(self.turn, x))

    def motion(self, m: Vector) -> Vector:
        """A motion of the parent, as the body has it: X m."""
        return self.outward(m[:3]) + self.outward(vadd(m[3:], cross(m[:3], self.offset)))

    def force(self, f: Vector) -> Vector:
        """A force on the body, as the parent has it: Xᵀ f."""
        force = self.inward(f[3:])
        return vadd(self.inward(f[:3]), cross(self.offset, force)) + force


def transform(body: Body, joint: JointPlacement) -> Transform:
    """The transform of ``body`` with its joint at ``joint``."""
    offset = vadd(body.placement.translation, matvec(body.placement.rotation, joint.translation))
    return Transform(body.placement.rotation, joint.rotation, offset)


def transforms(robot: Robot, joints: list[JointPlacement], enter: Enter = anywhere) -> list[Transform]:
    """Every body's transform."""
    with enter(TRIGONOMETRY, None):
        return [transform(b, j) for b, j in zip(robot.bodies, joints, strict=True)]


def columns(body: Body) -> list[Vector]:
    """The motion subspace's columns (6 each), constant in the body's coordinates."""
    parts = zip(body.joint.angular_subspace, body.joint.linear_subspace, strict=True)
    return [tuple(angular) + tuple(linear) for angular, linear in parts]


def combination(vectors: list[Vector], factors: Vector | list[Scalar]) -> Vector:
    """Σ_k factors_k · vectors_k of spatial vectors."""
    total = ZERO6
    for vector, factor in zip(vectors, factors, strict=True):
        total = vadd(total, vscale(factor, vector))
    return total


def projections(vectors: list[Vector], x: Vector) -> Vector:
    """Each vector's scalar product with ``x``."""
    return tuple(dot(vector, x) for vector in vectors)


def motion_cross(a: Vector, b: Vector) -> Vector:
    """a × b of motions."""
    return cross(a[:3], b[:3]) + vadd(cross(a[:3], b[3:]), cross(a[3:], b[:3]))


def force_cross(v: Vector, f: Vector) -> Vector:
    """v ×* f of a motion and a force."""
    return vadd(cross(v[:3], f[:3]), cross(v[3:], f[3:])) + cross(v[:3], f[3:])


def momentum(inertia: Inertia, v: Vector) -> Vector:
    """I v of a body's inertia and a motion."""
    h = inertia.first_moment
    angular = vadd(matvec(constant_matrix(inertia.rotational), v[:3]), cross(h, v[3:]))
    return angular + vadd(vscale(inertia.mass, v[3:]), cross(v[:3], h))


def base_vectors(base: Motion) -> tuple[Vector, Vector]:
    """Spatial velocity and acceleration (relative to free fall) of a base, as seen from a frame that moves along with
    its origin: the speed of that has no effect."""
    return base.angular_velocity + ZERO3, base.angular_acceleration + base.acceleration


def force_vector(wrench: Wrench) -> Vector:
    """A wrench as a spatial vector."""
    return wrench.moment + wrench.force
