"""Gowin GW5A's block memories: 16 kilobits in words of up to 32 bits, or 18 in words of up to 36, with one port or two.
nextpnr gives each kind a name of its own.

Source: Gowin UG300, "Arora V BSRAM & SSRAM User Guide".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rbdgen_boards.models.cell import Bit, Cell
from rbdgen_boards.models.memory import KEPT, NEW, OLD, Port, units_of, write_memory
from rbdgen_boards.models.text import Text

SHIFTS = {1: 0, 2: 1, 4: 2, 8: 3, 9: 3, 16: 4, 18: 4, 32: 5, 36: 5}
"""The lowest bit of a port's address, by its width."""
NINES = (9, 18, 36)
"""Widths of words whose bytes have nine bits."""
ADDRESS_BITS = 14
SECOND = 18
"""After packing, the first output of a port that only reads and is narrower than the whole memory."""
OUTPUTS = 36
WHOLE = (32, 36)
MEANWHILE = {0: KEPT, 1: NEW, 2: OLD}
"""What a port reads while it writes, by its WRITE_MODE."""
ROWS = 64


def single(cell: Cell, text: Text) -> None:
    """One port: SP, SPX9."""
    if cell.number("BIT_WIDTH") in WHOLE and not cell.has("AD"):
        raise cell.error("words of 32 and 36 bits have no model after packing")
    _select(cell, "", "BLK_SEL")
    _write(cell, text, {"": cell.number("BIT_WIDTH")}, {"": "WRITE_MODE"}, {"": "READ_MODE"})


def double(cell: Cell, text: Text) -> None:
    """Two ports that read and write: DPB, DPX9B, DP after packing."""
    widths = {"A": cell.number("BIT_WIDTH_0"), "B": cell.number("BIT_WIDTH_1")}
    for k, side in enumerate(widths):
        _select(cell, side, f"BLK_SEL_{k}")
    write_modes = {"A": "WRITE_MODE0", "B": "WRITE_MODE1"}
    _write(cell, text, widths, write_modes, {"A": "READ_MODE0", "B": "READ_MODE1"})


def _write(
    cell: Cell,
    text: Text,
    widths: Mapping[str, int],
    write_modes: Mapping[str, str],
    read_modes: Mapping[str, str],
) -> None:
    """A memory whose ports, by the letter behind their pins, read and write."""
    unit = _unit(cell, widths.values())
    ports = []
    for side, width in widths.items():
        _plain(cell, side, read_modes[side])
        address = cell.bus(f"AD{side}", ADDRESS_BITS)
        port = Port(
            clock=cell.net(f"CLK{side}"),
            address=address[SHIFTS[width] :],
            width=width,
            enables=[cell.net(f"CE{side}")],
            writes=[cell.net(f"WRE{side}")],
            lanes=_lanes(cell, address, width, unit),
            data=_data(cell, f"DI{side}", width),
            output=_outputs(cell, f"DO{side}", width, 0),
            meanwhile=MEANWHILE[cell.number(write_modes[side])],
        )
        ports.append(port)
    write_memory(text, units_of(_contents(cell, unit), unit), unit, ports)


def one_way(cell: Cell, text: Text) -> None:
    """A port that writes and one that reads: SDPB, SDPX9B, SDP after packing."""
    widths = {"A": cell.number("BIT_WIDTH_0"), "B": cell.number("BIT_WIDTH_1")}
    unit = _unit(cell, widths.values())
    for k, side in enumerate(widths):
        _select(cell, side, f"BLK_SEL_{k}")
    if not cell.has("DI"):
        cell.require("WREA", "1")
        cell.ignore("WREB", "OCEB")
        cell.require("RESETB", "0", "0")
    _plain(cell, "", "READ_MODE")
    addresses = {side: cell.bus(f"AD{side}", ADDRESS_BITS) for side in widths}
    width = widths["A"]
    writer = Port(
        clock=cell.net("CLKA"),
        address=addresses["A"][SHIFTS[width] :],
        width=width,
        enables=[cell.net("CEA")],
        writes=["1"],
        lanes=_lanes(cell, addresses["A"], width, unit),
        data=_data(cell, "DI", width),
    )
    width = widths["B"]
    reader = Port(
        clock=cell.net("CLKB"),
        address=addresses["B"][SHIFTS[width] :],
        width=width,
        enables=[cell.net("CEB")],
        output=_outputs(cell, "DO", width, 0 if width in WHOLE else SECOND),
    )
    write_memory(text, units_of(_contents(cell, unit), unit), unit, [writer, reader])


