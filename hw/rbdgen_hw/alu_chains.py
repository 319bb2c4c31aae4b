"""Accumulators of Gowin's ALUs, in place of what synthesis would infer.

A bit of an ALU adds or subtracts as an input says, which synthesis never uses where a design chooses the sign: it
spends a look-up table a bit on that. As with :mod:`rbdgen_hw.carry_chains`, here are modules of the same names and
ports. ALU: Gowin's guide to its primitives of logic (UG288), and Yosys's model of it.
"""

from __future__ import annotations

from rbdgen_hw.carry_chains import ACCUMULATOR

ADD_OR_SUBTRACT = 2
"""The mode in which a bit adds where I3 is high, and else subtracts."""


def accumulator(name: str, width: int, starting: int) -> str:
    """The module of an accumulator (:class:`rbdgen_hw.operators.Accumulate`): the sign of what is added is the mode's,
    and carried in; whether the sum so far counts is a look-up table a bit."""
    top = width - 1
    text = (
        f"module {name}(clk, rst, x, start, first, minus, y);\n  input clk;\n  input rst;\n"
        f"  input signed [{top}:0] x;\n  input signed [{top}:0] start;\n  input first;\n  input minus;\n"
        f"  output signed [{top}:0] y;\n  wire [{width}:0] carries;\n  reg [{top}:0] sum = 0;\n"
        f"  wire [{top}:0] started = first ? start & {width}'h{starting:x} : sum;\n"
        f"  assign carries[0] = minus;\n  always @(posedge clk) sum <= y;\n"
    )
    for k in range(width):
        pins = f".I0(started[{k}]), .I1(x[{k}]), .I3(~minus)"
        chain = f".CIN(carries[{k}]), .COUT(carries[{k + 1}]), .SUM(y[{k}])"
        text += f"  ALU #(.ALU_MODE({ADD_OR_SUBTRACT})) bit{k} ({pins}, {chain});\n"
    return text + "endmodule\n"


def alus(verilog: str) -> str:
    """Modules for the accumulators of a design's Verilog."""
    found = []
    for name, width, starting in ACCUMULATOR.findall(verilog):
        found.append(accumulator(name, int(width), int(starting, 16)))
    return "".join(found)
