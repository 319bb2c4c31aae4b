"""MJCF: the golden model computes what MuJoCo does, and what is left out or refused is named."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import mujoco
import numpy as np
import pytest

from bench.beside_mujoco import worst_errors
from rbdgen import (
    ConfigError,
    RobotWarning,
    ToolError,
    UnsupportedError,
    UrdfError,
    golden,
    load,
)
from rbdgen.errors import RbdgenError
from rbdgen.model import (
    FreeFlyer,
    Limits,
    Mimic,
    Planar,
    Prismatic,
    Revolute,
    Robot,
    Spherical,
    load_mjcf,
    load_robot,
    mjcf,
    mujoco_joint_names,
    with_frames,
)

TOLERANCE = 1e-12

EVERYTHING = """<mujoco model="everything"><compiler angle="radian"/>
<option gravity="0.3 -1 -9"/>
<default><joint armature="0.1"/><geom contype="0" conaffinity="0"/>
<default class="turned"><joint armature="0.2" ref="0.4"/></default></default>
<worldbody>
<body name="trunk" pos="1 2 3" quat="1 2 3 4"><freejoint/><geom type="box" size=".1 .2 .3"/>
 <body name="plate" pos=".1 .2 .3" euler=".3 .2 .1"><geom type="sphere" size=".1" pos=".1 0 .2"/>
  <body name="several" pos=".1 0 0" euler="1 2 3">
   <joint name="z" type="hinge" axis="1 2 3" pos=".1 .2 .3" ref=".3"/>
   <joint name="y" type="slide" axis="0 1 3" pos=".3 .2 .3" ref=".7"/>
   <joint name="x" class="turned" axis="-1 0 0" pos="-.1 .2 .3"/>
   <geom type="capsule" fromto="0 0 0 .3 .2 .1" size=".05"/>
   <body name="hung" pos="0 .2 0"><joint name="ball" type="ball" pos=".1 .2 .1"/>
    <inertial pos=".1 .2 .3" mass="2" fullinertia=".2 .3 .4 .01 .02 .03"/></body>
   <body name="pair" pos="0 .2 .1"><joint name="a" type="ball"/>
    <joint name="s" type="slide" ref="-.3" pos=".1 .1 .1"/>
    <inertial pos=".1 .2 .3" mass="2" diaginertia=".2 .3 .4" quat=".3 .2 .1 .5"/></body>
  </body></body>
 <body name="nameless"><joint type="slide"/><joint axis="1 1 0"/><geom size=".1"/></body>
