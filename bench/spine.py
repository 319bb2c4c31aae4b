"""Prints the figures of the inverse-dynamics accelerator beside the targets: ``make bench``.

Every figure is measured here and now: multiplications after pruning, cycles and interval in RTL simulation, errors
against float64, mismatches against the integer model, and the time and memory of generation and simulation. Public
URDFs are used where they lie beside the checkout (``--robots DIR`` for another place). Exit status 1 if a target is
missed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from rbdgen import Options, RbdgenWarning, compile_robot, golden, load_urdf
from rbdgen.ir.interpret import evaluate_fixed
from rbdgen.model import random_states
from rbdgen.report.tables import table

MULTIPLICATIONS = {
    "iiwa_rbd_accel": (230, 226),
    "iiwa": (230, 226),
    "hyq_simple": (236, 396),
    "baxter_simple": (484, 639),
}
SUPPORTED = (*MULTIPLICATIONS, "hyq_simple_xyz_prismatic", "jaco_2_simple", "atlas")
ERRORS = {18: 2e-4, 24: 3e-6}
MODEL_TASKS = 10_000

missed = 0


def verdict(value: float, limit: float, at_least: bool = False) -> str:
    """Whether the target is met, in a word; counts the misses."""
    global missed
    good = value >= limit if at_least else value <= limit
    missed += not good
    return "ok" if good else "MISSED"


def section(title: str, head: list[str], rows: list[list[Any]]) -> None:
    """Print one table."""
    print(f"\n{title}\n\n{table(head, rows)}", flush=True)


def multiplications(robots: Path) -> None:
    """Multiplications after pruning at 18 bits, sines and cosines not counted and counted."""
    rows = []
    for name, (variable, constant) in MULTIPLICATIONS.items():
        graph = compile_robot(load_urdf(robots / f"{name}.urdf"), Options()).fixed.graph
        v, c = graph.count("mul"), graph.count("scale")
        sv, sc = graph.count("mul", "Sc"), graph.count("scale", "Sc")
        rows.append([name, v - sv, v, variable, verdict(v, variable), c - sc, c, constant, verdict(c, constant)])
    head = ["robot", "variable", "with sines", "limit", "", "constant", "with sines", "limit", ""]
    section("Multiplications after pruning, 18-bit words", head, rows)


def errors(robots: Path) -> None:
    """Largest error on fresh random states, by the bit-true model."""
    rows = []
    for name in SUPPORTED:
        robot = load_urdf(robots / f"{name}.urdf")
        for word, limit in ERRORS.items():
            d = compile_robot(robot, Options(word=word))
            states = random_states(robot, d.ranges, MODEL_TASKS, seed=11)
            values = d.network.operand_values(*states)
            raw = d.tasks.quantise([values[o.name] for o in d.network.operands])
            result = evaluate_fixed(d.fixed, {o.name: x for o, x in zip(d.network.operands, raw, strict=True)})
            tau = [f.real(result.outputs[r.name]) for f, r in zip(d.tasks.results, d.network.results, strict=True)]
            reference = golden.rnea(robot, *states)
            error = np.stack(tau, axis=-1) - reference
            largest = np.max(np.abs(reference))
            worst = float(np.max(np.abs(error)) / largest)
            rms = float(np.sqrt(np.mean(error**2)) / largest)
            flagged = int(result.overflow.sum())
            rows.append([name, word, f"{worst:.2e}", f"{limit:.0e}", verdict(worst, limit), f"{rms:.2e}", flagged])
    head = ["robot", "word", "max error", "limit", "", "rms error", "flagged"]
    section(f"Error on τ relative to the largest output, {MODEL_TASKS} random states", head, rows)


def command(*arguments: str) -> tuple[dict[str, Any], float, float]:
    """JSON of a ``rbdgen`` command run in a fresh process, its seconds, and its peak memory in GiB."""
    begin = time.monotonic()
    process = subprocess.run(
        [sys.executable, "-m", "rbdgen", *arguments, "--json"],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ,
    )
    seconds = time.monotonic() - begin
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    return json.loads(process.stdout), seconds, memory


def generation(robots: Path, work: Path) -> None:
    """Time and memory of ``generate``, and of 10,000 simulated tasks with compilation."""
    _, seconds, memory = command("generate", str(robots / "iiwa.urdf"), "-o", str(work / "generate"))
    rows = [
        ["generate iiwa, II 1: seconds", f"{seconds:.1f}", 30, verdict(seconds, 30)],
        ["generate iiwa, II 1: GiB", f"{memory:.2f}", 1, verdict(memory, 1)],
    ]
    report, seconds, _ = command(
        "simulate", str(robots / "iiwa.urdf"), "--tasks", "10000", "-o", str(work / "simulate")
    )
    measured = report["functions"]["id"]
    rows += [
        ["simulate iiwa, 10,000 tasks, compilation included: seconds", f"{seconds:.1f}", 120, verdict(seconds, 120)],
        ["mismatches in 10,000 tasks, twice", measured["mismatches"], 0, verdict(measured["mismatches"], 0)],
    ]
    section("Generation and simulation, Verilator", ["what", "measured", "limit", ""], rows)


def cycles(robots: Path, work: Path, tasks: int) -> None:
    """Measured latency, interval and utilisation of iiwa over initiation intervals."""
    rows = []
    for name, limit in (("iiwa", 24), ("iiwa_rbd_accel", 24)):
        for ii in (1, 2, 4, 8, 16):
            where = str(work / f"{name}{ii}")
            report, _, _ = command(
                "simulate", str(robots / f"{name}.urdf"), "--ii", str(ii), "--tasks", str(tasks), "-o", where
            )
            f = report["functions"]["id"]
            use = f["multiplier_utilization"]
            rows.append(
                [
                    name,
                    ii,
                    f["ii_cycles"],
                    verdict(abs(f["ii_cycles"] - ii), 0),
                    f["latency_cycles"],
                    verdict(f["latency_cycles"], limit) if ii == 1 else "",
                    report["multipliers"]["variable"],
                    f"{use:.3f}",
                    verdict(use, 0.90, at_least=True) if ii <= 4 else "",
                    f["mismatches"],
                    verdict(f["mismatches"], 0),
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
    section(f"Cycles measured in RTL simulation, {tasks} tasks, 125 MHz model, 18-bit words", head, rows)


def main() -> int:
    """Print all sections; 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    beside = Path(__file__).parents[2] / "shared" / "robots"
    parser.add_argument("--robots", type=Path, default=beside, help="directory of the public URDFs")
    parser.add_argument("--tasks", type=int, default=2000, help="tasks per simulated interval (2000)")
    args = parser.parse_args()
    warnings.simplefilter("ignore", RbdgenWarning)
    if not (args.robots / "iiwa.urdf").exists():
        print(
            f"{args.robots}: holds no iiwa.urdf; give the directory of the public URDFs with --robots", file=sys.stderr
        )
        return 2
    multiplications(args.robots)
    errors(args.robots)
    with tempfile.TemporaryDirectory() as work:
        generation(args.robots, Path(work))
        cycles(args.robots, Path(work), args.tasks)
    print(f"\n{missed} targets missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
