"""The top module of a board with a serial line or with Ethernet, and the pins of its ports."""

from __future__ import annotations

from collections.abc import Mapping

from amaranth.hdl import Shape
from amaranth.lib.wiring import In

from rbdgen_boards.board import Board
from rbdgen_hw.shells.ethernet import RGMII

CLOCK = "clock"
"""Its net that a design's clock is."""
TOP = "rbdgen_board"
"""Name of a board's top module."""
RESET_CYCLES = 16
"""Cycles for which the design is held in reset after the clock has settled."""


def uart_top(shell: str, clocking: str) -> str:
    """Verilog of the top module around module ``shell``; ``clocking`` makes ``clock`` and ``settled`` from ``clk``."""
    return board_top(shell, clocking, {"rx": ("input", 1), "tx": ("output", 1)}, "")


def udp_top(shell: str, clocking: str, inverted: bool) -> str:
    """The same of a board with Ethernet by RGMII, whose lights may be ``inverted``: lit by low pins."""
    ports = {}
    for name, member in RGMII.pads.members.items():
        direction = "input" if member.flow == In else "output"
        ports[f"eth_{name}"] = direction, Shape.cast(member.shape).width
    return board_top(shell, clocking, ports, "~" if inverted else "")


def board_top(shell: str, clocking: str, ports: Mapping[str, tuple[str, int]], light: str) -> str:
    """Verilog of a top module whose ``ports``, with direction and width, are the shell's as well; ``light`` stands
    before what is lit."""
    names = ", ".join(ports)
    lines = []
    pins = []
    for name, (direction, width) in ports.items():
        bits = f"[{width - 1}:0] " if width > 1 else ""
        lines.append(f"  {direction} {bits}{name};\n")
        pins.append(f".{name}({name}), ")
    return (
        f"// The board's top: clock, reset, the shell {shell}, and two lights: clock settled, nothing in work.\n"
        f"module {TOP}(clk, {names}, led);\n"
        f"  input clk;\n{''.join(lines)}  output [1:0] led;\n"
        f"  wire {CLOCK};\n  wire settled;\n  wire idle;\n"
        f"{clocking}"
        f"  reg [{RESET_CYCLES - 1}:0] waiting = {{{RESET_CYCLES}{{1'b1}}}};\n"
        # at once, not on the clock, which need not run before it has settled
        "  always @(posedge clock or negedge settled)\n"
        f"    if (!settled) waiting <= {{{RESET_CYCLES}{{1'b1}}}};\n"
        f"    else waiting <= {{waiting[{RESET_CYCLES - 2}:0], 1'b0}};\n"
        # the reset comes from a register: it ends for all of the design in one cycle
        "  reg rst = 1'b1;\n"
        f"  always @(posedge clock) rst <= waiting[{RESET_CYCLES - 1}];\n"
        f"  {shell} shell(.clk(clock), .rst(rst), {''.join(pins)}.idle(idle));\n"
        f"  assign led = {light}{{idle, settled}};\n"
        "endmodule\n"
    )


def port_pins(board: Board) -> dict[str, str]:
    """The pin of each of the top's ports, bit by bit."""
    pins = {"clk": board.clock_pin}
    for port, names in board.pins.items():
        if len(names) == 1:
            pins[port] = names[0]
        else:
            pins |= {f"{port}[{k}]": pin for k, pin in enumerate(names)}
    return pins
