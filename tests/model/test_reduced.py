"""Joints locked, payloads, chains: against Pinocchio's reduced models, by the torques that remain, and refusals."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pinocchio as pin
import pytest

from rbdgen import ConfigError, Robot, UnsupportedError, golden, load_robot
from rbdgen.model import (
    Setup,
    builtin_path,
    chain_to,
    locked,
    parse_urdf,
    setup_of,
    with_payloads,
)
from tests.golden.pinocchio import agree, model_of_file, states
from tests.golden.test_following import HAND


@pytest.mark.parametrize(
    ("name", "base", "lock"),
    [
        ("iiwa14", "fixed", {"joint3": 0.4}),
        ("iiwa14", "fixed", {"joint1": -1.0, "joint7": 0.3, "joint6": 1.5}),
        ("hyq", "planar", {"lf_haa_joint": 0.2, "rh_kfe_joint": -1.0}),
    ],
)
def test_a_locked_robot_is_pinocchios_reduced_one(
    name: str, base: str, lock: dict[str, float]
) -> None:
    whole = load_robot(name, base=base)
    model = model_of_file(builtin_path(name), base)
    q = pin.neutral(model)
    for joint, x in lock.items():
        q[model.joints[model.getJointId(joint)].idx_q] = x
    reduced = pin.buildReducedModel(model, [model.getJointId(j) for j in lock], q)
    robot = locked(whole, lock)
    assert robot.joint_names == tuple(reduced.names)[1:]
    agree(robot, reduced)
    frames = {frame.name for frame in robot.frames}
    gone = {body.name for body in whole.bodies} - {body.name for body in robot.bodies}
    assert gone <= frames


def test_a_continuous_joint_is_locked_at_an_angle() -> None:
    text = HAND.replace("revolute", "continuous").replace('multiplier="0.8"', 'multiplier="2"')
    robot = parse_urdf(text, "hand.urdf")
    turned = locked(robot, {"a1": 0.7})
    same = locked(robot, {"a1": (math.cos(0.7), math.sin(0.7))})
    assert turned == same


def test_what_follows_a_locked_joint_is_locked_with_it() -> None:
    robot = parse_urdf(HAND, "hand.urdf")
    held = locked(robot, {"a1": 0.5})
    assert held.joint_names == ("b1", "b2")
    q, v, a, _, _ = states(held, 10)
    still = np.zeros((10, 1))
    fixed = np.full((10, 1), 0.5)
    whole = golden.rnea(robot, np.hstack([fixed, q]), np.hstack([still, v]), np.hstack([still, a]))
    assert np.allclose(golden.rnea(held, q, v, a), whole[:, 1:], atol=1e-12)


def test_a_payload_is_a_body_on_its_link() -> None:
    robot = load_robot("iiwa14")
    link = robot.bodies[-1].name
    numbers = (2.0, 0.1, 0.0, 0.05, 0.02, 0.03, 0.04, 0.001, 0.0, 0.002)
    model = model_of_file(builtin_path("iiwa14"))
    moments = np.array([[0.02, 0.001, 0.0], [0.001, 0.03, 0.002], [0.0, 0.002, 0.04]])
    held = pin.Inertia(2.0, np.array([0.1, 0.0, 0.05]), moments)
    model.appendBodyToJoint(model.getJointId(robot.joint_names[-1]), held, pin.SE3.Identity())
    agree(with_payloads(robot, {link: numbers}), model)


def test_a_payload_may_sit_on_a_fixed_link() -> None:
    robot = load_robot("iiwa14")
    last = robot.joint_names[-1]
    held = locked(robot, {last: 0.3})
    link = robot.bodies[-1].name
    one = locked(with_payloads(robot, {link: (1.5, 0.0, 0.1, 0.2)}), {last: 0.3})
    other = with_payloads(held, {link: (1.5, 0.0, 0.1, 0.2)})
    q, v, a, _, _ = states(one, 5)
    assert np.allclose(golden.rnea(one, q, v, a), golden.rnea(other, q, v, a), atol=1e-10)


def test_a_chain_has_only_what_leads_to_its_tip() -> None:
    robot = load_robot("hyq")
    tip = robot.bodies[2].name
    leg = chain_to(robot, tip)
    assert [body.name for body in leg.bodies] == [body.name for body in robot.bodies[:3]]
    q, v, a, _, _ = states(robot, 5)
    whole = golden.rnea(robot, q, v, a)
    assert np.allclose(golden.rnea(leg, q[:, :3], v[:, :3], a[:, :3]), whole[:, :3], atol=1e-12)


def test_a_setup_is_recorded() -> None:
    robot = load_robot("ur5")
    last = robot.joint_names[-1]
    setup = Setup(
        lock={last: 0.1}, payload={robot.bodies[-1].name: (1.0,)}, tip=robot.bodies[-2].name
    )
    made = setup.load("ur5")
    assert setup_of(made) == setup
    assert setup_of(made).load("ur5") == made


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: locked(r, {"joint7": 1.0}), "lock: no joint 'joint7' of 'pendulum2'; did you"),
        (
            lambda r: locked(r, {"joint1": math.nan}),
            "lock: joint 'joint1': must be at most 1e.06, not n",
        ),
        (lambda r: locked(r, {"joint1": (1.0, 2.0)}), "'joint1': has 1 coordinates, not 2"),
        (lambda r: locked(r, {"joint1": 0, "joint2": 0}), "lock: nothing of 'pendulum2' would m"),
        (lambda r: with_payloads(r, {"hand": (1.0,)}), "payload: no link 'hand' of 'pendulum2'; "),
        (lambda r: with_payloads(r, {"link2": (1.0, 2.0)}), "and moments .6., not 2 numbers"),
        (lambda r: with_payloads(r, {"link2": (-1.0,)}), "and its mass above 0, not"),
        (lambda r: with_payloads(r, {"link2": (math.inf,)}), "and its mass above 0, not"),
        (
            lambda r: with_payloads(r, {"link2": (1.0, 0, 0, 0, 5.0, 1.0, 1.0, 0, 0, 0)}),
            "payload: of link 'link2': no body has this inertia: ",
        ),
        (lambda r: with_payloads(r, {r.base_name: (1.0,)}), "does not move, and what it carries"),
        (lambda r: chain_to(r, "elbow"), "tip: no link 'elbow' of 'pendulum2'; there are"),
        (lambda r: chain_to(r, r.base_name), "does not move; give one that a joint moves"),
    ],
)
def test_what_cannot_be_is_one_line(change: Callable[[Robot], Robot], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        change(load_robot("pendulum2"))
    assert "\n" not in str(caught.value)


def test_followers_are_locked_by_what_they_follow() -> None:
    robot = parse_urdf(HAND, "hand.urdf")
    with pytest.raises(ConfigError, match="lock: joint 'a2' follows 'a1'; lock that one"):
        locked(robot, {"a2": 0.0})
    with pytest.raises(UnsupportedError, match="'b2' follows 'b1', which is beside the chain"):
        chain_to(robot, "l4")


@pytest.mark.parametrize("angle", [np.float32(0.5), np.array(0.5), np.array([0.5]), [0.5]])
def test_a_lock_is_a_number_of_any_kind(angle: float) -> None:
    robot = load_robot("pendulum2")
    assert locked(robot, {"joint2": angle}) == locked(robot, {"joint2": 0.5})
