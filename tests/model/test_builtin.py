"""The built-in robots against the figures that their sources publish."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rbdgen import load_robot
from rbdgen.model import Placement, Robot, builtin_path, builtin_robots
from rbdgen.spatial import constant_matrix, constant_vector

UR5_DH = (
    (0.0, 0.089159, math.pi / 2),
    (-0.425, 0.0, 0.0),
    (-0.39225, 0.0, 0.0),
    (0.0, 0.10915, math.pi / 2),
    (0.0, 0.09465, -math.pi / 2),
    (0.0, 0.0823, 0.0),
)
"""a (m), d (m), α (rad) of each joint, as Universal Robots publishes them."""


def world_placements(robot: Robot, q: np.ndarray) -> list[Placement]:
    """Each body's frame in the base, for single-coordinate joints at ``q``."""
    placed: list[Placement] = []
    for body, angle in zip(robot.bodies, q, strict=True):
        moved = body.joint.placement((float(angle),))
        local = body.placement @ Placement(moved.rotation, moved.translation)
        placed.append(placed[body.parent] @ local if body.parent >= 0 else local)
    return placed


def denavit_hartenberg(a: float, d: float, alpha: float, theta: float) -> Placement:
    c, s, ca, sa = math.cos(theta), math.sin(theta), math.cos(alpha), math.sin(alpha)
    rotation = [[c, -s * ca, s * sa], [s, c * ca, -c * sa], [0.0, sa, ca]]
    return Placement(constant_matrix(rotation), constant_vector([a * c, a * s, d]))


def test_ur5_moves_as_its_published_parameters_say() -> None:
    robot = load_robot("ur5")
    flange = Placement(translation=(0.0, 0.0, 0.0823))
    for q in np.random.default_rng(0).uniform(-3, 3, (10, 6)):
        expected = Placement()
        for (a, d, alpha), theta in zip(UR5_DH, q, strict=True):
            expected @= denavit_hartenberg(a, d, alpha, float(theta))
        reached = world_placements(robot, q)[-1] @ flange
        assert np.allclose(reached.rotation, expected.rotation, atol=1e-12)
        assert np.allclose(reached.translation, expected.translation, atol=1e-12)


def test_ur5_weighs_what_is_published() -> None:
    masses = [b.inertia.mass for b in load_robot("ur5").bodies]
    assert masses == [3.7, 8.393, 2.275, 1.219, 1.219, 0.1879]


def test_iiwa14_stands_as_high_as_is_published() -> None:
    heights = [p.translation[2] for p in world_placements(load_robot("iiwa14"), np.zeros(7))]
    shoulder, elbow, wrist, last = heights[1], heights[3], heights[5], heights[6]
    assert np.allclose([shoulder, elbow - shoulder, wrist - elbow], [0.36, 0.42, 0.40], atol=1e-12)
    assert last - wrist <= 0.126


def test_iiwa14_has_the_published_limits() -> None:
    limits = [b.limits for b in load_robot("iiwa14").bodies]
    degrees = [math.degrees(limit.upper or 0.0) for limit in limits]
    speeds = [math.degrees(limit.velocity or 0.0) for limit in limits]
    assert degrees == pytest.approx([170, 120, 170, 120, 170, 120, 175], rel=1e-5)
    assert speeds == pytest.approx([85, 85, 100, 75, 130, 135, 135], rel=1e-5)
    assert [limit.effort for limit in limits] == [320, 320, 176, 176, 110, 40, 40]


def leg(robot: Robot, name: str, q: tuple[float, float, float]) -> np.ndarray:
    """Centres of mass of a leg's links in the trunk (3×3, a row each), with its joints at ``q``."""
    first = robot.joint_names.index(f"{name}_haa_joint")
    state = np.zeros(12)
    state[first : first + 3] = q
    rows = []
    for body, placed in list(zip(robot.bodies, world_placements(robot, state), strict=True))[
        first : first + 3
    ]:
        com = np.array(body.inertia.first_moment) / body.inertia.mass
        rows.append(np.array(placed.rotation) @ com + np.array(placed.translation))
    return np.array(rows)


@pytest.mark.parametrize(("one", "other"), [("lf", "rf"), ("lh", "rh")])
def test_hyqs_left_legs_mirror_right_ones(one: str, other: str) -> None:
    robot, q = load_robot("hyq"), (0.3, -0.4, 0.9)
    assert np.allclose(leg(robot, one, q), leg(robot, other, q) * [1, -1, 1], atol=1e-12)


@pytest.mark.parametrize(("front", "hind"), [("lf", "lh"), ("rf", "rh")])
def test_hyqs_front_legs_mirror_hind_ones(front: str, hind: str) -> None:
    robot = load_robot("hyq")
    mirrored = leg(robot, hind, (0.3, 0.4, -0.9)) * [-1, 1, 1]
    assert np.allclose(leg(robot, front, (0.3, -0.4, 0.9)), mirrored, atol=1e-12)


def test_hyqs_legs_abduct_inwards_when_positive() -> None:
    robot = load_robot("hyq")
    assert abs(leg(robot, "lf", (0.3, 0, 0))[2, 1]) < abs(leg(robot, "lf", (0, 0, 0))[2, 1])


@pytest.mark.parametrize("name", builtin_robots())
def test_built_in_frames_are_aligned_with_axes(name: str) -> None:
    for body in load_robot(name).bodies:
        rotation = np.array(body.placement.rotation)
        assert np.abs(rotation - np.round(rotation)).max() < 1e-15


@pytest.mark.parametrize("name", builtin_robots())
def test_built_in_files_state_their_sources(name: str) -> None:
    head = builtin_path(name).read_text().split("-->")[0]
    assert "Published" in head or "Chosen here" in head
