"""A step of time: the state is Crocoddyl's in form, the Jacobians are differences on the joints' manifolds."""

from __future__ import annotations

import numpy as np
import pytest

from rbdgen import Robot, golden, load_robot
from rbdgen.errors import ConfigError, UnsupportedError
from rbdgen.model import JOINT_TYPES, with_armature
from tests.hw.test_joint_types import arm
from tests.model.test_joints import examples

STEP, CHANGE = 0.02, 1e-6
State = tuple[np.ndarray, np.ndarray]


def arm_with_rotor() -> Robot:
    return with_armature(load_robot("ur5"), {"elbow_joint": 0.3})


def moved(robot: Robot, state: State, way: np.ndarray) -> State:
    """A state after a way of its tangent."""
    q, v = state
    return golden.integrate(robot, q, way[..., : robot.nv]), v + way[..., robot.nv :]


def stepped(robot: Robot, state: State, tau: np.ndarray, integrator: str) -> State:
    """A step by forward dynamics and steps along velocities alone."""

    def slope(here: State) -> np.ndarray:
        q, v = here
        return np.concatenate([v, golden.forward_dynamics(robot, q, v, tau)], axis=-1)

    first = slope(state)
    if integrator == "euler":
        speed = first[..., : robot.nv] + STEP * first[..., robot.nv :]
        way = np.concatenate([speed, first[..., robot.nv :]], axis=-1)
        return moved(robot, state, STEP * way)
    second = slope(moved(robot, state, STEP / 2 * first))
    third = slope(moved(robot, state, STEP / 2 * second))
    fourth = slope(moved(robot, state, STEP * third))
    return moved(robot, state, STEP / 6 * (first + 2 * second + 2 * third + fourth))


def robot_of(name: str) -> Robot:
    if name == "hyq":
        return load_robot("hyq", base="floating")
    if name == "ur5 with a rotor":
        return arm_with_rotor()
    return arm(examples(JOINT_TYPES[name])[-1])


@pytest.mark.filterwarnings("ignore::rbdgen.errors.RbdgenWarning")
@pytest.mark.parametrize("integrator", ["euler", "rk4"])
@pytest.mark.parametrize("name", ["ur5 with a rotor", "hyq", *JOINT_TYPES])
@pytest.mark.slow
def test_a_step_and_its_jacobians(name: str, integrator: str) -> None:
    robot = robot_of(name)
    q, v, a = golden.random_states(robot, golden.declared_ranges(robot), 5, 1)
    v, a = 0.3 * v, 0.3 * a
    tau = golden.rnea(robot, q, v, a)
    q_next, v_next, by_state, by_torque = golden.step(
        robot, q, v, tau, integrator=integrator, time_step=STEP
    )
    expected = stepped(robot, (q, v), tau, integrator)
    np.testing.assert_allclose(q_next, expected[0], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(v_next, expected[1], rtol=1e-9, atol=1e-10)
    jacobian = np.concatenate([by_state, by_torque], axis=-1)
    for k in range(3 * robot.nv):
        way = np.zeros(3 * robot.nv)
        way[k] = CHANGE
        ends, along = [], []
        for sign in (1, -1):
            start = moved(robot, (q, v), sign * way[: 2 * robot.nv])
            push = tau + sign * way[2 * robot.nv :]
            ends.append(np.concatenate(stepped(robot, start, push, integrator), axis=-1))
            change = sign * CHANGE * jacobian[..., k]
            along.append(np.concatenate(moved(robot, (q_next, v_next), change), axis=-1))
        found = (along[0] - along[1]) / (2 * CHANGE)
        differences = (ends[0] - ends[1]) / (2 * CHANGE)
        largest = max(1.0, float(np.max(np.abs(found))))
        np.testing.assert_allclose(found, differences, rtol=0, atol=2e-7 * largest)


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_a_step_is_a_roll_out_of_one(integrator: str) -> None:
    robot = arm_with_rotor()
    q, v, a = golden.random_states(robot, golden.declared_ranges(robot), 5, 1)
    tau = golden.rnea(robot, q, v, a)
    given = {"integrator": integrator, "time_step": STEP}
    ends = golden.step(robot, q, v, tau, **given)[:2]
    rolled = golden.roll_out(robot, q, v, tau, 1, **given)
    for one, other in zip(ends, rolled, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_quaternions_stay_of_unit_length() -> None:
    robot = load_robot("hyq", base="floating")
    q, v, a = golden.random_states(robot, golden.declared_ranges(robot), 5, 1)
    tau = golden.rnea(robot, q, v, a)
    for _ in range(20):
        q, v = golden.step(robot, q, v, tau)[:2]
        np.testing.assert_allclose(np.linalg.norm(q[:, 3:7], axis=-1), 1.0, rtol=1e-14)


def test_what_a_step_does_not_take_is_named() -> None:
    arm, still = load_robot("ur5"), np.zeros(6)
    with pytest.raises(ConfigError, match="integrator: must be one of euler, rk4, not 'rk2'"):
        golden.step(arm, still, still, still, integrator="rk2")
    with pytest.raises(ConfigError, match="time_step: must be above 0 seconds, not 0"):
        golden.step(arm, still, still, still, time_step=0.0)
    dog = load_robot("hyq", base="floating")
    q = golden.neutral(dog)
    v = np.zeros(dog.nv)
    v[4] = 10.0
    with pytest.raises(ConfigError, match=r"time_step: a joint turns by 7 rad in 0.7 s"):
        golden.step(dog, q, v, 0 * v, time_step=0.7)
    with pytest.raises(UnsupportedError, match=r"'root_joint' \(freeflyer\): roll takes joints"):
        golden.roll_out(dog, q, v, 0 * v, 1)
