"""Steps of inverse kinematics against Pinocchio's Jacobians, and how they converge beside its ``log6``."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from rbdgen import Robot, golden, with_frames
from rbdgen.errors import ConfigError, UnsupportedError
from rbdgen.model import Continuous, load_robot
from tests.golden.pinocchio import model_of_bodies, states, whole
from tests.golden.test_following import following_tree
from tests.golden.test_frames import CASES, COUNT, TURNED, close, framed, model_with_frames

DAMPING = 1e-2
SHARE = 0.25
"""Of the reach, the longest way of a frame along an axis in a step."""


def within_limits(robot: Robot, q: np.ndarray) -> np.ndarray:
    """q (nq) of joints without unit vectors, cut to the limits that they have."""
    cut = q.copy()
    for body, own, _ in robot.independent:
        limits = body.limits.lower, body.limits.upper
        if None not in limits and "unit" not in body.joint.kinds:
            cut[own] = np.clip(q[own], *limits)
    return cut


def pinocchios_step(
    robot: Robot,
    model: pin.Model,
    ids: list[int],
    q: np.ndarray,
    target: tuple[np.ndarray, np.ndarray, np.ndarray],
    gears: np.ndarray | None = None,
) -> np.ndarray:
    """Δq (nv) by its places and Jacobians; ``gears``: of followers."""
    data = model.createData()
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    rotations, positions, weights = target
    rows, errors = [], []
    longest = SHARE * robot.reach
    for frame, rotation, position in zip(ids, rotations, positions, strict=True):
        place = data.oMf[frame]
        rows.append(np.array(pin.getFrameJacobian(model, data, frame, pin.LOCAL)))
        way = np.clip(position - place.translation, -longest, longest)
        turn = place.rotation.T @ rotation
        errors += [place.rotation.T @ way, pin.unSkew((turn - turn.T) / 2)]
    jacobian = weights[:, None] * np.vstack(rows)
    if gears is not None:
        jacobian = jacobian @ gears
    error = weights * np.concatenate(errors)
    square = jacobian @ jacobian.T + DAMPING * np.eye(len(error))
    return jacobian.T @ np.linalg.solve(square, error)


@pytest.mark.parametrize("name", CASES)
def test_a_step_is_that_of_pinocchios_jacobians(name: str) -> None:
    robot = framed(name)
    model, ids = model_with_frames(name, *CASES[name])
    q, *_ = states(robot, COUNT, 3)
    rotation, position = golden.frame_placements(robot, np.roll(q, 1, axis=0))
    weight = np.random.default_rng(1).uniform(0, 1, (COUNT, 6 * len(ids)))
    weight[::2] = np.round(weight[::2])
    found = golden.inverse_kinematics_step(robot, q, rotation, position, weight, damping=DAMPING)
    for s in range(COUNT):
        target = rotation[s], position[s], weight[s]
        step = pinocchios_step(robot, model, list(ids.values()), q[s], target)
        expected = within_limits(robot, pin.integrate(model, q[s], step))
        assert close(found[s], expected)
    assert np.any(np.abs(found - q) > 0.1)


def test_several_steps_are_one_after_the_other_each_as_many_as_it_asks_for() -> None:
    robot = framed("hyq")
    q, *_ = states(robot, 4, 3)
    goal = golden.frame_placements(robot, np.roll(q, 1, axis=0))
    steps = np.array([0, 1, 2, 3])
    found = golden.inverse_kinematics_step(robot, q, *goal, None, steps, damping=DAMPING)
    now = q
    for number in range(4):
        assert np.array_equal(found[number], now[number])
        now = golden.inverse_kinematics_step(robot, now, *goal, damping=DAMPING)


def test_frames_behind_followers_are_brought_there_by_leaders() -> None:
    robot = following_tree(2)
    last = robot.bodies[-1].name
    robot = with_frames(robot, {f"tip={last}": ()})
    model = model_of_bodies(robot.unreduced.bodies)
    joint = model.getJointId(robot.bodies[-1].joint_name)
    tip = model.addFrame(pin.Frame("tip", joint, 0, pin.SE3.Identity(), pin.OP_FRAME))
    q, *_ = states(robot, COUNT, 5)
    rotation, position = golden.frame_placements(robot, np.roll(q, 1, axis=0))
    found = golden.inverse_kinematics_step(robot, q, rotation, position, damping=DAMPING)
    everything, g = whole(robot, q)
    for s in range(COUNT):
        target = rotation[s], position[s], np.ones(6)
        step = pinocchios_step(robot, model, [tip], everything[s], target, g)
        expected = within_limits(robot, golden.integrate(robot, q[s], step))
        assert close(found[s], expected)


def test_steps_come_as_near_as_those_of_log6() -> None:
    """From a fifth of the way to any other configuration, as many arrive, in about as many steps."""
    frames = {"tip=link7": TURNED}
    robot = with_frames(load_robot("iiwa14"), frames)
    model, ids = model_with_frames("iiwa14", "fixed", frames)
    frame = ids["tip"]
    count, most, damping = 60, 40, 1e-3
    begin, *_ = states(robot, count, 1)
    end, *_ = states(robot, count, 2)
    goals = golden.frame_placements(robot, begin + 0.2 * (end - begin))
    q = begin.copy()
    ours = np.full(count, most)
    for number in range(most):
        places = golden.frame_placements(robot, q)
        off = np.linalg.norm(places[1] - goals[1], axis=-1)[:, 0]
        turned = np.linalg.norm(places[0] - goals[0], axis=(-1, -2))[:, 0]
        ours = np.where((off < 1e-4) & (turned < 1e-3), np.minimum(ours, number), ours)
        q = golden.inverse_kinematics_step(robot, q, *goals, damping=damping)
    theirs = np.full(count, most)
    data = model.createData()
    for s in range(count):
        goal, q = pin.SE3(goals[0][s, 0], goals[1][s, 0]), begin[s].copy()
        for number in range(most):
            pin.computeJointJacobians(model, data, q)
            pin.updateFramePlacements(model, data)
            off = data.oMf[frame].actInv(goal)
            turned = np.linalg.norm(off.rotation - np.eye(3))
            if np.linalg.norm(off.translation) < 1e-4 and turned < 1e-3:
                theirs[s] = number
                break
            jacobian = pin.getFrameJacobian(model, data, frame, pin.LOCAL)
            jacobian = pin.Jlog6(off.inverse()) @ jacobian
            square = jacobian @ jacobian.T + damping * np.eye(6)
            q = within_limits(robot, q + jacobian.T @ np.linalg.solve(square, pin.log6(off).vector))
    assert np.sum(ours < most) >= np.sum(theirs < most) - 3
    assert np.sum(ours < most) > 0.8 * count
    assert np.median(ours) <= np.median(theirs) + 2


def test_what_cannot_be_is_named() -> None:
    arm, q = load_robot("iiwa14"), np.zeros(7)
    goal = np.eye(3)[None], np.zeros((1, 3))
    with pytest.raises(UnsupportedError, match="has no frames; give --frame LINK"):
        golden.inverse_kinematics_step(arm, q, *goal)
    tip = with_frames(arm, {"link7": ()})
    with pytest.raises(ConfigError, match=r"to_position: must have shape \(1, 3\), not \(3,\)"):
        golden.inverse_kinematics_step(tip, q, goal[0], np.zeros(3))
    with pytest.raises(ConfigError, match="damping: must be a number above 0, not 0"):
        golden.inverse_kinematics_step(tip, q, *goal, damping=0.0)
    with pytest.raises(ConfigError, match="steps: must be a whole number of at least 0, not -1"):
        golden.inverse_kinematics_step(tip, q, *goal, None, -1)
    with pytest.raises(ConfigError, match="q: must be finite, holds inf"):
        golden.inverse_kinematics_step(tip, q + np.inf, *goal)
    # a frame beside its joint's axis goes little way with a whole turn
    pendulum = load_robot("pendulum2")
    turning = replace(pendulum.bodies[1], joint=Continuous((0.0, 1.0, 0.0)))
    pendulum = replace(pendulum, bodies=(pendulum.bodies[0], turning))
    pendulum = with_frames(pendulum, {"link2": (0.001, 0.0, 0.0)})
    still = golden.neutral(pendulum)
    places = golden.frame_placements(pendulum, still)
    along = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    with pytest.raises(ConfigError, match=r"damping: a joint turns by .* rad in a step, which is"):
        golden.inverse_kinematics_step(
            pendulum, still, places[0], places[1] + 0.5, along, damping=1e-7
        )
