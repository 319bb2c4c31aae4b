"""Synthesis by Yosys, which all flows with open tools share, and whether the netlist fits a board."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rbdgen.errors import ConfigError
from rbdgen_boards.board import Board
from rbdgen_boards.top import TOP
from rbdgen_hw.yosys import run_script

NETLIST = "netlist.json"
CELLS = "cells.json"
OVERRIDES = "overrides.v"
SMALLER = "use a larger --ii, fewer --functions, a shorter --word or a larger --error"
"""Remedies, each of which makes a design take less."""
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
    for name, text in sources.items():
        (directory / name).write_text(text, encoding="utf-8")
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


def cells(directory: Path) -> dict[str, int]:
    """Cells of the synthesised netlist by type."""
    statistics = json.loads((directory / CELLS).read_text(encoding="utf-8"))
    return statistics["design"]["num_cells_by_type"]


def check_room(board: Board, used: Mapping[str, int]) -> None:
    """ConfigError if ``board`` lacks something of what the netlist uses."""
    lacking = board.lacking(used)
    if lacking:
        raise ConfigError(f"board {board.name}: the design takes {'; '.join(lacking)}; {SMALLER}")
