"""What Vivado's reports say: the clock that timing allows, and what was used."""

from __future__ import annotations

import re

from rbdgen.errors import ToolError
from rbdgen_boards.vivado.project import TIMING


def achieved_clock(report: str, clock: float) -> float:
    """MHz that a timing summary allows, from the worst slack at ``clock``. ToolError if it has none."""
    found = re.search(r"WNS\(ns\).*?\n[-\s]+\n\s*(-?[\d.]+)", report, re.S)
    if found is None:
        raise ToolError(f"vivado: {TIMING} has no worst slack; look into it")
    return 1e3 / (1e3 / clock - float(found[1]))


def used(report: str) -> dict[str, int]:
    """A utilisation report's figures, by the names of a board's resources."""
    rows = {
        "multipliers": r"DSPs",
        "luts": r"(?:CLB|Slice) LUTs\*?",
        "registers": r"(?:CLB|Slice) Registers",
        "memories": r"Block RAM Tile",
    }
    found = {
        name: re.search(rf"^\|\s*{row}\s*\|\s*(\d+)", report, re.M) for name, row in rows.items()
    }
    return {name: int(f[1]) for name, f in found.items() if f is not None}
