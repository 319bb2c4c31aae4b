"""A placement that nextpnr made of a Gowin design, with registers beside the sums that they keep.

A register's input is the output of the look-up table or the sum in its own place; what comes from elsewhere goes
through a table there. nextpnr keeps a table and its register together, but a sum and its register only by chance: a
wire, a table and most of a nanosecond between the two, for each bit. Here such registers move. nextpnr then reads the
placement back as a design that is packed and all of whose cells have their places, and routes it.
"""

from __future__ import annotations

import re
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
"""End of the names of tables that nextpnr adds where a register's input comes from elsewhere."""
AIDS = ("BLOCKER_LUT", "BLOCKER_FF", "DUMMY_CELL")
"""Types of cells with which nextpnr keeps places free while it places others."""
FAR = 20
"""Tiles from a register to its sum from which on it stays where it is: near to what reads it, it seems."""
NOWHERE = "NEXTPNR_BEL"
TABLE = "RAW_ALU_LUT"
CARRY_ONLY = 0x000A
"""The table of a sum that is always zero, so that the next carry is its first input, whatever the carry before."""
STRENGTH = "BEL_STRENGTH"

Cells = dict[str, Any]


def registers_to_sums(design: dict[str, Any]) -> int:
    """Move registers of ``design``, nextpnr's JSON of a placed design, and make of it what nextpnr reads without
    packing it again. How many there were to move."""
    (module,) = design["modules"].values()
    _undo_ways_through(module)
    cells: Cells = {}
    for name, cell in module["cells"].items():
        if cell["type"] not in AIDS:
            cells[name] = cell
    for cell in cells.values():
        attributes = cell["attributes"]
        attributes.pop(STRENGTH, None)
        # nextpnr writes a place by this name, and reads one as an order by the other
        if place := attributes.pop(NOWHERE, None):
            attributes["BEL"] = place
    moved = _move(cells)
    module["cells"] = {_ordered_name(name, cell): cell for name, cell in cells.items()}
    # ports would become pads once more, and settings are the command's
    module["ports"] = {}
    module["settings"] = {}
    return moved


def lead_carries(design: dict[str, Any]) -> int:
    """Make each carry that begins a chain in ``design``, nextpnr's JSON, depend on nothing but what it is led from. How
    many there are.

    nextpnr gives such a place a table by which a carry of zero is that of the place before it, where anything may be.
    """
    (module,) = design["modules"].values()
    heads = [c for c in module["cells"].values() if c["parameters"].get("CIN_NETTYPE") == "LOGIC"]
    for cell in heads:
        cell["parameters"][TABLE] = f"{CARRY_ONLY:032b}"
    return len(heads)


def _ordered_name(name: str, cell: dict[str, Any]) -> str:
    """A cell's name, by which a sum comes to its place before registers do."""
    return FIRST + name if cell["type"] == "ALU" else name


def _undo_ways_through(module: dict[str, Any]) -> None:
    """Take the tables out that nextpnr added before registers; it adds them again where they are still needed. (One
    without an input is a constant.)"""
    cells = module["cells"]
    source = {}
    for name, cell in list(cells.items()):
        pins = cell["connections"]
        if name.endswith(THROUGH) and "I3" in pins:
            del cells[name]
            source[pins["F"][0]] = pins["I3"][0]
    for cell in cells.values():
        if _is_register(cell):
            bit = cell["connections"]["D"][0]
            cell["connections"]["D"] = [source.get(bit, bit)]
    kept = {}
    for name, net in module["netnames"].items():
        if source.keys().isdisjoint(net["bits"]):
            kept[name] = net
    module["netnames"] = kept


def _move(cells: Cells) -> int:
    """Move every register whose input is a sum not far away to that sum's place, as far as the tile's other registers
    allow."""
    at = {cell["attributes"].get("BEL"): cell for cell in cells.values()}
    waiting = _to_move(cells)
    total = len(waiting)
    before = total + 1
    # one that leaves may make room for others
    while len(waiting) < before:
        before = len(waiting)
        waiting = [pair for pair in waiting if not _moved(*pair, at)]
    return total - len(waiting)


def _to_move(cells: Cells) -> list[tuple[dict[str, Any], str]]:
    """Registers whose input is a sum not far away, with their places beside those."""
    places = {}
    for cell in cells.values():
        if cell["type"] == "ALU":
            # the bit that a sum makes, if any reads it
            for bit in cell["connections"].get("SUM", []):
                places[bit] = cell["attributes"]["BEL"]
    found = []
    for register in filter(_is_register, cells.values()):
        source = places.get(register["connections"]["D"][0])
        if source is None:
            continue
        here = register["attributes"]["BEL"]
        own = source.replace("ALU", "DFF")
        if here != own and _distance(here, own) < FAR:
            found.append((register, own))
    return found


def _moved(register: dict[str, Any], own: str, at: dict[str, Any]) -> bool:
    """Move ``register`` to its ``own`` place, if that is free and the registers around it allow it. ``at`` has the
    cells by place."""
    if own in at:
        return False
    for place in _group(own):
        if place in at and not _fit(register, at[place]):
            return False
    attributes = register["attributes"]
    del at[attributes["BEL"]]
    attributes["BEL"] = own
    at[own] = register
    return True


def _is_register(cell: dict[str, Any]) -> bool:
    return cell["type"].startswith("DFF")


def _parts(place: str) -> tuple[int, int, str, int]:
    """Column, row, kind and number of a place."""
    match = PLACE.fullmatch(place)
    assert match
    x, y, kind, number = match.groups()
    return int(x), int(y), kind, int(number)


def _distance(a: str, b: str) -> int:
    """Tiles between two places, along rows and columns."""
    x, y, *_ = _parts(a)
    other_x, other_y, *_ = _parts(b)
    return abs(x - other_x) + abs(y - other_y)


def _group(place: str) -> list[str]:
    """The places of registers that have clock, enable and reset in common with the one at ``place``, its own too."""
    x, y, kind, number = _parts(place)
    group = next(numbers for numbers in GROUPS if number in numbers)
    return [f"X{x}Y{y}/{kind}{k}" for k in group]


def _fit(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Whether two registers may be in a group."""
    types = {a["type"], b["type"]}
    alike = len(types) == 1 or types in ALIKE
    return alike and _controls(a) == _controls(b)


def _controls(register: dict[str, Any]) -> tuple[Any, ...]:
    """Nets of a register's clock, enable, and set or reset."""
    pins = register["connections"]
    reset = pins.get("SET", pins.get("RESET"))
    return pins.get("CLK"), pins.get("CE"), reset
