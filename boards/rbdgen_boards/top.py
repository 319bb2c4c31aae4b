"""The top module of a board with a serial line or with Ethernet, and the pins of its ports."""

from __future__ import annotations

from rbdgen.protocol.phys import Pads
from rbdgen_boards.board import Board
from rbdgen_boards.ports import LIGHTS, SHELL_PORTS

CLOCK = "clock"
"""Its net that a design's clock is."""
TOP = "rbdgen_board"
"""Name of a board's top module."""
RESET_CYCLES = 16
"""Cycles for which the design is held in reset after the clock has settled."""


def board_top(board: Board, shell: str, clocking: str) -> str:
    """Verilog of the top module of a ``board`` around module ``shell``, with the shell's ports; ``clocking`` makes
    ``clock`` and ``settled``, from ``clk`` where the board has a pin for it."""
    wires = "".join(f"  {line}\n" for line in _declarations(board))
    ports = SHELL_PORTS[board.shell]
    pins = "".join(f".{name}({name if name in board.pins else ''}), " for name in ports)
    lights = ""
    if board.lights:
        shown = ", ".join(reversed(LIGHTS[: board.lights]))
        lights = f"  assign led = {'~' if board.inverted else ''}{{{shown}}};\n"
    return (
        f"// The board's top: clock, reset, the shell {shell}, and lights: clock settled, nothing in work.\n"
        f"module {TOP}({', '.join(_names(board))});\n"
        f"{wires}  wire {CLOCK};\n  wire settled;\n  wire idle;\n"
        f"{clocking}"
        f"  reg [{RESET_CYCLES - 1}:0] waiting = {{{RESET_CYCLES}{{1'b1}}}};\n"
        # at once, not on the clock, which need not run before it has settled
        "  always @(posedge clock or negedge settled)\n"
        f"    if (!settled) waiting <= {{{RESET_CYCLES}{{1'b1}}}};\n"
        f"    else waiting <= {{waiting[{RESET_CYCLES - 2}:0], 1'b0}};\n"
        # the reset comes from a register: it ends for all of the design in one cycle
        "  reg rst = 1'b1;\n"
        f"  always @(posedge clock) rst <= waiting[{RESET_CYCLES - 1}];\n"
        f"  {shell} shell(.clk(clock), .rst(rst), {pins}.idle(idle));\n"
        f"{lights}endmodule\n"
    )


def _ports(board: Board) -> Pads:
    """The top's ports."""
    clock: Pads = {"clk": ("input", 1)} if board.clock_pin else {}
    own = {name: port for name, port in SHELL_PORTS[board.shell].items() if name in board.pins}
    lights: Pads = {"led": ("output", board.lights)} if board.lights else {}
    return clock | own | lights


def _names(board: Board) -> list[str]:
    return list(_ports(board))


def _declarations(board: Board) -> list[str]:
    """Declarations of the top's ports."""
    lines = []
    for name, (direction, width) in _ports(board).items():
        bits = f"[{width - 1}:0] " if width > 1 else ""
        lines.append(f"{direction} {bits}{name};")
    return lines


def port_pins(board: Board) -> dict[str, str]:
    """The pin of each of the top's ports, bit by bit."""
    pins = {"clk": board.clock_pin} if board.clock_pin else {}
    for port, names in board.pins.items():
        if len(names) == 1:
            pins[port] = names[0]
        else:
            pins |= {f"{port}[{k}]": pin for k, pin in enumerate(names)}
    return pins
