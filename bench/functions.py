"""Prints the figures of accelerators for all seven functions beside the targets: ``make bench-functions``.

Every figure is measured here and now: multipliers, cycles and interval in RTL simulation, errors against float64,
mismatches against the integer model, time and memory. Public URDFs are used where they lie beside the checkout
(``--robots DIR`` for another place). ``--part`` chooses one part. Exit status 1 if a target is missed.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from figures import Part, Targets, accelerator, arguments, command, measure, parse, public, section

from rbdgen import Options, compile_robot, load_urdf
from rbdgen.functions.registry import common
from rbdgen.report.files import REPORT_FILE
from rbdgen.report.pipeline import multipliers
from rbdgen.trials import make_tasks, relative_errors, task_states

ALL = common()
LATENCY = {"id": 24, "m": 24, "did": 28, "difd": 32, "minv": 50, "fd": 54, "dfd": 84}
ERRORS = {
    18: {"id": 2e-4, "m": 2e-4, "did": 2e-4, "minv": 1e-3, "fd": 2e-3, "dfd": 2e-3, "difd": 2e-3},
    27: dict.fromkeys(ALL, 1e-5),
}
VARIABLE, CONSTANT, SHARED = 2400, 900, 290
OVERHEAD = 1.10
MIXED = 1.01
"""Largest interval of a random order of all functions, in intervals of one."""
MODEL_TASKS = 10_000


def simulated(targets: Targets, robots: Path, ii: int, tasks: int) -> None:
    """All functions on one accelerator in RTL simulation: cycles, errors, mismatches, multipliers."""
    with tempfile.TemporaryDirectory() as work:
        report, seconds, _ = command(
            "simulate",
            str(robots / "iiwa_rbd_accel.urdf"),
            *("--word", "18", "--functions", "all", "--ii", str(ii)),
            *("--tasks", str(tasks), "-o", work),
        )
    rows = []
    for name, f in report["functions"].items():
        row: list[Any] = [
            name,
            f["ii_cycles"],
            targets.at_most(abs(f["ii_cycles"] - ii), 0),
            f["latency_cycles"],
        ]
        row += (
            [LATENCY[name], targets.at_most(f["latency_cycles"], LATENCY[name])]
            if ii == 1
            else ["", ""]
        )
        row += [
            f["tasks"],
            f["tasks_mixed"],
            f["mismatches"],
            targets.at_most(f["mismatches"], 0),
            f["overflows"],
        ]
        row += [
            f"{f['max_relative_error']:.1e}",
            targets.at_most(f["max_relative_error"], ERRORS[18][name]),
        ]
        rows.append(row)
    head = [
        "function",
        "interval",
        "",
        "latency",
        "limit",
        "",
        "tasks",
        "mixed",
        "mismatches",
        "",
        "flagged",
    ]
    section(
        f"iiwa_rbd_accel, II {ii}, 18 bits, {tasks} tasks",
        [*head, "error", ""],
        rows,
        f"measured in {seconds:.0f} s",
    )
    accelerator("all seven", report)
    count = report["multipliers"]
    limits = {"variable": VARIABLE if ii == 1 else SHARED, "constant": CONSTANT}
    rows = [
        [kind, count[kind], limits[kind], targets.at_most(count[kind], limits[kind])]
        for kind in count
    ]
    section(f"Multipliers at II {ii}", ["kind", "measured", "limit", ""], rows)


def mixed(targets: Targets, ii: int, tasks: int) -> None:
    """Tasks of all functions in a random order on one accelerator, and each function's latencies."""
    with tempfile.TemporaryDirectory() as work:
        report, _, _ = command(
            "simulate",
            "iiwa14",
            *("--functions", "all", "--word", "18", "--ii", str(ii)),
            *("--tasks", str(tasks), "-o", work),
        )
        promises = json.loads((Path(work) / REPORT_FILE).read_text(encoding="utf-8"))
    found = report["mixed"]
    limit = round(MIXED * ii, 3)
    verdict = targets.at_most(found["ii_cycles"], limit)
    section(
        f"Tasks of all seven functions in a random order, iiwa14, 18 bits, II {ii}, {tasks} tasks",
        ["promised interval", "of this order", "measured", "limit", ""],
        [
            [
                found["promised_ii_cycles"],
                found["promised_ii_cycles_of_order"],
                found["ii_cycles"],
                limit,
                verdict,
            ]
        ],
    )
    rows = []
    for name, f in report["functions"].items():
        promise = promises["functions"][name]["latency_cycles_steady"]
        steady = f["latency_cycles_steady"]
        rows.append(
            [
                name,
                f["latency_cycles"],
                promise,
                steady,
                targets.at_most(abs(steady - promise), 0),
                f["latency_cycles_mixed"],
                f["latency_cycles_mixed_most"],
            ]
        )
    section(
        f"Latencies, II {ii}",
        ["function", "lone", "full rate, promised", "measured", "", "among all", "longest"],
        rows,
    )


def errors(targets: Targets, robots: Path) -> None:
    """Largest error of every function on random states, by the bit-true model."""
    rows = []
    for word, limits in ERRORS.items():
        design = compile_robot(
            load_urdf(robots / "iiwa_rbd_accel.urdf"), Options(functions=ALL, word=word)
        )
        states = task_states(design, MODEL_TASKS, seed=11)
        for name in ALL:
            tasks = make_tasks(design, name, states)
            worst, rms = relative_errors(design, tasks, tasks.expected)
            flagged = int(np.count_nonzero(tasks.flags))
            verdict = targets.at_most(worst, limits[name])
            rows.append(
                [word, name, f"{worst:.1e}", f"{limits[name]:.0e}", verdict, f"{rms:.1e}", flagged]
            )
    head = ["word", "function", "max error", "limit", "", "rms error", "flagged"]
    section(
        f"Error relative to the largest output, iiwa_rbd_accel, {MODEL_TASKS} states", head, rows
    )


