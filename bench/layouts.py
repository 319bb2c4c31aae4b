"""Prints what layouts reach for budgets of multipliers: ``make bench-layouts``.

Utilisation of multipliers and the interval at several budgets, for fixed and floating bases; derivatives of forward
dynamics beside RoboShape's at no more than its multipliers; the time that the choice takes; in RTL simulation the
measured interval beside the promised one, with FIFO depths and high-water marks; LUTs with and without folding, from
synthesis; what another root would save; the model of resources beside synthesis. Public URDFs are used where they lie
beside the checkout (``--robots DIR`` for another place). ``--part`` chooses one part. Exit status 1 if a target is
missed.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from figures import Part, Targets, arguments, command, measure, parse, section

from rbdgen import Budget, Design, Options, Robot, compile_robot, load_robot
from rbdgen.compiler import at_interval
from rbdgen.devices.registry import get_device
from rbdgen.functions.registry import common
from rbdgen.machines.pipeline.budget import fit_layout
from rbdgen.machines.pipeline.layout import SharingOptions
from rbdgen.machines.pipeline.resources import estimate
from rbdgen.model.variants import longest_chain, rerooted
from rbdgen_boards.ecp5 import LUTS_OF_CELL, SYNTHESIS
from rbdgen_boards.synthesis import cells, synthesise
from rbdgen_hw.emit import design_verilog
from rbdgen_hw.primitives import overrides

ALL = common()
ROBOTS = (
    ("hyq_simple", "fixed"),
    ("baxter_simple", "fixed"),
    ("hyq", "floating"),
    ("atlas", "fixed"),
    ("atlas", "floating"),
)
BUDGETS = (128, 512, 2048)
UTILIZATION, SEARCH_SECONDS = 0.90, 30
ROBOSHAPE = {
    "iiwa": (1328, 24),
    "hyq_simple": (644, 39),
    "baxter_simple": (835, 48),
    "atlas": (1328, 93),
}
"""Variable multiplications and cycles between tasks of RoboShape (ISCA 2023). iiwa: counted in its RTL; HyQ and Baxter:
its Vivado report's DSP blocks, four to a 32 × 32 product; Atlas: no count is published, iiwa's is taken."""
SPEEDUP = 8
SIMULATED = (
    ("hyq_simple", "fixed", 128),
    ("baxter_simple", "fixed", 128),
    ("atlas", "fixed", 512),
    ("hyq", "floating", 512),
    ("atlas", "floating", 512),
)
LUT_INTERVALS = (4, 8)
MODEL_ERROR = 0.25
"""Limit of the distance between modelled look-up tables or registers and synthesis."""


def robot(robots: Path, name: str, base: str) -> Robot:
    """A public robot, or a built-in one."""
    path = robots / f"{name}.urdf"
    return load_robot(path if path.exists() else name, base=base)


def budgets(targets: Targets, robots: Path, names: list[str]) -> None:
    """Interval and utilisation at each budget, and the seconds that the choice takes."""
    rows = []
    device = get_device("generic125")
    for name, base in ROBOTS:
        if names and not {name, f"{name}:{base}"} & set(names):
            continue
        begin = time.monotonic()
        design = compile_robot(
            robot(robots, name, base), Options(ALL, ii=4096, fold=False, word=18)
        )
        compiled = time.monotonic() - begin
        for budget in BUDGETS:
            begin = time.monotonic()
            layout = fit_layout(
                design.network, design.fixed, SharingOptions(), Budget(multipliers=budget)
            )
            seconds = time.monotonic() - begin
            used = sum(layout.multipliers(device).values())
            share = design.fixed.graph.products() / (used * layout.ii)
            folds = sorted(set(layout.folds.units.values()))
            rows.append(
                [
                    *(
                        f"{name}, {base}",
                        budget,
                        design.fixed.graph.products(),
                        layout.ii,
                        used,
                        f"{share:.3f}",
                    ),
                    *(
                        targets.at_least(share, UTILIZATION),
                        folds or "-",
                        f"{compiled:.0f}",
                        f"{seconds:.1f}",
                    ),
                    targets.at_most(seconds, SEARCH_SECONDS),
                ]
            )
    head = [
        "robot",
        "budget",
        "products",
        "II",
        "multipliers",
        "used",
        "",
        "turns",
        "compile s",
        "search s",
        "",
    ]
    section("All seven functions within a budget of multipliers, 18 bits", head, rows)


def roboshape(targets: Targets, robots: Path) -> None:
    """Derivatives of forward dynamics, given the inverse, at no more than RoboShape's multipliers."""
    rows = []
    for name, (count, cycles) in ROBOSHAPE.items():
        design = compile_robot(
            robot(robots, name, "fixed"),
            Options(("difd",), word=18),
            budget=Budget(multipliers=count),
        )
        used, ii = sum(design.plan.schedule.multipliers.values()), design.options.ii
        verdict = targets.at_least(cycles / ii, SPEEDUP)
        rows.append([name, used, count, ii, cycles, f"{cycles / ii:.1f}", SPEEDUP, verdict])
    head = ["robot", "multipliers", "RoboShape's", "interval", "RoboShape's", "ratio", "asked", ""]
    section("difd beside RoboShape (published; without sines, cosines and gravity)", head, rows)


