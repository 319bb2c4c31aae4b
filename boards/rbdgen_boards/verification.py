"""What there is to verify of a build: its netlists as Verilog, after synthesis and after place and route."""

from __future__ import annotations

from pathlib import Path

from rbdgen.errors import ConfigError
from rbdgen_boards.board import Board, board_names, get_board
from rbdgen_boards.flows import FLOWS
from rbdgen_boards.models.verilog import netlist_verilog
from rbdgen_boards.netlists import STAGES, read_netlist

TOP = "rbdgen_netlist"
"""Name of the module that a netlist becomes."""


def require_models(board: Board) -> None:
    """ConfigError for a board of a family whose cells have no models, and for one without a serial line, by which tasks
    reach the netlist's pins."""
    why = obstacle(board)
    if why is not None:
        able = [name for name in board_names() if obstacle(get_board(name)) is None]
        raise ConfigError(
            f"verify: board {board.name} {why}; leave --verify out, or take one of {', '.join(able)}"
        )


def obstacle(board: Board) -> str | None:
    """Why a board's netlists cannot be simulated; None where they can."""
    flow = FLOWS[board.flow]
    if flow.models is None:
        return f"is built by {flow.maker}, whose netlists cannot be simulated here"
    if board.shell != "uart":
        return "has no serial line, by which tasks reach a netlist's pins here"
    return None


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
