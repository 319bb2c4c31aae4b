"""Contacts of a chain's end by constraint forces as a text, beside the golden model, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from rbdgen import Options, Robot, UnsupportedError, compile_robot, golden, load_robot
from rbdgen.algo.chain_contact import ChainContact
from rbdgen.algo.contact import Held, Law, SlidingContacts, held_dynamics, sliding_dynamics
from rbdgen.algo.rnea import joint_placements
from rbdgen.model import FreeFlyer, Spherical, with_armature, with_contacts
from rbdgen.tracing.equivalent import equivalent
from tests.chains import (
    STATES,
    error,
    jointed,
    random_chain,
    random_states,
    scalars,
    snake,
    stacked,
    tipped,
)


def touching(robot: Robot, kind: str) -> Robot:
    """With a contact at its end."""
    return with_contacts(tipped(robot), [f"tip:{kind}"])


def contact_space(
    robot: Robot, q: np.ndarray, axes: tuple[int, ...], reference: str, damping: float
) -> ChainContact:
    """In the frames that hardware is traced in."""
    whole = equivalent(robot).whole
    joints = joint_placements(whole, scalars(q))
    return ChainContact(whole, joints, whole.contacts[0].frame, axes, reference, damping)


def asked(robot: Robot, q: np.ndarray, v: np.ndarray, reference: str) -> Held:
    """What keeps the contact's velocity, with the contact closed."""
    contact = robot.contacts[0]
    spatial, classical = golden.frame_accelerations(robot, q, v, reference=reference)
    drift = classical if contact.is_point else spatial
    return Held(1.0, scalars(-drift[:, 0][:, list(contact.axes)]))


CASES = [
    (lambda: random_chain(2, seed=1), "x", "local"),
    (lambda: random_chain(8, seed=8), "z", "local_world_aligned"),
    (lambda: random_chain(17, seed=17), "zab", "local"),
    (lambda: random_chain(33, seed=33), "6d", "local"),
    (lambda: load_robot("iiwa14"), "3d", "local_world_aligned"),
    (lambda: jointed({0: FreeFlyer()}, 4), "xc", "local"),
    (lambda: jointed({0: FreeFlyer(), 3: Spherical()}, 4), "6d", "local_world_aligned"),
]


@pytest.mark.parametrize("damping", [0.0, 0.1])
@pytest.mark.parametrize(("make", "kind", "reference"), CASES)
@pytest.mark.slow
def test_held_ends_move_as_the_golden_model_has_them(
    make: Callable[[], Robot], kind: str, reference: str, damping: float
) -> None:
    robot = touching(make(), kind)
    q, v, tau = random_states(robot)
    rest = tau - golden.nonlinear_effects(robot, q, v)
    space = contact_space(robot, q, robot.contacts[0].axes, reference, damping)
    a, forces = held_dynamics(space, [asked(robot, q, v, reference)], scalars(rest))
    how = {"reference": reference, "damping": damping}
    expected = golden.constrained_forward_dynamics(robot, q, v, tau, **how)
    assert error(stacked(a), expected[0]) < 1e-9
    assert error(stacked(forces), expected[1]) < 1e-9


@pytest.mark.parametrize(("make", "kind", "reference"), [case for case in CASES if case[1] != "6d"])
def test_sliding_ends_move_as_the_golden_model_has_them(
    make: Callable[[], Robot], kind: str, reference: str
) -> None:
    robot = touching(make(), kind)
    contact = robot.contacts[0]
    held, free = contact.rows, len(contact.free_axes)
    q, v, tau = random_states(robot)
    rng = np.random.default_rng(5)
    slope = rng.uniform(-0.1, 0.1, (STATES, held * free))
    offset = rng.normal(size=(STATES, free))
    rest = tau - golden.nonlinear_effects(robot, q, v)
    space = contact_space(robot, q, contact.axes + contact.free_axes, reference, 0.0)
    rows = [scalars(slope[:, k * held : (k + 1) * held]) for k in range(free)]
    law = Law(tuple(rows), scalars(offset))
    sliding = SlidingContacts(space, [asked(robot, q, v, reference)], [law])
    a, forces = sliding_dynamics(sliding, scalars(rest))
    expected = golden.sliding_forward_dynamics(
        robot, q, v, tau, slope=slope, offset=offset, reference=reference
    )
    assert error(stacked(a), expected[0]) < 1e-9
    assert error(stacked(forces), expected[1]) < 1e-9


def test_a_force_on_the_rows_accelerates_them_by_the_inverse_inertia() -> None:
    robot = touching(random_chain(7, seed=4), "xzb")
    q, *_ = random_states(robot)
    space = contact_space(robot, q, robot.contacts[0].axes, "local", 0.2)
    force = np.random.default_rng(1).normal(size=(STATES, 3))
    inverse = np.zeros((STATES, 3, 3))
    for (i, j), x in space.inverse.items():
        inverse[:, i, j] = x
        inverse[:, j, i] = x
    found = stacked(space.acceleration(scalars(force)))
    assert error(found, (inverse @ force[..., None])[..., 0]) < 1e-12


@pytest.mark.parametrize(
    ("robot", "contacts", "why"),
    [
        (snake(3), ["l2:z"], "takes one contact, on the last link 'l3' of robot 'snake', not 'l2'"),
        (snake(3), ["l3:z", "l2"], "takes one contact, on the last link 'l3' .*, not 'l3', 'l2'"),
        (with_armature(snake(3), {"j2": 0.1}), ["l3:z"], "joint 'j2' turns a rotor's inertia"),
        (jointed({0: FreeFlyer()}, 1), ["l1:z"], "joint 'j0' constrains nothing"),
    ],
)
def test_what_it_does_not_take_is_named_with_the_remedy(
    robot: Robot, contacts: list[str], why: str
) -> None:
    robot = with_contacts(robot, contacts)
    options = Options(("cfd",), operational_space="schur", constraint_damping=1.0)
    text = f"^operational-space schur: {why}.* use operational-space factors$"
    with pytest.raises(UnsupportedError, match=text):
        compile_robot(robot, options)