</body>
<body><joint name="loose" type="slide" axis="1 0 0"/><geom size=".2"/></body>
<body name="floor"/>
</worldbody>
<actuator><motor joint="x" gear="3"/></actuator></mujoco>"""


def text(joint: str = "", option: str = "", rest: str = "", body: str = "") -> str:
    """A pendulum "arm" on the joint "swing", and what else is asked for."""
    return (
        f'<mujoco><compiler angle="radian"/>{option}<default><geom contype="0" conaffinity="0"/></default>'
        f'<worldbody><body name="arm"><joint name="swing" {joint}/><geom size=".1"/></body>{body}</worldbody>'
        f"{rest}</mujoco>"
    )


def quietly(source: object, base: str = "fixed") -> Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return load(source, base)


def test_all_joints_agree_with_mujoco() -> None:
    robot = quietly(EVERYTHING)
    model = mujoco.MjModel.from_xml_string(EVERYTHING)
    assert max(worst_errors(robot, model, 20)) < TOLERANCE
    assert (robot.name, robot.base_name, robot.gravity) == ("everything", "world", (0.3, -1, -9))


def test_bodies_and_joints_come_in_order_with_names() -> None:
    robot = quietly(EVERYTHING)
    assert [(b.name, b.joint_name, b.parent) for b in robot.bodies] == [
        ("body7", "loose", -1),
        ("trunk", "root_joint", -1),
        ("nameless_1", "nameless_joint1", 1),
        ("nameless", "nameless_joint2", 2),
        ("several_1", "z", 1),
        ("several_2", "y", 4),
        ("several", "x", 5),
        ("pair_1", "a", 6),
        ("pair", "s", 7),
        ("hung", "ball", 6),
    ]
    kinds = [type(b.joint) for b in robot.bodies]
    assert kinds[:4] == [Prismatic, FreeFlyer, Prismatic, Revolute]
    assert kinds[-1] is Spherical
    assert [(f.name, f.joint_name, f.body) for f in robot.frames] == [
        ("floor", "floor_fixed", -1),
        ("plate", "plate_fixed", 1),
    ]
    model = mujoco.MjModel.from_xml_string(EVERYTHING)
    assert sorted(mujoco_joint_names(model)) == sorted(robot.joint_names)


@pytest.mark.parametrize("base", ["floating", "planar"])
def test_a_body_that_is_fixed_to_the_world_can_be_carried(base: str) -> None:
    arm = (
        '<mujoco><worldbody><body name="foot" pos="1 2 3"><geom size=".2"/><body name="leg" pos="0 0 1">'
        '<joint name="knee" axis="0 1 0"/><geom size=".1"/></body></body></worldbody></mujoco>'
    )
    with pytest.warns(RobotWarning, match="contacts of bodies are ignored: foot, leg"):
        robot = load(arm, base)
    carrier = {"floating": FreeFlyer(), "planar": Planar()}[base]
    assert [(b.name, b.joint_name) for b in robot.bodies] == [
        ("foot", "root_joint"),
        ("leg", "knee"),
    ]
    assert robot.bodies[0].joint == carrier
    if base == "floating":
        free = arm.replace("<geom", "<freejoint/><geom", 1)
        model = mujoco.MjModel.from_xml_string(free)
        assert max(worst_errors(robot, model, 20)) < TOLERANCE
        with pytest.warns(RobotWarning):
            assert load(free, base) == robot


def test_damping_friction_limits_and_efforts() -> None:
    joint = 'damping="0.3" frictionloss="0.2" armature="0.1" limited="true" range="-1 2"'
    body = quietly(text(joint)).bodies[0]
    assert (body.damping, body.friction, body.armature) == ((0.3,), (0.2,), (0.1,))
    assert body.limits == Limits(-1.0, 2.0, None, None)
    motor = '<motor joint="swing" gear="-3" ctrllimited="true" ctrlrange="-2 1"/>'
    servo = '<position joint="swing" forcelimited="true" forcerange="-5 4"/>'
    limit = 'actuatorfrclimited="true" actuatorfrcrange="-7 8"'
    for given, actuators, effort in (
        ("", motor, 6.0),
        ("", servo, 5.0),
        ("", motor + servo, 11.0),
        ("", motor + '<motor joint="swing"/>', None),
        (limit, motor, 8.0),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            robot = load(text(given, rest=f"<actuator>{actuators}</actuator>"))
        assert robot.bodies[0].limits.effort == effort


@pytest.mark.skipif(mujoco.__version__ < "4", reason="actuators have no rotors before MuJoCo 4")
def test_rotors_of_actuators_count() -> None:
    source = text(
        "armature='.1'", rest='<actuator><motor joint="swing" gear="3" armature=".5"/></actuator>'
    )
    robot = quietly(source)
    assert robot.bodies[0].armature == pytest.approx((4.6,))
    model = mujoco.MjModel.from_xml_string(source)
    assert max(worst_errors(robot, model, 5)) < TOLERANCE


def test_sites_are_places_for_frames() -> None:
    """Also those of a body that is merged; a name that a link has as well gets an underscore."""
    sites = '<site name="tip" pos="0.1 0.2 0.3" euler="30 40 50"/><site name="lever"/><site/>'
    ball = '<geom size="0.1" contype="0" conaffinity="0"/>'
    palm = f'<body pos="0 0 0.5" euler="0 90 0">{ball}<site name="palm" pos="1 0 0"/></body>'
    lever = f'<body name="lever"><joint axis="0 0 1"/>{ball}{sites}{palm}</body>'
    source = f"<mujoco><worldbody>{lever}</worldbody></mujoco>"
    robot = with_frames(quietly(source), {"tip": (), "palm": (), "lever_": (0.1, 0.0, 0.0)})
    model = mujoco.MjModel.from_xml_string(source)
    data = mujoco.MjData(model)
    data.qpos[:] = 0.4
    mujoco.mj_kinematics(model, data)
    rotation, position = golden.frame_placements(robot, np.array([0.4]))
    for k, name in enumerate(("tip", "palm")):
        site = data.site(name)
        np.testing.assert_allclose(position[k], site.xpos, atol=1e-12)
        np.testing.assert_allclose(rotation[k].ravel(), site.xmat, atol=1e-12)
    np.testing.assert_allclose(position[2], [0.1 * np.cos(0.4), 0.1 * np.sin(0.4), 0], atol=1e-12)


def test_gravity_can_be_off() -> None:
    option = '<option><flag gravity="disable"/></option>'
    assert quietly(text(option=option)).gravity == (0.0, 0.0, 0.0)


OTHER = '<body name="other"><joint name="lead" type="slide" ref="0.5"/><geom size=".1"/></body>'


def coupled(equality: str) -> Mimic | None:
    source = text('ref="0.2"', body=OTHER, rest=f"<equality><joint {equality}/></equality>")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = load(source)
    return next(b.mimic for b in robot.bodies if b.joint_name == "swing")


def test_a_linear_equality_of_joints_is_a_mimic() -> None:
    mimic = coupled('joint1="swing" joint2="lead" polycoef="0.1 2 0 0 0"')
    assert mimic is not None
    assert (mimic.joint, mimic.multiplier) == ("lead", 2.0)
    # what MuJoCo holds: swing − 0.2 = 0.1 + 2 (lead − 0.5)
    assert mimic.offset == pytest.approx(0.2 + 0.1 - 1.0)


def test_joints_that_follow_agree_with_mujoco() -> None:
    more = (
        '<body name="other"><joint name="lead" type="slide" ref="0.5" armature="0.3"/><geom size=".1" pos="0 0 1"/>'
        '<body pos="1 0 0"><joint name="third" ref="-0.1" armature="0.2" axis="1 0 0"/><geom size=".2" pos="0 1 0"/>'
        "</body></body>"
    )
    rest = (
        '<equality><joint joint1="swing" joint2="lead" polycoef="0.1 2 0 0 0"/>'
        '<joint joint1="third" joint2="swing" polycoef="0.2 -1.5 0 0 0"/></equality>'
    )
    source = text('ref="0.2" armature="0.1" axis="0 1 0" pos="0.4 0 0"', body=more, rest=rest)
    robot = quietly(source)
    assert (robot.nq, robot.nv) == (1, 1)
    assert max(worst_errors(robot, mujoco.MjModel.from_xml_string(source), 20)) < TOLERANCE


@pytest.mark.parametrize(
    "equality",
    [
        'joint1="swing" joint2="lead" polycoef="0.1 2 1 0 0"',
        'joint1="swing" joint2="lead" polycoef="0.1 0 0 0 0"',
        'joint1="swing" polycoef="0.1 0 0 0 0"',
        'joint1="swing" joint2="lead" active="false"',
    ],
)
def test_other_equalities_are_no_mimics(equality: str) -> None:
    assert coupled(equality) is None


LOOPED = """<mujoco><compiler angle="radian"/><default><geom contype="0" conaffinity="0" density="500"/></default>
<worldbody><body name="rail" pos="0.1 0 0.2"><geom size=".1"/>
<body name="left" euler="0.1 0.2 0.3"><joint name="a" axis="0 1 0.1" ref="0.3"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/>
<body name="left2" pos=".3 0 0"><joint name="b" axis="0 1 0"/><joint name="c" axis="1 0 0" pos="0.1 0 0"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/><site name="tip" pos=".3 0.1 0" euler="0.4 0 0"/></body></body>
<body name="right" pos="0 0.4 0"><joint name="d" type="ball"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
<body name="horn" pos="0 0 0.1" euler="0.1 0 0.4"><geom size=".03"/><site name="eye" pos="0.3 0 0"/>
</body></body></body></worldbody>
<equality><connect name="rod" body1="left2" body2="horn" anchor="0.1 0.2 0.3"/>
<weld body1="left" body2="right" relpose="0.1 0.2 0.3 0.9 0.1 0.2 0.3" anchor="0.3 0.2 0.1"/>
<weld name="half" body1="horn" body2="left2"/>
<connect name="sites" site1="tip" site2="eye"/><connect name="ground" body1="left2" anchor="0 0.1 0"/>
<weld name="none" body1="right" body2="horn"/>
<connect name="off" body1="left" body2="right" anchor="0 0 0" active="false"/>
</equality></mujoco>"""


def test_equalities_of_bodies_and_sites_are_loops() -> None:
    """Gaps are those of MuJoCo's constraints: in the world's directions, and of a quaternion for turns."""
    model = mujoco.MjModel.from_xml_string(LOOPED)
    with pytest.warns(RobotWarning, match="^MuJoCo: equality constraints are ignored: none$"):
        robot = load(model)
    assert [(loop.name, loop.rows) for loop in robot.loops] == [
        ("rod_1:rod_2", 3),
        ("eq1_1:eq1_2", 6),
        ("half_1:half_2", 6),
        ("sites_1:sites_2", 3),
        ("ground_1:ground_2", 3),
    ]
    q, _, _ = golden.random_states(robot, golden.declared_ranges(robot), 5, 1)
    gaps = golden.loop_residuals(robot, q)
    named = {f"f{k}={end.name}": () for k, end in enumerate(robot.loop_ends[:-1])}
    rotations, _ = golden.frame_placements(with_frames(robot, named), q)
    data = mujoco.MjData(model)
    for s in range(len(q)):
        order = [robot.joint_names.index(name) for name in mujoco_joint_names(model)]
        data.qpos[:] = np.concatenate([in_mujocos(robot, k, q[s]) for k in order])
        mujoco.mj_forward(model, data)
        first = 0
        for k, loop in enumerate(robot.loops):
            rows = slice(first, first + loop.rows)
            first = rows.stop
            turn = rotations[s, 2 * k]
            found, expected = gaps[s, rows], data.efc_pos[rows]
            np.testing.assert_allclose(turn @ found[:3], expected[:3], atol=1e-12)
            # sin x = 2 sin(x/2) cos(x/2), of either sign as quaternions are
            halves = expected[3:]
            cosine = np.sqrt(1.0 - halves @ halves) * np.sign(found[3:] @ halves)
            np.testing.assert_allclose(found[3:], 2 * halves * cosine, atol=1e-12)


def in_mujocos(robot: Robot, k: int, q: np.ndarray) -> np.ndarray:
    """A joint's coordinates as MuJoCo has them: the scalar of a quaternion first."""
    own = q[robot.q_slices[k]]
    return np.roll(own, 1) if len(own) == 4 else own


