"""For researchers: what logarithmic depth is worth for a snake of 32 links, and what it costs.

    python examples/snake.py [--links N] [-o snake.urdf]

Inverse dynamics of a serial chain is a recursion, whose latency grows with every link. By scans it grows with every
doubling of the links. Both are compiled here at the same interval of one task a cycle, and give the torques of a
travelling wave, at the bits of the hardware, beside those of float64.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from rbdgen import Options, bit_true, compile_robot, golden, load_urdf
from rbdgen.model.load import snake_urdf
from rbdgen.report.pipeline import multipliers

FAMILIES = ("recursive", "scan")
WORD = 30
"""Bits: accelerations add up along a long chain."""
STATES = 100
BEND, RATE, LAG = 0.5, 1.5, 0.6
"""Of the wave: rad, rad/s, and rad from joint to joint."""


def wave(joints: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, v and a (100, joints) of one period."""
    times = np.linspace(0.0, 2 * np.pi / RATE, STATES)[:, None]
    phase = RATE * times - LAG * np.arange(joints)
    q = BEND * np.sin(phase)
    return q, BEND * RATE * np.cos(phase), -(RATE**2) * q


def main() -> None:
    """Print cycles, multipliers and errors of both families."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--links", type=int, default=32, help="how long the snake is")
    parser.add_argument("-o", dest="path", type=Path, help="keep its description here")
    args = parser.parse_args()
    with TemporaryDirectory() as folder:
        path = args.path or Path(folder) / "snake.urdf"
        path.write_text(snake_urdf(args.links))
        robot = load_urdf(path)
    states = wave(robot.nv)
    expected = golden.rnea(robot, *states)
    largest = np.max(np.abs(expected))
    print("family     cycles  µs    multipliers  largest error / largest torque")
    for family in FAMILIES:
        design = compile_robot(robot, Options(("id",), word=WORD, inverse_dynamics=family))
        cycles = design.promised_latency("id")
        time = cycles / design.plan.schedule.device.megahertz
        with bit_true(design) as device:
            error = np.max(np.abs(device.rnea(*states) - expected)) / largest
        spent = multipliers(design)["variable"]
        print(f"{family:9}  {cycles:6}  {time:.2f}  {spent:11}  {error:.1e}")


if __name__ == "__main__":
    main()
