"""Inverse kinematics on an engine: the tip of a 7-joint arm follows a path of places that a host sends.

    python examples/ik_path.py [--places N] [--steps K]

A host has a path of places in space, here a figure of eight in front of the arm, with the tool pointing down. For each
place it sends one task of `ik`: where the arm is, where the tip is wanted, and how many steps of damped least squares
to take, which the engine takes by itself, one after the other. What comes back is where the arm is to go. Steps of all
joints stay within the joints' limits. The same is done in float64 and with the function compiled to C. Here the engine
is its bit-true model, which answers as the hardware does; with a board, :func:`rbdgen.bit_true` gives way to
``Driver.serial``, and nothing else changes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import rbdgen
from rbdgen import Options, Robot, bit_true, compile_robot, golden, load_robot, with_frames

TIP = {"tip=link7": (0.0, 0.0, 0.1)}
"""A tool, 0.1 m long."""
START = np.array([0.0, 0.6, 0.0, -1.4, 0.0, 1.1, 0.0])
"""Near enough to the first place."""
CENTRE, WIDTH, HEIGHT = (0.6, 0.0, 0.35), 0.25, 0.12
"""Of the figure, m: its middle, and how far it goes to the side and up."""
DOWN = np.diag([-1.0, 1.0, -1.0])
"""Directions of a tool that points down."""
DAMPING = 1e-3
Solver = Callable[..., Any]
"""Of operands by name: where the arm is to go."""


def figure(places: int) -> np.ndarray:
    """Places (places, 3) of a figure of eight, m."""
    angle = np.linspace(0, 2 * np.pi, places)
    across = WIDTH * np.sin(angle)
    up = HEIGHT * np.sin(2 * angle)
    return np.array(CENTRE) + np.stack([0 * angle, across, up], axis=1)


def followed(solver: Solver, path: np.ndarray, steps: int) -> np.ndarray:
    """Configurations (places, 7) along a path."""
    q = START
    found = []
    for k, place in enumerate(path):
        # the arm has not seen the first place yet
        asked = 10 * steps if k == 0 else steps
        targets = {"to_rotation": DOWN[None], "to_position": place[None]}
        q = solver(q=q, **targets, weight=np.ones(6), steps=asked)
        found.append(q)
    return np.array(found)


def off(robot: Robot, q: np.ndarray, path: np.ndarray) -> tuple[float, float]:
    """How far the tip is from the path at most, mm, and how far it is turned away, mrad."""
    rotations, positions = golden.frame_placements(robot, q)
    away = np.linalg.norm(positions[:, 0] - path, axis=1)
    turned = np.linalg.norm(rotations[:, 0] - DOWN, axis=(1, 2)) / np.sqrt(2)
    return 1e3 * float(np.max(away)), 1e3 * float(np.max(turned))


def main() -> None:
    """Print how well the path is followed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--places", type=int, default=100, help="of the path")
    parser.add_argument("--steps", type=int, default=2, help="to each place")
    args = parser.parse_args()
    robot = with_frames(load_robot("iiwa14"), TIP)
    path = figure(args.places)
    design = compile_robot(robot, Options(("ik",), machine="engine", constraint_damping=DAMPING))
    compiled = rbdgen.compile(robot, "ik", constraint_damping=DAMPING)
    print(
        f"{args.places} places, {args.steps} steps to each; the engine promises "
        f"{design.promised_latency('ik')} cycles for a step"
    )
    exact = partial(golden.inverse_kinematics_step, robot, damping=DAMPING)
    with bit_true(design) as device:
        solvers: dict[str, Solver] = {
            "float64": exact,
            "C": compiled.inverse_kinematics_step,
            "engine": device.inverse_kinematics_step,
        }
        for name, solver in solvers.items():
            q = followed(solver, path, args.steps)
            away, turned = off(robot, q, path)
            farthest = np.max(np.abs(np.diff(q, axis=0)))
            print(
                f"{name}: off the path by {away:.3f} mm and {turned:.3f} mrad at most; joints move by "
                f"{farthest:.3f} rad between places at most"
            )


if __name__ == "__main__":
    main()
