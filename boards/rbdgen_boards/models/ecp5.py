"""Lattice ECP5: models of its cells, before and after nextpnr has packed them. Names of pins after packing are
nextpnr's.

Sources: Lattice FPGA-DS-02012, section 2.2, for logic and registers; FPGA-TN-02204, "ECP5 and ECP5-5G Memory Usage
Guide"; FPGA-TN-02205, "ECP5 and ECP5-5G sysDSP Usage Guide". Time is not simulated: a clock generator passes its clock
on, at whatever rate, and is settled from the beginning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rbdgen_boards.models.cell import CONSTANTS, Bit, Cell
from rbdgen_boards.models.memory import KEPT, NEW, OLD, Port, units_of, write_memory
from rbdgen_boards.models.netlist_verilog import Models, Text

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
    # bit by bit, as nextpnr packs it: both netlists have the same model
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


HIGH = "1"
"""Value of a pin that nothing is connected to."""
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
    """The choice by a pin between what it selects where it is one, and where it is zero."""
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
        # nextpnr leads the read address to D, B, C and A, the lowest bit first
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


SHIFTS = {
    1: 0,
    2: 1,
    4: 2,
    9: 3,
    18: 4,
    36: 5,
}
"""The lowest bit of a port's address, by its width."""
ADDRESS_BITS = 14
BYTE, WHOLE = 9, 36
MEANWHILE = {
    "NORMAL": KEPT,
    "WRITETHROUGH": NEW,
    "READBEFOREWRITE": OLD,
}
ROWS, ROW_WORDS, WORD_BITS, WORD = 64, 16, 20, 18
"""Contents: parameters, words in each, bits between two words, and of a word."""
INVERTED = "INV"


def dp16kd(cell: Cell, text: Text) -> None:
    """A memory of two ports; where one has 36 bits, the first only writes and the second only reads."""
    cell.one_of("GSR", "DISABLED", "AUTO")
    mode = cell.one_of("RESETMODE", "SYNC", "ASYNC")
    cell.one_of("ASYNC_RESET_RELEASE", "SYNC", "ASYNC")
    widths = [_width(cell, side) for side in "AB"]
    unit = min(*widths, BYTE)
    ports = [_port(cell, side, width, unit) for side, width in zip("AB", widths, strict=True)]
    if WHOLE in widths:
        ports = [replace(ports[0], output=()), replace(ports[1], writes=("0",))]
    if mode != "SYNC" and any(port.clear != "0" for port in ports):
        raise cell.error("a reset that waits for no clock has no model")
    write_memory(text, units_of(_contents(cell, unit), unit), unit, ports)


def _width(cell: Cell, side: str) -> int:
    width = cell.number(f"DATA_WIDTH_{side}", WORD)
    if width not in SHIFTS:
        raise cell.error(f"DATA_WIDTH_{side}={width} is not one of {', '.join(map(str, SHIFTS))}")
    return width


def _contents(cell: Cell, unit: int) -> str:
    """All bits, the last first. Units of less than nine bits leave out each ninth."""
    whole = ""
    for row in range(ROWS):
        bits = f"{cell.number(f'INITVAL_{row:02X}', 0):0{ROW_WORDS * WORD_BITS}b}"
        for word in range(ROW_WORDS):
            end = len(bits) - word * WORD_BITS
            whole = bits[end - WORD : end] + whole
    if unit == BYTE:
        return whole
    return "".join(whole[k + 1 : k + 9] for k in range(0, len(whole), 9))


