"""Robots by whatever describes them, what is told of them, and how strict one may be."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from rbdgen import ConfigError, RobotWarning, UrdfError, load, load_robot, load_urdf
from rbdgen.cli.main import main
from rbdgen.errors import listed, warn_of
from rbdgen.model import builtin_path
from rbdgen.model.xml_text import first_element

URDF = """<robot name="r">{}<link name="base"/><joint name="j0" type="continuous"><parent link="base"/>
<child link="l0"/></joint></robot>"""
MJCF = """<mujoco><worldbody><body><joint name="j0"/><geom size=".1" contype="0" conaffinity="0"/></body></worldbody>
</mujoco>"""
ODD = """<robot name="r"><link name="base"/><link name="l0"/>
<link name="l1"><inertial><origin xyz="0 1 0"/><mass value="1"/></inertial></link>
<joint name="j0" type="continuous"><parent link="base"/><child link="l0"/></joint>
<joint name="j1" type="continuous"><parent link="l0"/><child link="l1"/></joint></robot>"""


def test_names_paths_and_texts_are_told_apart(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arm = load_robot("iiwa14")
        assert load("iiwa14") == arm
        assert load(builtin_path("iiwa14")) == arm
        assert load(str(builtin_path("iiwa14"))) == arm
        assert load(builtin_path("iiwa14").read_text(encoding="utf-8")) == arm
        assert load("\ufeff" + ODD.replace("\n", " ")) == load(ODD)
        assert load("iiwa14", "floating") == load_urdf(builtin_path("iiwa14"), "floating")


@pytest.mark.parametrize("name", ["robot.xml", "robot.urdf", "robot.mjcf", "robot.txt"])
@pytest.mark.parametrize(
    "content", [MJCF, f"<!-- --mine-- -->\n{MJCF}", "# (c) R&D\n" * 9000 + MJCF, ODD]
)
def test_files_are_told_apart_by_what_they_are(name: str, content: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert load(path).joint_names[0] == "j0"
        assert load_robot(str(path)) == load(path)


@pytest.mark.parametrize(
    ("data", "root"),
    [
        (b"<mujoco/>", "mujoco"),
        (b"<?xml version='1.0'?><!-- a --><robot><", "robot"),
        ("<mujoco/>".encode("utf-16"), "mujoco"),
        (b"", ""),
        (b"\xff\xfe\x00", ""),
        (b"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", ""),
        (b"<?xml version='1.0' encoding='none'?><robot/>", "robot"),
        (b"\n\xef\xbb\xbf<?xml version='1.0'?><!-- -- --><mujoco", "mujoco"),
        (b"# (c) R&D -- all rights reserved\n<m:mujoco a='<'>", "mujoco"),
        (b"<!-- J\xfcrgen --><mujoco/>", "mujoco"),
    ],
)
def test_root_elements(data: bytes, root: str) -> None:
    assert first_element(data) == root


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("<sdf version='1.6'/>", "^URDF: is SDF, not URDF; give the robot's URDF, or convert it"),
        ("<robot", "^URDF: not well-formed XML"),
        ("robot\nname=", "^URDF: not well-formed XML"),
        ("iiwa", "neither a file nor built in; did you mean iiwa14"),
        ("no/such.xacro", r"no/such\.xacro: no such file"),
        ("no.mjcf", r"no\.mjcf: no such file"),
    ],
)
def test_what_is_no_robot_is_refused(source: str, message: str) -> None:
    with pytest.raises(UrdfError, match=message):
        load(source)


@pytest.mark.parametrize("source", [None, 3, b"<robot/>", ["iiwa14"]])
def test_other_things_are_refused(source: object) -> None:
    with pytest.raises(
        ConfigError, match=r"must be a name, a path, the text of a URDF or MJCF, or a model"
    ):
        load(source)


def test_remarks_come_at_once_and_short() -> None:
    links = "".join(f'<link name="l{k}"/>' for k in range(12))
    chain = "".join(
        f'<joint name="j{k + 1}" type="continuous"><parent link="l{k}"/><child link="l{k + 1}"/></joint>'
        for k in range(11)
    )
    with pytest.warns(RobotWarning) as caught:
        load(URDF.format(links + chain))
    assert [str(w.message) for w in caught] == [
        "URDF: links without mass move: l0, l1, l2, l3, l4, l5, l6, l7 and 4 more; "
        "give them an <inertial> if they have one"
    ]
    with pytest.warns(RobotWarning) as caught:
        load(ODD)
    assert [str(w.message) for w in caught] == [
        "URDF: 2 remarks:\n"
        "  - links without mass move: l0; give them an <inertial> if they have one\n"
        "  - links with mass but no <inertia>: l1; taken as point masses"
    ]


def test_names_are_listed_plainly() -> None:
    assert listed(["a\nb", "c"]) == r"'a\nb', c"
    assert listed([str(k) for k in range(8)]) == "0, 1, 2, 3, 4, 5, 6, 7"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of("r.urdf", [])


def test_remarks_are_errors_if_one_is_strict() -> None:
    with pytest.raises(
        UrdfError, match=r"^URDF: 2 remarks: - links without mass move: l0;.*without strict$"
    ):
        load(ODD, strict=True)
    assert load(MJCF, strict=True).joint_names == ("j0",)


def test_the_command_line_lists_remarks_or_is_strict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "odd.urdf"
    path.write_text(ODD, encoding="utf-8")
    assert main(["layout", str(path), "--evidence", "0", "--json"]) == 0
    told = capsys.readouterr().err
    assert f"rbdgen: warning: {path}: 2 remarks:\n  - links without mass move: l0;" in told
    for command in ("layout", "generate", "simulate", "compare", "explore"):
        assert main([command, str(path), "--strict"]) == 2
        told = capsys.readouterr().err.splitlines()
        assert told[-1].startswith(f"rbdgen: error: {path}: 2 remarks: - links without mass move")


def test_the_command_line_takes_mjcf(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "arm.xml"
    path.write_text(MJCF, encoding="utf-8")
    assert main(["layout", str(path), "--strict", "--evidence", "0", "--json"]) == 0
    assert '"j0"' in capsys.readouterr().out
