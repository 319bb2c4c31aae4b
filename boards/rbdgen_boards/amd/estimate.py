"""Resources of a design on an AMD device, estimated: what Yosys's synthesis makes of it, where Vivado is not there to
say. Placement and AMD's own synthesis come to other numbers, and nothing is said of clocks."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from rbdgen.caching import cached, keep
from rbdgen_boards.synthesis import Synthesis, cells, synthesise
from rbdgen_hw.yosys import yosys_version

ESTIMATOR = "Yosys's synth_xilinx"
"""What estimates are by, in words."""
CACHE, SUFFIX = "estimates", ".json"
"""Where estimates are kept (:mod:`rbdgen.caching`), and how their files' names end."""
CELLS_OF_TABLES = {
    1: (
        "LUT1",
        "LUT2",
        "LUT3",
        "LUT4",
        "LUT5",
        "LUT6",
        "SRL16E",
        "SRLC16E",
        "SRLC32E",
        "RAM32X1S",
        "RAM64X1S",
    ),
    2: ("RAM32X1D", "RAM64X1D", "RAM128X1S"),
    4: ("RAM128X1D", "RAM256X1S", "RAM32M", "RAM64M"),
    8: ("RAM256X1D", "RAM512X1S", "RAM32M16", "RAM64M8", "RAM32X16DR8", "RAM64X8SW"),
}
"""Cells by the look-up tables of six inputs that one takes (7 Series and UltraScale Architecture Libraries Guides)."""
TABLES = {cell: tables for tables, cells in CELLS_OF_TABLES.items() for cell in cells}
REGISTERS = ("FDRE", "FDSE", "FDCE", "FDPE", "FDRE_1", "FDSE_1", "FDCE_1", "FDPE_1")
MULTIPLIERS = ("DSP48E1", "DSP48E2")
ZERO_WORD = re.compile(r"^ +\w+\[\d+\] = \d+'[dh]0+;\n", re.M)
"""A word of a memory that begins with zero, as it does in these devices whoever says so; tens of thousands of them take
synthesis minutes."""
MEMORIES = {"RAMB36E1": 2, "RAMB36E2": 2, "RAMB18E1": 1, "RAMB18E2": 1}
"""Halves of a block memory that a cell takes."""


def used(counted: Mapping[str, int]) -> dict[str, int]:
    """Cells of a netlist as a board's resources, by their names."""

    def total(weights: Mapping[str, int]) -> int:
        return sum(weight * counted.get(cell, 0) for cell, weight in weights.items())

    return {
        "multipliers": total(dict.fromkeys(MULTIPLIERS, 1)),
        "luts": total(TABLES),
        "registers": total(dict.fromkeys(REGISTERS, 1)),
        # two halves may be of one
        "memories": -(-total(MEMORIES) // 2),
    }


def estimate(sources: Mapping[str, str], top: str, how: Synthesis) -> dict[str, int]:
    """Resources of the module ``top`` of Verilog files, whole; from the user's cache where that was synthesised before.
    ToolError if Yosys fails."""
    content = {
        "text": Path(__file__).read_text(encoding="utf-8"),
        "sources": dict(sources),
        "how": [top, asdict(how), yosys_version()],
    }
    key = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]
    found = cached(CACHE, key, SUFFIX)
    if found is not None:
        return json.loads(found.content)
    with TemporaryDirectory(prefix="rbdgen-estimate-") as name:
        directory = Path(name)
        short = {file: ZERO_WORD.sub("", text) for file, text in sources.items()}
        synthesise(directory, short, "", how, top)
        resources = used(cells(directory))
    keep(CACHE, key, SUFFIX, json.dumps(resources).encode())
    return resources
