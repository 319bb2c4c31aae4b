"""Frames, their inertia and contacts against Pinocchio: any tree and base, mimic joints, every reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pinocchio as pin
import pytest

from rbdgen import Robot, golden
from rbdgen.errors import ConfigError, SingularityError, UnsupportedError
from rbdgen.model import Setup, builtin_path, load_robot, locked, with_contacts, with_frames
from tests.golden.pinocchio import (
    held_dynamics,
    model_of_bodies,
    model_of_file,
    states,
    whole,
)
from tests.golden.test_following import following_tree
from tests.scales import SIZES, scaled

REFERENCES = {
    "local": pin.LOCAL,
    "world": pin.WORLD,
    "local_world_aligned": pin.LOCAL_WORLD_ALIGNED,
}
TURNED = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
CASES = {
    "iiwa14": ("fixed", {"tip=link7": TURNED, "link3": ()}),
    "ur5": ("fixed", {"wrist_3_link": (), "elbow=elbow_link": (0.0, 0.1, 0.0)}),
    "hyq": ("floating", {"lf_foot=lf_lowerleg": (0.0, 0.0, -0.3), "rh_lowerleg": TURNED}),
}
COUNT = 20


def framed(name: str) -> Robot:
    base, frames = CASES[name]
    return Setup(base=base, friction="none", frame=frames).load(name)


def placed(numbers: Sequence[float]) -> pin.SE3:
    x = np.concatenate([numbers, np.zeros(6)])
    return pin.SE3(pin.rpy.rpyToMatrix(*x[3:6]), x[:3])


def model_with_frames(
    name: str, base: str, frames: Mapping[str, Sequence[float]]
) -> tuple[pin.Model, dict[str, int]]:
    """Pinocchio's model, with frames that are placed by its own description of links."""
    model = model_of_file(builtin_path(name), base)
    ids = {}
    for key, numbers in frames.items():
        own, _, link = key.rpartition("=")
        carrier = model.getFrameId(link, pin.BODY)
        frame = model.frames[carrier]
        place = frame.placement * placed(numbers)
        new = pin.Frame(f"test_{key}", frame.parentJoint, carrier, place, pin.OP_FRAME)
        ids[own or link] = model.addFrame(new)
    return model, ids


def close(found: np.ndarray, expected: np.ndarray, tolerance: float = 1e-9) -> bool:
    return bool(np.max(np.abs(found - expected)) <= tolerance * max(1.0, np.max(np.abs(expected))))


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("name", CASES)
def test_frames_are_pinocchios(name: str, reference: str) -> None:
    robot = framed(name)
    model, ids = model_with_frames(name, *CASES[name])
    data, ref = model.createData(), REFERENCES[reference]
    q, v, *_ = states(robot, COUNT, 3)
    rotation, position = golden.frame_placements(robot, q)
    jacobian = golden.frame_jacobians(robot, q, reference=reference)
    spatial, classical = golden.frame_accelerations(robot, q, v, reference=reference)
    for s in range(COUNT):
        pin.forwardKinematics(model, data, q[s], v[s], np.zeros(robot.nv))
        pin.computeJointJacobians(model, data, q[s])
        pin.updateFramePlacements(model, data)
        for k, frame in enumerate(ids.values()):
            assert close(rotation[s, k], data.oMf[frame].rotation)
            assert close(position[s, k], data.oMf[frame].translation)
            assert close(jacobian[s, k], pin.getFrameJacobian(model, data, frame, ref))
            acceleration = pin.getFrameAcceleration(model, data, frame, ref)
            assert close(spatial[s, k], acceleration.vector)
            acceleration = pin.getFrameClassicalAcceleration(model, data, frame, ref)
            assert close(classical[s, k], acceleration.linear)


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("name", CASES)
def test_inertia_of_frames_is_that_of_pinocchios_jacobians_and_inverse(
    name: str, reference: str
) -> None:
    robot = framed(name)
    model, ids = model_with_frames(name, *CASES[name])
    data, ref = model.createData(), REFERENCES[reference]
    q, *_ = states(robot, COUNT, 4)
    damping = 0.05
    how = {"reference": reference, "damping": damping}
    inverse = golden.operational_space_inverse(robot, q, **how)
    inertia = golden.operational_space_inertia(robot, q, **how)
    vectors = np.random.default_rng(1).normal(size=inverse.shape[:-1])
    moved = golden.operational_space_acceleration(robot, q, vectors, **how)
    taken = golden.operational_space_force(robot, q, vectors, **how)
    for s in range(COUNT):
        upper = np.array(pin.computeMinverse(model, data, q[s]))
        m = np.triu(upper) + np.triu(upper, 1).T
        pin.computeJointJacobians(model, data, q[s])
        pin.updateFramePlacements(model, data)
        rows = [pin.getFrameJacobian(model, data, f, ref) for f in ids.values()]
        j = np.vstack(rows)
        expected = j @ m @ j.T + damping * np.eye(len(j))
        assert close(inverse[s], expected)
        assert close(inertia[s] @ expected, np.eye(len(j)))
        assert close(moved[s], expected @ vectors[s])
        assert close(expected @ taken[s], vectors[s])


