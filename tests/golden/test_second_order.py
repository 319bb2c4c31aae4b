"""Second derivatives against differences of Pinocchio's first ones, and sums of them with weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from rbdgen import Robot, golden
from rbdgen.errors import UnsupportedError
from rbdgen.model import Setup, builtin_path
from tests.conftest import few
from tests.golden.pinocchio import model_of_bodies, model_of_file, states, whole
from tests.golden.test_following import following_tree
from tests.golden.test_functions import random_tree

TOLERANCE = 1e-8
SIXTH_ORDER = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
"""Factors of central differences whose error is of the sixth power of the step."""


def differences(function: Callable[[np.ndarray], np.ndarray], n: int, step: float) -> np.ndarray:
    """The derivative of ``function`` of a change of ``n`` entries, as a further last dimension."""
    columns = []
    for unit in np.eye(n) * step:
        total = 0.0
        for k, factor in SIXTH_ORDER.items():
            total = total + factor * (function(k * unit) - function(-k * unit))
        columns.append(total / step)
    return np.stack(columns, -1)


def whole_matrix(upper: Any) -> np.ndarray:
    x = np.array(upper)
    return np.triu(x) + np.triu(x, 1).T


def forces_of(model: pin.Model, robot: Robot, f_ext: np.ndarray) -> Any:
    given = pin.StdVec_Force()
    given.append(pin.Force.Zero())
    for name in list(model.names)[1:]:
        own = f_ext[robot.joint_names.index(name)]
        given.append(pin.Force(own[:3], own[3:]))
    return given


def derived(
    model: pin.Model, robot: Robot, state: tuple[np.ndarray, ...], name: str, step: float
) -> tuple[np.ndarray, ...]:
    """Second derivatives at one state, from Pinocchio's first ones: by q q, v v, q v, and by q of the last one."""
    data = model.createData()
    q, v, last, f_ext = state
    given = forces_of(model, robot, f_ext)

    def first(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        by_q, by_v, by_last = getattr(pin, name)(model, data, q, v, last, given)
        return np.stack([np.array(by_q), np.array(by_v), whole_matrix(by_last)])

    n = model.nv
    by_q = differences(lambda dq: first(pin.integrate(model, q, dq), v), n, step)
    by_v = differences(lambda dv: first(q, v + dv), n, step)
    return by_q[0], by_v[1], by_v[0], by_q[2]


def close(found: np.ndarray, expected: np.ndarray) -> bool:
    largest = max(1e-6, float(np.max(np.abs(expected))))
    return bool(np.max(np.abs(found - expected)) <= TOLERANCE * largest)


CASES = ("iiwa14", "fixed"), ("pendulum2", "fixed"), ("ur5", "fixed"), ("hyq", "floating")


@pytest.mark.parametrize("case", few(CASES, *CASES[:2]))
def test_second_derivatives_are_those_of_pinocchios_first(case: tuple[str, str]) -> None:
    name, base = case
    robot = Setup(base=base, friction="none").load(name)
    model = model_of_file(builtin_path(name), base)
    q, v, a, _, f_ext = states(robot, 3, 2)
    # torques of motions: differences lose digits where free ones throw light links about
    tau = golden.rnea(robot, q, v, a, f_ext)
    second = golden.rnea_second_order_derivatives(robot, q, v, a, f_ext)
    forward = golden.forward_second_order_derivatives(robot, q, v, tau, f_ext)
    for k in range(3):
        state = q[k], v[k], a[k], f_ext[k]
        expected = derived(model, robot, state, "computeRNEADerivatives", 1e-3)
        for found, truth in zip(second, expected, strict=True):
            assert close(found[k], truth)
        state = q[k], v[k], tau[k], f_ext[k]
        expected = derived(model, robot, state, "computeABADerivatives", 1e-3)
        for found, truth in zip(forward, expected, strict=True):
            assert close(found[k], truth)


@pytest.mark.parametrize("seed", few(range(4), 1))
def test_trees_of_all_joint_types_agree(seed: int) -> None:
    robot = Robot("tree", "base", random_tree(seed, 9))
    model = model_of_bodies(robot.bodies)
    q, v, a, _, f_ext = states(robot, 1, seed)
    v = v / 5
    found = golden.rnea_second_order_derivatives(robot, q, v, a, f_ext)
    state = q[0], v[0], a[0], f_ext[0]
    expected = derived(model, robot, state, "computeRNEADerivatives", 1e-3)
    for x, truth in zip(found, expected, strict=True):
        assert close(x[0], truth)


def test_second_derivatives_of_followers_are_reduced() -> None:
    robot = following_tree(3, 8)
    tree = Robot("tree", "base", robot.unreduced.bodies)
    q, v, a, _, f_ext = states(robot, 4, 3)
    everything, g = whole(robot, q)
    parts = golden.rnea_second_order_derivatives(tree, everything, v @ g.T, a @ g.T, f_ext)
    found = golden.rnea_second_order_derivatives(robot, q, v, a, f_ext)
    for x, part in zip(found, parts, strict=True):
        assert close(x, np.einsum("kijl,ia,jb,lc->kabc", part, g, g, g))


@pytest.mark.parametrize("case", few(CASES, CASES[0], CASES[3]))
@pytest.mark.slow
def test_weights_sum_second_derivatives(case: tuple[str, str]) -> None:
    name, base = case
    robot = Setup(base=base, friction="none").load(name)
    q, v, a, tau, f_ext = states(robot, 3, 4)
    weights = np.random.default_rng(1).normal(size=v.shape)
    second = golden.rnea_second_order_derivatives(robot, q, v, a, f_ext)
    summed = golden.rnea_hessians(robot, q, v, a, weights, f_ext)
    for tensor, matrix in zip(second, summed, strict=True):
        assert close(matrix, np.einsum("ki,kijl->kjl", weights, tensor))
    forward = golden.forward_second_order_derivatives(robot, q, v, tau, f_ext)
    summed = golden.forward_dynamics_hessians(robot, q, v, tau, weights, f_ext)
    for tensor, matrix in zip(forward, summed, strict=True):
        assert close(matrix, np.einsum("ki,kijl->kjl", weights, tensor))


def test_turns_of_one_joint_depend_on_their_order() -> None:
    """By a floating base's angles alone; by all else the order is of no account."""
    robot = Setup(base="floating", friction="none").load("hyq")
    q, v, a, *_ = states(robot, 2, 5)
    by_positions, by_velocities, *_ = golden.rnea_second_order_derivatives(robot, q, v, a)
    apart = by_positions - np.swapaxes(by_positions, -1, -2)
    assert np.max(np.abs(apart[..., :6, :6])) > 1.0
    assert not np.any(apart[..., 6:, :])
    assert not np.any(by_velocities - np.swapaxes(by_velocities, -1, -2))


def test_dry_friction_has_no_second_derivative() -> None:
    robot = Setup(friction="viscous+dry").load("iiwa14")
    q, v, a, *_ = states(robot, 1, 6)
    with pytest.raises(UnsupportedError, match="dry friction has no second derivative at rest"):
        golden.rnea_second_order_derivatives(robot, q, v, a)
