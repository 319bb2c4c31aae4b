"""Joint types: one frozen class each. Adding a joint is adding a class here and to ``JOINT_TYPES``.

Each states its coordinates, the placement of its child in its predecessor as a function of q, its motion subspace, and
how it moves where that is not a sum. Spatial quantities are expressed in the joint's child frame (Featherstone 2008,
section 4.4); q, v and the order of the subspace's columns are Pinocchio's for all types that it has.

The algorithms take the motion subspace as constant in the joint's child frame. A joint for which it is not, is a
:class:`CompoundJoint`: a robot replaces it by its parts.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rbdgen.errors import ConfigError
from rbdgen.model.rigid_motions import (
    Displacement,
    Functions,
    about_axis,
    closed,
    nearer_unit,
    quaternion_matrix,
    quaternion_rates,
    turned,
)
from rbdgen.operands import UNIT_TOLERANCE, numbers_of, unit_fault
from rbdgen.spatial import (
    IDENTITY3,
    ZERO3,
    Matrix,
    Vector,
    add,
    cos,
    identity,
    matmul,
    matvec,
    mul,
    sin,
    sub,
    vadd,
    vscale,
)

Axis = tuple[float, float, float]
Kind = Literal["angle", "length", "unit"]
"""A coordinate of q in its kind: radians, metres, or part of a vector of unit length (cosine and sine, or a
quaternion)."""


@dataclass(frozen=True)
class JointPlacement:
    """Placement of a joint's child frame in its predecessor frame: ``rotation`` (child to predecessor
    coordinates, 3×3) and ``translation`` (3, in predecessor coordinates, metres)."""

    rotation: Matrix
    translation: Vector

    def __matmul__(self, other: JointPlacement) -> JointPlacement:
        """Composition: first ``other`` (inner), then ``self`` (outer)."""
        offset = vadd(self.translation, matvec(self.rotation, other.translation))
        return JointPlacement(matmul(self.rotation, other.rotation), offset)


IDENTITY_PLACEMENT = JointPlacement(IDENTITY3, ZERO3)


class Coordinates(ABC):
    """Configuration space of a joint: what simple and compound joints have in common."""

    kinds: tuple[Kind, ...]
    """The kind of each coordinate of q. At most one unit vector, its components next to each other."""
    nv: int
    """Degrees of freedom."""

    @property
    def nq(self) -> int:
        """Number of configuration coordinates."""
        return len(self.kinds)

    @abstractmethod
    def placement(self, q: Vector) -> JointPlacement:
        """Child in predecessor, for ``q`` of ``nq`` abstract scalars."""

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """A short name for each coordinate of q; empty for a lone one."""
        if self.nq == 1:
            return ("",)
        names = {
            "unit": ("cos", "sin") if self.kinds.count("unit") == 2 else ("qx", "qy", "qz", "qw"),
            "length": ("x", "y", "z") if self.kinds.count("length") > 1 else ("offset",),
            "angle": ("angle",),
        }
        return tuple(names[kind][self.kinds[:k].count(kind)] for k, kind in enumerate(self.kinds))

    @property
    def unit_part(self) -> slice:
        """Where the unit vector is in q; empty if there is none."""
        first = self.kinds.index("unit") if "unit" in self.kinds else 0
        return slice(first, first + self.kinds.count("unit"))

    @property
    def neutral(self) -> tuple[float, ...]:
        """The configuration (nq) in which the child frame is the predecessor frame."""
        q = [0.0] * self.nq
        q[self.unit_part] = {0: (), 2: (1.0, 0.0), 4: (0.0, 0.0, 0.0, 1.0)}[
            self.kinds.count("unit")
        ]
        return tuple(q)

    def random(
        self,
        rng: np.random.Generator,
        count: int,
        lower: float | Sequence[float] | np.ndarray,
        upper: float | Sequence[float] | np.ndarray,
    ) -> np.ndarray:
        """``count`` random configurations, shape (count, nq): uniform in [lower, upper] (numbers, or nq of them), unit
        vectors uniform on their circle or sphere whatever their limits."""
        low, high = (np.broadcast_to(np.asarray(limit, float), self.nq) for limit in (lower, upper))
        q = np.zeros((count, self.nq))
        free = [k for k, kind in enumerate(self.kinds) if kind != "unit"]
        if free:
            q[:, free] = rng.uniform(low[free], high[free], (count, len(free)))
        if self.kinds.count("unit") == 2:
            angle = rng.uniform(-math.pi, math.pi, count)
            q[:, self.unit_part] = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        elif self.kinds.count("unit") == 4:
            four = rng.normal(size=(count, 4))
            q[:, self.unit_part] = four / np.linalg.norm(four, axis=-1, keepdims=True)
        return q

    def rates(self, q: Vector) -> Matrix:
        """Rates of the coordinates at velocities of one: q̇ = rates(q) v, (nq, nv), over abstract scalars. The
        identity, which a joint overrides where :meth:`moved` is no sum; columns are at right angles."""
        return identity(self.nv)

    def moved(self, q: Vector, way: Vector, functions: Functions) -> Vector:
        """Where a velocity kept for one second, ``way`` (nv), leads from ``q`` (nq), over abstract scalars;
        ``functions`` are those of :mod:`rbdgen.model.rigid_motions`. A sum, which a joint with other coordinates than
        its velocity's integral overrides, as :meth:`moved_by`."""
        return vadd(q, way)

    def moved_by(self, way: Vector, functions: Functions) -> tuple[Matrix, Matrix]:
        """Derivatives of :meth:`moved` by where it starts, and by ``way`` (nv, nv each), all changes seen as
        velocities of the joint: Pinocchio's ``dIntegrate``."""
        return identity(self.nv), identity(self.nv)

    def integrate(self, q: np.ndarray, dv: np.ndarray) -> np.ndarray:
        """Where the velocity ``dv`` (..., nv), kept for one second, leads from ``q`` (..., nq). Same leading shapes."""
        start = tuple(np.moveaxis(q, -1, 0))
        way = tuple(np.moveaxis(dv, -1, 0))
        moved = np.stack(self.moved(start, way, closed), axis=-1)
        unit = moved[..., self.unit_part]
        moved[..., self.unit_part] = unit / np.linalg.norm(unit, axis=-1, keepdims=True)
        return moved

    def fault(self, q: np.ndarray) -> str | None:
        """The fault of configurations ``q`` (..., nq), in words."""
        return unit_fault(q[..., self.unit_part])