def test_jacobians_of_followers_are_reduced() -> None:
    """A frame behind joints that follow others moves as the whole tree does: J of the tree times G."""
    robot = following_tree(1)
    last = robot.bodies[-1].name
    robot = with_frames(robot, {f"tip={last}": (0.1, 0.0, 0.2)})
    model = model_of_bodies(robot.unreduced.bodies)
    place = placed((0.1, 0.0, 0.2))
    joint = model.getJointId(robot.bodies[-1].joint_name)
    tip = model.addFrame(pin.Frame("tip", joint, 0, place, pin.OP_FRAME))
    data = model.createData()
    q, v, *_ = states(robot, COUNT, 5)
    everything, g = whole(robot, q)
    jacobian = golden.frame_jacobians(robot, q)
    spatial, _ = golden.frame_accelerations(robot, q, v)
    for s in range(COUNT):
        found = pin.computeFrameJacobian(model, data, everything[s], tip, pin.LOCAL)
        assert close(jacobian[s, 0], found @ g)
        pin.forwardKinematics(model, data, everything[s], g @ v[s], 0 * (g @ v[s]))
        assert close(spatial[s, 0], pin.getFrameAcceleration(model, data, tip, pin.LOCAL).vector)


HELD = {
    "iiwa14": ("fixed", {"tip=link7": TURNED}, ("tip:6d",)),
    "hyq": (
        "floating",
        {"a=lf_lowerleg": (0.0, 0.0, -0.3), "b=rh_lowerleg": TURNED, "c=rf_lowerleg": ()},
        ("a:3d", "b:6d", "c"),
    ),
}


@pytest.mark.parametrize("reference", ["local", "local_world_aligned"])
@pytest.mark.parametrize("name", HELD)
def test_contacts_are_pinocchios(name: str, reference: str) -> None:
    base, frames, contacts = HELD[name]
    robot = Setup(base=base, friction="none", frame=frames, contact=contacts).load(name)
    model, ids = model_with_frames(name, base, frames)
    q, v, _, tau, _ = states(robot, COUNT, 6)
    rng = np.random.default_rng(2)
    closed = rng.integers(0, 2, (COUNT, len(contacts)))
    closed[:, 0] |= closed.sum(axis=1) == 0
    damping, rate = 1e-2, 3.0
    found, forces = golden.constrained_forward_dynamics(
        robot, q, v, tau, closed, reference=reference, damping=damping, rate=rate
    )
    for s in range(COUNT):
        holds, kept, first = [], [], 0
        for k, contact in enumerate(robot.contacts):
            rows = slice(first, first + contact.rows)
            first = rows.stop
            if closed[s, k]:
                holds.append((ids[contact.frame.name], contact.rows))
                kept.append(rows)
            else:
                assert np.all(forces[s, rows] == 0)
        state = q[s], v[s], tau[s]
        expected, pushes = held_dynamics(model, holds, REFERENCES[reference], state, damping, rate)
        assert close(found[s], expected)
        for rows, push in zip(kept, pushes, strict=True):
            assert close(forces[s, rows], push)


