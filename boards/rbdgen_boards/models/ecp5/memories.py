"""ECP5's block memories: 18 kilobits, two ports of up to 18 bits, or one that writes and one that reads up to 36.

Source: Lattice FPGA-TN-02204, "ECP5 and ECP5-5G Memory Usage Guide".
"""

from __future__ import annotations

from dataclasses import replace

from rbdgen_boards.models.cell import Bit, Cell
from rbdgen_boards.models.memory import KEPT, NEW, OLD, Port, units_of, write_memory
from rbdgen_boards.models.text import Text

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
    cell.one_of("RESETMODE", "SYNC", "ASYNC")
    cell.one_of("ASYNC_RESET_RELEASE", "SYNC", "ASYNC")
    widths = [_width(cell, side) for side in "AB"]
    unit = min(*widths, BYTE)
    ports = [_port(cell, side, width, unit) for side, width in zip("AB", widths, strict=True)]
    if WHOLE in widths:
        ports = [replace(ports[0], output=()), replace(ports[1], writes=("0",))]
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
    for pin in (f"CS{side}0", f"CS{side}1", f"CS{side}2", f"RST{side}"):
        if _pin(cell, pin) != "0":
            raise cell.error(f"pin {pin} has no model unless it is always 0")
    # without a register behind it, what enables that does nothing
    _pin(cell, f"OCE{side}")
    address = [_pin(cell, f"AD{side}{k}") for k in range(ADDRESS_BITS)]
    lanes = address[: width // BYTE] if width > BYTE else []
    if lanes and unit < BYTE:
        raise cell.error(f"ports of {width} and {unit} bits have no model")
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
