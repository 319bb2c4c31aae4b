"""Contacts with held and free directions, beside the dense equations of motion and Pinocchio's M and Jacobians."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin
import pytest

from rbdgen import Robot, golden
from rbdgen.errors import ConfigError, SingularityError, UnsupportedError
from rbdgen.model import Setup, load_robot, with_contacts, with_frames
from tests.chains import revolute_chain
from tests.golden.pinocchio import states
from tests.golden.test_frames import REFERENCES, TURNED, close, model_with_frames

COUNT = 8
FRAMES = {"a=lf_lowerleg": (0.0, 0.0, -0.3), "b=rh_lowerleg": TURNED, "c=rf_lowerleg": ()}


def laws(robot: Robot, seed: int, largest: float) -> tuple[np.ndarray, np.ndarray]:
    """Random slopes and offsets."""
    rng = np.random.default_rng(seed)
    slopes = sum(c.rows * len(c.free_axes) for c in robot.contacts)
    free = sum(len(c.free_axes) for c in robot.contacts)
    return rng.uniform(-largest, largest, (COUNT, slopes)), rng.normal(size=(COUNT, free))


def dense_slopes(robot: Robot, slope: np.ndarray) -> np.ndarray:
    """φ of all contacts (free rows, held rows), from the slopes one after the other."""
    blocks = []
    first = 0
    for c in robot.contacts:
        shape = len(c.free_axes), c.rows
        count = shape[0] * shape[1]
        blocks.append(slope[first : first + count].reshape(shape))
        first += count
    found = np.zeros((sum(b.shape[0] for b in blocks), sum(b.shape[1] for b in blocks)))
    row = column = 0
    for block in blocks:
        found[row : row + block.shape[0], column : column + block.shape[1]] = block
        row += block.shape[0]
        column += block.shape[1]
    return found


@pytest.mark.parametrize("reference", ["local", "local_world_aligned"])
@pytest.mark.parametrize(
    "contacts",
    [("a:z", "b:zab", "c"), ("b:xz",), ("a:y", "c:z"), ("a:xc", "b:6d")],
    ids=",".join,
)
def test_sliding_contacts_solve_the_dense_equations(
    contacts: Sequence[str], reference: str
) -> None:
    """One dense system of Pinocchio's M, C, Jacobians and accelerations for a and the held forces together."""
    robot = Setup(base="floating", friction="none", frame=FRAMES, contact=contacts).load("hyq")
    model, ids = model_with_frames("hyq", "floating", FRAMES)
    data, ref = model.createData(), REFERENCES[reference]
    q, v, _, tau, _ = states(robot, COUNT, 6)
    slope, offset = laws(robot, 7, 0.05)
    rows = sum(c.rows for c in robot.contacts)
    wanted = np.random.default_rng(8).normal(size=(COUNT, rows))
    damping, rate = 1e-2, 3.0
    a, forces = golden.sliding_forward_dynamics(
        *(robot, q, v, tau, None, wanted, slope, offset),
        reference=reference,
        damping=damping,
        rate=rate,
    )
    for s in range(COUNT):
        m = pin.crba(model, data, q[s])
        m = np.triu(m) + np.triu(m, 1).T
        rest = tau[s] - pin.nonLinearEffects(model, data, q[s], v[s])
        pin.computeJointJacobians(model, data, q[s])
        pin.forwardKinematics(model, data, q[s], v[s], np.zeros(robot.nv))
        pin.updateFramePlacements(model, data)
        held, free, drift = [], [], []
        for c in robot.contacts:
            frame = ids[c.frame.name]
            jacobian = pin.getFrameJacobian(model, data, frame, ref)
            moving = pin.getFrameAcceleration(model, data, frame, ref)
            if c.is_point:
                moving = pin.getFrameClassicalAcceleration(model, data, frame, ref)
            held.append(jacobian[list(c.axes)])
            free.append(jacobian[list(c.free_axes)])
            drift.append(moving.vector[list(c.axes)])
        j, f = np.concatenate(held), np.concatenate(free)
        phi = dense_slopes(robot, slope[s])
        missing = wanted[s] - np.concatenate(drift) - rate * (j @ v[s])
        dense = np.block([[m, -(j + phi.T @ f).T], [j, damping * np.eye(rows)]])
        right = np.concatenate([rest + f.T @ offset[s], missing])
        expected = np.linalg.solve(dense, right)
        assert close(a[s], expected[: robot.nv])
        assert close(forces[s], expected[robot.nv :])


@pytest.mark.parametrize("kind", ["z", "xz", "xyz", "zab", "xc", "b"])
def test_contacts_of_a_chains_end_hold_what_they_say_and_let_go_of_the_rest(kind: str) -> None:
    """The equation of motion, the constraint, and the law, each on its own."""
    robot = with_frames(revolute_chain(8), {"tip=link7": TURNED})
    robot = with_contacts(robot, [f"tip:{kind}"])
    contact = robot.contacts[0]
    rng = np.random.default_rng(1)
    q, v, tau = rng.uniform(-1, 1, (3, COUNT, 8))
    slope, offset = laws(robot, 2, 0.2)
    wanted = rng.normal(size=(COUNT, contact.rows))
    a, forces = golden.sliding_forward_dynamics(robot, q, v, tau, None, wanted, slope, offset)
    j = golden.frame_jacobians(robot, q)[:, 0]
    held, free = j[:, list(contact.axes)], j[:, list(contact.free_axes)]
    phi = slope.reshape(COUNT, -1, contact.rows)
    along = np.einsum("bfh,bh->bf", phi, forces) + offset
    pushed = np.einsum("bhn,bh->bn", held, forces) + np.einsum("bfn,bf->bn", free, along)
    assert close(golden.rnea(robot, q, v, a), tau + pushed)
    spatial, classical = golden.frame_accelerations(robot, q, v)
    drift = classical if contact.is_point else spatial
    got = np.einsum("bhn,bn->bh", held, a) + drift[:, 0][:, list(contact.axes)]
    assert close(got, wanted)


