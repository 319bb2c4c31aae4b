"""The GW5AST-138's delays, with their sources, and a copy of nextpnr's database with those that it lacks.

nextpnr's analysis ends at cells that it has no delays of. Two kinds of time are told apart. nextpnr has the time of
its table (:data:`Filed`): it aims at clocks and writes delays in that. Whatever a build says is in the time of the
part's speed grade. A longer time of all in nextpnr's table would not do: what its placer and router expect of wires
that are not yet there are numbers of its own.

The database is one file of little-endian words, as nextpnr's `himbaechel/chipdb.h` declares them: records, pointers
that count bytes from where they stand, and slices of records, a pointer and a number. Cells' delays are a list for each
speed grade, sorted by the number of the cell's type, with pins sorted by theirs. Longer lists are written behind the
file's end, and the grades' slices directed to them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NewType

from rbdgen.devices.gw5a import DERATING, MULTIPLIER_OUTPUT, MULTIPLIER_SETUP
from rbdgen.errors import ToolError
from rbdgen.installation import remedy
from rbdgen_boards.flow import Assumption
from rbdgen_boards.gowin.paths import Delays, Supplement, paths_through

MAGIC, VERSION = 0x00CA7CA7, 6
TILE_TYPE, BEL, PIN, WIRE, GRADE, CELL = 40, 36, 12, 48, 32, 12
"""Bytes of a record: type of tile, place for a cell in it, its pin, wire, speed grade, and a cell's delays."""
TILE_TYPES, GRADES, NAMES = 28, 68, 76
"""Where in the first record the slices of types of tiles and of grades are, and the pointer to the names."""
OUTPUT, IS_CLOCK = 1, 1
CORNERS = 4
"""A delay is the least and the most of a fast device, and of a slow one."""


@dataclass(frozen=True)
class Clocked:
    """A cell with registers at all inputs and outputs: its type is what the place called ``bel`` takes, its ``clock``
    and the ``others`` that have no delays are pins by the beginning of their names; ``setup`` and ``output`` are in
    ns, before the clock and after it, in the time of the database."""

    bel: str
    clock: str
    others: tuple[str, ...]
    setup: float
    output: float


def with_delays(database: bytes, cell: Clocked) -> bytes:
    """``database`` with delays of ``cell`` in all speed grades. ToolError for one of another make, or without such a
    place."""
    words = _Database(bytearray(database))
    magic = words.at(words.root)
    version = words.at(words.root + 4)
    # all offsets here are those of one version
    if (magic, version) != (MAGIC, VERSION):
        raise ToolError(
            f"nextpnr: its database has format {version}, not {VERSION}; {remedy('build')}"
        )
    kind, pins = words.pins(cell.bel)
    listed = _append_pins(words, cell, pins)
    for grade in words.slices(words.root + GRADES, GRADE):
        _append_cell(words, grade + 20, (kind, listed, len(pins)))
    return bytes(words.data)


def _append_pins(words: _Database, cell: Clocked, pins: dict[int, _Pin]) -> int:
    """Write the delays of a cell's pins behind the end, and say where."""
    clocks = [number for number, pin in pins.items() if pin.name.startswith(cell.clock)]
    if not clocks:
        raise ToolError(
            f"nextpnr: {cell.bel} has no pin {cell.clock} in its database; use its version 0.11"
        )
    clock = clocks[0]
    setup = words.arc(clock, round(1e3 * cell.setup), behind=False)
    output = words.arc(clock, round(1e3 * cell.output), behind=True)
    listed = words.end()
    for number in sorted(pins):
        pin = pins[number]
        timed = number != clock and not pin.name.startswith(cell.others)
        # no delays from pin to pin: there is a register at each
        words.append(number, IS_CLOCK if number == clock else 0, 0, 0)
        words.slice(output if pin.direction == OUTPUT else setup, int(timed))
    return listed


def _append_cell(words: _Database, grade: int, entry: tuple[int, int, int]) -> None:
    """Write a speed grade's list of cells behind the end, with ``entry``: the number of the type of a cell, where its
    pins are, and how many. ``grade`` is the offset of the slice that is directed to the new list."""
    cells = [entry]
    for offset in words.slices(grade, CELL):
        kind = words.at(offset)
        if kind != entry[0]:
            first, count = words.bounds(offset + 4)
            cells.append((kind, first, count))
    # nextpnr finds them by bisection
    cells.sort()
    start = words.end()
    for kind, first, count in cells:
        words.append(kind)
        words.slice(first, count)
    words.direct(grade, start, len(cells))


