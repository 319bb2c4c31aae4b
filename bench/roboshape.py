"""Counts the cycles of RoboShape's fewest-cycle designs by its own scheduler, in a checkout of the user's.

``python bench/roboshape.py --checkout DIR`` runs the scheduler of DIR, a clone of
https://github.com/robot-acceleration/roboshape-codegen, in a process of its own, for each robot. It prints latency
(three steps of each forward task, the backward tasks, two products of matrices) and interval (the longest stage) beside
what its design-space tables and ``published.toml`` say, and the DSP blocks of its utilisation script. Stages are at
their best one by one here; its tables choose them together, and may have fewer cycles. Exit status 1 where tables or
blocks differ from ``published.toml``.
"""

from __future__ import annotations

import ast
import csv
import json
import subprocess
import sys
from pathlib import Path

from figures import Targets, arguments, parse, section

from rbdgen.report.published import figures_for

ROBOTS = {
    "iiwa": "iiwa_rbd_accel",
    "hyq": "hyq_simple",
    "baxter": "baxter_simple",
    "jaco2": "jaco_2_simple",
}
"""The robots of the comparison, by the names of their tables, and their URDFs there."""
LARGEST = 10
"""Processing elements, and rows of a block, that are tried."""
SCHEDULER = """
import contextlib, json, os, sys
sys.path.insert(0, os.getcwd())
with contextlib.redirect_stdout(sys.stderr):
    from FPGACodegen import FPGACodegen
    from URDFParser import URDFParser
    robot = URDFParser().parse(sys.argv[1])
    made = FPGACodegen(robot).get_schedule_gen
    largest = range(1, min(int(sys.argv[2]), robot.get_num_joints()) + 1)
    forward = min(made(n, 1, 1).get_fproc_schedule_tables()["len_fproc_sched"] for n in largest)
    backward = {n: made(1, n, 1).get_bproc_schedule_tables()["len_bproc_sched"] for n in largest}
    best = min(backward, key=backward.get)
    key = "len_block_minv_sched_per_matrix"
    product = min(made(1, best, b).get_matmul_schedule_tables(best)[key] for b in largest)
print(json.dumps({"forward": 3 * forward, "backward": backward[best], "product": 2 * product}))
"""
"""Run inside of the checkout, with its packages."""


def scheduled(checkout: Path, urdf: Path) -> dict[str, int] | str:
    """Cycles of the three stages by its scheduler, or what it died of."""
    line = [sys.executable, "-c", SCHEDULER, str(urdf), str(LARGEST)]
    done = subprocess.run(line, cwd=checkout, capture_output=True, text=True, check=False)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["no message"])[-1]
    return json.loads(done.stdout)


def tabled(checkout: Path, robot: str) -> int:
    """The fewest cycles of its design-space table, whose first row has those of all designs."""
    path = checkout / "experiments" / "isca" / "csv" / f"{robot}_dse_data.csv"
    with path.open(encoding="utf-8") as file:
        return min(int(float(x)) for x in next(csv.reader(file)) if x)


def blocks(checkout: Path) -> dict[str, int]:
    """DSP blocks by robot, of the lists in its script of utilisation."""
    text = (checkout / "experiments" / "isca" / "fit_util_curves.py").read_text(encoding="utf-8")
    found = {}
    for statement in ast.parse(text).body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            continue
        robot, _, what = statement.targets[0].id.partition("_")
        if what == "dsps" and robot != "robs":
            found[robot] = sum(ast.literal_eval(statement.value))
    return found


def published(robot: str) -> tuple[set[float], set[float]]:
    """Latencies in cycles, and DSP blocks, that ``published.toml`` has of RoboShape."""
    own = [f for f in figures_for(robot, "difd") if f.work.startswith("RoboShape")]
    cycles = {f.latency_cycles for f in own if f.latency_cycles}
    return cycles, {f.resources["dsp"] for f in own if "dsp" in f.resources}


def main() -> int:
    """Print the table; 1 where the checkout says something else than the file of published figures."""
    parser = arguments(__doc__)
    parser.add_argument("--checkout", type=Path, required=True, help="a clone of roboshape-codegen")
    args = parse(parser)
    if not (args.checkout / "FPGACodegen").is_dir():
        print(f"{args.checkout}: holds no FPGACodegen; clone roboshape-codegen", file=sys.stderr)
        return 2
    targets = Targets()
    used = blocks(args.checkout)
    rows: list[list[object]] = []
    for robot, name in ROBOTS.items():
        stages = scheduled(args.checkout, args.checkout / "urdfs" / f"{name}.urdf")
        least = tabled(args.checkout, robot)
        cycles, known = published(robot)
        counted: list[object] = [None, None]
        note: object = stages
        if isinstance(stages, dict):
            counted = [sum(stages.values()), max(stages.values())]
            note = ", ".join(f"{stage} {count}" for stage, count in stages.items())
        dsp = used.get(robot)
        same = targets.equal(least in cycles and (dsp is None or dsp in known), True)
        rows.append([robot, *counted, note, least, dsp, same])
    head = [
        "robot",
        "cycles, scheduled now",
        "interval",
        "stages",
        "cycles, its table",
        "DSP",
        "as published.toml",
    ]
    section("RoboShape's fewest cycles, by its own scheduler", head, rows, keys=1)
    return targets.finish()


if __name__ == "__main__":
    sys.exit(main())
