"""XML of robots: what urdfdom reads is read, with a remark where it is not well-formed; Pinocchio is the oracle."""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path

import pinocchio as pin
import pytest

from rbdgen import RobotWarning, UrdfError, load
from rbdgen.model import parse_urdf
from rbdgen.model.xml_text import read_xml, with_addresses

ROBOT = (
    '<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>'
)


def within(text: str) -> str:
    """The robot with ``text`` in it."""
    return ROBOT.replace('<link name="a"/>', f'<link name="a"/>{text}')


@pytest.mark.parametrize(
    "text",
    [
        f'\n \n<?xml version="1.0"?>{ROBOT}',
        f'\ufeff\n<?xml version="1.0"?>{ROBOT}',
        f"a banner & more\n{ROBOT}",
        f"<!-- -- a --- -->{ROBOT}",
        f"{ROBOT}<!-- --- -->",
        f"{ROBOT}</robot>",
        f"<model/>{ROBOT}",
        within('<gazebo a="x & y">a & b &none; &#x; ]]></gazebo>'),
        within('<gazebo a="x < y" b="1"c="2"/>'),
        within("<gazebo>\x01</gazebo>"),
        within('<gz:plugin gz:a="1"><sensor:b/></gz:plugin>'),
        ROBOT.replace('"b"', '"b&c"'),
    ],
)
def test_what_urdfdom_reads_is_read_with_a_remark(text: str) -> None:
    assert pin.buildModelFromXML(text).nv == 1
    with pytest.warns(RobotWarning, match=r"well-formed|prefixes") as said:
        assert parse_urdf(text, "r.urdf").nv == 1
    assert len(said) == 1
    with pytest.raises(UrdfError, match=r"well-formed|prefixes"):
        load(f"\n{text}", strict=True)


@pytest.mark.parametrize(
    "text",
    [
        within("<gazebo a=1/>"),
        within("<gazebo a/>"),
        within('<gazebo a="1" a="2"/>'),
        within("<gazebo><x></gazebo>"),
        within("<gazebo>"),
        within("<gazebo>a < b</gazebo>"),
        within("<1a/>"),
        f"{ROBOT}<!-- ",
        f"{ROBOT}junk",
        "<" + "a" * 100_000,
        "<!-- --",
        "\n",
    ],
)
def test_what_nobody_reads_is_refused(text: str) -> None:
    with pytest.raises(UrdfError, match=r"^r\.urdf: not well-formed XML: .*; mend the file"):
        parse_urdf(text, "r.urdf")


def test_no_entity_is_ever_expanded() -> None:
    for doctype in ('<!DOCTYPE r [<!ENTITY a "b">]>', "\n<!doctype r>"):
        with pytest.raises(UrdfError, match="document type or entities, which are not read"):
            parse_urdf(f"<!-- -- -->{doctype}{ROBOT}", "r.urdf")
    read = read_xml('\n<?xml version="1.0"?><a b="&lt;&#65;&#x42;&c;&#xd800;"/>', "a")
    assert read.root.get("b") == "<AB&c;&#xd800;"


def test_bytes_that_are_not_utf8_are_read_where_they_do_not_matter() -> None:
    with pytest.warns(RobotWarning, match="not well-formed XML, read as urdfdom reads it"):
        assert parse_urdf(f"<!-- Jürgen -->{ROBOT}".encode("latin-1"), "r.urdf").nv == 1


def test_prefixes_are_addresses_whether_declared_or_not() -> None:
    text = '<a xmlns="u:d" xmlns:p="u:p"><p:b p:c="1"/><q:b d="2"/><e xmlns=""/><f/></a>'
    document = with_addresses(read_xml(text, "a"))
    assert [element.tag for element in document.root.iter()] == [
        "{u:d}a",
        "{u:p}b",
        "{q}b",
        "e",
        "{u:d}f",
    ]
    assert [dict(element.attrib) for element in document.root] == [
        {"{u:p}c": "1"},
        {"d": "2"},
        {},
        {},
    ]
    assert document.remarks == ("prefixes of names that no xmlns declares: q",)


@pytest.mark.parametrize("declared", ["", ' xmlns:drake="http://drake.mit.edu"'])
def test_drakes_rotors_count_with_and_without_a_declaration(declared: str) -> None:
    rotor = (
        f'<transmission{declared}><joint name="j"/><actuator name="m">'
        '<drake:rotor_inertia value="0.5"/><drake:gear_ratio value="2"/></actuator></transmission>'
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RobotWarning)
        assert parse_urdf(within(rotor), "r.urdf").bodies[0].armature == (2.0,)


@pytest.mark.parametrize("name", [b"\xff arm", b"$HOME '\"`", "ärm".encode()])
@pytest.mark.parametrize("ending", [b".urdf", b".xacro", b".xml"])
def test_files_may_have_any_name(name: bytes, ending: bytes, tmp_path: Path) -> None:
    folder = os.path.join(os.fsencode(tmp_path), name)  # noqa: PTH118 (bytes)
    os.mkdir(folder)  # noqa: PTH102
    path = Path(os.fsdecode(os.path.join(folder, name + ending)))  # noqa: PTH118
    mjcf = "<mujoco><worldbody><body><joint/><geom size='1'/></body></worldbody></mujoco>"
    text = mjcf if ending == b".xml" else ROBOT.replace(' name="r"', "")
    path.write_text(text, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RobotWarning)
        robot = load(path)
    assert robot.nv == 1
    assert robot.name.encode()


def test_files_of_many_prefixes_take_no_longer_than_they_are_long() -> None:
    text = "".join(f'<a xmlns:p{k}="{k}">' for k in range(20_000)) + "</a>" * 20_000
    begin = time.monotonic()
    with_addresses(read_xml(text, "a"))
    assert time.monotonic() - begin < 5
