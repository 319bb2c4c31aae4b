"""Prints the speed of the golden model beside Pinocchio called in a Python loop: ``make bench-golden``.

Both compute the same states in the same run on one core, the best of several rounds that take turns. Exit status 1 if
derivatives of inverse dynamics of the built-in 7-joint arm are slower per state than Pinocchio's loop.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from figures import arguments, parse, section

from rbdgen import golden, load_robot, load_urdf
from rbdgen.model import builtin_path
from rbdgen.processor_times import best_times, golden_calls, pinocchio, timing_states

ROUNDS = 7
ASKED = ("iiwa14", "fixed", "did")
"""Functions that must not be slower than Pinocchio's loop."""


def rows(path: Path, base: str, count: int) -> list[list[Any]]:
    """A row for each function of one robot: microseconds per state."""
    robot = load_urdf(path, base)
    model = pinocchio.model_of(path, base)
    data = model.createData()
    states = timing_states(robot, count, seed=1, inverse=True)
    composite, textbook = (golden_calls(robot, states, method) for method in golden.METHODS)
    result = []
    for name in composite:
        begin = time.perf_counter()
        composite[name]()
        first = time.perf_counter() - begin
        loop = [pinocchio.loop(model, data, name, states)] if name in pinocchio.NAMES else []
        best = best_times([composite[name], textbook[name], *loop], ROUNDS)
        each = [f"{t / count * 1e6:.2f}" for t in best] + ([] if loop else [""])
        ratio = f"{best[0] / best[2]:.2f}" if loop else ""
        result.append([path.stem, base, name, robot.nv, *each, ratio, f"{first:.2f}"])
    return result


def main() -> int:
    """Print the table; 1 if the golden model is slower than asked."""
    parser = arguments(__doc__)
    parser.add_argument("--states", type=int, default=4096, help="states per call (4096)")
    args = parse(parser)
    arm = load_robot("iiwa14")
    q, v, a = golden.random_states(arm, golden.declared_ranges(arm), 10, seed=2)
    golden.rnea(arm, q, v, a)  # imports and allocators are warm
    measured = []
    for robot, base in (("iiwa14", "fixed"), ("hyq", "fixed")):
        measured += rows(builtin_path(robot), base, args.states)
    head = [
        "robot",
        "base",
        "function",
        "nv",
        "composite",
        "textbook",
        "Pinocchio's loop",
        "ratio",
        "first call, s",
    ]
    title = f"Microseconds per state, {args.states} states in one call, best of {ROUNDS} rounds"
    section(title, head, measured)
    asked = next(row for row in measured if tuple(row[:3]) == ASKED)
    if float(asked[7]) > 1.0:
        print(
            f"\n{' '.join(ASKED)}: {asked[4]} µs per state, slower than Pinocchio's loop with {asked[6]}"
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
