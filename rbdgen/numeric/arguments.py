"""Arguments of the golden functions: shapes and values are checked here, so that no function returns a silent NaN."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rbdgen.errors import ConfigError, SingularityError, short
from rbdgen.model.robot import Robot
from rbdgen.operands import check_finite, number_array, unit_error
from rbdgen.scalars import number_of

SMALLEST_PIVOT = 1e-12
"""Below this, relative to the diagonal entry of M that it came from, a pivot counts as zero: its digits are lost."""


@dataclass(frozen=True, eq=False)  # arrays have no single truth
class RootMotion:
    """How the base of a robot moves, given from outside.

    ``velocity`` and ``acceleration`` (..., 6): [linear, angular] in the base's own frame, what v and its rate would be
    for a floating base's joint (the linear acceleration is the spatial one, as Pinocchio's ``data.a``: without ω × v).
    ``gravity`` (..., 3): in the base's own frame, m/s²; default: the robot's, for a base that is upright.
    """

    velocity: np.ndarray
    acceleration: np.ndarray
    gravity: np.ndarray | None = None


def argument(
    name: str, value: object, size: tuple[int, ...], batch: tuple[int, ...] | None
) -> np.ndarray:
    """``value`` as an array of leading shape ``batch`` (None: any) and ``size`` behind it. ConfigError naming ``name``
    for another shape or a value that is not finite."""
    array = number_array(name, value)
    axes = array.ndim - len(size)
    as_wide = axes >= 0 and array.shape[axes:] == size
    as_long = batch is None or array.shape[: max(axes, 0)] == batch
    if not as_wide or not as_long:
        shape = (*batch, *size) if batch else size
        expected = ", ".join(map(str, shape))
        lead = "" if batch is not None else "..., "
        raise ConfigError(f"{name}: must have shape ({lead}{expected}), not {array.shape}")
    check_finite(name, array)
    return array


def configuration(robot: Robot, q: object) -> np.ndarray:
    """``q`` (..., nq), checked joint by joint."""
    array = argument("q", q, (robot.nq,), None)
    for body, part, _ in robot.independent:
        fault = body.joint.fault(array[..., part])
        if fault is not None:
            raise unit_error("q", body.joint_name, fault)
    return array


def not_negative(name: str, value: object) -> float:
    """``value`` as Python's number. ConfigError naming ``name`` for one that is none, not finite or below zero."""
    number = number_of(value)
    if number is None or not 0 <= number < math.inf:
        raise ConfigError(f"{name}: must be a number of 0 or more, not {short(value)}")
    return float(number)


def choice(name: str, value: str, options: tuple[str, ...]) -> str:
    """``value``, which must be one of ``options``."""
    if value not in options:
        raise ConfigError(f"{name}: must be one of {', '.join(options)}, not {value!r}")
    return value


def require_positive_definite(robot: Robot, m: np.ndarray) -> None:
    """SingularityError naming joint and state unless every M of ``m`` (..., nv, nv) is positive definite.

    Eliminates from the last degree of freedom to the first; what is left on the diagonal then is the inertia that the
    joint moves when all joints beyond it are free.
    """
    batch = m.shape[:-2]
    # states last: each step is then one operation on long rows
    states = m.reshape(-1, robot.nv, robot.nv)
    work = np.ascontiguousarray(np.moveaxis(states, 0, -1))
    whole = work[range(robot.nv), range(robot.nv)]
    names: list[str] = []
    for body in robot.bodies:
        names += [body.joint_name] * body.nv
    for k in reversed(range(robot.nv)):
        pivot, row = work[k, k], work[k, :k]
        bad = ~(pivot > SMALLEST_PIVOT * whole[k])
        if np.any(bad):
            state = int(np.argmax(bad))
            at = f" at state {', '.join(map(str, np.unravel_index(state, batch)))}" if batch else ""
            raise SingularityError(
                f"robot {robot.name!r}: its mass matrix is not positive definite{at}: joint {names[k]!r} moves an "
                f"inertia of {pivot[state]:.3g}; mend the inertias beyond that joint, or ask for what needs no M⁻¹"
            )
        scaled = row / pivot
        for i in range(k):
            work[i, : i + 1] -= scaled[i] * row[: i + 1]
