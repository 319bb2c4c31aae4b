"""The Verilog of a netlist, as models of cells write it."""

from __future__ import annotations

from collections.abc import Sequence

from rbdgen_boards.models.cell import Bit
from rbdgen_boards.models.tables import expression, reduced


class Text:
    """Lines of Verilog, the nets that they read, and those that they drive."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.read: set[int] = set()
        self.driven: dict[int, str] = {}
        """What registers begin with, else nothing, by net."""
        self.twice: list[int] = []
        """Nets with several drivers."""
        self.count = 0

    def line(self, text: str) -> None:
        """Add a line."""
        self.lines.append(text)

    def value(self, bit: Bit) -> str:
        """A net or a constant as an expression."""
        if isinstance(bit, str):
            return f"1'b{bit}"
        self.read.add(bit)
        return f"n{bit}"

    def vector(self, bits: Sequence[Bit]) -> str:
        """Nets as an expression, the lowest first."""
        return f"{{{', '.join(self.value(bit) for bit in reversed(bits))}}}"

    def fresh(self, what: str) -> str:
        """A name that no other has."""
        self.count += 1
        return f"{what}{self.count}"

    def drive(self, bit: Bit | None, start: str = "") -> str:
        """A net that is driven, from ``start`` on where it is a register. None: no net is there."""
        if not isinstance(bit, int):
            return self._unused(start)
        if bit in self.driven:
            self.twice.append(bit)
        self.driven[bit] = start
        return f"n{bit}"

    def _unused(self, start: str) -> str:
        name = self.fresh("unused")
        self.line(f"{'reg' if start else 'wire'} {name}{f' = {start}' if start else ''};")
        return name

    def assign(self, bit: Bit | None, expression: str) -> None:
        """Drive a net by an expression."""
        if isinstance(bit, int):
            self.line(f"assign {self.drive(bit)} = {expression};")

    def assign_vector(self, bits: Sequence[Bit | None], expression: str) -> None:
        """Drive nets, the lowest first, by an expression; those that are None are not there."""
        name = self.fresh("v")
        self.line(f"wire [{len(bits) - 1}:0] {name} = {expression};")
        for k, bit in enumerate(bits):
            self.assign(bit, f"{name}[{k}]")

    def table(self, contents: int, inputs: Sequence[Bit]) -> str:
        """A look-up table's output, the first of the ``inputs`` being the lowest bit of its address."""
        table, kept = reduced(contents, list(inputs))
        return expression(table, [self.value(bit) for bit in kept])

    def wire(self, expression: str) -> str:
        """The name of an expression of one bit."""
        name = self.fresh("w")
        self.line(f"wire {name} = {expression};")
        return name

    def register(
        self,
        q: Bit | None,
        clock: str,
        d: str,
        enable: str = "1'b1",
        reset: str = "",
        start: str = "1'b0",
    ) -> None:
        """A register of one bit: ``clock`` is an edge, ``reset`` sets it to ``start`` whether enabled or not."""
        name = self.drive(q, start)
        first = f"if ({reset}) {name} <= {start}; else " if reset else ""
        self.line(f"always @({clock}) {first}if ({enable}) {name} <= {d};")

    def clocked(self, clock: str, value: str, width: int) -> str:
        """The name of a signed value of so many bits behind a register that begins with zero."""
        name = self.fresh("stage")
        self.line(f"reg signed [{width - 1}:0] {name} = 0;")
        self.line(f"always @(posedge {clock}) {name} <= {value};")
        return name

    def named(self, value: str, width: int) -> str:
        """The name of a signed value of so many bits."""
        name = self.fresh("value")
        self.line(f"wire signed [{width - 1}:0] {name} = {value};")
        return name
