"""A design as a device, without hardware: the host's driver in front of the bit-true model.

It takes and gives what a board does, byte for byte, flags too, so that a program that is written with it goes on with
hardware: only the line that opens the device is another one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from rbdgen.compiler import Design
from rbdgen.host.datagram_shell import DatagramShell, UdpServer
from rbdgen.host.driver import Driver
from rbdgen.host.manifest import Manifest, manifest_from
from rbdgen.host.shell import Compute, Forget, Load, ShellModel
from rbdgen.protocol.tasks import TaskFormat
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
    """Of the design's bit-true model what an :class:`rbdgen.host.shell.AcceleratorModel` is made of."""
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
