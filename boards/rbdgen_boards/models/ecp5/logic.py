"""ECP5's look-up tables, the choices behind them, and carry chains.

Source: Lattice FPGA-DS-02012, "ECP5 and ECP5-5G Family", section 2.2 (slices). The names of pins after packing are
nextpnr's. Pins that nothing is connected to are one, as everywhere in this device.
"""

from __future__ import annotations

from collections.abc import Sequence

from rbdgen_boards.models.cell import Bit, Cell
from rbdgen_boards.models.ecp5.distributed import bit_memory
from rbdgen_boards.models.text import Text

HIGH = "1"
"""What a pin is that nothing is connected to."""
INPUTS = ("A", "B", "C", "D")
FULL = 0xFFFF
CARRY = 15
"""The part of a table that is the next carry."""


def constant_lut4(cell: Cell) -> list[tuple[int | None, Bit]]:
    """A table of Yosys's that is always the same."""
    return _constant(cell, "INIT", "Z")


def constant_comb(cell: Cell) -> list[tuple[int | None, Bit]]:
    """A table of nextpnr's that is always the same."""
    return _constant(cell, "INITVAL", "F")


def _constant(cell: Cell, parameter: str, output: str) -> list[tuple[int | None, Bit]]:
    connected = any(cell.has(pin) for pin in (*INPUTS, "FCI", "F1", "FXA"))
    if connected or "MODE" in cell.parameters:
        return []
    contents = cell.number(parameter, 0)
    if contents not in (0, FULL):
        return []
    value = "1" if contents else "0"
    return [(cell.output(output), value)]


def lut4(cell: Cell, text: Text) -> None:
    """A look-up table of Yosys's."""
    contents = cell.number("INIT")
    inputs = [cell.net(pin, HIGH) for pin in INPUTS]
    text.assign(cell.output("Z"), text.table(contents, inputs))


def pfumx(cell: Cell, text: Text) -> None:
    """The choice between two tables."""
    _choice(cell, text, "C0", "ALUT", "BLUT")


def l6mux21(cell: Cell, text: Text) -> None:
    """The choice between two of those."""
    _choice(cell, text, "SD", "D1", "D0")


def _choice(cell: Cell, text: Text, select: str, one: str, zero: str) -> None:
    """What a pin selects where it is one, and where it is zero."""
    selected = text.value(cell.net(select))
    when_one = text.value(cell.net(one))
    when_zero = text.value(cell.net(zero))
    text.assign(cell.output("Z"), f"{selected} ? {when_one} : {when_zero}")


def ccu2c(cell: Cell, text: Text) -> None:
    """Two bits of a carry chain."""
    carry = text.value(cell.net("CIN"))
    for k in range(2):
        inputs = [cell.net(f"{pin}{k}", HIGH) for pin in INPUTS]
        inject = cell.one_of(f"INJECT1_{k}", "YES", "NO")
        contents = cell.number(f"INIT{k}")
        total, carried = _sum(text, contents, inputs, carry, inject == "YES")
        text.assign(cell.output(f"S{k}"), total)
        carry = text.wire(carried)
    text.assign(cell.output("COUT"), carry)


def _sum(
    text: Text, contents: int, inputs: Sequence[Bit], before: str, inject: bool
) -> tuple[str, str]:
    """A bit of a sum and the next carry: where the table is zero, that of the table's lowest quarter, else the one
    before. With ``inject`` the carry before counts as zero in the sum, and so does that of the table."""
    table = text.wire(text.table(contents, inputs))
    if inject:
        return table, f"{table} & {before}"
    own = text.table(contents & CARRY, inputs[:2])
    return f"{table} ^ {before}", f"{table} ? {before} : {own}"


def comb(cell: Cell, text: Text) -> None:
    """nextpnr's half of a slice without its register: a table, a bit of a carry chain or of a memory, with the choice
    behind it."""
    mode = cell.one_of("MODE", "LOGIC", "CCU2", "DPRAM", "RAMW_BLOCK")
    inject = cell.one_of("CCU2_INJECT1", "NO", "YES")
    contents = cell.number("INITVAL", 0)
    inputs = [cell.net(pin, HIGH) for pin in INPUTS]
    if mode == "RAMW_BLOCK":
        # its wires lead to memories beside it, and it has no outputs
        cell.ignore("WREMUX")
    elif mode == "DPRAM":
        a, b, c, d = inputs
        write = [cell.net(f"WAD{k}") for k in range(4)]
        name = bit_memory(cell, text, contents, write, cell.net("WD"))
        text.assign(cell.output("F"), f"{name}[{text.vector([d, b, c, a])}]")
    elif mode == "CCU2":
        cell.one_of("WREMUX", "WRE")
        before = text.value(cell.net("FCI", HIGH))
        total, carried = _sum(text, contents, inputs, before, inject == "YES")
        text.assign(cell.output("F"), total)
        text.assign(cell.output("FCO"), carried)
    else:
        cell.one_of("WREMUX", "WRE")
        table = text.wire(text.table(contents, inputs))
        text.assign(cell.output("F"), table)
        _choice_behind(cell, text, table)


def _choice_behind(cell: Cell, text: Text, table: str) -> None:
    """The choice between a table and its neighbour's, or between two such choices."""
    output = cell.output("OFX")
    if output is None:
        return
    both = cell.has("F1") and cell.has("FXA")
    if both:
        raise cell.error("chooses between tables and between choices at once")
    zero = table
    one = "F1"
    if cell.has("FXA"):
        zero = text.value(cell.net("FXA"))
        one = "FXB"
    select = text.value(cell.net("M"))
    text.assign(output, f"{select} ? {text.value(cell.net(one))} : {zero}")
