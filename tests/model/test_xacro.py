"""xacro: files are expanded with their arguments, and no expression runs anything."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rbdgen import ConfigError, ToolError, UrdfError, load, load_robot
from rbdgen.model import load_xacro

ARM = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:arg name="mass" default="2"/><xacro:property name="m" value="$(arg mass)"/>
<xacro:include filename="parts.xacro"/>
<link name="base"/><xacro:limb name="upper" parent="base" mass="${m}"/>
<xacro:if value="${m > 3}"><xacro:limb name="lower" parent="upper" mass="${m / 2}"/></xacro:if></robot>"""
PARTS = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:macro name="limb" params="name parent mass">
<link name="${name}"><inertial><origin xyz="0 0 ${sin(pi / 6)}"/><mass value="${mass}"/>
<inertia ixx="1" iyy="1" izz="${0.1 * mass ** 2}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="${name}_joint" type="continuous"><parent link="${parent}"/><child link="${name}"/></joint></xacro:macro>
</robot>"""


@pytest.fixture
def arm(tmp_path: Path) -> Path:
    (tmp_path / "parts.xacro").write_text(PARTS, encoding="utf-8")
    path = tmp_path / "arm.urdf.xacro"
    path.write_text(ARM, encoding="utf-8")
    return path


def of_expression(folder: Path, expression: str) -> Path:
    """A file that gives its link's mass by an expression."""
    path = folder / "one.xacro"
    path.write_text(
        '<robot name="one" xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="a"/><link name="b"><inertial>'
        f'<mass value="{expression}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>',
        encoding="utf-8",
    )
    return path


def test_macros_includes_conditions_and_arguments_are_expanded(arm: Path) -> None:
    robot = load_robot(arm)
    assert (robot.name, robot.joint_names) == ("arm", ("upper_joint",))
    assert robot.bodies[0].inertia.mass == 2.0
    assert robot.bodies[0].inertia.first_moment == pytest.approx((0, 0, 1.0))
    heavy = load(arm, arguments={"mass": 4})
    assert [b.inertia.mass for b in heavy.bodies] == [4.0, 2.0]
    assert load_xacro(arm, "floating", {"mass": "4"}).joint_names[0] == "root_joint"


def test_figures_come_from_yaml_and_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARM_MASSES", "masses.yaml")
    (tmp_path / "masses.yaml").write_text("arm: {mass: !degrees 2 * 90}", encoding="utf-8")
    read = "xacro.load_yaml('$(dirname)/$(env ARM_MASSES)').arm['mass']"
    robot = load(of_expression(tmp_path, f"${{{read}}}"))
    assert robot.bodies[0].inertia.mass == pytest.approx(3.141592653589793)
    (tmp_path / "masses.yaml").write_text("arm: {mass: !degrees ().__class__}", encoding="utf-8")
    with pytest.raises(UrdfError, match="'__class__', which is not evaluated"):
        load(of_expression(tmp_path, f"${{{read}}}"))


def test_packages_above_the_file_are_found(tmp_path: Path) -> None:
    for name, mass in (("first", 1.0), ("second", 2.0)):
        package = tmp_path / name / "arm_description"
        package.mkdir(parents=True)
        (package / "package.xml").write_text(
            "<package><name>arm_description</name></package>", encoding="utf-8"
        )
        (package / "parts.xacro").write_text(PARTS, encoding="utf-8")
        path = package / "urdf" / "arm.xacro"
        path.parent.mkdir()
        found = ARM.replace("parts.xacro", "$(find arm_description)/parts.xacro")
        path.write_text(found.replace('default="2"', f'default="{mass}"'), encoding="utf-8")
        assert load(path).bodies[0].inertia.mass == mass


