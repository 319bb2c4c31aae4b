"""The clock of a 7-series device: a clock manager's multiplier and divider, and its instance."""

from __future__ import annotations

from rbdgen.errors import ConfigError
from rbdgen_boards.board import Board
from rbdgen_boards.flow import Clocking

OSCILLATOR = (600.0, 1200.0)
"""MHz between which a 7-series clock manager's oscillator runs, at any speed grade."""
EIGHTHS = range(16, 513)
"""Multipliers, in eighths."""
LEAST_DIVIDER, LARGEST_DIVIDER = 8, 1024
"""Dividers, in eighths."""


def clock_manager(board_clock: float, clock: float) -> tuple[float, float]:
    """Multiplier and divider of a 7-series clock manager for the clock next below ``clock``, in MHz.

    ConfigError where there is none.
    """
    found = []
    for eighths in EIGHTHS:
        multiply = eighths / 8
        divider = -(-board_clock * eighths // clock)
        runs = OSCILLATOR[0] <= board_clock * multiply <= OSCILLATOR[1]
        if runs and LEAST_DIVIDER <= divider <= LARGEST_DIVIDER:
            found.append((multiply, divider / 8))
    if not found:
        raise ConfigError(
            f"clock: {clock:g} MHz cannot be made from {board_clock:g} MHz; choose 5 to 600 MHz"
        )
    # the nearest clock, made by the slowest oscillator
    return max(found, key=lambda pair: (board_clock * pair[0] / pair[1], -pair[0]))


def managed_clock(board: Board, clock: float) -> Clocking:
    """The clock next below ``clock`` MHz, by a clock manager in the top module."""
    multiply, divide = clock_manager(board.clock, clock)
    lines = (
        "  wire feedback, made;\n"
        f"  MMCME2_BASE #(.CLKIN1_PERIOD({1e3 / board.clock:.3f}), .CLKFBOUT_MULT_F({multiply:.3f}), "
        f".CLKOUT0_DIVIDE_F({divide:.3f})) manager (\n"
        "    .CLKIN1(clk), .CLKFBIN(feedback), .CLKFBOUT(feedback), .CLKOUT0(made), .LOCKED(settled), .PWRDWN(1'b0), "
        ".RST(1'b0)\n  );\n"
        "  BUFG buffer (.I(made), .O(clock));\n"
    )
    return Clocking("", lines, board.clock * multiply / divide)