def test_what_is_left_out_is_told_at_once() -> None:
    source = text(
        'stiffness="3"',
        '<option density="2"/>',
        '<equality><joint name="curved" joint1="swing" polycoef="0 0 1 0 0"/></equality>'
        '<tendon><fixed name="string"><joint joint="swing" coef="1"/></fixed></tendon>'
        '<actuator><position name="servo" joint="swing"/>'
        '<general name="lag" joint="swing" dyntype="filter"/></actuator>'
        '<sensor><jointpos joint="swing"/></sensor>',
        '<body name="other" gravcomp="1"><joint/><geom size=".1" contype="1"/></body>',
    )
    with pytest.warns(RobotWarning) as caught:
        load(source)
    assert [str(w.message) for w in caught] == [
        "MJCF: 9 remarks:\n"
        "  - equality constraints are ignored: curved\n"
        "  - tendons are ignored: string\n"
        "  - springs of joints are ignored: swing\n"
        "  - states of actuators are ignored: lag\n"
        "  - laws of actuators are ignored: servo\n"
        "  - compensations of gravity, of bodies are ignored: other\n"
        "  - contacts of bodies are ignored: other\n"
        "  - sensors are ignored: sensor0\n"
        "  - forces of the fluid around are ignored: density"
    ]


@pytest.mark.parametrize(
    ("source", "kind", "message"),
    [
        (text('armature="-1"'), UrdfError, "joint 'swing': armature must be a number of 0 or more, not -1"),
        (text('armature="nan"'), UrdfError, "joint 'swing': armature must be a number of 0 or more, not nan"),
        (text('damping="inf"'), UrdfError, "joint 'swing': damping must be a number of 0 or more, not inf"),
        (text('frictionloss="-2"'), UrdfError, "joint 'swing': frictionloss must be a number of 0 or more, not -2"),
        (text('pos="nan 0 0"'), UrdfError, r"joint 'swing': pos must be a number within ±1e\+30, not nan"),
        (text('ref="1e31"'), UrdfError, r"joint 'swing': ref must be a number within ±1e\+30, not 1e\+31"),
        (text(option='<option gravity="0 nan 0"/>'), UrdfError, "option: gravity must be a number"),
        (text('axis="0 0 0"'), UrdfError, "MuJoCo does not compile it: .*axis too small.*; mend the file"),
        (text('type="screw"'), UrdfError, "MuJoCo does not compile it: .*'screw'"),
        (text(option='<include file="none.xml"/>'), UrdfError, "MuJoCo does not compile it: .*'none.xml'"),
        (text(rest="<sensors/>"), UrdfError, "MuJoCo does not compile it: .*'sensors'"),
        (text(body='<body><joint/></body>'), UrdfError, "MuJoCo does not compile it: .*mass and inertia"),
        ("<mujoco><worldbody/></mujoco>", UrdfError, "has no moving joint; there is nothing to compute"),
        ("<mujoco>", UrdfError, "MuJoCo does not compile it: XML"),
        (text(body='<body name="ghost" mocap="true"/>'), UnsupportedError, "mocap bodies .*: ghost; remove mocap"),
        (
            text(body='<flexcomp name="cloth" type="grid" count="3 3 1" spacing=".1 .1 .1" dim="2"/>'),
            UnsupportedError,
            "deformable bodies are not supported: cloth; remove them",
        ),
    ],
)  # fmt: skip
def test_bad_models_are_refused_in_a_line(
    source: str,
    kind: type[RbdgenError],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind, match=message) as caught:
        load(source)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []  # no log of MuJoCo's


