"""The top module of a board with a serial link, and the pins of its ports."""

from __future__ import annotations

from rbdgen_boards.board import Board

TOP = "rbdgen_board"
"""Name of a board's top module."""
RESET_CYCLES = 16
"""Cycles for which the design is held in reset after the clock has settled."""


def uart_top(shell: str, clocking: str) -> str:
    """Verilog of the top module around module ``shell``; ``clocking`` makes ``clock`` and ``settled`` from ``clk``."""
    return (
        f"// The board's top: clock, reset, the shell {shell}, and two lights: clock settled, nothing in work.\n"
        f"module {TOP}(clk, rx, tx, led);\n"
        "  input clk;\n  input rx;\n  output tx;\n  output [1:0] led;\n"
        "  wire clock;\n  wire settled;\n  wire idle;\n"
        f"{clocking}"
        f"  reg [{RESET_CYCLES - 1}:0] waiting = {{{RESET_CYCLES}{{1'b1}}}};\n"
        "  always @(posedge clock or negedge settled)\n"
        f"    if (!settled) waiting <= {{{RESET_CYCLES}{{1'b1}}}};\n"
        f"    else waiting <= {{waiting[{RESET_CYCLES - 2}:0], 1'b0}};\n"
        "  reg rst = 1'b1;\n"
        f"  always @(posedge clock) rst <= waiting[{RESET_CYCLES - 1}];\n"
        f"  {shell} shell(.clk(clock), .rst(rst), .rx(rx), .tx(tx), .idle(idle));\n"
        "  assign led = {idle, settled};\n"
        "endmodule\n"
    )


def port_pins(board: Board) -> dict[str, str]:
    """The pin of each of the top's ports."""
    pins = {"clk": board.clock_pin, "rx": board.pins["rx"][0], "tx": board.pins["tx"][0]}
    return pins | {f"led[{k}]": pin for k, pin in enumerate(board.pins["led"])}
