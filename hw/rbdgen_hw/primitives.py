"""Multipliers of a device instantiated with their own registers, and sums in carry chains, in place of what synthesis
would infer.

A design's Verilog has each product as a module of its own, which any tool understands and every simulator runs
(:class:`rbdgen_hw.operators.Multiplier`). For a device with a primitive here, :func:`overrides` gives modules of the
same names and ports that hold that primitive, several of them where the product is too wide for one; products with
another number of registers stay.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass

from rbdgen_hw.alu_chains import alus
from rbdgen_hw.carry_chains import chains

PRODUCT_MODULE = re.compile(r"^module (\w+_product_(\d+)x(\d+)_r(\d+))\(", re.M)
"""Name, widths and registers of a product's module in a design's Verilog."""
ECP5_REGISTERS = {
    1: ("REG_OUTPUT",),
    2: ("REG_INPUTA", "REG_INPUTB", "REG_OUTPUT"),
    3: ("REG_INPUTA", "REG_INPUTB", "REG_OUTPUT", "REG_PIPELINE"),
}
"""Which registers of Lattice's block make so many in a row."""
GOWIN_REGISTERS = {2: ("AREG", "BREG", "PREG")}
"""Which registers of Gowin's block make so many in a row: its operands', and the product's."""


def _mult18x18d(name: str, registers: int, a: str, b: str, p: str) -> str:
    """Lattice ECP5's MULT18X18D: a register behind it, with two also before it, with three also inside."""
    clocks = ECP5_REGISTERS[registers]
    parameters = ",\n    ".join(
        f'.{r}_CLK("CLK0"), .{r}_CE("CE0"), .{r}_RST("RST0")' for r in clocks
    )
    pins = [f".{side}{k}({wire}[{k}])" for side, wire in (("A", a), ("B", b)) for k in range(18)]
    pins += [f".P{k}({p}[{k}])" for k in range(36)]
    pins += [".SIGNEDA(1'b1)", ".SIGNEDB(1'b1)", ".SOURCEA(1'b0)", ".SOURCEB(1'b0)"]
    pins += [".CLK0(clk)", ".CE0(1'b1)", ".RST0(1'b0)"]
    lines = ",\n    ".join(", ".join(pins[k : k + 6]) for k in range(0, len(pins), 6))
    return (
        f'  MULT18X18D #(\n    {parameters},\n    .GSR("DISABLED"), .RESETMODE("SYNC")\n  ) {name} (\n'
        f"    {lines}\n  );\n"
    )


def _multalu27x18(name: str, registers: int, a: str, b: str, p: str) -> str:
    """Gowin GW5A's MULTALU27X18: registers before it, and one between the product and the sum that follows it.

    Not behind it: for the GW5AST-138, apycula makes the same bits whether the register there is asked for or not. What
    it neither adds nor selects is left open: a constant would be led to every pin over wires of the fabric.
    """
    parameters = ", ".join(
        f'.{r}_CLK("CLK0"), .{r}_CE("CE0"), .{r}_RESET("RESET0")'
        for r in GOWIN_REGISTERS[registers]
    )
    return (
        f"  MULTALU27X18 #(\n    {parameters},\n"
        '    .MULT_RESET_MODE("SYNC"), .DYN_A_SEL("FALSE"), .A_SEL(1\'b0), .DYN_P_SEL("FALSE"), .P_SEL(1\'b0),\n'
        '    .DYN_P_ADDSUB("FALSE"), .P_ADDSUB(1\'b0), .DYN_C_SEL("FALSE"), .C_SEL(1\'b0), .DYN_CASI_SEL("FALSE"),\n'
        '    .CASI_SEL(1\'b0), .DYN_ACC_SEL("FALSE"), .ACC_SEL(1\'b0), .DYN_ADD_SUB_0("FALSE"), .ADD_SUB_0(1\'b0),\n'
        f'    .DYN_ADD_SUB_1("FALSE"), .ADD_SUB_1(1\'b0)\n  ) {name} (\n'
        f"    .A({a}), .B({b}), .CLK({{1'b0, clk}}), .CE(2'b11), .RESET(2'b00), .DOUT({p})\n  );\n"
    )


