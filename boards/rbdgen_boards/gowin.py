"""Gowin GW5A: Yosys, nextpnr-himbaechel, gowin_pack from apycula.

These tools know no PLL of the GW5AST-138: a bitstream runs at the board's own clock, whatever routing would allow.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rbdgen_boards import tools
from rbdgen_boards.board import Board
from rbdgen_boards.chipdb import Clocked, with_delays
from rbdgen_boards.flow import (
    NETLIST,
    TOP,
    Progress,
    Request,
    Routed,
    Synthesis,
    Timer,
    cells,
    check_room,
    synthesise,
)
from rbdgen_boards.paths import Unknown, slowest_path
from rbdgen_boards.placement import FIRST, registers_to_sums
from rbdgen_boards.top import cst

FAMILIES = {"GW5AST-LV138FPG676AC1/I0": "GW5AST-138C"}
"""Name of a part's family in nextpnr and apycula."""
USED = {"MULTALU27X18": "multipliers", "LUT4": "luts", "ALU": "luts", "DFF": "registers", "BSRAM": "memories"}
"""nextpnr's names of what a board's resources are: a sum's bit takes a look-up table's place, and so does a register
whose input comes through one."""
REGISTERS = (
    *("-cell $_DFF_?_ 0", "-cell $_DFFE_?P_ 0"),
    *("-cell $_SDFF_?P?_ r", "-cell $_SDFFE_?P?P_ r", "-cell $_DFFE_?P?P_ r"),
)
"""The device's registers, as Yosys calls them, with and without enable and reset."""
SYNTHESIS = Synthesis(
    "synth_gowin -family gw5a -nowidelut",
    "map_ffs",
    "map_luts",
    (
        "opt_clean",
        f"dfflegalize {' '.join(REGISTERS)}",
        "techmap -map +/gowin/cells_map.v",
        "opt_expr -mux_undef",
        "simplemap",
    ),
)
"""Yosys's command. Its wide look-up tables take more of the small ones, and tie cells together that are better placed
apart. Its registers with an enable have a reset as well, which for most is a constant that takes a wire of the fabric
to get there; the device's have none unless it is switched on."""
SUM_OR_DIFFERENCE, SUM, DIFFERENCE = 2, 0, 1
"""What an ALU does, as its parameter ALU_MODE: the first is chosen by its input I3, the others do not read it."""
DENSITY = 0.3
"""Share of each kind of cell's places that the placer fills: it takes look-up tables, sums and registers for neighbours
of different kinds, but in this family they take each other's places."""
URGENCY = 30
"""Weight of paths' slack in the placer: with nextpnr's own third of it, ways grow long that would not have to."""
ROUTER = "router2"
"""nextpnr's router: with the other one, large designs keep ripping up what they have."""
MULTIPLIER = Clocked("MULTALU27X1800", "CLK0", ("CLK", "CE", "RESET"), setup=0.5, output=2.0)
"""Delays of multipliers. nextpnr knows none and apycula has none, so they are assumed: most of the time behind the
product's register, where the sum that follows it is passed. nextpnr is told of them, so that it places multipliers by
what their paths need."""
UNKNOWN = Unknown(
    {"LUT4": {"I0": 0.549, "I1": 0.57, "I2": 0.462, "I3": 0.371}},
    {
        "MULTALU27X18": (MULTIPLIER.output, MULTIPLIER.setup),
        **dict.fromkeys(("SP", "SDP", "DP", "ROM"), (2.26, 0.44)),
    },
)
"""What else nextpnr does not know of this family, and multipliers, for where it has not been told. Tables that it adds
itself, on the way into a register, and memories are as apycula's data have them for the speed grade C1/I0."""
DATABASE = "chipdb.bin"
PLACED, ROUTED, REPORT = "placed.json", "routed.json", "nextpnr.json"
DELAYS = "delays.sdf"
BITSTREAM = "bitstream.fs"
FILES = (BITSTREAM, "placement.log", "nextpnr.log", REPORT)
TOOLS = (tools.NEXTPNR_GOWIN, tools.GOWIN_PACK)


def clocking(board: Board, clock: float, directory: Path) -> tuple[str, str, float]:
    """No clock module, the lines of the top module in its place, and the board's own clock in MHz."""
    return "", "  assign clock = clk;\n  assign settled = 1'b1;\n", board.clock


def used_cells(count: Mapping[str, int]) -> dict[str, int]:
    """A netlist's cells as resources of the board."""
    luts = sum(n for cell, n in count.items() if cell in ("LUT1", "LUT2", "LUT3", "LUT4", "ALU"))
    memories = sum(n for cell, n in count.items() if cell.startswith(("SDP", "DP", "SP", "pROM")))
    registers = sum(n for cell, n in count.items() if cell.startswith("DFF"))
    return {
        "multipliers": count.get("MULTALU27X18", 0),
        "luts": luts + 8 * count.get("RAM16SDP4", 0),
        "registers": registers,
        "memories": memories,
    }


