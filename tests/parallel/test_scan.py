"""Scans against the recurrences that they solve, and inverse dynamics by scan against Pinocchio."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rbdgen import ConfigError, load_robot
from rbdgen.errors import UnsupportedError
from rbdgen.model.body import Mimic
from rbdgen.parallel import propagator, random_chain, scan_inverse_dynamics, scan_mass_matrix
from tests.parallel.reference import LENGTHS, Reference, error, revolute_chain, states


def recurrence(links: int) -> tuple[np.ndarray, np.ndarray]:
    """Transitions and addends of a batch of two, neither growing nor shrinking much along the chain."""
    rng = np.random.default_rng(links)
    return np.linalg.qr(rng.normal(size=(links, 2, 4, 4)))[0], rng.normal(size=(links, 2, 4))


@pytest.mark.parametrize("links", LENGTHS)
def test_outward_and_inward_solve_the_recurrences(links: int) -> None:
    t, b = recurrence(links)
    x = propagator(t).outward(b)
    y = propagator(t).inward(b)
    for i in range(links):
        before = np.einsum("bij,bj->bi", t[i], x[i - 1]) if i else 0.0
        after = np.einsum("bji,bj->bi", t[i + 1], y[i + 1]) if i + 1 < links else 0.0
        assert np.allclose(x[i], b[i] + before, rtol=1e-12, atol=1e-12)
        assert np.allclose(y[i], b[i] + after, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("links", LENGTHS)
def test_congruence_solves_the_recurrence(links: int) -> None:
    t, _ = recurrence(links)
    b = np.random.default_rng(1).normal(size=(links, 2, 4, 4))
    x = propagator(t).inward_congruence(b)
    for i in range(links):
        after = np.swapaxes(t[i + 1], -1, -2) @ x[i + 1] @ t[i + 1] if i + 1 < links else 0.0
        assert np.allclose(x[i], b[i] + after, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("links", LENGTHS)
def test_inverse_dynamics_agrees_with_pinocchio(links: int) -> None:
    robot = random_chain(links, seed=51)
    q, v, a = states(robot, 2, 52)
    f_ext = np.random.default_rng(53).normal(size=(2, links, 6))
    assert (
        error(
            scan_inverse_dynamics(robot, q, v, a, f_ext),
            Reference(robot).inverse_dynamics(q, v, a, f_ext),
        )
        < 1e-12
    )


def test_takes_any_leading_shape() -> None:
    robot = random_chain(6, seed=54)
    q, v, a = (x.reshape(2, 3, -1) for x in states(robot, 6, 55))
    tau = scan_inverse_dynamics(robot, q, v, a)
    assert tau.shape == (2, 3, 6)
    assert error(scan_inverse_dynamics(robot, q[0, 1], v[0, 1], a[0, 1]), tau[0, 1]) < 1e-14
    assert scan_mass_matrix(robot, q[0, 1]).shape == (6, 6)


def test_complains() -> None:
    robot = revolute_chain(3)
    with pytest.raises(ConfigError, match=r"^a: must have shape \(3,\), not \(4,\)$"):
        scan_inverse_dynamics(robot, np.zeros(3), np.zeros(3), np.zeros(4))
    hyq = load_robot("hyq")
    message = (
        r"^robot 'hyq': parallel algorithms take serial chains only, but link '\w+' has more than one child, '\w+' "
        r"among them; use rbdgen\.golden$"
    )
    with pytest.raises(UnsupportedError, match=message):
        scan_mass_matrix(hyq, np.zeros(hyq.nq))


@pytest.mark.parametrize(
    ("changes", "unknown"),
    [
        ({"armature": (0.1,)}, "armature"),
        ({"damping": (0.1,)}, "damping"),
        ({"friction": (0.1,)}, "dry friction"),
        ({"mimic": Mimic("joint1", 2.0)}, "joint to follow"),
    ],
)
def test_refuses_what_a_drive_adds(changes: dict, unknown: str) -> None:
    robot = load_robot("pendulum2")
    first, last = robot.bodies
    geared = dataclasses.replace(last, **changes)
    robot = dataclasses.replace(robot, bodies=(first, geared), friction="viscous+dry")
    message = f"^robot 'pendulum2': parallel algorithms know no {unknown}, and joint 'joint2' has"
    with pytest.raises(UnsupportedError, match=message):
        scan_mass_matrix(robot, np.zeros(robot.nq))
    # friction that does not count is none
    if "friction" in changes or "damping" in changes:
        free = dataclasses.replace(robot, friction="none")
        assert scan_mass_matrix(free, np.zeros(2)).shape == (2, 2)


def test_complains_about_cosine_and_sine_off_the_circle() -> None:
    robot = random_chain(30)
    q = states(robot, 1, 0)[0][0]
    name, part = next(
        (b.joint_name, s)
        for b, s in zip(robot.bodies, robot.q_slices, strict=True)
        if b.joint.nq == 2
    )
    q[part] = (1.0, 0.1)
    with pytest.raises(
        ConfigError,
        match=rf"^q: joint '{name}' must be \(cos, sin\) of unit length, is off by 0\.01$",
    ):
        scan_mass_matrix(robot, q)
