"""Gowin's pads and clock buffers."""

from __future__ import annotations

from rbdgen_boards.models.cell import Bit, Cell


def pad(cell: Cell) -> list[tuple[int | None, Bit]]:
    """An input or an output, whose nets are named by what they are for the bitstream."""
    cell.ignore("NET_I", "NET_O")
    return [(cell.output("O"), cell.net("I"))]


def clock_buffer(cell: Cell) -> list[tuple[int | None, Bit]]:
    """A buffer of a clock; where nextpnr has led the clock past it, it has no output."""
    output = cell.output("O")
    cell.ignore("I")
    return [] if output is None else [(output, cell.net("I"))]


def reset(cell: Cell) -> list[tuple[int | None, Bit]]:
    """The reset of the whole device, which is low to reset and never is."""
    cell.require("GSRI", "1")
    return []
