"""Joint types: one frozen class each. Adding a joint is adding a class here and to ``JOINT_TYPES``.

Each states its coordinates, the placement of its child in its predecessor as a function of q, its motion subspace, and
how it integrates where that is not a sum. Spatial quantities are expressed in the joint's child frame (Featherstone
2008, section 4.4); q, v and the order of the subspace's columns are Pinocchio's for all types that it has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rbdgen.model.joint import Axis, CompoundJoint, Coordinates, Joint, JointPlacement, checked_axis
from rbdgen.model.rotations import (
    about_axis,
    quaternion_exponential,
    quaternion_matrix,
    quaternion_product,
    quaternion_rotate,
    translation_exponential,
)
from rbdgen.spatial import IDENTITY3, ZERO3, Vector, cos, mul, sin, sub, vscale

__all__ = [
    "JOINT_TYPES",
    "Axis",
    "CompoundJoint",
    "Continuous",
    "Coordinates",
    "Cylindrical",
    "FreeFlyer",
    "Helical",
    "Joint",
    "JointPlacement",
    "Planar",
    "Prismatic",
    "Revolute",
    "Spherical",
    "Translation",
    "Universal",
]

_UNIT_AXES: tuple[Axis, ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
_STILL: tuple[Axis, ...] = ((0.0, 0.0, 0.0),) * 3


def _turned(q: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """(cos, sin) (..., 2) turned by ``angle`` (...), of unit length to the last bit."""
    (c, s), (dc, ds) = np.moveaxis(q, -1, 0), (np.cos(angle), np.sin(angle))
    turned = np.stack([c * dc - s * ds, s * dc + c * ds], axis=-1)
    return turned / np.linalg.norm(turned, axis=-1, keepdims=True)


@dataclass(frozen=True)
class _AxisJoint(Joint):
    """Moves about or along a unit ``axis``."""

    axis: Axis
    nv = 1

    def __post_init__(self) -> None:
        checked_axis(type(self).__name__, self.axis)

    @property
    def angular_subspace(self) -> tuple[Axis, ...]:
        return (self.axis,)

    @property
    def linear_subspace(self) -> tuple[Axis, ...]:
        return (ZERO3,)


@dataclass(frozen=True)
class Revolute(_AxisJoint):
    """Rotation about a unit ``axis`` by q radians."""

    kinds = ("angle",)

    def placement(self, q: Vector) -> JointPlacement:
        return JointPlacement(about_axis(self.axis, cos(q[0]), sin(q[0])), ZERO3)


@dataclass(frozen=True)
class Continuous(_AxisJoint):
    """Unlimited rotation about a unit ``axis``; q is (cos θ, sin θ)."""

    kinds = ("unit", "unit")

    def placement(self, q: Vector) -> JointPlacement:
        return JointPlacement(about_axis(self.axis, q[0], q[1]), ZERO3)

    def integrate(self, q: np.ndarray, dv: np.ndarray) -> np.ndarray:
        return _turned(q, dv[..., 0])


@dataclass(frozen=True)
class Prismatic(_AxisJoint):
    """Translation along a unit ``axis`` by q metres."""

    kinds = ("length",)

    def placement(self, q: Vector) -> JointPlacement:
        return JointPlacement(IDENTITY3, vscale(q[0], self.axis))

    @property
    def angular_subspace(self) -> tuple[Axis, ...]:
        return (ZERO3,)

    @property
    def linear_subspace(self) -> tuple[Axis, ...]:
        return (self.axis,)


@dataclass(frozen=True)
class Helical(_AxisJoint):
    """A screw: rotation about a unit ``axis`` by q radians, with ``pitch`` metres along it per radian."""

    pitch: float
    kinds = ("angle",)

    def placement(self, q: Vector) -> JointPlacement:
        return JointPlacement(
            about_axis(self.axis, cos(q[0]), sin(q[0])), vscale(mul(self.pitch, q[0]), self.axis)
        )

    @property
    def linear_subspace(self) -> tuple[Axis, ...]:
        x, y, z = self.axis
        return ((self.pitch * x, self.pitch * y, self.pitch * z),)


@dataclass(frozen=True)
class Cylindrical(_AxisJoint):
    """Translation along a unit ``axis`` and rotation about it; q is (metres, radians). Pinocchio has no such type; this
    is its composite of a prismatic and a revolute joint."""

    kinds = ("length", "angle")
    nv = 2

    def placement(self, q: Vector) -> JointPlacement:
        return JointPlacement(about_axis(self.axis, cos(q[1]), sin(q[1])), vscale(q[0], self.axis))

    @property
    def angular_subspace(self) -> tuple[Axis, ...]:
        return (ZERO3, self.axis)

    @property
    def linear_subspace(self) -> tuple[Axis, ...]:
        return (self.axis, ZERO3)


@dataclass(frozen=True)
class Translation(Joint):
    """Free translation without rotation; q is (x, y, z) in metres, in predecessor coordinates."""

    kinds = ("length", "length", "length")
    nv = 3

    def placement(self, q: Vector) -> JointPlacement:
        return JointPlacement(IDENTITY3, tuple(q))

    @property
    def angular_subspace(self) -> tuple[Axis, ...]:
        return _STILL

    @property
    def linear_subspace(self) -> tuple[Axis, ...]:
        return _UNIT_AXES


@dataclass(frozen=True)
class Planar(Joint):
    """Motion in the x-y plane; q is (x, y, cos θ, sin θ), v is the velocity (x, y, about z) in the child frame."""

    kinds = ("length", "length", "unit", "unit")
    nv = 3

    def placement(self, q: Vector) -> JointPlacement:
        x, y, c, s = q
        return JointPlacement(((c, sub(0.0, s), 0.0), (s, c, 0.0), (0.0, 0.0, 1.0)), (x, y, 0.0))

    @property
    def angular_subspace(self) -> tuple[Axis, ...]:
        return (ZERO3, ZERO3, _UNIT_AXES[2])  # type: ignore[return-value]

    @property
    def linear_subspace(self) -> tuple[Axis, ...]:
        return (_UNIT_AXES[0], _UNIT_AXES[1], ZERO3)  # type: ignore[return-value]

    def integrate(self, q: np.ndarray, dv: np.ndarray) -> np.ndarray:
        zero = np.zeros_like(dv[..., :1])
        displacement = translation_exponential(
            np.concatenate([dv[..., :2], zero], axis=-1),
            np.concatenate([zero, zero, dv[..., 2:]], axis=-1),
        )
        c, s = q[..., 2], q[..., 3]
        x, y = displacement[..., 0], displacement[..., 1]
        moved = np.stack([c * x - s * y, s * x + c * y], axis=-1)
        return np.concatenate([q[..., :2] + moved, _turned(q[..., 2:], dv[..., 2])], axis=-1)


@dataclass(frozen=True)
class Spherical(Joint):
    """Free rotation; q is a unit quaternion (x, y, z, w), v the angular velocity in the child frame."""

    kinds = ("unit",) * 4
    nv = 3

    def placement(self, q: Vector) -> JointPlacement:
        return JointPlacement(quaternion_matrix(q), ZERO3)

    @property
    def angular_subspace(self) -> tuple[Axis, ...]:
        return _UNIT_AXES

    @property
    def linear_subspace(self) -> tuple[Axis, ...]:
        return _STILL

    def integrate(self, q: np.ndarray, dv: np.ndarray) -> np.ndarray:
        return quaternion_product(q, quaternion_exponential(dv))


@dataclass(frozen=True)
class FreeFlyer(Joint):
    """No constraint at all: a floating base. q is (x, y, z, unit quaternion x, y, z, w), v is [linear, angular] in the
    child frame."""

    kinds = ("length",) * 3 + ("unit",) * 4
    nv = 6

    def placement(self, q: Vector) -> JointPlacement:
        return JointPlacement(quaternion_matrix(q[3:]), tuple(q[:3]))

    @property
    def angular_subspace(self) -> tuple[Axis, ...]:
        return _STILL + _UNIT_AXES

    @property
    def linear_subspace(self) -> tuple[Axis, ...]:
        return _UNIT_AXES + _STILL

    def integrate(self, q: np.ndarray, dv: np.ndarray) -> np.ndarray:
        displacement = translation_exponential(dv[..., :3], dv[..., 3:])
        position = q[..., :3] + quaternion_rotate(q[..., 3:], displacement)
        return np.concatenate(
            [position, quaternion_product(q[..., 3:], quaternion_exponential(dv[..., 3:]))], axis=-1
        )


@dataclass(frozen=True)
class Universal(CompoundJoint):
    """A cardan joint: rotation about ``first`` (in the predecessor frame) by q₀, then about ``second`` (in the child
    frame) by q₁, both unit axes."""

    first: Axis
    second: Axis

    def __post_init__(self) -> None:
        checked_axis("Universal", self.first)
        checked_axis("Universal", self.second)

    @property
    def parts(self) -> tuple[Joint, ...]:
        return Revolute(self.first), Revolute(self.second)


JOINT_TYPES: dict[str, type[Coordinates]] = {
    "revolute": Revolute,
    "continuous": Continuous,
    "prismatic": Prismatic,
    "helical": Helical,
    "cylindrical": Cylindrical,
    "translation": Translation,
    "planar": Planar,
    "spherical": Spherical,
    "floating": FreeFlyer,
    "universal": Universal,
}
"""All joint types by name, URDF's where it has one (fixed joints are merged, not modelled)."""
