"""Constraints in AMD's format: where ports are, and the clock."""

from __future__ import annotations

from rbdgen_boards.board import Board
from rbdgen_boards.top import port_pins


def xdc(board: Board) -> str:
    """The constraints of a board's top module."""
    attributes = [f"{name} {value}" for name, value in board.attributes.items()]
    lines = [f"create_clock -name clk -period {1e3 / board.clock:.3f} [get_ports clk]"]
    for port, pin in port_pins(board).items():
        properties = " ".join([f"PACKAGE_PIN {pin}", *attributes])
        lines.append(f"set_property -dict {{ {properties} }} [get_ports {{ {port} }}]")
    return "\n".join(lines) + "\n"
