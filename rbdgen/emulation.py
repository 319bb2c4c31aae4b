"""Devices without hardware: the host's driver in front of a design's bit-true model, and a robot that answers by the
golden model.

Both take and give what a board does, the first byte for byte and with its flags, so that a program that is written with
them goes on with hardware: only the line that opens the device is another one.
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
from rbdgen.host.driver import Driver
from rbdgen.host.manifest import Manifest, manifest_from
from rbdgen.model.robot import Robot
from rbdgen.protocol.tasks import TaskFormat
from rbdgen.report.design import manifest
from rbdgen.shells.datagram_shell import DatagramShell, UdpServer
from rbdgen.shells.shell import Compute, Forget, Load, ShellModel

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
    # by way of JSON, so that nothing reaches the host's code that a file would not have
    return manifest_from(json.loads(json.dumps(manifest(design, digest, "0"))))


def bit_true_shell(design: Design) -> ShellModel:
    """A shell of a byte link in this process whose accelerator is the design's bit-true model."""
    return ShellModel(*_bit_true_parts(design))


def bit_true_datagrams(design: Design) -> DatagramShell:
    """A shell of a link over datagrams in this process whose accelerator is the design's bit-true model."""
    return DatagramShell(*_bit_true_parts(design))


def serve_bit_true(design: Design, address: str = "127.0.0.1:0") -> UdpServer:
    """A device at a UDP ``address`` of this machine that answers by the bit-true model of ``design``, while the context
    lasts. Without a port's number it has that of a board; 0 is any that is free.

    >>> from rbdgen import Options, compile_robot, load_robot
    >>> from rbdgen.host.driver import Driver
    >>> arm = compile_robot(load_robot("pendulum2"), Options(("id",), word=18))
    >>> with serve_bit_true(arm) as server, Driver.udp(manifest_of(arm), server.name) as device:
    ...     device.rnea([0.1, 0.2], [0.0, 0.0], [0.0, 0.0]).shape
    (2,)
    """
    return UdpServer(bit_true_datagrams(design), address)


def _bit_true_parts(design: Design) -> tuple[bytes, TaskFormat, Compute, Load, Forget]:
    """Of the design's bit-true model what an :class:`rbdgen.shells.shell.AcceleratorModel` is made of."""
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
    return known.identity, known.tasks, compute, load, held.clear


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
