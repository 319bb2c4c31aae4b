"""Joints that follow others: as Pinocchio's trees reduced by hand, its own mimic joints, and central differences."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from rbdgen import Robot, golden, load_urdf
from rbdgen.model import Continuous, Mimic
from rbdgen.model.body import Body
from tests.golden.pinocchio import differences, model_of_bodies, ours, reduced_reference, states
from tests.golden.test_functions import random_tree

ONE_DEGREE = ("revolute", "prismatic", "continuous", "helical")
TOLERANCE = 1e-9


def following_tree(seed: int, count: int = 12) -> Robot:
    """A random tree of which a third of the joints follow others: before them or behind, on their path or beside it,
    directly or by another that follows."""
    rng = np.random.default_rng(seed)
    bodies = list(random_tree(seed, count, ONE_DEGREE))
    order = rng.permutation(count)
    leaders, followers = order[: count - count // 3], order[count - count // 3 :]
    for k, i in enumerate(followers):
        among = [*leaders, *followers[:k]]
        leader = bodies[int(rng.choice(among))]
        turning = "prismatic" not in type(bodies[i].joint).__name__.lower()
        if any(isinstance(b.joint, Continuous) for b in path_of_leaders(bodies, leader)):
            if not turning or "Helical" in type(bodies[i].joint).__name__:
                continue
            multiplier = float(rng.choice([-2, -1, 1, 3]))
        else:
            multiplier = float(rng.uniform(-2, 2))
        mimic = Mimic(leader.joint_name, multiplier, float(rng.uniform(-1, 1)))
        bodies[i] = dataclasses.replace(bodies[i], mimic=mimic)
    return Robot("tree", "base", tuple(bodies))


def path_of_leaders(bodies: list[Body], body: Body) -> list[Body]:
    """A body and those whose joints its own follows, one by the other."""
    names = {b.joint_name: b for b in bodies}
    path = [body]
    while path[-1].mimic is not None:
        path.append(names[path[-1].mimic.joint])
    return path


@pytest.mark.parametrize("seed", range(8))
def test_a_reduced_tree_is_pinocchios_whole_tree_reduced(seed: int) -> None:
    robot = following_tree(seed)
    assert robot.nv < len(robot.bodies)
    q, v, a, tau, f_ext = states(robot, 20, seed)
    v = v / 5
    model = model_of_bodies(robot.unreduced.bodies)
    expected = reduced_reference(robot, model, q, v, a, tau, f_ext)
    for method in golden.METHODS:
        found = differences(ours(robot, method, q, v, a, tau, f_ext), expected)
        assert max(found.values()) < TOLERANCE, (method, found)


@pytest.mark.parametrize("seed", range(2))
def test_derivatives_of_reduced_trees_are_central_differences(seed: int) -> None:
    robot = following_tree(seed)
    q, v, a, _, _ = states(robot, 4, seed)
    v, a = v / 10, a / 10

    def torque(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return golden.rnea(robot, q, v, np.broadcast_to(a, q.shape[:-1] + a.shape[1:]))

    exact = golden.rnea_derivatives(robot, q, v, a)
    numeric = golden.central_differences(robot, torque, q, v)
    for e, n in zip(exact, numeric, strict=True):
        assert np.max(np.abs(e - n)) < 1e-6 * np.max(np.abs(e))


LINK = """<link name="{0}"><inertial><mass value="{1}"/><origin xyz="0.1 0.02 -0.03" rpy="0.1 0.2 0.3"/>
<inertia ixx="0.1" iyy="0.12" izz="0.09" ixy="0.01" ixz="0" iyz="0.02"/></inertial></link>"""
JOINT = """<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/><axis xyz="{4}"/>
<origin xyz="0.3 0.05 0.1" rpy="0.2 0.1 0"/><limit effort="1" velocity="1" lower="-1" upper="1"/>{5}</joint>"""
HAND = (
    '<robot name="hand">'
    + LINK.format("palm", 2)
    + "".join(LINK.format(f"l{k}", 0.5 + 0.1 * k) for k in range(1, 6))
    + JOINT.format("a1", "revolute", "palm", "l1", "0 0 1", "")
    + JOINT.format("a2", "revolute", "l1", "l2", "0 1 0", '<mimic joint="a1" multiplier="0.8"/>')
    + JOINT.format("b1", "prismatic", "palm", "l3", "1 0 0", "")
    + JOINT.format(
        "b2", "prismatic", "palm", "l4", "0 1 0", '<mimic joint="b1" multiplier="-1" offset="0.1"/>'
    )
    + JOINT.format("c1", "revolute", "l4", "l5", "0 1 1", '<mimic joint="a1" offset="-0.2"/>')
    + "</robot>"
)


def test_a_file_with_mimic_joints_agrees_with_pinocchios(tmp_path: Path) -> None:
    path = tmp_path / "hand.urdf"
    path.write_text(HAND, encoding="utf-8")
    robot = load_urdf(path)
    model = pin.buildModelFromUrdf(str(path), mimic=True)
    assert (robot.nq, robot.nv) == (model.nq, model.nv) == (2, 2)
    data = model.createData()
    q, v, a, _, _ = states(robot, 20)
    ids = np.array([pin.rnea(model, data, q[k], v[k], a[k]).copy() for k in range(20)])
    masses = np.array([pin.crba(model, data, q[k]).copy() for k in range(20)])
    masses = np.triu(masses) + np.triu(masses, 1).transpose(0, 2, 1)
    assert np.allclose(golden.rnea(robot, q, v, a), ids, rtol=0, atol=1e-9 * np.abs(ids).max())
    assert np.allclose(golden.crba(robot, q), masses, rtol=0, atol=1e-9 * masses.max())
