"""How a robot is set up: gravity and rotors beside Pinocchio's, refusals, and the way back from a robot."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from rbdgen import ConfigError, load_robot
from rbdgen.model import Planar, Setup, builtin_path, setup_of, with_armature
from rbdgen.model.setup import ROBOT, friction_notes
from tests.golden.pinocchio import agree, model_of_file

WALL = (0.0, -9.81, 0.3)


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_gravity_and_armature_agree_with_pinocchio(base: str) -> None:
    names = load_robot("iiwa14").joint_names
    rotors = {names[0]: 0.4, names[6]: 0.05}
    robot = Setup(base, gravity=WALL, armature=rotors).load("iiwa14")
    model = model_of_file(builtin_path("iiwa14"), base)
    model.gravity = pin.Motion(np.array(WALL), np.zeros(3))
    for joint, rotor in rotors.items():
        model.armature[model.joints[model.getJointId(joint)].idx_v] = rotor
    agree(robot, model, 20)


@pytest.mark.parametrize(
    "setup",
    [
        Setup(),
        Setup("floating", "lf_upperleg", WALL),
        Setup("planar", armature={"root_joint": (0.1, 0.2, 0.3), "lf_haa_joint": 0.01}),
    ],
)
def test_a_robot_says_how_it_was_set_up(setup: Setup) -> None:
    robot = setup.load("hyq")
    assert setup_of(robot).load("hyq") == robot


def test_a_joint_of_several_degrees_of_freedom_takes_one_number_or_one_for_each() -> None:
    planar = load_robot("hyq", base="planar")
    assert isinstance(planar.bodies[0].joint, Planar)
    assert with_armature(planar, {"root_joint": 2}).bodies[0].armature == (2.0, 2.0, 2.0)
    with pytest.raises(ConfigError, match="'root_joint' has 3 degrees of freedom, not 2"):
        with_armature(planar, {"root_joint": (1.0, 2.0)})


@pytest.mark.parametrize(
    ("armature", "message"),
    [
        ({"joint3": 1.0}, "no joint 'joint3' of 'pendulum2'; did you mean 'joint"),
        ({"elbow": 1.0}, "no joint 'elbow' of 'pendulum2'; joints are joint1, joint2"),
        ({"joint1": -0.1}, "joint 'joint1': must be a number of 0 or more, not -0.1"),
        ({"joint1": float("nan")}, "must be a number of 0 or more, not nan"),
        ({"joint1": float("inf")}, "must be a number of 0 or more, not inf"),
    ],
)
def test_what_no_joint_can_have_is_refused(armature: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        with_armature(load_robot("pendulum2"), armature)


@pytest.mark.parametrize(
    ("option", "text", "message"),
    [
        ("gravity", "0,0", "gravity: must be three numbers"),
        ("gravity", "0,0,down", "gravity: must be three numbers X,Y,Z, not '0,0,down'"),
        ("gravity", "0,0,nan", "gravity: must be a number"),
        ("armature", "joint1", "armature: must be JOINT=NUMBER"),
        ("armature", "0.3", "armature: must be JOINT=NUMBER"),
        ("armature", "", "armature: must be JOINT=NUMBER"),
    ],
)
def test_what_cannot_be_read_is_refused(option: str, text: str, message: str) -> None:
    kind = ROBOT[option].kind
    with pytest.raises(ConfigError, match=message):
        kind.taken(option, kind.read(option, text))


def test_gravity_is_the_files_unless_it_is_given(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    path = tmp_path / "moon.xml"
    path.write_text(
        '<mujoco><option gravity="0 0 -1.62"/><worldbody><body name="a">'
        '<joint name="j" axis="0 1 0"/><geom size="0.1"/></body></worldbody></mujoco>',
        encoding="utf-8",
    )
    assert Setup().load(path).gravity == (0.0, 0.0, -1.62)
    assert Setup(gravity=WALL).load(path).gravity == WALL


@pytest.mark.parametrize(
    ("friction", "notes"),
    [
        (
            "none",
            (
                "damping does not count at joint1; --friction viscous changes that",
                "dry friction does not count at joint1; --friction viscous+dry changes that",
            ),
        ),
        (
            "viscous+dry",
            (
                "damping counts at joint1; --friction none changes that",
                "dry friction counts at joint1; --friction viscous changes that",
            ),
        ),
    ],
)
def test_notes_say_what_friction_counts(friction: str, notes: tuple[str, ...]) -> None:
    robot = load_robot("pendulum2")
    first = dataclasses.replace(robot.bodies[0], damping=(0.5,), friction=(2.0,))
    bodies = first, *robot.bodies[1:]
    assert friction_notes(dataclasses.replace(robot, bodies=bodies, friction=friction)) == notes
