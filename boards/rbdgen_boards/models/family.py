"""The models of a family of devices, by the types of cells."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from rbdgen_boards.models.cell import Bit, Cell
from rbdgen_boards.models.text import Text

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
