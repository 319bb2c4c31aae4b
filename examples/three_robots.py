"""A laptop and one board with Ethernet: three robots in its engine, called in turn, and one of them picks something up.

    python examples/three_robots.py [--udp 192.168.1.50] [--calls 40]

Without an address an engine is emulated in this process, behind datagrams of the loopback: nothing but its speed is
another then. Each robot is compiled and loaded once; a second run finds it on a board, unless that was switched off.
"""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack

import numpy as np

import rbdgen
from rbdgen import Options, Robot, golden
from rbdgen.emulated_engine import serve_engine
from rbdgen.host.driver import Driver
from rbdgen.host.engine import Engine
from rbdgen.machines.engine.core import Core
from rbdgen.machines.engine.resident import Resident
from rbdgen.model import Setup, with_payloads
from rbdgen.model.ranges import declared_ranges, random_states
from rbdgen.resident import load_robot_into

GRIPPED = 0.8
"""Kilograms that the arm picks up."""
HEAVIEST = {"wrist_3_link": (2.0, 0.0, 0.0, 0.15)}
"""What it can carry at most: mass, and how far from the wrist."""
ROBOTS = {
    "ur5": Setup(payload=HEAVIEST),
    "iiwa14": Setup(),
    "hyq": Setup(base="floating"),
}


def worst(device: Driver, robot: Robot) -> float:
    """The largest error of torques at random states, relative to the largest of its kind."""
    q, v, a = random_states(robot, declared_ranges(robot), 50, 0)
    exact = golden.rnea(robot, q, v, a)
    errors = np.abs(device.rnea(q, v, a) - exact)
    return float(np.max(errors / np.max(np.abs(exact), axis=0)))


def microseconds(device: Driver, robot: Robot, calls: int) -> tuple[float, float]:
    """Median and longest time of single calls, as this process sees them."""
    states = random_states(robot, declared_ranges(robot), calls, 1)
    taken = []
    for q, v, a in zip(*states, strict=True):
        begin = time.perf_counter()
        device.rnea(q, v, a)
        taken.append(1e6 * (time.perf_counter() - begin))
    return float(np.median(taken)), max(taken)


def main() -> None:
    """Load, call and compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--udp", metavar="ADDRESS", help="the board's IP address")
    parser.add_argument("--calls", type=int, default=40, help="single calls that are timed (40)")
    args = parser.parse_args()
    with ExitStack() as stack:
        address = args.udp
        if address is None:
            core = Core(words=1024, depth=8192, results=2048)
            address = stack.enter_context(serve_engine(Resident(core))).name
        engine = stack.enter_context(Engine.udp(address))
        arms = {}
        for name, setup in ROBOTS.items():
            robot = setup.load(name)
            options = Options(functions=("id",), calibratable=name == "ur5")
            begin = time.perf_counter()
            device = load_robot_into(engine, robot, options)
            print(f"{name}: compiled and loaded in {time.perf_counter() - begin:.1f} s")
            arms[name] = device, robot
        print(f"resident: {', '.join(engine.robots)}")
        for name, (device, robot) in arms.items():
            median, longest = microseconds(device, robot, args.calls)
            print(
                f"{name}: worst error {worst(device, robot):.1e}, a call takes {median:.0f} µs, at most {longest:.0f}"
            )
        device, _ = arms["ur5"]
        for what, mass in (("nothing", 0.0), (f"{GRIPPED} kg", GRIPPED)):
            begin = time.perf_counter()
            device.payload("wrist_3_link", mass, (0.0, 0.0, 0.1))
            changed = 1e3 * (time.perf_counter() - begin)
            carried = {"wrist_3_link": (mass, 0.0, 0.0, 0.1)} if mass else {}
            robot = with_payloads(rbdgen.load_robot("ur5"), carried)
            print(
                f"ur5 carries {what}: worst error {worst(device, robot):.1e}, {changed:.1f} ms to say so"
            )


if __name__ == "__main__":
    main()
