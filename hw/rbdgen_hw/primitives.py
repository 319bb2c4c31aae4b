"""Multipliers of a device instantiated with their own registers, in place of products that synthesis would infer.

A design's Verilog has each product as a module of its own, which any tool understands and every simulator runs
(:class:`rbdgen_hw.operators.Product`). For a device with a primitive here, :func:`overrides` gives modules of the same
names and ports that hold that primitive; products with another number of registers, or too wide for one block, stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable

PRODUCT_MODULE = re.compile(r"^module (\w+_product_(\d+)x(\d+)_r(\d+))\(", re.M)
"""Name, widths and registers of a product's module in a design's Verilog."""


def _ports(name: str, a: int, b: int) -> str:
    return (
        f"module {name}(clk, rst, a, b, p);\n  input clk;\n  input rst;\n  input signed [{a - 1}:0] a;\n"
        f"  input signed [{b - 1}:0] b;\n  output signed [{a + b - 1}:0] p;\n"
    )


def mult18x18d(name: str, a: int, b: int, registers: int) -> str | None:
    """Lattice ECP5's MULT18X18D: registers before it and behind it, with three also inside."""
    if max(a, b) > 18 or registers not in (2, 3):
        return None
    clocks = ["REG_INPUTA", "REG_INPUTB", "REG_OUTPUT", *(["REG_PIPELINE"] if registers == 3 else [])]
    parameters = ",\n    ".join(f'.{r}_CLK("CLK0"), .{r}_CE("CE0"), .{r}_RST("RST0")' for r in clocks)
    pins = [f".{side}{k}(wide_{side.lower()}[{k}])" for side in "AB" for k in range(18)]
    pins += [f".P{k}(wide_p[{k}])" for k in range(36)]
    pins += [".SIGNEDA(1'b1)", ".SIGNEDB(1'b1)", ".SOURCEA(1'b0)", ".SOURCEB(1'b0)"]
    pins += [".CLK0(clk)", ".CE0(1'b1)", ".RST0(1'b0)"]
    lines = ",\n    ".join(", ".join(pins[k : k + 6]) for k in range(0, len(pins), 6))
    return (
        _ports(name, a, b)
        + "  wire signed [17:0] wide_a = a;\n  wire signed [17:0] wide_b = b;\n  wire [35:0] wide_p;\n"
        + f"  assign p = wide_p[{a + b - 1}:0];\n"
        + f'  MULT18X18D #(\n    {parameters},\n    .GSR("DISABLED"), .RESETMODE("SYNC")\n  ) block (\n'
        + f"    {lines}\n  );\nendmodule\n"
    )


def multalu27x18(name: str, a: int, b: int, registers: int) -> str | None:
    """Gowin GW5A's MULTALU27X18: registers before it and behind it, with three also inside. The wider operand goes to
    the 27-bit input."""
    if max(a, b) > 27 or min(a, b) > 18 or registers not in (2, 3):
        return None
    wide, narrow = ("a", "b") if a >= b else ("b", "a")
    names = ["AREG", "BREG", "OREG", *(["PREG"] if registers == 3 else [])]
    parameters = ", ".join(f'.{r}_CLK("CLK0"), .{r}_CE("CE0"), .{r}_RESET("RESET0")' for r in names)
    return (
        _ports(name, a, b)
        + f"  wire signed [26:0] wide = {wide};\n  wire signed [17:0] narrow = {narrow};\n  wire [47:0] result;\n"
        + f"  assign p = result[{a + b - 1}:0];\n"
        + f"  MULTALU27X18 #(\n    {parameters},\n"
        + '    .MULT_RESET_MODE("SYNC"), .DYN_A_SEL("FALSE"), .A_SEL(1\'b0), .DYN_P_SEL("FALSE"), .P_SEL(1\'b0),\n'
        + '    .DYN_P_ADDSUB("FALSE"), .P_ADDSUB(1\'b0), .DYN_C_SEL("FALSE"), .C_SEL(1\'b1), .DYN_CASI_SEL("FALSE"),\n'
        + '    .CASI_SEL(1\'b0), .DYN_ACC_SEL("FALSE"), .ACC_SEL(1\'b0), .DYN_ADD_SUB_0("FALSE"), .ADD_SUB_0(1\'b0),\n'
        + '    .DYN_ADD_SUB_1("FALSE"), .ADD_SUB_1(1\'b0)\n  ) block (\n'
        + "    .A(wide), .B(narrow), .C(48'd0), .D(26'd0), .SIA(27'd0), .CASI(48'd0), .ACCSEL(1'b0), .PSEL(1'b0),\n"
        + "    .ASEL(1'b0), .PADDSUB(1'b0), .CSEL(1'b0), .CASISEL(1'b0), .ADDSUB(2'b00), .CLK({1'b0, clk}),\n"
        + "    .CE(2'b11), .RESET(2'b00), .DOUT(result)\n  );\nendmodule\n"
    )


PRIMITIVES: dict[str, Callable[[str, int, int, int], str | None]] = {"ecp5": mult18x18d, "gowin": multalu27x18}
"""By flow: the module of that name, operand widths and number of registers; None where the primitive does not fit."""


def overrides(verilog: str, flow: str) -> str:
    """Modules with ``flow``'s primitive for the products in ``verilog``; empty if it has none."""
    primitive = PRIMITIVES.get(flow)
    if primitive is None:
        return ""
    made = (primitive(name, int(a), int(b), int(n)) for name, a, b, n in PRODUCT_MODULE.findall(verilog))
    return "".join(text for text in made if text is not None)
