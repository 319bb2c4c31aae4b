"""Closed loops of a robot: by option, configuration, call and Pinocchio's constraints; refused by name where there is
nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from rbdgen import ConfigError, Robot, UnsupportedError, golden, load
from rbdgen.cli.main import main
from rbdgen.model import Setup, chain_to, load_robot, locked, setup_of, with_frames, with_loops
from rbdgen.model.variants import rerooted

URDF = """<robot name="pair"><link name="ground"/>{}</robot>"""
SIDE = """<link name="{n}"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="{n}_joint" type="continuous"><parent link="ground"/><child link="{n}"/>
<origin xyz="{x} 0 0"/><axis xyz="0 1 0"/></joint>"""


def pair() -> Robot:
    """Two links on the ground, 0.4 m from each other, that turn about y."""
    return load(URDF.format(SIDE.format(n="left", x=0) + SIDE.format(n="right", x=0.4)))


def test_a_setup_with_loops_is_made_again_from_what_it_says() -> None:
    setup = Setup(frame={"hook=right": (0.2, 0, 0)}, loop=("left:hook", "ground:right:xz"))
    robot = with_loops(with_frames(pair(), setup.frame), setup.loop or ())
    assert [loop.axes for loop in robot.loops] == [(0, 1, 2), (0, 2)]
    assert [(loop.first.body, loop.second.body) for loop in robot.loops] == [(0, 1), (-1, 1)]
    assert robot.loops[0].second == robot.task_frames[0]
    assert setup_of(robot).loop == ("left:hook:3d", "ground:right:xz")
    again = Setup(loop=("link1:base:6d",)).load("pendulum2")
    assert setup_of(again).loop == ("link1:base:6d",)
    assert setup_of(again).load("pendulum2") == again
    assert again.loops[0].axes == (0, 1, 2, 3, 4, 5)
    assert with_loops(again, ["none"]).loops == ()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--loop", "link8:link1"], "loop: no link 'link8' of 'iiwa14'; did you mean 'link7'?"),
        (["--loop", "link1:lin7"], "loop: no link 'lin7' of 'iiwa14'; did you mean 'link7'?"),
        (["--loop", "link7"], "loop: must be A:B or A:B:KIND, with two frames or links, not 'link7'"),
        (["--loop", "link7:link7"], "loop: 'link7:link7': both of its frames are fixed to link 'link7'"),
        (
            ["--loop", "tip:link7", "--frame", "tip=link7:0,0,1"],
            "loop: 'tip:link7': both of its frames are fixed to link 'link7', so that it holds nothing; give frames of",
        ),
        (
            ["--loop", "link7:link1:4d"],
            "loop: of 'link1': must be 3d, 6d or letters of xyzabc, each once, not '4d'",
        ),
        (["--loop", "link7:link1,link7:link1:6d"], "loop: 'link7:link1' is there twice"),
        (["--functions", "lfd"], "robot 'iiwa14': has no loops; give --loop A:B, or with_loops("),
        (["--functions", "loop"], "robot 'iiwa14': has no loops; give --loop A:B, or with_loops("),
        (
            ["--functions", "lfd", "--loop", "link7:base", "--frame", "link7", "--operational-space", "schur"],
            "operational_space and functions: operational_space",
        ),
        (
            ["--functions", "cfd", "--loop", "link4:base", "--contact", "link7", "--operational-space", "schur"],
            "operational-space schur: takes no loops, which robot 'iiwa14' has; use operational-space factors",
        ),
        (
            ["--functions", "lfd", "--frame", "a=link7:0,0,9", "--loop", "a:base"],
            "robot 'iiwa14': its loops close nowhere in the declared ranges; at the neutral configuration loop a:base "
            "is open by 10.",
        ),
        (
            ["--functions", "lfd", "--loop", "link5:link7:abc"],
            "robot 'iiwa14': its loops link5:link7 hold some motion twice, or one that the robot has not; give --loop "
            "link5:link7:",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["layout", "iiwa14", *arguments]) == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert message in said[-1]


def test_too_many_rows_are_refused() -> None:
    links = [f"link{k}" for k in range(2, 8)]
    many = [f"{one}:{other}:6d" for one in ("base", "link1") for other in links]
    with pytest.raises(ConfigError, match="loop: at most 60 rows of all loops together"):
        with_loops(load_robot("iiwa14"), many)


def test_names_of_links_may_have_colons() -> None:
    robot = pair()
    bodies = (replace(robot.bodies[0], name="leg::a:z"), replace(robot.bodies[1], name="b"))
    robot = replace(robot, bodies=bodies)
    assert with_loops(robot, ["leg::a:z:b"]).loops[0].name == "leg::a:z:b"
    turned = with_loops(robot, ["b:leg::a:z:xb"]).loops[0]
    assert (turned.first.name, turned.second.name, turned.axes) == ("b", "leg::a:z", (0, 4))


def test_loops_go_with_their_links() -> None:
    robot = with_loops(load_robot("iiwa14"), ["link7:link2", "link4:base", "link7:link6"])
    shorter = chain_to(robot, "link5")
    assert [loop.name for loop in shorter.loops] == ["link4:base"]
    stiff = locked(robot, {"joint7": 0.5, "joint3": 0.1})
    assert [loop.name for loop in stiff.loops] == ["link7:link2", "link4:base"]
    q = golden.random_states(robot, golden.declared_ranges(robot), 5, 1)[0]
    q[:, 6], q[:, 2] = 0.5, 0.1
    left = np.delete(q, [2, 6], axis=1)
    both = golden.loop_residuals(robot, q)[:, :6]
    np.testing.assert_allclose(golden.loop_residuals(stiff, left), both, atol=1e-12)


def test_loops_stay_where_they_are_on_another_root() -> None:
    loops = ("lf_lowerleg:trunk:6d", "rf_lowerleg:rh_upperleg:xz")
    robot = with_loops(load_robot("hyq", "floating"), loops)
    other = rerooted(robot, "lf_upperleg")
    q = golden.random_states(robot, golden.declared_ranges(robot), 3, 1)[0]
    moved = np.tile(golden.neutral(other), (3, 1))
    for name, part in zip(robot.joint_names[1:], robot.q_slices[1:], strict=True):
        moved[:, other.q_slices[other.joint_names.index(name)]] = q[:, part]
    # what joints between the frames say is all that counts
    gaps = golden.loop_residuals(robot, q)
    np.testing.assert_allclose(golden.loop_residuals(other, moved), gaps, atol=1e-12)


@pytest.mark.slow
def test_a_design_says_its_loops_and_is_made_again_from_its_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    given = ["--functions", "id,loop", "--word", "20", "--frame", "tip=link2:0,0,0.1"]
    assert main(["generate", "pendulum2", *given, "--loop", "tip:base:z", "-o", str(one)]) == 0
    notes = capsys.readouterr().err
    assert "note: at the neutral configuration loop tip:base is open by" in notes
    assert "note: of the tree without its loops, tip:base: id" in notes
    assert main(["generate", "--config", str(one / "config.toml"), "-o", str(other)]) == 0
    manifest = (one / "manifest.json").read_text(encoding="utf-8")
    assert manifest == (other / "manifest.json").read_text(encoding="utf-8")
    assert '"tip:base:z"' in manifest


def test_constraints_of_pinocchio_are_loops() -> None:
    model = pin.Model()
    names = ["left", "right", "up"]
    for k, name in enumerate(names):
        place = pin.SE3(pin.rpy.rpyToMatrix(0.1, 0.2, 0.3), np.array([0.1 * k, 0.2, 0.0]))
        parent = 0 if k < 2 else 1
        i = model.addJoint(parent, pin.JointModelRY(), place, name)
        model.appendBodyToJoint(i, pin.Inertia.Random(), pin.SE3.Identity())
    near, far = pin.SE3.Random(), pin.SE3.Random()
    constraints = [
        pin.RigidConstraintModel(pin.ContactType.CONTACT_6D, model, 2, near, 3, far, pin.LOCAL),
        pin.PointAnchorConstraintModel(model, 3, far, 0, near),
    ]
    constraints[0].name = "pin"
    robot = load(model, constraints=constraints)
    assert [(loop.name, loop.rows) for loop in robot.loops] == [
        ("pin_1:pin_2", 6),
        (f"{constraints[1].name or 'constraint1'}_1:{constraints[1].name or 'constraint1'}_2", 3),
    ]
    q = golden.random_states(robot, golden.declared_ranges(robot), 1, 2)[0]
    order = [robot.joint_names.index(name) for name in names]
    data = model.createData()
    pin.forwardKinematics(model, data, q[0, order])
    one = data.oMi[2] * near
    other = data.oMi[3] * far
    gap = golden.loop_residuals(robot, q)[0]
    np.testing.assert_allclose(gap[:3], -one.actInv(other).translation, atol=1e-12)
    np.testing.assert_allclose(gap[6:], -other.actInv(near).translation, atol=1e-12)
    itself = pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, 2, near, 2, far, pin.LOCAL)
    with pytest.raises(UnsupportedError, match="is between a joint and itself, and holds nothing"):
        load(model, constraints=[itself])
    limits = pin.JointLimitConstraintModel(model, [1])
    with pytest.raises(UnsupportedError, match="holds neither a point nor a frame"):
        load(model, constraints=[limits])
    with pytest.raises(ConfigError, match=r"constraints: are of a pinocchio\.Model, not of str"):
        load("iiwa14", constraints=constraints)


def test_a_loop_may_hold_a_point_of_the_base() -> None:
    frames = {"tip=link7": (0.0, 0.0, 0.1), "pin=base": (0.4, 0.0, 0.6)}
    robot = load_robot("iiwa14")
    # again: a frame takes the place of the one before
    for height in (0.5, 0.6):
        robot = with_frames(robot, {**frames, "pin=base": (0.4, 0.0, height)})
    robot = with_loops(robot, ["tip:pin"])
    assert [frame.name for frame in robot.task_frames] == ["tip"]
    (loop,) = robot.loops
    assert (loop.second.body, loop.second.placement.translation) == (-1, (0.4, 0.0, 0.6))
    assert setup_of(robot).load("iiwa14") == robot
    whole = Setup(frame=frames, loop=("tip:pin",)).load("iiwa14")
    assert setup_of(whole).load("iiwa14") == whole
    assert whole.loops == robot.loops
    assert rerooted(load_robot("pendulum2", base="floating"), "link2").base_frames == ()
