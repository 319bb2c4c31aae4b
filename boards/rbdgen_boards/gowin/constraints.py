"""Constraints in Gowin's format: where ports are."""

from __future__ import annotations

from rbdgen_boards.board import Board
from rbdgen_boards.top import port_pins


def cst(board: Board) -> str:
    """The constraints of a board's top module."""
    attributes = " ".join(f"{name}={value}" for name, value in board.attributes.items())
    lines = []
    for port, pin in port_pins(board).items():
        lines.append(f'IO_LOC "{port}" {pin};')
        lines.append(f'IO_PORT "{port}" {attributes};')
    return "\n".join(lines) + "\n"
