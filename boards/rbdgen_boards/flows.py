"""The families of devices that bitstreams are made for, and what their flows do beside that: the synthesis of one unit
alone, and netlists of a build to verify.

A new family is a file or folder with a flow in it, and a line here.
"""

from __future__ import annotations

import difflib
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rbdgen.compiler import Design
from rbdgen.errors import ConfigError
from rbdgen_boards.board import Board, board_names, get_board
from rbdgen_boards.ecp5 import Ecp5
from rbdgen_boards.flow import Flow
from rbdgen_boards.gowin.flow import Gowin
from rbdgen_boards.gowin.gw2a import Gw2a
from rbdgen_boards.ice40 import Ice40
from rbdgen_boards.models.netlist_verilog import netlist_verilog
from rbdgen_boards.nexus import Nexus
from rbdgen_boards.synthesis import STAGES, Synthesis, cells, read_netlist, synthesise
from rbdgen_boards.vivado import Vivado
from rbdgen_hw.primitives import overrides

FLOWS: dict[str, Flow] = {
    flow.name: flow for flow in (Ecp5(), Gowin(), Gw2a(), Ice40(), Nexus(), Vivado())
}
"""By name."""
USUAL = "ecp5"
"""The timing model as which one counts that no family has."""


def get_flow(board: Board) -> Flow:
    """The flow of a board. ConfigError with those that there are."""
    if board.flow not in FLOWS:
        raise ConfigError(
            f"board {board.name}: flow {board.flow!r}: unknown; known flows: {', '.join(FLOWS)}"
        )
    return FLOWS[board.flow]


def synthesis_for(timing: str) -> tuple[str, Synthesis, Flow]:
    """Synthesis of a unit for the timing model of that name: the model that it counts as, Yosys's commands, and the
    flow that they are of."""
    for flow in FLOWS.values():
        if timing in flow.syntheses:
            return timing, flow.syntheses[timing], flow
    return synthesis_for(USUAL)


@dataclass(frozen=True)
class UnitSynthesis:
    """Result of the synthesis of ``unit``: cells by type, and the device family that they are of."""

    unit: str
    family: str
    cells: dict[str, int]


def find_unit(design: Design, wanted: str) -> str:
    """The name of a unit, from itself or from its kind and its joint's number from 1 on (``Rf_3``).

    ConfigError with the nearest names if there is none.
    """
    names = design.machine.parts
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
    # cells with a dollar are Yosys's own notes, such as $scopeinfo, and take nothing of the device
    of_the_device = {cell: n for cell, n in sorted(counted.items()) if not cell.startswith("$")}
    return UnitSynthesis(unit, family, of_the_device)


DRIVEN = ("uart", "spi", "udp")
"""Shells by whose pins tasks reach a simulated netlist."""
TOP = "rbdgen_netlist"
"""Name of the module that a netlist becomes."""


def require_models(board: Board) -> None:
    """ConfigError for a board of a family whose cells have no models, and for one whose link no simulation drives."""
    why = obstacle(board)
    if why is not None:
        able = [name for name in board_names() if obstacle(get_board(name)) is None]
        raise ConfigError(
            f"verify: board {board.name} {why}; leave --verify out, or take one of {', '.join(able)}"
        )


def obstacle(board: Board) -> str | None:
    """Why a board's netlists cannot be simulated; None where they can."""
    flow = get_flow(board)
    if flow.models is None:
        return f"is built by {flow.maker}, whose netlists cannot be simulated here"
    if board.shell not in DRIVEN:
        return "has no link by which tasks reach a netlist's pins here"
    return None


def netlist_clock(board: Board, running: float) -> float:
    """MHz at the clock's pin of a simulated netlist whose design has ``running`` MHz."""
    return get_flow(board).netlist_clock(board, running)


def netlist_sources(board: Board, directory: Path) -> dict[str, str]:
    """Verilog of module :data:`TOP`, with the pins of the board's top, for the netlist after each stage of the build in
    the board's folder. ToolError where one has anything without a model."""
    models = get_flow(board).models
    assert models is not None
    sources = {}
    for stage, file in STAGES.items():
        netlist = read_netlist(directory / file)
        sources[stage] = netlist_verilog(netlist, models, TOP)
    return sources
