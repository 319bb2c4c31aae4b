"""Prints what boards and links reach beside the targets: ``make bench-boards``; hours, most of them place and route.

Bitstreams are built by the command itself with tools from PyPI, and kept in its cache; their netlists are simulated
from the pins. ``room`` counts what all functions take at longer intervals, by the model. The link is the RTL in
Verilator behind the host's own driver, without and with one byte in a hundred damaged; the AXI shell runs under
cocotbext-axi with random stalls on every channel. Exit status 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from builds import BUILDS, ROBOT
from figures import Part, Targets, arguments, measure, parse, section

from rbdgen import Design, Options, compile_robot, load_robot
from rbdgen.compiler.cost import FULL
from rbdgen.devices.registry import get_device
from rbdgen.emulation import bit_true_shell
from rbdgen.functions.registry import common
from rbdgen.host.driver import Driver
from rbdgen.host.stream_link import StreamLink
from rbdgen.host.transport import ProcessTransport
from rbdgen_boards.board import board_names, get_board
from rbdgen_boards.flows import get_flow, obstacle
from rbdgen_hw.emit import axi_verilog, design_verilog, link_verilog, write_shelled
from rbdgen_hw.packaging.fusesoc import WAIVERS, waivers, waivers_file
from rbdgen_sim import verilator
from rbdgen_sim.axi import DmaModel, play
from rbdgen_sim.comparison import check_mixed
from rbdgen_sim.device import build_device
from rbdgen_sim.faults import Noise

SUMMARY = f"Bitstreams of {ROBOT} with tools from PyPI"
SUMMARY_HEAD = [
    "board",
    "functions",
    "options",
    "routed, MHz",
    "runs at, MHz",
    "µs between tasks",
    "latency, µs",
    "multipliers",
    "look-up tables",
    "registers",
]
VERIFIED = "id"
"""Functions whose bitstreams' netlists are simulated."""
ESTIMATED = ("--ii", "4")
RELEASED = Path(__file__).parents[1] / "build/bitstreams"
"""Where ``make bitstreams`` puts the engines of all boards."""
"""Options of what is estimated of a board without an engine."""
BUILD_SECONDS = 7200
"""After how long a build is given up."""
TASKS = 10_000
ROOM = (12, 24, 48, 96, 192)
"""Intervals in cycles at which all functions are counted by the model."""


def bitstreams(targets: Targets, only: str | None) -> None:
    """Built by ``rbdgen build``: clock after routing, resources, times."""
    for board, functions, options, clock, ii in BUILDS:
        if only not in (None, f"{board}:{functions}"):
            continue
        title = " ".join((ROBOT, functions, "on", board, *options))
        begin = time.monotonic()
        report, complaints = built(board, functions, options)
        seconds = time.monotonic() - begin
        if report is None:
            targets.at_least(0.0, clock or 1.0)
            rows = [["", line] for line in complaints]
            section(title, ["", "what went wrong"], [*rows[:-1], ["MISSED", complaints[-1]]])
            continue
        from_cache = ", from the cache" if report["cached"] else ""
        rows = asked(targets, report, clock, ii) + measured(report)
        rows.append([f"seconds of this call{from_cache}", f"{seconds:.0f}", "", ""])
        section(title, ["what", "measured", "asked", ""], rows)
        section(SUMMARY, SUMMARY_HEAD, [summary(board, functions, options, report)], keys=2)


def built(
    board: str, functions: str, options: Sequence[str]
) -> tuple[dict[str, Any] | None, list[str]]:
    """The report of a build, or None and the last lines of what it said."""
    return answered("build", board, functions, options)


def answered(
    verb: str, board: str, functions: str, options: Sequence[str]
) -> tuple[dict[str, Any] | None, list[str]]:
    """The JSON that a command of ``rbdgen`` prints of a board, or None and the last lines of its complaints."""
    return told([verb, ROBOT, "--board", board, "--functions", functions, *options, "--json"])


