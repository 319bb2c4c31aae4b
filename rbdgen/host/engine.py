"""An engine on a board, before any program is: who it is, what it holds, and drivers of the programs in it."""

from __future__ import annotations

from pathlib import Path

from rbdgen.errors import LinkError
from rbdgen.host.byte_link import DEFAULT_PATIENCE, ByteLink, connect
from rbdgen.host.datagram_link import Anyone
from rbdgen.host.driver import LONGEST_RESULT, Driver
from rbdgen.host.exchanges import DEFAULT_ATTEMPTS, DEFAULT_SECONDS, Access, Progress
from rbdgen.host.held import quietly
from rbdgen.host.manifest import programs_tasks
from rbdgen.host.programs import Program, Programs, read_program
from rbdgen.host.register_link import RegisterDevice, RegisterLink
from rbdgen.host.spi import DEFAULT_HERTZ, open_spi
from rbdgen.host.transport import DEFAULT_BAUD, SerialTransport, Transport
from rbdgen.host.udp import DatagramLink, UdpPort
from rbdgen.host.udp import connect as connect_datagrams
from rbdgen.protocol.directory import Entry


class Engine:
    """The engine behind ``link``. It is one user's at a time; drivers of its programs share it."""

    def __init__(
        self, link: ByteLink | DatagramLink | RegisterLink, progress: Progress = quietly
    ) -> None:
        own = isinstance(link, ByteLink) and getattr(link.transport, "in_process", False)
        self.link, self.progress = link, progress
        self.identity = link.identified()
        """What it says of itself, of which :func:`rbdgen.machines.engine.resident.read_identity` has its shape."""
        self.programs = Programs(self.identity, link, Access(own))

    @classmethod
    def open(
        cls,
        transport: Transport,
        attempts: int = DEFAULT_ATTEMPTS,
        patience: int = DEFAULT_PATIENCE,
        seconds: float = DEFAULT_SECONDS,
        progress: Progress = quietly,
    ) -> Engine:
        """The engine behind ``transport``; options as of :meth:`rbdgen.host.driver.Driver.open`. LinkError for a device
        that is silent."""
        link = connect(transport, None, LONGEST_RESULT, "", attempts, patience, seconds)
        return cls(link, progress)

    @classmethod
    def serial(cls, port: str, baud: int = DEFAULT_BAUD) -> Engine:
        """The engine on a serial port, such as ``/dev/ttyUSB0``."""
        return cls.open(SerialTransport(port, baud))

    @classmethod
    def spi(cls, path: str, hertz: int = DEFAULT_HERTZ) -> Engine:
        """The engine behind an SPI bus of this computer, by the device's file, such as ``/dev/spidev0.0``."""
        return cls.open(open_spi(path, hertz))

    @classmethod
    def udp(
        cls,
        address: str,
        attempts: int = DEFAULT_ATTEMPTS,
        seconds: float = DEFAULT_SECONDS,
    ) -> Engine:
        """The engine at an IP address, ``HOST`` or ``HOST:PORT``, over Ethernet; nobody else's as long as it is
        used."""
        port = UdpPort(address)
        try:
            anyone = Anyone(programs_tasks())
            return cls(connect_datagrams(port, anyone, attempts, seconds))
        except LinkError:
            port.close()
            raise

    @classmethod
    def registers(cls, device: RegisterDevice, seconds: float = DEFAULT_SECONDS) -> Engine:
        """The engine behind the registers of a ``device``, which is reset: nothing is loaded. LinkError for a device
        that has other registers."""
        return cls(RegisterLink(device, seconds))

    @property
    def entries(self) -> list[Entry]:
        """The programs that it holds, whoever loaded them."""
        return self.programs.entries()

    @property
    def robots(self) -> tuple[str, ...]:
        """Their robots."""
        return tuple(entry.robot for entry in self.entries)

    def load(self, program: Program | Path | str, flags: str = "warn") -> Driver:
        """Load a program, or that of a folder, beside what is there, or in its place where they clash: its driver.
        ConfigError where the folder has none, LinkError where it is for another engine or is not answered."""
        given = program if isinstance(program, Program) else read_program(program)
        self.programs.load(given, self.progress)
        return Driver(given.manifest, self.link, flags=flags, program=given, programs=self.programs)

    def close(self) -> None:
        """Let go of it, once the calls of other threads are over. What it holds stays there."""
        self.programs.access.close(self.link.close)

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
