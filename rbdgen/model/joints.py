"""Joint types: one frozen class each. Adding a joint is adding a class here and to ``JOINT_TYPES``.

Each states its coordinates, the placement of its child in its predecessor as a function of q, its motion subspace, and
how it moves where that is not a sum. Spatial quantities are expressed in the joint's child frame (Featherstone 2008,
section 4.4); q, v and the order of the subspace's columns are Pinocchio's for all types that it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rbdgen.model.displacement import Displacement, Functions, nearer_unit, turned
from rbdgen.model.joint import Axis, CompoundJoint, Coordinates, Joint, JointPlacement, checked_axis
from rbdgen.model.rotations import about_axis, quaternion_matrix, quaternion_rates
from rbdgen.spatial import (
    IDENTITY3,
    ZERO3,
    Matrix,
    Vector,
    add,
    cos,
    identity,
    matvec,
    mul,
    sin,
    sub,
    vadd,
    vscale,
)

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


def _turned(q: Vector, displacement: Displacement) -> Vector:
    """(cos, sin) turned about z."""
    c, s = q
    cosine = displacement.cosine
    sine = mul(displacement.angular[2], displacement.sine_ratio)
    across = sub(mul(c, cosine), mul(s, sine))
    along = add(mul(s, cosine), mul(c, sine))
    return nearer_unit((across, along))


def _part(m: Matrix, chosen: Sequence[int]) -> Matrix:
    """The chosen rows and columns of a matrix."""
    rows = []
    for i in chosen:
        row = m[i]
        rows.append(tuple(row[j] for j in chosen))
    return tuple(rows)


def _changes(displacement: Displacement, chosen: Sequence[int]) -> tuple[Matrix, Matrix]:
    """How a joint of the ``chosen`` motions depends on where it starts and on how it moves."""
    by_start = _part(displacement.by_start, chosen)
    return by_start, _part(displacement.by_velocity, chosen)


@dataclass(frozen=True)
class _AxisJoint(Joint):
    """Moves about or along a unit ``axis``."""

    axis: Axis
    nv = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", checked_axis(type(self).__name__, self.axis))

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

    def rates(self, q: Vector) -> Matrix:
        c, s = q
        return (sub(0.0, s),), (c,)

    def moved(self, q: Vector, way: Vector, functions: Functions) -> Vector:
        return _turned(q, Displacement(ZERO3, (0.0, 0.0, way[0]), functions))

    def moved_by(self, way: Vector, functions: Functions) -> tuple[Matrix, Matrix]:
        return identity(1), identity(1)


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

    def rates(self, q: Vector) -> Matrix:
        _, _, c, s = q
        first, second, _ = self.placement(q).rotation
        return first, second, (0.0, 0.0, sub(0.0, s)), (0.0, 0.0, c)

    def moved(self, q: Vector, way: Vector, functions: Functions) -> Vector:
        displacement = _planar(way, functions)
        x, y, _ = matvec(self.placement(q).rotation, displacement.way)
        return (add(q[0], x), add(q[1], y), *_turned(q[2:], displacement))

    def moved_by(self, way: Vector, functions: Functions) -> tuple[Matrix, Matrix]:
        return _changes(_planar(way, functions), (0, 1, 5))


def _planar(way: Vector, functions: Functions) -> Displacement:
    """Of a velocity in the x-y plane and about z."""
    x, y, w = way
    return Displacement((x, y, 0.0), (0.0, 0.0, w), functions)


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

    def rates(self, q: Vector) -> Matrix:
        return quaternion_rates(q)

    def moved(self, q: Vector, way: Vector, functions: Functions) -> Vector:
        return turned(q, Displacement(ZERO3, way, functions).quaternion)

    def moved_by(self, way: Vector, functions: Functions) -> tuple[Matrix, Matrix]:
        return _changes(Displacement(ZERO3, way, functions), (3, 4, 5))


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

    def rates(self, q: Vector) -> Matrix:
        rows = []
        for row in quaternion_matrix(q[3:]):
            rows.append((*row, *ZERO3))
        for row in quaternion_rates(q[3:]):
            rows.append((*ZERO3, *row))
        return tuple(rows)

    def moved(self, q: Vector, way: Vector, functions: Functions) -> Vector:
        displacement = Displacement(way[:3], way[3:], functions)
        gone = matvec(quaternion_matrix(q[3:]), displacement.way)
        return (*vadd(q[:3], gone), *turned(q[3:], displacement.quaternion))

    def moved_by(self, way: Vector, functions: Functions) -> tuple[Matrix, Matrix]:
        return _changes(Displacement(way[:3], way[3:], functions), range(6))


@dataclass(frozen=True)
class Universal(CompoundJoint):
    """A cardan joint: rotation about ``first`` (in the predecessor frame) by q₀, then about ``second`` (in the child
    frame) by q₁, both unit axes."""

    first: Axis
    second: Axis

    def __post_init__(self) -> None:
        object.__setattr__(self, "first", checked_axis("Universal", self.first))
        object.__setattr__(self, "second", checked_axis("Universal", self.second))

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