@dataclass(frozen=True)
class Primitive:
    """A device's block: the widths in bits of its two signed inputs and its output, and its ``instance`` by name,
    number of registers, and the wires of inputs and output. ``registers``: the numbers of them that it can have."""

    shape: tuple[int, int]
    output: int
    instance: Callable[[str, int, str, str, str], str]
    registers: tuple[int, ...]
    sums: Callable[[str], str] = lambda verilog: ""
    """Modules for sums in a design's Verilog."""

    def _blocks(self, wide: int, narrow: int) -> int:
        """How many blocks a product takes whose operands of these widths go to the inputs of these names."""
        return len(_parts(wide, self.shape[0])) * len(_parts(narrow, self.shape[1]))

    def module(self, name: str, a: int, b: int, registers: int) -> str | None:
        """A product's module of that name, operand widths and number of registers; None if the block has no such
        number. What is more than it has are registers of the fabric, before it. Operands go to the inputs that take
        fewer blocks, else the wider to the wider."""
        if registers < min(self.registers):
            return None
        inside = min(registers, max(self.registers))
        orders = [("a", "b", a, b), ("b", "a", b, a)]
        orders.sort(key=lambda order: -order[2])
        wide, narrow, n, m = min(
            orders,
            key=lambda order: self._blocks(order[2], order[3]),
        )
        text = (
            f"module {name}(clk, rst, a, b, p);\n  input clk;\n  input rst;\n  input signed [{a - 1}:0] a;\n"
            f"  input signed [{b - 1}:0] b;\n  output signed [{a + b - 1}:0] p;\n"
        )
        for k in range(registers - inside):
            for side, width in (("a", a), ("b", b)):
                text += f"  reg signed [{width - 1}:0] {side}{k};\n"
                text += f"  always @(posedge clk) {side}{k} <= {f'{side}{k - 1}' if k else side};\n"
        if registers > inside:
            wide, narrow = (f"{side}{registers - inside - 1}" for side in (wide, narrow))
        first = _parts(n, self.shape[0])
        second = _parts(m, self.shape[1])
        for operand, port, parts, width in (
            (wide, "wide", first, self.shape[0]),
            (narrow, "narrow", second, self.shape[1]),
        ):
            for k, (low, high, top) in enumerate(parts):
                bits = (
                    f"$signed({operand}[{high}:{low}])"
                    if top
                    else f"{{1'b0, {operand}[{high}:{low}]}}"
                )
                text += f"  wire signed [{width - 1}:0] {port}{k} = {bits};\n"
        terms = []
        for (k, x), (j, y) in itertools.product(enumerate(first), enumerate(second)):
            result = f"result{k}_{j}"
            size = min(sum(self.shape), self.output)
            text += f"  wire [{self.output - 1}:0] {result};\n  wire signed [{a + b - 1}:0] term{k}_{j} = "
            text += f"$signed({result}[{size - 1}:0]);\n"
            terms.append(f"(term{k}_{j} <<< {x[0] + y[0]})" if x[0] + y[0] else f"term{k}_{j}")
            text += self.instance(f"block{k}_{j}", inside, f"wide{k}", f"narrow{j}", result)
        return text + f"  assign p = {' + '.join(terms)};\nendmodule\n"


def _parts(bits: int, width: int) -> list[tuple[int, int, bool]]:
    """The pieces of a signed operand that an input of ``width`` bits takes, as (lowest bit, highest bit, whether it has
    the sign): all but the last are unsigned, a bit shorter than the input."""
    parts = []
    low = 0
    while bits - low > width:
        parts.append((low, low + width - 2, False))
        low += width - 1
    return [*parts, (low, bits - 1, True)]


PRIMITIVES = {
    "ecp5": Primitive((18, 18), 36, _mult18x18d, tuple(ECP5_REGISTERS), chains),
    "gowin": Primitive((27, 18), 48, _multalu27x18, tuple(GOWIN_REGISTERS), alus),
}
"""By flow."""


def overrides(verilog: str, flow: str) -> str:
    """Modules with ``flow``'s primitives for products and sums in ``verilog``; empty if it has none."""
    primitive = PRIMITIVES.get(flow)
    if primitive is None:
        return ""
    made = (
        primitive.module(name, int(a), int(b), int(n))
        for name, a, b, n in PRODUCT_MODULE.findall(verilog)
    )
    products = "".join(text for text in made if text is not None)
    return products + primitive.sums(verilog)
