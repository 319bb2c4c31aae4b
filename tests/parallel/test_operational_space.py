"""Λ and Λ⁻¹ as matrices and as operators, against J M⁻¹ Jᵀ of Pinocchio and against each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from rbdgen import ConfigError, load_robot
from rbdgen.errors import SingularityError, UnsupportedError
from rbdgen.model import FreeFlyer, Placement
from rbdgen.parallel import operational_space, random_chain
from rbdgen.parallel.cfa import constraint_matrix
from tests.parallel.reference import LENGTHS, Reference, error, revolute_chain, states

TURN = pin.rpy.rpyToMatrix(0.3, -0.5, 0.9)
TIP = Placement(tuple(map(tuple, TURN)), (0.1, -0.2, 0.3))  # type: ignore[arg-type]
PINOCCHIO_TIP = pin.SE3(TURN, np.array(TIP.translation))
SWAP = [3, 4, 5, 0, 1, 2]


@pytest.mark.parametrize("links", LENGTHS)
def test_inverse_agrees_with_pinocchio(links: int) -> None:
    robot = random_chain(links, seed=11)
    q, _, _ = states(robot, 3, 12)
    reference = Reference(robot)
    j = reference.jacobian(q, PINOCCHIO_TIP)
    expected = j @ reference.inverse_mass_matrix(q) @ np.swapaxes(j, -1, -2)
    assert error(operational_space(robot, q, TIP).inverse(), expected, 2) < 1e-9


@pytest.mark.parametrize("links", [n for n in LENGTHS if n > 6])
def test_inertia_times_its_inverse_is_one(links: int) -> None:
    for seed in range(3):
        robot = random_chain(links, seed)
        space = operational_space(robot, states(robot, 3, seed)[0], TIP)
        product = space.inertia() @ space.inverse()
        assert np.max(np.abs(product - np.eye(6))) < 1e-9


@pytest.mark.parametrize("links", [7, 17])
def test_operators_are_the_matrices(links: int) -> None:
    robot = random_chain(links, seed=13)
    q, _, _ = states(robot, 3, 14)
    x = np.random.default_rng(15).normal(size=(3, 6))
    space = operational_space(robot, q, TIP)
    assert error(space.inverse_times(x), np.einsum("bij,bj->bi", space.inverse(), x)) < 1e-12
    assert error(space.inertia_times(x), np.einsum("bij,bj->bi", space.inertia(), x)) < 1e-12
    assert np.array_equal(space.inertia_times(np.zeros((3, 6))), np.zeros((3, 6)))


def last_block_row(row: np.ndarray, rows: int) -> np.ndarray:
    """A matrix of ``rows`` block rows of which only the last, ``row``, is not zero."""
    return np.concatenate([np.zeros(((rows - 1) * len(row), 6)), row])


def test_matrices_are_the_schur_complements_of_the_paper() -> None:
    robot = random_chain(8, seed=16)
    space = operational_space(robot, states(robot, 1, 17)[0][0], TIP)
    a, d = constraint_matrix(space.chain).dense(), space.mobility
    e = last_block_row(space.coupling, 8)
    inverse = d - e.T @ np.linalg.solve(a, e)
    assert error(inverse[SWAP][:, SWAP], space.inverse(), 2) < 1e-11
    r, driven = last_block_row(space.driven_coupling, 8), -space.driven_matrix.dense()
    inertia = space.own_inertia - r.T @ np.linalg.solve(driven, r)
    assert error(inertia[SWAP][:, SWAP], space.inertia(), 2) < 1e-11
    # A' = E D⁻¹ Eᵀ − A and R = E D⁻¹
    assert error(e @ np.linalg.inv(d) @ e.T - a, driven, 2) < 1e-12
    assert error(e @ np.linalg.inv(d), r, 2) < 1e-12


def test_takes_any_leading_shape() -> None:
    robot = random_chain(9, seed=18)
    q = states(robot, 6, 19)[0].reshape(2, 3, -1)
    space, single = operational_space(robot, q, TIP), operational_space(robot, q[1, 2], TIP)
    force = np.random.default_rng(0).normal(size=(2, 3, 6))
    assert space.inverse().shape == space.inertia().shape == (2, 3, 6, 6)
    assert error(single.inertia(), space.inertia()[1, 2], 2) < 1e-11
    assert error(single.inverse_times(force[1, 2]), space.inverse_times(force)[1, 2]) < 1e-12


def test_a_free_body_has_its_own_inertia() -> None:
    robot = random_chain(1)
    robot = replace(robot, bodies=(replace(robot.bodies[0], joint=FreeFlyer()),))
    space = operational_space(robot, np.array([0.1, 0.2, 0.3, 0.0, 0.0, 0.0, 1.0]), TIP)
    assert error(space.inertia(), space.own_inertia[SWAP][:, SWAP], 2) < 1e-13


def test_too_few_joints_leave_the_inverse() -> None:
    robot = revolute_chain(5)
    space = operational_space(robot, np.zeros(5))
    assert np.linalg.matrix_rank(space.inverse()) == 5
    message = (
        r"^operational-space inertia of 'chain5': does not exist for a tip with 5 degrees of freedom, 6 are needed; "
        r"use its inverse$"
    )
    with pytest.raises(SingularityError, match=message):
        space.inertia()
    with pytest.raises(SingularityError, match=message):
        space.inertia_times(np.ones(6))


SINGULAR = (
    r"^operational-space inertia of 'iiwa14': is singular.*, a kinematic singularity: the tip cannot be accelerated in "
    r"every direction; move q off it, or use the inverse$"
)


def test_refuses_a_kinematic_singularity() -> None:
    robot = load_robot("iiwa14")
    straight = np.zeros((2, 7))
    straight[0] = states(robot, 1, 0)[0][0]
    space = operational_space(robot, straight)
    assert np.all(np.isfinite(space.inverse()))
    with pytest.raises(SingularityError, match=SINGULAR) as caught:
        space.inertia()
    assert "in state 1" in str(caught.value)
    with pytest.raises(SingularityError, match=SINGULAR):
        space.inertia_times(np.ones((2, 6)))


@pytest.mark.parametrize("offset", [1e-9, 1e-7, 1e-5, 1e-3])
def test_near_a_singularity_is_right_or_refused(offset: float) -> None:
    robot = load_robot("iiwa14")
    q = np.zeros(7) + offset * np.arange(1, 8)
    space = operational_space(robot, q)
    try:
        inertia = space.inertia()
    except SingularityError:
        assert offset < 1e-3
    else:
        j = np.linalg.eigvalsh(inertia)
        assert j[0] > 0.0
        assert j[-1] * offset**2 < 1e3


def test_complains() -> None:
    robot = revolute_chain(7)
    with pytest.raises(ConfigError, match=r"^q: must have shape \(\.\.\., 7\), not \(6,\)$"):
        operational_space(robot, np.zeros(6))
    space = operational_space(robot, np.ones((4, 7)))
    with pytest.raises(ConfigError, match=r"^force: must have shape \(4, 6\), not \(6,\)$"):
        space.inverse_times(np.zeros(6))
    with pytest.raises(ConfigError, match=r"^acceleration: must be finite, holds nan$"):
        space.inertia_times(np.full((4, 6), np.nan))
    hyq = load_robot("hyq")
    with pytest.raises(
        UnsupportedError, match=r"^robot 'hyq': parallel algorithms take serial chains only, "
    ):
        operational_space(hyq, np.zeros(hyq.nq))
