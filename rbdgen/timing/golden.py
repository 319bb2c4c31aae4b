"""The golden model's functions as calls without arguments, to be timed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rbdgen import golden
from rbdgen.model.robot import Robot


@dataclass(frozen=True)
class States:
    """States to compute at: ``q`` (n, nq); ``v``, ``a`` and ``tau`` (n, nv); ``minv`` (n, nv, nv), or None where the
    robot's M has no inverse or none is needed."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    minv: np.ndarray | None = None

    def first(self, count: int) -> States:
        """The first ``count`` of them."""
        return States(
            self.q[:count],
            self.v[:count],
            self.a[:count],
            self.tau[:count],
            None if self.minv is None else self.minv[:count],
        )


def timing_states(robot: Robot, count: int, seed: int, inverse: bool) -> States:
    """``count`` random states inside the declared ranges; with M⁻¹ if ``inverse``."""
    q, v, a = golden.random_states(robot, golden.declared_ranges(robot), count, seed)
    return States(q, v, a, golden.rnea(robot, q, v, a), golden.minverse(robot, q) if inverse else None)


def golden_calls(robot: Robot, s: States, method: str = "composite") -> dict[str, Callable[[], object]]:
    """For each function, by its code name, a call that computes it at all states by this family of algorithms."""
    return {
        "id": lambda: golden.rnea(robot, s.q, s.v, s.a),
        "fd": lambda: golden.forward_dynamics(robot, s.q, s.v, s.tau, method=method),
        "m": lambda: golden.crba(robot, s.q, method=method),
        "minv": lambda: golden.minverse(robot, s.q, method=method),
        "did": lambda: golden.rnea_derivatives(robot, s.q, s.v, s.a, method=method),
        "dfd": lambda: golden.forward_dynamics_derivatives(robot, s.q, s.v, s.tau, method=method),
        "difd": lambda: golden.forward_dynamics_derivatives(robot, s.q, s.v, a=s.a, minv=s.minv, method=method),
    }
