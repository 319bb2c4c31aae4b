"""The Verilog of a netlist, as models of cells write it, with look-up tables as Boolean expressions, which simulators
compile to far less than a table's shifts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from rbdgen_boards.models.cell import CONSTANTS, Bit

ZERO, ONE = "1'b0", "1'b1"


def reduced(contents: int, inputs: list[Bit]) -> tuple[int, list[Bit]]:
    """The table of those inputs that are no constants, the first of the ``inputs`` being the lowest bit of the
    address."""
    kept: list[Bit] = []
    positions = []
    fixed = 0
    for k, bit in enumerate(inputs):
        if bit not in CONSTANTS:
            kept.append(bit)
            positions.append(k)
        elif bit == "1":
            fixed |= 1 << k
    table = 0
    for address in range(1 << len(kept)):
        whole = fixed
        for k, position in enumerate(positions):
            whole |= (address >> k & 1) << position
        table |= (contents >> whole & 1) << address
    return table, kept


def expression(contents: int, names: list[str]) -> str:
    """A table as an expression of its inputs' ``names``."""
    # a pattern with the inputs' numbers, which is the same for all cells with that table
    return _cheapest(contents, len(names))[1].format(*names)


def depends_on(contents: int, size: int, k: int) -> bool:
    """Whether the output of a table of ``size`` inputs ever depends on the input of that number."""
    zero, one = _cofactors(contents, size, k)
    return zero != one


@cache
def _cheapest(table: int, size: int) -> tuple[int, str]:
    """Operations of the cheapest expression that decisions about one input after the other give, and its pattern."""
    full = (1 << (1 << size)) - 1
    if table == 0:
        return 0, ZERO
    if table == full:
        return 0, ONE
    return min(_decided(table, size, k) for k in range(size))


def _decided(table: int, size: int, k: int) -> tuple[int, str]:
    """The same where the input of number ``k`` is decided about first."""
    zero, one = _cofactors(table, size, k)
    full = (1 << (1 << size)) - 1
    name = f"{{{k}}}"
    # a table that does not depend on the input would ask for itself without end
    zero_cost, when_zero = _cheapest(zero, size) if zero != table else (99, "")
    one_cost, when_one = _cheapest(one, size) if one != table else (99, "")
    if zero == one:
        return zero_cost, when_zero
    cost = zero_cost + one_cost
    # both halves are opposites: an exclusive or has one of them only
    if zero == full ^ one:
        if zero == 0:
            return 0, name
        if zero == full:
            return 1, f"!{name}"
        return 1 + zero_cost, f"({name} ^ {when_zero})"
    if zero == 0:
        return 1 + cost, f"({name} & {when_one})"
    if one == full:
        return 1 + cost, f"({name} | {when_zero})"
    if one == 0:
        return 2 + cost, f"(!{name} & {when_zero})"
    if zero == full:
        return 2 + cost, f"(!{name} | {when_one})"
    return 2 + cost, f"({name} ? {when_one} : {when_zero})"


def _cofactors(table: int, size: int, k: int) -> tuple[int, int]:
    """A table, of as many inputs, where the input of number ``k`` is zero, and where it is one."""
    zero = one = 0
    for address in range(1 << size):
        low = address & ~(1 << k)
        zero |= (table >> low & 1) << address
        one |= (table >> (low | 1 << k) & 1) << address
    return zero, one


class Text:
    """Lines of Verilog, the nets that they read, and those that they drive."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.read: set[int] = set()
        self.driven: dict[int, str] = {}
        """Values that registers begin with, else nothing, by net."""
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
        # a register without a net needs a name all the same
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
