"""Gowin GW5A: models of its cells, before and after nextpnr has packed them; block memories are in a file of their own.

Sources: Gowin UG303, "Arora V Configurable Function Unit (CFU) User Guide"; UG305, "Arora V Digital Signal Processing
(DSP) User Guide". A bit of a sum is a table of four inputs, of which apycula has the contents: with the third input
one, it gives what is added to the carry before; where that is zero, the table's lowest quarter is the next carry, else
the carry before.
"""

from __future__ import annotations

import re

from rbdgen_boards.models import gowin_memories
from rbdgen_boards.models.cell import Bit, Cell
from rbdgen_boards.models.netlist_verilog import Models, Text, depends_on

ANY = "0"
"""A value for an input that nothing depends on."""
INPUTS = ("I0", "I1", "I2", "I3")
ADDRESS_BITS = 4


def inputs_of(cell: Cell) -> int:
    """Number of a table's inputs."""
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


A, B, SUM = 27, 18, 48
SWITCHES = (
    "A_SEL",
    "P_SEL",
    "P_ADDSUB",
    "C_SEL",
    "CASI_SEL",
    "ACC_SEL",
    "ADD_SUB_0",
    "ADD_SUB_1",
)
"""Parameters by which something is added, selected or subtracted: nothing is."""


def multalu27x18(cell: Cell, text: Text) -> None:
    """A product with the registers that :mod:`rbdgen_hw.primitives` asks for, and nothing added to it."""
    for switch in SWITCHES:
        cell.one_of(switch, "0")
        cell.one_of(f"DYN_{switch}", "FALSE")
    cell.one_of("MULT_RESET_MODE", "SYNC")
    clocks = cell.bus("CLK", 2, "0")
    enables = cell.bus("CE", 2, "0")
    resets = cell.bus("RESET", 2, "0")
    # registers have the first of each, or no model
    always = enables[0] == "1" and resets[0] == "0"
    if not always:
        raise cell.error("enables and resets have no model unless they are constant")
    clock = text.value(clocks[0])
    first = _registered(cell, text, "AREG", clock, _operand(cell, text, "A", A), A)
    second = _registered(cell, text, "BREG", clock, _operand(cell, text, "B", B), B)
    product = f"{first} * {second}"
    total = _registered(cell, text, "PREG", clock, product, A + B)
    # through a signed name, so that Verilog extends the product's sign
    text.assign_vector(cell.outputs("DOUT", SUM), text.named(total, SUM))


FACTOR = 18
GW2A_OTHERS = ("ASIGN_REG", "BSIGN_REG", "SOA_REG")
"""Parameters of which no other value than zero has a model."""
GW2A_OPEN = ("SIA", "SIB", "SOA", "SOB")
"""Pins of other blocks beside it."""


def mult18x18(cell: Cell, text: Text) -> None:
    """A GW2A's product with the registers that :mod:`rbdgen_hw.primitives` asks for."""
    cell.one_of("MULT_RESET_MODE", "SYNC")
    for parameter in GW2A_OTHERS:
        if cell.number(parameter, 0):
            raise cell.error(f"{parameter} has no model unless it is 0")
    for pin, value in {
        "ASIGN": "1",
        "BSIGN": "1",
        "CE": "1",
        "ASEL": "0",
        "BSEL": "0",
        "RESET": "0",
    }.items():
        cell.require(pin, value, value)
    for pin in GW2A_OPEN:
        cell.ignore(pin, *(f"{pin}{k}" for k in range(FACTOR)))
    clock = text.value(cell.net("CLK"))

    def behind(register: str, value: str, width: int) -> str:
        if cell.number(register, 0):
            return text.clocked(clock, value, width)
        return text.named(value, width)

    first = behind("AREG", _operand(cell, text, "A", FACTOR), FACTOR)
    second = behind("BREG", _operand(cell, text, "B", FACTOR), FACTOR)
    product = behind("PIPE_REG", f"{first} * {second}", 2 * FACTOR)
    product = behind("OUT_REG", product, 2 * FACTOR)
    text.assign_vector(cell.outputs("DOUT", 2 * FACTOR), product)


def _operand(cell: Cell, text: Text, pin: str, width: int) -> str:
    bits = cell.bus(pin, width)
    return f"$signed({text.vector(bits)})"


PASSED = "BYPASS"
"""In place of a register's clock: there is no register."""


def _registered(cell: Cell, text: Text, register: str, clock: str, value: str, width: int) -> str:
    """The name of a value behind a register of the block, or of the value where there is none, which is the default."""
    if cell.text(f"{register}_CLK", PASSED) == PASSED:
        cell.ignore(f"{register}_CE", f"{register}_RESET")
        return text.named(value, width)
    for kind in ("CLK", "CE", "RESET"):
        if cell.text(f"{register}_{kind}") != f"{kind}0":
            raise cell.error(f"has no model without {register}_{kind}={kind}0")
    return text.clocked(clock, value, width)


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


NAME = re.compile(r"DFF([SRPC]?)(E?)")
"""Set or reset on the clock, preset or clear at once; an enable. Those on the falling edge have no model."""
REGISTERS = ("", "E", "S", "SE", "R", "RE", "P", "PE", "C", "CE")
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


TABLES = ("LUT1", "LUT2", "LUT3", "LUT4")
GOWIN = Models(
    wires={
        **dict.fromkeys(("VCC", "GOWIN_VCC"), high),
        **dict.fromkeys(("GND", "GOWIN_GND"), low),
        **dict.fromkeys(TABLES, constant_table),
        **dict.fromkeys(("IBUF", "OBUF"), pad),
        "BUFG": clock_buffer,
        "GSR": reset,
    },
    cells={
        **dict.fromkeys(TABLES, table),
        **dict.fromkeys(("MUX2_LUT5", "MUX2_LUT6", "MUX2_LUT7", "MUX2_LUT8"), wide_choice),
        "ALU": alu,
        **dict.fromkeys(("RAM16SDP1", "RAM16SDP2", "RAM16SDP4"), distributed),
        **{f"DFF{how}": register for how in REGISTERS},
        # the last of each kind is nextpnr's name for it
        **dict.fromkeys(("SP", "SPX9"), gowin_memories.single),
        **dict.fromkeys(("DPB", "DPX9B", "DP"), gowin_memories.double),
        **dict.fromkeys(("SDPB", "SDPX9B", "SDP"), gowin_memories.one_way),
        **dict.fromkeys(("pROM", "pROMX9", "ROM"), gowin_memories.constant),
        "MULTALU27X18": multalu27x18,
        "MULT18X18": mult18x18,
    },
    constants=("VCC", "GOWIN_VCC", "GND", "GOWIN_GND"),
    silent=("$scopeinfo", "SPINE_SELECT", "PINCFG"),
)
