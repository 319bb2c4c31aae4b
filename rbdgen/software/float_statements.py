"""C statements of floating-point kernels, double or float."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from rbdgen.ir.graph import Node
from rbdgen.ir.terms import ADDITION, DIFFERENCE, NEGATION, PRODUCT
from rbdgen.software.blocks import Block
from rbdgen.software.program import Straight
from rbdgen.software.statements import Statements

POSITIVE, NEAR = "positive", "near"
"""Names of a kernel's checks: that what it divides by is above zero, and that angles are near enough for its sines."""


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
            if node.operation.is_paired:
                pairs.setdefault(node.args[0], {})[node.op] = i
        return pairs

    @staticmethod
    def expressions() -> Collection[str]:
        """The operations that there is C for."""
        return EXPRESSIONS

    def constant(self, i: int, node: Node) -> str:
        """A constant of the kernel's type."""
        return literal(node.attr)

    def node(self, i: int, node: Node) -> None:
        """The statements of one operation; sine and cosine of an angle at once."""
        if not node.operation.is_paired:
            super().node(i, node)
        # its partner's statements have made it otherwise
        elif i not in self.names:
            self._angle(node)

    def _angle(self, node: Node) -> None:
        pair = self.paired[node.args[0]]
        angle = self.value(node.args[0])
        names = {}
        for op in ("sin", "cos"):
            # both are computed: the one that nobody asked for has a name as well
            names[op] = self.name(pair[op]) if op in pair else f"{angle}_{op}"
        self.lines.append(f"RBD_REAL {names['sin']}, {names['cos']};")
        self.lines.append(f"RBD_SINCOS({angle}, {names['sin']}, {names['cos']}, {NEAR});")
        self.checks.add(NEAR)

    def expression(self, i: int, node: Node, args: Sequence[str]) -> str:
        """An operation's value."""
        return EXPRESSIONS[node.op](self, node, args)

    def sum(self, node: Node, args: Sequence[str]) -> str:
        """A sum as traced graphs have them: of two terms at most."""
        factor = node.terms.multiple
        if factor is not None:
            return f"{literal(factor)} * {args[0]}"
        return OF_TWO[node.terms].format(*args)

    def shift(self, node: Node, args: Sequence[str]) -> str:
        """A multiple by a power of two."""
        return f"{literal(2.0**node.attr)} * {args[0]}"

    def magnitude(self, node: Node, args: Sequence[str]) -> str:
        """|x|."""
        return f"RBD_ABS({args[0]})"

    def reciprocal(self, node: Node, args: Sequence[str]) -> str:
        """1 / x, which is checked to be positive."""
        self._positive(args[0])
        return f"RBD_C(1.0) / {args[0]}"

    def divide(self, node: Node, args: Sequence[str]) -> str:
        """y / x, which is checked to be positive."""
        self._positive(args[1])
        return f"{args[0]} / {args[1]}"

    def given(self, node: Node, args: Sequence[str]) -> str:
        """Operands, constants, sines and cosines are no expressions: see :meth:`value` and :meth:`node`."""
        raise AssertionError(node.op)

    def _positive(self, x: str) -> None:
        """Note whether ``x`` is above zero."""
        self.lines.append(f"RBD_CHECK({POSITIVE}, {x} > RBD_C(0.0));")
        self.checks.add(POSITIVE)


OF_TWO = {
    ADDITION: "{0} + {1}",
    DIFFERENCE: "{0} - {1}",
    NEGATION: "-{0}",
    PRODUCT: "{0} * {1}",
}
"""C of the sums of traced graphs."""
EXPRESSIONS = {
    "input": FloatStatements.given,
    "const": FloatStatements.given,
    "sin": FloatStatements.given,
    "cos": FloatStatements.given,
    "sum": FloatStatements.sum,
    "shift": FloatStatements.shift,
    "abs": FloatStatements.magnitude,
    "reciprocal": FloatStatements.reciprocal,
    "divide": FloatStatements.divide,
}
"""C of every operation that algorithms have."""
