"""The golden model of a file with joints on axes of every kind, against Pinocchio."""

from __future__ import annotations

from pathlib import Path

from rbdgen import golden, load_urdf
from tests.golden.pinocchio import differences, model_of_file, ours, reference, states

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


def test_agrees_with_pinocchio_on_skew_axes(tmp_path: Path) -> None:
    path = skew_robot(tmp_path)
    robot, model = load_urdf(path), model_of_file(path)
    given = states(robot, 20)
    expected = reference(robot, model, *given)
    for method in golden.METHODS:
        found = differences(ours(robot, method, *given), expected)
        assert max(found.values()) < 1e-10, (method, found)
