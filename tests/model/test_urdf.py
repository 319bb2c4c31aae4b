"""The URDF reader: what it accepts, what it merges, and one line for everything that is wrong."""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from rbdgen import (
    ConfigError,
    RbdgenError,
    RbdgenWarning,
    UnsupportedError,
    UrdfError,
    load_robot,
    load_urdf,
)
from rbdgen.model import (
    Continuous,
    FreeFlyer,
    Joint,
    Mimic,
    Planar,
    Prismatic,
    Revolute,
    Robot,
    builtin_path,
    parse_urdf,
)
from tests.conftest import BUILTIN, SHARED_ROBOTS, SUPPORTED, shared_robot

LINK = (
    '<link name="{0}"><inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
JOINT = '<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/>{4}</joint>'


def urdf(*parts: str, links: str = "ab") -> str:
    """A robot with these links and parts."""
    return '<robot name="r">' + "".join(LINK.format(n) for n in links) + "".join(parts) + "</robot>"


def joint(
    name: str = "j", kind: str = "revolute", parent: str = "a", child: str = "b", inside: str = ""
) -> str:
    return JOINT.format(name, kind, parent, child, inside)


def parse(text: str) -> Robot:
    """Read text; warnings fail the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return parse_urdf(text, "r.urdf")


AXIS = '<axis xyz="{}"/>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<robot name='r'><link", r"not well-formed XML: .*; mend the file at that place"),
        ("<mujoco/>", r"is MJCF, not URDF; give the robot's URDF, or convert it to one"),
        ("<sdf/>", r"is SDF, not URDF; give the robot's URDF, or convert it to one"),
        (
            '<robot xmlns:x="http://www.ros.org/wiki/xacro"><x:property name="m" value="3"/></robot>',
            r"has xacro's <property>, which is not expanded here; run 'xacro FILE > robot.urdf' and give robot.urdf",
        ),
        ("<model/>", r"root element must be <robot>, not <model>; give a URDF"),
        ("<robot/>", r"has no links; a robot needs at least one"),
        (urdf(links="a"), r"has no moving joint; there is nothing to compute"),
        (urdf(), r"has 2 roots: 'a', 'b'; connect them with joints or remove all but one"),
        (
            urdf(joint(), joint("k"), links="ab"),
            r"link 'b': is the child of joints 'j' and 'k'; loops are not supported, cut one",
        ),
        (
            urdf(joint(), joint("k", parent="b", child="a")),
            r"link 'a': is its own ancestor; loops are not supported, cut one joint",
        ),
        (urdf(joint(), links="aab"), r"link 'a': defined twice; rename one"),
        (urdf(joint(), joint(child="c"), links="abc"), r"joint 'j': defined twice; rename one"),
        (urdf(joint(child="bb")), r"joint 'j': child link 'bb' does not exist; did you mean 'b'\?"),
        (
            urdf(joint(parent="base_link")),
            r"joint 'j': parent link 'base_link' does not exist; define it",
        ),
        (
            urdf('<joint name="j" type="revolute"><child link="b"/></joint>'),
            r"joint 'j': has no parent link; add <parent link=\.\.\./>",
        ),
        (
            urdf(joint(kind="ball")),
            r"joint 'j': type must be one of fixed, revolute, continuous, prismatic, planar, floating, not 'ball'",
        ),
        (urdf(joint(inside=AXIS.format("0 0 0"))), r"joint 'j': axis must not be zero, is '0 0 0'"),
        (
            urdf(joint(inside=AXIS.format("0 1"))),
            r"joint 'j': xyz must be 3 numbers, not '0 1'",
        ),
        (
            urdf(joint(inside=AXIS.format("0 x 1"))),
            r"joint 'j': xyz must be 3 numbers, not '0 x 1'",
        ),
        (
            urdf(joint(inside='<origin xyz="0 nan 0"/>')),
            r"joint 'j': xyz must be finite, not '0 nan 0'",
        ),
        (
            urdf(joint()).replace('value="1"', 'value="-2"'),
            r"link '\w': mass must not be negative, is -2",
        ),
        (
            urdf(joint()).replace('value="1"', 'value="NaN"'),
            r"link '\w': value must be finite, not 'NaN'",
        ),
        (
            urdf(joint()).replace('ixx="1"', 'ixx="inf"'),
            r"link '\w': ixx must be finite, not 'inf'",
        ),
        (
            urdf(joint()).replace('<mass value="1"/>', ""),
            r"link '\w': <inertial> has no <mass>; add it",
        ),
        (
            urdf(joint()).replace('value="1"', 'value="1e308"'),
            r"link '\w': value must not be beyond 1e\+30, is '1e308'",
        ),
        (
            urdf(joint(inside='<origin xyz="0 0 1_0"/>')),
            r"joint 'j': xyz must be 3 numbers, not '0 0 1_0'",
        ),
        (
            urdf(joint(inside='<origin rpy="0 0"/>')),
            r"joint 'j': rpy must be 3 numbers, not '0 0'",
        ),
        (
            urdf(joint(inside=AXIS.format("1e-320 0 0"))),
            r"joint 'j': axis must not be zero, is '1e-320 0 0'",
        ),
        (urdf(joint()).replace("ixx=", "Ixx="), r"link '\w': <inertia> has no ixx; add it"),
        (
            urdf(
                joint(),
                joint("k", parent="c", child="d"),
                joint("l", parent="d", child="c"),
                links="abcd",
            ),
            r"link 'c': is its own ancestor; loops are not supported, cut one joint",
        ),
        (urdf(joint(child="b&#10;c")), r"joint 'j': child link 'b\\nc' does not exist; .+"),
        ('<?xml version="1.0"?>', r"not well-formed XML: .*; mend the file at that place"),
        (
            '<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><robot name="&b;"/>',
            r"has a document type or entities, which are not read; expand and remove them",
        ),
        (urdf('<joint type="revolute"/>'), r"a <joint> has no name; give it one"),
        (
            '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="r">&x;</robot>',
            r"has a document type or entities, which are not read; expand and remove them",
        ),
    ],
)
def test_what_contradicts_itself_is_one_line(text: str, message: str) -> None:
    with pytest.raises(UrdfError, match=rf"^r\.urdf: {message}$") as caught:
        parse_urdf(text, "r.urdf")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            urdf(joint(kind="planar", inside=AXIS.format("0 1 0"))),
            r"joint 'j': planar joints move in their x-y plane only; turn the origin .+ is 0 0 1, not '0 1 0'",
        ),
    ],
)
def test_what_is_not_supported_is_refused_by_name(text: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=rf"^r\.urdf: {message}$"):
        parse_urdf(text, "r.urdf")


def test_an_unknown_base_is_refused() -> None:
    with pytest.raises(
        ConfigError,
        match=r"pendulum2\.urdf: base must be one of fixed, floating, planar, not 'wheeled'$",
    ):
        load_robot("pendulum2", base="wheeled")


@pytest.mark.parametrize(("base", "carrier"), [("floating", FreeFlyer()), ("planar", Planar())])
def test_a_mobile_base_is_a_joint_before_the_tree(base: str, carrier: Joint) -> None:
    fixed = joint("f", "fixed", "a", "c", '<origin xyz="0 0 2"/>')
    robot = parse_urdf(urdf(joint(), fixed, links="abc"), "r.urdf", base=base)
    assert robot.joint_names == ("root_joint", "j")
    assert robot.base_name == "universe"
    assert [(b.name, b.parent) for b in robot.bodies] == [("a", -1), ("b", 0)]
    assert robot.bodies[0].joint == carrier
    assert robot.bodies[0].inertia.mass == 2.0
    assert [(f.name, f.body) for f in robot.frames] == [("c", 0)]


def test_one_floating_link_is_a_robot() -> None:
    assert parse_urdf(urdf(links="a"), "r.urdf", base="floating").nv == 6


def test_a_mobile_bases_name_must_be_free() -> None:
    with pytest.raises(
        UrdfError,
        match=r"^r\.urdf: joint 'root_joint': a mobile base's joint has that name; rename it$",
    ):
        parse_urdf(urdf(joint("root_joint")), "r.urdf", base="planar")
    links = urdf(joint(parent="universe"), links="b").replace(
        "<link", LINK.format("universe") + "<link", 1
    )
    assert parse_urdf(links, "r.urdf", base="planar").base_name == "universe_"


def test_floating_and_planar_joints_may_stand_within() -> None:
    robot = parse(urdf(joint(kind="floating"), joint("k", "planar", "b", "c"), links="abc"))
    assert [b.joint for b in robot.bodies] == [FreeFlyer(), Planar()]


def test_missing_files_and_directories_are_named(tmp_path: Path) -> None:
    with pytest.raises(UrdfError, match=r"none\.urdf: no such file; give the path of a URDF$"):
        load_urdf(tmp_path / "none.urdf")
    with pytest.raises(UrdfError, match=r": cannot be read: .*; give the path of a URDF$"):
        load_urdf(tmp_path)


def test_paths_that_no_file_can_have_are_named(tmp_path: Path) -> None:
    with pytest.raises(UrdfError, match=r"cannot be read: .*null.*; give the path of a URDF$"):
        load_urdf(tmp_path / "a\0b.urdf")
    with pytest.raises(
        UrdfError, match=r"^robot 'x+\.\.\.x+': neither a file nor built in; built-in robots: "
    ):
        load_robot("x" * 5000)


def test_unknown_encodings_are_refused() -> None:
    with pytest.raises(UrdfError, match=r"^r\.urdf: not readable XML: .*; save the file as UTF-8$"):
        parse_urdf(b'<?xml version="1.0" encoding="klingon"?><robot/>', "r.urdf")


def test_a_robot_without_name_is_called_after_its_file(tmp_path: Path) -> None:
    path = tmp_path / "my_arm.urdf"
    path.write_text(urdf(joint()).replace(' name="r"', ""))
    assert load_urdf(path).name == "my_arm"


def test_limits_may_be_as_large_as_a_double() -> None:
    limit = '<limit lower="-1.7e308" upper="1.7e308"/>'
    assert parse(urdf(joint(inside=limit))).bodies[0].limits.upper == 1.7e308


def test_a_joint_may_follow_another_and_that_a_third() -> None:
    second = joint(
        "k", parent="b", child="c", inside='<mimic joint="j" multiplier="2" offset="0.5"/>'
    )
    third = joint(
        "l", parent="c", child="d", inside='<mimic joint="k" multiplier="-3" offset="1"/>'
    )
    robot = parse(urdf(joint(), second, third, links="abcd"))
    assert (robot.nq, robot.nv) == (1, 1)
    assert robot.bodies[2].mimic == Mimic("j", -6.0, -0.5)


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ('<mimic joint="h"/>', "follows 'h', which is no moving joint; joints are j, k"),
        ('<mimic joint="k"/>', "follows itself: k → k; let one of them move by itself"),
        ('<mimic joint="j" multiplier="0"/>', "by the multiplier 0 and the offset 0; they must "),
        ('<mimic joint="j" multiplier="1e-300"/>', "multiplier 1e-300 and the offset 0; they"),
        ('<mimic joint="j" multiplier="1e9"/>', "they must be 1e-06 to 1000 and at most 1e+06"),
        ('<mimic joint="j" offset="1e25"/>', "the multiplier 1 and the offset 1e+25; they must"),
        ('<mimic joint="j" multiplier="nan"/>', "multiplier must be finite, not 'nan'"),
        ('<mimic joint="j" offset="x"/>', "offset must be 1 number"),
        ("<mimic/>", "<mimic> names no joint; say which one it follows"),
        ('<dynamics damping="-1"/>', "damping must not be negative, is -1"),
        ('<dynamics friction="nan"/>', "friction must be finite, not 'nan'"),
    ],
)
def test_what_cannot_be_followed_or_damped_is_refused(inside: str, message: str) -> None:
    second = joint("k", parent="b", child="c", inside=inside)
    with pytest.raises(UrdfError, match=r"^r\.urdf: .*joint 'k': .*") as caught:
        parse_urdf(urdf(joint(), second, links="abc"), "r.urdf")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_turns_without_end_is_followed_a_few_times_at_most() -> None:
    second = '<mimic joint="j" multiplier="{}"/>'
    for times in ("1000", "0.5"):
        follower = joint("k", "continuous", "b", "c", second.format(times))
        with pytest.raises(UnsupportedError, match="a whole multiplier of at most 16; give the l"):
            parse_urdf(urdf(joint(kind="continuous"), follower, links="abc"), "r.urdf")


def test_a_circle_of_followers_is_refused() -> None:
    first = joint(inside='<mimic joint="k"/>')
    second = joint("k", parent="b", child="c", inside='<mimic joint="j"/>')
    with pytest.raises(UrdfError, match="joint 'j': follows itself: j → k → j"):
        parse_urdf(urdf(first, second, links="abc"), "r.urdf")


DRIVE = """<transmission name="t"><joint name="j"/><actuator name="m" xmlns:drake="http://drake.mit.edu">
<drake:rotor_inertia value="{}"/><drake:gear_ratio value="{}"/></actuator></transmission>"""


def test_drakes_rotors_are_read() -> None:
    assert parse(urdf(joint(), DRIVE.format("0.5", "-4"))).bodies[0].armature == (8.0,)
    assert parse(urdf(joint(), DRIVE.format("0", "100"))).bodies[0].armature == ()
    with pytest.raises(UrdfError, match="of joint 'j': rotor_inertia must not be negative, is -1"):
        parse(urdf(joint(), DRIVE.format("-1", "2")))
    with pytest.raises(UrdfError, match="of joint 'j': value must be finite, not 'nan'"):
        parse(urdf(joint(), DRIVE.format("nan", "2")))


def test_a_joint_keeps_its_friction() -> None:
    robot = parse(urdf(joint(inside='<dynamics damping="0.5" friction="2"/>')))
    assert (robot.bodies[0].damping, robot.bodies[0].friction) == ((0.5,), (2.0,))
    assert robot.dampers(0) == (0.0,)


def test_mimic_does_not_matter_at_a_fixed_joint() -> None:
    fixed = joint("f", "fixed", "b", "c", '<mimic joint="j"/>')
    assert parse(urdf(joint(), fixed, links="abc")).joint_names == ("j",)


def test_chains_may_be_longer_than_pythons_stack() -> None:
    count = 1100
    links = "".join(LINK.format(f"l{i}") for i in range(count + 1))
    joints = "".join(joint(f"j{i}", parent=f"l{i}", child=f"l{i + 1}") for i in range(count))
    robot = parse(f"<robot>{links}{joints}</robot>")
    assert [b.parent for b in robot.bodies] == list(range(-1, count - 1))


def test_bytes_that_are_not_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.urdf"
    path.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(RbdgenError, match=r"x\.urdf: not "):
        load_urdf(path)


def test_unknown_names_bring_the_nearest() -> None:
    with pytest.raises(
        UrdfError,
        match=r"^robot 'iiwa15': neither a file nor built in; did you mean iiwa14\? built-in robots: ",
    ):
        load_robot("iiwa15")


def test_malformed_public_file_is_refused() -> None:
    path = SHARED_ROBOTS / "hyq_simple_float.urdf"
    if not path.exists():
        pytest.skip("hyq_simple_float.urdf is not beside this checkout")
    with pytest.raises(RbdgenError, match=r"hyq_simple_float\.urdf: "):
        load_urdf(path)


def test_vendor_tags_and_geometry_are_tolerated() -> None:
    extra = (
        "<gazebo reference='a'><x/></gazebo><transmission name='t'/><material name='m'/><visual/>"
    )
    assert parse(urdf(joint(), extra)).joint_names == ("j",)


def test_a_comment_or_namespace_is_tolerated() -> None:
    text = urdf(joint()).replace(
        "<robot", "<!-- hello --><robot xmlns:xacro='http://www.ros.org/wiki/xacro'"
    )
    assert parse(text).nv == 1


def test_axes_are_normalised_and_default_to_x() -> None:
    assert parse(urdf(joint())).bodies[0].joint == Revolute((1.0, 0.0, 0.0))
    assert parse(urdf(joint(inside=AXIS.format("0 0 -2")))).bodies[0].joint == Revolute(
        (0.0, 0.0, -1.0)
    )
    skew = parse(urdf(joint(kind="prismatic", inside=AXIS.format("1 2 2")))).bodies[0].joint
    assert skew == Prismatic((1 / 3, 2 / 3, 2 / 3))


def test_continuous_joints_have_two_coordinates() -> None:
    robot = parse(urdf(joint(kind="continuous")))
    assert isinstance(robot.bodies[0].joint, Continuous)
    assert (robot.nq, robot.nv) == (2, 1)


def test_fixed_joints_are_merged_and_their_links_kept() -> None:
    fixed = joint("f", "fixed", "b", "c", '<origin xyz="0 0 2"/>')
    robot = parse(urdf(joint(), fixed, links="abc"))
    assert robot.joint_names == ("j",)
    assert [(f.name, f.body, f.placement.translation) for f in robot.frames] == [
        ("c", 0, (0.0, 0.0, 2.0))
    ]
    assert robot.bodies[0].inertia.mass == 2.0
    assert robot.bodies[0].inertia.first_moment == (0.0, 0.0, 2.0)


def test_the_bases_inertia_is_dropped() -> None:
    robot = parse(urdf(joint("f", "fixed", "a", "c"), joint(parent="c"), links="abc"))
    assert sum(b.inertia.mass for b in robot.bodies) == 1.0
    assert robot.bodies[0].parent == -1


def test_topology_is_a_networkx_tree() -> None:
    robot = parse(urdf(joint(), joint("k", parent="b", child="c"), links="abc"))
    assert list(robot.tree.edges(data="joint")) == [("a", "b", "j"), ("b", "c", "k")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            urdf(joint()).replace('izz="1"', 'izz="5"'),
            r"b: principal moments 1, 1, 5 violate the triangle inequality",
        ),
        (urdf(joint()).replace('izz="1"', 'izz="-1"'), r"b: principal moment -1 is negative"),
        (
            '<robot name="r"><link name="a"/><link name="b"/>' + joint() + "</robot>",
            r"links without mass move: b",
        ),
        (
            re.sub("<inertia .*?/>", "", urdf(joint())),
            r"links with mass but no <inertia>: b; taken as point masses$",
        ),
        (
            urdf(joint(child="b&#10;c"))
            .replace('name="b"', 'name="b&#10;c"')
            .replace('izz="1"', 'izz="5"'),
            r"inertias that no body can have: 'b\\nc': principal moments [^\n]*$",
        ),
    ],
)
def test_what_is_odd_is_warned_of_by_name(text: str, message: str) -> None:
    with pytest.warns(RbdgenWarning, match=rf"^r\.urdf: .*{message}"):
        parse_urdf(text, "r.urdf")


@pytest.mark.parametrize(("name", "count"), [("atlas", 4), ("jaco_2_simple", 1), ("iiwa", 0)])
def test_public_robots_impossible_inertias_are_named(name: str, count: int) -> None:
    shared_robot(name)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load_urdf(SHARED_ROBOTS / f"{name}.urdf")
    text = " ".join(str(w.message) for w in caught if "no body can have" in str(w.message))
    found = len(re.findall(r"triangle|negative", text))
    assert found == count if name != "jaco_2_simple" else found >= count


def model_and_path(name: str) -> tuple[Robot, Path]:
    if name in BUILTIN:
        return load_robot(name), builtin_path(name)
    return shared_robot(name), SHARED_ROBOTS / f"{name}.urdf"


@pytest.mark.parametrize("name", [*BUILTIN, *SUPPORTED])
def test_bodies_are_pinocchios(name: str) -> None:
    """Order, placements and inertias."""
    robot, path = model_and_path(name)
    model = pin.buildModelFromUrdf(str(path))
    assert robot.joint_names == tuple(model.names)[1:]
    assert (robot.nq, robot.nv) == (model.nq, model.nv)
    for k, body in enumerate(robot.bodies, 1):
        assert body.parent == model.parents[k] - 1
        assert np.allclose(body.placement.rotation, model.jointPlacements[k].rotation, atol=1e-9)
        assert np.allclose(
            body.placement.translation, model.jointPlacements[k].translation, atol=1e-12
        )
        inertia = model.inertias[k]
        assert math.isclose(body.inertia.mass, inertia.mass, rel_tol=1e-12)
        assert np.allclose(body.inertia.first_moment, inertia.mass * inertia.lever, atol=1e-12)
        assert np.allclose(body.inertia.rotational, inertia.matrix()[3:, 3:], atol=1e-12)


@pytest.mark.parametrize("name", BUILTIN)
def test_built_in_robots_are_possible_and_limited(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = load_robot(name)
    assert robot.name == name
    for body in robot.bodies:
        assert None not in (
            body.limits.lower,
            body.limits.upper,
            body.limits.velocity,
            body.limits.effort,
        )
    assert re.search(r"(Published|Chosen here)", builtin_path(name).read_text())


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (
            urdf(joint(inside="<axis/>")),
            r"^r\.urdf: <axis> without xyz, taken as 1 0 0: j$",
        ),
        (
            urdf(joint(inside='<limit lower="2" upper="1" velocity="1" effort="1"/>')),
            r"^r\.urdf: lower limit above the upper one, taken the other way round: j$",
        ),
        (
            urdf(joint()).replace(' ixy="0"', "").replace(' iyz="0"', ""),
            r"^r\.urdf: <inertia> without ixy, iyz, taken as 0: a, b$",
        ),
    ],
)
def test_what_is_left_open_is_said(text: str, warning: str) -> None:
    with pytest.warns(RbdgenWarning, match=warning):
        robot = parse_urdf(text, "r.urdf")
    (body,) = robot.bodies
    assert body.joint == Revolute((1.0, 0.0, 0.0))
    assert body.inertia.mass == 1.0
    if body.limits.lower is not None:
        assert (body.limits.lower, body.limits.upper) == (1.0, 2.0)


def test_a_default_namespace_means_nothing() -> None:
    plain = urdf(joint(inside='<limit lower="1" upper="2" velocity="1" effort="1"/>'))
    named = plain.replace("<robot", '<robot xmlns="http://www.ros.org"', 1)
    assert parse(named) == parse(plain)
    assert pin.buildModelFromXML(named).nv == 1


@pytest.mark.parametrize(
    "text",
    [
        urdf(joint(inside=AXIS.format("x" * 5000))),
        urdf(joint(child="x" * 5000)),
        urdf(joint(kind="x" * 5000)),
        urdf(links=[f"link{k}" for k in range(500)]),
    ],
)
def test_a_long_value_fills_no_screen(text: str) -> None:
    with pytest.raises(UrdfError) as refused:
        parse(text)
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize(
    "quaternion",
    ["0 0 0.3 0.9539392014169456", "0 0 1 1", "1 2 3 4", "1e-3 0 0 -1e-3", "0 0 0 1"],
)
def test_quaternions_of_urdf_1_1_turn_as_in_pinocchio(quaternion: str) -> None:
    turned = f'<origin xyz="1 2 3" quat_xyzw="{quaternion}"/>'
    text = urdf(joint(kind="continuous", inside=turned))
    text = text.replace("<robot", '<robot version="1.1"').replace(
        "<mass", f"<origin quat_xyzw='{quaternion}'/><mass"
    )
    robot = parse(text)
    model = pin.buildModelFromXML(text)
    placement = np.array(robot.bodies[0].placement.rotation)
    np.testing.assert_allclose(placement, model.jointPlacements[1].rotation, atol=1e-12)
    np.testing.assert_allclose(placement.T @ placement, np.eye(3), atol=1e-15)


@pytest.mark.parametrize(
    ("origin", "version", "message"),
    [
        ('quat_xyzw="0 0 0 0"', "1.1", "quat_xyzw must be a rotation, not zero; 0 0 0 1 turns"),
        ('quat_xyzw="0 0 1"', "1.1", r"quat_xyzw must be 4 numbers, not '0 0 1'"),
        ('quat_xyzw="0 0 nan 1"', "1.1", "quat_xyzw must be finite"),
        ('quat_xyzw="0 0 1 1" rpy="0 0 0"', "1.1", "<origin> has both rpy and quat_xyzw; remove"),
        ('quat_xyzw="0 0 1 1"', "1.0", r'is of 1\.0; write <robot version="1\.1">, or give rpy'),
    ],
)
def test_rotations_that_are_none_are_refused(origin: str, version: str, message: str) -> None:
    text = urdf(joint(inside=f"<origin {origin}/>"))
    with pytest.raises(UrdfError, match=f"joint 'j': .*{message}"):
        parse(text.replace("<robot", f'<robot version="{version}"'))
