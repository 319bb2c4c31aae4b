"""Netlists of a build that are kept: what Yosys and nextpnr write as JSON, as far as a simulation needs it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rbdgen.errors import ToolError

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
