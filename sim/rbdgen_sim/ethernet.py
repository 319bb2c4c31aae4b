"""A simulated board on Ethernet: the RTL with its MAC, compiled by Verilator into a program that plays its wire
(``wire.cpp``).

A host that sends datagrams to the program's port on the loopback talks to the board; or one in simulated time, which
takes none of it itself.
"""

from __future__ import annotations

import signal
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from rbdgen.errors import ToolError
from rbdgen.host.manifest import Manifest
from rbdgen.host.transport import CLOSE_SECONDS
from rbdgen.protocol.links import Station
from rbdgen_sim.device import build_program

SHARE = 1 << 16
"""As how many frames the program counts all of them."""
PICOSECONDS = 1e12
"""In a second."""
IN_STEPS = -1
"""In place of a port: the host is in simulated time."""
_ANSWER = struct.Struct("<QI")
_MAIN = Path(__file__).with_name("wire.cpp")


@dataclass(frozen=True)
class Faults:
    """Which share of the frames, either way, is lost, comes twice, behind the next one, or damaged."""

    lost: float = 0.0
    doubled: float = 0.0
    overtaken: float = 0.0
    damaged: float = 0.0


NO_FAULTS = Faults()


@dataclass(frozen=True)
class BuiltStation:
    """An accelerator behind its Ethernet: its ``manifest``, the ``program`` that plays its wire, and the
    ``station`` that it is on the network."""

    manifest: Manifest
    program: Path
    station: Station

    def command(self, clock: float, faults: Faults, seed: int, port: int) -> list[str]:
        """How the program is called, for a board's clock of so many Hz."""
        shares = [round(SHARE * share) for share in astuple(faults)]
        cycle = round(PICOSECONDS / clock)
        own = self.station
        numbers = [port, own.mac, own.address, own.port, cycle, seed, *shares]
        return [str(self.program), *map(str, numbers)]


def build_station(
    manifest: Manifest, station: Station, sources: Sequence[Path], top: str, work: Path
) -> BuiltStation:
    """Compile ``sources`` in ``work``, unless it is there: Verilog whose module ``top`` has a clock ``clk`` and the
    pins ``eth_*`` of GMII. ToolError where Verilator fails or is missing."""
    program = build_program(sources, top, work / "build", _MAIN)
    return BuiltStation(manifest, program, station)


class SimulatedStation:
    """A running program of :func:`build_station`, whose clock is ``clock`` Hz: its ``address`` is ``127.0.0.1:PORT``,
    at ``port`` or any that is free. ``cycles`` are known when it is closed."""

    def __init__(
        self,
        built: BuiltStation,
        clock: float,
        faults: Faults = NO_FAULTS,
        seed: int = 0,
        port: int = 0,
    ) -> None:
        self.process = subprocess.Popen(
            built.command(clock, faults, seed, port),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        if not said:
            self.process.wait()
            raise ToolError(f"{built.program}: did not start; is port {port} in use?")
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


class SteppedPort:
    """The same as a way for datagrams (:class:`rbdgen.host.udp.DatagramPort`) of a host in simulated time: the board
    runs only while the host waits for it."""

    name = "in simulated time"

    def __init__(
        self, built: BuiltStation, clock: float, faults: Faults = NO_FAULTS, seed: int = 0
    ) -> None:
        self.process = subprocess.Popen(
            built.command(clock, faults, seed, IN_STEPS),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.input, self.output = self.process.stdin, self.process.stdout
        self.time = 0.0

    def send(self, data: bytes) -> None:
        """Send a datagram."""
        self.input.write(b"s" + len(data).to_bytes(4, "little") + data)

    def receive(self, seconds: float) -> bytes | None:
        """A datagram that came within so many seconds of simulated time."""
        wait = max(0, round(seconds * PICOSECONDS))
        self.input.write(b"r" + wait.to_bytes(8, "little"))
        self.input.flush()
        time, size = _ANSWER.unpack(self.output.read(_ANSWER.size))
        self.time = time / PICOSECONDS
        return self.output.read(size) if size else None

    def troubles(self) -> tuple[str, str] | None:
        """A wire says nothing."""
        return None

    def now(self) -> float:
        """Simulated seconds since the start."""
        return self.time

    def reset(self) -> None:
        """Reset the board, when it runs again."""
        self.process.send_signal(signal.SIGUSR1)

    def close(self) -> None:
        """End the program."""
        self.input.close()
        self.process.wait()
        self.output.close()
