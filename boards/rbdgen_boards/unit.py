"""Synthesis of one unit alone, for exploring: seconds instead of the minutes that a whole design takes."""

from __future__ import annotations

import difflib
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rbdgen.compiler import Design
from rbdgen.errors import ConfigError
from rbdgen_boards.flows import synthesis_for
from rbdgen_boards.synthesis import cells, synthesise
from rbdgen_hw.primitives import overrides


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
        f"{s.kind}_{s.body + 1}": s.name
        for s in design.network.submodules
        if s.body is not None and s.name in names
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
    family, how, flow = synthesis_for(design.options.device)
    blocks = overrides(verilog, flow.multiplier)
    top = f"{design.name}_{unit}"
    with tempfile.TemporaryDirectory(prefix="rbdgen-unit-") as name:
        directory = Path(name)
        synthesise(directory, {"design.v": verilog}, blocks, how, top)
        counted = cells(directory)
    of_the_device = {cell: n for cell, n in sorted(counted.items()) if not cell.startswith("$")}
    return UnitSynthesis(unit, family, of_the_device)
