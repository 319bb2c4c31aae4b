"""Lattice ECP5: Yosys, nextpnr-ecp5, ecppack; the clock from ecppll."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rbdgen.errors import ToolError
from rbdgen_boards import tools
from rbdgen_boards.board import Board
from rbdgen_boards.flow import (
    NETLIST,
    Progress,
    Request,
    Routed,
    Synthesis,
    Timer,
    cells,
    check_room,
    path_line,
    synthesise,
)
from rbdgen_boards.top import lpf

FAMILY = re.compile(r"LFE5U-(\d+)F-(\d)BG(\d+)C")
"""Part numbers: size, speed grade, balls."""
USED = {"MULT18X18D": "multipliers", "TRELLIS_COMB": "luts", "TRELLIS_FF": "registers", "DP16KD": "memories"}
"""nextpnr's names of what a board's resources are."""
LUTS_OF_CELL = {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 6}
"""Look-up tables that a cell of the netlist takes; a distributed memory is four tables and the two beside them."""
SYNTHESIS = Synthesis("synth_ecp5")
"""Yosys's command."""
LONG = 2.5
"""Tiles per connection above which a placement is not worth routing. nextpnr's usual placer leaves wires of multipliers
that many operations share that long."""
SHORT = ("--placer", "static", "--no-tmdriv")
"""A placement for short wires and nothing else: a third shorter in such designs, and so faster than one that looks at
the slowest paths; in designs whose wires are short anyway it takes longer to route."""
BITSTREAM = "bitstream.bit"
FILES = (BITSTREAM, "nextpnr.log", "nextpnr.json")
TOOLS = (tools.NEXTPNR_ECP5, tools.ECPPACK, tools.ECPPLL)


def clocking(board: Board, clock: float, directory: Path) -> tuple[str, str, float]:
    """The clock's module, the lines of the top module that use it, and the clock in MHz that it makes: the nearest to
    ``clock`` that the device's PLL can."""
    arguments = ["-i", f"{board.clock:g}", "-o", f"{clock:g}", "-f", "pll.v", "--module", "rbdgen_pll"]
    tools.run(tools.ECPPLL, [*arguments, "--clkin_name", "clkin", "--clkout0_name", "clkout"], directory, "ecppll.log")
    found = re.search(r"clkout0 frequency: ([\d.]+) MHz", (directory / "ecppll.log").read_text(encoding="utf-8"))
    if found is None:
        raise ToolError(
            f"ecppll: made no clock of {clock:g} MHz from {board.clock:g} MHz (log: {directory}/ecppll.log)"
        )
    lines = "  rbdgen_pll pll(.clkin(clk), .clkout(clock), .locked(settled));\n"
    return (directory / "pll.v").read_text(encoding="utf-8"), lines, float(found[1])


def used_cells(count: Mapping[str, int]) -> dict[str, int]:
    """A netlist's cells as resources of the board."""
    return {
        "multipliers": count.get("MULT18X18D", 0),
        "luts": sum(count.get(cell, 0) * luts for cell, luts in LUTS_OF_CELL.items()),
        "registers": count.get("TRELLIS_FF", 0),
        "memories": count.get("DP16KD", 0),
    }


def wires_are_long(log: str) -> bool:
    """Whether nextpnr's output, as far as it is there, says that connections are longer than :data:`LONG`."""
    length, arcs = re.findall(r"wirelen = (\d+)", log), re.search(r"Routing (\d+) arcs", log)
    return bool(length) and arcs is not None and int(length[-1]) > LONG * int(arcs[1])


def build(request: Request, directory: Path, progress: Progress) -> Routed:
    """Synthesis, place and route, bitstream. ConfigError if it does not fit, ToolError if a tool fails."""
    board, timer = request.board, Timer(progress)
    timer.step("synthesis")
    synthesise(directory, request.sources, request.overrides, SYNTHESIS)
    check_room(board, used_cells(cells(directory)))
    (directory / "board.lpf").write_text(lpf(board), encoding="utf-8")
    size, speed, balls = FAMILY.fullmatch(board.part).groups()  # type: ignore[union-attr]
    timer.step(f"place and route at {request.clock:g} MHz")
    where = ["--json", NETLIST, "--lpf", "board.lpf", "--textcfg", "board.config", "--report", "nextpnr.json"]
    what = [f"--{size}k", "--package", f"CABGA{balls}", "--speed", speed]
    how = ["--freq", f"{request.clock:g}", "--seed", str(request.seed), "--timing-allow-fail"]
    arguments = [*where, *what, *how]
    if not tools.run(tools.NEXTPNR_ECP5, arguments, directory, "nextpnr.log", wires_are_long):
        timer.step(f"wires are too long to be routed: place and route at {request.clock:g} MHz with shorter ones")
        tools.run(tools.NEXTPNR_ECP5, [*arguments, *SHORT], directory, "nextpnr.log")
    timer.step("bitstream")
    tools.run(tools.ECPPACK, ["--compress", "board.config", BITSTREAM], directory, "ecppack.log")
    timer.stop()
    report = json.loads((directory / "nextpnr.json").read_text(encoding="utf-8"))
    clock = min(report["fmax"], key=lambda name: report["fmax"][name]["achieved"])
    used = {USED[name]: u["used"] for name, u in report["utilization"].items() if name in USED}
    return Routed(report["fmax"][clock]["achieved"], used, critical_path(report, clock), BITSTREAM, timer.seconds)


def critical_path(report: Mapping[str, Any], clock: str) -> tuple[str, ...]:
    """The slowest path from register to register in nextpnr's report, a line per step."""
    paths = [p for p in report["critical_paths"] if p["from"].endswith(clock) and p["to"].endswith(clock)]
    if not paths:
        return ()
    lines, total = [], 0.0
    for step in paths[0]["path"]:
        total += step["delay"]
        source, sink = step["from"], step["to"]
        where = f"{source['cell']}.{source['port']} -> {sink['cell']}.{sink['port']}"
        lines.append(path_line(total, step["type"], where))
    return tuple(lines)