def simulated(targets: Targets, robots: Path, names: list[str], tasks: int) -> None:
    """Promised and measured intervals, mismatches and FIFOs in RTL simulation."""
    rows = []
    for name, base, budget in SIMULATED:
        if names and not {name, f"{name}:{base}"} & set(names):
            continue
        path = robots / f"{name}.urdf"
        with tempfile.TemporaryDirectory() as work:
            options = [
                "--functions",
                "all",
                "--base",
                base,
                "--multipliers",
                str(budget),
                "--tasks",
                str(tasks),
            ]
            report, seconds, memory = command(
                "simulate",
                str(path) if path.exists() else name,
                "--word",
                "18",
                *options,
                "-o",
                work,
            )
        measured: dict[str, Any] = report["functions"]
        intervals = sorted({f["ii_cycles"] for f in measured.values()})
        wrong = sum(f["mismatches"] for f in measured.values())
        fullest = max(f["high_water"] - f["depth"] for f in report["fifos"])
        rows.append(
            [
                *(
                    f"{name}, {base}",
                    budget,
                    report["ii"],
                    intervals,
                    targets.equal(intervals, [report["ii"]]),
                ),
                *(
                    wrong,
                    targets.at_most(wrong, 0),
                    len(report["fifos"]),
                    fullest,
                    targets.at_most(fullest, 0),
                ),
                *(f"{seconds:.0f}", f"{memory:.1f}"),
            ]
        )
    head = [
        "robot",
        "budget",
        "II",
        "measured",
        "",
        "mismatches",
        "",
        "FIFOs",
        "mark − depth",
        "",
        "seconds",
        "GiB",
    ]
    section(
        f"RTL simulation, all seven functions, {tasks} tasks each, and mixed under random stalls",
        head,
        rows,
    )


def _synthesised(design: Design) -> dict[str, int]:
    """Cells of a design for ECP5, products as the device's blocks with their own registers."""
    verilog = design_verilog(design)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory)
        synthesise(path, {"design.v": verilog}, overrides(verilog, "ecp5"), SYNTHESIS, design.name)
        return cells(path)


def _folds(design: Design) -> Iterator[tuple[bool, Design]]:
    for fold in (True, False):
        options = replace(design.options, fold=fold)
        yield fold, at_interval(replace(design, options=options), options.ii)


def folding(function: str) -> None:
    """LUTs of four legs on one hardware leg, and of four, for ECP5."""
    rows = []
    for ii in LUT_INTERVALS:
        for fold, design in _folds(
            compile_robot(load_robot("hyq"), Options((function,), ii=ii, word=18))
        ):
            found = _synthesised(design)
            # a carry cell is two LUTs
            luts = found.get("LUT4", 0) + 2 * found.get("CCU2C", 0)
            multipliers = sum(design.plan.schedule.multipliers.values())
            what = "one leg in turn" if fold else "four legs"
            rows.append(
                [
                    ii,
                    what,
                    multipliers,
                    luts,
                    found.get("TRELLIS_FF", 0),
                    design.promised_latency(function),
                ]
            )
    head = ["II", "hardware", "multipliers", "LUT4", "flip-flops", "latency"]
    section(f"hyq, {function}, 18 bits, synthesis for ECP5 by Yosys", head, rows)


