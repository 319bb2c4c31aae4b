"""Friction in the joints: beside Pinocchio's dynamics, which know none, and in the derivatives."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rbdgen import Robot, golden
from rbdgen.model.robot import DRY, DRY_WIDTH, VISCOUS
from rbdgen.spatial import absolute, divide
from tests.golden.pinocchio import differences, ours, states
from tests.golden.test_functions import driven_tree


def damped_tree(seed: int) -> Robot:
    """A random tree of all joint types, most of them damped, with dry friction that does not count."""
    bodies = driven_tree(seed, damping=3.0, friction=3.0)
    return Robot("tree", "base", bodies, friction=VISCOUS)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.slow
def test_damping_is_added_to_what_moves_the_links(seed: int) -> None:
    robot = damped_tree(seed)
    free = dataclasses.replace(robot, friction="none")
    d = np.concatenate([robot.dampers(i) for i in range(len(robot.bodies))])
    q, v, a, tau, f_ext = states(robot, 20, seed)
    v = v / 5
    for method in golden.METHODS:
        plain = ours(free, method, q, v, a, tau, f_ext)
        expected = {n: plain[n] for n in ("m", "minv", "dtau_dq")}
        expected["id"] = plain["id"] + d * v
        expected["dtau_dv"] = plain["dtau_dv"] + np.diag(d)
        less = ours(free, method, q, v, a, tau - d * v, f_ext)
        expected["fd"] = less["fd"]
        expected["da_dq"] = less["da_dq"]
        expected["da_dv"] = less["da_dv"] - plain["minv"] @ np.diag(d)
        found = differences(ours(robot, method, q, v, a, tau, f_ext), expected)
        assert max(found.values()) < 1e-9, (method, found)


def test_damping_counts_only_where_friction_does() -> None:
    robot = dataclasses.replace(damped_tree(1), friction="none")
    bare = Robot("tree", "base", tuple(dataclasses.replace(b, damping=()) for b in robot.bodies))
    q, v, a, _, _ = states(robot, 5)
    assert np.array_equal(golden.rnea(robot, q, v, a), golden.rnea(bare, q, v, a))


def rubbing_tree(seed: int) -> Robot:
    """The same tree with its dry friction."""
    return dataclasses.replace(damped_tree(seed), friction=DRY)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.slow
def test_dry_friction_is_a_smooth_function_of_the_velocity(seed: int) -> None:
    robot = rubbing_tree(seed)
    damped = dataclasses.replace(robot, friction=VISCOUS)
    f = np.concatenate([robot.rubs(i) for i in range(len(robot.bodies))])
    assert np.count_nonzero(f) > 3
    q, v, a, tau, f_ext = states(robot, 20, seed)
    v = v / 5
    v[0] = 0.0
    force = f * v / (DRY_WIDTH + np.abs(v))
    slope = f * DRY_WIDTH / (DRY_WIDTH + np.abs(v)) ** 2
    slopes = slope[:, :, None] * np.eye(robot.nv)
    for method in golden.METHODS:
        plain = ours(damped, method, q, v, a, tau, f_ext)
        expected = {n: plain[n] for n in ("m", "minv", "dtau_dq")}
        expected["id"] = plain["id"] + force
        expected["dtau_dv"] = plain["dtau_dv"] + slopes
        less = ours(damped, method, q, v, a, tau - force, f_ext)
        expected["fd"] = less["fd"]
        expected["da_dq"] = less["da_dq"]
        expected["da_dv"] = less["da_dv"] - plain["minv"] @ slopes
        found = differences(ours(robot, method, q, v, a, tau, f_ext), expected)
        assert max(found.values()) < 1e-9, (method, found)


def test_central_differences_agree_with_the_slope() -> None:
    robot = rubbing_tree(1)
    q, v, a, tau, _ = states(robot, 5, 1)
    v[0] = 0.0
    step = 1e-6  # at rest, this by w is what the differences miss
    _, by_v = golden.rnea_derivatives(robot, q, v, a)
    _, fd_by_v = golden.forward_dynamics_derivatives(robot, q, v, tau)[:2]
    for k in range(robot.nv):
        moved = np.zeros(robot.nv)
        moved[k] = step
        change = golden.rnea(robot, q, v + moved, a) - golden.rnea(robot, q, v - moved, a)
        assert np.allclose(change / (2 * step), by_v[..., k], rtol=1e-4, atol=1e-4)
        ends = [golden.forward_dynamics(robot, q, v + m, tau) for m in (moved, -moved)]
        size = np.max(np.abs(fd_by_v))
        assert np.allclose((ends[0] - ends[1]) / (2 * step), fd_by_v[..., k], atol=1e-4 * size)


@pytest.mark.parametrize("friction", ["none", VISCOUS])
def test_dry_friction_counts_only_where_it_is_asked_for(friction: str) -> None:
    robot = dataclasses.replace(rubbing_tree(1), friction=friction)
    bodies = [dataclasses.replace(b, friction=()) for b in robot.bodies]
    smooth = dataclasses.replace(robot, bodies=tuple(bodies))
    q, v, a, _, _ = states(robot, 5)
    assert np.array_equal(golden.rnea(robot, q, v, a), golden.rnea(smooth, q, v, a))


def test_magnitudes_and_quotients_of_numbers() -> None:
    assert absolute(-2.5) == 2.5
    assert absolute(np.array([-1.0, 2.0])).tolist() == [1.0, 2.0]
    assert divide(0.0, np.array([4.0])) == 0.0
    assert divide(1.0, 4.0) == 0.25
