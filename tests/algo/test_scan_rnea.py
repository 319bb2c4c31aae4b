"""Inverse dynamics and M by scans, beside the golden model: chains of any joints, forces, moving bases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from rbdgen import Robot, UnsupportedError, golden, load_robot
from rbdgen.algo.chain import check_serial, is_serial
from rbdgen.algo.rnea import moving_base, wrenches
from rbdgen.algo.scans import scan_mass_matrix, scan_rnea
from rbdgen.model import Mimic, with_armature
from rbdgen.tracing.equivalent import equivalent
from tests.chains import (
    LENGTHS,
    STATES,
    error,
    mixed_chain,
    placed,
    random_chain,
    random_states,
    scalars,
    snake,
    stacked,
)


def torque(robot: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    return stacked(scan_rnea(robot, placed(robot, q), scalars(v), scalars(a)))


def mass(robot: Robot, q: np.ndarray) -> np.ndarray:
    matrix = np.zeros((STATES, robot.nv, robot.nv))
    for (i, j), x in scan_mass_matrix(robot, placed(robot, q)).items():
        matrix[:, i, j] = x
        matrix[:, j, i] = x
    return matrix


@pytest.mark.parametrize("links", LENGTHS)
@pytest.mark.slow
def test_chains_of_any_length_are_as_the_golden_model_has_them(links: int) -> None:
    robot = random_chain(links, seed=links)
    q, v, a = random_states(robot)
    assert error(torque(robot, q, v, a), golden.rnea(robot, q, v, a)) < 1e-12
    assert error(mass(robot, q), golden.crba(robot, q)) < 1e-12


def geared_chain() -> Robot:
    robot = random_chain(5, seed=2)
    return with_armature(robot, dict.fromkeys(robot.joint_names, 0.3))


@pytest.mark.parametrize("make", [mixed_chain, geared_chain, lambda: equivalent(snake(6)).robot])
def test_joints_of_all_kinds_rotors_and_massless_links(make: Callable[[], Robot]) -> None:
    robot = make()
    q, v, a = random_states(robot)
    assert error(torque(robot, q, v, a), golden.rnea(robot, q, v, a)) < 1e-12
    assert error(mass(robot, q), golden.crba(robot, q)) < 1e-12


def test_joints_that_follow_others() -> None:
    robot = snake(4)
    bodies = list(robot.bodies)
    bodies[2] = replace(bodies[2], mimic=Mimic(bodies[0].joint_name, 0.5, 0.1))
    robot = replace(robot, bodies=tuple(bodies))
    rng = np.random.default_rng(1)
    q, v, a = rng.uniform(-1, 1, (3, STATES, robot.nv))
    assert error(torque(robot, q, v, a), golden.rnea(robot, q, v, a)) < 1e-12
    assert error(mass(robot, q), golden.crba(robot, q)) < 1e-12


def test_forces_and_a_moving_base() -> None:
    robot = random_chain(9, seed=5)
    q, v, a = random_states(robot)
    rng = np.random.default_rng(8)
    f_ext = rng.uniform(-5, 5, (STATES, 9, 6))
    motion = rng.uniform(-1, 1, (STATES, 12))
    omega, alpha, acceleration = (scalars(motion[:, k : k + 3]) for k in (0, 3, 6))
    base = moving_base(omega, alpha, acceleration, robot.gravity)
    found = scan_rnea(
        robot,
        placed(robot, q),
        scalars(v),
        scalars(a),
        wrenches(scalars(f_ext.reshape(STATES, -1))),
        base=base,
    )
    velocity = np.concatenate([np.zeros((STATES, 3)), motion[:, :3]], axis=1)
    accelerations = np.concatenate([motion[:, 6:9], motion[:, 3:6]], axis=1)
    root = golden.RootMotion(velocity, accelerations)
    assert error(stacked(found), golden.rnea(robot, q, v, a, f_ext, root=root)) < 1e-12


def test_trees_are_refused_with_the_link_and_the_remedy() -> None:
    hyq = load_robot("hyq")
    assert not is_serial(hyq)
    assert is_serial(snake(3))
    with pytest.raises(
        UnsupportedError,
        match=r"^inverse-dynamics scan: takes serial chains, but link 'trunk' of robot 'hyq' carries "
        r"'\w+' beside another one; use inverse-dynamics recursive$",
    ):
        check_serial(hyq, "inverse-dynamics scan", "inverse-dynamics recursive")
