"""A four-bar linkage by forward dynamics with a closed loop, beside a model of its one coordinate.

    python examples/four_bar.py [--seconds S] [--error E]

A crank of 0.1 m turns a rocker of 0.22 m through a coupler of 0.3 m; a motor drives the crank, and gravity acts. rbdgen
knows the linkage as a tree of three joints, cut open between coupler and rocker, with a loop that closes it there. Its
motion by `lfd` is compared with that of a model of the crank's angle alone, which is written down here and has no loop:
mass and potential of the whole linkage over that angle, and Lagrange's equation. Then the accelerator, as its bit-true
model, drives it by short steps, where rounding opens the loop, and the rate of `--contact-rate` closes it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from rbdgen import Options, Robot, bit_true, close_loops, compile_robot, golden, load
from rbdgen.model import with_frames, with_loops

GROUND = 0.28
LENGTHS = {"crank": 0.1, "coupler": 0.3, "rocker": 0.22}
"""m: from joint to joint."""
MASSES = {"crank": 0.4, "coupler": 0.9, "rocker": 0.7}
MOMENTS = {"crank": 5e-2, "coupler": 8e-3, "rocker": 4e-3}
"""kg, and kg·m² about the middle of each bar, where its mass is; the crank is a flywheel."""
GRAVITY = 9.81
TORQUE = 0.5
"""N·m on the crank."""
STEP = 1e-3
"""Seconds of a step by Runge-Kutta's classical method."""
RATE = 50.0
"""1/s: how fast the loop closes."""
DIFFERENCE = 1e-5
"""rad: of the differences by which the model of one coordinate finds its slopes."""

LINK = """<link name="{name}"><inertial><origin xyz="{middle} 0 0"/><mass value="{mass}"/>
<inertia ixx="1e-4" iyy="{moment}" izz="{moment}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="{name}_joint" type="{kind}"><parent link="{parent}"/><child link="{name}"/><origin xyz="{x} 0 0"/>
<axis xyz="0 1 0"/><limit lower="-3.1" upper="3.1" velocity="25" effort="1"/></joint>"""


def linkage() -> Robot:
    """The robot: coupler and rocker have frames at their ends, which a loop keeps together in the linkage's plane."""
    parts = ['<robot name="four_bar"><link name="ground"/>']
    for name, parent, x in (
        ("crank", "ground", 0.0),
        ("coupler", "crank", LENGTHS["crank"]),
        ("rocker", "ground", GROUND),
    ):
        kind = "revolute" if name == "rocker" else "continuous"
        own = {"mass": MASSES[name], "moment": MOMENTS[name], "middle": LENGTHS[name] / 2}
        parts.append(LINK.format(name=name, parent=parent, x=x, kind=kind, **own))
    robot = load("".join(parts) + "</robot>")
    ends = {"a=coupler": (LENGTHS["coupler"], 0, 0), "b=rocker": (LENGTHS["rocker"], 0, 0)}
    return with_loops(with_frames(robot, ends), ["a:b:xz"])


def angles(crank: float, above: bool) -> tuple[float, float]:
    """The directions of coupler and rocker, rad from the ground's, where the crank's is given: two circles meet above
    or below the line between their centres."""
    # angles turn about y: from x towards −z
    tip = LENGTHS["crank"] * np.array([np.cos(crank), -np.sin(crank)])
    apart = np.array([GROUND, 0.0]) - tip
    distance = np.hypot(*apart)
    coupler, rocker = LENGTHS["coupler"], LENGTHS["rocker"]
    along = (coupler**2 - rocker**2 + distance**2) / (2 * distance)
    height = np.sqrt(coupler**2 - along**2) * (1.0 if above else -1.0)
    unit = apart / distance
    pin = tip + along * unit + height * np.array([-unit[1], unit[0]])
    foot = pin - np.array([GROUND, 0.0])
    return float(np.arctan2(-(pin - tip)[1], (pin - tip)[0])), float(np.arctan2(-foot[1], foot[0]))


def heaviness(crank: float, above: bool) -> tuple[float, float]:
    """Of the whole linkage over the crank's angle: its inertia, kg·m², and its potential, J."""
    h = DIFFERENCE

    def middles(angle: float) -> np.ndarray:
        """x, z and direction of each bar's middle."""
        coupler, rocker = angles(angle, above)
        tip = LENGTHS["crank"] * np.array([np.cos(angle), -np.sin(angle)])
        found = []
        for name, start, turn in (
            ("crank", np.zeros(2), angle),
            ("coupler", tip, coupler),
            ("rocker", np.array([GROUND, 0.0]), rocker),
        ):
            middle = start + LENGTHS[name] / 2 * np.array([np.cos(turn), -np.sin(turn)])
            found.append([*middle, turn])
        return np.array(found)

    # five points: slopes as good as rounding lets them be
    near = (middles(crank + h) - middles(crank - h)) / (2 * h)
    far = (middles(crank + 2 * h) - middles(crank - 2 * h)) / (4 * h)
    slopes = (4 * near - far) / 3
    inertia = potential = 0.0
    for name, slope, middle in zip(LENGTHS, slopes, middles(crank), strict=True):
        inertia += MASSES[name] * (slope[0] ** 2 + slope[1] ** 2) + MOMENTS[name] * slope[2] ** 2
        potential += MASSES[name] * GRAVITY * middle[1]
    return inertia, potential


