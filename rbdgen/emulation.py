"""A design as a device, without hardware: the host's driver in front of the bit-true model; and a robot as one.

It takes and gives what a board does, byte for byte, flags too, so that a program that is written with it goes on with
hardware: only the line that opens the device is another one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from rbdgen.compiler import Design
from rbdgen.errors import ConfigError, short
from rbdgen.functions import registry
from rbdgen.functions.quantities import F_EXT
from rbdgen.functions.record import Function
from rbdgen.host.driver import Driver, Results
from rbdgen.host.manifest import Manifest, manifest_from
from rbdgen.host.shell import ShellModel
from rbdgen.model.robot import Robot
from rbdgen.report.design import manifest

DIGEST = "0123456789abcdef" * 4
"""A Verilog file's, of no file in particular."""


def bit_true(design: Design, flags: str = "warn") -> Driver:
    """A device that answers by the bit-true model of ``design``: bit for bit what its hardware does, at Python's speed.
    ``flags``: what is done about flagged tasks, ``warn``, ``raise`` or ``ignore``.

    >>> from rbdgen import Options, bit_true, compile_robot, load_robot
    >>> device = bit_true(compile_robot(load_robot("pendulum2"), Options(("id",), word=18)))
    >>> device.rnea([0.1, 0.2], [0.0, 0.0], [0.0, 0.0]).shape
    (2,)
    """
    return Driver.open(manifest_of(design), bit_true_shell(design), flags=flags)


def manifest_of(design: Design, digest: str = DIGEST) -> Manifest:
    """The manifest as a host reads it; ``digest`` of the design's Verilog."""
    return manifest_from(json.loads(json.dumps(manifest(design, digest, "0"))))


def bit_true_shell(design: Design) -> ShellModel:
    """A shell in this process whose accelerator is the design's bit-true model."""
    held: dict[str, int] = {}

    def compute(
        function: str, raw: Sequence[np.ndarray]
    ) -> tuple[Sequence[np.ndarray], np.ndarray]:
        loaded = {name: np.full(len(raw[0]), value) for name, value in held.items()}
        answer = design.run(function, raw, loaded)
        return answer.values, answer.overflow

    def load(number: int, value: int) -> None:
        held[known.tasks.parameters[number].name] = value

    known = manifest_of(design)
    return ShellModel(known.identity, known.tasks, compute, load, held.clear)


class Float64:
    """A robot as a device that answers by the golden model; see :func:`float64`."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joints with coordinates of their own, in the order of q."""
        return tuple(body.joint_name for body, _, _ in self.robot.independent)

    def takes(self, function: str) -> tuple[str, ...]:
        """The operands of a function, external forces included. ConfigError for one that there is not."""
        record = self._record(function)
        forces = (F_EXT.name,) if record.forced else ()
        return (*(q.name for q in record.operands), *forces)

    def gives(self, function: str) -> tuple[str, ...]:
        """The results of a function. ConfigError for one that there is not."""
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
