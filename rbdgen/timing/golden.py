"""The golden model's functions as calls without arguments, to be timed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from rbdgen import golden
from rbdgen.functions import registry
from rbdgen.functions.record import Function
from rbdgen.functions.states import States
from rbdgen.model.robot import Robot

Others = Callable[[np.ndarray], Mapping[str, np.ndarray]]
"""Values of the operands whose range is declared with them, by name, at configurations (n, nq)."""


def timing_states(
    robot: Robot, count: int, seed: int, inverse: bool, others: Others = lambda q: {}
) -> States:
    """``count`` random states inside the declared ranges; with M⁻¹ if ``inverse``."""
    q, v, a = golden.random_states(robot, golden.declared_ranges(robot), count, seed)
    minv = golden.minverse(robot, q) if inverse else None
    steps = np.ones((count, 1), int)
    return States(q, v, a, None, golden.rnea(robot, q, v, a), minv, steps=steps, others=others(q))


def golden_calls(
    robot: Robot, s: States, method: str = "composite"
) -> dict[str, Callable[[], Sequence[np.ndarray]]]:
    """For each function, by its code name, a call that computes it at all states by this family of algorithms."""

    def call(function: Function) -> Callable[[], Sequence[np.ndarray]]:
        return lambda: function.reference(robot, s, None, method)

    return {name: call(function) for name, function in registry.known().items()}
