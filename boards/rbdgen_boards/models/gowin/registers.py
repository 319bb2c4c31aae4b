"""Gowin's registers (UG303): their names say what they have. They begin with what they are set to."""

from __future__ import annotations

import re

from rbdgen_boards.models.cell import Cell
from rbdgen_boards.models.text import Text

NAME = re.compile(r"DFF([SRPC]?)(E?)")
"""Set or reset on the clock, preset or clear at once; an enable. Those on the falling edge have no model."""
PINS = {
    "S": "SET",
    "R": "RESET",
    "P": "PRESET",
    "C": "CLEAR",
}


def register(cell: Cell, text: Text) -> None:
    """Any of them."""
    found = NAME.fullmatch(cell.kind)
    assert found is not None
    how, enable = found.groups()
    start = "1'b1" if how in ("S", "P") else "1'b0"
    begins = cell.text("INIT", start[-1])
    if begins[-1] != start[-1]:
        raise cell.error(f"INIT={begins} has no model: it begins with {start[-1]}")
    enabled = text.value(cell.net("CE")) if enable else "1'b1"
    reset = cell.net(PINS[how]) if how else "0"
    resets = "" if reset == "0" else text.value(reset)
    clock = f"posedge {text.value(cell.net('CLK'))}"
    if how in ("P", "C") and resets:
        clock += f" or posedge {resets}"
    text.register(cell.output("Q"), clock, text.value(cell.net("D")), enabled, resets, start)
