"""Measures whether ranges hold: tasks anywhere in the declared box, what torques cost, errors of default formats.

``--part``: ``box`` (half an hour) sends many tasks of each function, uniform in their declared box, through the
bit-true model; ``cost`` counts what torques up to the effort take beside motions only; ``default`` puts formats from an
error beside words of 18 bits; ``time`` is what evidence of errors takes, as commands print it. Public URDFs are used
where they lie beside the checkout (``--robots DIR`` for another place). Exit status 1 if a target is missed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from figures import Part, Targets, arguments, measure, parse, section

from rbdgen import Design, Options, Robot, compile_robot, load_robot, load_urdf
from rbdgen.cli.commands import EVIDENCE_STATES
from rbdgen.functions.registry import common
from rbdgen.machines.pipeline.resources import estimate
from rbdgen.report.evidence import evidence, formats
from rbdgen.tracing.torques import TORQUE, with_torques
from rbdgen.trials import make_tasks, task_states

ALL = common()
FLAGGED, ERROR = 1e-4, 1e-3
"""Share of tasks inside their box that may be flagged, and the largest error."""
SECONDS = 5.0
"""Limit of the evidence of all seven functions of an arm."""
CHUNK, STATES, FIRST_SEED = 10_000, 20_000, 100
"""Tasks at once, states of errors, and the first seed of tasks."""


@dataclass(frozen=True)
class Case:
    """A robot, by its built-in name or a public URDF's, how it is carried, and what is computed."""

    robot: str
    functions: tuple[str, ...] = ALL
    base: str = "fixed"
    forces: bool = False

    def load(self, robots: Path) -> Robot | None:
        """The robot; None where its file is not there."""
        path = robots / f"{self.robot}.urdf"
        if path.exists():
            return load_urdf(path, base=self.base)
        if self.robot in ("pendulum2", "ur5", "iiwa14", "hyq"):
            return load_robot(self.robot, base=self.base)
        return None

    @property
    def title(self) -> str:
        """The robot in a table."""
        return self.robot + (f", {self.base}" if self.base != "fixed" else "")


CASES = (
    Case("pendulum2"),
    Case("ur5", forces=True, functions=("id", "fd", "did", "dfd")),
    Case("iiwa14"),
    Case("hyq"),
    Case("hyq", ("id", "fd", "m"), "floating"),
    Case("iiwa"),
    Case("jaco_2_simple", ("id", "did")),
    Case("baxter_simple", ("id", "fd", "m", "did")),
)
"""Robots whose boxes are tried."""


def designs(robots: Path, **options: Any) -> Iterator[tuple[Case, Design, float]]:
    """A design for each robot that is there, at an interval of 12 cycles, with the seconds that it took."""
    for case in CASES:
        robot = case.load(robots)
        if robot is None:
            continue
        began = time.perf_counter()
        asked = Options(case.functions, ii=12, device="ecp5", forces=case.forces, **options)
        design = compile_robot(robot, asked)
        yield case, design, time.perf_counter() - began


def box(targets: Targets, robots: Path, count: int) -> None:
    """Tasks uniform in the declared box of each function."""
    rows = []
    for case, design, _ in designs(robots):
        errors = evidence(design, STATES)["functions"]
        for function in case.functions:
            share = flagged(design, function, count) / count
            outputs = errors[function]["outputs"].values()
            worst = max(output["max_relative"] for output in outputs)
            fits = targets.at_most(share, FLAGGED), targets.at_most(worst, ERROR)
            rows.append(
                [case.title, function, count, f"{share:.1e}", fits[0], f"{worst:.1e}", fits[1]]
            )
        head = ["robot", "function", "tasks", "flagged", "", "largest error", ""]
        section("Tasks uniform in their declared box, by the bit-true model", head, rows, keys=2)


def flagged(design: Design, function: str, count: int) -> int:
    """Count of flagged tasks of so many that are uniform in their box."""
    total = 0
    limits = design.network.torque_limits
    for number in range(count // CHUNK):
        seed = FIRST_SEED + number
        states = with_torques(task_states(design, CHUNK, seed), limits, TORQUE, seed)
        tasks = make_tasks(design, function, states)
        total += int(np.count_nonzero(tasks.flags))
    return total


def counted(design: Design) -> list[int]:
    """Look-up tables, registers and blocks by the model."""
    used = estimate(design.plan, design.tasks).as_dict()
    return [used[key] for key in ("luts", "registers", "multipliers")]


def cost(robots: Path) -> None:
    """Costs of torques up to the effort beside motions only."""
    rows = []
    of_motions = designs(robots, ranges="motion")
    for (case, both, _), (_, motion, _) in zip(designs(robots), of_motions, strict=True):
        more, less = counted(both), counted(motion)
        ratios = [f"{m / n - 1:+.0%}" for m, n in zip(more, less, strict=True)]
        rows.append([case.title, ",".join(case.functions), *less, *more, *ratios])
        head = ["robot", "functions"]
        for kind in ("motion", "both", "more"):
            head += [f"tables, {kind}", "registers", "blocks"]
        section("What --ranges both costs beside motion, by the model", head, rows, keys=2)


def default(robots: Path) -> None:
    """Formats from an error of 1e-3 beside words of 18 bits."""
    rows = []
    for name, asked in (("error 1e-3", {}), ("word 18", {"word": 18})):
        for case, design, seconds in designs(robots, **asked):
            outputs = evidence(design, 2000)["functions"].values()
            worst = max(e["max_relative"] for f in outputs for e in f["outputs"].values())
            bits = formats(design)["signal_bits"]["mean"]
            row = [case.title, ",".join(case.functions), name, bits, *counted(design)]
            rows.append([*row, f"{worst:.1e}", round(seconds)])
            head = ["robot", "functions", "formats", "bits, mean", "tables", "registers"]
            head += ["blocks", "largest error", "s"]
            section("Formats from an error beside words, ECP5, II 12", head, rows, keys=3)


def spent(targets: Targets) -> None:
    """Seconds of evidence at as many states as commands take."""
    design = compile_robot(load_robot("iiwa14"), Options(ALL, ii=12))
    began = time.perf_counter()
    evidence(design, EVIDENCE_STATES)
    seconds = time.perf_counter() - began
    row = ["iiwa14", ",".join(ALL), EVIDENCE_STATES, f"{seconds:.2f}"]
    head = ["robot", "functions", "states", "s", ""]
    rows = [[*row, targets.at_most(seconds, SECONDS)]]
    section("Time of the evidence of errors", head, rows, keys=3)


PARTS: dict[str, Part] = {
    "box": lambda targets, args: box(targets, args.robots, args.tasks),
    "cost": lambda _, args: cost(args.robots),
    "default": lambda _, args: default(args.robots),
    "time": lambda targets, _: spent(targets),
}


def main() -> int:
    """Print the parts; 1 if a target is missed."""
    parser = arguments(__doc__, PARTS, robots=True)
    parser.add_argument("--tasks", type=int, default=100_000, help="tasks of each function")
    return measure(parse(parser), PARTS)


if __name__ == "__main__":
    sys.exit(main())
