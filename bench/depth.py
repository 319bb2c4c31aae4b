"""Prints the latency of serial chains by their length, by recursion and in logarithmic depth: ``make bench-depth``.

Snakes whose joints turn in z and y are scheduled at an interval of one cycle on the 125 MHz model, in words of 30 bits.
The inertia is that of a frame on the last link, and there is the contact, along one axis. A length that would take much
more than five minutes to compile, by the length before it, is left out and said to be. ``--links`` chooses the longest
chain; ``--simulate`` the longest whose Verilog is simulated, alone for its cycles and under random stalls, every result
compared; ``--plot`` draws cycles over links. Exit status 1 if a target is missed.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from figures import Targets, arguments, parse, section

from rbdgen import Design, Options, compile_robot, load_urdf, with_contacts, with_frames
from rbdgen.errors import RbdgenError
from rbdgen.model.load import snake_urdf
from rbdgen.report import plots
from rbdgen.trials import make_tasks, task_states
from rbdgen_hw.emit import design_verilog
from rbdgen_sim.cosim import STALL_PROBABILITY
from rbdgen_sim.interface import Rtl
from rbdgen_sim.scoreboard import run_tasks
from rbdgen_sim.simulators import get_simulator

LENGTHS = (4, 8, 16, 32, 64, 128)
WORD = 30
PATIENCE = 300
"""Seconds that a length may take."""
SLOWER = 3
"""Limit of the next length's time, as a factor."""
FAMILIES = {
    "id": {
        "recursive": {},
        "scan": {"inverse_dynamics": "scan"},
    },
    "fd": {
        "factors": {},
        "jsiia": {"inverse_dynamics": "scan", "forward_dynamics": "jsiia"},
        "hybrid": {"inverse_dynamics": "scan", "forward_dynamics": "hybrid"},
        "cfa": {"inverse_dynamics": "scan", "forward_dynamics": "cfa"},
    },
    "laminvf": {
        "factors": {},
        "schur": {"operational_space": "schur"},
    },
    "cfd": {
        "factors": {},
        "schur": {"operational_space": "schur"},
    },
}
"""Options of each family, by function; the first is the default, which the others are compared with."""
ID_LINKS, ID_CYCLES = 32, 24
"""Limit of inverse dynamics by scans."""


TASKS = 200
"""Tasks of a simulation."""


@dataclass(frozen=True)
class Point:
    """Cost of one chain: cycles from the last operand to the last result, and multipliers; and, where it was
    simulated, the ``measured`` cycles of a lone task and how many results differed."""

    cycles: int
    multipliers: int
    measured: int | None = None
    mismatches: int = 0


Points = dict[str, list[Point | str]]
"""By family and length what was measured, or why nothing was."""


def simulated(design: Design, function: str) -> tuple[int, int]:
    """Cycles of a lone task in RTL simulation, and how many results of two runs differ, one of them under stalls."""
    tasks = make_tasks(design, function, task_states(design, TASKS, seed=1))
    order = np.zeros(TASKS, int)
    mismatches = 0
    measured = 0
    with TemporaryDirectory() as work:
        verilog = Path(work) / f"{design.name}.v"
        verilog.write_text(design_verilog(design))
        bits = design.tasks.task.row_bits, design.tasks.result.row_bits
        rtl = Rtl(design.name, (verilog,), *bits)
        simulator = get_simulator("verilator")
        for stall in (STALL_PROBABILITY, 0.0):
            run = run_tasks(design, [tasks], order, rtl, simulator, Path(work), stall, seed=1)
            outcome = run.outcomes[function]
            mismatches += outcome.mismatches
            measured = int(outcome.latencies[0])
    return measured, mismatches


def measure(
    folder: Path, function: str, options: dict[str, str], longest: int, simulate: int
) -> list[Point | str]:
    """One family by length, those up to ``simulate`` links in simulation too; why there is no figure where there is
    none."""
    points: list[Point | str] = []
    took = 0.0
    for links in (n for n in LENGTHS if n <= longest):
        if took * SLOWER > PATIENCE:
            points.append("left out: too long to compile")
            continue
        urdf = folder / f"snake{links}.urdf"
        urdf.write_text(snake_urdf(links))
        begin = time.monotonic()
        try:
            robot = with_frames(load_urdf(urdf), {f"l{links}": ()})
            robot = with_contacts(robot, [f"l{links}:x"])
            design = compile_robot(robot, Options((function,), word=WORD, **options))
        except RbdgenError as refused:
            points.append(f"refused: {refused}")
            continue
        took = time.monotonic() - begin
        multipliers = sum(design.plan.schedule.multipliers.values())
        seen = simulated(design, function) if links <= simulate else (None, 0)
        points.append(Point(design.promised_latency(function), multipliers, *seen))
    return points


