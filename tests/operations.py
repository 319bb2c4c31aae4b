"""Graphs of one operation, for tests of its meaning and of the hardware that makes it."""

from __future__ import annotations

from rbdgen.ir.builder import Builder
from rbdgen.ir.constants import Constant
from rbdgen.ir.fixed import FixedGraph, verify_fixed
from rbdgen.ir.number_formats import Format
from rbdgen.ir.terms import ADDITION, DIFFERENCE, NEGATION, PRODUCT

SUMS = {"add": ADDITION, "sub": DIFFERENCE, "neg": NEGATION, "mul": PRODUCT}
"""Sums by what people call them."""


def one_operation(
    name: str,
    args: tuple[Format, ...],
    result: Format,
    constant: Constant | None = None,
    truncate: bool = False,
    overflow: str = "saturate",
) -> FixedGraph:
    """A graph that does one operation on operands a and b: of a sum its name, or ``scale`` with a constant."""
    builder = Builder("one")
    nodes = tuple(builder.input(operand) for operand, _ in zip("ab", args, strict=False))
    if constant is not None:
        y = builder.scale(nodes[0], constant.value)
    elif name in SUMS:
        y = builder.sum(nodes, SUMS[name])
    else:
        y = builder.make(name, nodes, result.frac if name == "round" else None)
    constants = {} if constant is None else {y: constant}
    truncated = frozenset([y] if truncate else [])
    fixed = FixedGraph(builder.graph({"y": y}), (*args, result), constants, truncated, overflow)
    verify_fixed(fixed)
    return fixed
