"""A board with a serial line, simulated from its top module's pins: a program by Verilator, in which time passes only
while the host waits.

So that nothing depends on how fast this machine is: silence is counted in cycles of the board's clock.
"""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

from rbdgen.errors import LinkError
from rbdgen_sim.device import build_program

SILENCE = 20_000
"""Cycles without a byte, nothing being on its way to the board, after which the host does not wait any more."""
_MAIN = Path(__file__).with_name("serial_board.cpp")
_COUNT = struct.Struct("<I")


def build_board(sources: Sequence[Path], top: str, directory: Path) -> Path:
    """The program for Verilog module ``top`` with the pins ``clk``, ``rx`` and ``tx``, compiled as of
    :func:`rbdgen_sim.device.build_program`."""
    return build_program(sources, top, directory, _MAIN)


class SerialBoard:
    """A running board of :func:`build_board`, as a transport of the host's: its clock has ``hertz``, a bit on its line
    takes 1 / ``baud`` s."""

    def __init__(self, program: Path, hertz: float, baud: float) -> None:
        command = [str(program), repr(hertz / baud), str(SILENCE)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.waiting = bytearray()

    def write(self, data: bytes) -> None:
        """Send ``data`` when the host waits the next time."""
        self.waiting += data

    def read(self) -> bytes:
        """What comes before the line is quiet; empty where nothing does. LinkError if the program has ended."""
        sent = _COUNT.pack(len(self.waiting)) + self.waiting
        self.waiting.clear()
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(sent)
            stdin.flush()
        except BrokenPipeError:
            raise self._gone() from None
        head = stdout.read(_COUNT.size)
        if len(head) < _COUNT.size:
            raise self._gone()
        return stdout.read(_COUNT.unpack(head)[0])

    def close(self) -> None:
        """End the program."""
        self.process.kill()
        self.process.communicate()

    def _gone(self) -> LinkError:
        return LinkError(
            f"simulated board: ended with status {self.process.wait()}; build it again"
        )
