"""A leg whose ankle is driven through rods: forward dynamics with closed loops from an accelerator, and its control.

    python examples/parallel_leg.py [--seconds S]

`parallel_leg.xml` is a leg of eleven joints, five of which have motors: hip and knee, and two cranks on the shin, which
turn the foot through rods that close two loops. The foot is to nod and to roll at the same time while hip and knee stay
where they are. Per control step six tasks of `lfd`, in one batch, say how all joints accelerate without torques and
with each motor's; from these come the motors' torques that accelerate hip, knee and ankle as they should. No map from
cranks to ankle is written down anywhere. Here the accelerator is the bit-true model of an engine of four lanes; the leg
moves in float64.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rbdgen import Options, Robot, bit_true, close_loops, compile_robot, golden, load

LEG = Path(__file__).with_name("parallel_leg.xml")
MOTORS = ("hip_roll", "hip_pitch", "knee", "motor_left", "motor_right")
MOVED = ("hip_roll", "hip_pitch", "knee", "ankle_pitch", "ankle_roll")
"""What motors drive, and the joints that are told how to move."""
RODS = tuple(f"{part}_{side}{end}" for side in ("left", "right") for part, end in (
    ("motor", ""), ("rod", "_pitch"), ("rod", "_roll"),
))  # fmt: skip
STANCE = {"hip_pitch": -0.5, "knee": 1.0, "ankle_pitch": -0.3}
"""rad, of other joints than those that follow from them."""
NOD, ROLL = 0.25, 0.12
"""rad: by so much the ankle swings, once and twice a second."""
STEP, SELDOM = 0.001, 2
"""Seconds per step, and steps between those of the controller."""
TRIED = 10.0
"""N·m: the torque by which each motor's effect is found."""
STIFFNESS = 30.0
"""1/s: errors die away so fast, without a swing."""
RATE = 40.0
"""1/s: how fast gaps of the loops close."""
Dynamics = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""Of q, v and τ: accelerations."""


def dofs(robot: Robot, names: tuple[str, ...]) -> list[int]:
    """Where these joints, of one degree of freedom each, are in v; in q as well, as all of them are."""
    return [robot.v_slices[robot.joint_names.index(name)].start for name in names]


def standing(robot: Robot) -> np.ndarray:
    """The stance, with cranks and rods where the loops have them."""
    q = golden.neutral(robot)
    q[dofs(robot, tuple(STANCE))] = list(STANCE.values())
    return close_loops(robot, q, RODS)


def asked(t: float, stance: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where the moved joints are to be, how fast, and how much faster; they begin at rest."""
    where, speed, faster = stance.copy(), np.zeros(5), np.zeros(5)
    for k, size, pace in ((3, NOD, 2 * np.pi), (4, ROLL, 4 * np.pi)):
        # sin² rises from rest
        where[k] += size * np.sin(pace * t / 2) ** 2
        speed[k] = size * pace / 2 * np.sin(pace * t)
        faster[k] = size * pace**2 / 2 * np.cos(pace * t)
    return where, speed, faster


def torques_for(
    robot: Robot, dynamics: Dynamics, q: np.ndarray, v: np.ndarray, wanted: np.ndarray
) -> np.ndarray:
    """The torques (nv) of the motors at which the moved joints accelerate as is ``wanted`` (5)."""
    motors, moved = dofs(robot, MOTORS), dofs(robot, MOVED)
    tau = np.zeros((6, robot.nv))
    tau[range(1, 6), motors] = TRIED
    accelerations = dynamics(np.tile(q, (6, 1)), np.tile(v, (6, 1)), tau)[:, moved]
    effects = (accelerations[1:] - accelerations[0]).T / TRIED
    found = np.zeros(robot.nv)
    found[motors] = np.linalg.solve(effects, wanted - accelerations[0])
    return found


def nodding(robot: Robot, dynamics: Dynamics, stance: np.ndarray, seconds: float) -> None:
    """Let the foot nod and roll for so long, and print how that went."""
    moved, ankles = dofs(robot, MOVED), dofs(robot, MOTORS[3:])
    q, v = stance, np.zeros(robot.nv)
    tau = np.zeros(robot.nv)
    astray = widest = strongest = 0.0
    for k in range(round(seconds / STEP)):
        where, speed, faster = asked(k * STEP, stance[moved])
        off, slow = where - q[moved], speed - v[moved]
        if k % SELDOM == 0:
            wanted = faster + STIFFNESS**2 * off + 2 * STIFFNESS * slow
            tau = torques_for(robot, dynamics, q, v, wanted)
        a, _ = golden.loop_forward_dynamics(robot, q, v, tau, rate=RATE)
        v = v + STEP * a
        q = golden.integrate(robot, q, STEP * v)
        astray = max(astray, float(np.max(np.abs(off))))
        widest = max(widest, float(np.max(np.abs(golden.loop_residuals(robot, q)))))
        strongest = max(strongest, float(np.max(np.abs(tau[ankles]))))
    print(
        f"nods and rolls for {seconds:g} s: joints stray by at most {1e3 * astray:.2f} mrad, loops open by at most "
        f"{1e6 * widest:.1f} um, cranks take up to {strongest:.1f} N·m"
    )


def main() -> None:
    """Print how the ankle moves, by float64 and by the accelerator."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="how long to move")
    args = parser.parse_args()
    robot = load(LEG)
    stance = standing(robot)

    def exact(q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        return golden.loop_forward_dynamics(robot, q, v, tau, rate=RATE)[0]

    options = Options(("lfd",), machine="engine", lanes=4, contact_rate=RATE)
    with bit_true(compile_robot(robot, options)) as device:

        def bit_by_bit(q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
            return device.loop_forward_dynamics(q, v, tau)[0]

        for name, dynamics in (("float64", exact), ("bit-true", bit_by_bit)):
            print(f"{name}: ", end="")
            nodding(robot, dynamics, stance, args.seconds)


if __name__ == "__main__":
    main()
