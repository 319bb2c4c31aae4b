"""Gowin's block memories: 16 kilobits in words of up to 32 bits, or 18 in words of up to 36, with one port or two.
nextpnr gives each kind a name of its own.

Sources: Gowin UG300, "Arora V BSRAM & SSRAM User Guide"; UG285, "BSRAM & SSRAM User Guide", for the GW2A.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rbdgen_boards.models.cell import Bit, Cell
from rbdgen_boards.models.memory import KEPT, NEW, OLD, Port, units_of, write_memory
from rbdgen_boards.models.netlist_verilog import Text

SHIFTS = {
    1: 0,
    2: 1,
    4: 2,
    8: 3,
    9: 3,
    16: 4,
    18: 4,
    32: 5,
    36: 5,
}
"""The lowest bit of a port's address, by its width."""
NINES = (9, 18, 36)
"""Widths of words whose bytes have nine bits."""
ADDRESS_BITS = 14
SELECT_BITS = 3
SECOND = 18
"""After packing, the first output of a port that only reads and is narrower than the whole memory."""
OUTPUTS = 36
WHOLE = (32, 36)
MEANWHILE = {
    0: KEPT,
    1: NEW,
    2: OLD,
}
"""A port's output while it writes, by its WRITE_MODE."""
ROWS = 64


@dataclass(frozen=True)
class _Side:
    """A port that reads and writes: the ``letter`` behind its pins, and how its parameters are called."""

    letter: str
    width: str
    select: str
    write_mode: str
    read_mode: str


ONLY = _Side(
    letter="",
    width="BIT_WIDTH",
    select="BLK_SEL",
    write_mode="WRITE_MODE",
    read_mode="READ_MODE",
)
FIRST = _Side(
    letter="A",
    width="BIT_WIDTH_0",
    select="BLK_SEL_0",
    write_mode="WRITE_MODE0",
    read_mode="READ_MODE0",
)
OTHER = _Side(
    letter="B",
    width="BIT_WIDTH_1",
    select="BLK_SEL_1",
    write_mode="WRITE_MODE1",
    read_mode="READ_MODE1",
)
UPPER = replace(ONLY, letter="B")
"""After packing, where the upper half of an only port's words of 32 or 36 bits is."""


def single(cell: Cell, text: Text) -> None:
    """One port: SP, SPX9."""
    # packed cells have a pin for each bit of a bus
    packed = not cell.has("AD")
    if packed and cell.number(ONLY.width) in WHOLE:
        _write_halves(cell, text)
    else:
        _write(cell, text, ONLY)


def double(cell: Cell, text: Text) -> None:
    """Two ports that read and write: DPB, DPX9B, DP after packing."""
    _write(cell, text, FIRST, OTHER)


def _write(cell: Cell, text: Text, *sides: _Side) -> None:
    """A memory whose ports all read and write."""
    unit = _unit(cell, *sides)
    ports = []
    for side in sides:
        width = cell.number(side.width)
        data = _data(cell, f"DI{side.letter}", width)
        output = _outputs(cell, f"DO{side.letter}", width, 0)
        ports.append(_port(cell, side, unit, data, output))
    write_memory(text, _contents(cell, unit), unit, ports)


def _write_halves(cell: Cell, text: Text) -> None:
    """A memory of one port that is packed as two, each of which has half of every word, of 16 or 18 bits, and the bit
    of its address that tells the halves apart."""
    unit = _unit(cell, ONLY)
    width = cell.number(ONLY.width)
    data = _data(cell, "DI", width)
    output = _outputs(cell, "DO", width, 0)
    half = width // 2
    ports = [
        _port(cell, ONLY, unit, data[:half], output[:half]),
        _port(cell, UPPER, unit, data[half:], output[half:]),
    ]
    write_memory(text, _contents(cell, unit), unit, ports)


def _port(
    cell: Cell, side: _Side, unit: int, data: Sequence[Bit], output: Sequence[int | None]
) -> Port:
    """A port that reads and writes words of as many bits as its ``data`` has."""
    letter = side.letter
    width = len(data)
    write_mode = cell.number(side.write_mode)
    _require_no_register(cell, letter, side.read_mode)
    _require_selected(cell, side)
    address = cell.bus(f"AD{letter}", ADDRESS_BITS)
    return Port(
        clock=cell.net(f"CLK{letter}"),
        address=address[SHIFTS[width] :],
        width=width,
        enables=[cell.net(f"CE{letter}")],
        writes=[cell.net(f"WRE{letter}")],
        lanes=_lanes(cell, address, width, unit),
        data=data,
        output=output,
        meanwhile=MEANWHILE[write_mode],
        clear=_clear(cell, f"RESET{letter}"),
    )


def one_way(cell: Cell, text: Text) -> None:
    """A port that writes and one that reads: SDPB, SDPX9B, SDP after packing."""
    unit = _unit(cell, FIRST, OTHER)
    _require_selected(cell, FIRST)
    _require_selected(cell, OTHER)
    packed = not cell.has("DI")
    if packed:
        cell.require("WREA", "1")
        cell.require("RESET", "0", "0")
        cell.ignore("WREB", "OCEB")
    _require_no_register(cell, "", ONLY.read_mode)
    # a GW2A's has one for each port, before packing as well
    both = packed or cell.has("RESETB")
    if both:
        cell.require("RESETA", "0", "0")
    clear = _clear(cell, "RESETB" if both else "RESET")
    width = cell.number(FIRST.width)
    address = cell.bus("ADA", ADDRESS_BITS)
    writer = Port(
        clock=cell.net("CLKA"),
        address=address[SHIFTS[width] :],
        width=width,
        enables=[cell.net("CEA")],
        # a port that only writes does so whenever it is enabled
        writes=["1"],
        lanes=_lanes(cell, address, width, unit),
        data=_data(cell, "DI", width),
    )
    reader = replace(_reader(cell, "B", cell.number(OTHER.width)), clear=clear)
    write_memory(text, _contents(cell, unit), unit, [writer, reader])


