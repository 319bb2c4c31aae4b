"""A quadruped stands on two feet: forward dynamics with contacts from an accelerator, and the balance that follows.

    python examples/stand.py [--error E] [--seconds S]

HyQ stands on its left front and right hind foot, whose points the world holds; the other legs are in the air. Gravity
tips it over the line between the feet, and only motions of its own limbs can hold it. Per control step thirteen tasks
of `cfd`, in one batch, say how the robot accelerates without torques and with each of them; from these come the torques
that accelerate it as a linear-quadratic regulator wants it, which was made beforehand. A push tests the balance. Here
the accelerator is its bit-true model; the robot moves in float64.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from rbdgen import Options, Robot, bit_true, compile_robot, golden
from rbdgen.model import Inertia, Setup

FEET = {"lf=lf_lowerleg": (0.35, 0.0, 0.0), "rh=rh_lowerleg": (0.35, 0.0, 0.0)}
LEGS = {"lf": (0.0, 0.7, -1.4), "rf": (0.0, 1.0, -2.0)}
"""Angles of the joints of a leg that stands, and of one that does not; hind legs bend the other way."""
TRUNK = Inertia.from_com(30.0, np.zeros(3), np.diag([0.6, 2.0, 2.2]))
"""The shipped model has legs only; this one has a trunk of 30 kg, kg·m² about its middle."""
STEP, SELDOM = 0.002, 2
"""Seconds per step, and steps between those of the controller."""
RATE = 40.0
"""1/s: how fast feet return to where they stood."""
CHANGES = np.repeat([1e-3, 1e-2, 1.0], [18, 18, 12])
"""Of positions (rad, m), velocities and torques, by which the dynamics are made linear."""
TRIED = 50.0
"""N·m: the torque by which each joint's effect is found."""
COST = np.repeat([10.0, 0.1], 18)
"""Weights of positions and velocities, beside 1e-4 of torques."""
PUSH, PUSHED = 20.0, 0.1
"""N sideways on the trunk, for the first so many seconds."""
Dynamics = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Of q, v, τ and what the contacts are held at: accelerations and forces of the contacts."""


def standing(robot: Robot) -> np.ndarray:
    """The configuration (19) in which the robot's mass is above the line between its feet."""
    q = golden.neutral(robot)
    for name, part in zip(robot.joint_names[1:], robot.q_slices[1:], strict=True):
        leg, joint = name.split("_")[:2]
        angles = LEGS["lf" if leg in ("lf", "rh") else "rf"]
        angle = angles[("haa", "hfe", "kfe").index(joint)]
        q[part] = angle if leg[1] == "f" or joint == "haa" else -angle
    stood = golden.frame_placements(robot, q)[1]
    across = np.cross([0.0, 0.0, 1.0], stood[1] - stood[0])
    across /= np.linalg.norm(across)
    for _ in range(20):
        # the trunk goes where the moment of its weight about the feet's line is less, and legs follow
        pull = golden.generalized_gravity(robot, q)
        centre = q[:3] + np.array([-pull[4], pull[3], 0.0]) / pull[2]
        q[:3] += across * (across @ (stood[0] - centre))
        for _ in range(5):
            off = (stood - golden.frame_placements(robot, q)[1]).ravel()
            jacobian = golden.frame_jacobians(robot, q, reference="local_world_aligned")
            legs = jacobian[:, :3, 6:].reshape(6, 12)
            q[7:] += np.linalg.pinv(legs) @ off
    return q


def torques_for(
    dynamics: Dynamics, q: np.ndarray, v: np.ndarray, wanted: np.ndarray, held_at: np.ndarray
) -> np.ndarray:
    """The torques of the legs (12) at which the robot accelerates as is ``wanted`` (18), as far as it can."""
    torques = np.zeros((13, 18))
    torques[1:, 6:] = TRIED * np.eye(12)
    states = np.tile(q, (13, 1)), np.tile(v, (13, 1))
    accelerations, _ = dynamics(*states, torques, np.tile(held_at, (13, 1)))
    slopes = (accelerations[1:] - accelerations[0]) / TRIED
    return np.linalg.lstsq(slopes.T, wanted - accelerations[0], rcond=None)[0]