def test_arguments_are_for_xacro_only(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text("<robot/>", encoding="utf-8")
    with pytest.raises(
        ConfigError, match=r"arguments are for xacro; name the file \.xacro if it is"
    ):
        load(path, arguments={"mass": 4})


def test_a_file_that_does_not_ask_for_xacro_is_not_expanded(arm: Path) -> None:
    plain = arm.with_name("arm.urdf")
    plain.write_text(ARM, encoding="utf-8")
    with pytest.raises(UrdfError, match=r"has xacro's <arg>, which is not expanded here"):
        load(plain)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("${(lambda: ().__class__)()}", "has 'lambda', which is not evaluated"),
        ("$(eval ().__class__)", "has '__class__', which is not evaluated"),
        ("$(run ls)", r"\$\(run ls\) is not known; xacro has arg, find, env, optenv, "),
        ("$(env NOT_SET_ANYWHERE)", "environment variable 'NOT_SET_ANYWHERE' is not set; set it"),
        ("$(find)", r"\$\(find\) has not the arguments that find takes"),
        ("${1", "is not closed"),
        (
            "$(find no_such_package)",
            "package 'no_such_package' is neither above the file nor in a folder of ROS_PACKAGE_PATH or "
            "AMENT_PREFIX_PATH; put the folder that has the package into ROS_PACKAGE_PATH$",
        ),
        ("$(arg nothing)", "argument 'nothing' has no value; give it one: .*arguments="),
        ("${nothing}", "name 'nothing' is not defined in expression 'nothing'; mend the file"),
        ("${1 +}", r"invalid syntax .* in expression '1 \+'"),
        ("${xacro.load_yaml('none.yaml')}", "none.yaml' cannot be read: No such file"),
        ("${xacro.load_yaml('/dev/zero')}", "'/dev/zero' is no file"),
        ("${1 / 0}", "division by zero"),
    ],
)
def test_what_cannot_be_expanded_is_refused_in_a_line(
    expression: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = of_expression(tmp_path, expression)
    with pytest.raises(UrdfError, match=message) as caught:
        load(path)
    line = str(caught.value)
    assert line.startswith(f"{path}: xacro does not expand it: ")
    assert "\n" not in line
    assert "<class" not in line
    assert capsys.readouterr() == ("", "")


def test_macros_that_never_end_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "loop.xacro"
    path.write_text(
        '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:macro name="again"><xacro:again/></xacro:macro>'
        "<xacro:again/></robot>",
        encoding="utf-8",
    )
    with pytest.raises(
        UrdfError, match="xacro does not expand it: its macros or properties call themselves"
    ):
        load(path)


def test_files_that_are_not_there_or_no_xml_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UrdfError, match=r"none\.xacro: no such file"):
        load(tmp_path / "none.xacro")
    path = tmp_path / "bad.xacro"
    path.write_text("<robot>", encoding="utf-8")
    with pytest.raises(UrdfError, match=r"bad\.xacro: not well-formed XML: no element found"):
        load(path)


def test_files_leave_nothing_behind(arm: Path, tmp_path: Path) -> None:
    before = load(arm)
    for change in ("math.update(pi=99)", "python.update(str=1)", "xacro.update(arg=1)"):
        with pytest.raises(UrdfError, match="'update', which is not evaluated"):
            load(of_expression(tmp_path, f"${{{change}}}"))
    assert load(arm) == before


def test_files_are_read_side_by_side(arm: Path, tmp_path: Path) -> None:
    refused = of_expression(tmp_path, "${[i for i in range(3000)][-1] + (lambda: 1)()}")

    def read(number: int) -> str:
        try:
            return load(refused if number % 2 else arm).name
        except UrdfError as error:
            return str(error)

    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(read, range(40)))
    assert len(found) == 2
    assert any("has 'lambda', which is not evaluated" in line for line in found)


def test_yaml_without_pyyaml_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.yaml").write_text("a: 1", encoding="utf-8")
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    path = of_expression(tmp_path, "${xacro.load_yaml('a.yaml').a}")
    with pytest.raises(ToolError, match="'yaml' is missing; install"):
        load(path)
