"""For users of Pinocchio: the same calls with rbdgen, on batches, and with an accelerator in place of the processor.

    python examples/swap_pinocchio.py [ROBOT] [--states N] [--port /dev/ttyUSB0 --manifest build/arm/manifest.json]

Runs every function by the golden model, compares each with Pinocchio where that is installed (`pip install pin`), and
prints how far they differ and how long both take. With a port, an accelerator computes as well.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import rbdgen
from rbdgen import golden
from rbdgen.host.driver import Driver
from rbdgen.model import builtin_path, builtin_robots


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    """A function's result, and the seconds of its second call (the first one prepares)."""
    function()
    begin = time.perf_counter()
    result = function()
    return result, time.perf_counter() - begin


def pinocchio_results(
    path: Path, q: np.ndarray, v: np.ndarray, a: np.ndarray, tau: np.ndarray
) -> dict[str, Any]:
    """What a user of Pinocchio writes: a loop over states. Results and seconds by function; empty without Pinocchio."""
    try:
        import pinocchio as pin
    except ImportError:
        return {}
    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()

    def derivatives(
        x: np.ndarray, dx: np.ndarray, ddx: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        pin.computeRNEADerivatives(model, data, x, dx, ddx)
        return data.dtau_dq.copy(), data.dtau_dv.copy()

    def forward_derivatives(
        x: np.ndarray, dx: np.ndarray, t: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        pin.computeABADerivatives(model, data, x, dx, t)
        return data.ddq_dq.copy(), data.ddq_dv.copy()

    n = range(len(q))
    return {
        "id": timed(lambda: np.array([pin.rnea(model, data, q[k], v[k], a[k]).copy() for k in n])),
        "fd": timed(lambda: np.array([pin.aba(model, data, q[k], v[k], tau[k]).copy() for k in n])),
        "m": timed(lambda: np.array([pin.crba(model, data, q[k]).copy() for k in n])),
        "minv": timed(lambda: np.array([pin.computeMinverse(model, data, q[k]).copy() for k in n])),
        "did": timed(lambda: np.array([derivatives(q[k], v[k], a[k]) for k in n]).swapaxes(0, 1)),
        "dfd": timed(
            lambda: np.array([forward_derivatives(q[k], v[k], tau[k]) for k in n]).swapaxes(0, 1)
        ),
    }


def our_results(
    robot: rbdgen.Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray, tau: np.ndarray
) -> dict[str, Any]:
    """The same with rbdgen: one call for all states. Derivatives are pairs (∂/∂q, ∂/∂v)."""
    return {
        "id": timed(lambda: golden.rnea(robot, q, v, a)),
        "fd": timed(lambda: golden.forward_dynamics(robot, q, v, tau)),
        "m": timed(lambda: golden.crba(robot, q)),
        "minv": timed(lambda: golden.minverse(robot, q)),
        "did": timed(lambda: np.array(golden.rnea_derivatives(robot, q, v, a))),
        "dfd": timed(lambda: np.array(golden.forward_dynamics_derivatives(robot, q, v, tau))),
    }


def main() -> None:
    """Print one line per function."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "robot", nargs="?", default="iiwa14", help="a built-in robot or a URDF (iiwa14)"
    )
    parser.add_argument("--states", type=int, default=1000, help="states in a batch (1000)")
    parser.add_argument("--port", help="serial port of an accelerator for inverse dynamics")
    parser.add_argument("--manifest", help="the accelerator's manifest.json")
    args = parser.parse_args()

    robot = rbdgen.load_robot(args.robot)
    path = builtin_path(args.robot) if args.robot in builtin_robots() else Path(args.robot)
    q, v, a = golden.random_states(robot, golden.declared_ranges(robot), args.states, seed=1)
    tau = golden.rnea(robot, q, v, a)

    theirs = pinocchio_results(path, q, v, a, tau)
    for name, (mine, seconds) in our_results(robot, q, v, a, tau).items():
        line = f"{name:5} rbdgen {seconds / args.states * 1e6:8.2f} µs per state"
        if name in theirs:
            result, loop = theirs[name]
            difference = np.max(np.abs(mine - result)) / np.max(np.abs(result))
            line += f"   Pinocchio {loop / args.states * 1e6:8.2f} µs"
            line += f"   largest difference / largest value {difference:.1e}"
        print(line)
    if not theirs:
        print("Pinocchio is not installed (pip install pin): nothing to compare with")

    if args.port:
        with Driver.serial(args.manifest, args.port) as device:
            error = np.max(np.abs(device.rnea(q, v, a) - tau)) / np.max(np.abs(tau))
            print(f"accelerator: largest error / largest torque {error:.1e}")


if __name__ == "__main__":
    main()
