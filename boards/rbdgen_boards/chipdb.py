"""Delays that nextpnr's database of a device lacks: a copy of the database with them.

The database is one file of little-endian words, as nextpnr's `himbaechel/chipdb.h` declares them: records, pointers
that count bytes from their own place, and slices of records, a pointer and a number. Cells' delays are a list for each
speed grade, sorted by the number of the cell's type, with pins sorted by theirs. Longer lists are written behind the
file's end, and the grades' slices turned to them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from rbdgen.errors import ToolError

MAGIC, VERSION = 0x00CA7CA7, 6
TILE_TYPE, BEL, PIN, WIRE, GRADE, CELL = 40, 36, 12, 48, 32, 12
"""Bytes of a record: type of tile, place for a cell in it, its pin, wire, speed grade, and a cell's delays."""
TILE_TYPES, GRADES, NAMES = 28, 68, 76
"""Where in the first record the slices of types of tiles and of grades are, and the pointer to the names."""
OUTPUT, IS_CLOCK = 1, 1


@dataclass(frozen=True)
class Clocked:
    """A cell with registers at all inputs and outputs: its type is what the place called ``bel`` takes, its ``clock``
    and the ``others`` that have no delays are pins by the beginning of their names; ``setup`` and ``output`` are in
    ns, before the clock and after it."""

    bel: str
    clock: str
    others: tuple[str, ...]
    setup: float
    output: float


def with_delays(database: bytes, cell: Clocked) -> bytes:
    """``database`` with delays of ``cell`` in all speed grades. ToolError for one of another make, or without such a
    place."""
    words = _Database(bytearray(database))
    if (words.at(words.root), words.at(words.root + 4)) != (MAGIC, VERSION):
        raise ToolError(
            f"nextpnr: its database has format {words.at(words.root + 4)}, not {VERSION}; install it with: "
            "pip install 'rbdgen[build]'"
        )
    kind, pins = words.pins(cell.bel)
    clock = next((pin for pin, (name, _) in pins.items() if name.startswith(cell.clock)), None)
    if clock is None:
        raise ToolError(f"nextpnr: {cell.bel} has no pin {cell.clock} in its database; use its version 0.11")
    setup, output = (words.arc(clock, round(1e3 * delay), k) for k, delay in enumerate((cell.setup, cell.output)))
    listed = words.end()
    for pin in sorted(pins):
        name, way = pins[pin]
        timed = pin != clock and not name.startswith(cell.others)
        words.append(pin, IS_CLOCK if pin == clock else 0, 0, 0)
        words.slice(output if way == OUTPUT else setup, int(timed))
    for grade in words.slices(words.root + GRADES, GRADE):
        cells = [(words.at(c), *words.bounds(c + 4)) for c in words.slices(grade + 20, CELL)]
        cells = sorted([*(c for c in cells if c[0] != kind), (kind, listed, len(pins))])
        start = words.end()
        for number, first, count in cells:
            words.append(number)
            words.slice(first, count)
        words.turn(grade + 20, start, len(cells))
    return bytes(words.data)


class _Database:
    """A database's words by their place."""

    def __init__(self, data: bytearray) -> None:
        self.data = data
        self.data.extend(bytes(-len(data) % 4))
        self.root = self.at(0)
        names = self.root + NAMES
        names += self.at(names)
        self.known, (self.names, self.count) = self.at(names), self.bounds(names + 4)

    def at(self, place: int) -> int:
        return struct.unpack_from("<i", self.data, place)[0]

    def bounds(self, place: int) -> tuple[int, int]:
        """Where a slice's records begin, and how many there are."""
        return place + self.at(place), self.at(place + 4)

    def slices(self, place: int, size: int) -> Iterator[int]:
        """Where the records of a slice are."""
        first, count = self.bounds(place)
        return iter(range(first, first + size * count, size))

    def name(self, number: int) -> str:
        """A name by its number; empty for those that nextpnr has in itself."""
        if not self.known <= number < self.known + self.count:
            return ""
        place = self.names + 4 * (number - self.known)
        place += self.at(place)
        return self.data[place : self.data.index(0, place)].decode()

    def pins(self, bel: str) -> tuple[int, dict[int, tuple[str, int]]]:
        """The number of the type of a place for a cell, and by number its pins: their names, as far as their wires are
        called after them, and which way they go."""
        for tile in self.slices(self.root + TILE_TYPES, TILE_TYPE):
            wires, _ = self.bounds(tile + 12)
            for place in self.slices(tile + 4, BEL):
                if self.name(self.at(place)) == bel:
                    found = {}
                    for pin in self.slices(place + 24, PIN):
                        wire = self.name(self.at(wires + WIRE * self.at(pin + 4)))
                        found[self.at(pin)] = wire.removeprefix(bel), self.at(pin + 8)
                    return self.at(place + 4), found
        raise ToolError(f"nextpnr: its database has no {bel}; use its version 0.11")

    def end(self) -> int:
        return len(self.data)

    def append(self, *words: int) -> None:
        self.data.extend(struct.pack(f"<{len(words)}i", *words))

    def slice(self, first: int, count: int) -> None:
        """Append a slice of records elsewhere."""
        self.append(first - self.end() if count else 0, count)

    def turn(self, place: int, first: int, count: int) -> None:
        """Turn a slice to other records."""
        struct.pack_into("<ii", self.data, place, first - place, count)

    def arc(self, clock: int, delay: int, behind: int) -> int:
        """Append a register's delay in ps, before the clock or ``behind`` it, the same for all corners."""
        place = self.end()
        self.append(clock, 0, *[0 if behind else delay] * 4, *[0] * 4, *[delay if behind else 0] * 4)
        return place
