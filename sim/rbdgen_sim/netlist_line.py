"""A netlist from its board's pins, behind the link that the board has: the host's driver talks to it as to a board."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rbdgen.host.spi import SpiTransport
from rbdgen.host.transport import Transport
from rbdgen_sim.device import SerialBoard, build_board
from rbdgen_sim.spi_board import SimulatedBus, build_spi_board

PATIENCE = 2.0
"""Seconds for which an SPI bus is polled before it counts as silent: thousands of a netlist's cycles."""


def netlist_line(
    sources: Sequence[Path], top: str, directory: Path, hertz: float, shell: str, rate: float
) -> Transport:
    """The running netlist ``top`` of a board whose clock has ``hertz``, behind the serial line of ``rate`` bits a
    second or the SPI bus of as many Hz that its ``shell`` is; compiled as of
    :func:`rbdgen_sim.device.build_program`."""
    if shell == "spi":
        bus = SimulatedBus(build_spi_board(sources, top, directory), hertz / rate)
        return SpiTransport(bus, top, PATIENCE)
    return SerialBoard(build_board(sources, top, directory), hertz, rate)
