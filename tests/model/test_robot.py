"""Robots as they are put together in Python."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rbdgen import ConfigError, golden, load_robot
from rbdgen.model import Inertia, Placement, Revolute, Robot

ROBOT = load_robot("pendulum2")


def changed(**what: object) -> Robot:
    """The robot with something else about its last body."""
    *others, last = ROBOT.bodies
    return replace(ROBOT, bodies=(*others, replace(last, **what)))


@pytest.mark.parametrize(
    ("rotation", "why"),
    [
        (np.diag([2.0, 1.0, 1.0]), "is no rotation: its rows are off by 3 from unit length"),
        (np.diag([-1.0, 1.0, 1.0]), "is no rotation: it mirrors"),
        (np.full((3, 3), np.nan), "is no rotation: its rows are off by nan"),
    ],
)
def test_rotations_that_are_none_are_refused(rotation: np.ndarray, why: str) -> None:
    with pytest.raises(
        ConfigError, match=f"^robot 'pendulum2': joint 'joint2': its placement {why}"
    ):
        changed(placement=Placement(rotation))  # type: ignore[arg-type]


def test_inertias_that_are_no_numbers_are_refused() -> None:
    wrong = Inertia(float("nan"))
    with pytest.raises(ConfigError, match=r"^robot 'pendulum2': link 'link2': its inertia is not"):
        changed(inertia=wrong)


def test_arrays_are_what_robots_are_made_of() -> None:
    last = ROBOT.bodies[-1]
    own = last.inertia
    inertia = Inertia(np.float64(own.mass), np.array(own.first_moment), np.array(own.second_moment))  # type: ignore[arg-type]
    place = Placement(np.array(last.placement.rotation), np.array(last.placement.translation))  # type: ignore[arg-type]
    joint = Revolute(np.array(last.joint.axis))  # type: ignore[attr-defined,arg-type]
    robot = changed(inertia=inertia, placement=place, joint=joint, armature=np.zeros(0))
    robot = replace(robot, gravity=np.array(ROBOT.gravity))  # type: ignore[arg-type]
    zero = np.zeros(2)
    assert np.array_equal(
        golden.rnea(robot, zero, zero, zero), golden.rnea(ROBOT, zero, zero, zero)
    )
    assert robot == ROBOT
