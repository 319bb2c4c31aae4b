"""ECP5's pads, clock buffers and clock generators. Time is not simulated: a clock generator passes its clock on, at
whatever rate, and is settled from the beginning."""

from __future__ import annotations

from rbdgen_boards.models.cell import CONSTANTS, Bit, Cell

PLL_STATIC = (
    "RST",
    "STDBY",
    "PHASESEL0",
    "PHASESEL1",
    "PHASEDIR",
    "PHASESTEP",
    "PHASELOADREG",
    "PLLWAKESYNC",
    "ENCLKOP",
)
"""Pins that must not change."""
PLL_RATES = (
    "CLKFB_DIV",
    "CLKI_DIV",
    "CLKOP_CPHASE",
    "CLKOP_DIV",
    "CLKOP_FPHASE",
    "PLLRST_ENA",
    "DPHASE_SOURCE",
    "INTFB_WAKE",
    "STDBY_ENABLE",
    "OUTDIVIDER_MUXA",
    "OUTDIVIDER_MUXB",
    "OUTDIVIDER_MUXC",
    "OUTDIVIDER_MUXD",
)
"""Parameters that say at what rate, and when."""


def pll(cell: Cell) -> list[tuple[int | None, Bit]]:
    """A clock generator with one output, which is fed back."""
    cell.one_of("FEEDBK_PATH", "CLKOP")
    cell.one_of("CLKOP_ENABLE", "ENABLED")
    cell.ignore(*PLL_RATES, "CLKFB")
    for pin in PLL_STATIC:
        if cell.net(pin, "0") not in CONSTANTS:
            raise cell.error(f"pin {pin} has no model unless it is constant")
    return [(cell.output("CLKOP"), cell.net("CLKI")), (cell.output("LOCK"), "1")]


def clock_buffer(cell: Cell) -> list[tuple[int | None, Bit]]:
    """A buffer of a clock, always enabled."""
    cell.require("CE", "1", "1")
    return [(cell.output("CLKO"), cell.net("CLKI"))]


def pad(cell: Cell) -> list[tuple[int | None, Bit]]:
    """An input or an output."""
    cell.ignore("DATAMUX_MDDR", "DATAMUX_ODDR")
    if cell.one_of("DIR", "INPUT", "OUTPUT") == "INPUT":
        return [(cell.output("O"), cell.net("B"))]
    cell.require("T", "0", "0")
    return [(cell.output("B"), cell.net("I"))]
