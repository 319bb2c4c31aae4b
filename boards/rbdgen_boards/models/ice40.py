"""Lattice iCE40 UltraPlus: models of its cells, before and after nextpnr has packed them. Names of pins after packing
are nextpnr's.

Sources: Lattice iCE Technology Library (FPGA-TN-02026); FPGA-TN-02002, "Memory Usage Guide for iCE40 Devices";
FPGA-TN-02022, "iCE40 SPRAM Usage Guide"; FPGA-TN-02007, "DSP Function Usage Guide for iCE40 Devices". Time is not
simulated: a clock generator passes its clock on, at whatever rate, and is settled from the beginning.
"""

from __future__ import annotations

from collections.abc import Sequence

from rbdgen_boards.models.cell import CONSTANTS, Bit, Cell
from rbdgen_boards.models.netlist_verilog import Models, Text

INPUTS = ("I0", "I1", "I2", "I3")
LOW = "0"
"""Value of an input that nothing is connected to."""


def lut4(cell: Cell, text: Text) -> None:
    """A look-up table of Yosys's."""
    contents = cell.number("LUT_INIT")
    inputs = [cell.net(pin, LOW) for pin in INPUTS]
    text.assign(cell.output("O"), text.table(contents, inputs))


def carry(cell: Cell, text: Text) -> None:
    """A bit's carry of Yosys's."""
    one, other, before = (text.value(cell.net(pin, LOW)) for pin in ("I0", "I1", "CI"))
    text.assign(cell.output("CO"), _carried(one, other, before))


def _carried(one: str, other: str, before: str) -> str:
    return f"({one} & {other}) | (({one} | {other}) & {before})"


def register(cell: Cell, text: Text) -> None:
    """A register of Yosys's, whose type says what it has: ``E`` an enable, ``SR`` and ``SS`` a reset or a set with the
    clock, which wait for the enable, ``R`` and ``S`` without; ``N`` at the other edge of the clock."""
    kind = cell.kind.removeprefix("SB_DFF")
    falls = kind.startswith("N")
    kind = kind.removeprefix("N")
    enabled = kind.startswith("E")
    how = kind.removeprefix("E")
    pin = how[-1:]
    reset = text.value(cell.net(pin)) if pin else ""
    enable = text.value(cell.net("E", "1")) if enabled else "1'b1"
    clock = text.value(cell.net("C"))
    data = text.value(cell.net("D"))
    _register(
        text, cell.output("Q"), (clock, falls), data, enable, reset, pin == "S", len(how) == 1
    )


def _register(
    text: Text,
    q: int | None,
    clock: tuple[str, bool],
    data: str,
    enable: str,
    reset: str,
    sets: bool,
    at_once: bool,
) -> None:
    """A register that begins with zero; its reset, or set, waits for the clock unless it is done ``at_once``, and then
    for the enable as well. ``clock``: a net, and whether it falls."""
    net, falls = clock
    edge = f"{'negedge' if falls else 'posedge'} {net}"
    value = "1'b1" if sets else "1'b0"
    name = text.drive(q, "1'b0")
    if reset and at_once:
        text.line(
            f"always @({edge} or posedge {reset}) if ({reset}) {name} <= {value}; else if ({enable}) {name} <= {data};"
        )
        return
    if reset:
        data = f"{reset} ? {value} : {data}"
    text.line(f"always @({edge}) if ({enable}) {name} <= {data};")


def constant_cell(cell: Cell) -> list[tuple[int | None, Bit]]:
    """A table of nextpnr's that is always the same, without a register and a carry."""
    if any(cell.has(pin) for pin in (*INPUTS, "CIN", "COUT", "CLK")):
        return []
    contents = cell.number("LUT_INIT", 0)
    if contents not in (0, 0xFFFF):
        return []
    for parameter in ("CARRY_ENABLE", "DFF_ENABLE", "NEG_CLK", "SET_NORESET", "ASYNC_SR"):
        cell.one_of(parameter, "0")
    cell.ignore("CIN_CONST", "CIN_SET")
    return [(cell.output("O"), "1" if contents else "0")]


