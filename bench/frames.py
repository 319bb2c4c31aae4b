"""Functions of frames, contacts, loops and steps in simulated hardware, and what they take beside the seven.

Tasks of all functions of a design run mixed, under random stalls, every result compared; errors are those of the
bit-true model against the golden one, at fresh states. Exit status 1 if a result differs or a target is missed.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from endurance import Endurance
from figures import Targets, arguments, parse, section

from rbdgen import Options, compile_robot
from rbdgen.functions.registry import common
from rbdgen.model import Setup
from rbdgen.report.pipeline import multipliers
from rbdgen.trials import make_tasks, relative_errors, task_states

STATES = 2000
"""Tasks of each function, and states at which errors are measured."""
INTERVALS = (1, 12)
DAMPING = 0.1
"""1/kg and 1/(kg·m²): what an arm needs near states in which it is stretched out."""
TIP = {"tip=link7": (0.0, 0.0, 0.1)}
LEG = str(Path(__file__).parents[1] / "examples" / "parallel_leg.xml")
"""A leg of which two loops move the ankle."""
RATE = 20.0
"""1/s: at which gaps of loops close."""
FEET = {"lf=lf_lowerleg": (0.35, 0.0, 0.0), "rh=rh_lowerleg": (0.35, 0.0, 0.0)}
NEW = ("fk", "jac", "acc", "lam", "laminv", "laminvf", "lama", "cfd", "scfd", "step")
MOST_MULTIPLIERS = 1.6
"""Of all functions, as multiples of the seven's."""
LEAST_ERROR = 1e-3
MOST_FOR_A_STEP = 1.1
"""Multipliers of a step, as multiples of those of dfd with the inverse."""


@dataclass(frozen=True)
class Case:
    """``functions`` of a robot that is set up by ``setup``, with further options."""

    name: str
    robot: str
    functions: tuple[str, ...]
    setup: Setup = field(default_factory=Setup)
    damping: float = 0.0
    rate: float = 0.0


CASES = (
    Case("iiwa14, a frame", "iiwa14", ("fk", "jac", "laminv", "lam"), Setup(frame=TIP), DAMPING),
    Case(
        "iiwa14, its tip held (6D)",
        "iiwa14",
        ("cfd",),
        Setup(frame=TIP, contact=("tip:6d",)),
        DAMPING,
    ),
    Case("iiwa14, a step", "iiwa14", ("step",)),
    Case(
        "hyq, floating, on two feet (3D)",
        "hyq",
        ("cfd",),
        Setup("floating", frame=FEET, contact=("lf", "rh")),
    ),
    Case("a leg with rods, two loops (3D)", LEG, ("lfd", "loop"), rate=RATE),
)


def run(targets: Targets, case: Case, ii: int, count: int) -> list[list[str | int | float]]:
    """Simulate a case's tasks at an interval; rows of the table, a function each."""
    begin = time.monotonic()
    robot = case.setup.load(case.robot)
    given = {"constraint_damping": case.damping, "contact_rate": case.rate}
    options = Options(case.functions, ii=ii, **given)
    design = compile_robot(robot, options)
    with TemporaryDirectory() as work:
        endurance = Endurance(design, Path(work))
        endurance.run(count * len(case.functions), 1)
    verdict = targets.equal((endurance.mismatches, endurance.misused), (0, set()))
    states = task_states(design, STATES, 2)
    seconds = time.monotonic() - begin
    rows: list[list[str | int | float]] = []
    for function in case.functions:
        tasks = make_tasks(design, function, states)
        error = relative_errors(design, tasks, tasks.expected)[0]
        small = targets.at_most(error, LEAST_ERROR)
        row = [case.name, function, ii, design.promised_latency(function), count]
        row += [endurance.mismatches, verdict, f"{error:.1e}", small]
        row += [multipliers(design)["variable"], f"{seconds:.0f}"]
        rows.append(row)
    return rows


def beside(targets: Targets) -> None:
    """Multipliers of all functions of iiwa14 beside those of the seven, and of a step beside those of dfd."""
    robot = Setup(frame=TIP, contact=("tip:xyzab",)).load("iiwa14")

    def count(functions: tuple[str, ...], **more: object) -> int:
        options = Options(functions, ii=12, word=18, **more)
        return multipliers(compile_robot(robot, options))["variable"]

    seven = count(common())
    everything = count((*common(), *NEW), constraint_damping=DAMPING)
    derivatives = count(("dfd",), with_inverse=True)
    step = count(("step",))
    rows = []
    for name, more, less, most in (
        ("the seven and all of frames, contacts and steps", everything, seven, MOST_MULTIPLIERS),
        ("step, beside dfd with the inverse", step, derivatives, MOST_FOR_A_STEP),
    ):
        ratio = more / less
        rows.append([name, more, less, f"{ratio:.2f}", most, targets.at_most(ratio, most)])
    section(
        "Multipliers, iiwa14, 18-bit words, II 12",
        ["what", "multipliers", "of these", "ratio", "at most", ""],
        rows,
        keys=1,
    )


def main() -> int:
    """Run all cases; 1 if anything differs or a target is missed."""
    parser = arguments(__doc__)
    parser.add_argument("--tasks", type=int, default=STATES, help="tasks of each function")
    parser.add_argument("--only", help="only cases whose names begin so, or 'multipliers'")
    parser.add_argument("--ii", type=int, action="append", help="intervals (1 and 12)")
    args = parse(parser)
    targets = Targets()
    head = ["case", "function", "II", "latency", "tasks", "mismatches", ""]
    head += ["largest error", "", "multipliers", "s"]
    title = "Frames, contacts, loops and steps, formats for an error of 1e-3"
    for case in CASES:
        if args.only and not case.name.startswith(args.only):
            continue
        for ii in args.ii or INTERVALS:
            section(title, head, run(targets, case, ii, args.tasks), keys=3)
    if args.only in (None, "multipliers"):
        beside(targets)
    return targets.finish()


if __name__ == "__main__":
    sys.exit(main())
