"""Constraints in Lattice's format: where ports are, and the clocks."""

from __future__ import annotations

from rbdgen_boards.board import Board
from rbdgen_boards.top import port_pins


def lpf(board: Board) -> str:
    """The constraints of a board's top module."""
    lines = []
    for port, megahertz in {"clk": board.clock, **board.clocks}.items():
        lines.append(f'FREQUENCY PORT "{port}" {megahertz:g} MHZ;')
    for port, pin in port_pins(board).items():
        name, *_ = port.split("[")
        own = {**board.attributes, **board.port_attributes.get(name, {})}
        attributes = " ".join(f"{key}={value}" for key, value in own.items())
        lines.append(f'LOCATE COMP "{port}" SITE "{pin}";')
        lines.append(f'IOBUF PORT "{port}" {attributes};')
    return "\n".join(lines) + "\n"
