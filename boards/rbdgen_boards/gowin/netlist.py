"""Netlists for Gowin: what they take of a device, and what is changed in them before nextpnr reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SUM_OR_DIFFERENCE, SUM, DIFFERENCE = 2, 0, 1
"""What an ALU does, as its parameter ALU_MODE: the first is chosen by its input I3, the others do not read it."""
TABLES = ("LUT1", "LUT2", "LUT3", "LUT4", "ALU")
"""Cells that take a look-up table's place."""
MEMORIES = ("SDP", "DP", "SP", "pROM")
"""How the names of block memories begin."""
SMALL_MEMORY, LUTS_OF_SMALL_MEMORY = "RAM16SDP4", 8

Netlist = Mapping[str, Any]
"""Cells by name, as Yosys writes them in JSON."""


def used_cells(count: Mapping[str, int]) -> dict[str, int]:
    """A netlist's cells, counted by type, as resources of the board."""
    used: dict[str, int] = dict.fromkeys(("multipliers", "luts", "registers", "memories"), 0)
    for cell, number in count.items():
        if cell == "MULTALU27X18":
            used["multipliers"] += number
        elif cell in TABLES:
            used["luts"] += number
        elif cell == SMALL_MEMORY:
            used["luts"] += number * LUTS_OF_SMALL_MEMORY
        elif cell.startswith("DFF"):
            used["registers"] += number
        elif cell.startswith(MEMORIES):
            used["memories"] += number
    return used


def blocked(netlist: Netlist) -> int:
    """Look-up tables that registers take, at least: a register's input comes from the table or sum in its own place,
    and one that is fed by something else leaves no room for another there."""
    made: set[object] = set()
    inputs = []
    for cell in netlist.values():
        kind = cell["type"]
        pins = cell["connections"]
        if kind == "ALU":
            made.update(pins["SUM"])
        elif kind.startswith("LUT"):
            made.update(pins["F"])
        elif kind.startswith("DFF"):
            inputs.append(pins["D"][0])
    return len(inputs) - len(made.intersection(inputs))


def decide_sums(netlist: Netlist) -> None:
    """Make of ALUs that are always sums or always differences such by their mode. Yosys tells them by a constant, which
    takes wires of the fabric to get there. (Those that have a constant to add are nextpnr's, which builds it in.)"""
    constants = _constants(netlist)
    for cell in netlist.values():
        if cell["type"] != "ALU" or int(cell["parameters"]["ALU_MODE"], 2) != SUM_OR_DIFFERENCE:
            continue
        pins = cell["connections"]
        constant = [pin for pin in ("I0", "I1", "I3") if pins[pin][0] in constants]
        if constant == ["I3"]:
            is_sum = constants[pins.pop("I3")[0]]
            mode = SUM if is_sum else DIFFERENCE
            cell["parameters"]["ALU_MODE"] = f"{mode:032b}"


def _constants(netlist: Netlist) -> dict[object, bool]:
    """Bits whose value is known, with that."""
    found: dict[object, bool] = {}
    for cell in netlist.values():
        if cell["type"] in ("VCC", "GND"):
            for bits in cell["connections"].values():
                found.update(dict.fromkeys(bits, cell["type"] == "VCC"))
    return found


def widen_tables(netlist: Netlist) -> None:
    """Make look-up tables with four inputs of those with fewer: nextpnr knows no delays of these."""
    for cell in netlist.values():
        if cell["type"] in ("LUT1", "LUT2", "LUT3"):
            table = cell["parameters"]["INIT"]
            cell["type"] = "LUT4"
            cell["parameters"]["INIT"] = table * (16 // len(table))
