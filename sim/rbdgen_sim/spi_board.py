"""A simulated board behind SPI: the RTL of a shell, compiled by Verilator into a program that plays a host's bus."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

from rbdgen_sim.device import build_program

_MAIN = Path(__file__).with_name("spi_board.cpp")
_COUNT = struct.Struct("<I")


def build_spi_board(sources: Sequence[Path], top: str, directory: Path) -> Path:
    """The program for Verilog module ``top``, a shell of SPI (:func:`rbdgen_hw.emit.spi_verilog`), compiled as of
    :func:`rbdgen_sim.device.build_program`."""
    return build_program(sources, top, directory, _MAIN)


class SimulatedBus:
    """A running program of :func:`build_spi_board` as a host's bus (:class:`rbdgen.host.spi.SpiBus`): ``ratio`` cycles
    of the board's clock make one of SPI's, whose edges are early or late by a share ``jitter`` of half of it, at most,
    by a ``seed``."""

    def __init__(self, program: Path, ratio: float, jitter: float = 0.0, seed: int = 1) -> None:
        self.process = subprocess.Popen(
            command(program, ratio, jitter, seed), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.input, self.output = self.process.stdin, self.process.stdout
        self.bytes = 0
        """Bytes that went over the bus."""

    def transfer(self, data: bytes) -> bytes:
        """A transaction. OSError if the program has ended."""
        self.bytes += len(data)
        self.input.write(_COUNT.pack(len(data)) + data)
        self.input.flush()
        found = self.output.read(len(data))
        if len(found) < len(data):
            raise OSError(f"the simulation ended with status {self.process.wait()}")
        return found

    def close(self) -> None:
        """End the program."""
        self.process.kill()
        self.process.communicate()


def command(program: Path, ratio: float, jitter: float, seed: int) -> list[str]:
    """What runs a program of :func:`build_spi_board`."""
    return [str(program), repr(ratio), repr(jitter), str(seed)]