def overhead(targets: Targets, robots: Path) -> None:
    """Multipliers for all functions beside those for dfd alone."""
    rows = []
    for ii in (1, 12):
        robot = load_urdf(robots / "iiwa_rbd_accel.urdf")
        counts = [
            multipliers(compile_robot(robot, Options(functions=f, ii=ii, word=18)))["variable"]
            for f in (ALL, ("dfd",))
        ]
        ratio = counts[0] / counts[1]
        rows.append([ii, *counts, f"{ratio:.3f}", OVERHEAD, targets.at_most(ratio, OVERHEAD)])
    section("Variable multipliers", ["II", "all seven", "dfd alone", "ratio", "limit", ""], rows)


def families(robots: Path) -> None:
    """Multiplications by all algorithms."""
    report, _, _ = command(
        "layout", str(robots / "iiwa_rbd_accel.urdf"), "--functions", "all", "--families"
    )
    rows = [
        [f["derivative"], f["mass_matrix"], f["variable"], f["constant"]]
        for f in report["families"]
        if (f["inverse_dynamics"], f["forward_dynamics"]) == ("recursive", "factors")
    ]
    section(
        "Multiplications, all seven functions of iiwa_rbd_accel",
        ["derivative", "mass matrix", "var", "const"],
        rows,
    )


def others(targets: Targets, robots: Path, tasks: int) -> None:
    """Other robots, all functions, in RTL simulation."""
    rows = []
    for name, ii in (("hyq_simple", 12), ("baxter_simple", 24), ("ur5", 12)):
        where = str(robots / f"{name}.urdf") if (robots / f"{name}.urdf").exists() else name
        with tempfile.TemporaryDirectory() as work:
            report, seconds, memory = command(
                "simulate",
                where,
                *("--word", "18"),
                "--functions",
                "all",
                "--ii",
                str(ii),
                "--tasks",
                str(tasks),
                "-o",
                work,
            )
        measured = report["functions"].values()
        wrong = sum(f["mismatches"] for f in measured)
        worst = {n: f"{f['max_relative_error']:.0e}" for n, f in report["functions"].items()}
        intervals = sorted({f["ii_cycles"] for f in measured})
        rows.append(
            [
                *(
                    name,
                    ii,
                    intervals,
                    report["multipliers"]["variable"],
                    wrong,
                    targets.at_most(wrong, 0),
                ),
                *(f"{seconds:.0f}", f"{memory:.1f}", worst),
            ]
        )
    head = [
        "robot",
        "II",
        "intervals",
        "multipliers",
        "mismatches",
        "",
        "seconds",
        "GiB",
        "largest errors",
    ]
    section(f"Other robots, all seven functions, {tasks} tasks", head, rows)


def atlas(targets: Targets, robots: Path, ii: int, tasks: int) -> None:
    """Atlas on a fixed base: generation and simulation."""
    urdf = str(robots / "atlas.urdf")
    with tempfile.TemporaryDirectory() as work:
        report, seconds, memory = command(
            "generate", urdf, "--word", "18", "--functions", "all", "--ii", str(ii), "-o", work
        )
        rows = [
            ["generate: seconds", f"{seconds:.0f}", 600, targets.at_most(seconds, 600)],
            ["generate: GiB", f"{memory:.1f}", 8, targets.at_most(memory, 8)],
        ]
        report, seconds, memory = command(
            "simulate",
            urdf,
            *("--word", "18"),
            "--functions",
            "all",
            "--ii",
            str(ii),
            "--tasks",
            str(tasks),
            "-o",
            work,
        )
    wrong = sum(f["mismatches"] for f in report["functions"].values())
    rows += [
        ["simulate, compilation included: seconds", f"{seconds:.0f}", "", ""],
        ["of these the compiler's", report["build_seconds"], "", ""],
        ["simulate: GiB", f"{memory:.1f}", "", ""],
        ["mismatches", wrong, 0, targets.at_most(wrong, 0)],
        ["variable multipliers", report["multipliers"]["variable"], "", ""],
    ]
    for name, f in report["functions"].items():
        rows.append(
            [
                f"{name}: interval, latency, max error",
                f["ii_cycles"],
                f["latency_cycles"],
                f"{f['max_relative_error']:.0e}",
            ]
        )
    section(
        f"Atlas on a fixed base, all seven functions, II {ii}, {tasks} tasks",
        ["what", "measured", "limit", ""],
        rows,
    )


def mixes(targets: Targets) -> None:
    """Tasks of all functions in a random order, at two intervals."""
    for ii in (8, 12):
        mixed(targets, ii, 3000)


PARTS: dict[str, Part] = {
    "ii1": lambda targets, args: simulated(targets, args.robots, 1, args.tasks),
    "ii12": lambda targets, args: simulated(targets, args.robots, 12, 1000),
    "mixed": lambda targets, _: mixes(targets),
    "errors": lambda targets, args: errors(targets, args.robots),
    "overhead": lambda targets, args: overhead(targets, args.robots),
    "families": lambda _, args: families(args.robots),
    "others": lambda targets, args: others(targets, args.robots, 300),
    "atlas": lambda targets, args: atlas(targets, args.robots, 96, 100),
}


def main() -> int:
    """Print the parts; 1 if a target is missed."""
    parser = arguments(__doc__, PARTS, robots=True)
    parser.add_argument(
        "--tasks", type=int, default=10_000, help="tasks per function at II 1 (10000)"
    )
    args = parse(parser)
    public(args.robots, "iiwa_rbd_accel.urdf")
    return measure(args, PARTS)


if __name__ == "__main__":
    sys.exit(main())
