"""Fixed joints, order and axes against Pinocchio, on robots that put them together."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from rbdgen.model import Placement, Robot, parse_urdf

LINK = """<link name="{0}"><inertial><origin xyz="0.1 -0.2 0.3" rpy="0.3 0.2 -0.7"/><mass value="1.5"/>
<inertia ixx="0.2" iyy="0.3" izz="0.4" ixy="0.01" ixz="-0.02" iyz="0.03"/></inertial></link>"""
JOINT = """<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/>
<origin xyz="0.5 0.1 -0.2" rpy="0.4 -1.1 2.0"/><axis xyz="{4}"/>
<limit lower="-1" upper="1" velocity="1" effort="1"/></joint>"""
AXES = ("1 0 0", "0 0 -1", "0 -1 0", "0.6 0 0.8", "1 2 -3")


def read(*joints: tuple[str, str, str, str, str]) -> tuple[Robot, pin.Model]:
    """The robot of these joints (name, type, parent, child, axis), by rbdgen and by Pinocchio."""
    links = dict.fromkeys(link for j in joints for link in j[2:4])
    text = f"<robot name='r'>{''.join(map(LINK.format, links))}{''.join(JOINT.format(*j) for j in joints)}</robot>"
    return parse_urdf(text, "r.urdf"), pin.buildModelFromXML(text)


@pytest.fixture(scope="module")
def branched() -> tuple[Robot, pin.Model]:
    """Joints whose order in the file is not that of their names, below and beside chains of fixed joints."""
    return read(
        ("z", "revolute", "root", "a", "0 0 1"),
        ("m_weld", "fixed", "root", "plate", "1 0 0"),
        ("y", "revolute", "plate", "b", "0 1 0"),
        ("B", "prismatic", "plate", "c", "1 1 0"),
        ("d_weld", "fixed", "a", "bracket", "1 0 0"),
        ("e_weld", "fixed", "bracket", "tip", "1 0 0"),
        ("j10", "continuous", "tip", "d", "0 0 1"),
        ("j9", "revolute", "a", "e", "1 0 0"),
        ("j_1", "revolute", "bracket", "f", "1 0 0"),
    )


def test_order_is_pinocchios(branched: tuple[Robot, pin.Model]) -> None:
    robot, model = branched
    assert robot.joint_names == tuple(model.names)[1:]
    assert tuple(b.parent for b in robot.bodies) == tuple(k - 1 for k in list(model.parents)[1:])


def test_merged_inertias_are_pinocchios(branched: tuple[Robot, pin.Model]) -> None:
    robot, model = branched
    for body, inertia in zip(robot.bodies, list(model.inertias)[1:], strict=True):
        assert np.isclose(body.inertia.mass, inertia.mass, rtol=1e-14)
        assert np.allclose(body.inertia.first_moment, inertia.mass * inertia.lever, atol=1e-13)
        assert np.allclose(body.inertia.rotational, inertia.matrix()[3:, 3:], atol=1e-13)


def test_merged_links_frames_are_pinocchios(branched: tuple[Robot, pin.Model]) -> None:
    robot, model = branched
    assert [f.name for f in robot.frames] == ["plate", "bracket", "tip"]
    for frame in robot.frames:
        other = model.frames[model.getFrameId(frame.name, pin.FrameType.BODY)]
        assert frame.body == other.parentJoint - 1
        assert np.allclose(frame.placement.rotation, other.placement.rotation, atol=1e-14)
        assert np.allclose(frame.placement.translation, other.placement.translation, atol=1e-14)


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("kind", ["revolute", "continuous", "prismatic"])
def test_joints_move_as_pinocchios(kind: str, axis: str) -> None:
    robot, model = read(("j", kind, "root", "a", axis))
    body, data = robot.bodies[0], model.createData()
    for q in body.joint.random(np.random.default_rng(0), 5, -1.0, 1.0):
        pin.forwardKinematics(model, data, q)
        moved = body.joint.placement(tuple(map(float, q)))
        ours = body.placement @ Placement(moved.rotation, moved.translation)
        assert np.allclose(ours.rotation, data.oMi[1].rotation, atol=1e-14)
        assert np.allclose(ours.translation, data.oMi[1].translation, atol=1e-14)
