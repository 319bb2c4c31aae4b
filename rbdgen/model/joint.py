"""What a joint type is: the interface that every one of :mod:`rbdgen.model.joints` fills in.

Configuration and velocity follow Pinocchio. The algorithms take the motion subspace as constant in the joint's child
frame. A joint for which it is not, is a :class:`CompoundJoint`: a robot replaces it by its parts.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rbdgen.errors import ConfigError
from rbdgen.model.displacement import Functions, closed
from rbdgen.operands import UNIT_TOLERANCE, unit_fault
from rbdgen.scalars import numbers_of
from rbdgen.spatial import IDENTITY3, ZERO3, Matrix, Vector, identity, matmul, matvec, vadd

Axis = tuple[float, float, float]
Kind = Literal["angle", "length", "unit"]
"""What a coordinate of q is: radians, metres, or part of a vector of unit length (cosine and sine, or a quaternion)."""


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
    """What each coordinate of q is. At most one unit vector, its components next to each other."""
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
        """How fast the coordinates change at velocities of one: q̇ = rates(q) v, (nq, nv), over abstract scalars. The
        identity, which a joint overrides where :meth:`moved` is no sum; columns are at right angles."""
        return identity(self.nv)

    def moved(self, q: Vector, way: Vector, functions: Functions) -> Vector:
        """Where a velocity kept for one second, ``way`` (nv), leads from ``q`` (nq), over abstract scalars;
        ``functions`` are those of :mod:`rbdgen.model.displacement`. A sum, which a joint with other coordinates than
        its velocity's integral overrides, as :meth:`moved_by`."""
        return vadd(q, way)

    def moved_by(self, way: Vector, functions: Functions) -> tuple[Matrix, Matrix]:
        """How where :meth:`moved` leads depends on where it starts, and on ``way`` (nv, nv each), all changes seen as
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
        """What is wrong with configurations ``q`` (..., nq), in words."""
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
    def kinds(self) -> tuple[Kind, ...]:  # type: ignore[override]
        return tuple(kind for part in self.parts for kind in part.kinds)

    @property
    def nv(self) -> int:  # type: ignore[override]
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