@dataclass(frozen=True)
class _Pin:
    """A pin's name, as far as its wire is called after it, and its direction."""

    name: str
    direction: int


class _Database:
    """A database's words by their offset."""

    def __init__(self, data: bytearray) -> None:
        self.data = data
        # what is written behind the end begins at a whole word
        self.data.extend(bytes(-len(data) % 4))
        # a pointer counts from where it stands, which is 0 here
        self.root = self.at(0)
        names = self.root + NAMES
        names += self.at(names)
        self.known = self.at(names)
        self.names, self.count = self.bounds(names + 4)

    def at(self, offset: int) -> int:
        return struct.unpack_from("<i", self.data, offset)[0]

    def bounds(self, offset: int) -> tuple[int, int]:
        """Where a slice's records begin, and how many there are."""
        return offset + self.at(offset), self.at(offset + 4)

    def slices(self, offset: int, size: int) -> Iterator[int]:
        """Where the records of a slice are."""
        first, count = self.bounds(offset)
        return iter(range(first, first + size * count, size))

    def name(self, number: int) -> str:
        """A name by its number; empty for those that nextpnr has in itself."""
        if not self.known <= number < self.known + self.count:
            return ""
        offset = self.names + 4 * (number - self.known)
        offset += self.at(offset)
        return self.data[offset : self.data.index(0, offset)].decode()

    def pins(self, bel: str) -> tuple[int, dict[int, _Pin]]:
        """The number of the type of a place for a cell, and its pins by number."""
        for tile in self.slices(self.root + TILE_TYPES, TILE_TYPE):
            for offset in self.slices(tile + 4, BEL):
                if self.name(self.at(offset)) == bel:
                    return self.at(offset + 4), self._pins(tile, offset, bel)
        raise ToolError(f"nextpnr: its database has no {bel}; use its version 0.11")

    def _pins(self, tile: int, offset: int, bel: str) -> dict[int, _Pin]:
        """The pins of the place of a tile of which ``bel`` is the name."""
        wires, _ = self.bounds(tile + 12)
        found = {}
        for pin in self.slices(offset + 24, PIN):
            wire = self.name(self.at(wires + WIRE * self.at(pin + 4)))
            found[self.at(pin)] = _Pin(wire.removeprefix(bel), self.at(pin + 8))
        return found

    def end(self) -> int:
        return len(self.data)

    def append(self, *words: int) -> None:
        self.data.extend(struct.pack(f"<{len(words)}i", *words))

    def slice(self, first: int, count: int) -> None:
        """Append a slice of records elsewhere."""
        self.append(first - self.end() if count else 0, count)

    def direct(self, offset: int, first: int, count: int) -> None:
        """Direct a slice to other records."""
        struct.pack_into("<ii", self.data, offset, first - offset, count)

    def arc(self, clock: int, delay: int, behind: bool) -> int:
        """Append a register's delay in ps, before the clock or ``behind`` it, the same for all corners."""
        offset = self.end()
        setup, output = (0, delay) if behind else (delay, 0)
        hold = 0
        self.append(clock, 0)
        self.append(*[setup] * CORNERS)
        self.append(*[hold] * CORNERS)
        self.append(*[output] * CORNERS)
        return offset


Filed = NewType("Filed", float)
"""A delay in ns by nextpnr's table."""


def real(delay: Filed) -> float:
    """A delay of the part, in ns."""
    return delay * DERATING


def filed(ns: float) -> Filed:
    """A delay of the part as nextpnr's table would have it."""
    return Filed(ns / DERATING)


