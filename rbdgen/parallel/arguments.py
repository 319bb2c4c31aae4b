"""Checks of what the parallel algorithms are given: shapes, finiteness, serial chains."""

from __future__ import annotations

import numpy as np

from rbdgen.errors import ConfigError, UnsupportedError
from rbdgen.model.robot import Robot


def _numbers(name: str, value: np.ndarray) -> np.ndarray:
    try:
        return np.asarray(value, float)
    except (TypeError, ValueError):
        raise ConfigError(
            f"{name}: must be an array of numbers, not {type(value).__name__}"
        ) from None


def _finite(name: str, x: np.ndarray) -> np.ndarray:
    if not np.all(np.isfinite(x)):
        raise ConfigError(f"{name}: must be finite, holds {x[~np.isfinite(x)][0]}")
    return x


def array(
    name: str, value: np.ndarray, size: tuple[int, ...], batch: tuple[int, ...] | None = None
) -> np.ndarray:
    """``value`` as float64 of shape (*batch, *size); any leading shape where ``batch`` is None. ConfigError
    otherwise."""
    result = _numbers(name, value)
    lead = result.ndim - len(size)
    own = lead >= 0 and result.shape[lead:] == size
    leading = batch is None or result.shape[:lead] == batch
    if not own or not leading:
        expected = _shape_text(size, batch)
        raise ConfigError(f"{name}: must have shape {expected}, not {result.shape}")
    return _finite(name, result)


def _shape_text(size: tuple[int, ...], batch: tuple[int, ...] | None) -> str:
    """A shape as Python shows it, or with any leading part."""
    if batch is not None:
        return str((*batch, *size))
    own = ", ".join(map(str, size))
    return f"(..., {own})"


def matrix(name: str, value: np.ndarray, rows: int, batch: tuple[int, ...]) -> np.ndarray:
    """``value`` as float64 of shape (*batch, rows, k), k ≥ 0; one matrix (rows, k) serves the whole batch."""
    result = _numbers(name, value)
    fits = result.ndim >= 2 and result.shape[-2] == rows
    if not fits or result.shape[:-2] not in ((), batch):
        head = "".join(f"{k}, " for k in batch)
        raise ConfigError(f"{name}: must have shape ({head}{rows}, columns), not {result.shape}")
    shape = *batch, *result.shape[-2:]
    return np.broadcast_to(_finite(name, result), shape)


def configuration(robot: Robot, q: np.ndarray) -> np.ndarray:
    """q (..., nq), finite, its (cos, sin) pairs and quaternions of unit length."""
    q = array("q", q, (robot.nq,))
    for name, body, part in zip(robot.joint_names, robot.bodies, robot.q_slices, strict=True):
        fault = body.joint.fault(q[..., part])
        if fault is not None:
            raise ConfigError(f"q: joint {name!r} {fault}")
    return q


def serial_chain(robot: Robot) -> None:
    """UnsupportedError unless every body's parent is the body before it, and every joint moves by itself, without
    armature and friction."""
    if not robot.bodies:
        raise UnsupportedError(
            f"robot {robot.name!r}: has no moving joint; there is nothing to compute"
        )
    for i, body in enumerate(robot.bodies):
        unknown = _unknown(robot, i)
        if unknown is not None:
            raise UnsupportedError(
                f"robot {robot.name!r}: parallel algorithms know no {unknown}, and joint {body.joint_name!r} has one; "
                "use rbdgen.golden"
            )
        if body.parent != i - 1:
            above = robot.base_name if body.parent < 0 else robot.bodies[body.parent].name
            raise UnsupportedError(
                f"robot {robot.name!r}: parallel algorithms take serial chains only, "
                f"but link {above!r} has more than one child, {body.name!r} among them; use rbdgen.golden"
            )


def _unknown(robot: Robot, i: int) -> str | None:
    """What the joint of body ``i`` has that parallel algorithms do not know."""
    body = robot.bodies[i]
    if any(body.armature):
        return "armature"
    if body.mimic is not None:
        return "joint to follow"
    if any(robot.dampers(i)):
        return "damping"
    return "dry friction" if any(robot.rubs(i)) else None


def state(index: np.ndarray) -> str:
    """Where in a batch something happened: empty without a batch, else `` in state (i, j)``."""
    where = tuple(int(k) for k in index)
    return f" in state {where[0] if len(where) == 1 else where}" if where else ""
