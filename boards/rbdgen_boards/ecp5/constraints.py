"""Constraints in Lattice's format: where ports are, and the clock."""

from __future__ import annotations

from rbdgen_boards.board import Board
from rbdgen_boards.top import port_pins


def lpf(board: Board) -> str:
    """The constraints of a board's top module."""
    attributes = " ".join(f"{name}={value}" for name, value in board.attributes.items())
    lines = [f'FREQUENCY PORT "clk" {board.clock:g} MHZ;']
    for port, pin in port_pins(board).items():
        lines.append(f'LOCATE COMP "{port}" SITE "{pin}";')
        lines.append(f'IOBUF PORT "{port}" {attributes};')
    return "\n".join(lines) + "\n"
