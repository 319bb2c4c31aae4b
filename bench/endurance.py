"""A million mixed tasks of each built-in robot in RTL simulation, under random stalls, every result compared.

Tasks of all functions come in a random order. Both ends stall at random. Runs follow one another, each from a reset,
with tasks and stalls of its own, until there have been enough tasks; the log says how far a robot is. Half an hour in
all: ``--robot`` chooses, ``--tasks`` takes fewer. Exit status 1 if a result differs, is lost, or a FIFO was misused.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from figures import Targets, arguments, parse, section

from rbdgen import Design, Options, compile_robot, load_robot
from rbdgen.functions.registry import common
from rbdgen.trials import make_tasks, task_states
from rbdgen_hw.emit import design_verilog
from rbdgen_hw.marks import mark_ports, marked_name, marked_verilog
from rbdgen_sim.cosim import STALL_PROBABILITY, fifo_marks, misused
from rbdgen_sim.interface import Rtl
from rbdgen_sim.scoreboard import Run, run_tasks
from rbdgen_sim.simulators import get_simulator

TASKS = 1_000_000
"""Tasks of each robot."""
RUN_TASKS = 50_000
"""Tasks of a run, as many as memory easily holds."""


@dataclass(frozen=True)
class Case:
    """All functions of a built-in ``robot`` at an interval: what is shared differs between them."""

    robot: str
    ii: int
    base: str = "fixed"

    def design(self) -> Design:
        """The design with the default error."""
        robot = load_robot(self.robot, base=self.base)
        return compile_robot(robot, Options(common(), ii=self.ii))


CASES = (
    Case("pendulum2", 1),
    Case("ur5", 3),
    Case("iiwa14", 12),
    Case("hyq", 8, "floating"),
)


class Endurance:
    """A design's simulation, and what has been seen of it."""

    def __init__(self, design: Design, workdir: Path) -> None:
        self.design = design
        self.workdir = workdir
        self.cycles = self.flagged = self.mismatches = 0
        self.misused: set[str] = set()
        texts = {
            f"{self.design.name}.v": design_verilog(self.design),
            f"{marked_name(self.design)}.v": marked_verilog(self.design),
        }
        for name, text in texts.items():
            (workdir / name).write_text(text)
        self.rtl = Rtl(
            marked_name(self.design),
            tuple(workdir / name for name in texts),
            self.design.tasks.task.row_bits,
            self.design.tasks.result.row_bits,
            probes=mark_ports(self.design),
        )

    def run(self, count: int, seed: int) -> None:
        """One run of ``count`` mixed tasks."""
        functions = self.design.network.functions
        order = np.random.default_rng(seed).integers(0, len(functions), count)
        most = int(np.bincount(order).max())
        states = task_states(self.design, most, seed)
        tasks = [make_tasks(self.design, function, states) for function in functions]
        simulator = get_simulator("verilator")
        done = run_tasks(
            self.design,
            tasks,
            order,
            self.rtl,
            simulator,
            self.workdir,
            stall=STALL_PROBABILITY,
            seed=seed,
        )
        self._add(done)

    def _add(self, done: Run) -> None:
        self.cycles += done.trace.cycles
        for outcome in done.outcomes.values():
            self.mismatches += outcome.mismatches
            self.flagged += int(np.count_nonzero(outcome.flags))
        marks = fifo_marks(self.design, [done.trace])
        self.misused.update(misused(self.design, marks))


def endure(targets: Targets, case: Case, count: int) -> None:
    """All tasks of one robot, and its row of the table."""
    begin = time.monotonic()
    with TemporaryDirectory() as work:
        endurance = Endurance(case.design(), Path(work))
        done = seed = 0
        while done < count:
            part = min(RUN_TASKS, count - done)
            endurance.run(part, seed)
            done, seed = done + part, seed + 1
            minutes = (time.monotonic() - begin) / 60
            print(
                f"{case.robot}: {done} tasks, {endurance.cycles} cycles, {endurance.mismatches} mismatches, "
                f"{minutes:.1f} minutes",
                flush=True,
            )
    row = [case.robot, case.base, case.ii, done, endurance.cycles, endurance.flagged]
    wrong = endurance.mismatches, endurance.misused
    row += [endurance.mismatches, targets.equal(wrong, (0, set()))]
    head = ["robot", "base", "II", "tasks", "cycles", "flagged", "mismatches", ""]
    title = (
        f"Endurance: all functions mixed, each side stalls in {STALL_PROBABILITY:.0%} of the cycles"
    )
    section(title, head, [row], keys=3)


def main() -> int:
    """Run all cases; 1 if anything differs."""
    parser = arguments(__doc__)
    names = [case.robot for case in CASES]
    parser.add_argument(
        "--robot", choices=names, action="append", help="only this; may be repeated"
    )
    parser.add_argument("--tasks", type=int, default=TASKS, help="tasks of each robot")
    args = parse(parser)
    targets = Targets()
    for case in CASES:
        if not args.robot or case.robot in args.robot:
            endure(targets, case, args.tasks)
    return targets.finish()


if __name__ == "__main__":
    sys.exit(main())
