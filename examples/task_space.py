"""Task-space control of a 7-joint arm: its tip draws a circle, all of its dynamics from an accelerator.

    python examples/task_space.py [--error E] [--seconds S]

Per control step an accelerator gives the tip's placement, Jacobian, velocity-dependent acceleration, the force for an
acceleration in operational space, the torques that carry the arm, and M: `fk`, `jac`, `acc`, `lama`, `nle` and `m`, all
of one design. The law is Khatib's, τ = Jᵀ Λ (ẍ_wanted + gains − J̇ v) + nonlinear effects, with damping where the tip
does not feel it. Here the accelerator is its bit-true model, which answers as the hardware does, bit for bit; the arm
moves in float64. With a board, :func:`rbdgen.bit_true` gives way to ``Driver.serial``, and nothing else changes.
"""

from __future__ import annotations

import argparse
from typing import Protocol

import numpy as np

from rbdgen import Options, Robot, bit_true, compile_robot, golden, load_robot, with_frames

FUNCTIONS = ("fk", "jac", "acc", "lama", "nle", "m")
TIP = {"tip=link7": (0.0, 0.0, 0.1)}
"""A tool, 0.1 m long."""
REFERENCE = "local_world_aligned"
"""Axes of the world, at the tip."""
START = np.array([0.0, 0.6, 0.0, -1.2, 0.0, 0.8, 0.0])
RADIUS = 0.1
"""Of the circle, m."""
CONTROL, PLANT = 0.004, 0.001
"""Seconds per step of the controller, and of the arm."""
STIFFNESS, DAMPING, POSTURE = 400.0, 40.0, 10.0
"""Gains of the tip, 1/s² and 1/s, and of motions that the tip does not feel, 1/s."""
SOFTNESS = 0.01
"""Added to the diagonal of Λ⁻¹, 1/kg and 1/(kg·m²): the arm may come near a singularity."""


class Dynamics(Protocol):
    """What gives the dynamics, by functions' names: an accelerator, or its float64 stand-in."""

    def call(self, function: str, /, **operands: np.ndarray) -> np.ndarray | tuple[np.ndarray, ...]:
        """Results of one function."""
        ...


class Float64:
    """The golden model, called as an accelerator is."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot

    def call(self, function: str, /, **operands: np.ndarray) -> np.ndarray | tuple[np.ndarray, ...]:
        """Results of one function."""
        robot = self.robot
        if function == "fk":
            return golden.frame_placements(robot, operands["q"])
        if function == "jac":
            return golden.frame_jacobians(robot, operands["q"], reference=REFERENCE)
        if function == "acc":
            return golden.frame_accelerations(robot, **operands, reference=REFERENCE)
        if function == "lama":
            return golden.operational_space_force(
                robot, **operands, reference=REFERENCE, damping=SOFTNESS
            )
        if function == "m":
            return golden.crba(robot, operands["q"])
        return golden.nonlinear_effects(robot, **operands)


def circle(t: float, seconds: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where the tip is to be beside its start, m, how fast, and how it accelerates: a round in y and z within these
    seconds, from rest to rest."""
    s = t / seconds
    angle = 2 * np.pi * (10 * s**3 - 15 * s**4 + 6 * s**5)
    rate = 2 * np.pi * (30 * s**2 - 60 * s**3 + 30 * s**4) / seconds
    push = 2 * np.pi * (60 * s - 180 * s**2 + 120 * s**3) / seconds**2
    there = RADIUS * np.array([0.0, np.sin(angle), np.cos(angle) - 1])
    along = RADIUS * np.array([0.0, np.cos(angle), -np.sin(angle)])
    inward = RADIUS * np.array([0.0, -np.sin(angle), -np.cos(angle)])
    return there, rate * along, push * along + rate**2 * inward


def turn_between(rotation: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The rotation vector (3) from one direction to another one near it, in the world's axes."""
    crosses = [np.cross(rotation[:, k], wanted[:, k]) for k in range(3)]
    return np.sum(crosses, axis=0) / 2


def control(
    dynamics: Dynamics,
    q: np.ndarray,
    v: np.ndarray,
    goal: tuple[np.ndarray, np.ndarray, np.ndarray],
    home: tuple[np.ndarray, np.ndarray],
) -> tuple[np.ndarray, float]:
    """Torques (7), and how far the tip is off its ``goal`` beside its ``home``, m."""
    rotations, positions = dynamics.call("fk", q=q)
    jacobian = dynamics.call("jac", q=q)[0]
    spatial, classical = dynamics.call("acc", q=q, v=v)
    drift = np.concatenate([classical[0], spatial[0, 3:]])
    there, speed, acceleration = goal
    off = np.concatenate([home[1] + there - positions[0], turn_between(rotations[0], home[0])])
    wanted = np.concatenate([acceleration, np.zeros(3)])
    slow = np.concatenate([speed, np.zeros(3)]) - jacobian @ v
    pull = wanted + STIFFNESS * off + DAMPING * slow - drift
    force = dynamics.call("lama", q=q, pull=pull)
    hidden = v - np.linalg.pinv(jacobian) @ (jacobian @ v)
    slowed = dynamics.call("m", q=q) @ (POSTURE * hidden)
    tau = jacobian.T @ force + dynamics.call("nle", q=q, v=v) - slowed
    return tau, float(np.linalg.norm(off[:3]))


def drawn(robot: Robot, dynamics: Dynamics, seconds: float) -> np.ndarray:
    """How far the tip was off the circle by control step, m."""
    q, v = START.copy(), np.zeros(7)
    rotations, positions = golden.frame_placements(robot, q)
    home = rotations[0], positions[0]
    errors = []
    for k in range(round(seconds / CONTROL)):
        tau, error = control(dynamics, q, v, circle(k * CONTROL, seconds), home)
        errors.append(error)
        for _ in range(round(CONTROL / PLANT)):
            v = v + PLANT * golden.forward_dynamics(robot, q, v, tau)
            q = q + PLANT * v
    return np.array(errors)


def main() -> None:
    """Print how well the circle is drawn."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--error", type=float, default=2e-4, help="largest relative error")
    parser.add_argument("--seconds", type=float, default=2.0, help="for the circle")
    args = parser.parse_args()
    robot = with_frames(load_robot("iiwa14"), TIP)
    design = compile_robot(
        robot,
        Options(
            FUNCTIONS, error=args.error, ii=12, reference=REFERENCE, constraint_damping=SOFTNESS
        ),
    )
    print("functions   cycles from the last operand to the last result")
    for function in FUNCTIONS:
        print(f"{function:10}  {design.promised_latency(function)}")
    with bit_true(design) as device:
        for name, dynamics in (("float64", Float64(robot)), ("bit-true", device)):
            errors = drawn(robot, dynamics, args.seconds)
            print(f"{name}: off the circle by {np.max(errors) * 1e3:.2f} mm at most")


if __name__ == "__main__":
    main()
