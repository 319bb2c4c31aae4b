"""Crocoddyl with an accelerator's derivatives beside Pinocchio's: iterations and costs of seeded problems.

The problems are those of `examples/mpc_problems.py`: an arm reaches, a quadruped stands on four feet. FDDP solves each
twice from the same start, to the same tolerance; derivatives are Pinocchio's, or those of the bit-true model, and
roll-outs are in float64 (compiled C), or the accelerator's as well. Costs are evaluated with Pinocchio's dynamics, each
solution's feedback included where roll-outs were not.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import crocoddyl
import numpy as np
from figures import Targets, arguments, parse, section

import rbdgen
from rbdgen.control.devices import Device

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from mpc_problems import SETTINGS, Setting

TOLERANCES = (1e-6, 1e-7, 1e-9)
"""Of FDDP: expected improvements below which a problem is solved; the last is Crocoddyl's own."""
MOST = 100
"""Iterations."""
ASKED_WORD, ASKED_TOLERANCE = 18, 1e-7
"""Bits and tolerance at which iterations are to be the same ± 1, and costs within 1%."""


@dataclass
class Solved:
    """Outcome of one problem: ``cost`` by Pinocchio's dynamics."""

    iterations: int
    cost: float


def solve(problem: Any, judge: Any, guess: np.ndarray, tolerance: float) -> Solved:
    """Solve a problem from rest; its solution costs what it costs by ``judge``'s dynamics."""
    solver = crocoddyl.SolverFDDP(problem)
    solver.th_stop = tolerance
    xs = [problem.x0] * (problem.T + 1)
    solver.solve(xs, [guess] * problem.T, MOST, False)
    return Solved(solver.iter, played(judge, solver))


def played(judge: Any, solver: Any) -> float:
    """The cost of a solution by the dynamics of ``judge``, kept to its states by its gains."""
    x, total = judge.x0, 0.0
    for k, (model, data) in enumerate(zip(judge.runningModels, judge.runningDatas, strict=True)):
        u = solver.us[k] - solver.K[k] @ model.state.diff(solver.xs[k], x)
        model.calc(data, x, u)
        total += data.cost
        x = data.xnext.copy()
    judge.terminalModel.calc(judge.terminalData, x)
    return total + judge.terminalData.cost


def compared(
    setting: Setting, device: Device, rollout: Device | None, problems: int, tolerance: float
) -> list[tuple[Solved, Solved]]:
    """Each problem by Pinocchio's derivatives and by a device's."""
    pairs = []
    for seed in range(problems):
        rng = np.random.default_rng(seed)
        start = setting.start(rng)
        setting.aim = setting.goal(rng)
        guess = setting.rest(start)
        judge = setting.problem(setting.host(), start, setting.aim)
        exact = solve(setting.problem(setting.host(), start, setting.aim), judge, guess, tolerance)
        problem = setting.problem(setting.by(device, rollout), start, setting.aim)
        pairs.append((exact, solve(problem, judge, guess, tolerance)))
        print(".", end="", file=sys.stderr, flush=True)
    return pairs


HEAD = (
    "robot",
    "bits",
    "roll-outs",
    "until",
    "iterations",
    "as many",
    "within 1",
    "difference",
    "change of cost",
    "asked",
)


def row(
    targets: Targets,
    setting: Setting,
    word: int,
    rollouts: str,
    tolerance: float,
    pairs: list[tuple[Solved, Solved]],
) -> tuple[object, ...]:
    """A row of the table; what is asked for is that with 18 bits and roll-outs in float64."""
    changes = np.array([own.iterations - exact.iterations for exact, own in pairs])
    costs = np.array([own.cost / exact.cost - 1 for exact, own in pairs])
    least, most = int(np.min(changes)), int(np.max(changes))
    largest = float(np.max(np.abs(costs)))
    verdict = ""
    if word == ASKED_WORD and rollouts == "float64" and tolerance == ASKED_TOLERANCE:
        iterations = targets.at_most(max(-least, most), 1)
        cost = targets.at_most(largest, 0.01)
        verdict = iterations if iterations == cost else f"{iterations}, {cost}"
    return (
        setting.name,
        word,
        rollouts,
        f"{tolerance:g}",
        int(np.median([exact.iterations for exact, _ in pairs])),
        f"{np.sum(changes == 0)}/{len(pairs)}",
        f"{np.sum(np.abs(changes) <= 1)}/{len(pairs)}",
        f"{least:+d} to {most:+d}",
        f"{largest:.1e}",
        verdict,
    )


def main() -> int:
    """Print the table."""
    parser = arguments(__doc__)
    parser.add_argument("--robots", default=",".join(SETTINGS), help="(all)")
    parser.add_argument("--words", default="14,16,18,24", help="word lengths, bits (14,16,18,24)")
    parser.add_argument("--problems", type=int, default=20, help="how many (20)")
    parser.add_argument("--rollouts", default="float64", help="float64, accelerator, or both")
    args = parse(parser)
    targets = Targets()
    rows = []
    for name in args.robots.split(","):
        setting = SETTINGS[name]()
        forces = setting.settings.get("forces", False)
        exact = rbdgen.compile(setting.robot, setting.rolled, forces=forces)
        for word in map(int, args.words.split(",")):
            design = rbdgen.compile_robot(setting.robot, setting.options(word))
            device = rbdgen.bit_true(design)
            for rollouts in args.rollouts.split(","):
                by = exact if rollouts == "float64" else None
                for tolerance in TOLERANCES:
                    pairs = compared(setting, device, by, args.problems, tolerance)
                    rows.append(row(targets, setting, word, rollouts, tolerance, pairs))
                    print(file=sys.stderr)
    section("Crocoddyl with an accelerator's derivatives", HEAD, rows)
    return targets.finish()


if __name__ == "__main__":
    sys.exit(main())
