"""ECP5's look-up tables, the choices behind them, carry chains and distributed memories.

Sources: Lattice FPGA-DS-02012, "ECP5 and ECP5-5G Family", section 2.2 (slices); the names of pins after packing are
nextpnr's. Pins of a slice that are not connected are one, as everywhere in this device.
"""

from __future__ import annotations

from collections.abc import Sequence

from rbdgen_boards.models.cell import Bit, Cell
from rbdgen_boards.models.text import Text

HIGH = "1"
"""What a pin is that nothing is connected to."""
INPUTS = ("A", "B", "C", "D")


def constant_table(cell: Cell, parameter: str, output: str) -> list[tuple[int | None, Bit]]:
    """A table without inputs that is always the same."""
    if any(cell.has(pin) for pin in (*INPUTS, "FCI", "F1", "FXA")) or "MODE" in cell.parameters:
        return []
    contents = cell.number(parameter, 0)
    if contents not in (0, 0xFFFF):
        return []
    return [(cell.output(output), "1" if contents else "0")]


def lut4(cell: Cell, text: Text) -> None:
    """A look-up table of Yosys's."""
    inputs = [cell.net(pin, HIGH) for pin in INPUTS]
    text.assign(cell.output("Z"), text.table(cell.number("INIT"), inputs))


def pfumx(cell: Cell, text: Text) -> None:
    """The choice between two tables."""
    _choice(text, cell.output("Z"), cell.net("C0"), cell.net("ALUT"), cell.net("BLUT"))


def l6mux21(cell: Cell, text: Text) -> None:
    """The choice between two of those."""
    _choice(text, cell.output("Z"), cell.net("SD"), cell.net("D1"), cell.net("D0"))


def _choice(text: Text, output: int | None, select: Bit, one: Bit, zero: Bit) -> None:
    chosen = [text.value(bit) for bit in (select, one, zero)]
    text.assign(output, f"{chosen[0]} ? {chosen[1]} : {chosen[2]}")


def ccu2c(cell: Cell, text: Text) -> None:
    """Two bits of a carry chain."""
    carry = text.value(cell.net("CIN"))
    middle = text.fresh("carry")
    text.lines.append(f"wire {middle};")
    for k, before, after in ((0, carry, middle), (1, middle, "")):
        inputs = [cell.net(f"{pin}{k}", HIGH) for pin in INPUTS]
        inject = cell.one_of(f"INJECT1_{k}", "YES", "NO") == "YES"
        total, carried = _carry(text, cell.number(f"INIT{k}"), inputs, before, inject)
        text.assign(cell.output(f"S{k}"), total)
        if after:
            text.lines.append(f"assign {after} = {carried};")
        else:
            text.assign(cell.output("COUT"), carried)


def _carry(
    text: Text, contents: int, inputs: Sequence[Bit], before: str, inject: bool
) -> tuple[str, str]:
    """A bit of a sum and its carry: where the table is zero, the carry is that of its lowest quarter, else the one
    before. With ``inject`` neither sum nor carry begins anew with what was before."""
    table = text.fresh("t")
    text.lines.append(f"wire {table} = {text.table(contents, inputs)};")
    own = "1'b0" if inject else text.table(contents & 15, inputs[:2])
    total = table if inject else f"{table} ^ {before}"
    return total, f"{table} ? {before} : {own}"


def distributed(cell: Cell, text: Text) -> None:
    """A memory of 16 words of four bits, in Yosys's netlist."""
    contents = cell.text("INITVAL", "0" * 64)
    read, write = cell.bus("RAD", 4), cell.bus("WAD", 4)
    data, outputs = cell.bus("DI", 4, "0"), cell.outputs("DO", 4)
    for k in range(4):
        column = contents[::-1][k::4].replace("x", "0")
        _bit_memory(cell, text, column[::-1], (read, write), data[k], outputs[k])


def _bit_memory(
    cell: Cell,
    text: Text,
    contents: str,
    addresses: tuple[Sequence[Bit], Sequence[Bit]],
    data: Bit,
    output: int | None,
) -> None:
    """16 words of one bit: written on the clock, read at once."""
    cell.one_of("WCKMUX", "WCK")
    cell.one_of("WREMUX", "WRE")
    name = text.fresh("table")
    read, write = (text.vector(bits) for bits in addresses)
    clock, enable = text.value(cell.net("WCK")), text.value(cell.net("WRE"))
    text.lines.append(f"reg [15:0] {name} = 16'b{contents};")
    text.lines.append(
        f"always @(posedge {clock}) if ({enable}) {name}[{write}] <= {text.value(data)};"
    )
    text.assign(output, f"{name}[{read}]")


def comb(cell: Cell, text: Text) -> None:
    """nextpnr's half of a slice without its register: a table, a bit of a carry chain or of a memory, with the choice
    behind it."""
    mode = cell.one_of("MODE", "LOGIC", "CCU2", "DPRAM", "RAMW_BLOCK")
    if mode == "RAMW_BLOCK":
        # its wires lead to memories beside it, and it has no outputs
        cell.ignore("INITVAL", "CCU2_INJECT1", "WREMUX", *INPUTS)
        return
    contents = cell.number("INITVAL", 0)
    inputs = [cell.net(pin, HIGH) for pin in INPUTS]
    inject = cell.one_of("CCU2_INJECT1", "NO", "YES") == "YES"
    if mode == "DPRAM":
        write = [cell.net(f"WAD{k}") for k in range(4)]
        a, b, c, d = inputs
        memory = f"{contents:016b}"
        _bit_memory(cell, text, memory, ((d, b, c, a), write), cell.net("WD"), cell.output("F"))
        return
    cell.one_of("WREMUX", "WRE")
    if mode == "CCU2":
        before = text.value(cell.net("FCI", HIGH))
        total, carried = _carry(text, contents, inputs, before, inject)
        text.assign(cell.output("F"), total)
        text.assign(cell.output("FCO"), carried)
        return
    table = text.fresh("t")
    text.lines.append(f"wire {table} = {text.table(contents, inputs)};")
    text.assign(cell.output("F"), table)
    _choice_of_comb(cell, text, table)


def _choice_of_comb(cell: Cell, text: Text, table: str) -> None:
    """The choice behind a table: between it and its neighbour's, or between two such choices."""
    output = cell.output("OFX")
    if output is None:
        return
    select = text.value(cell.net("M"))
    if cell.has("FXA"):
        if cell.has("F1"):
            raise cell.error("chooses between tables and between choices at once")
        text.assign(
            output, f"{select} ? {text.value(cell.net('FXB'))} : {text.value(cell.net('FXA'))}"
        )
    else:
        text.assign(output, f"{select} ? {text.value(cell.net('F1'))} : {table}")


WRITES = {"D0": "WADO0", "B0": "WADO1", "C0": "WADO2", "A0": "WADO3"} | {
    "C1": "WDO0",
    "A1": "WDO1",
    "D1": "WDO2",
    "B1": "WDO3",
}
"""By which pins of a slice the address and the data come that memories beside it are written with."""


def ramw(cell: Cell) -> list[tuple[int | None, Bit]]:
    """The slice through which memories beside it are written."""
    return [(cell.output(after), cell.net(before, HIGH)) for before, after in WRITES.items()]