def told(arguments: Sequence[str]) -> tuple[dict[str, Any] | None, list[str]]:
    """The same of any command."""
    command = [sys.executable, "-m", "rbdgen", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, process_group=0) as process:
        try:
            output, said = process.communicate(timeout=BUILD_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # place and route with it
            output, said = process.communicate()
            said += f"given up after {BUILD_SECONDS} s"
    if process.returncode:
        return None, said.strip().splitlines()[-2:]
    return json.loads(output), []


def netlists(targets: Targets) -> None:
    """Netlists of inverse dynamics after synthesis and after place and route, as what they were built from."""
    rows = []
    for board, functions, options, _, _ in BUILDS:
        if functions != VERIFIED or obstacle(get_board(board)) is not None:
            continue
        begin = time.monotonic()
        report, complaints = built(board, functions, [*options, "--verify", "netlist"])
        if report is None:
            targets.at_most(1, 0)
            rows.append([board, "", complaints[-1], "", "MISSED", ""])
            continue
        found = report["verified"]["netlist"]
        for stage in ("synthesis", "routed"):
            tasks, wrong = found[stage]["tasks"], found[stage]["mismatches"]
            rows.append([board, stage, tasks, wrong, targets.at_most(wrong, 0), ""])
        seconds = f"{found['seconds']:.0f} of {time.monotonic() - begin:.0f}"
        rows.append([board, "seconds, of those of the call", "", "", "", seconds])
    head = ["board", "netlist after", "tasks", "results that differ", "", "seconds"]
    section(f"Netlists of {ROBOT} {VERIFIED}, simulated from the pins", head, rows)


def estimates() -> None:
    """What Yosys's synthesis makes of the engines of boards whose tool is a vendor's, or of a pipeline where there is
    none."""
    rows = []
    kinds: list[str] = []
    for name in board_names():
        board = get_board(name)
        kinds = list(board.resources)
        if get_flow(board).needs:
            continue
        with tempfile.TemporaryDirectory() as folder:
            if board.engine:
                given = ("flash", "--board", name, "--keep")
                shape = f"engine, {board.engine['lanes']} lanes"
            else:
                given = ("build", ROBOT, "--board", name, "--functions", VERIFIED, *ESTIMATED)
                shape = " ".join((ROBOT, VERIFIED, *ESTIMATED))
            report, complaints = told([*given, "-o", folder, "--json"])
        if report is None:
            raise SystemExit("\n".join(complaints))
        if report["estimate"] is None:
            # measured, where the tool is there
            continue
        used = [
            f"{r['used']} of {r['available']}" for r in report["estimate"]["resources"].values()
        ]
        rows.append([name, board.part, shape, *used])
    head = ["board", "part", "what", *kinds]
    section("Estimates for boards of AMD's by Yosys's synth_xilinx, not placed", head, rows, keys=1)


def engines(targets: Targets) -> None:
    """What became of each board's engine in ``make bitstreams``: clocks, resources, and netlists from the pins."""
    rows = []
    for path in sorted(RELEASED.glob("work/*/engine.json")):
        report = json.loads(path.read_text(encoding="utf-8"))
        board = get_board(report["board"])
        verified = (report.get("verified") or {}).get("netlist")
        if verified:
            stages = [verified["synthesis"], verified["routed"]]
            differ = sum(stage["mismatches"] for stage in stages)
            netlists = [stages[-1]["tasks"], differ, targets.equal(differ, 0)]
        else:
            netlists = ["", "not simulated", ""]
        clock, running = report["clock_mhz"], report["running_clock_mhz"]
        used = [f"{r['used']:,} of {r['available']:,}" for r in report["resources"].values()]
        others = "; ".join(
            f"{port} {own['reached_mhz']:g} of {own['required_mhz']:g}"
            for port, own in report.get("clocks", {}).items()
        )
        reached = [clock, running, targets.at_least(clock, running), others]
        rows.append([board.name, board.part, report["engine"]["lanes"], *reached, *netlists, *used])
    if not rows:
        raise SystemExit(f"no engines in {RELEASED.name}; make bitstreams makes them")
    head = ["board", "part", "lanes", "routed, MHz", "runs at, MHz", "", "its PHY's"]
    head += ["tasks", "differ after synthesis and routing", ""]
    head += ["multipliers", "look-up tables", "registers", "memories"]
    section("Engines of boards with tools from PyPI, netlists simulated", head, rows, keys=1)


def room() -> None:
    """All functions over intervals by the model, beside what a board has and what place and route connects."""
    rows = []
    for board_name, functions, options, _, _ in BUILDS:
        if functions != "all":
            continue
        board = get_board(board_name)
        pairs = zip(options[::2], options[1::2], strict=True)
        others = [word for pair in pairs if pair[0] != "--ii" for word in pair]
        has = board.resources["luts"]
        connected = math.floor(FULL * get_device(board.timing).routable * has)
        for interval in ROOM:
            given = [*others, "--ii", str(interval)]
            report, complaints = answered("layout", board_name, functions, given)
            if report is None:
                raise SystemExit("\n".join(complaints))
            used = report["modelled_resources"]
            longest = max(f["ii_cycles"] for f in report["functions"].values())
            counts = used["luts"], f"{used['luts'] / has:.0%}", connected
            more = used["registers"], used["multipliers"]
            rows.append([board_name, " ".join(others), interval, longest, *counts, *more])
    head = ["board", "options", "II", "longest interval", "look-up tables", "of the board's"]
    head += ["connected at most, as a rule", "registers", "multiplier blocks"]
    section(f"All seven functions of {ROBOT}, by the model", head, rows, keys=3)


def asked(
    targets: Targets, report: dict[str, Any], clock: float | None, ii: int | None
) -> list[list[Any]]:
    """Rows of what is asked of a build: its clock in MHz and its interval, as far as they are."""
    reached = report["clock_mhz"]
    slowest = max(f["ii_cycles"] for f in report["functions"].values())
    met = targets.at_least(reached, clock) if clock else ""
    kept = targets.at_most(slowest, ii) if ii else ""
    return [
        ["clock after routing, MHz", reached, clock or "", met],
        ["clock that the bitstream runs at, MHz", report["running_clock_mhz"], "", ""],
        ["timing met at that clock", report["timing_met"], "", ""],
        ["interval, cycles (longest)", slowest, ii or "", kept],
    ]


def measured(report: dict[str, Any]) -> list[list[Any]]:
    """Rows of a build's times and resources."""
    rows: list[list[Any]] = []
    for name, times in report["microseconds"].items():
        latency = report["functions"][name]["latency_cycles"]
        rows.append([f"{name}: interval, µs", times["interval"], "", ""])
        rows.append([f"{name}: latency, µs ({latency} cycles)", times["latency"], "", ""])
    for name, r in report["resources"].items():
        rows.append([name, f"{r['used']} of {r['available']}", "", ""])
    for step, seconds in report["seconds"].items():
        rows.append([f"seconds of {step}", seconds, "", ""])
    return rows


def summary(
    board: str, functions: str, options: Sequence[str], report: dict[str, Any]
) -> list[str]:
    """A build's row among all builds."""
    intervals: dict[float, list[str]] = {}
    for name, times in report["microseconds"].items():
        intervals.setdefault(times["interval"], []).append(name)
    usual, *others = sorted(intervals)
    between = [f"{usual:.3g}", *(f"{', '.join(intervals[t])} {t:.3g}" for t in others)]
    latencies = [times["latency"] for times in report["microseconds"].values()]
    latency = f"{min(latencies):.3g}"
    if len(latencies) > 1:
        latency += f" to {max(latencies):.3g}"
    used = {name: f"{r['used']:,} of {r['available']:,}" for name, r in report["resources"].items()}
    return [
        f"`{board}`",
        f"`{functions}`",
        f"`{' '.join(options)}`" if options else "none",
        f"{report['clock_mhz']:.1f}",
        f"{report['running_clock_mhz']:g}",
        "; ".join(between),
        latency,
        used["multipliers"],
        used["luts"],
        used["registers"],
    ]


def small(functions: tuple[str, ...]) -> Design:
    """A small robot's design."""
    return compile_robot(load_robot("pendulum2"), Options(functions=functions, ii=4))


def link(targets: Targets, work: Path) -> None:
    """10,000 mixed tasks through the driver and the RTL, without and with damage."""
    d = small(common())
    written = write_shelled(d, "link", link_verilog, work)
    program = build_device(written.sources, written.top, work / "device")
    rows = []
    for rate in (0.0, 0.01):
        noise = Noise(ProcessTransport([str(program)]), rate, seed=7)
        device = Driver.open(written.manifest, noise, patience=100)
        begin = time.monotonic()
        # every bit of every result is compared; an AssertionError is a wrong or lost result
        wrong = 0
        try:
            check_mixed(d, device, TASKS, 3)
        except AssertionError:
            wrong = 1
        seconds = time.monotonic() - begin
        counters = device.link.counters
        rows.append(
            [
                f"{rate:.0%}",
                TASKS,
                noise.faults,
                counters.lost,
                wrong,
                targets.at_most(wrong, 0),
                f"{seconds:.1f}",
            ]
        )
        device.close()
    head = [
        "bytes damaged",
        "tasks answered",
        "faults",
        "tasks sent again",
        "wrong or lost",
        "",
        "seconds",
    ]
    section("Host driver to the RTL over the byte link, all seven functions mixed", head, rows)


def axi(targets: Targets, work: Path) -> None:
    """10,000 mixed tasks through the AXI shell, every channel stalling in 30% of its cycles."""
    d = small(("id", "m", "did"))
    written = write_shelled(d, "axi", axi_verilog, work)
    known = written.manifest
    recorder = DmaModel(bit_true_shell(d))
    check_mixed(d, Driver(known, StreamLink(known, recorder, 1000)), TASKS, 1)
    outcome = play(written.sources, written.top, recorder, 0.3, 5, work / "axi")
    answers = [bytes.fromhex(r) for r in outcome["results"]]
    wrong = 0
    try:
        replayed = DmaModel(bit_true_shell(d), answers)
        check_mixed(d, Driver(known, StreamLink(known, replayed, 1000)), TASKS, 1)
    except AssertionError:
        wrong = 1
    registers = outcome["registers"]
    rows = [
        [
            "tasks counted",
            registers["TASKS"],
            TASKS,
            targets.at_most(abs(registers["TASKS"] - TASKS), 0),
        ],
        [
            "results counted",
            registers["RESULTS"],
            TASKS,
            targets.at_most(abs(registers["RESULTS"] - TASKS), 0),
        ],
        ["wrong or lost results", wrong, 0, targets.at_most(wrong, 0)],
        [
            "breaches of the handshakes",
            len(outcome["broken"]),
            0,
            targets.at_most(len(outcome["broken"]), 0),
        ],
        ["register reads meanwhile", outcome["reads"], "", ""],
        ["cycles", registers["CYCLES"], "", ""],
    ]
    section("AXI shell, 30% stalls on every channel", ["what", "measured", "asked", ""], rows)


def lint(targets: Targets, work: Path) -> None:
    """Verilator's complaints about a build, waivers named."""
    d = compile_robot(load_robot(ROBOT), Options(device="ecp5"))
    path = work / f"{d.name}.v"
    path.write_text(design_verilog(d))
    waived = work / waivers_file(d.name)
    waived.write_text(waivers([path.name]))
    found = len(verilator.lint([waived, path], d.name))
    rows = [[f"-Wall on {path.name}", found, 0, targets.at_most(found, 0)]]
    rows += [[f"waived: {name}", reason, "", ""] for name, reason in WAIVERS.items()]
    section("Lint", ["what", "complaints", "asked", ""], rows)


def _in_folder(work: Callable[[Targets, Path], None]) -> Part:
    """A part that works in a folder of its own."""

    def part(targets: Targets, args: argparse.Namespace) -> None:
        with tempfile.TemporaryDirectory() as name:
            work(targets, Path(name))

    return part


PARTS: dict[str, Part] = {
    "lint": _in_folder(lint),
    "link": _in_folder(link),
    "axi": _in_folder(axi),
    "room": lambda *_: room(),
    "estimates": lambda *_: estimates(),
    "engines": lambda targets, _: engines(targets),
    "bitstreams": lambda targets, args: bitstreams(targets, args.build),
    "netlists": lambda targets, _: netlists(targets),
}


def main() -> int:
    """Print all sections; 1 if a target is missed."""
    parser = arguments(__doc__, PARTS)
    parser.add_argument(
        "--build", metavar="BOARD:FUNCTIONS", help="of the bitstreams only this one"
    )
    return measure(parse(parser), PARTS)


if __name__ == "__main__":
    sys.exit(main())