def roots(robots: Path) -> None:
    """Savings of other roots, in their own links' coordinates, beside the cost of the way back to the file's."""
    rows = []
    for name, base in (("hyq", "floating"), ("atlas", "floating")):
        own = robot(robots, name, base)
        for link in dict.fromkeys([own.bodies[0].name, *_shallower(own)]):
            moved = rerooted(own, link)
            design = compile_robot(moved, Options(("id", "m"), word=18))
            count, way = design.fixed.graph.multiplications(), _way(own, link)
            # along each joint on the way a velocity, an acceleration and a force are turned: each is two vectors, and
            # a rotation about one axis takes four products
            back = 3 * 2 * 4 * way
            costs = count["variable"], back, count["variable"] + back, count["constant"]
            latency = [design.promised_latency(f) for f in ("id", "m")]
            rows.append([name, link, longest_chain(moved), *costs, *latency])
    head = [
        "robot",
        "root",
        "longest chain",
        "products",
        "and back, at least",
        "together",
        "constant factors",
    ]
    section("Roots of mobile robots, id and m, 18 bits, II 1", [*head, "latency id", "m"], rows)


def _shallower(robot: Robot) -> list[str]:
    """Links from which the longest chain is shorter than from the root."""
    found = []
    for body in robot.bodies[1:]:
        if longest_chain(rerooted(robot, body.name)) < longest_chain(robot):
            found.append(body.name)
    return found


def _way(robot: Robot, link: str) -> int:
    """Joints between the root and a link."""
    i, joints = [b.name for b in robot.bodies].index(link), 0
    while robot.bodies[i].parent >= 0:
        i, joints = robot.bodies[i].parent, joints + 1
    return joints


def resources(targets: Targets) -> None:
    """The model of look-up tables and registers beside synthesis for ECP5."""
    rows = []
    lean = {"rounding": "truncate", "overflow": "flag"}
    for name, function, options in (
        ("iiwa14", "id", {"ii": 1}),
        ("iiwa14", "id", {"ii": 2} | lean),
        ("ur5", "did", {"ii": 8} | lean),
        ("iiwa14", "did", {"ii": 12, "constants": "multipliers"} | lean),
        ("hyq", "id", {"ii": 4}),
    ):
        design = compile_robot(
            load_robot(name), Options((function,), device="ecp5", word=18, **options)
        )
        found, model = _synthesised(design), estimate(design.plan, design.tasks)
        luts = sum(found.get(cell, 0) * n for cell, n in LUTS_OF_CELL.items())
        shares = model.luts / luts, model.registers / found["TRELLIS_FF"]
        rows.append(
            [
                *(
                    name,
                    function,
                    " ".join(map(str, options.values())),
                    model.luts,
                    luts,
                    f"{shares[0]:.2f}",
                ),
                *(model.registers, found["TRELLIS_FF"], f"{shares[1]:.2f}"),
                targets.at_most(max(abs(share - 1) for share in shares), MODEL_ERROR),
            ]
        )
    head = [
        "robot",
        "function",
        "options",
        "LUTs modelled",
        "synthesised",
        "ratio",
        "registers",
        "synthesised",
        "ratio",
    ]
    section(
        f"Resources, 18 bits, Yosys for ECP5 (asked: within {MODEL_ERROR:.0%})", [*head, ""], rows
    )


PARTS: dict[str, Part] = {
    "budgets": lambda targets, args: budgets(targets, args.robots, args.robot),
    "roboshape": lambda targets, args: roboshape(targets, args.robots),
    "simulated": lambda targets, args: simulated(targets, args.robots, args.robot, args.tasks),
    "folding": lambda *_: folding("id"),
    "roots": lambda _, args: roots(args.robots),
    "resources": lambda targets, _: resources(targets),
}


def main() -> int:
    """Print the parts; 1 if a target is missed."""
    parser = arguments(__doc__, PARTS, robots=True)
    parser.add_argument(
        "--robot",
        action="append",
        default=[],
        help="only this robot, or NAME:BASE, in the parts budgets and simulated",
    )
    parser.add_argument(
        "--tasks", type=int, default=200, help="tasks per run in RTL simulation (200)"
    )
    return measure(parse(parser), PARTS)


if __name__ == "__main__":
    sys.exit(main())
