"""Robots that the golden model computes and no hardware can be generated for yet: refused by name."""

from __future__ import annotations

import dataclasses

import pytest

from rbdgen import Robot, UnsupportedError, load_robot
from rbdgen.layout.network import build_network
from rbdgen.model import JOINT_TYPES, Continuous, Cylindrical, Helical, Joint, Planar, Prismatic, Revolute, Spherical

Z = (0.0, 0.0, 1.0)


def pendulum(joint: Joint) -> Robot:
    """The pendulum with its last joint replaced."""
    robot = load_robot("pendulum2")
    return dataclasses.replace(robot, bodies=(robot.bodies[0], dataclasses.replace(robot.bodies[1], joint=joint)))


@pytest.mark.parametrize(
    ("robot", "what"),
    [
        (pendulum(Helical(Z, 0.1)), r"'joint2' \(helical, 1 degree of freedom\)"),
        (pendulum(Cylindrical(Z)), r"'joint2' \(cylindrical, 2 degrees of freedom\)"),
        (pendulum(Planar()), r"'joint2' \(planar, 3 degrees of freedom\)"),
        (pendulum(Spherical()), r"'joint2' \(spherical, 3 degrees of freedom\)"),
        (load_robot("hyq", "floating"), r"'root_joint' \(freeflyer, 6 degrees of freedom\)"),
        (load_robot("hyq", "planar"), r"'root_joint' \(planar, 3 degrees of freedom\)"),
    ],
    ids=["helical", "cylindrical", "planar", "spherical", "floating base", "planar base"],
)
def test_joints_without_hardware_are_named(robot: Robot, what: str) -> None:
    message = (
        rf"^robot '\w+': joint {what}: no hardware can be generated for it yet; "
        r"use revolute, continuous and prismatic joints$"
    )
    with pytest.raises(UnsupportedError, match=message):
        build_network(robot)


def test_a_cardan_joint_is_two_revolute_ones() -> None:
    universal = JOINT_TYPES["universal"]((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))  # type: ignore[call-arg]
    network, _ = build_network(pendulum(universal))  # type: ignore[arg-type]
    assert network.robot.joint_names == ("joint1", "joint2_1", "joint2")


@pytest.mark.parametrize("joint", [Revolute(Z), Continuous(Z), Prismatic(Z)])
def test_other_joints_are_built(joint: Joint) -> None:
    assert build_network(pendulum(joint))[0].robot.bodies[1].joint == joint
