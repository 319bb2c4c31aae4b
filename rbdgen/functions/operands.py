"""Operands that golden functions share: external forces and the base's motion, checked and as scalars."""

from __future__ import annotations

import numpy as np

from rbdgen.algo.rnea import Motion, Wrench, base_motion, moving_base, wrenches
from rbdgen.model.robot import Robot
from rbdgen.numeric.arguments import RootMotion, argument, choice
from rbdgen.spatial import Scalar, Vector, cross, vadd

METHODS = ("composite", "textbook")
"""The families of algorithms."""


def articulates(robot: Robot, method: str) -> bool:
    """Whether a method inverts M by articulated bodies. A joint that moves several bodies cannot be taken out of them:
    where one follows another, both methods invert M by its factors."""
    return choice("method", method, METHODS) == "textbook" and robot.unreduced is robot


def checked_forces(
    robot: Robot, f_ext: np.ndarray | None, batch: tuple[int, ...]
) -> np.ndarray | None:
    """``f_ext`` (..., bodies, 6), checked."""
    return None if f_ext is None else argument("f_ext", f_ext, (len(robot.bodies), 6), batch)


def given_wrenches(f: Vector | None) -> tuple[Wrench, ...] | None:
    """External forces as wrenches, where there are any."""
    return None if f is None else wrenches(f)


def checked_root(
    robot: Robot, root: RootMotion | None, batch: tuple[int, ...]
) -> np.ndarray | None:
    """Velocity, acceleration and gravity of the base (..., 15)."""
    if root is None:
        return None
    gravity = np.broadcast_to(robot.gravity, (*batch, 3)) if root.gravity is None else root.gravity
    parts = (
        ("velocity", root.velocity, 6),
        ("acceleration", root.acceleration, 6),
        ("gravity", gravity, 3),
    )
    return np.concatenate(
        [argument(f"root.{name}", x, (size,), batch) for name, x, size in parts], axis=-1
    )


def given_base(robot: Robot, root: Vector | None) -> Motion:
    """The base's motion from the 15 scalars of :func:`checked_root`."""
    if root is None:
        return base_motion(robot.gravity)
    omega = root[3:6]
    # the origin accelerates by ω × v more than the spatial acceleration says
    return moving_base(omega, root[9:12], vadd(root[6:9], cross(omega, root[0:3])), root[12:15])


def vector_entries(x: Vector) -> dict[tuple[int, ...], Scalar]:
    """A vector's entries by index."""
    return {(i,): value for i, value in enumerate(x)}
