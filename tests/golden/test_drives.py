"""Friction in the joints: beside Pinocchio's dynamics, which know none, and in the derivatives."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rbdgen import Robot, golden
from rbdgen.model import JOINT_TYPES
from rbdgen.model.robot import VISCOUS
from tests.golden.pinocchio import differences, ours, states
from tests.golden.test_functions import random_tree


def damped_tree(seed: int) -> Robot:
    """A random tree of all joint types, some of them damped."""
    rng = np.random.default_rng(seed)
    kinds = tuple(rng.permutation(list(JOINT_TYPES)).tolist())
    bodies = []
    for body in random_tree(seed, 12, kinds):
        damping = tuple(rng.uniform(0.1, 3.0, body.joint.nv)) if rng.uniform() < 0.7 else ()
        bodies.append(dataclasses.replace(body, damping=damping))
    return Robot("tree", "base", tuple(bodies), friction=VISCOUS)


@pytest.mark.parametrize("seed", range(3))
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
