"""The equivalent robot: same torques, fewer constants."""

from __future__ import annotations

import numpy as np
import pytest

from rbdgen import Robot, load_robot, load_urdf
from rbdgen.algo.rnea import rnea
from rbdgen.layout.equivalent import constants_needed, equivalent, regrouped
from rbdgen.model import declared_ranges, random_states
from tests.conftest import BUILTIN, SUPPORTED, shared_robot
from tests.golden.test_rnea import skew_robot


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
