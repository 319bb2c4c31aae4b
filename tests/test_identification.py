"""Base parameters: their number against Pinocchio's regressors' rank, their torques against Pinocchio's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from rbdgen import Robot, golden, load_robot
from rbdgen.errors import ConfigError, RbdgenWarning
from rbdgen.identification import base_parameters, columns_of, inertial_parameters
from rbdgen.model import builtin_path
from tests.golden.pinocchio import model_of_bodies, model_of_file, states, whole
from tests.golden.test_following import following_tree
from tests.golden.test_functions import random_tree
from tests.golden.test_regressors import error, pinocchios

COUNTS = {("pendulum2", "fixed"): 6, ("ur5", "fixed"): 37, ("hyq", "floating"): 94}
"""10 for a base that floats, and 7 at most for each joint that turns (Gautier & Khalil 1990)."""


def loaded(name: str, base: str) -> Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RbdgenWarning)
        return load_robot(name, base)


def rank(y: np.ndarray) -> int:
    """Of stacked regressors (states, nv, columns), whatever the columns' units."""
    stacked = y.reshape(-1, y.shape[-1])
    sizes = np.linalg.norm(stacked, axis=0)
    return int(np.linalg.matrix_rank(stacked / np.where(sizes > 0, sizes, 1.0), tol=1e-8))


@pytest.mark.parametrize(("name", "base"), [*COUNTS, ("iiwa14", "fixed"), ("hyq", "fixed")])
def test_base_parameters_have_all_torques_of_pinocchios(name: str, base: str) -> None:
    robot = loaded(name, base)
    found = base_parameters(robot)
    q, v, a, _, _ = states(robot, 300)
    model = model_of_file(builtin_path(name), base)
    y = pinocchios(model, q, v, a)[0]
    assert len(found.columns) == rank(y) == COUNTS.get((name, base), rank(y))
    parameters = inertial_parameters(robot)
    torques = found.regressor(y) @ (found.projection @ parameters)
    assert error(torques, y @ parameters) < 1e-9
    # of any parameters, not of this robot's only
    any_other = np.random.default_rng(1).normal(size=len(parameters))
    torques = found.regressor(y) @ (found.projection @ any_other)
    assert error(torques, y @ any_other) < 1e-9


@pytest.mark.parametrize("seed", range(2))
def test_base_parameters_of_any_tree_and_of_followers(seed: int) -> None:
    for robot in (Robot("tree", "base", random_tree(seed, 8)), following_tree(seed, 8)):
        found = base_parameters(robot)
        q, v, a, _, _ = states(robot, 200, seed)
        everything, g = whole(robot, q)
        model = model_of_bodies(robot.unreduced.bodies)
        y = g.T @ pinocchios(model, everything, v @ g.T / 5, a @ g.T)[0]
        assert len(found.columns) == rank(y)
        any_other = np.random.default_rng(1).normal(size=y.shape[-1])
        torques = found.regressor(y) @ (found.projection @ any_other)
        assert error(torques, y @ any_other) < 1e-9


def test_a_links_mass_belongs_to_its_parent_where_its_joint_turns() -> None:
    found = base_parameters(loaded("pendulum2", "fixed"))
    # the second joint is 0.5 m below the first
    assert found.groups["link1.mz"] == pytest.approx({"link1.mz": 1.0, "link2.m": -0.5})
    assert found.groups["link1.iyy"] == pytest.approx({"link1.iyy": 1.0, "link2.m": 0.25})
    assert found.groups["link2.iyy"] == {"link2.iyy": 1.0}
    # of a planar pendulum nothing out of its plane is felt
    assert {"link1.m", "link2.my", "link2.ixx"} <= set(found.without_effect)
    assert "link2.m" not in found.without_effect


def test_the_last_link_of_an_arm_can_be_told_where_all_others_are_known() -> None:
    robot = load_robot("iiwa14")
    found = base_parameters(robot, ["link7"])
    assert found.columns == tuple(range(10))
    assert np.array_equal(found.projection, np.eye(10))
    assert found.names[0] == "link7.m"
    assert columns_of(robot, ["link7"]) == list(range(60, 70))
    with pytest.raises(ConfigError, match=r"bodies: no body 'link9' of 'iiwa14'; did you mean"):
        base_parameters(robot, ["link9"])


def test_the_same_robot_has_the_same_base_parameters() -> None:
    robot = load_robot("iiwa14")
    one, other = (base_parameters(robot, seed=seed) for seed in (0, 1))
    assert one.columns == other.columns
    assert np.allclose(one.projection, other.projection, rtol=1e-9, atol=1e-12)
    assert np.array_equal(one.projection, base_parameters(robot).projection)
    q, v, a, _, _ = states(robot, 3)
    y = golden.joint_torque_regressor(robot, q, v, a)
    assert one.regressor(y).shape == (3, 7, len(one.columns))
