"""Simulated devices: the RTL of an accelerator behind its byte link, of a board with a serial line from its top
module's pins, or of one on Ethernet with its MAC, compiled by Verilator into a program.

The host's driver talks to each as to a board. Time passes on a serial board only while the host waits, so that nothing
depends on how fast this machine is: silence is counted in cycles of the board's clock. A host that sends datagrams to
the port of an Ethernet board's program (``wire.cpp``) on the loopback talks to the board; or one in simulated time,
which takes none of it itself.
"""

from __future__ import annotations

import hashlib
import signal
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from rbdgen.errors import LinkError, ToolError
from rbdgen.host.manifest import Manifest
from rbdgen.host.transport import CLOSE_SECONDS, DEFAULT_TIMEOUT, ProcessTransport
from rbdgen.protocol.links import Station
from rbdgen_sim import verilator
from rbdgen_sim.compiled import (
    compiled_digest,
    copied,
    fetch_program,
    keep_program,
    own_folder,
    place_program,
    place_runtime,
    save_runtime,
    told_of,
)

PROGRAM = "device"
OPTIONS = (
    *("--cc", "--exe", "--build", "-Wno-fatal", "-Wno-lint", "-Wno-style"),
    *("--x-assign", "fast", "--x-initial", "fast", "--output-split", "5000"),
)
"""Arguments of Verilator for any design."""
_LINK_MAIN = Path(__file__).with_name("device.cpp")


def build_device(sources: Sequence[Path], top: str, directory: Path) -> Path:
    """The program for Verilog module ``top``, a byte link with ports ``clk rst idle`` and streams ``in_*``, ``out_*``.

    Where and errors as of :func:`build_program`.
    """
    return build_program(sources, top, directory, _LINK_MAIN)


def build_program(sources: Sequence[Path], top: str, directory: Path, main: Path) -> Path:
    """The program that Verilog module ``top`` and ``main``, C++ around its class, make.

    It is put into ``directory``, from the user's cache or compiled anew: what lies there is not run. ToolError with
    Verilator's complaint where that fails, or where it is missing; its output is in ``device.log``.
    """
    verilator.require()
    directory = directory.resolve()
    directory.mkdir(parents=True, exist_ok=True)
    program = directory / PROGRAM
    # not cocotb's runtime, which has other options
    flags = "device", verilator.environment()["MAKEFLAGS"]
    texts = [path.read_bytes() for path in (*sources, main)]
    about = compiled_digest(
        *flags, *OPTIONS, top, *(hashlib.sha256(text).hexdigest() for text in texts)
    )
    if fetch_program(about, program):
        return program
    with own_folder() as name:
        made = _compiled([*sources, main], top, Path(name), directory / "device.log", flags)
        keep_program(about, made)
        place_program(made.read_bytes(), program)
    return program


def _compiled(
    sources: Sequence[Path], top: str, work: Path, log: Path, flags: tuple[str, ...]
) -> Path:
    """The program that ``sources`` make, compiled in ``work``, whose name is plain."""
    copies = copied(sources, work / "sources")
    # the C++ around a model is one text for whatever top, and finds the class by these
    defines = f'-DMODEL=V{top} -DMODEL_HEADER="\\"V{top}.h\\""'
    program = work / PROGRAM
    arguments = [
        *OPTIONS,
        *("--top-module", top, "--Mdir", str(work / "obj")),
        *("-CFLAGS", defines, "-o", str(program), *map(str, copies)),
    ]
    place_runtime(work / "obj", *flags)
    done = verilator.run(arguments, work)
    log.write_text(done.stdout, encoding="utf-8")
    if done.returncode or not program.is_file():
        # Verilator says Error where compilers say error
        lines = [line for line in done.stdout.splitlines() if "rror" in line] or ["no output"]
        raise ToolError(
            f"verilator cannot build {top}: {told_of(lines[0], copies, sources)} (log: {log})"
        )
    save_runtime(work / "obj", *flags)
    return program


def simulated_device(
    sources: Sequence[Path], top: str, directory: Path, timeout: float = DEFAULT_TIMEOUT
) -> ProcessTransport:
    """A running device of :func:`build_device`. ``timeout``: seconds of silence before it is asked again."""
    return ProcessTransport([str(build_device(sources, top, directory))], timeout)


SILENCE = 20_000
"""Cycles without a byte, nothing being on its way to the board, after which the host does not wait any more."""
_BOARD_MAIN = Path(__file__).with_name("serial_board.cpp")
_COUNT = struct.Struct("<I")


def build_board(sources: Sequence[Path], top: str, directory: Path) -> Path:
    """The program for Verilog module ``top`` with the pins ``clk``, ``rx`` and ``tx``, compiled as of
    :func:`rbdgen_sim.device.build_program`."""
    return build_program(sources, top, directory, _BOARD_MAIN)


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
        """Bytes that come before the line is quiet; empty where nothing does. LinkError if the program has ended."""
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


SHARE = 1 << 16
"""As how many frames the program counts all of them."""
PICOSECONDS = 1e12
"""In a second."""
IN_STEPS = -1
"""In place of a port: the host is in simulated time."""
_ANSWER = struct.Struct("<QI")
_WIRE_MAIN = Path(__file__).with_name("wire.cpp")


@dataclass(frozen=True)
class Faults:
    """Shares of the frames, either way, that are lost, comes twice, behind the next one, or damaged."""

    lost: float = 0.0
    doubled: float = 0.0
    overtaken: float = 0.0
    damaged: float = 0.0


NO_FAULTS = Faults()


@dataclass(frozen=True)
class Wire:
    """The ``program`` that plays the wire of a ``station``."""

    program: Path
    station: Station

    def command(self, clock: float, faults: Faults, seed: int, port: int) -> list[str]:
        """The command that calls the program, for a board's clock of so many Hz."""
        # the fields stand in the order of the program's arguments
        shares = [round(SHARE * share) for share in astuple(faults)]
        cycle = round(PICOSECONDS / clock)
        own = self.station
        numbers = [port, own.mac, own.address, own.port, cycle, seed, *shares]
        return [str(self.program), *map(str, numbers)]


@dataclass(frozen=True)
class BuiltStation(Wire):
    """The same with the ``manifest`` of the accelerator behind it."""

    manifest: Manifest


def build_wire(sources: Sequence[Path], top: str, directory: Path, station: Station) -> Wire:
    """The program for Verilog module ``top``, which has a clock ``clk`` and the pins ``eth_*`` of GMII, or of RGMII
    where it is a board's netlist; compiled as of :func:`build_program`."""
    return Wire(build_program(sources, top, directory, _WIRE_MAIN), station)


def build_station(
    manifest: Manifest, station: Station, sources: Sequence[Path], top: str, work: Path
) -> BuiltStation:
    """Compile ``sources`` in ``work``, unless it is there: Verilog whose module ``top`` has a clock ``clk`` and the
    pins ``eth_*`` of GMII. ToolError where Verilator fails or is missing."""
    wire = build_wire(sources, top, work / "build", station)
    return BuiltStation(wire.program, station, manifest)


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
        # it says its port when it listens there
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
        # the program ends when its input does, and says its cycles then
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
        self, built: Wire, clock: float, faults: Faults = NO_FAULTS, seed: int = 0
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
        # it leaves with the next wait: until then no time passes
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
