"""Synthesis of one unit alone, for exploring: seconds instead of the minutes that a whole design takes."""

from __future__ import annotations

import difflib
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rbdgen.compiler import Design
from rbdgen.errors import ConfigError
from rbdgen_boards import ecp5, gowin
from rbdgen_boards.flow import Synthesis, cells, synthesise
from rbdgen_hw.primitives import overrides

COMMANDS = {
    "ecp5": (ecp5.SYNTHESIS, "ecp5"),
    "gw5a": (gowin.SYNTHESIS, "gowin"),
    "xc7": (Synthesis("synth_xilinx -family xc7"), ""),
    "xcup": (Synthesis("synth_xilinx -family xcup"), ""),
}
"""How to synthesise by timing model, and whose multiplier blocks are instantiated; all other models count as ECP5."""
DEFAULT = "ecp5"


@dataclass(frozen=True)
class UnitSynthesis:
    """What became of ``unit``: cells by type, and the device family that they are of."""

    unit: str
    family: str
    cells: dict[str, int]


def find_unit(design: Design, wanted: str) -> str:
    """The name of a unit, from itself or from its kind and its joint's number from 1 on (``Rf_3``).

    ConfigError with the nearest names if there is none.
    """
    names = [u.name for u in design.plan.units if u.nodes]
    numbered = {
        f"{s.kind}_{s.body + 1}": s.name for s in design.network.submodules if s.body is not None and s.name in names
    }
    if wanted in names:
        return wanted
    if wanted in numbered:
        return numbered[wanted]
    near = difflib.get_close_matches(wanted, [*names, *numbered], 1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise ConfigError(f"unit {wanted!r}: there is none; {hint}units: {', '.join(names)}")


def synthesise_unit(design: Design, verilog: str, unit: str) -> UnitSynthesis:
    """Synthesise ``unit``, by its own name, of a design whose Verilog is ``verilog``. ToolError if Yosys fails."""
    family = design.options.device if design.options.device in COMMANDS else DEFAULT
    how, blocks = COMMANDS[family]
    with tempfile.TemporaryDirectory(prefix="rbdgen-unit-") as name:
        directory = Path(name)
        synthesise(directory, {"design.v": verilog}, overrides(verilog, blocks), how, f"{design.name}_{unit}")
        counted = {cell: n for cell, n in cells(directory).items() if not cell.startswith("$")}
    return UnitSynthesis(unit, family, dict(sorted(counted.items())))