def linear(robot: Robot, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Derivatives (18, 48) of accelerations by position, velocity and torque."""
    changes = np.concatenate([np.diag(CHANGES), -np.diag(CHANGES)])
    moved = golden.integrate(robot, q, changes[:, :18])
    torques = np.zeros((96, 18))
    torques[:, 6:] = tau + changes[:, 36:]
    accelerations, _ = golden.constrained_forward_dynamics(
        robot, moved, changes[:, 18:36], torques, None, held(robot, moved, q), rate=RATE
    )
    differences = (accelerations[:48] - accelerations[48:]).T
    return differences / (2 * CHANGES)


def held(robot: Robot, q: np.ndarray, stood: np.ndarray) -> np.ndarray:
    """How feet (..., 6) are to accelerate, in their own directions, to come back to where they stood."""
    rotations, positions = golden.frame_placements(robot, q)
    off = positions - golden.frame_placements(robot, stood)[1]
    own = np.einsum("...kij,...ki->...kj", rotations, off)
    return -(RATE**2) / 4 * own.reshape(*q.shape[:-1], 6)


def regulator(slopes: np.ndarray) -> np.ndarray:
    """Gains (18, 36) by which accelerations are to answer to positions and velocities."""
    faster = STEP * slopes
    by_speed = np.hstack([faster[:, :18], np.eye(18) + faster[:, 18:36]])
    by_state = np.vstack([np.hstack([np.eye(18), np.zeros((18, 18))]) + STEP * by_speed, by_speed])
    by_torque = np.vstack([STEP * faster[:, 36:], faster[:, 36:]])
    cost = np.diag(COST)
    gains = np.zeros((12, 36))
    for _ in range(3000):
        curve = 1e-4 * np.eye(12) + by_torque.T @ cost @ by_torque
        gains = np.linalg.solve(curve, by_torque.T @ cost @ by_state)
        kept = by_state - by_torque @ gains
        cost = np.diag(COST) + by_state.T @ cost @ kept
        cost = (cost + cost.T) / 2
    return slopes[:, :36] - slopes[:, 36:] @ gains


def difference(q: np.ndarray, stood: np.ndarray) -> np.ndarray:
    """The way (18) from ``stood`` to a configuration near it, in the trunk's axes."""
    x, y, z, w = stood[3:7]
    vector = np.array([x, y, z])
    turn = w * q[3:6] - q[6] * vector - np.cross(vector, q[3:6])
    away = q[:3] - stood[:3]
    twice = 2 * np.cross(-vector, away)
    moved = away + w * twice + np.cross(-vector, twice)
    return np.concatenate([moved, 2 * turn, q[7:] - stood[7:]])


def balanced(robot: Robot, dynamics: Dynamics, stood: np.ndarray, seconds: float) -> None:
    """Stand for so long, and print how that went."""
    q = stood.copy()
    v = np.zeros(18)
    tau = torques_for(dynamics, q, v, np.zeros(18), np.zeros(6))
    gains = regulator(linear(robot, stood, tau))
    farthest = 0.0
    loads = []
    for k in range(round(seconds / STEP)):
        state = np.concatenate([difference(q, stood), v])
        held_at = held(robot, q, stood)
        if k % SELDOM == 0:
            tau = torques_for(dynamics, q, v, gains @ state, held_at)
        torques = np.concatenate([np.zeros(6), tau])
        push = np.zeros((13, 6))
        push[0, 1] = PUSH if k * STEP < PUSHED else 0.0
        a, forces = golden.constrained_forward_dynamics(
            robot, q, v, torques, None, held_at, push, rate=RATE
        )
        rotations = golden.frame_placements(robot, q)[0]
        upward = np.einsum("kj,kj->k", rotations[:, 2], forces.reshape(2, 3))
        loads.append(upward)
        v = v + STEP * a
        q = golden.integrate(robot, q, STEP * v)
        farthest = max(farthest, float(np.max(np.abs(state[:6]))))
    last = float(np.max(np.abs(difference(q, stood)[:6])))
    weight = golden.generalized_gravity(robot, stood)[2]
    print(
        f"stands for {seconds:g} s: the trunk strays by {farthest * 1e3:.1f} mm or mrad, and is off by "
        f"{last * 1e3:.1f} at the end; feet carry {np.min(loads):.0f} N to {np.max(loads):.0f} N of {weight:.0f} N"
    )


def main() -> None:
    """Print how the robot stands, in float64 and with the accelerator."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--error", type=float, default=1e-3, help="largest relative error")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long to stand")
    args = parser.parse_args()
    legs = Setup(base="floating", frame=FEET, contact=("lf", "rh")).load("hyq")
    robot = replace(legs, bodies=(replace(legs.bodies[0], inertia=TRUNK), *legs.bodies[1:]))
    stood = standing(robot)

    def exact(
        q: np.ndarray, v: np.ndarray, tau: np.ndarray, wanted: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        return golden.constrained_forward_dynamics(robot, q, v, tau, None, wanted, rate=RATE)

    options = Options(("cfd",), ii=12, error=args.error, contact_rate=RATE)
    with bit_true(compile_robot(robot, options)) as device:

        def bit_by_bit(
            q: np.ndarray, v: np.ndarray, tau: np.ndarray, wanted: np.ndarray
        ) -> tuple[np.ndarray, np.ndarray]:
            closed = np.ones((len(q), 2))
            return device.call("cfd", q=q, v=v, tau=tau, closed=closed, wanted=wanted)

        for name, dynamics in (("float64", exact), ("bit-true", bit_by_bit)):
            print(f"{name}: ", end="")
            balanced(robot, dynamics, stood, args.seconds)


if __name__ == "__main__":
    main()
