"""Another root: the same mechanism. What does not depend on the base's coordinates is the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rbdgen import ConfigError, Robot, UnsupportedError, golden, load_robot
from rbdgen.model import declared_ranges, random_states
from rbdgen.model.joints import Spherical
from rbdgen.model.variants import longest_chain, rerooted, shortest_root
from tests.conftest import SHARED_ROBOTS


def both(
    robot: Robot, root: str, count: int = 5
) -> tuple[Robot, np.ndarray, np.ndarray, list[int]]:
    """The rerooted robot; the same joint positions for either; where each joint's velocity is in the other's v."""
    other = rerooted(robot, root)
    q = random_states(robot, declared_ranges(robot), count, seed=3)[0]
    q_other = random_states(other, declared_ranges(other), count, seed=4)[0]
    order = []
    for i, body in enumerate(other.bodies):
        j = robot.joint_names.index(body.joint_name)
        if i:
            q_other[:, other.q_slices[i]] = q[:, robot.q_slices[j]]
        order += range(*robot.v_slices[j].indices(robot.nv))
    return other, q, q_other, order


def reduced(m: np.ndarray) -> np.ndarray:
    """Inertia that the joints feel where the base is free."""
    base = m[:, :6, :6]
    return m[:, 6:, 6:] - m[:, 6:, :6] @ np.linalg.solve(base, m[:, :6, 6:])


@pytest.mark.parametrize("root", ["lf_lowerleg", "rh_hip", "trunk"])
def test_joints_feel_the_same(root: str) -> None:
    robot = load_robot("hyq", "floating")
    other, q, q_other, order = both(robot, root)
    assert other.bodies[0].name == root
    assert sorted(other.joint_names) == sorted(robot.joint_names)
    m, m_other = golden.crba(robot, q), golden.crba(other, q_other)
    expected = m[:, order][:, :, order]
    assert np.allclose(reduced(m_other), reduced(expected), rtol=0, atol=1e-9 * np.max(np.abs(m)))
    assert np.allclose(m_other[:, 0, 0], m[:, 0, 0])  # the mass of all
    rates = np.zeros((len(q), robot.nv))
    torques = np.random.default_rng(1).uniform(-9, 9, (len(q), robot.nv))
    torques[:, :6] = 0.0
    a = golden.forward_dynamics(robot, q, rates, torques)[:, order]
    a_other = golden.forward_dynamics(other, q_other, rates, torques[:, order])
    assert np.allclose(a_other[:, 6:], a[:, 6:], rtol=0, atol=1e-8 * np.max(np.abs(a)))


def test_there_and_back() -> None:
    robot = load_robot("hyq", "floating")
    back = rerooted(rerooted(robot, "lf_lowerleg"), "trunk")
    assert back.joint_names == robot.joint_names
    q = random_states(robot, declared_ranges(robot), 3, seed=1)[0]
    m, m_back = golden.crba(robot, q), golden.crba(back, q)
    assert np.allclose(reduced(m_back), reduced(m), rtol=0, atol=1e-11 * np.max(m))


def test_the_torso_shortens_a_humanoids_chains() -> None:
    path = SHARED_ROBOTS / "atlas.urdf"
    if not path.exists():
        pytest.skip("atlas.urdf is not beside this checkout")
    robot = load_robot(path, "floating")
    depths = {b.name: longest_chain(rerooted(robot, b.name)) for b in robot.bodies}
    assert depths["pelvis"] == 11
    assert min(depths.values()) == depths["mtorso"] == 9
    assert shortest_root(robot) == "mtorso"
    assert shortest_root(load_robot("hyq", "floating")) == "trunk"
    assert shortest_root(load_robot("hyq")) == "lf_hip"


@pytest.mark.parametrize(
    ("base", "root", "message"),
    [
        (
            "floating",
            "lf_lowerlag",
            "root 'lf_lowerlag': no moving link of 'hyq'; did you mean 'lf_lowerleg'",
        ),
        ("fixed", "lf_hip", "is fixed at 'trunk'; give it a mobile --base first"),
        ("fixed", "lf_lowerleg", "is fixed at 'trunk'; give it a mobile --base first"),
    ],
)
def test_roots_that_cannot_be(base: str, root: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        rerooted(load_robot("hyq", base), root)


def test_a_ball_joint_cannot_be_turned_round() -> None:
    robot = load_robot("pendulum2", "floating")
    bodies = (*robot.bodies[:2], replace(robot.bodies[2], joint=Spherical()))
    with pytest.raises(UnsupportedError, match=r"\(spherical\) cannot be turned round"):
        rerooted(replace(robot, bodies=bodies), robot.bodies[2].name)
