"""Joint types: one frozen class each. Adding a joint is adding a class here and to ``JOINT_TYPES``.

A joint gives its coordinates' sizes, the placement of its child in its parent as a function of q, its
motion subspace, and what numerical code needs (neutral, random). Spatial quantities are expressed
in the joint's child frame, angular part first (Featherstone 2008, section 4.4).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from rbdgen.spatial import IDENTITY3, ZERO3, Matrix, Vector, add, cos, mul, sin, vscale

Axis = tuple[float, float, float]


@dataclass(frozen=True)
class JointPlacement:
    """Placement of a joint's child frame in its predecessor frame: ``rotation`` (child to predecessor
    coordinates, 3×3) and ``translation`` (3, in predecessor coordinates, metres)."""

    rotation: Matrix
    translation: Vector


class Joint(ABC):
    """What every joint type provides."""

    nq: int
    """Number of configuration coordinates, Pinocchio's convention."""
    nv: int
    """Degrees of freedom."""

    @abstractmethod
    def placement(self, q: Vector) -> JointPlacement:
        """Child in predecessor, for ``q`` of ``nq`` abstract scalars."""

    @property
    @abstractmethod
    def angular_subspace(self) -> tuple[Axis, ...]:
        """Angular parts of the motion subspace's columns, child frame."""

    @property
    @abstractmethod
    def linear_subspace(self) -> tuple[Axis, ...]:
        """Linear parts of the motion subspace's columns, child frame."""

    def random(self, rng: np.random.Generator, count: int, lower: float, upper: float) -> np.ndarray:
        """``count`` random configurations, shape (count, nq), inside [lower, upper] where the type has limits."""
        return rng.uniform(lower, upper, (count, self.nq))


def _rotation_about(axis: Axis, c: object, s: object) -> Matrix:
    """Rodrigues' formula: rotation by the angle with cosine ``c`` and sine ``s`` about the unit ``axis``."""
    rows = []
    for i in range(3):
        row = []
        for j in range(3):
            k = axis[i] * axis[j]
            # (1 − c) a aᵀ + c 1 + s [a]×; written so that one-hot axes leave c, ±s, 0 and 1 alone
            cosine = mul((1.0 if i == j else 0.0) - k, c)
            sine = 0.0 if i == j else mul(_levi_civita(i, j) * axis[3 - i - j], s)
            row.append(add(add(cosine, sine), k))
        rows.append(tuple(row))
    return tuple(rows)


def _levi_civita(i: int, j: int) -> float:
    """Sign of entry (i, j) of [a]×, which holds ± the third component."""
    return -1.0 if (j - i) % 3 == 1 else 1.0


@dataclass(frozen=True)
class _Turning(Joint):
    """Rotation about a unit ``axis``."""

    axis: Axis
    nv = 1

    @property
    def angular_subspace(self) -> tuple[Axis, ...]:
        return (self.axis,)

    @property
    def linear_subspace(self) -> tuple[Axis, ...]:
        return (ZERO3,)


@dataclass(frozen=True)
class Revolute(_Turning):
    """Rotation about a unit ``axis`` by q radians."""

    nq = 1

    def placement(self, q: Vector) -> JointPlacement:
        return JointPlacement(_rotation_about(self.axis, cos(q[0]), sin(q[0])), ZERO3)


@dataclass(frozen=True)
class Continuous(_Turning):
    """Unlimited rotation about a unit ``axis``; q is (cos θ, sin θ), as in Pinocchio."""

    nq = 2

    def placement(self, q: Vector) -> JointPlacement:
        return JointPlacement(_rotation_about(self.axis, q[0], q[1]), ZERO3)

    def random(self, rng: np.random.Generator, count: int, lower: float, upper: float) -> np.ndarray:
        angle = rng.uniform(-math.pi, math.pi, count)
        return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


@dataclass(frozen=True)
class Prismatic(Joint):
    """Translation along a unit ``axis`` by q metres."""

    axis: Axis
    nq = 1
    nv = 1

    def placement(self, q: Vector) -> JointPlacement:
        return JointPlacement(IDENTITY3, vscale(q[0], self.axis))

    @property
    def angular_subspace(self) -> tuple[Axis, ...]:
        return (ZERO3,)

    @property
    def linear_subspace(self) -> tuple[Axis, ...]:
        return (self.axis,)


JOINT_TYPES: dict[str, type[Joint]] = {"revolute": Revolute, "continuous": Continuous, "prismatic": Prismatic}
"""Supported joint types by their URDF name (fixed joints are merged, not modelled)."""
