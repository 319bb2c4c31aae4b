"""Articulated bodies in sequence and accelerations by a scan, beside the golden model, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from rbdgen import Robot, UnsupportedError, golden
from rbdgen.algo.hybrid import hybrid_accelerations
from rbdgen.algo.plucker import transforms
from rbdgen.algo.rnea import joint_placements
from rbdgen.model import Mimic, with_armature
from rbdgen.tracing.equivalent import equivalent
from tests.chains import (
    error,
    forward_error,
    mixed_chain,
    random_states,
    scalars,
    snake,
    stacked,
)


def accelerations(robot: Robot, q: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """M⁻¹ times ``rest`` (n, nv)."""
    placed = transforms(robot, joint_placements(robot, scalars(q)))
    return stacked(hybrid_accelerations(robot, placed, scalars(rest)))


@pytest.mark.parametrize(
    "links", [1, 2, 3, 5, 8, 17, 32, pytest.param(128, marks=pytest.mark.thorough)]
)
def test_chains_move_as_the_golden_model_has_them(links: int) -> None:
    assert forward_error(accelerations, links) < 1e-8


def geared() -> Robot:
    return with_armature(snake(5), {"j1": 0.2, "j2": 0.1})


@pytest.mark.parametrize("make", [mixed_chain, geared, lambda: equivalent(snake(6)).robot])
def test_joints_of_all_kinds_rotors_and_massless_links(make: Callable[[], Robot]) -> None:
    robot = make()
    q, _, rest = random_states(robot)
    expected = (golden.minverse(robot, q) @ rest[..., None])[..., 0]
    assert error(accelerations(robot, q, rest), expected) < 1e-9


def test_a_joint_that_follows_another_is_named_with_the_remedy() -> None:
    robot = snake(3)
    bodies = list(robot.bodies)
    bodies[2] = replace(bodies[2], mimic=Mimic(bodies[0].joint_name, 0.5, 0.1))
    robot = replace(robot, bodies=tuple(bodies))
    with pytest.raises(
        UnsupportedError,
        match=r"^forward-dynamics hybrid: joint 'j2' follows another, which articulated bodies do not; "
        "use forward-dynamics factors$",
    ):
        accelerations(robot, np.zeros((4, 3)), np.zeros((4, 2)))
