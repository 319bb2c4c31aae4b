"""Gowin GW5A's multiplier blocks: a signed product of 27 × 18 bits in a sum of 48, with registers.

Source: Gowin UG305, "Arora V Digital Signal Processing (DSP) User Guide".
"""

from __future__ import annotations

from rbdgen_boards.models.cell import Cell
from rbdgen_boards.models.text import Text

A, B, SUM = 27, 18, 48
SWITCHES = (
    "A_SEL",
    "P_SEL",
    "P_ADDSUB",
    "C_SEL",
    "CASI_SEL",
    "ACC_SEL",
    "ADD_SUB_0",
    "ADD_SUB_1",
)
"""What is added, selected or subtracted: nothing."""


def multalu27x18(cell: Cell, text: Text) -> None:
    """A product with the registers that :mod:`rbdgen_hw.primitives` asks for, and nothing added to it."""
    for switch in SWITCHES:
        cell.one_of(switch, "0")
        cell.one_of(f"DYN_{switch}", "FALSE")
    cell.one_of("MULT_RESET_MODE", "SYNC")
    clocks = cell.bus("CLK", 2, "0")
    enables = cell.bus("CE", 2, "0")
    resets = cell.bus("RESET", 2, "0")
    always = enables[0] == "1" and resets[0] == "0"
    if not always:
        raise cell.error("enables and resets have no model unless they are constant")
    clock = text.value(clocks[0])
    first = _registered(cell, text, "AREG", clock, _operand(cell, text, "A", A), A)
    second = _registered(cell, text, "BREG", clock, _operand(cell, text, "B", B), B)
    product = f"{first} * {second}"
    total = _registered(cell, text, "PREG", clock, product, A + B)
    text.assign_vector(cell.outputs("DOUT", SUM), text.named(total, SUM))


def _operand(cell: Cell, text: Text, pin: str, width: int) -> str:
    bits = cell.bus(pin, width)
    return f"$signed({text.vector(bits)})"


def _registered(cell: Cell, text: Text, register: str, clock: str, value: str, width: int) -> str:
    """The name of a value behind a register of the block."""
    for kind in ("CLK", "CE", "RESET"):
        if cell.text(f"{register}_{kind}") != f"{kind}0":
            raise cell.error(f"has no model without {register}_{kind}={kind}0")
    return text.clocked(clock, value, width)