def logic_cell(cell: Cell, text: Text) -> None:
    """nextpnr's cell: a table, the carry of two of its inputs, and a register behind the table."""
    contents = cell.number("LUT_INIT", 0)
    inputs = [cell.net(pin, LOW) for pin in INPUTS]
    table = text.table(contents, inputs)
    before = text.value(cell.net("CIN", LOW))
    if cell.number("CIN_CONST", 0):
        before = f"1'b{cell.number('CIN_SET', 0)}"
    cell.ignore("CIN_SET")
    if cell.number("CARRY_ENABLE", 0):
        one, other = (text.value(bit) for bit in inputs[1:3])
        text.assign(cell.output("COUT"), _carried(one, other, before))
    falls = bool(cell.number("NEG_CLK", 0))
    sets, at_once = (bool(cell.number(name, 0)) for name in ("SET_NORESET", "ASYNC_SR"))
    if not cell.number("DFF_ENABLE", 0):
        text.assign(cell.output("O"), table)
        return
    # nothing resets what is not connected, and all is enabled
    reset = cell.net("SR", LOW)
    resets = "" if reset == LOW else text.value(reset)
    enable = text.value(cell.net("CEN", "1"))
    clock = text.value(cell.net("CLK"))
    _register(text, cell.output("O"), (clock, falls), table, enable, resets, sets, at_once)


ROWS, ROW_WORDS, WORD = 16, 16, 16
"""Contents: parameters, words in each, and bits of a word."""
ADDRESS_BITS, WORDS_BITS = 11, 8
OFFSETS = {0: 0, 1: 0, 2: 1, 3: 3}
"""By mode, which makes 2^mode narrower words of a word: the data pin of the first bit of a narrow word."""


def memory(cell: Cell, text: Text) -> None:
    """A memory of 4 kbit, which is read and written by ports of their own; a word that is read while it is written is
    read as it was."""
    name = text.fresh("memory")
    text.line(f"reg [{WORD - 1}:0] {name} [0:{ROWS * ROW_WORDS - 1}];")
    text.line("initial begin")
    for row in range(ROWS):
        bits = cell.number(f"INIT_{row:X}", 0)
        for word in range(ROW_WORDS):
            value = bits >> WORD * word & (1 << WORD) - 1
            text.line(f"{name}[{ROW_WORDS * row + word}] = {WORD}'h{value:x};")
    text.line("end")
    _write(cell, text, name)
    _read(cell, text, name)


def _bus(cell: Cell, pin: str, width: int, default: str = LOW) -> list[Bit]:
    """Nets of a pin of several bits, in Yosys's way or in nextpnr's, which has one pin for each."""
    if pin in cell.pins:
        return cell.bus(pin, width, default)
    return [cell.net(f"{pin}_{k}", default) for k in range(width)]


def _outputs(cell: Cell, pin: str, width: int) -> list[int | None]:
    if pin in cell.pins:
        return cell.outputs(pin, width)
    return [cell.output(f"{pin}_{k}") for k in range(width)]


def _side(cell: Cell, text: Text, side: str, enable: str) -> tuple[int, str, str, list[Bit]]:
    """A port's mode, the edge of its clock, when it does anything, and its address."""
    mode = cell.number(f"{'WRITE' if side == 'W' else 'READ'}_MODE", 0)
    falls = cell.number(f"NEG_CLK_{side}", 0)
    clock = cell.net(f"{side}CLK", LOW)
    edge = f"{'negedge' if falls else 'posedge'} {text.value(clock)}"
    enables = f"{text.value(cell.net(f'{side}CLKE', '1'))} & {text.value(cell.net(enable, LOW))}"
    # a clock that is none does nothing
    return (
        mode,
        "" if clock in CONSTANTS else edge,
        enables,
        _bus(cell, f"{side}ADDR", ADDRESS_BITS),
    )


def _write(cell: Cell, text: Text, name: str) -> None:
    mode, edge, enables, address = _side(cell, text, "W", "WE")
    data = _bus(cell, "WDATA", WORD)
    mask = _bus(cell, "MASK", WORD)
    if not edge:
        return
    row = text.vector(address[:WORDS_BITS])
    narrow = 1 << mode
    lines = []
    for k in range(WORD):
        first, number = k // narrow * narrow, k % narrow
        value = text.value(data[first + OFFSETS[mode]])
        # a whole word's bits have masks, of narrower words one is written
        when = f"!{text.value(mask[k])}"
        if mode:
            chosen = text.vector(address[WORDS_BITS : WORDS_BITS + mode])
            when = f"{chosen} == {mode}'d{number}"
        lines.append(f"if ({when}) {name}[{row}][{k}] <= {value};")
    text.line(f"always @({edge}) if ({enables}) begin")
    text.lines.extend(lines)
    text.line("end")


