"""A netlist from its board's pins, behind the link that the board has: the host's driver talks to it as to a board."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rbdgen.host.driver import Driver
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
        return Line(
            lambda source, progress: Driver.datagrams(source, port, ATTEMPTS, progress, SECONDS),
            port.close,
        )
    transport: Transport
    if shell == "spi":
        bus = SimulatedBus(build_spi_board(sources, top, directory), hertz / rate)
        transport = SpiTransport(bus, top, PATIENCE)
    else:
        transport = SerialBoard(build_board(sources, top, directory), hertz, rate)
    return Line(behind(transport), transport.close)