def constant(cell: Cell, text: Text) -> None:
    """One port that only reads: pROM, pROMX9, ROM after packing, where it is the second port's."""
    unit = _unit(cell, ONLY)
    packed = not cell.has("AD")
    letter = "B" if packed else ""
    if packed:
        cell.require("WRE", "0")
        cell.require("WREB", "0")
        # pins of the first port, nothing of which is read
        cell.ignore("CEA", "CLK", "CE", "OCE", "RESET", "BLK_SEL")
        for k in range(SELECT_BITS):
            cell.ignore(f"BLKSEL{k}", f"BLKSELB{k}")
        for k in range(ADDRESS_BITS):
            cell.ignore(f"ADA{k}")
    _require_plain(cell, letter, ONLY.read_mode)
    reader = _reader(cell, letter, cell.number(ONLY.width))
    write_memory(text, _contents(cell, unit), unit, [reader])


def _reader(cell: Cell, letter: str, width: int) -> Port:
    """A port that only reads."""
    first = 0 if width in WHOLE else SECOND
    address = cell.bus(f"AD{letter}", ADDRESS_BITS)
    return Port(
        clock=cell.net(f"CLK{letter}"),
        address=address[SHIFTS[width] :],
        width=width,
        enables=[cell.net(f"CE{letter}")],
        output=_outputs(cell, "DO", width, first),
    )


def _clear(cell: Cell, pin: str) -> Bit:
    """The net that makes a port read zero. ToolError where that waits for no clock."""
    clear = cell.net(pin, "0")
    if clear != "0":
        cell.one_of("RESET_MODE", "SYNC")
    return clear


def _require_plain(cell: Cell, letter: str, read_mode: str) -> None:
    """ToolError unless a port has no register behind it, and no reset."""
    _require_no_register(cell, letter, read_mode)
    cell.require(f"RESET{letter}", "0", "0")


def _require_no_register(cell: Cell, letter: str, read_mode: str) -> None:
    """ToolError unless a port has no register behind it. Without it, what enables it does nothing."""
    cell.one_of("RESET_MODE", "SYNC", "ASYNC")
    if cell.number(read_mode, 0):
        raise cell.error(f"{read_mode}=1 has no model")
    cell.net(f"OCE{letter}", "1")


def _require_selected(cell: Cell, side: _Side) -> None:
    """ToolError unless a port is always selected."""
    wanted = cell.number(side.select, 0)
    pin = f"BLKSEL{side.letter}"
    nets = cell.bus(pin, SELECT_BITS)
    for k, net in enumerate(nets):
        bit = wanted >> k & 1
        if net != str(bit):
            raise cell.error(f"{side.select} has no model unless {pin} is always equal to it")


def _unit(cell: Cell, *sides: _Side) -> int:
    """Bits of the words that a memory is modelled of: the narrowest port's, at most a byte."""
    widths = [cell.number(side.width) for side in sides]
    nines = {width in NINES for width in widths}
    known = SHIFTS.keys() >= set(widths)
    if not known or len(nines) > 1:
        raise cell.error(f"words of {' and '.join(map(str, widths))} bits have no model")
    byte = 9 if True in nines else 8
    return min(byte, *widths)


def _contents(cell: Cell, unit: int) -> list[str]:
    """All words of so many bits, the first first."""
    # a row has 32 bytes, of nine bits or of eight
    bits = 288 if unit in NINES else 256
    whole = ""
    for row in range(ROWS):
        contents = cell.number(f"INIT_RAM_{row:02X}", 0)
        whole = f"{contents:0{bits}b}" + whole
    return units_of(whole, unit)


def _lanes(cell: Cell, address: Sequence[Bit], width: int, unit: int) -> Sequence[Bit]:
    """Enables of each byte of a word of several, the lowest bits of its address."""
    byte = 9 if width in NINES else 8
    count = width // byte
    if count < 2:
        return ()
    if unit != byte:
        raise cell.error(f"ports of {width} and {unit} bits have no model")
    return address[:count]


def _data(cell: Cell, pin: str, width: int) -> list[Bit]:
    """Nets that are written. Undefined ones are not written where it matters."""
    if cell.has(pin):
        return cell.bus(pin, width, "0")
    nets = [cell.net(f"{pin}{k}", "0") for k in range(OUTPUTS)]
    return [nets[_number(k, width)] for k in range(width)]


def _outputs(cell: Cell, pin: str, width: int, first: int) -> list[int | None]:
    """Where what is read goes; after packing from the output of number ``first`` on."""
    if cell.has(pin):
        return cell.outputs(pin, width)
    nets = [cell.output(f"{pin}{k}") for k in range(OUTPUTS)]
    found = []
    for k in range(width):
        number = first + _number(k, width)
        found.append(nets[number % OUTPUTS])
    return found


def _number(k: int, width: int) -> int:
    """The number that nextpnr gives a bit of a word: bytes of eight bits stand where those of nine would."""
    skips = width in (16, 32)
    return k + k // 8 if skips else k
