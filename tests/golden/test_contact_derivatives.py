"""Impacts, derivatives of dynamics in contact, and frames' Jacobians over time, against Pinocchio."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from rbdgen import Robot, golden
from rbdgen.errors import ConfigError, SingularityError
from rbdgen.model import Setup, with_contacts
from tests.golden.pinocchio import states
from tests.golden.test_frames import CASES, REFERENCES, close, framed, model_with_frames
from tests.golden.test_second_order import differences

COUNT = 20
HELD = {
    "iiwa14": ("fixed", ("link7",)),
    "hyq": ("floating", ("lf_lowerleg", "rh_lowerleg:6d")),
}
SIDES = {name: REFERENCES[name] for name in ("local", "local_world_aligned")}


def held(name: str) -> Robot:
    base, contacts = HELD[name]
    return with_contacts(Setup(base=base, friction="none").load(name), contacts)


class Held:
    """Pinocchio's model of a robot that is held, with its constraints."""

    def __init__(self, name: str, reference: str) -> None:
        robot = held(name)
        base, _ = HELD[name]
        frames = {contact.frame.name: () for contact in robot.contacts}
        self.model, ids = model_with_frames(name, base, frames)
        self.data = self.model.createData()
        self.models = pin.StdVec_RigidConstraintModel()
        self.datas = pin.StdVec_RigidConstraintData()
        self.rows = [contact.rows for contact in robot.contacts]
        for rows, number in zip(self.rows, ids.values(), strict=True):
            frame = self.model.frames[number]
            kind = pin.ContactType.CONTACT_3D if rows == 3 else pin.ContactType.CONTACT_6D
            own = frame.parentJoint, frame.placement, SIDES[reference]
            self.models.append(pin.RigidConstraintModel(kind, self.model, *own))
        for model in self.models:
            self.datas.append(model.createData())
        pin.initConstraintDynamics(self.model, self.data, self.models, self.datas)
        self.once = pin.ProximalSettings(1e-14, 0.0, 1)
        self.given = self.models, self.datas

    def impulse(self, q: np.ndarray, v: np.ndarray, restitution: float) -> tuple[Any, Any]:
        how = *self.given, restitution, self.once
        after = np.array(pin.impulseDynamics(self.model, self.data, q, v, *how))
        parts = zip(self.datas, self.rows, strict=True)
        return after, np.concatenate([d.contact_force.vector[:rows] for d, rows in parts])

    def derivatives(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> list[np.ndarray]:
        d = self.data
        pin.constraintDynamics(self.model, d, q, v, tau, *self.given, self.once)
        pin.computeConstraintDynamicsDerivatives(self.model, d, *self.given, self.once)
        accelerations = d.ddq_dq, d.ddq_dv, d.ddq_dtau
        forces = d.dlambda_dq, d.dlambda_dv, d.dlambda_dtau
        return [np.array(x) for x in (*accelerations, *forces)]


@pytest.mark.parametrize("reference", SIDES)
@pytest.mark.parametrize("name", HELD)
def test_impacts_are_pinocchios(name: str, reference: str) -> None:
    robot, theirs = held(name), Held(name, reference)
    q, v, *_ = states(robot, COUNT, 3)
    after, impulses = golden.impulse_dynamics(robot, q, v, restitution=0.3, reference=reference)
    for k in range(COUNT):
        expected, pushed = theirs.impulse(q[k], v[k], 0.3)
        assert close(after[k], expected)
        assert close(impulses[k], pushed)


def test_contacts_leave_at_their_own_share_of_their_speed() -> None:
    robot = held("hyq")
    q, v, *_ = states(robot, COUNT, 4)
    share = np.random.default_rng(1).uniform(0, 1, (COUNT, 2))
    closed = np.tile([1.0, 0.0], (COUNT, 1))
    after, impulses = golden.impulse_dynamics(robot, q, v, closed, share)
    frames = {contact.frame.name: () for contact in robot.contacts}
    jacobian = golden.frame_jacobians(Setup(base="floating", frame=frames).load("hyq"), q)
    before, behind = (np.einsum("kfrj,kj->kfr", jacobian, x) for x in (v, after))
    left = -share[:, :1] * before[:, 0, :3]
    np.testing.assert_allclose(behind[:, 0, :3], left, atol=1e-9)
    assert not np.any(impulses[:, 3:])


def test_what_no_impact_can_be_is_refused() -> None:
    robot = held("iiwa14")
    q, v, *_ = states(robot, 2, 5)
    with pytest.raises(ConfigError, match="restitution: must be 0 to 1 for each contact"):
        golden.impulse_dynamics(robot, q, v, restitution=1.5)
    with pytest.raises(ConfigError, match="closed: must be 0 or 1"):
        golden.impulse_dynamics(robot, q, v, np.full((2, 1), 0.5))
    with pytest.raises(SingularityError, match="contacts' inertia"):
        golden.impulse_dynamics(robot, np.zeros(7), np.zeros(7))


@pytest.mark.parametrize("reference", SIDES)
@pytest.mark.parametrize("name", HELD)
def test_derivatives_in_contact_are_pinocchios(name: str, reference: str) -> None:
    robot, theirs = held(name), Held(name, reference)
    q, v, _, tau, _ = states(robot, COUNT, 3)
    found = golden.constrained_forward_dynamics_derivatives(robot, q, v, tau, reference=reference)
    for k in range(COUNT):
        expected = theirs.derivatives(q[k], v[k], tau[k])
        for x, truth in zip(found, expected, strict=True):
            assert close(x[k], truth)


@pytest.mark.parametrize("reference", SIDES)
def test_derivatives_with_forces_damping_and_a_rate_are_slopes(reference: str) -> None:
    robot = held("iiwa14")
    n = robot.nv
    q, v, _, tau, f_ext = (x[0] for x in states(robot, 1, 6))
    how = {"reference": reference, "damping": 1e-3, "rate": 2.0}
    found = golden.constrained_forward_dynamics_derivatives(robot, q, v, tau, f_ext=f_ext, **how)

    def both(q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        made = golden.constrained_forward_dynamics(robot, q, v, tau, f_ext=f_ext, **how)
        return np.concatenate(made)

    by_q = differences(lambda dq: both(golden.integrate(robot, q, dq), v, tau), n, 1e-3)
    by_v = differences(lambda dv: both(q, v + dv, tau), n, 1e-3)
    by_tau = differences(lambda change: both(q, v, tau + change), n, 1e-3)
    for k, expected in enumerate((by_q, by_v, by_tau)):
        assert close(found[k], expected[:n], 1e-7)
        assert close(found[k + 3], expected[n:], 1e-7)


@pytest.mark.parametrize("reference", SIDES)
def test_derivatives_of_what_slides_are_slopes(reference: str) -> None:
    robot = with_contacts(Setup(friction="none").load("iiwa14"), ["link7:z", "link4:xy"])
    n = robot.nv
    q, v, _, tau, f_ext = (x[0] for x in states(robot, 1, 6))
    law = {"slope": np.array([0.3, -0.1, 0.05, 0.2]), "offset": np.array([1.0, -2.0, 0.5])}
    how = {"reference": reference, "damping": 0.05, "rate": 2.0, "f_ext": f_ext, **law}
    found = golden.sliding_forward_dynamics_derivatives(robot, q, v, tau, **how)

    def both(q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        return np.concatenate(golden.sliding_forward_dynamics(robot, q, v, tau, **how))

    by_q = differences(lambda dq: both(golden.integrate(robot, q, dq), v, tau), n, 1e-3)
    by_v = differences(lambda dv: both(q, v + dv, tau), n, 1e-3)
    by_tau = differences(lambda change: both(q, v, tau + change), n, 1e-3)
    for k, expected in enumerate((by_q, by_v, by_tau)):
        assert close(found[k], expected[:n], 1e-7)
        assert close(found[k + 3], expected[n:], 1e-7)


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("name", CASES)
def test_jacobians_change_as_pinocchios(name: str, reference: str) -> None:
    robot = framed(name)
    model, ids = model_with_frames(name, *CASES[name])
    data, ref = model.createData(), REFERENCES[reference]
    q, v, *_ = states(robot, COUNT, 3)
    rates = golden.frame_jacobian_rates(robot, q, v, reference=reference)
    torques, moved = golden.frame_force_derivatives(robot, q, reference=reference)
    inverse = golden.minverse(robot, q)
    for k in range(COUNT):
        pin.computeJointJacobiansTimeVariation(model, data, q[k], v[k])
        pin.forwardKinematics(model, data, q[k], v[k], np.zeros(robot.nv))
        pin.updateFramePlacements(model, data)
        for number, frame in enumerate(ids.values()):
            expected = pin.getFrameJacobianTimeVariation(model, data, frame, ref)
            assert close(rates[k, number], expected)
        pin.computeJointJacobians(model, data, q[k])
        jacobian = np.vstack([pin.getFrameJacobian(model, data, f, ref) for f in ids.values()])
        assert close(torques[k], -jacobian.T)
        assert close(moved[k], inverse[k] @ jacobian.T)
