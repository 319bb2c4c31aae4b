"""ECP5's registers (Lattice FPGA-DS-02012, section 2.2): with an enable, set or reset, at once or on the clock."""

from __future__ import annotations

from rbdgen_boards.models.cell import Cell
from rbdgen_boards.models.text import Text


def register(cell: Cell, text: Text) -> None:
    """Of Yosys's netlist or nextpnr's, where ``SD`` says whether the input comes from the table beside it."""
    cell.one_of("GSR", "DISABLED")
    cell.one_of("CLKMUX", "CLK")
    cell.one_of("LSRMUX", "LSR")
    cell.one_of("LSRMODE", "LSR")
    start = "1'b1" if cell.one_of("REGSET", "RESET", "SET") == "SET" else "1'b0"
    data = "DI" if cell.one_of("SD", "1", "0") == "1" else "M"
    enable = cell.one_of("CEMUX", "1", "CE", "INV")
    enabled = "1'b1"
    if enable != "1":
        enabled = f"{'!' if enable == 'INV' else ''}{text.value(cell.net('CE'))}"
    # nothing resets what is not connected, although open pins are one otherwise
    reset = cell.net("LSR", "0")
    at_once = cell.one_of("SRMODE", "LSR_OVER_CE", "ASYNC") == "ASYNC"
    resets = "" if reset == "0" else text.value(reset)
    clock = f"posedge {text.value(cell.net('CLK'))}"
    if at_once and resets:
        clock += f" or posedge {resets}"
    value = text.value(cell.net(data))
    text.register(cell.output("Q"), clock, value, enabled, resets, start)
