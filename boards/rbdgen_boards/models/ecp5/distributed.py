"""ECP5's distributed memories: 16 words in look-up tables, written on the clock and read at once.

Source: Lattice FPGA-TN-02204, "ECP5 and ECP5-5G Memory Usage Guide". The names of pins after packing are nextpnr's.
"""

from __future__ import annotations

from collections.abc import Sequence

from rbdgen_boards.models.cell import Bit, Cell
from rbdgen_boards.models.text import Text

WORDS = 16
BITS = 4
WRITES = {
    "D0": "WADO0",
    "B0": "WADO1",
    "C0": "WADO2",
    "A0": "WADO3",
    "C1": "WDO0",
    "A1": "WDO1",
    "D1": "WDO2",
    "B1": "WDO3",
}
"""By which pins of a slice the address and the data come that memories beside it are written with."""


def distributed(cell: Cell, text: Text) -> None:
    """A memory of 16 words of four bits, in Yosys's netlist."""
    contents = cell.number("INITVAL", 0)
    write = cell.bus("WAD", BITS)
    read = text.vector(cell.bus("RAD", BITS))
    data = cell.bus("DI", BITS, "0")
    outputs = cell.outputs("DO", BITS)
    for k in range(BITS):
        column = 0
        for word in range(WORDS):
            bit = contents >> (BITS * word + k) & 1
            column |= bit << word
        name = bit_memory(cell, text, column, write, data[k])
        text.assign(outputs[k], f"{name}[{read}]")


def bit_memory(cell: Cell, text: Text, contents: int, write: Sequence[Bit], data: Bit) -> str:
    """The name of 16 bits in a row, written at an address."""
    cell.one_of("WCKMUX", "WCK")
    cell.one_of("WREMUX", "WRE")
    clock = text.value(cell.net("WCK"))
    enable = text.value(cell.net("WRE"))
    address = text.vector(write)
    value = text.value(data)
    name = text.fresh("table")
    text.line(f"reg [{WORDS - 1}:0] {name} = {WORDS}'h{contents:x};")
    text.line(f"always @(posedge {clock}) if ({enable}) {name}[{address}] <= {value};")
    return name


def writer(cell: Cell) -> list[tuple[int | None, Bit]]:
    """The slice through which memories beside it are written. A pin of it is open where it does not matter."""
    made = []
    for before, after in WRITES.items():
        made.append((cell.output(after), cell.net(before, "1")))
    return made
