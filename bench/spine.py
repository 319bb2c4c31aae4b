"""Prints the figures of the inverse-dynamics accelerator beside the targets: ``make bench``.

Every figure is measured here and now: multiplications after pruning, cycles and interval in RTL simulation, errors
against float64, mismatches against the integer model, and the time and memory of generation and simulation. Public
URDFs are used where they lie beside the checkout (``--robots DIR`` for another place). Exit status 1 if a target is
missed.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
from figures import Targets, accelerator, arguments, command, parse, public, section

from rbdgen import Options, compile_robot, load_urdf
from rbdgen.trials import make_tasks, relative_errors, task_states

MULTIPLICATIONS = {
    "iiwa_rbd_accel": (230, 226),
    "iiwa": (230, 226),
    "hyq_simple": (236, 396),
    "baxter_simple": (484, 639),
}
SUPPORTED = (*MULTIPLICATIONS, "hyq_simple_xyz_prismatic", "jaco_2_simple", "atlas")
ERRORS = {18: 2e-4, 24: 3e-6}
MODEL_TASKS = 10_000


def multiplications(targets: Targets, robots: Path) -> None:
    """Multiplications after pruning at 18 bits, sines and cosines not counted and counted."""
    rows = []
    for name, (variable, constant) in MULTIPLICATIONS.items():
        graph = compile_robot(load_urdf(robots / f"{name}.urdf"), Options(word=18)).fixed.graph
        v, c = graph.products(), graph.count("scale")
        sv, sc = graph.count("mul", "Sc"), graph.count("scale", "Sc")
        rows.append(
            [
                name,
                v - sv,
                v,
                variable,
                targets.at_most(v, variable),
                c - sc,
                c,
                constant,
                targets.at_most(c, constant),
            ]
        )
    head = ["robot", "variable", "with sines", "limit", "", "constant", "with sines", "limit", ""]
    section("Multiplications after pruning, 18-bit words", head, rows)


def errors(targets: Targets, robots: Path) -> None:
    """Largest error on fresh random states, by the bit-true model."""
    rows = []
    for name in SUPPORTED:
        robot = load_urdf(robots / f"{name}.urdf")
        for word, limit in ERRORS.items():
            design = compile_robot(robot, Options(word=word))
            tasks = make_tasks(design, "id", task_states(design, MODEL_TASKS, seed=11))
            worst, rms = relative_errors(design, tasks, tasks.expected)
            flagged = int(np.count_nonzero(tasks.flags))
            rows.append(
                [
                    name,
                    word,
                    f"{worst:.2e}",
                    f"{limit:.0e}",
                    targets.at_most(worst, limit),
                    f"{rms:.2e}",
                    flagged,
                ]
            )
    head = ["robot", "word", "max error", "limit", "", "rms error", "flagged"]
    section(f"Error on τ relative to the largest output, {MODEL_TASKS} random states", head, rows)


def generation(targets: Targets, robots: Path, work: Path) -> None:
    """Time and memory of ``generate``, and of 10,000 simulated tasks with compilation."""
    _, seconds, memory = command(
        "generate", str(robots / "iiwa.urdf"), "--word", "18", "-o", str(work / "generate")
    )
    rows = [
        ["generate iiwa, II 1: seconds", f"{seconds:.1f}", 30, targets.at_most(seconds, 30)],
        ["generate iiwa, II 1: GiB", f"{memory:.2f}", 1, targets.at_most(memory, 1)],
    ]
    report, seconds, _ = command(
        "simulate", str(robots / "iiwa.urdf"), "--tasks", "10000", "-o", str(work / "simulate")
    )
    measured = report["functions"]["id"]
    rows += [
        [
            "simulate iiwa, 10,000 tasks, compilation included: seconds",
            f"{seconds:.1f}",
            120,
            targets.at_most(seconds, 120),
        ],
        [
            "mismatches in 10,000 tasks, twice",
            measured["mismatches"],
            0,
            targets.at_most(measured["mismatches"], 0),
        ],
    ]
    section("Generation and simulation, Verilator", ["what", "measured", "limit", ""], rows)


def cycles(targets: Targets, robots: Path, work: Path, tasks: int) -> None:
    """Measured latency, interval and utilisation of iiwa over initiation intervals."""
    rows = []
    for name, limit in (("iiwa", 24), ("iiwa_rbd_accel", 24)):
        for ii in (1, 2, 4, 8, 16):
            where = str(work / f"{name}{ii}")
            report, _, _ = command(
                "simulate",
                str(robots / f"{name}.urdf"),
                "--ii",
                str(ii),
                "--tasks",
                str(tasks),
                "-o",
                where,
            )
            f = report["functions"]["id"]
            use = f["multiplier_utilization"]
            if name == "iiwa_rbd_accel":
                accelerator("id", report)
            rows.append(
                [
                    name,
                    ii,
                    f["ii_cycles"],
                    targets.at_most(abs(f["ii_cycles"] - ii), 0),
                    f["latency_cycles"],
                    targets.at_most(f["latency_cycles"], limit) if ii == 1 else "",
                    report["multipliers"]["variable"],
                    f"{use:.3f}",
                    targets.at_least(use, 0.90) if ii <= 4 else "",
                    f["mismatches"],
                    targets.at_most(f["mismatches"], 0),
                    f"{f['max_relative_error']:.2e}",
                ]
            )
    head = [
        "robot",
        "II",
        "interval",
        "",
        "latency",
        "",
        "multipliers",
        "utilization",
        "",
        "mismatches",
        "",
        "max error",
    ]
    section(
        f"Cycles measured in RTL simulation, {tasks} tasks, 125 MHz model, 18-bit words", head, rows
    )


def main() -> int:
    """Print all sections; 1 if a target is missed."""
    parser = arguments(__doc__, robots=True)
    parser.add_argument(
        "--tasks", type=int, default=2000, help="tasks per simulated interval (2000)"
    )
    args = parse(parser)
    targets = Targets()
    public(args.robots, "iiwa.urdf")
    multiplications(targets, args.robots)
    errors(targets, args.robots)
    with tempfile.TemporaryDirectory() as work:
        generation(targets, args.robots, Path(work))
        cycles(targets, args.robots, Path(work), args.tasks)
    return targets.finish()


if __name__ == "__main__":
    sys.exit(main())
