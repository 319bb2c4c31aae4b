"""A robot as a device that answers by the golden model, called as boards are and bit-true models."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from rbdgen.errors import ConfigError, short
from rbdgen.functions import registry
from rbdgen.functions.quantities import F_EXT
from rbdgen.functions.record import Function
from rbdgen.model.robot import Robot

Results = np.ndarray | tuple[np.ndarray, ...]
"""Results of a function: an array, or a tuple where it has several results."""


class Float64:
    """A robot as a device that answers by the golden model; see :func:`float64`."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joints with coordinates of their own, in the order of q."""
        return tuple(body.joint_name for body, _, _ in self.robot.independent)

    def takes(self, function: str) -> tuple[str, ...]:
        """The operands of a function, external forces included. ConfigError for an unknown one."""
        record = self._record(function)
        forces = (F_EXT.name,) if record.forced else ()
        return (*(q.name for q in record.operands), *forces)

    def gives(self, function: str) -> tuple[str, ...]:
        """The results of a function. ConfigError for an unknown one."""
        return tuple(q.name for q in self._record(function).results)

    def call(self, function: str, /, **operands: Any) -> Results:
        """Results of a function, called by its own name, such as ``id``. ConfigError for an operand that is missing."""
        record = self._record(function)
        assert record.golden is not None
        for quantity in record.operands:
            if quantity.name not in operands:
                names = ", ".join(q.name for q in record.operands)
                raise ConfigError(f"{quantity.name}: missing; {function} needs {names}")
        return record.golden(self.robot, **operands)

    def __getattr__(self, name: str) -> Callable[..., Results]:
        """The golden function of this name, of this robot."""
        # asked at each call, as functions may be registered later
        if name.startswith("__") or name not in registry.golden_functions():
            raise AttributeError(f"{name}: no such golden function")
        return partial(registry.golden_functions()[name], self.robot)

    def _record(self, function: str) -> Function:
        record = registry.function(function)
        if record.golden is None:
            raise ConfigError(f"function {short(function)}: the golden model has none")
        return record


def float64(robot: Robot) -> Float64:
    """A device that answers by the golden model of ``robot``, in float64.

    >>> from rbdgen import float64, load_robot
    >>> float64(load_robot("pendulum2")).rnea([0.1, 0.2], [0.0, 0.0], [0.0, 0.0]).shape
    (2,)
    """
    return Float64(robot)
