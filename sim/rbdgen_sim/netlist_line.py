"""A netlist from its board's pins, behind the link that the board has: the host's driver talks to it as to a board."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rbdgen.host.driver import Driver
from rbdgen.host.exchanges import Progress
from rbdgen.host.manifest import Manifest
from rbdgen.host.programs import Program
from rbdgen.host.spi import SpiTransport
from rbdgen.host.transport import Transport
from rbdgen.protocol.links import Station
from rbdgen_sim.comparison import ATTEMPTS, SECONDS, Opener, behind
from rbdgen_sim.device import SerialBoard, SteppedPort, build_board, build_wire
from rbdgen_sim.spi_board import SimulatedBus, build_spi_board

PATIENCE = 2.0
"""Seconds for which an SPI bus is polled before it counts as silent: thousands of a netlist's cycles."""


@dataclass(frozen=True)
class Line:
    """A running netlist: how it is ``opened``, and what ends it."""

    opened: Opener
    close: Callable[[], None]


def _one_session(port: SteppedPort) -> Opener:
    """A device that is opened once: a second session would wait for the end of the first, which is millions of
    cycles away. Another program is loaded in the first one."""
    drivers: list[Driver] = []

    def opened(source: Manifest | Program, progress: Progress) -> Driver:
        if drivers and isinstance(source, Program):
            drivers[0].progress = progress
            return drivers[0].load(source)
        drivers.append(Driver.udp(source, port, ATTEMPTS, progress, SECONDS))
        return drivers[-1]

    return opened


def netlist_line(
    sources: Sequence[Path],
    top: str,
    directory: Path,
    hertz: float,
    shell: str,
    rate: float,
    station: Station | None,
) -> Line:
    """The running netlist ``top`` of a board whose clock has ``hertz``, behind what its ``shell`` is: the ``station``
    on a network, the serial line of ``rate`` bits a second or the SPI bus of as many Hz. Compiled as of
    :func:`rbdgen_sim.device.build_program`."""
    if shell == "udp":
        assert station is not None
        port = SteppedPort(build_wire(sources, top, directory, station), hertz)
        return Line(_one_session(port), port.close)
    transport: Transport
    if shell == "spi":
        bus = SimulatedBus(build_spi_board(sources, top, directory), hertz / rate)
        transport = SpiTransport(bus, top, PATIENCE)
    else:
        transport = SerialBoard(build_board(sources, top, directory), hertz, rate)
    return Line(behind(transport), transport.close)
