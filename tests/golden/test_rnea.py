"""The golden inverse dynamics against Pinocchio, and its complaints."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from rbdgen import ConfigError, Robot, golden, load_robot, load_urdf
from rbdgen.model import builtin_path, declared_ranges, random_states
from tests.conftest import BUILTIN, SHARED_ROBOTS, SUPPORTED, shared_robot

STATES = 20

SKEW = """<robot name="skew">
<link name="base"/>
{links}
<joint name="a" type="revolute"><parent link="base"/><child link="l0"/><origin xyz="0.1 0.2 0.3" rpy="0.3 -0.4 0.5"/>
  <axis xyz="1 2 -2"/><limit lower="-2" upper="2" velocity="3" effort="5"/></joint>
<joint name="b" type="prismatic"><parent link="l0"/><child link="l1"/><origin xyz="0 0.2 0.1" rpy="1 0 0.2"/>
  <axis xyz="-1 0.5 0.25"/><limit lower="-1" upper="1" velocity="3" effort="5"/></joint>
<joint name="c" type="continuous"><parent link="l1"/><child link="l2"/><origin xyz="0.3 0 0" rpy="0 0.7 0"/>
  <axis xyz="0 0 -1"/><limit velocity="3" effort="5"/></joint>
<joint name="d" type="continuous"><parent link="l1"/><child link="l3"/><origin xyz="-0.3 0.1 0" rpy="0 0 1.2"/>
  <axis xyz="0 3 4"/><limit velocity="3" effort="5"/></joint>
<joint name="e" type="prismatic"><parent link="l3"/><child link="l4"/><origin xyz="0 0 0.4" rpy="0.1 0.2 0.3"/>
  <axis xyz="0 -1 0"/><limit lower="-1" upper="1" velocity="3" effort="5"/></joint>
</robot>"""
LINK = """<link name="l{i}"><inertial><origin xyz="0.0{i} -0.02 0.1" rpy="0.1 0.2 0.{i}"/><mass value="1.{i}"/>
<inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0.001" ixz="-0.002" iyz="0.003"/></inertial></link>"""


def skew_robot(tmp_path: Path) -> Path:
    """A tree with every joint type on axes of every kind."""
    path = tmp_path / "skew.urdf"
    path.write_text(SKEW.format(links="\n".join(LINK.format(i=i) for i in range(5))))
    return path


def compare(robot: Robot, path: Path, with_forces: bool) -> float:
    """Largest difference to Pinocchio, relative to the largest torque."""
    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    assert tuple(model.names)[1:] == robot.joint_names
    q, v, a = random_states(robot, declared_ranges(robot), STATES, seed=3)
    rng = np.random.default_rng(4)
    f_ext = rng.normal(size=(STATES, len(robot.bodies), 6)) if with_forces else None
    expected = []
    for k in range(STATES):
        if f_ext is None:
            expected.append(pin.rnea(model, data, q[k], v[k], a[k]))
        else:
            forces = pin.StdVec_Force()
            forces.extend([pin.Force.Zero(), *(pin.Force(f[:3], f[3:]) for f in f_ext[k])])
            expected.append(pin.rnea(model, data, q[k], v[k], a[k], forces))
    tau = golden.rnea(robot, q, v, a, f_ext)
    return float(np.max(np.abs(tau - expected)) / np.max(np.abs(expected)))


@pytest.mark.parametrize("with_forces", [False, True])
@pytest.mark.parametrize("name", SUPPORTED)
def test_agrees_with_pinocchio_on_public_robots(name: str, with_forces: bool) -> None:
    assert compare(shared_robot(name), SHARED_ROBOTS / f"{name}.urdf", with_forces) < 1e-10


@pytest.mark.parametrize("name", BUILTIN)
def test_agrees_with_pinocchio_on_built_in_robots(name: str) -> None:
    assert compare(load_robot(name), builtin_path(name), True) < 1e-10


def test_agrees_with_pinocchio_on_skew_axes(tmp_path: Path) -> None:
    path = skew_robot(tmp_path)
    assert compare(load_urdf(path), path, True) < 1e-10


def test_takes_any_leading_shape() -> None:
    robot = load_robot("pendulum2")
    q, v, a = (x.reshape(2, 3, 2) for x in random_states(robot, declared_ranges(robot), 6, seed=0))
    tau = golden.rnea(robot, q, v, a)
    assert tau.shape == (2, 3, 2)
    assert np.array_equal(tau[1, 2], golden.rnea(robot, q[1, 2], v[1, 2], a[1, 2]))


def test_a_hanging_pendulum_needs_no_torque() -> None:
    robot = load_robot("pendulum2")
    rest = golden.rnea(robot, np.array([0.0, 0.0]), np.zeros(2), np.zeros(2))
    side = golden.rnea(robot, np.array([math.pi / 2, 0.0]), np.zeros(2), np.zeros(2))
    assert min(np.max(np.abs(rest)), np.max(np.abs(side))) < 1e-12
    assert max(np.max(np.abs(rest)), np.max(np.abs(side))) > 0.1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": np.zeros(3)}, r"^q: must have shape \(\.\.\., 2\), not \(3,\)$"),
        ({"v": np.zeros((4, 2))}, r"^v: must have shape \(2\), not \(4, 2\)$"),
        ({"a": np.array([0.0, math.nan])}, r"^a: must be finite, holds nan$"),
        ({"f_ext": np.zeros((2, 5))}, r"^f_ext: must have shape \(2, 6\), not \(2, 5\)$"),
    ],
)
def test_complains_about(change: dict[str, np.ndarray], message: str) -> None:
    arguments = {"q": np.zeros(2), "v": np.zeros(2), "a": np.zeros(2)} | change
    with pytest.raises(ConfigError, match=message):
        golden.rnea(load_robot("pendulum2"), **arguments)


def test_complains_about_cosine_and_sine_off_the_circle(tmp_path: Path) -> None:
    robot = load_urdf(skew_robot(tmp_path))
    q = np.array([0.0, 0.0, 1.0, 0.1, 1.0, 0.0, 0.0])
    with pytest.raises(ConfigError, match=r"^q: joint 'c' must be \(cos, sin\) of unit length, is off by 0\.01$"):
        golden.rnea(robot, q, np.zeros(5), np.zeros(5))
