"""Gowin's look-up tables, wide choices, sums and distributed memories.

Source: Gowin UG303, "Arora V Configurable Function Unit (CFU) User Guide". A sum is a table of four inputs, of which
apycula has the bits: with the third input one it gives what is added to the carry, and where that is zero, the table's
lowest quarter is the next carry.
"""

from __future__ import annotations

from rbdgen_boards.models.cell import Bit, Cell
from rbdgen_boards.models.tables import depends_on
from rbdgen_boards.models.text import Text

TABLES = ("LUT1", "LUT2", "LUT3", "LUT4")
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
ANY = "0"
"""A value for an input that nothing depends on."""
SIZE = 4


def inputs_of(cell: Cell) -> int:
    """How many inputs a table has."""
    return int(cell.kind[len("LUT") :])


def constant_table(cell: Cell) -> list[tuple[int | None, Bit]]:
    """A table that is always the same."""
    contents = cell.number("INIT")
    full = (1 << (1 << inputs_of(cell))) - 1
    if contents not in (0, full):
        return []
    cell.ignore(*(f"I{k}" for k in range(SIZE)))
    return [(cell.output("F"), "1" if contents else "0")]


def table(cell: Cell, text: Text) -> None:
    """A look-up table."""
    size = inputs_of(cell)
    contents = cell.number("INIT")
    inputs = [_input(cell, f"I{k}", contents, size, k) for k in range(size)]
    text.assign(cell.output("F"), text.table(contents, inputs))


def _input(cell: Cell, pin: str, contents: int, size: int, k: int) -> Bit:
    """The net at a table's input, which may only be open where nothing depends on it."""
    if depends_on(contents, size, k):
        return cell.net(pin)
    return cell.net(pin, ANY)


def wide_choice(cell: Cell, text: Text) -> None:
    """The choice between two tables, or two such choices."""
    select, zero, one = (text.value(cell.net(pin)) for pin in ("S0", "I0", "I1"))
    text.assign(cell.output("O"), f"{select} ? {one} : {zero}")


def alu(cell: Cell, text: Text) -> None:
    """A bit of a sum."""
    contents = _alu_contents(cell)
    before = _carry(cell, contents, text)
    if cell.has("I2"):
        # as packed: what the third input means is decided by its being one
        cell.require("I2", "1")
    # the fourth input is read by the third and the fourth quarter of a table, the others by the lowest, too
    inputs = [_alu_input(cell, pin, contents, k) for pin, k in (("I0", 0), ("I1", 1), ("I3", 3))]
    added = text.fresh("s")
    first, second, fourth = inputs
    summand = text.table(contents, [first, second, "1", fourth])
    text.lines.append(f"wire {added} = {summand};")
    carried = text.table(contents & CARRY, [first, second])
    text.assign(cell.output("SUM"), f"{added} ^ {before}")
    text.assign(cell.output("COUT"), f"{added} ? {before} : {carried}")


def _alu_contents(cell: Cell) -> int:
    """The table of a sum: as nextpnr has made it, else that of its mode."""
    mode = cell.text("ALU_MODE", "0")
    if "RAW_ALU_LUT" in cell.parameters:
        return cell.number("RAW_ALU_LUT") & 0xFFFF
    name = mode if mode in NAMED_MODES else str(int(mode, 2))
    if name not in MODES:
        raise cell.error(f"ALU_MODE={name} has no model, only {', '.join(MODES)}")
    return MODES[name]


def _alu_input(cell: Cell, pin: str, contents: int, k: int) -> Bit:
    """An input, which may only be open where neither sum nor carry depends on it."""
    read = depends_on(_summand(contents), SIZE, k)
    if k < 2:
        read = read or depends_on(contents & CARRY, 2, k)
    return cell.net(pin) if read else cell.net(pin, ANY)


def _summand(contents: int) -> int:
    """The table as it is with the third input one."""
    found = 0
    for address in range(1 << SIZE):
        found |= (contents >> (address | 4) & 1) << address
    return found


def _carry(cell: Cell, contents: int, text: Text) -> str:
    """The carry before a bit. Where a chain begins with a carry of the fabric, it comes from whatever is in the place
    before, on which nothing may depend."""
    kind = cell.one_of("CIN_NETTYPE", "", "VCC", "GND", "LOGIC")
    if kind in ("VCC", "GND"):
        return "1'b1" if kind == "VCC" else "1'b0"
    if cell.has("CIN"):
        return text.value(cell.net("CIN"))
    unread = cell.output("SUM") is None and _summand(contents) == 0
    if unread or not (cell.has("SUM") or cell.has("COUT")):
        return "1'b0"
    raise cell.error("depends on a carry that nothing gives")


def distributed(cell: Cell, text: Text) -> None:
    """A memory of 16 words of one, two or four bits: written on the clock, read at once."""
    width = int(cell.kind.removeprefix("RAM16SDP"))
    cell.require("CE", "1", "1")
    clock, enable = text.value(cell.net("CLK")), text.value(cell.net("WRE"))
    read, write = (text.vector(cell.bus(pin, 4)) for pin in ("RAD", "WAD"))
    data, outputs = cell.bus("DI", width), cell.outputs("DO", width)
    for k in range(width):
        name = text.fresh("table")
        contents = cell.number(f"INIT_{k}", 0)
        text.lines.append(f"reg [15:0] {name} = 16'h{contents:04x};")
        value = text.value(data[k])
        text.lines.append(f"always @(posedge {clock}) if ({enable}) {name}[{write}] <= {value};")
        text.assign(outputs[k], f"{name}[{read}]")


def high(cell: Cell) -> list[tuple[int | None, Bit]]:
    """A constant one."""
    return [(cell.output("V"), "1")]


def low(cell: Cell) -> list[tuple[int | None, Bit]]:
    """A constant zero."""
    return [(cell.output("G"), "0")]
