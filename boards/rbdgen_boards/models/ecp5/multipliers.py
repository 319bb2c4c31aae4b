"""ECP5's multiplier blocks: signed products of 18 × 18 bits with registers before, inside and behind them.

Source: Lattice FPGA-TN-02205, "ECP5 and ECP5-5G sysDSP Usage Guide".
"""

from __future__ import annotations

from rbdgen_boards.models.cell import Bit, Cell
from rbdgen_boards.models.text import Text

WIDTH = 18
UNUSED = ("C", "SRIA", "SRIB")
"""Operands that only other modes have."""


def mult18x18d(cell: Cell, text: Text) -> None:
    """A signed product with the registers that :mod:`rbdgen_hw.primitives` asks for."""
    cell.one_of("GSR", "DISABLED")
    cell.one_of("RESETMODE", "SYNC")
    for pin in ("SIGNEDA", "SIGNEDB"):
        cell.require(pin, "1")
    for pin in ("SOURCEA", "SOURCEB", "RST0"):
        cell.require(pin, "0", "0")
    cell.require("CE0", "1", "1")
    for other in range(1, 4):
        cell.ignore(f"CLK{other}", f"CE{other}", f"RST{other}")
    clock = text.value(cell.net("CLK0"))
    operands = []
    for side in ("A", "B"):
        bits = [_operand(cell, f"{side}{k}") for k in range(WIDTH)]
        value = f"$signed({text.vector(bits)})"
        operands.append(_stage(cell, text, f"REG_INPUT{side}", clock, value, WIDTH))
    product = f"{operands[0]} * {operands[1]}"
    for register in ("REG_PIPELINE", "REG_OUTPUT"):
        product = _stage(cell, text, register, clock, product, 2 * WIDTH)
    text.assign_vector([cell.output(f"P{k}") for k in range(2 * WIDTH)], product)


def _operand(cell: Cell, pin: str) -> Bit:
    """A bit of an operand, which nextpnr may have made a constant."""
    constant = cell.one_of(f"{pin}MUX", pin, "0", "1")
    if constant == pin:
        return cell.net(pin)
    if cell.has(pin):
        raise cell.error(f"pin {pin} is connected and constant")
    return constant


def _stage(cell: Cell, text: Text, register: str, clock: str, value: str, width: int) -> str:
    """A register of the block, if it is there."""
    cell.one_of(f"{register}_CE", "CE0")
    cell.one_of(f"{register}_RST", "RST0")
    if cell.one_of(f"{register}_CLK", "NONE", "CLK0") == "NONE":
        return text.named(value, width)
    return text.clocked(clock, value, width)
