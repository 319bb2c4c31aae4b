"""Derivatives by central differences, to check others by."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rbdgen.model.ranges import integrate
from rbdgen.model.robot import Robot
from rbdgen.numeric.arguments import argument, configuration

STEP = 1e-5
"""Step of the central differences, in the units of v: near the third root of the rounding error."""


def central_differences(
    robot: Robot,
    function: Callable[[np.ndarray, np.ndarray], np.ndarray],
    q: np.ndarray,
    v: np.ndarray,
    step: float = STEP,
) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of ``function(q, v)`` by central differences, with respect to q (in the tangent space) and to v.

    ``q`` (..., nq), ``v`` (..., nv); ``function`` takes any leading shape and returns (..., n). Returns two arrays
    (..., n, nv). ConfigError for a wrong shape.
    """
    q = configuration(robot, q)
    v = argument("v", v, (robot.nv,), q.shape[:-1])
    # one leading dimension for the degrees of freedom
    single = (1,) * (q.ndim - 1)
    units = np.eye(robot.nv).reshape(robot.nv, *single, robot.nv)
    steps = units * step
    still = np.zeros_like(steps)

    def difference(dq: np.ndarray, dv: np.ndarray) -> np.ndarray:
        velocities = np.broadcast_to(v, dq.shape[:1] + v.shape)
        ahead = function(integrate(robot, q, dq), velocities + dv)
        behind = function(integrate(robot, q, -dq), velocities - dv)
        slope = (ahead - behind) / (2 * step)
        return np.moveaxis(slope, 0, -1)

    return difference(steps, still), difference(still, steps)
