"""Contact solutions satisfy the equation of motion, the constraint, and the law of the contact's free directions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from rbdgen import ConfigError, Robot, load_robot
from rbdgen.errors import SingularityError, UnsupportedError
from rbdgen.model import Placement
from rbdgen.parallel import (
    Contact,
    ContactSolution,
    cfa_forward_dynamics,
    contact_type_1,
    contact_type_2,
    random_chain,
)
from tests.parallel.reference import Reference, error, revolute_chain, states

TURN = pin.rpy.rpyToMatrix(-0.4, 0.2, 1.1)
TIP = Placement(tuple(map(tuple, TURN)), (0.05, 0.1, -0.2))  # type: ignore[arg-type]
PINOCCHIO_TIP = pin.SE3(TURN, np.array(TIP.translation))
COUNT = 3


def directions(constrained: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random G_C with ``constrained`` columns, well conditioned, and G_F with the others."""
    both = np.linalg.qr(np.random.default_rng(seed).normal(size=(6, 6)))[0]
    return both[:, :constrained], both[:, constrained:]


def check(
    robot: Robot,
    state: tuple[np.ndarray, np.ndarray, np.ndarray],
    contact: Contact,
    solution: ContactSolution,
) -> None:
    """Equation of motion and constraint, to 1e-9 of the largest term."""
    q, v, tau = state
    reference = Reference(robot)
    j = reference.jacobian(q, PINOCCHIO_TIP)
    felt = np.einsum("bij,bi->bj", j, solution.contact_force)
    needed = reference.inverse_dynamics(q, v, solution.acceleration)
    bias = reference.inverse_dynamics(q, v, np.zeros_like(v))
    terms = np.maximum(
        np.abs(felt).max(axis=-1), np.maximum(np.abs(tau).max(axis=-1), np.abs(bias).max(axis=-1))
    )
    assert np.max(np.abs(needed - tau - felt).max(axis=-1) / terms) < 1e-9
    tip = reference.tip_acceleration(q, v, solution.acceleration, PINOCCHIO_TIP)
    assert (
        error(solution.tip_acceleration, tip) < 1e-9
        or np.max(np.abs(solution.tip_acceleration - tip)) < 1e-9
    )
    open_tip = reference.tip_acceleration(
        q, v, reference.forward_dynamics(q, v, tau), PINOCCHIO_TIP
    )
    wanted = 0.0 if contact.acceleration is None else contact.acceleration
    missed = np.einsum("...im,...i->...m", contact.constrained, tip) - wanted
    assert np.max(np.abs(missed).max(axis=-1) / np.abs(open_tip).max(axis=-1)) < 1e-9


@pytest.mark.parametrize("constrained", [1, 3, 5, 6])
@pytest.mark.parametrize("links", [6, 7, 16, 33, 100, 256])
def test_type_1(links: int, constrained: int) -> None:
    robot = random_chain(links, seed=21)
    state = states(robot, COUNT, 22)
    held, loose = directions(constrained, 23)
    rng = np.random.default_rng(24)
    contact = Contact(held, loose, TIP, rng.normal(size=(COUNT, constrained)))
    given = rng.normal(size=(COUNT, 6 - constrained))
    solution = contact_type_1(robot, *state, contact, given)
    check(robot, state, contact, solution)
    force = solution.constraint_forces @ held.T + given @ loose.T
    assert error(solution.contact_force, force) < 1e-12


@pytest.mark.parametrize("constrained", [1, 3, 5])
@pytest.mark.parametrize("links", [6, 7, 16, 33, 100, 256])
def test_type_2(links: int, constrained: int) -> None:
    robot = random_chain(links, seed=25)
    state = states(robot, COUNT, 26)
    held, loose = directions(constrained, 27)
    rng = np.random.default_rng(28)
    contact = Contact(held, loose, TIP)
    slope = 0.3 * rng.normal(size=(COUNT, 6 - constrained, constrained))
    offset = rng.normal(size=(COUNT, 6 - constrained))
    solution = contact_type_2(robot, *state, contact, slope, offset)
    check(robot, state, contact, solution)
    along = np.einsum("bkm,bm->bk", slope, solution.constraint_forces) + offset
    assert (
        error(solution.contact_force, solution.constraint_forces @ held.T + along @ loose.T) < 1e-12
    )