MULTIPLIER = Clocked(
    "MULTALU27X1800",
    "CLK0",
    ("CLK", "CE", "RESET"),
    setup=filed(MULTIPLIER_SETUP),
    output=filed(MULTIPLIER_OUTPUT),
)
"""Of multipliers nextpnr is told, so that it places them by what their paths need."""
MEMORY = Filed(2.26), Filed(0.44)
"""Behind a memory's clock and before it: apycula's ``clk_do_bypass``, and ``clka_reseta_set``, the longest of its kind.
"""
LUT4 = {"I0": Filed(0.549), "I1": Filed(0.57), "I2": Filed(0.462), "I3": Filed(0.371)}
"""A look-up table by input, as apycula has it; of those that nextpnr adds on the way into a register it writes none."""
LEAST = {
    ("CLK", "Q"): 0.382,
    ("D", "CLK"): 0.064,
    ("CE", "CLK"): 0.311,
    ("SET", "CLK"): 0.347,
    ("RESET", "CLK"): 0.347,
    ("CIN", "COUT"): 0.05,
}
"""Delays that are longer on this part than derated ones, in ns: those of registers, and of sums from bit to bit, as
Gowin's own analysis of a design for it prints them (version 1.9.10, GW5AST-LV138FPG676AC1/I0, slow model, 0.855 V and
0 °C; reports in sipeed/TangMega-138KPro-example, ``sfp+/customized_phy/10.3125G/impl/pnr``). For a set or reset with
the clock it is that of a clear. Of look-up tables the same reports have up to 0.579 ns, where a derated one takes
0.712 ns."""
MULTIPLIERS, MEMORIES = ("MULTALU27X18", "MULT18X18"), ("SP", "SDP", "DP", "ROM")
"""Their types of cells."""
KNOWN = Supplement(
    {"LUT4": {pin: real(delay) for pin, delay in LUT4.items()}},
    {
        **dict.fromkeys(MULTIPLIERS, (MULTIPLIER_OUTPUT, MULTIPLIER_SETUP)),
        **dict.fromkeys(MEMORIES, (real(MEMORY[0]), real(MEMORY[1]))),
    },
    LEAST,
)
"""Delays that are known beside a file of nextpnr's, and multipliers', for where it has not been told of them."""
DERATED = "derating"
"""In a report: how much longer its times are than nextpnr's."""


def derated_report(report: dict[str, Any], derating: float = DERATING) -> dict[str, Any]:
    """nextpnr's ``report`` in the time of the part, which takes so many times as long. ValueError for one that is."""
    if DERATED in report:
        raise ValueError("report: must be in nextpnr's time, is in the part's")
    clocks = {}
    for name, clock in report["fmax"].items():
        clocks[name] = {key: megahertz / derating for key, megahertz in clock.items()}
    paths = []
    for path in report["critical_paths"]:
        steps = [step | {"delay": step["delay"] * derating} for step in path["path"]]
        paths.append(path | {"path": steps})
    return report | {DERATED: derating, "fmax": clocks, "critical_paths": paths}


def assumptions(delays: Delays) -> tuple[Assumption, ...]:
    """Assumptions that the clock of a design with these ``delays`` rests on."""
    output, setup = (real(delay) for delay in MEMORY)
    multipliers = paths_through(delays, MULTIPLIERS)
    memories = paths_through(delays, MEMORIES)
    return (
        Assumption(
            "multiplier blocks",
            f"{MULTIPLIER_OUTPUT:g} ns behind their clock, {MULTIPLIER_SETUP:g} ns before it",
            "a guess: nothing is published",
            *_rounded(*multipliers),
        ),
        Assumption(
            "block memories",
            f"{output:.2f} ns behind their clock, {setup:.2f} ns before it",
            f"apycula's table, {DERATING:g} times as long; nextpnr does not time them",
            *_rounded(*memories),
        ),
        Assumption(
            "speed grade",
            f"{DERATING:g} times the delays of the table that nextpnr times by",
            "Gowin's data sheet DS1239E: C1/I0 beside C2/I1, which the table agrees with",
        ),
        Assumption(
            "registers",
            f"clock to output not under {LEAST['CLK', 'Q']:g} ns, enable {LEAST['CE', 'CLK']:g} ns before the clock",
            "reports of Gowin's own analysis of a design for this part",
        ),
        Assumption(
            "clock network",
            "the clock comes to all registers at once, without jitter",
            "neither nextpnr nor apycula's table counts more",
        ),
    )


def _rounded(registers: int, slowest: float) -> tuple[int, float]:
    return registers, round(slowest, 3)
