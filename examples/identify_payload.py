"""Identification of what an arm carries: its mass, where that is and how it is spread, from noisy torques.

    python examples/identify_payload.py [--states N] [--noise N.M]

A 7-joint arm moves along slow waves of all joints and measures their torques. What these are beyond the empty arm's is
linear in the ten inertial parameters of the last link: `regressor` gives the factors and `id` the empty arm's torques,
and least squares do the rest. The same is done with the golden model in float64, with its functions compiled to C, and
with an engine: here that is its bit-true model, which answers as the hardware does. With a board,
:func:`rbdgen.bit_true` gives way to ``Driver.serial``, and nothing else changes.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import rbdgen
from rbdgen import Options, Robot, bit_true, compile_robot, golden, load_robot
from rbdgen.identification import base_parameters, columns_of
from rbdgen.model import Inertia, with_payloads

LINK = "link7"
"""It carries the payload, in its frame."""
PAYLOAD = (2.5, 0.02, -0.03, 0.12, 0.012, 0.015, 0.009, 0.001, -0.002, 0.0005)
"""kg; its centre, m; its moments about that, kg·m²: xx, yy, zz, xy, xz, yz."""
WAVES, SLOWEST = 3, 0.15
"""Waves of each joint, and the frequency of the slowest, Hz."""
REACH, FAST = 0.6, 0.7
"""Shares of the joints' ranges and velocities that are used."""
MOST = 10.0
"""Largest acceleration of a joint, rad/s²."""


def moved(robot: Robot, count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, v and a along waves of random phases, which stay within the joints' ranges."""
    rng = np.random.default_rng(seed)
    ranges = golden.declared_ranges(robot)
    phase = rng.uniform(0, 2 * np.pi, (WAVES, 1, robot.nv))
    share = rng.uniform(0.5, 1.0, (WAVES, 1, robot.nv))
    rate = 2 * np.pi * SLOWEST * np.arange(1, WAVES + 1).reshape(-1, 1, 1)
    t = np.linspace(0, 1 / SLOWEST, count, endpoint=False).reshape(1, -1, 1)
    angle = rate * t + phase
    q = np.sum(share * np.sin(angle) / rate, axis=0)
    v = np.sum(share * np.cos(angle), axis=0)
    a = np.sum(-share * rate * np.sin(angle), axis=0)
    # waves are about zero, which this arm's ranges are about
    room = [REACH * np.array(ranges.q_upper), FAST * np.array(ranges.v_max), MOST]
    used = [np.max(np.abs(x), axis=0) for x in (q, v, a)]
    # joint by joint as far as the first of the three allows
    factor = np.min([most / now for most, now in zip(room, used, strict=True)], axis=0)
    return factor * q, factor * v, factor * a


def identified(
    device: Any, robot: Robot, state: tuple[np.ndarray, ...], torques: np.ndarray
) -> Inertia:
    """The payload's inertia in its link's frame, with dynamics of the empty ``robot`` from a ``device``."""
    beyond = torques - device.rnea(*state)
    y = device.joint_torque_regressor(*state)[..., columns_of(robot, [LINK])]
    stacked = y.reshape(-1, y.shape[-1])
    # columns are of different units
    sizes = np.linalg.norm(stacked, axis=0)
    found = np.linalg.lstsq(stacked / sizes, beyond.ravel(), rcond=None)[0]
    return Inertia.from_parameters(found / sizes)


class Float64:
    """The golden model of a robot, called as a device is."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot

    def rnea(self, *state: np.ndarray) -> np.ndarray:
        """Torques."""
        return golden.rnea(self.robot, *state)

    def joint_torque_regressor(self, *state: np.ndarray) -> np.ndarray:
        """Their regressor."""
        return golden.joint_torque_regressor(self.robot, *state)


def row(name: str, inertia: Inertia) -> str:
    """A payload's numbers as a line of the table."""
    com, about = inertia.about_com
    numbers = [f"{inertia.mass:7.4f}", *(f"{1e3 * x:7.2f}" for x in com)]
    moments = about[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    return f"{name:8} " + " ".join([*numbers, *(f"{1e3 * x:7.2f}" for x in moments)])


def main() -> None:
    """Print what the payload is, and what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--states", type=int, default=500, help="at which torques are measured")
    parser.add_argument("--noise", type=float, default=0.05, help="of the torques, N·m")
    args = parser.parse_args()
    robot = load_robot("iiwa14")
    loaded = with_payloads(robot, {LINK: PAYLOAD})
    all_links, one_link = base_parameters(robot), base_parameters(robot, [LINK])
    print(
        f"torques tell {len(all_links.columns)} of {len(all_links.names)} parameters of all links, and "
        f"{len(one_link.columns)} of {len(one_link.names)} of {LINK} where the others are known"
    )
    state = moved(robot, args.states, seed=1)
    noise = np.random.default_rng(2).normal(size=(args.states, robot.nv))
    torques = golden.rnea(loaded, *state) + args.noise * noise
    functions = ("id", "regressor")
    print("         kg      centre, mm              about it, g·m²: xx, yy, zz, xy, xz, yz")
    print(row("true", loaded.bodies[-1].inertia + -robot.bodies[-1].inertia))
    print(row("float64", identified(Float64(robot), robot, state, torques)))
    print(row("C", identified(rbdgen.compile(robot, functions), robot, state, torques)))
    with bit_true(compile_robot(robot, Options(functions, machine="engine"))) as device:
        print(row("engine", identified(device, robot, state, torques)))


if __name__ == "__main__":
    main()
