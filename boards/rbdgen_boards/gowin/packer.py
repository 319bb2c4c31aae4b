"""apycula's packer for Gowin bitstreams, without its long search: for each of a large design's million connections it
looks in every tile of the device whether it belongs to a clock of inputs and outputs, which takes most of an hour."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from apycula import gowin_pack, wirenames

Pip = tuple[int, int, str, str]
"""A connection: row, column, and the wires that it leads from and to."""
PARAMETERS = ["db", "tilemap", "pips"]
"""Of the function that sets a routing's bits, in the versions that are known."""


def without_clocks(db: Any) -> Any:
    """The device ``db`` as it is for connections inside tiles: it has no rows to be searched, and no clock wires of
    inputs and outputs."""
    kind = type(db)
    inside = copy.copy(db)
    # the number of rows is a property of apycula's class: only another class can say otherwise
    inside.__class__ = type(kind.__name__, (kind,), {"rows": 0})
    inside.hclk_pips = {}
    return inside


def faster(
    route: Callable[[Any, Any, Iterable[Pip]], None],
) -> Callable[[Any, Any, Iterable[Pip]], None]:
    """``route`` of apycula, which sets the same bits sooner."""

    def split(db: Any, tilemap: Any, pips: Iterable[Pip]) -> None:
        searched = {dest for tile in db.hclk_pips.values() for dest in tile}
        clocks = []
        others = []
        for pip in pips:
            *_, src, dest = pip
            clock = (
                src in wirenames.clknumbers
                or src[8:].startswith(("_BOT", "_TOP"))
                or dest in searched
            )
            (clocks if clock else others).append(pip)
        route(db, tilemap, clocks)
        route(without_clocks(db), tilemap, others)

    return split


def main() -> None:
    """``gowin_pack``, with its arguments."""
    # what is split here is not known of other versions, whose own way is slow but right
    if list(inspect.signature(gowin_pack.route).parameters) == PARAMETERS:
        gowin_pack.route = faster(gowin_pack.route)
    gowin_pack.main()