def simulation_table(targets: Targets, function: str, found: Points) -> None:
    """Simulated cycles beside promised ones."""
    rows = []
    for family, points in found.items():
        for links, point in zip(LENGTHS, points, strict=False):
            if isinstance(point, str) or point.measured is None:
                continue
            seen = point.measured, point.mismatches
            verdict = targets.equal(seen, (point.cycles, 0))
            rows.append([function, family, links, point.cycles, *seen, verdict])
    if rows:
        head = ["function", "family", "links", "promised cycles", "measured", "mismatches", ""]
        title = f"Depth in RTL simulation, {TASKS} tasks alone and {TASKS} under stalls"
        section(title, head, rows, keys=3)


def plotted(found: Points) -> dict[str, dict[int, int]]:
    """Cycles by family and links."""
    cycles: dict[str, dict[int, int]] = {}
    for family, points in found.items():
        own = cycles.setdefault(family, {})
        for links, point in zip(LENGTHS, points, strict=False):
            if isinstance(point, Point):
                own[links] = point.cycles
    return cycles


def family_table(function: str, found: Points) -> None:
    """A row for each length, with a pair of columns for each family."""
    rows = []
    for k, links in enumerate(LENGTHS[: len(next(iter(found.values())))]):
        row: list[object] = [links]
        for points in found.values():
            point = points[k]
            row += [point, ""] if isinstance(point, str) else [point.cycles, point.multipliers]
        rows.append(row)
    head = ["links"]
    for family in found:
        head += [f"{family}: cycles", f"{family}: multipliers"]
    section(f"Depth of {function}, alternating axes, 30-bit words, generic125, II 1", head, rows)


def pays_from(usual: list[Point | str], points: list[Point | str]) -> str:
    """From how many links on a family answers sooner than the usual one."""
    for links, one, other in zip(LENGTHS, usual, points, strict=False):
        both = isinstance(one, Point) and isinstance(other, Point)
        if both and other.cycles < one.cycles:
            return f"{links} links"
    return "none of these"


def main() -> int:
    """Print the tables; 1 if a target is missed."""
    parser = arguments(__doc__)
    parser.add_argument("--links", type=int, default=LENGTHS[-1], help="the longest chain")
    parser.add_argument(
        "--function", choices=FAMILIES, action="append", help="only this; may be repeated"
    )
    parser.add_argument("--simulate", type=int, default=0, help="the longest chain to simulate")
    parser.add_argument("--plot", type=Path, help="an SVG, PNG or PDF of cycles over links")
    args = parse(parser)
    if args.plot:
        plots.check_plot_path(args.plot)
    targets = Targets()
    pays = []
    drawn = {}
    with TemporaryDirectory() as folder:
        for function in args.function or FAMILIES:
            found = {}
            for family, options in FAMILIES[function].items():
                limits = args.links, args.simulate
                found[family] = measure(Path(folder), function, options, *limits)
            family_table(function, found)
            simulation_table(targets, function, found)
            drawn[function] = plotted(found)
            usual, *others = found
            for family in others:
                pays.append([function, family, usual, pays_from(found[usual], found[family])])
            if function == "id" and args.links >= ID_LINKS:
                point = found["scan"][LENGTHS.index(ID_LINKS)]
                cycles = point.cycles if isinstance(point, Point) else sys.maxsize
                verdict = targets.at_most(cycles, ID_CYCLES)
                row = [cycles, ID_CYCLES, verdict]
                section("Inverse dynamics of 32 links by scans", ["cycles", "at most", ""], [row])
    head = ["function", "family", "sooner than", "from"]
    section("From which length on depth pays", head, pays, keys=2)
    if args.plot:
        plots.save(plots.latency_plot(drawn), args.plot)
    return targets.finish()


if __name__ == "__main__":
    sys.exit(main())
