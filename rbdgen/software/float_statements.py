"""C statements of floating-point kernels, double or float."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rbdgen.ir.graph import Node
from rbdgen.software.blocks import Block
from rbdgen.software.program import Straight
from rbdgen.software.statements import Statements

POSITIVE, NEAR = "positive", "near"
"""What a kernel checks: that what it divides by is above zero, and that angles are near enough for its sines."""
BINARY = {"add": "+", "sub": "-", "mul": "*"}


def literal(x: float) -> str:
    """A constant of the kernel's type."""
    return f"RBD_C({x!r})"


class FloatStatements(Statements):
    """C statements for the nodes of one block, in floating point."""

    def __init__(
        self, straight: Straight, block: Block, kinds: Mapping[str, str], slots: str = "LOCAL"
    ) -> None:
        super().__init__(straight, block, kinds, slots)
        self.paired = self._pairs()

    def proceed(self, block: Block) -> None:
        """Go on with another block."""
        super().proceed(block)
        self.paired = self._pairs()

    def _pairs(self) -> dict[int, dict[str, int]]:
        """For each angle its sine and cosine in this block."""
        pairs: dict[int, dict[str, int]] = {}
        for i in self.block.nodes:
            node = self.graph.nodes[i]
            if node.op in ("sin", "cos"):
                pairs.setdefault(node.args[0], {})[node.op] = i
        return pairs

    def constant(self, i: int, node: Node) -> str:
        """A constant of the kernel's type."""
        return literal(node.attr)

    def node(self, i: int, node: Node) -> None:
        """The statements of one operation; sine and cosine of an angle at once."""
        if node.op not in ("sin", "cos"):
            super().node(i, node)
        elif i not in self.names:
            self._angle(node)

    def _angle(self, node: Node) -> None:
        pair = self.paired[node.args[0]]
        angle = self.value(node.args[0])
        names = {}
        for op in ("sin", "cos"):
            names[op] = self.name(pair[op]) if op in pair else f"{angle}_{op}"
        self.lines.append(f"RBD_REAL {names['sin']}, {names['cos']};")
        self.lines.append(f"RBD_SINCOS({angle}, {names['sin']}, {names['cos']}, {NEAR});")
        self.checks.add(NEAR)

    def expression(self, i: int, node: Node, args: Sequence[str]) -> str:
        """An operation's value."""
        match node.op:
            case "add" | "sub" | "mul":
                return f"{args[0]} {BINARY[node.op]} {args[1]}"
            case "neg":
                return f"-{args[0]}"
            case "abs":
                return f"RBD_ABS({args[0]})"
            case "scale":
                return f"{literal(node.attr)} * {args[0]}"
            case "shift":
                return f"{literal(2.0**node.attr)} * {args[0]}"
            case "reciprocal":
                self._positive(args[0])
                return f"RBD_C(1.0) / {args[0]}"
            case "divide":
                self._positive(args[1])
                return f"{args[0]} / {args[1]}"
            case _:
                raise ValueError(f"node ({node.op}): no meaning in floating point")

    def _positive(self, x: str) -> None:
        """Note whether ``x`` is above zero."""
        self.lines.append(f"RBD_CHECK({POSITIVE}, {x} > RBD_C(0.0));")
        self.checks.add(POSITIVE)