class Joint(Coordinates):
    """A joint whose motion subspace is constant in its child frame: what the algorithms take."""

    @property
    @abstractmethod
    def angular_subspace(self) -> tuple[Axis, ...]:
        """Angular parts of the motion subspace's columns, child frame, in the order of v."""

    @property
    @abstractmethod
    def linear_subspace(self) -> tuple[Axis, ...]:
        """Linear parts of the motion subspace's columns, child frame, in the order of v."""


class CompoundJoint(Coordinates):
    """Simple joints one after the other, from the predecessor to the child, with nothing between them.

    A robot that is given one gets the parts instead, with massless bodies between them: the same motion exactly.
    """

    @property
    @abstractmethod
    def parts(self) -> tuple[Joint, ...]:
        """The simple joints."""

    @property
    def kinds(self) -> tuple[Kind, ...]:  # type: ignore[override] # an attribute of simple joints
        return tuple(kind for part in self.parts for kind in part.kinds)

    @property
    def nv(self) -> int:  # type: ignore[override] # the same
        return sum(part.nv for part in self.parts)

    def placement(self, q: Vector) -> JointPlacement:
        total, begin = IDENTITY_PLACEMENT, 0
        for part in self.parts:
            total @= part.placement(q[begin : begin + part.nq])
            begin += part.nq
        return total


def checked_axis(name: str, axis: Sequence[float] | np.ndarray) -> Axis:
    """``axis`` as numbers of Python's. ConfigError unless it is a unit vector."""
    numbers = numbers_of(f"{name}: axis", axis)
    if len(numbers) != 3 or not abs(math.hypot(*numbers) - 1) < UNIT_TOLERANCE:
        raise ConfigError(
            f"{name}: axis must be a unit vector of 3, not {tuple(numbers)!r}; divide it by its length"
        )
    x, y, z = numbers
    return x, y, z


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
    """Derivatives of a joint of the ``chosen`` motions by where it starts and by how it moves."""
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