def test_wanted_accelerations_are_what_held_contacts_get() -> None:
    base, frames, contacts = HELD["hyq"]
    robot = Setup(base=base, friction="none", frame=frames, contact=contacts).load("hyq")
    q, v, _, tau, f_ext = states(robot, COUNT, 7)
    wanted = np.random.default_rng(3).normal(size=(COUNT, 12))
    a, forces = golden.constrained_forward_dynamics(robot, q, v, tau, wanted=wanted, f_ext=f_ext)
    framed_robot = with_frames(robot, frames)
    j = golden.frame_jacobians(framed_robot, q)
    spatial, classical = golden.frame_accelerations(framed_robot, q, v)
    for k, rows in ((0, slice(0, 3)), (1, slice(3, 9)), (2, slice(9, 12))):
        count = rows.stop - rows.start
        drift = classical[:, k] if count == 3 else spatial[:, k]
        got = (j[:, k, :count] @ a[..., None])[..., 0] + drift
        assert close(got, wanted[:, rows], 1e-8)
    held = np.concatenate([j[:, 0, :3], j[:, 1], j[:, 2, :3]], axis=1)
    pushed = tau + (np.swapaxes(held, 1, 2) @ forces[..., None])[..., 0]
    assert close(golden.rnea(robot, q, v, a, f_ext), pushed, 1e-8)


def test_frames_are_where_locked_joints_leave_them() -> None:
    robot = with_frames(load_robot("iiwa14"), {"tip=link7": TURNED, "link2": ()})
    q, *_ = states(robot, 3, 8)
    fixed = locked(robot, {"joint4": 0.3, "joint7": -0.2})
    q[:, 3], q[:, 6] = 0.3, -0.2
    left = q[:, [0, 1, 2, 4, 5]]
    for one, other in zip(
        golden.frame_placements(robot, q), golden.frame_placements(fixed, left), strict=True
    ):
        assert close(one, other)


def test_what_cannot_be_is_named() -> None:
    arm, q = load_robot("iiwa14"), np.zeros(7)
    tip = with_frames(arm, {"link7": ()})
    with pytest.raises(UnsupportedError, match="has no frames; give --frame LINK"):
        golden.frame_jacobians(arm, q)
    with pytest.raises(UnsupportedError, match="has no contacts; give --contact FRAME:3d"):
        golden.constrained_forward_dynamics(arm, q, q, q)
    with pytest.raises(ConfigError, match="reference: must be one of local, world, local_world_al"):
        golden.frame_jacobians(tip, q, reference="body")
    with pytest.raises(SingularityError, match="frames' inertia: is singular: not all rows"):
        golden.operational_space_inertia(tip, q)
    with pytest.raises(ConfigError, match=r"damping: must be a number of 0 or more, not -1\.0"):
        golden.operational_space_inverse(tip, q, damping=-1.0)
    twice = with_contacts(tip, ["link7:6d", "link6:6d"])
    with pytest.raises(SingularityError, match="contacts' inertia: is singular"):
        golden.constrained_forward_dynamics(twice, q + 0.3, q, q)
    with pytest.raises(ConfigError, match="closed: must be 0 or 1 for each contact"):
        golden.constrained_forward_dynamics(twice, q, q, q, [0.5, 0.0])


@pytest.mark.parametrize(("mass", "length"), SIZES)
def test_frames_of_robots_of_any_size_have_an_inertia(mass: float, length: float) -> None:
    usual = load_robot("iiwa14")
    last = usual.bodies[-1].name
    q = np.linspace(0.1, 1.0, usual.nv)
    found = []
    for robot in (usual, scaled(usual, mass, length)):
        framed = with_contacts(with_frames(robot, {last: ()}), [f"{last}:6d"])
        found.append(golden.operational_space_inertia(framed, q))
        golden.constrained_forward_dynamics(framed, q, 0 * q, 0 * q)
    units = np.array([1.0, 1.0, 1.0, length, length, length])
    assert np.allclose(found[1] / (mass * np.outer(units, units)), found[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("damping", [np.float32(0.5), np.array(0.5), np.int64(1)])
def test_dampings_are_numbers_of_any_kind(damping: float) -> None:
    robot = with_frames(load_robot("pendulum2"), {"link2": ()})
    expected = golden.operational_space_inertia(robot, np.zeros(2), damping=float(damping))
    found = golden.operational_space_inertia(robot, np.zeros(2), damping=damping)
    assert np.array_equal(found, expected)
