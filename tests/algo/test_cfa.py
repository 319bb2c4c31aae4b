"""The constraint-force algorithm as a text, beside the golden model, and what it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from rbdgen import Robot, UnsupportedError, golden
from rbdgen.algo.cfa import constraint_forces
from rbdgen.algo.rnea import joint_placements
from rbdgen.model import FreeFlyer, Helical, Inertia, Joint, Spherical, with_armature
from rbdgen.tracing.equivalent import equivalent
from tests.chains import (
    error,
    forward_error,
    jointed,
    random_states,
    revolute_chain,
    scalars,
    snake,
    stacked,
)
from tests.golden.pinocchio import model_of_bodies


def accelerations(robot: Robot, q: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """M⁻¹ times ``rest`` (n, nv), in the frames that hardware is traced in."""
    whole = equivalent(robot).whole
    joints = joint_placements(whole, scalars(q))
    return stacked(constraint_forces(whole, joints).accelerations(scalars(rest)))


@pytest.mark.parametrize(
    "links", [1, 2, 3, 5, 8, 17, 32, pytest.param(128, marks=pytest.mark.thorough)]
)
@pytest.mark.slow
def test_chains_move_as_the_golden_model_has_them(links: int) -> None:
    assert forward_error(accelerations, links) < 1e-8


def test_a_chain_moves_as_pinocchio_has_it() -> None:
    robot = revolute_chain(17)
    q, v, tau = random_states(robot)
    model = model_of_bodies(robot.bodies)
    data = model.createData()
    rest = np.stack([x - pin.rnea(model, data, *s, 0 * x) for *s, x in zip(q, v, tau, strict=True)])
    expected = np.stack([pin.aba(model, data, *s) for s in zip(q, v, tau, strict=True)])
    assert error(accelerations(robot, q, rest), expected) < 1e-9


@pytest.mark.parametrize("links", [{0: FreeFlyer()}, {2: Spherical()}, {0: Spherical()}])
def test_joints_of_several_degrees_of_freedom(links: Mapping[int, Joint]) -> None:
    robot = jointed(links)
    q, _, rest = random_states(robot)
    expected = (golden.minverse(robot, q) @ rest[..., None])[..., 0]
    assert error(accelerations(robot, q, rest), expected) < 1e-9


def with_inertia(inertia: Inertia) -> Robot:
    """A snake whose second link has this one."""
    robot = snake(3)
    bodies = list(robot.bodies)
    bodies[1] = replace(bodies[1], inertia=inertia)
    return replace(robot, bodies=tuple(bodies))


NEEDLE = Inertia.from_com(1.0, np.array([0.1, 0.2, 0.3]), np.diag([0.1, 0.1, 0.0]))


@pytest.mark.parametrize(
    ("robot", "why"),
    [
        (jointed({1: Helical((0.0, 0.0, 1.0), 0.2)}), "joint 'j1' moves along no coordinate axis"),
        (jointed({1: FreeFlyer()}), "joint 'j1' constrains nothing"),
        (with_armature(snake(3), {"j2": 0.1}), "joint 'j2' turns a rotor's inertia"),
        (with_inertia(Inertia()), "link 'l2' has a mass of 0 kg and no inertia that can be inv.*"),
        (with_inertia(NEEDLE), "link 'l2' has a mass of 1 kg and no inertia that can be inverted"),
    ],
)
def test_what_it_does_not_take_is_named_with_the_remedy(robot: Robot, why: str) -> None:
    q, _, rest = random_states(robot)
    text = f"^forward-dynamics cfa: {why}; use forward-dynamics factors$"
    with pytest.raises(UnsupportedError, match=text):
        accelerations(robot, q, rest)
