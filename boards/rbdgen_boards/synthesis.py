"""Synthesis by Yosys, which all flows with open tools share: whether the netlist fits a board, and netlists that are
kept, as JSON, for a simulation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rbdgen.errors import ConfigError, ToolError
from rbdgen_boards.board import Board
from rbdgen_boards.top import TOP
from rbdgen_hw.yosys import run_script

NETLIST = "netlist.json"
CELLS = "cells.json"
OVERRIDES = "overrides.v"
SMALLER = "use a larger --ii or --machine engine, fewer --functions or --cores, a shorter --word or a larger --error"
"""Remedies, each of which makes a design take less."""
MODULE = re.compile(r"^module (\w+)\(", re.M)
WHOLE_MODULE = re.compile(r"(?:^\(\*.*\*\)\n)*^module (\w+)\(.*?^endmodule\n", re.M | re.S)
"""A module with the attributes before it."""
SPEED_SETTINGS = ("scratchpad -set abc9.verify 0", "scratchpad -set abc9.nomfs 1")
"""ABC's own check of its result and its last local search take most of its time on large designs, for a few LUTs."""


@dataclass(frozen=True)
class Synthesis:
    """Yosys's ``command`` for a family of devices; ``instead`` of its part from the label ``begin`` to before the label
    ``end``, other commands."""

    command: str
    begin: str = ""
    end: str = ""
    instead: tuple[str, ...] = ()

    def script(self, top: str) -> list[str]:
        """The commands that synthesise the module ``top`` and write the netlist."""
        whole, netlist = f"{self.command} -top {top}", f"-json {NETLIST}"
        if not self.instead:
            return [f"{whole} {netlist}"]
        return [
            f"{whole} -run begin:{self.begin}",
            *self.instead,
            f"{whole} -run {self.end}: {netlist}",
        ]


def synthesise(
    directory: Path, sources: Mapping[str, str], overrides: str, how: Synthesis, top: str = TOP
) -> None:
    """Synthesise Verilog with Yosys; the netlist is :data:`NETLIST` in ``directory``, the log ``yosys.log``."""
    replaced = set(MODULE.findall(overrides))
    for name, text in sources.items():
        (directory / name).write_text(without_modules(text, replaced), encoding="utf-8")
    (directory / OVERRIDES).write_text(overrides, encoding="utf-8")
    script = [
        *SPEED_SETTINGS,
        *(f"read_verilog {name}" for name in sources),
        f"read_verilog -overwrite {OVERRIDES}",
        # as plain RTLIL: a module that Yosys has read from Verilog is read again, unsynthesised, when a primitive of
        # its becomes known with its parameters
        f"hierarchy -top {top}",
        "proc",
        "write_rtlil design.il",
        "design -reset",
        "read_rtlil design.il",
        *how.script(top),
        f"tee -q -o {CELLS} stat -json",
    ]
    run_script(script, directory, "yosys.log")


def without_modules(verilog: str, names: Collection[str]) -> str:
    """Verilog without the modules of these names, as far as :func:`rbdgen_hw.library.to_verilog` writes them: a large
    memory's contents take Yosys minutes to read, which are for nothing where another module takes its place."""
    return WHOLE_MODULE.sub(lambda found: "" if found[1] in names else found[0], verilog)


def cells(directory: Path) -> dict[str, int]:
    """Cells of the synthesised netlist by type."""
    statistics = json.loads((directory / CELLS).read_text(encoding="utf-8"))
    return statistics["design"]["num_cells_by_type"]


def check_room(board: Board, used: Mapping[str, int]) -> None:
    """ConfigError if ``board`` lacks something of what the netlist uses."""
    lacking = board.lacking(used)
    if lacking:
        raise ConfigError(f"board {board.name}: the design takes {'; '.join(lacking)}; {SMALLER}")


AFTER_SYNTHESIS, AFTER_ROUTING = "after_synthesis.json", "after_routing.json"
"""Files in a board's folder: the netlist that place and route gets, and the one that the bitstream is made of."""
STAGES = {"synthesis": AFTER_SYNTHESIS, "routed": AFTER_ROUTING}
"""Those files by what they come after."""
INDEXED = re.compile(r"(\w+)\[(\d+)\]")
"""The name of one bit of a port."""

Port = dict[str, Any]
"""A ``direction``, input or output, and ``bits``, the lowest first."""
Netlist = dict[str, Any]
"""``ports`` by name. ``cells``: by name ``type``, ``parameters`` and ``connections``. A bit is
a net's number, or a constant as text."""


Pads = Mapping[str, tuple[str, str]]
"""Types of cells at pads, with the direction of the port there and the pin on its side."""


def keep_netlist(source: Path, target: Path, top: str, pads: Pads) -> None:
    """Write into ``target`` what a simulation needs of module ``top`` in Yosys's or nextpnr's file ``source``.
    ``pads``: as of :func:`ports_of`."""
    module = json.loads(source.read_text(encoding="utf-8"))["modules"][top]
    kept = essential(module, pads)
    target.write_text(json.dumps(kept, separators=(",", ":")), encoding="utf-8")


def essential(module: Mapping[str, Any], pads: Pads) -> Netlist:
    """The part of a module that a simulation needs. ``pads``: as of :func:`ports_of`."""
    cells = {}
    for name, cell in module["cells"].items():
        # attributes, which are most of a file, say where cells and wires are
        cells[name] = {key: cell[key] for key in ("type", "parameters", "connections")}
    return {"ports": ports_of(module, pads), "cells": cells}


def ports_of(module: Mapping[str, Any], pads: Pads) -> dict[str, Port]:
    """A module's ports. Where it has none, as nextpnr leaves it without them when it reads back what it has placed,
    those at the ``pads``, whose nets are called after them."""
    if module["ports"]:
        return {name: _port(p["direction"], p["bits"]) for name, p in module["ports"].items()}
    names = {}
    for name, net in module["netnames"].items():
        names.update(dict.fromkeys(net["bits"], name))
    found: dict[str, dict[int, Any]] = {}
    directions = {}
    for cell in module["cells"].values():
        if cell["type"] not in pads:
            continue
        direction, pin = pads[cell["type"]]
        (bit,) = cell["connections"][pin]
        indexed = INDEXED.fullmatch(names[bit])
        name, index = indexed.groups() if indexed else (names[bit], "0")
        found.setdefault(name, {})[int(index)] = bit
        directions[name] = direction
    ports = {}
    for name, bits in found.items():
        # cells come in no order of their ports' bits
        ports[name] = _port(directions[name], [bits[k] for k in sorted(bits)])
    return ports


def _port(direction: str, bits: list[Any]) -> Port:
    return {"direction": direction, "bits": bits}


def read_netlist(path: Path) -> Netlist:
    """The netlist that :func:`keep_netlist` wrote. ToolError where it is not there."""
    if not path.is_file():
        raise ToolError(f"{path}: there is no netlist; build again")
    return json.loads(path.read_text(encoding="utf-8"))