def blocked(netlist: Mapping[str, Any]) -> int:
    """Look-up tables that registers take, at least: a register's input comes from the table or sum in its own place,
    and one that is fed by something else leaves no room for another there."""
    made: set[object] = set()
    for cell in netlist.values():
        if cell["type"].startswith("LUT") or cell["type"] == "ALU":
            made.update(cell["connections"]["SUM" if cell["type"] == "ALU" else "F"])
    inputs = [c["connections"]["D"][0] for c in netlist.values() if c["type"].startswith("DFF")]
    return len(inputs) - len(made.intersection(inputs))


def decide_sums(netlist: Mapping[str, Any]) -> None:
    """Make of ALUs that are always sums or always differences such by their mode. Yosys tells them by a constant, which
    takes wires of the fabric to get there. (Those that have a constant to add are nextpnr's, which builds it in.)"""
    constants = {bit: c["type"] == "VCC" for c in netlist.values() if c["type"] in ("VCC", "GND") for bit in _bits(c)}
    for cell in netlist.values():
        pins = cell["connections"]
        if cell["type"] != "ALU" or int(cell["parameters"]["ALU_MODE"], 2) != SUM_OR_DIFFERENCE:
            continue
        known = {pin: constants[pins[pin][0]] for pin in ("I0", "I1", "I3") if pins[pin][0] in constants}
        if known.keys() == {"I3"}:
            cell["parameters"]["ALU_MODE"] = f"{SUM if known['I3'] else DIFFERENCE:032b}"
            del pins["I3"]


def widen_tables(netlist: Mapping[str, Any]) -> None:
    """Make look-up tables with four inputs of those with fewer: nextpnr knows no delays of these."""
    for cell in netlist.values():
        if cell["type"] in ("LUT1", "LUT2", "LUT3"):
            cell["type"], table = "LUT4", cell["parameters"]["INIT"]
            cell["parameters"]["INIT"] = table * (16 // len(table))


def _bits(cell: Mapping[str, Any]) -> list[Any]:
    """The bits that a cell is connected to."""
    return [bit for bits in cell["connections"].values() for bit in bits]


def build(request: Request, directory: Path, progress: Progress) -> Routed:
    """Synthesis, place and route, bitstream. ConfigError if it does not fit, ToolError if a tool fails."""
    board, timer = request.board, Timer(progress)
    timer.step("synthesis")
    synthesise(directory, request.sources, request.overrides, SYNTHESIS)
    design = json.loads((directory / NETLIST).read_text(encoding="utf-8"))
    netlist = design["modules"][TOP]["cells"]
    used = used_cells(cells(directory))
    check_room(board, used | {"luts": used["luts"] + blocked(netlist)})
    decide_sums(netlist)
    widen_tables(netlist)
    (directory / NETLIST).write_text(json.dumps(design), encoding="utf-8")
    (directory / "board.cst").write_text(cst(board), encoding="utf-8")
    family = FAMILIES[board.part]
    timer.step(f"place and route at {request.clock:g} MHz")
    how = ["--device", board.part, "--vopt", f"family={family}", "--vopt", "cst=board.cst"]
    how += ["--freq", f"{request.clock:g}", "--seed", str(request.seed), "--timing-allow-fail"]
    how += ["--placer-heap-beta", f"{DENSITY:g}", "--placer-heap-timingweight", f"{URGENCY}", "--router", ROUTER]
    known = tools.data(tools.NEXTPNR_GOWIN, f"share/himbaechel/gowin/chipdb-{family}.bin")
    if known is not None:
        (directory / DATABASE).write_bytes(with_delays(known.read_bytes(), MULTIPLIER))
        how += ["--chipdb", DATABASE]
    place = ["--json", NETLIST, "--write", PLACED, "--no-route"]
    tools.run(tools.NEXTPNR_GOWIN, [*how, *place], directory, "placement.log")
    placed = json.loads((directory / PLACED).read_text(encoding="utf-8"))
    registers_to_sums(placed)
    (directory / PLACED).write_text(json.dumps(placed), encoding="utf-8")
    route = ["--json", PLACED, "--no-pack", "--write", ROUTED, "--report", REPORT, "--sdf", DELAYS]
    tools.run(tools.NEXTPNR_GOWIN, [*how, *route], directory, "nextpnr.log")
    for name in (DATABASE, PLACED):
        (directory / name).unlink(missing_ok=True)
    report = (directory / REPORT).read_text(encoding="utf-8").replace(FIRST, "")
    (directory / REPORT).write_text(report, encoding="utf-8")
    timer.step("bitstream")
    tools.run(tools.GOWIN_PACK, ["-d", family, "-o", BITSTREAM, ROUTED], directory, "gowin_pack.log")
    (directory / ROUTED).unlink()
    timer.step("slowest path")
    with (directory / DELAYS).open(encoding="utf-8") as delays:
        period, path = slowest_path((line.replace(FIRST, "") for line in delays), UNKNOWN)
    (directory / DELAYS).unlink()
    timer.stop()
    used, utilization = dict.fromkeys(USED.values(), 0), json.loads(report)["utilization"]
    for name, resource in USED.items():
        used[resource] += utilization.get(name, {"used": 0})["used"]
    return Routed(1e3 / period, used, path, BITSTREAM, timer.seconds)