def test_a_known_force_is_an_offset_or_an_external_force() -> None:
    """Contacts of the first type: what acts along the free directions is given."""
    robot = with_frames(revolute_chain(6), {"tip=link5": TURNED})
    robot = with_contacts(robot, ["tip:z"])
    rng = np.random.default_rng(3)
    q, v, tau = rng.uniform(-1, 1, (3, COUNT, 6))
    offset = rng.normal(size=(COUNT, 2))
    place = robot.task_frames[0].placement
    force = np.concatenate([offset, np.zeros((COUNT, 1))], axis=1) @ np.array(place.rotation).T
    f_ext = np.zeros((COUNT, 6, 6))
    f_ext[:, -1, :3] = force
    f_ext[:, -1, 3:] = np.cross(place.translation, force)
    found = golden.sliding_forward_dynamics(robot, q, v, tau, offset=offset)
    expected = golden.constrained_forward_dynamics(robot, q, v, tau, f_ext=f_ext)
    for x, y in zip(found, expected, strict=True):
        assert close(x, y)


def test_open_contacts_neither_hold_nor_rub() -> None:
    robot = Setup(base="floating", frame=FRAMES, contact=("a:z", "b:z")).load("hyq")
    q, v, _, tau, _ = states(robot, COUNT, 9)
    slope, offset = laws(robot, 4, 0.05)
    closed = np.tile([0.0, 1.0], (COUNT, 1))
    a, forces = golden.sliding_forward_dynamics(robot, q, v, tau, closed, None, slope, offset)
    assert np.all(forces[:, 0] == 0)
    alone = with_contacts(robot, ["b:z"])
    one = golden.sliding_forward_dynamics(
        alone, q, v, tau, slope=slope[:, 2:], offset=offset[:, 2:]
    )
    assert close(a, one[0])
    assert close(forces[:, 1:], one[1])


def test_without_slopes_they_are_held_as_any_contacts() -> None:
    robot = Setup(base="floating", frame=FRAMES, contact=("a", "b:zab")).load("hyq")
    q, v, _, tau, _ = states(robot, COUNT, 10)
    found = golden.sliding_forward_dynamics(robot, q, v, tau)
    expected = golden.constrained_forward_dynamics(robot, q, v, tau)
    for x, y in zip(found, expected, strict=True):
        assert close(x, y, 1e-8)


def test_they_take_any_leading_shape() -> None:
    robot = with_contacts(revolute_chain(6), ["link5:xz"])
    rng = np.random.default_rng(5)
    q, v, tau = rng.uniform(-1, 1, (3, 2, 3, 6))
    slope, offset = rng.uniform(-0.1, 0.1, (2, 3, 2)), rng.normal(size=(2, 3, 1))
    a, forces = golden.sliding_forward_dynamics(robot, q, v, tau, slope=slope, offset=offset)
    assert (a.shape, forces.shape) == ((2, 3, 6), (2, 3, 2))
    one = golden.sliding_forward_dynamics(
        *(robot, q[1, 0], v[1, 0], tau[1, 0]), slope=slope[1, 0], offset=offset[1, 0]
    )
    assert close(one[0], a[1, 0])
    assert close(one[1], forces[1, 0])


def jamming(robot: Robot, q: np.ndarray) -> float:
    """The slope along x at which a unit of normal force does not move the tip along z."""
    inverse = golden.operational_space_inverse(robot, q)
    return float(-inverse[2, 2] / inverse[2, 0])


def test_a_slope_that_jams_is_refused() -> None:
    robot = with_frames(revolute_chain(7), {"tip=link6": TURNED})
    robot = with_contacts(robot, ["tip:z"])
    q = np.full(7, 0.3)
    limit = jamming(robot, q)
    text = r"^slope: jams a contact of robot 'chain7'( at state 1)?: .*; give smaller slopes"
    for share in (1.0, 1.5):
        with pytest.raises(SingularityError, match=text):
            golden.sliding_forward_dynamics(robot, q, q, q, slope=np.array([share * limit, 0.0]))
    slopes = np.array([[0.5 * limit, 0.0], [2 * limit, 0.0]])
    both = np.stack([q, q])
    with pytest.raises(SingularityError, match="at state 1"):
        golden.sliding_forward_dynamics(robot, both, both, both, slope=slopes)


def test_what_cannot_be_is_named() -> None:
    arm, q = load_robot("iiwa14"), np.full(7, 0.3)
    with pytest.raises(UnsupportedError, match="has no contacts; give --contact FRAME:3d"):
        golden.sliding_forward_dynamics(arm, q, q, q)
    robot = with_contacts(arm, ["link7:xz"])
    with pytest.raises(ConfigError, match=r"^slope: must have shape \(2\), not \(4,\)$"):
        golden.sliding_forward_dynamics(robot, q, q, q, slope=np.zeros(4))
    with pytest.raises(ConfigError, match=r"^offset: must have shape \(1\), not \(2,\)$"):
        golden.sliding_forward_dynamics(robot, q, q, q, offset=np.zeros(2))
