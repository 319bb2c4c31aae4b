"""Gowin's look-up tables, wide choices and distributed memories.

Source: Gowin UG303, "Arora V Configurable Function Unit (CFU) User Guide".
"""

from __future__ import annotations

from rbdgen_boards.models.cell import Bit, Cell
from rbdgen_boards.models.tables import depends_on
from rbdgen_boards.models.text import Text

ANY = "0"
"""A value for an input that nothing depends on."""
INPUTS = ("I0", "I1", "I2", "I3")
ADDRESS_BITS = 4


def inputs_of(cell: Cell) -> int:
    """How many inputs a table has."""
    return int(cell.kind[len("LUT") :])


def constant_table(cell: Cell) -> list[tuple[int | None, Bit]]:
    """A table that is always the same."""
    contents = cell.number("INIT")
    addresses = 1 << inputs_of(cell)
    full = (1 << addresses) - 1
    if contents not in (0, full):
        return []
    cell.ignore(*INPUTS)
    value = "1" if contents else "0"
    return [(cell.output("F"), value)]


def table(cell: Cell, text: Text) -> None:
    """A look-up table, whose inputs may only be open where nothing depends on them."""
    size = inputs_of(cell)
    contents = cell.number("INIT")
    inputs = []
    for k, pin in enumerate(INPUTS[:size]):
        default = None if depends_on(contents, size, k) else ANY
        inputs.append(cell.net(pin, default))
    text.assign(cell.output("F"), text.table(contents, inputs))


def wide_choice(cell: Cell, text: Text) -> None:
    """The choice between two tables, or two such choices."""
    select = text.value(cell.net("S0"))
    zero = text.value(cell.net("I0"))
    one = text.value(cell.net("I1"))
    text.assign(cell.output("O"), f"{select} ? {one} : {zero}")


def distributed(cell: Cell, text: Text) -> None:
    """A memory of 16 words of one, two or four bits: written on the clock, read at once."""
    width = int(cell.kind.removeprefix("RAM16SDP"))
    cell.require("CE", "1", "1")
    clock = text.value(cell.net("CLK"))
    enable = text.value(cell.net("WRE"))
    write = text.vector(cell.bus("WAD", ADDRESS_BITS))
    read = text.vector(cell.bus("RAD", ADDRESS_BITS))
    data = cell.bus("DI", width)
    outputs = cell.outputs("DO", width)
    for k in range(width):
        contents = cell.number(f"INIT_{k}", 0)
        value = text.value(data[k])
        name = text.fresh("table")
        text.line(f"reg [15:0] {name} = 16'h{contents:04x};")
        text.line(f"always @(posedge {clock}) if ({enable}) {name}[{write}] <= {value};")
        text.assign(outputs[k], f"{name}[{read}]")


def high(cell: Cell) -> list[tuple[int | None, Bit]]:
    """A constant one."""
    return [(cell.output("V"), "1")]


def low(cell: Cell) -> list[tuple[int | None, Bit]]:
    """A constant zero."""
    return [(cell.output("G"), "0")]
