"""A placement that nextpnr made of a Gowin design, with registers beside the sums that they keep.

A register's input is the output of the look-up table or the sum in its own place; what comes from elsewhere goes
through a table there. nextpnr keeps a table and its register together, but a sum and its register only by chance: a
wire, a table and most of a nanosecond between the two, for each bit. Here such registers move. nextpnr then reads the
placement back as a design that is packed and all of whose cells have their places, and routes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

PLACE = re.compile(r"X(\d+)Y(\d+)/(ALU|DFF)(\d)")
"""nextpnr's name of a place for a sum or a register: column, row, kind, and number in its tile."""
GROUPS = ((0, 1), (2, 3), (4, 5, 6, 7))
"""Registers of a tile that have clock, enable and reset in common, by number."""
ALIKE = ({"DFFS", "DFFR"}, {"DFFSE", "DFFRE"})
"""Types that may be in a group beside each other; all others only beside their own."""
FIRST = "~"
"""Before sums' names: nextpnr puts cells in their places in the order of their names, the last one first, and a
register may only come into a tile of sums when they are there."""
THROUGH = "_passthrough_lut$"
"""How names of tables end that nextpnr adds where a register's input comes from elsewhere."""
AIDS = ("BLOCKER_LUT", "BLOCKER_FF", "DUMMY_CELL")
"""Types of cells with which nextpnr keeps places free while it places others."""
FAR = 20
"""Tiles from a register to its sum from which on it stays where it is: near to what reads it, it seems."""
NOWHERE = "NEXTPNR_BEL"
STRENGTH = "BEL_STRENGTH"

Cells = dict[str, Any]


def registers_to_sums(design: dict[str, Any]) -> int:
    """Move registers of ``design``, nextpnr's JSON of a placed design, and make of it what nextpnr reads without
    packing it again. How many there were to move."""
    (module,) = design["modules"].values()
    _undo_ways_through(module)
    cells: Cells = {n: c for n, c in module["cells"].items() if c["type"] not in AIDS}
    for cell in cells.values():
        attributes = cell["attributes"]
        attributes.pop(STRENGTH, None)
        if place := attributes.pop(NOWHERE, None):
            attributes["BEL"] = place
    moved = _move(cells)
    module["cells"] = {FIRST + name if cell["type"] == "ALU" else name: cell for name, cell in cells.items()}
    # ports would become pads once more, and settings are the command's
    module["ports"], module["settings"] = {}, {}
    return moved


def _undo_ways_through(module: dict[str, Any]) -> None:
    """Take the tables out that nextpnr added before registers; it adds them again where they are still needed. (One
    without an input is a constant.)"""
    cells, source = module["cells"], {}
    for name in [n for n in cells if n.endswith(THROUGH) and "I3" in cells[n]["connections"]]:
        pins = cells.pop(name)["connections"]
        source[pins["F"][0]] = pins["I3"][0]
    for cell in cells.values():
        if _is_register(cell):
            bit = cell["connections"]["D"][0]
            cell["connections"]["D"] = [source.get(bit, bit)]
    module["netnames"] = {n: v for n, v in module["netnames"].items() if source.keys().isdisjoint(v["bits"])}


def _move(cells: Cells) -> int:
    """Move every register whose input is a sum not far away to that sum's place, as far as the tile's other registers
    allow."""
    at = {cell["attributes"].get("BEL"): cell for cell in cells.values()}
    places = {bit: c["attributes"]["BEL"] for c in cells.values() if c["type"] == "ALU" for bit in _sum(c)}
    waiting = []
    for register in filter(_is_register, cells.values()):
        source = places.get(register["connections"]["D"][0])
        if source is not None:
            here, own = register["attributes"]["BEL"], source.replace("ALU", "DFF")
            if here != own and _distance(here, own) < FAR:
                waiting.append((register, own))
    count = -1
    moved = 0
    # one that leaves may make room for others
    while count != moved:
        count, left = moved, []
        for register, own in waiting:
            if own not in at and all(_fit(register, other) for place in _group(own) if (other := at.get(place))):
                del at[register["attributes"]["BEL"]]
                register["attributes"]["BEL"], at[own] = own, register
                moved += 1
            else:
                left.append((register, own))
        waiting = left
    return moved


def _is_register(cell: dict[str, Any]) -> bool:
    return cell["type"].startswith("DFF")


def _sum(cell: dict[str, Any]) -> list[Any]:
    """The bit that a sum makes, if any reads it."""
    return cell["connections"].get("SUM", [])


def _distance(a: str, b: str) -> int:
    """Tiles between two places, along rows and columns."""
    (x, y), (other_x, other_y) = (tuple(map(int, PLACE.fullmatch(p).groups()[:2])) for p in (a, b))  # type: ignore[union-attr]
    return abs(x - other_x) + abs(y - other_y)


def _group(place: str) -> Iterator[str]:
    """The places of registers that have clock, enable and reset in common with the one at ``place``, its own too."""
    match = PLACE.fullmatch(place)
    assert match
    x, y, kind, number = match.groups()
    for group in GROUPS:
        if int(number) in group:
            yield from (f"X{x}Y{y}/{kind}{k}" for k in group)


def _fit(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Whether two registers may be in a group."""
    alike = a["type"] == b["type"] or {a["type"], b["type"]} in ALIKE
    return alike and _controls(a) == _controls(b)


def _controls(register: dict[str, Any]) -> tuple[Any, ...]:
    pins = register["connections"]
    return pins.get("CLK"), pins.get("CE"), next((pins[p] for p in ("SET", "RESET") if p in pins), None)