def test_type_2_without_slope_is_type_1() -> None:
    robot = random_chain(8, seed=29)
    state = states(robot, COUNT, 30)
    held, loose = directions(2, 31)
    given = np.random.default_rng(32).normal(size=(COUNT, 4))
    one = contact_type_1(robot, *state, Contact(held, loose, TIP), given)
    two = contact_type_2(robot, *state, Contact(held, loose, TIP), np.zeros((4, 2)), given)
    assert error(two.acceleration, one.acceleration) < 1e-13


def test_agrees_with_the_dense_equations_of_a_fixed_tip() -> None:
    """[[M, −Jᵀ], [J, 0]] (q̈, F) = (τ − bias, −J̇ v), solved as a whole."""
    robot = random_chain(9, seed=33)
    q, v, tau = states(robot, 1, 34)
    reference = Reference(robot)
    j = reference.jacobian(q, PINOCCHIO_TIP)[0]
    drift = reference.tip_acceleration(q, v, np.zeros((1, 9)), PINOCCHIO_TIP)[0]
    bias = reference.inverse_dynamics(q, v, np.zeros((1, 9)))[0]
    whole = np.block([[reference.mass_matrix(q)[0], -j.T], [j, np.zeros((6, 6))]])
    expected = np.linalg.solve(whole, np.concatenate([tau[0] - bias, -drift]))
    solution = contact_type_1(robot, q, v, tau, Contact(np.eye(6), tip=TIP))
    assert error(solution.acceleration[0], expected[:9]) < 1e-9
    assert error(solution.contact_force[0], expected[9:]) < 1e-9


def test_a_contact_that_holds_nothing_is_no_contact() -> None:
    robot = random_chain(5, seed=35)
    state = states(robot, COUNT, 36)
    solution = contact_type_1(robot, *state, Contact(np.zeros((6, 0)), tip=TIP))
    assert error(solution.acceleration, cfa_forward_dynamics(robot, *state)) < 1e-13
    assert not np.any(solution.contact_force)


def test_friction_follows_the_normal_force_and_nothing_else_acts() -> None:
    robot = random_chain(6, seed=37)
    state = states(robot, 1, 38)
    normal, along = np.eye(6)[:, 2:3], np.eye(6)[:, 0:1]
    solution = contact_type_2(robot, *state, Contact(normal, along, TIP), np.array([[-0.4]]))
    force = solution.contact_force[0]
    assert np.isclose(force[0], -0.4 * force[2], rtol=1e-12)
    assert np.array_equal(force[[1, 3, 4, 5]], np.zeros(4))


def test_takes_any_leading_shape_and_external_forces() -> None:
    robot = random_chain(7, seed=39)
    q, v, tau = (x.reshape(2, 2, -1) for x in states(robot, 4, 40))
    f_ext = np.random.default_rng(41).normal(size=(2, 2, 7, 6))
    held, loose = directions(3, 42)
    slope = np.broadcast_to(0.1 * np.ones((3, 3)), (2, 2, 3, 3))
    whole = contact_type_2(robot, q, v, tau, Contact(held, loose, TIP), slope, f_ext=f_ext)
    single = contact_type_2(
        robot,
        q[1, 0],
        v[1, 0],
        tau[1, 0],
        Contact(held, loose, TIP),
        slope[1, 0],
        f_ext=f_ext[1, 0],
    )
    assert whole.acceleration.shape == (2, 2, 7)
    assert error(single.acceleration, whole.acceleration[1, 0]) < 1e-11
    assert error(single.constraint_forces, whole.constraint_forces[1, 0]) < 1e-11


def solve(robot: Robot, contact: Contact, **options: np.ndarray) -> ContactSolution:
    n = robot.nv
    function = contact_type_2 if "slope" in options else contact_type_1
    return function(
        robot, np.zeros((2, robot.nq)), np.zeros((2, n)), np.zeros((2, n)), contact, **options
    )


