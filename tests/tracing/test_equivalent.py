"""The equivalent robot: same torques, fewer constants."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rbdgen import Robot, load_robot, load_urdf
from rbdgen.algo.rnea import rnea
from rbdgen.model import Inertia, declared_ranges, random_states
from rbdgen.tracing.equivalent import constants_needed, equivalent, regrouped
from tests.conftest import BUILTIN, SUPPORTED, shared_robot
from tests.golden.test_rnea import skew_robot
from tests.scales import SIZES, scaled


def torques(robot: Robot, states: tuple[np.ndarray, ...]) -> np.ndarray:
    """τ by the plain text, shape (nv, n): equivalent bodies need not pass the golden model's checks."""
    return np.array(
        [np.broadcast_to(t, (len(states[0]),)) for t in rnea(robot, *(tuple(x.T) for x in states))]
    )


def difference(robot: Robot, other: Robot) -> float:
    """Largest difference of torques relative to the largest torque."""
    states = random_states(robot, declared_ranges(robot), 50, seed=5)
    expected = torques(robot, states)
    return float(np.max(np.abs(torques(other, states) - expected)) / np.max(np.abs(expected)))


@pytest.mark.parametrize("name", BUILTIN)
def test_built_in_robots_keep_their_torques(name: str) -> None:
    robot = load_robot(name)
    assert difference(robot, equivalent(robot).robot) < 1e-11


@pytest.mark.parametrize("name", SUPPORTED)
def test_public_robots_keep_their_torques(name: str) -> None:
    robot = shared_robot(name)
    cheap = equivalent(robot).robot
    assert difference(robot, cheap) < 1e-11
    assert constants_needed(cheap) <= constants_needed(robot)


def test_skew_axes_become_coordinate_axes(tmp_path) -> None:
    robot = load_urdf(skew_robot(tmp_path))
    cheap = equivalent(robot).robot
    assert difference(robot, cheap) < 1e-11
    assert all(np.count_nonzero(b.joint.axis) == 1 for b in cheap.bodies)  # type: ignore[attr-defined]


def test_frames_say_where_bodies_went(tmp_path) -> None:
    """A body's inertia, before regrouping, is the original one seen from its new frame: total mass and energy agree."""
    robot = load_urdf(skew_robot(tmp_path))
    result = equivalent(robot)
    for body, frame in zip(robot.bodies, result.frames, strict=True):
        back = body.inertia.expressed_in(frame)
        assert back.mass == pytest.approx(body.inertia.mass)
        assert np.allclose(np.array(frame.rotation) @ np.array(frame.rotation).T, np.eye(3))


def test_regrouping_empties_a_revolute_bodys_axis() -> None:
    for body in regrouped(load_robot("iiwa14")).bodies:
        assert body.inertia.mass == 0.0
        k = int(np.argmax(np.abs(body.joint.axis)))  # type: ignore[attr-defined]
        assert body.inertia.first_moment[k] == 0.0
        assert body.inertia.second_moment[k][k] == 0.0


@pytest.mark.parametrize(("mass", "length"), SIZES)
def test_a_robot_of_another_size_has_the_same_equivalent_one(mass: float, length: float) -> None:
    robot = load_robot("ur5")
    size = equivalent(scaled(robot, mass, length)).robot
    assert scaled(equivalent(robot).robot, mass, length).bodies == size.bodies


def test_a_light_link_on_a_heavy_robot_keeps_its_moments() -> None:
    robot = load_robot("ur5")
    *others, last = robot.bodies
    moments = np.array([[2.0, 0.1, 0.2], [0.1, 3.0, 0.3], [0.2, 0.3, 4.0]])
    light = Inertia.from_com(1e-7, np.array([1e-6, 2e-6, 3e-6]), 1e-19 * moments)
    bodies = (*others, replace(last, inertia=light))
    left = equivalent(replace(robot, bodies=bodies)).robot.bodies[-1].inertia.pseudo
    # of a revolute joint about a coordinate axis, all but three parameters stay
    assert np.count_nonzero(np.triu(left)) == 7