@pytest.mark.parametrize(
    ("source", "base", "message"),
    [
        (text(), "sliding", "base must be one of fixed, floating, planar, not 'sliding'"),
        (text(), "floating", "base 'floating': no body is fixed to the world and carries all joints"),
        (
            '<mujoco><worldbody><body><freejoint/><geom size=".1"/></body></worldbody></mujoco>',
            "planar",
            "base 'planar': the file has a free joint; give it base 'floating' or 'fixed'",
        ),
        (
            '<mujoco><worldbody><body><geom size=".1"/><body><joint name="root_joint"/><geom size=".1"/></body>'
            "</body></worldbody></mujoco>",
            "floating",
            "joint 'root_joint': a mobile base's joint has that name; rename it",
        ),
    ],
)  # fmt: skip
def test_bases_that_do_not_fit_are_refused(source: str, base: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(source, base)


def test_a_file_may_include_others(tmp_path: Path) -> None:
    whole = tmp_path / "scene.xml"
    whole.write_text('<mujoco><include file="arm.xml"/></mujoco>', encoding="utf-8")
    (tmp_path / "arm.xml").write_text(text(), encoding="utf-8")
    robot = load_robot(whole)
    assert (robot.name, robot.joint_names) == ("scene", ("swing",))
    assert load_mjcf(whole) == robot


def test_a_name_that_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        UrdfError, match=r"none\.xml: MuJoCo does not compile it: .*; mend the file"
    ):
        load_mjcf(tmp_path / "none.xml")


