"""The box of torques: its limits, and states that fill it, each told whether its motion is a declared one."""

from __future__ import annotations

import numpy as np
import pytest

from rbdgen.functions.quantities import States
from rbdgen.tracing.torques import BOTH, MOTION, TORQUE, torque_limits, with_torques

LIMITS = (2.0, 4.0)


def states(tau: np.ndarray) -> States:
    """States that are nothing but these torques (n, 2)."""
    zero = np.zeros_like(tau)
    return States(zero, zero, zero, None, tau, None, None)


def test_limits_are_the_effort_or_what_motions_take() -> None:
    motion = np.array([[1.0, -3.0], [-2.0, 1.0]])
    assert torque_limits(BOTH, (10.0, None), motion) == pytest.approx((10.0, 3.3))
    assert torque_limits(MOTION, (10.0, None), motion) == pytest.approx((2.2, 3.3))


def test_motions_stay_and_are_told_from_free_torques() -> None:
    tau = np.full((1000, 2), 1.0)
    found = with_torques(states(tau), LIMITS, BOTH, seed=1)
    assert found.free is not None
    assert np.mean(found.free) == 0.5
    assert np.all(found.tau[~found.free] == 1.0)
    assert np.all(np.abs(found.tau) <= LIMITS)
    assert np.all(np.max(np.abs(found.tau[found.free]), axis=0) > np.array(LIMITS) * 0.99)


def test_a_motion_that_takes_more_than_there_is_gives_way_to_free_torques() -> None:
    tau = np.full((1000, 2), 1.0)
    tau[::4, 1] = 5.0
    found = with_torques(states(tau), LIMITS, BOTH, seed=1)
    assert found.free is not None
    assert np.mean(found.free) == 0.75
    assert np.all(found.free[::4])
    assert np.all(np.abs(found.tau) <= LIMITS)


def test_ranges_of_one_kind() -> None:
    tau = np.full((100, 2), 1.0)
    assert with_torques(states(tau), LIMITS, MOTION, seed=1).free is None
    found = with_torques(states(tau), LIMITS, TORQUE, seed=1)
    assert found.free is not None
    assert np.all(found.free)