@pytest.mark.parametrize(
    ("contact", "options", "message"),
    [
        (
            Contact(np.eye(5)),
            {},
            r"^contact\.constrained: must have shape \(2, 6, columns\), not \(5, 5\)$",
        ),
        (
            Contact(np.full((6, 1), np.nan)),
            {},
            r"^contact\.constrained: must be finite, holds nan$",
        ),
        (
            Contact(np.ones((6, 2))),
            {},
            r"^contact\.constrained: must have independent columns, are dependent in state 0; drop some$",
        ),
        (
            Contact(np.zeros((6, 1))),
            {},
            r"^contact\.constrained: must have independent columns, are dependent in state 0; drop some$",
        ),
        (
            Contact(np.eye(6)[:, :1]),
            {"free_forces": np.zeros((2, 1))},
            r"^free_forces: acts along the free directions of the contact; give contact\.free$",
        ),
        (
            Contact(np.eye(6)[:, :1], np.eye(6)[:, 1:3]),
            {"free_forces": np.zeros((2, 1))},
            r"^free_forces: must have shape \(2, 2\), not \(2, 1\)$",
        ),
        (
            Contact(np.eye(6)[:, :1], np.eye(6)[:, 1:3]),
            {"slope": np.zeros((1, 1))},
            r"^slope: must have shape \(2, 2, columns\), not \(1, 1\)$",
        ),
        (
            Contact(np.eye(6)[:, :1], np.eye(6)[:, 1:3]),
            {"slope": np.zeros((2, 3))},
            r"^slope: must have 1 columns, one for each of contact\.constrained, not 3$",
        ),
        (
            Contact(np.eye(6)[:, :1], acceleration=np.zeros(2)),
            {},
            r"^contact\.acceleration: must have shape \(2, 1\), not \(2,\)$",
        ),
    ],
)
def test_complains_about(contact: Contact, options: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        solve(revolute_chain(6), contact, **options)


def test_refuses_more_constraints_than_the_tip_can_move() -> None:
    message = (
        r"^contact of 'chain4': constraint forces are not determined in state 0, a kinematic singularity: the tip "
        r"cannot be accelerated along every column of contact\.constrained; move q off it or drop columns$"
    )
    with pytest.raises(SingularityError, match=message):
        solve(revolute_chain(4), Contact(np.eye(6)))


def test_refuses_a_slope_that_jams() -> None:
    """φ chosen so that a unit of normal force, with its friction, does not accelerate the tip along the normal."""
    robot = revolute_chain(7)
    normal, along = np.eye(6)[:, :1], np.eye(6)[:, 1:2]
    answer = [
        contact_type_1(
            robot, *np.zeros((3, 7)), Contact(np.zeros((6, 0)), both), np.ones(1)
        ).tip_acceleration
        - contact_type_1(
            robot, *np.zeros((3, 7)), Contact(np.zeros((6, 0)), both), np.zeros(1)
        ).tip_acceleration
        for both in (normal, along)
    ]
    slope = np.array([[-answer[0][0] / answer[1][0]]])
    message = (
        r"^contact of 'chain7': constraint forces are not determined in state 0, the slope jams the contact or q is a "
        r"kinematic singularity; change one of them$"
    )
    with pytest.raises(SingularityError, match=message):
        solve(robot, Contact(normal, along), slope=slope)


def test_refuses_trees_and_massless_links() -> None:
    hyq = load_robot("hyq")
    with pytest.raises(
        UnsupportedError, match=r"^robot 'hyq': parallel algorithms take serial chains only, "
    ):
        solve(hyq, Contact(np.eye(6)))
    robot = revolute_chain(6)
    empty = replace(robot.bodies[2], inertia=type(robot.bodies[2].inertia)())
    robot = replace(robot, bodies=(*robot.bodies[:2], empty, *robot.bodies[3:]))
    with pytest.raises(
        SingularityError, match=r"^link 'link2': has mass 0, so its inertia has no inverse; "
    ):
        solve(robot, Contact(np.eye(6)[:, :1]))