def test_models_in_memory_are_taken() -> None:
    spec = mujoco.MjSpec.from_string(text())
    assert quietly(spec) == quietly(text())
    assert quietly(spec.compile()) == quietly(text())
    broken = mujoco.MjSpec.from_string(text('axis="0 0 0"'))
    with pytest.raises(UrdfError, match=r"^MuJoCo: MuJoCo does not compile it: .*axis"):
        load(broken)


def test_without_mujoco_an_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "mujoco", None)
    line = "Python package 'mujoco' is missing; install it with: pip install 'mujoco<5,>=3.2'"
    with pytest.raises(ToolError, match=re.escape(line)):
        mjcf.parse_mjcf(text(), "arm.xml")


def test_reading_is_repeatable() -> None:
    first, second = quietly(EVERYTHING), quietly(EVERYTHING)
    assert first == second
    assert all(np.isfinite(x) for b in first.bodies for x in b.placement.translation)


@pytest.mark.parametrize("what", ["body_quat", "body_iquat", "jnt_axis"])
def test_directions_without_a_length_are_refused(what: str) -> None:
    model = mujoco.MjModel.from_xml_string(EVERYTHING)
    getattr(model, what)[1 if what.startswith("body") else 0] = 0.0
    key = what.partition("_")[2]
    with pytest.raises(UrdfError, match=f": {key} must not be zero, which is no direction; mend"):
        quietly(model)