def _read(cell: Cell, text: Text, name: str) -> None:
    mode, edge, enables, address = _side(cell, text, "R", "RE")
    outputs = _outputs(cell, "RDATA", WORD)
    out = text.fresh("read")
    text.line(f"reg [{WORD - 1}:0] {out} = 0;")
    narrow = 1 << mode
    offset = OFFSETS[mode]
    for k, bit in enumerate(outputs):
        used = not mode or k % narrow == offset
        text.assign(bit, f"{out}[{k}]" if used else "1'b0")
    if not edge:
        return
    row = text.vector(address[:WORDS_BITS])
    text.line(f"always @({edge}) if ({enables}) begin")
    for first in range(0, WORD, narrow):
        chosen = f"{first}"
        if mode:
            chosen += f" + {text.vector(address[WORDS_BITS : WORDS_BITS + mode])}"
        text.line(f"{out}[{first + offset}] <= {name}[{row}][{chosen}];")
    text.line("end")


LARGE_ADDRESS_BITS = 14
NIBBLE = 4
NEVER = {"STANDBY": "0", "SLEEP": "0", "POWEROFF": "1"}
"""Pins that must not change, with their values."""


def large_memory(cell: Cell, text: Text) -> None:
    """A memory of 256 kbit, which reads or writes."""
    for pin, value in NEVER.items():
        cell.require(pin, value)
    address = text.vector(_bus(cell, "ADDRESS", LARGE_ADDRESS_BITS))
    data = _bus(cell, "DATAIN", WORD)
    mask = _bus(cell, "MASKWREN", WORD // NIBBLE)
    write = text.value(cell.net("WREN", LOW))
    select = text.value(cell.net("CHIPSELECT", LOW))
    clock = text.value(cell.net("CLOCK"))
    name, out = text.fresh("memory"), text.fresh("read")
    text.line(f"reg [{WORD - 1}:0] {name} [0:{(1 << LARGE_ADDRESS_BITS) - 1}];")
    text.line(f"reg [{WORD - 1}:0] {out} = 0;")
    text.line(f"always @(posedge {clock}) if ({select}) begin")
    text.line(f"if (!{write}) {out} <= {name}[{address}];")
    for k, own in enumerate(mask):
        low = NIBBLE * k
        value = text.vector(data[low : low + NIBBLE])
        place = f"{name}[{address}][{low + NIBBLE - 1}:{low}]"
        text.line(f"if ({write} & {text.value(own)}) {place} <= {value};")
    text.line("end")
    for k, bit in enumerate(_outputs(cell, "DATAOUT", WORD)):
        text.assign(bit, f"{out}[{k}]")


FACTOR = 16
ALWAYS_LOW = (
    *("AHOLD", "BHOLD", "CHOLD", "DHOLD", "IRSTTOP", "IRSTBOT", "ORSTTOP", "ORSTBOT"),
    *("OLOADTOP", "OLOADBOT", "ADDSUBTOP", "ADDSUBBOT", "OHOLDTOP", "OHOLDBOT"),
    *("CI", "ACCUMCI", "SIGNEXTIN"),
)
OTHER_WAYS = (
    *("NEG_TRIGGER", "C_REG", "D_REG", "TOP_8x8_MULT_REG", "BOT_8x8_MULT_REG", "MODE_8x8"),
    "PIPELINE_16x16_MULT_REG1",
)
"""Parameters of which no other value than zero has a model."""


def product(cell: Cell, text: Text) -> None:
    """A product of 16 x 16 bits with the registers that :mod:`rbdgen_hw.primitives` asks for."""
    for parameter in OTHER_WAYS:
        if cell.number(parameter, 0):
            raise cell.error(f"{parameter} has no model unless it is 0")
    for half in ("TOP", "BOT"):
        if cell.number(f"{half}OUTPUT_SELECT", 0) != 3:
            raise cell.error(f"{half}OUTPUT_SELECT has no model unless it is 3, the product")
        # what the adder behind it does is not selected
        ways = ("LOWERINPUT", "UPPERINPUT", "CARRYSELECT")
        cell.ignore(*(f"{half}ADDSUB_{way}" for way in ways))
    for pin in ALWAYS_LOW:
        cell.require(pin, "0", "0")
    cell.require("CE", "1", "1")
    # of the adder, which is not selected
    _bus(cell, "C", FACTOR)
    _bus(cell, "D", FACTOR)
    cell.ignore("CO", "ACCUMCO", "SIGNEXTOUT")
    clock = text.value(cell.net("CLK", LOW))
    factors = []
    for side in "AB":
        # one bit more, so that both are signed
        bits = _bus(cell, side, FACTOR)
        sign = bits[-1] if cell.number(f"{side}_SIGNED", 0) else "0"
        value = f"$signed({text.vector([*bits, sign])})"
        factors.append(_stage(cell, text, f"{side}_REG", clock, value, FACTOR + 1))
    whole = f"{factors[0]} * {factors[1]}"
    whole = _stage(cell, text, "PIPELINE_16x16_MULT_REG2", clock, whole, 2 * FACTOR)
    text.assign_vector(_outputs(cell, "O", 2 * FACTOR), whole)


def _stage(cell: Cell, text: Text, register: str, clock: str, value: str, width: int) -> str:
    """A register of the block, if it is there."""
    if cell.number(register, 0):
        return text.clocked(clock, value, width)
    return text.named(value, width)


PLL_RATES = (
    *("FEEDBACK_PATH", "DIVR", "DIVF", "DIVQ", "FILTER_RANGE", "DELAY_ADJUSTMENT_MODE_FEEDBACK"),
    *("DELAY_ADJUSTMENT_MODE_RELATIVE", "FDA_FEEDBACK", "FDA_RELATIVE", "SHIFTREG_DIV_MODE"),
    *("PLLOUT_SELECT", "PLLOUT_SELECT_A", "PLLOUT_SELECT_B", "ENABLE_ICEGATE", "TEST_MODE"),
    *("ENABLE_ICEGATE_PORTA", "ENABLE_ICEGATE_PORTB", "PLLTYPE", "EXTERNAL_DIVIDE_FACTOR"),
    *("DELAY_ADJMODE_FB", "DELAY_ADJMODE_REL", "SHIFTREG_DIVMODE"),
)
"""Parameters that say at what rate, and when."""
PLL_UNUSED = (
    *("EXTFEEDBACK", "LATCHINPUTVALUE", "SDI", "SCLK", "SDO", "REFERENCECLK_IN"),
    *(f"DYNAMICDELAY_{k}" for k in range(8)),
    "DYNAMICDELAY",
)
PLL_SOURCES = ("PACKAGEPIN", "REFERENCECLK")
PLL_OUTPUTS = ("PLLOUTCORE", "PLLOUTGLOBAL", "PLLOUT_A", "PLLOUT_A_GLOBAL")


def pll(cell: Cell, text: Text) -> None:
    """A clock generator, of Yosys's or of nextpnr's, settled while it is not reset."""
    cell.ignore(*PLL_RATES, *PLL_UNUSED, "BYPASS")
    source = next(pin for pin in (*PLL_SOURCES, "") if not pin or cell.has(pin))
    if not source:
        raise cell.error("has no clock to begin with")
    clock = text.value(cell.net(source))
    for pin in PLL_OUTPUTS:
        text.assign(cell.output(pin), clock)
    text.assign(cell.output("LOCK"), text.value(cell.net("RESETB", "1")))


def clock_buffer(cell: Cell) -> list[tuple[int | None, Bit]]:
    """A net that goes everywhere: a clock, an enable or a reset."""
    source = cell.net("USER_SIGNAL_TO_GLOBAL_BUFFER")
    return [(cell.output("GLOBAL_BUFFER_OUTPUT"), source)]


INPUT_PIN, OUTPUT_PIN = 0b000001, 0b011001
"""Types of pads: a plain input, and a plain output."""


def pad(cell: Cell) -> list[tuple[int | None, Bit]]:
    """An input or an output."""
    cell.ignore("PULLUP", "NEG_TRIGGER", "IO_STANDARD")
    kind = cell.number("PIN_TYPE")
    if kind not in (INPUT_PIN, OUTPUT_PIN):
        raise cell.error(f"PIN_TYPE={kind:06b} has no model")
    if kind == INPUT_PIN:
        return [(cell.output("D_IN_0"), cell.net("PACKAGE_PIN"))]
    return [(cell.output("PACKAGE_PIN"), cell.net("D_OUT_0"))]


def _kinds() -> Sequence[str]:
    """Types of registers."""
    how = ("", "SR", "SS", "R", "S")
    return [
        f"SB_DFF{edge}{enable}{own}" for edge in ("", "N") for enable in ("", "E") for own in how
    ]


ICE40 = Models(
    wires={
        "ICESTORM_LC": constant_cell,
        "SB_IO": pad,
        "SB_GB": clock_buffer,
    },
    cells={
        **dict.fromkeys(("SB_PLL40_CORE", "SB_PLL40_PAD", "ICESTORM_PLL"), pll),
        "SB_LUT4": lut4,
        "SB_CARRY": carry,
        **dict.fromkeys(_kinds(), register),
        "SB_RAM40_4K": memory,
        "SB_SPRAM256KA": large_memory,
        "SB_MAC16": product,
        "ICESTORM_LC": logic_cell,
        "ICESTORM_RAM": memory,
        "ICESTORM_SPRAM": large_memory,
        "ICESTORM_DSP": product,
    },
    silent=("$scopeinfo",),
)