def constant(cell: Cell, text: Text) -> None:
    """One port that only reads: pROM, pROMX9, ROM after packing, where it is the second port's."""
    width = cell.number("BIT_WIDTH")
    side = "" if cell.has("AD") else "B"
    unit = _unit(cell, [width])
    if side:
        cell.ignore("BLK_SEL", *(f"BLKSEL{letter}{k}" for letter in ("", "B") for k in range(3)))
        for pin in ("WRE", "WREB"):
            cell.require(pin, "0")
        cell.ignore("CEA", "CLK", "CE", "OCE", "RESET", *(f"ADA{k}" for k in range(ADDRESS_BITS)))
    _plain(cell, side, "READ_MODE")
    port = Port(
        clock=cell.net(f"CLK{side}"),
        address=cell.bus(f"AD{side}", ADDRESS_BITS)[SHIFTS[width] :],
        width=width,
        enables=[cell.net(f"CE{side}")],
        output=_outputs(cell, "DO", width, 0 if width in WHOLE else SECOND),
    )
    write_memory(text, units_of(_contents(cell, unit), unit), unit, [port])


def _plain(cell: Cell, side: str, read_mode: str) -> None:
    """ToolError unless a port has no register behind it, and no reset. Without the register, what enables it does
    nothing."""
    cell.one_of("RESET_MODE", "SYNC", "ASYNC")
    if cell.number(read_mode, 0):
        raise cell.error(f"{read_mode}=1 has no model")
    cell.require(f"RESET{side}", "0", "0")
    cell.bus(f"OCE{side}", 1, "1")


def _select(cell: Cell, side: str, parameter: str) -> None:
    """ToolError unless a port is always selected."""
    wanted = cell.number(parameter, 0)
    for k, net in enumerate(cell.bus(f"BLKSEL{side}", 3)):
        if net != str(wanted >> k & 1):
            raise cell.error(f"{parameter} has no model unless BLKSEL{side} is always equal to it")


def _unit(cell: Cell, widths: Iterable[int]) -> int:
    """Bits of the words that a memory is modelled of: the narrowest port's, at most a byte."""
    known = sorted(widths)
    nines = {width in NINES for width in known}
    if known[0] not in SHIFTS or known[-1] not in SHIFTS or len(nines) > 1:
        raise cell.error(f"words of {' and '.join(map(str, known))} bits have no model")
    return min(known[0], 9 if True in nines else 8)


def _contents(cell: Cell, unit: int) -> str:
    """All bits, the last first."""
    bits = 288 if unit in NINES else 256
    rows = [f"{cell.number(f'INIT_RAM_{row:02X}', 0):0{bits}b}" for row in range(ROWS)]
    return "".join(reversed(rows))


def _lanes(cell: Cell, address: Sequence[Bit], width: int, unit: int) -> Sequence[Bit]:
    """What enables each byte of a word of several, the lowest bits of its address."""
    bytes_of_word = width // (9 if width in NINES else 8)
    if bytes_of_word < 2:
        return ()
    if unit not in (8, 9):
        raise cell.error(f"ports of {width} and {unit} bits have no model")
    return address[:bytes_of_word]


def _data(cell: Cell, pin: str, width: int) -> list[Bit]:
    """What is written. What is undefined there, is not written where it matters."""
    if cell.has(pin):
        return cell.bus(pin, width, "0")
    data = {k: cell.net(f"{pin}{k}", "0") for k in range(OUTPUTS)}
    return [data[_number(k, width)] for k in range(width)]


def _outputs(cell: Cell, pin: str, width: int, first: int) -> list[int | None]:
    """Where what is read goes; after packing from the output of number ``first`` on."""
    if cell.has(pin):
        return cell.outputs(pin, width)
    outputs = [cell.output(f"{pin}{k}") for k in range(OUTPUTS)]
    return [outputs[(first + _number(k, width)) % OUTPUTS] for k in range(width)]


def _number(k: int, width: int) -> int:
    """The number that nextpnr gives a bit of a word: bytes of eight bits stand where those of nine would."""
    return k + k // 8 if width in (16, 32) else k