def _port(cell: Cell, side: str, width: int, unit: int) -> Port:
    cell.one_of(f"REGMODE_{side}", "NOREG")
    cell.one_of(f"CSDECODE_{side}", "0b000")
    meanwhile = cell.one_of(f"WRITEMODE_{side}", *MEANWHILE)
    for pin in (f"CS{side}0", f"CS{side}1", f"CS{side}2"):
        if _pin(cell, pin) != "0":
            raise cell.error(f"pin {pin} has no model unless it is always 0")
    # without a register behind it, what enables that does nothing
    _pin(cell, f"OCE{side}")
    address = [_pin(cell, f"AD{side}{k}") for k in range(ADDRESS_BITS)]
    # a wide port does not need its lowest address bits, which enable bytes there
    lanes = address[: width // BYTE] if width > BYTE else []
    if lanes and unit < BYTE:
        raise cell.error(f"ports of {width} and {unit} bits have no model")
    # 36 bits come by the data pins of both ports
    sides = "AB" if width == WHOLE else side
    data = [_pin(cell, f"DI{letter}{k}", "0") for letter in sides for k in range(WORD)]
    output = [cell.output(f"DO{letter}{k}") for letter in sides for k in range(WORD)]
    return Port(
        clock=_pin(cell, f"CLK{side}"),
        address=address[SHIFTS[width] :],
        width=width,
        enables=[_pin(cell, f"CE{side}")],
        writes=[_pin(cell, f"WE{side}")],
        lanes=lanes,
        data=data[:width],
        output=output[:width],
        meanwhile=MEANWHILE[meanwhile],
        # not gated by what enables the port
        clear=_pin(cell, f"RST{side}"),
    )


def _pin(cell: Cell, pin: str, undefined: str = "1") -> Bit:
    """The net at a pin; nextpnr may have made a constant of it, and an inverted one of what is open is zero."""
    how = cell.one_of(f"{pin}MUX", pin, "0", "1", INVERTED)
    if how in ("0", "1"):
        return how
    net = cell.net(pin, undefined)
    if how != INVERTED:
        return net
    if net not in ("0", "1"):
        raise cell.error(f"pin {pin} is inverted, which has no model")
    return "0" if net == "1" else "1"


WIDTH = 18
UNUSED = ("C", "SRIA", "SRIB")
"""Operands that only other modes have."""


def mult18x18d(cell: Cell, text: Text) -> None:
    """A signed product with the registers that :mod:`rbdgen_hw.primitives` asks for."""
    cell.one_of("GSR", "DISABLED")
    cell.one_of("RESETMODE", "SYNC")
    for pin in ("SIGNEDA", "SIGNEDB"):
        cell.require(pin, "1")
    for pin in ("SOURCEA", "SOURCEB", "RST0"):
        cell.require(pin, "0", "0")
    cell.require("CE0", "1", "1")
    # no register that has a model is clocked by these
    for other in range(1, 4):
        cell.ignore(f"CLK{other}", f"CE{other}", f"RST{other}")
    clock = text.value(cell.net("CLK0"))
    operands = []
    for side in ("A", "B"):
        bits = [_operand(cell, f"{side}{k}") for k in range(WIDTH)]
        value = f"$signed({text.vector(bits)})"
        operands.append(_stage(cell, text, f"REG_INPUT{side}", clock, value, WIDTH))
    product = f"{operands[0]} * {operands[1]}"
    for register in ("REG_PIPELINE", "REG_OUTPUT"):
        product = _stage(cell, text, register, clock, product, 2 * WIDTH)
    text.assign_vector([cell.output(f"P{k}") for k in range(2 * WIDTH)], product)


def _operand(cell: Cell, pin: str) -> Bit:
    """A bit of an operand, which nextpnr may have made a constant."""
    constant = cell.one_of(f"{pin}MUX", pin, "0", "1")
    if constant == pin:
        return cell.net(pin)
    if cell.has(pin):
        raise cell.error(f"pin {pin} is connected and constant")
    return constant


def _stage(cell: Cell, text: Text, register: str, clock: str, value: str, width: int) -> str:
    """A register of the block, if it is there."""
    cell.one_of(f"{register}_CE", "CE0")
    cell.one_of(f"{register}_RST", "RST0")
    if cell.one_of(f"{register}_CLK", "NONE", "CLK0") == "NONE":
        return text.named(value, width)
    return text.clocked(clock, value, width)


PLL_STATIC = (
    "RST",
    "STDBY",
    "PHASESEL0",
    "PHASESEL1",
    "PHASEDIR",
    "PHASESTEP",
    "PHASELOADREG",
    "PLLWAKESYNC",
    "ENCLKOP",
)
"""Pins that must not change."""
PLL_RATES = (
    "CLKFB_DIV",
    "CLKI_DIV",
    "CLKOP_CPHASE",
    "CLKOP_DIV",
    "CLKOP_FPHASE",
    "PLLRST_ENA",
    "DPHASE_SOURCE",
    "INTFB_WAKE",
    "STDBY_ENABLE",
    "OUTDIVIDER_MUXA",
    "OUTDIVIDER_MUXB",
    "OUTDIVIDER_MUXC",
    "OUTDIVIDER_MUXD",
)
"""Parameters that say at what rate, and when."""


def pll(cell: Cell) -> list[tuple[int | None, Bit]]:
    """A clock generator with one output, which is fed back."""
    cell.one_of("FEEDBK_PATH", "CLKOP")
    cell.one_of("CLKOP_ENABLE", "ENABLED")
    cell.ignore(*PLL_RATES, "CLKFB")
    for pin in PLL_STATIC:
        if cell.net(pin, "0") not in CONSTANTS:
            raise cell.error(f"pin {pin} has no model unless it is constant")
    return [(cell.output("CLKOP"), cell.net("CLKI")), (cell.output("LOCK"), "1")]


def clock_buffer(cell: Cell) -> list[tuple[int | None, Bit]]:
    """A buffer of a clock, always enabled."""
    cell.require("CE", "1", "1")
    return [(cell.output("CLKO"), cell.net("CLKI"))]


def pad(cell: Cell) -> list[tuple[int | None, Bit]]:
    """An input or an output."""
    cell.ignore("DATAMUX_MDDR")
    source = cell.one_of("DATAMUX_ODDR", "PADDO", "IOLDO")
    if cell.one_of("DIR", "INPUT", "OUTPUT") == "INPUT":
        return [(cell.output("O"), cell.net("B"))]
    cell.require("T", "0", "0")
    return [(cell.output("B"), cell.net("IOLDO" if source == "IOLDO" else "I"))]


def delay(cell: Cell) -> list[tuple[int | None, Bit]]:
    """A delay of a pad, which is no time here."""
    cell.ignore("DEL_MODE", "DEL_VALUE")
    return [(cell.output("Z"), cell.net("A"))]


def _both_edges_in(text: Text, clock: str, data: str, outputs: Sequence[int | None]) -> None:
    """What a pad had at a rising edge, and at the falling one behind it, from the next rising one on."""
    for edge, output in zip(("posedge", "negedge"), outputs, strict=True):
        first = text.fresh("edge")
        text.line(f"reg {first} = 1'b0;")
        text.line(f"always @({edge} {clock}) {first} <= {data};")
        text.register(output, f"posedge {clock}", first)


def _both_edges_out(text: Text, clock: str, data: Sequence[str], output: int | None) -> None:
    """What a pad has while the clock is high, and while it is low."""
    names = []
    for value in data:
        name = text.fresh("edge")
        text.line(f"reg {name} = 1'b0;")
        text.line(f"always @(posedge {clock}) {name} <= {value};")
        names.append(name)
    text.assign(output, f"({clock} ? {names[0]} : {names[1]})")


def iddrx1f(cell: Cell, text: Text) -> None:
    """A pad that is read at both edges of a clock, of Yosys's netlist."""
    cell.require("RST", "0", "0")
    clock, data = text.value(cell.net("SCLK")), text.value(cell.net("D"))
    _both_edges_in(text, clock, data, (cell.output("Q0"), cell.output("Q1")))


def oddrx1f(cell: Cell, text: Text) -> None:
    """A pad that is driven at both edges of a clock, of Yosys's netlist."""
    cell.require("RST", "0", "0")
    clock = text.value(cell.net("SCLK"))
    data = [text.value(cell.net(pin)) for pin in ("D0", "D1")]
    _both_edges_out(text, clock, data, cell.output("Q"))


def pad_logic(cell: Cell, text: Text) -> None:
    """The same of nextpnr's netlist, in which both are one cell; what comes passes through the cell's delay before."""
    cell.one_of("MODE", "IDDRX1_ODDRX1")
    for edge in ("CLKIMUX", "CLKOMUX"):
        cell.one_of(edge, "CLK")
    cell.require("LSR", "0", "0")
    cell.ignore(*PAD_LOGIC, "DIRECTION", "MOVE", "LOADN")
    clock = text.value(cell.net("CLK"))
    if cell.has("IOLDO"):
        data = [text.value(cell.net(pin)) for pin in ("TXDATA0", "TXDATA1")]
        _both_edges_out(text, clock, data, cell.output("IOLDO"))
        return
    text.assign(cell.output("INDD"), text.value(cell.net("PADDI")))
    outputs = cell.output("RXDATA0"), cell.output("RXDATA1")
    _both_edges_in(text, clock, text.value(cell.net("DI")), outputs)


PAD_LOGIC = (
    *("DELAY.DEL_VALUE", "DELAY.OUTDEL", "DELAY.WAIT_FOR_EDGE", "GSR"),
    *("LSRMUX", "LSRIMUX", "LSROMUX", "IOLTOMUX", "MTDDRX.REGSET", "MTDDRX.DQSW_INVERT"),
    *("MTDDRX.MODE", "MODDRX.MODE", "MIDDRX.MODE", "ODDRXN.MODE", "IDDRXN.MODE"),
    "MIDDRX_MODDRX.WRCLKMUX",
)
"""Parameters of a pad's cell that say how long it delays, and of modes that it is not in."""


def register(cell: Cell, text: Text) -> None:
    """Of Yosys's netlist or nextpnr's, where ``SD`` says whether the input comes from the table beside it."""
    # no cell drives the global reset: one would have no model
    cell.one_of("GSR", "DISABLED", "ENABLED")
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


ECP5 = Models(
    wires={
        "LUT4": constant_lut4,
        "TRELLIS_COMB": constant_comb,
        "TRELLIS_RAMW": writer,
        "TRELLIS_IO": pad,
        "DCCA": clock_buffer,
        "EHXPLLL": pll,
        "DELAYG": delay,
    },
    cells={
        "LUT4": lut4,
        "PFUMX": pfumx,
        "L6MUX21": l6mux21,
        "CCU2C": ccu2c,
        "TRELLIS_COMB": comb,
        "TRELLIS_DPR16X4": distributed,
        "TRELLIS_FF": register,
        "IDDRX1F": iddrx1f,
        "ODDRX1F": oddrx1f,
        "IOLOGIC": pad_logic,
        "SIOLOGIC": pad_logic,
        "DP16KD": dp16kd,
        "MULT18X18D": mult18x18d,
    },
    silent=("$scopeinfo",),
)
