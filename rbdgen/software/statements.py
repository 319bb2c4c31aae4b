"""C statements over macros for the operations of one block; what each operation is, its arithmetic says.

What the macros mean is in ``c/rbd_kernel.h`` and in the instances beside it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence

from rbdgen.ir.graph import Node
from rbdgen.ir.ops import require
from rbdgen.software.blocks import LONGEST, Block
from rbdgen.software.program import Straight


class Statements(ABC):
    """C statements for the nodes of one block. ``kinds``: by which macro an array is accessed, and ``slots`` values in
    slots; ``longest``: operations that a compiler takes in one function."""

    longest = LONGEST
    language = "C"
    """Language of the statements, in messages."""

    def __init__(
        self, straight: Straight, block: Block, kinds: Mapping[str, str], slots: str = "LOCAL"
    ) -> None:
        require(straight.graph.operations, self.expressions(), self.language)
        self.slots = slots
        self.named = 0
        self.kept: set[int] = set()
        self.straight = straight
        self.graph = straight.graph
        self.block = block
        self.kinds = kinds
        self.names: dict[int, str] = {}
        self.lines: list[str] = []
        self.checks: set[str] = set()
        self.tables: dict[str, tuple[int, ...]] = {}
        self.owner = ""

    @staticmethod
    @abstractmethod
    def expressions() -> Collection[str]:
        """The operations that there is C for."""

    def text(self) -> list[str]:
        """All lines."""
        for i in self.block.nodes:
            node = self.graph.nodes[i]
            if node.owner != self.owner:
                self.owner = node.owner
                self.lines.append(f"/* {node.owner} */")
            self.node(i, node)
        for place, i in self.block.writes:
            self.lines.append(f"{self.entry(*place)} = {self.left(place, i)};")
        for i, slot in sorted(self.block.leaves.items(), key=lambda pair: pair[1]):
            self.lines.append(f"{self.slot(slot)} = {self.value(i)};")
        return self.lines

    def begin(self) -> list[str]:
        """Lines before the statements."""
        return [f"RBD_BEGIN_CHECK({check});" for check in sorted(self.checks)]

    def end(self) -> list[str]:
        """Lines behind them."""
        return [f"RBD_END_CHECK({check});" for check in sorted(self.checks)]

    def entry(self, array: str, k: int) -> str:
        """An entry of an array."""
        return f"RBD_{self.kinds[array]}({array}, {k})"

    def slot(self, number: int) -> str:
        """A value that waits for another block."""
        return f"RBD_{self.slots}(slots, {number})"

    def proceed(self, block: Block) -> None:
        """Go on with another block: it has what this one computed and left in no slot, and fetches all else."""
        computed = set(self.block.nodes) | self.kept
        # what waits in a slot is fetched from there, so that it takes no register meanwhile
        self.kept = computed - set(self.block.leaves)
        self.names = {i: name for i, name in self.names.items() if i in self.kept}
        self.block = block

    def name(self, i: int) -> str:
        """Name of a node's value in C."""
        if i not in self.names:
            self.names[i] = f"t{self.named}"
            self.named += 1
        return self.names[i]

    def value(self, i: int) -> str:
        """A node's value, which is fetched where it is not here yet."""
        node = self.graph.nodes[i]
        if node.is_const:
            return self.constant(i, node)
        if i not in self.names:
            if node.is_input:
                source = self.entry(*self.straight.reads[node.attr])
            else:
                source = self.slot(self.block.takes[i])
            self.lines.append(f"const RBD_REAL {self.name(i)} = {source};")
        return self.names[i]

    def node(self, i: int, node: Node) -> None:
        """The statements of one operation."""
        args = [self.value(a) for a in node.args]
        expression = self.expression(i, node, args)
        self.lines.append(f"const RBD_REAL {self.name(i)} = {expression};")

    def left(self, place: tuple[str, int], i: int) -> str:
        """Value for a place."""
        return self.value(i)

    @abstractmethod
    def constant(self, i: int, node: Node) -> str:
        """A constant node's value."""

    @abstractmethod
    def expression(self, i: int, node: Node, args: Sequence[str]) -> str:
        """An operation's value."""
