"""A step of time: the state is a roll-out's, the Jacobians are differences of roll-outs, and Crocoddyl's in form."""

from __future__ import annotations

import numpy as np
import pytest

from rbdgen import golden, load_robot
from rbdgen.errors import ConfigError, UnsupportedError
from rbdgen.model import with_armature

STEP, CHANGE = 0.02, 1e-6


def rolled(x: list[np.ndarray], integrator: str) -> np.ndarray:
    """The state after a step, positions and velocities in a row."""
    robot = with_armature(load_robot("ur5"), {"elbow_joint": 0.3})
    ends = golden.roll_out(robot, *x, 1, integrator=integrator, time_step=STEP)
    return np.concatenate(ends, axis=-1)


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_a_step_is_a_roll_out_and_its_jacobians_are_differences(integrator: str) -> None:
    robot = with_armature(load_robot("ur5"), {"elbow_joint": 0.3})
    q, v, a = golden.random_states(robot, golden.declared_ranges(robot), 10, 1)
    given = [q, v, golden.rnea(robot, q, v, a)]
    q_next, v_next, by_state, by_torque = golden.step(
        robot, *given, integrator=integrator, time_step=STEP
    )
    ends = np.concatenate([q_next, v_next], axis=-1)
    np.testing.assert_allclose(ends, rolled(given, integrator), rtol=1e-12, atol=1e-12)
    found = np.concatenate([by_state, by_torque], axis=-1)
    for part in range(3):
        for k in range(robot.nv):
            moved = []
            for sign in (1, -1):
                changed = [x.copy() for x in given]
                changed[part][:, k] += sign * CHANGE
                moved.append(rolled(changed, integrator))
            column = found[..., part * robot.nv + k]
            expected = (moved[0] - moved[1]) / (2 * CHANGE)
            atol = 1e-7 * max(1.0, np.max(np.abs(column)))
            np.testing.assert_allclose(column, expected, rtol=0, atol=atol)


def test_what_a_step_does_not_take_is_named() -> None:
    robot = load_robot("hyq", base="floating")
    q, v, _ = golden.random_states(robot, golden.declared_ranges(robot), 1, 1)
    with pytest.raises(UnsupportedError, match=r"'root_joint' \(freeflyer\): step takes joints"):
        golden.step(robot, q, v, v)
    arm, still = load_robot("ur5"), np.zeros(6)
    with pytest.raises(ConfigError, match="integrator: must be one of euler, rk4, not 'rk2'"):
        golden.step(arm, still, still, still, integrator="rk2")
    with pytest.raises(ConfigError, match="time_step: must be above 0 seconds, not 0"):
        golden.step(arm, still, still, still, time_step=0.0)
