"""A simulated board on Ethernet: the RTL with its MAC, compiled by Verilator into a program with a UDP socket.

A host that sends datagrams to the program's port on the loopback talks to the board, whose wire the program plays
(``wire.cpp``).
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from rbdgen.errors import ToolError
from rbdgen.host.transport import CLOSE_SECONDS
from rbdgen.protocol.stations import Station
from rbdgen_sim.device import build_program

SHARE = 1 << 16
"""As how many frames the program counts all of them."""
_MAIN = Path(__file__).with_name("wire.cpp")


@dataclass(frozen=True)
class Faults:
    """Which share of the frames, either way, is lost, comes twice, behind the next one, or damaged."""

    lost: float = 0.0
    doubled: float = 0.0
    overtaken: float = 0.0
    damaged: float = 0.0


def build_station(sources: Sequence[Path], top: str, directory: Path) -> Path:
    """The program for Verilog module ``top`` with ports ``clk rst idle`` and ``eth_*`` of GMII, compiled in
    ``directory`` unless it is there. ToolError where Verilator fails or is missing."""
    return build_program(sources, top, _MAIN, directory)


class SimulatedStation:
    """A running ``program`` of :func:`build_station` for a ``station``, whose clock is ``clock`` Hz: its ``address`` is
    ``127.0.0.1:PORT``, at ``port`` or any that is free. ``cycles`` are known when it is closed."""

    def __init__(
        self,
        program: Path,
        station: Station,
        clock: float,
        faults: Faults | None = None,
        seed: int = 0,
        port: int = 0,
    ) -> None:
        faults = faults or Faults()
        shares = [round(SHARE * share) for share in astuple(faults)]
        picoseconds = round(1e12 / clock)
        numbers = [port, station.mac, station.address, station.port, picoseconds, seed, *shares]
        self.process = subprocess.Popen(
            [str(program), *map(str, numbers)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        if not said:
            self.process.wait()
            raise ToolError(f"{program}: did not start; is port {port} in use?")
        self.address = f"127.0.0.1:{int(said)}"
        self.cycles = 0

    def reset(self) -> None:
        """Reset the board."""
        self.process.send_signal(signal.SIGUSR1)

    def close(self) -> None:
        """End the program."""
        if self.process.poll() is not None:
            return
        said, _ = self.process.communicate(timeout=CLOSE_SECONDS)
        self.cycles = int(said or 0)

    def __enter__(self) -> SimulatedStation:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
