"""The Verilog of a netlist by a family's models, with look-up tables as Boolean expressions, which simulators take in
fast; and faults of a netlist as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from rbdgen.errors import ToolError
from rbdgen_boards.models.cell import CONSTANTS, REMEDY, Bit, Cell
from rbdgen_boards.synthesis import Netlist

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


Connections = list[tuple[int | None, Bit]]
"""Nets that are others, or constants: what a cell drives, and by what."""


@dataclass(frozen=True)
class Models:
    """``wires``: cells that pass something on or are constant, with what they connect; one that connects nothing is
    modelled by ``cells``. ``constants``: those that are always constant. ``silent``: those that nothing in the fabric
    reads."""

    wires: Mapping[str, Callable[[Cell], Connections]]
    cells: Mapping[str, Callable[[Cell, Text], None]]
    constants: Collection[str] = ()
    silent: Collection[str] = ()


INPUT = "input"


class _Wires:
    """Nets that are others: what each is in the end."""

    def __init__(self) -> None:
        self.source: dict[Any, Any] = {}

    def connect(self, net: int | None, source: Any) -> None:
        if net is None:
            return
        if net in self.source:
            raise ToolError(f"netlist: net {net} has several drivers; {REMEDY}")
        self.source[net] = source

    def resolve(self, bit: Any) -> Any:
        while bit in self.source:
            bit = self.source[bit]
        return bit


def netlist_verilog(netlist: Netlist, models: Models, top: str) -> str:
    """Verilog of module ``top``, with the netlist's ports. ToolError for what has no model, nets that are read and not
    driven, and nets with several drivers."""
    wires, text = _Wires(), Text()
    cells = _cells(netlist, models, wires)
    # constants first: others must have some at their pins
    cells.sort(key=lambda cell: cell.kind not in (*models.cells, *models.constants))
    # all wires before any model, whose pins are resolved through them
    left = [cell for cell in cells if not _passes(cell, models, wires)]
    for cell in left:
        model = models.cells.get(cell.kind)
        if model is None:
            raise cell.error("has no model")
        model(cell, text)
        _require_all_seen(cell)
    return _module(netlist, wires, text, top)


def _cells(netlist: Netlist, models: Models, wires: _Wires) -> list[Cell]:
    found = []
    for name, cell in netlist["cells"].items():
        kind = cell["type"]
        if kind not in models.silent:
            found.append(Cell(name, kind, cell["parameters"], cell["connections"], wires.resolve))
    return found


def _passes(cell: Cell, models: Models, wires: _Wires) -> bool:
    """Whether a cell only connects nets; they are connected then."""
    model = models.wires.get(cell.kind)
    if model is None:
        return False
    made = model(cell)
    if not made and cell.kind in models.cells:
        return False
    _require_all_seen(cell)
    for net, source in made:
        wires.connect(net, source)
    return True


def _require_all_seen(cell: Cell) -> None:
    """ToolError if a model has not looked at all of a cell."""
    left = cell.left()
    if left:
        value = cell.parameters.get(left[0])
        said = f"pin {left[0]}" if value is None else f"{left[0]}={value}"
        raise cell.error(f"{said} has no model")


def _module(netlist: Netlist, wires: _Wires, text: Text, top: str) -> str:
    """The module around the cells' lines."""
    ports, ends = [], []
    for name, port in netlist["ports"].items():
        bits, direction = port["bits"], port["direction"]
        ports.append(f"{direction} [{len(bits) - 1}:0] {name}")
        for k, bit in enumerate(bits):
            if direction == INPUT:
                text.assign(bit, f"{name}[{k}]")
            else:
                ends.append(f"assign {name}[{k}] = {text.value(wires.resolve(bit))};")
    _require_sound(text)
    nets = []
    for bit in sorted(text.read | text.driven.keys()):
        start = text.driven[bit]
        nets.append(f"reg n{bit} = {start};" if start else f"wire n{bit};")
    lines = [f"module {top}({', '.join(ports)});", *nets, *text.lines, *ends, "endmodule"]
    return "\n".join(lines) + "\n"


def _require_sound(text: Text) -> None:
    """ToolError for nets without a driver, or with several."""
    open_nets = sorted(text.read - text.driven.keys())
    if open_nets:
        raise ToolError(f"netlist: net {open_nets[0]} is read and has no driver; {REMEDY}")
    if text.twice:
        raise ToolError(f"netlist: net {text.twice[0]} has several drivers; {REMEDY}")
