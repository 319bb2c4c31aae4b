"""The Verilog of a netlist by a family's models, and faults of a netlist as a whole."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from rbdgen.errors import ToolError
from rbdgen_boards.models.cell import REMEDY, Bit, Cell
from rbdgen_boards.models.verilog_text import Text
from rbdgen_boards.netlists import Netlist

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