def by_one_coordinate(state: np.ndarray, above: bool) -> np.ndarray:
    """The rates of the crank's angle and speed: J a + J' w² / 2 + V' = τ."""
    crank, speed = state
    h = 1e-4
    samples = [heaviness(crank + k * h, above) for k in (-2, -1, 0, 1, 2)]
    weights = np.array([1.0, -8.0, 0.0, 8.0, -1.0]) / (12 * h)
    inertia_slope, potential_slope = weights @ np.array(samples)
    taken = TORQUE - potential_slope - 0.5 * inertia_slope * speed**2
    return np.array([speed, taken / samples[2][0]])


def moved(
    robot: Robot,
    rates: Callable[[np.ndarray, np.ndarray], np.ndarray],
    q: np.ndarray,
    v: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The state after a step, by accelerations ``rates(q, v)``."""
    first = rates(q, v)
    v2 = v + STEP / 2 * first
    second = rates(golden.integrate(robot, q, STEP / 2 * v), v2)
    v3 = v + STEP / 2 * second
    third = rates(golden.integrate(robot, q, STEP / 2 * v2), v3)
    v4 = v + STEP * third
    fourth = rates(golden.integrate(robot, q, STEP * v3), v4)
    ahead = golden.integrate(robot, q, STEP / 6 * (v + 2 * v2 + 2 * v3 + v4))
    return ahead, v + STEP / 6 * (first + 2 * second + 2 * third + fourth)


def angle_of(q: np.ndarray) -> float:
    """The angle of a joint without limits, within half a turn, whose cosine and sine are the first two of ``q``."""
    return float(np.arctan2(q[1], q[0]))


def compared(robot: Robot, start: np.ndarray, seconds: float) -> None:
    """Print how far the motion by the loop and that by one coordinate are apart."""
    above = is_above(robot, start)
    tau = np.array([TORQUE, 0.0, 0.0])
    q, v = start, np.zeros(3)
    alone = np.array([angle_of(start), 0.0])
    apart = turned = 0.0
    for _ in range(round(seconds / STEP)):
        q, v = moved(robot, lambda q, v: golden.loop_forward_dynamics(robot, q, v, tau)[0], q, v)
        slopes = [by_one_coordinate(alone, above)]
        for share in (0.5, 0.5, 1.0):
            slopes.append(by_one_coordinate(alone + share * STEP * slopes[-1], above))
        alone = alone + STEP / 6 * (slopes[0] + 2 * slopes[1] + 2 * slopes[2] + slopes[3])
        off = angle_of(q) - alone[0]
        apart = max(apart, abs(float(np.arctan2(np.sin(off), np.cos(off)))))
        turned = max(turned, alone[0] - angle_of(start))
    gap = np.max(np.abs(golden.loop_residuals(robot, q)))
    print(
        f"{seconds:g} s, {turned / (2 * np.pi):.2f} turns of the crank: by the loop and by one coordinate it is at "
        f"most {apart:.1e} rad apart; the loop is open by {gap:.1e} m at the end"
    )


def is_above(robot: Robot, q: np.ndarray) -> bool:
    """Which of the two ways the linkage is assembled."""
    crank = angle_of(q)
    reached = crank + angle_of(q[2:])
    coupler, _ = angles(crank, True)
    return bool(np.cos(reached - coupler) > 1 - 1e-6)


def driven(robot: Robot, start: np.ndarray, seconds: float, error: float) -> None:
    """Print how wide the accelerator lets the loop open, with the rate and without."""
    tau = np.array([TORQUE, 0.0, 0.0])
    for rate in (0.0, RATE):
        options = Options(("lfd",), ii=12, error=error, contact_rate=rate)
        with bit_true(compile_robot(robot, options)) as device:
            q, v = start, np.zeros(3)
            widest = 0.0
            for _ in range(round(seconds / STEP)):
                a, _ = device.loop_forward_dynamics(q, v, tau)
                v = v + STEP * a
                q = golden.integrate(robot, q, STEP * v)
                widest = max(widest, float(np.max(np.abs(golden.loop_residuals(robot, q)))))
        print(f"accelerator, rate {rate:g} 1/s: the loop opens by at most {1e3 * widest:.3f} mm")


def main() -> None:
    """Print how the linkage moves."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="how long it moves")
    parser.add_argument("--error", type=float, default=1e-4, help="largest relative error")
    args = parser.parse_args()
    robot = linkage()
    # the crank stands up, and the other two find their places
    q = golden.neutral(robot)
    q[:] = 0.0, -1.0, np.cos(1.5), np.sin(1.5), -1.5
    start = close_loops(robot, q, ["coupler_joint", "rocker_joint"])
    compared(robot, start, args.seconds)
    driven(robot, start, args.seconds, args.error)


if __name__ == "__main__":
    main()
