"""Gowin's sums.

A bit of a sum is a table of four inputs, of which apycula has the contents: with the third input one, it gives what is
added to the carry before; where that is zero, the table's lowest quarter is the next carry, else the carry before.
"""

from __future__ import annotations

from rbdgen_boards.models.cell import Bit, Cell
from rbdgen_boards.models.tables import depends_on
from rbdgen_boards.models.text import Text

MODES = {
    "0": 0x606A,
    "1": 0x909A,
    "2": 0x609A,
    "C2L": 0x0000,
    "ONE2C": 0x000F,
}
"""A sum, a difference, either by the fourth input, the carry as a sum, a carry that is one."""
NAMED_MODES = ("C2L", "ONE2C")
CARRY = 15
"""The part of a table that is the next carry."""
FULL = 0xFFFF
THIRD = 4
"""The third input in a table's address."""
SIZE = 4
ZERO, ONE = "1'b0", "1'b1"


def alu(cell: Cell, text: Text) -> None:
    """A bit of a sum."""
    contents = _contents(cell)
    summand = _summand(contents)
    before = _carry(cell, summand, text)
    if cell.has("I2"):
        # as packed
        cell.require("I2", "1")
    first = _input(cell, "I0", 0, contents)
    second = _input(cell, "I1", 1, contents)
    fourth = _input(cell, "I3", 3, contents)
    inputs = [first, second, "1", fourth]
    added = text.wire(text.table(summand, inputs))
    carried = text.table(contents & CARRY, [first, second])
    text.assign(cell.output("SUM"), f"{added} ^ {before}")
    text.assign(cell.output("COUT"), f"{added} ? {before} : {carried}")


def _contents(cell: Cell) -> int:
    """The table of a sum: as it was made for it, else that of its mode."""
    mode = cell.text("ALU_MODE", "0")
    if "RAW_ALU_LUT" in cell.parameters:
        return cell.number("RAW_ALU_LUT") & FULL
    name = mode
    if mode not in NAMED_MODES:
        number = cell.number("ALU_MODE", 0)
        name = str(number)
    if name not in MODES:
        raise cell.error(f"ALU_MODE={name} has no model, only {', '.join(MODES)}")
    return MODES[name]


def _summand(contents: int) -> int:
    """The table as it is with the third input one."""
    found = 0
    for address in range(1 << SIZE):
        bit = contents >> (address | THIRD) & 1
        found |= bit << address
    return found


def _input(cell: Cell, pin: str, k: int, contents: int) -> Bit:
    """An input, which may only be open where neither sum nor carry depends on it."""
    summed = depends_on(_summand(contents), SIZE, k)
    carried = k < 2 and depends_on(contents & CARRY, 2, k)
    default = None if summed or carried else "0"
    return cell.net(pin, default)


def _carry(cell: Cell, summand: int, text: Text) -> str:
    """The carry before a bit. Where a chain begins with a carry of the fabric, it comes from whatever is in the place
    before, on which nothing may depend."""
    kind = cell.one_of("CIN_NETTYPE", "", "VCC", "GND", "LOGIC")
    if kind == "VCC":
        return ONE
    if kind == "GND":
        return ZERO
    if cell.has("CIN"):
        return text.value(cell.net("CIN"))
    summed = cell.output("SUM") is not None
    carried = cell.output("COUT") is not None and summand != 0
    if summed or carried:
        raise cell.error("depends on a carry that nothing gives")
    return ZERO
