"""What there is to verify of a build: its netlists as Verilog, after synthesis and after place and route."""

from __future__ import annotations

from pathlib import Path

from rbdgen.errors import ConfigError
from rbdgen_boards.board import Board
from rbdgen_boards.flows import FLOWS
from rbdgen_boards.models.verilog import netlist_verilog
from rbdgen_boards.netlists import STAGES, read_netlist

TOP = "rbdgen_netlist"
"""Name of the module that a netlist becomes."""


def require_models(board: Board) -> None:
    """ConfigError for a board of a family whose cells have no models, and for one without a serial line, by which tasks
    reach the netlist's pins."""
    flow = FLOWS[board.flow]
    if flow.models is None:
        raise ConfigError(
            f"verify: board {board.name} is built by {flow.maker}, whose netlists cannot be simulated here; "
            f"leave --verify out, or take a board of {', '.join(verifiable())}"
        )
    if board.shell != "uart":
        raise ConfigError(
            f"verify: board {board.name} has no serial line, by which tasks reach a netlist's pins here; leave "
            "--verify out, or verify the accelerator on a board that has one, such as ulx3s_85f"
        )


def verifiable() -> list[str]:
    """The families whose netlists can be simulated, by name."""
    return [name for name, flow in FLOWS.items() if flow.models is not None]


def netlist_sources(board: Board, directory: Path) -> dict[str, str]:
    """Verilog of module :data:`TOP`, with the pins of the board's top, for the netlist after each stage of the build in
    the board's folder. ToolError where one has anything without a model."""
    models = FLOWS[board.flow].models
    assert models is not None
    sources = {}
    for stage, file in STAGES.items():
        netlist = read_netlist(directory / file)
        sources[stage] = netlist_verilog(netlist, models, TOP)
    return sources
