"""Prints the speed of the golden model beside Pinocchio called in a Python loop: ``make bench-golden``.

Both compute the same states in the same run on one core, the best of several rounds that take turns. Exit status 1 if
derivatives of inverse dynamics of the built-in 7-joint arm are slower per state than Pinocchio's loop.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from rbdgen import RbdgenWarning, golden, load_robot, load_urdf
from rbdgen.model import builtin_path
from rbdgen.report.tables import table

ROUNDS = 7
ASKED = ("iiwa14", "fixed", "did")
"""What must not be slower than Pinocchio's loop."""


def seconds(functions: Sequence[Callable[[], object]]) -> list[float]:
    """The best time of each function, over rounds in which they take turns."""
    best = [float("inf")] * len(functions)
    for _ in range(ROUNDS):
        for k, function in enumerate(functions):
            begin = time.perf_counter()
            function()
            best[k] = min(best[k], time.perf_counter() - begin)
    return best


def rows(path: Path, base: str, count: int) -> list[list[Any]]:
    """A row for each function of one robot: microseconds per state."""
    robot = load_urdf(path, base)
    model = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if base == "floating" else []))
    data = model.createData()
    q, v, a = golden.random_states(robot, golden.declared_ranges(robot), count, seed=1)
    tau = np.random.default_rng(1).uniform(-100, 100, v.shape)

    def loop(function: Callable[..., object], *arrays: np.ndarray) -> Callable[[], None]:
        def run() -> None:
            for state in zip(*arrays, strict=True):
                function(model, data, *state)

        return run

    minv = golden.minverse(robot, q)
    functions: dict[str, tuple[Callable[[str], object], Callable[[], None] | None]] = {
        "id": (lambda m: golden.rnea(robot, q, v, a), loop(pin.rnea, q, v, a)),
        "m": (lambda m: golden.crba(robot, q, method=m), loop(pin.crba, q)),
        "minv": (lambda m: golden.minverse(robot, q, method=m), loop(pin.computeMinverse, q)),
        "fd": (lambda m: golden.forward_dynamics(robot, q, v, tau, method=m), loop(pin.aba, q, v, tau)),
        "did": (
            lambda m: golden.rnea_derivatives(robot, q, v, a, method=m),
            loop(pin.computeRNEADerivatives, q, v, a),
        ),
        "dfd": (
            lambda m: golden.forward_dynamics_derivatives(robot, q, v, tau, method=m),
            loop(pin.computeABADerivatives, q, v, tau),
        ),
        "difd": (
            lambda m: golden.forward_dynamics_derivatives(robot, q, v, a=a, minv=minv, method=m),
            None,
        ),
    }
    result = []
    for name, (ours, pinocchio) in functions.items():
        begin = time.perf_counter()
        ours("composite")
        first = time.perf_counter() - begin
        timed = [lambda ours=ours: ours("composite"), lambda ours=ours: ours("textbook")]
        best = seconds([*timed, pinocchio] if pinocchio else timed)
        each = [f"{t / count * 1e6:.2f}" for t in best] + ([] if pinocchio else [""])
        ratio = f"{best[0] / best[2]:.2f}" if pinocchio else ""
        result.append([path.stem, base, name, robot.nv, *each, ratio, f"{first:.2f}"])
    return result


def main() -> int:
    """Print the table; 1 if the golden model is slower than asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--states", type=int, default=4096, help="states per call (4096)")
    args = parser.parse_args()
    warnings.simplefilter("ignore", RbdgenWarning)
    arm = load_robot("iiwa14")
    q, v, a = golden.random_states(arm, golden.declared_ranges(arm), 10, seed=2)
    golden.rnea(arm, q, v, a)  # imports and allocators are warm
    measured = []
    for robot, base in (("iiwa14", "fixed"), ("hyq", "fixed")):
        measured += rows(builtin_path(robot), base, args.states)
    head = ["robot", "base", "function", "nv", "composite", "textbook", "Pinocchio's loop", "ratio", "first call, s"]
    print(f"Microseconds per state, {args.states} states in one call, best of {ROUNDS} rounds\n")
    print(table(head, measured))
    asked = next(row for row in measured if tuple(row[:3]) == ASKED)
    if float(asked[7]) > 1.0:
        print(f"\n{' '.join(ASKED)}: {asked[4]} µs per state, slower than Pinocchio's loop with {asked[6]}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
