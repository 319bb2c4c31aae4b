"""Closed loops against Pinocchio: gaps, dynamics with and without contacts, and states at which loops are closed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from rbdgen import ConfigError, Robot, SingularityError, UnsupportedError, close_loops, golden, load
from rbdgen.functions.closing import closed_states, gaps_and_jacobians
from rbdgen.model import mujoco_joint_names, with_contacts, with_frames, with_loops
from rbdgen.model.body import Loop
from tests.golden.pinocchio import model_of_bodies, states, whole
from tests.golden.test_following import following_tree
from tests.loops import TURNED, four_bar, placed, ring, ring_model
from tests.scales import SIZES, scaled

COUNT = 20
LINKS = 9
Ends = tuple[tuple[int, pin.SE3], tuple[int, pin.SE3]]
"""Pinocchio's joints of a constraint, and its places there."""


def looped(robot: Robot, seed: int, count: int = COUNT) -> tuple[np.ndarray, ...]:
    """q, v and τ at which loops are closed and stay so."""
    q, v, _, tau, _ = states(robot, count, seed)
    q, v = closed_states(robot, golden.declared_ranges(robot), q, v)
    return q, v, tau / 20


def ends_of(robot: Robot, model: pin.Model) -> Ends:
    """The frames of a ring's loop."""
    tied = robot.task_frames[1].placement
    there = pin.SE3(np.array(tied.rotation), np.array(tied.translation))
    joints = [
        model.frames[model.getFrameId(link, pin.BODY)].parentJoint for link in ("l1", f"l{LINKS}")
    ]
    return (joints[0], placed(TURNED)), (joints[1], there)


def constrained(
    model: pin.Model,
    constraints: list[pin.RigidConstraintModel],
    state: tuple[np.ndarray, ...],
    damping: float = 0.0,
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Pinocchio's accelerations, and forces by constraint."""
    models, made = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.extend(constraints)
    for held in models:
        made.append(held.createData())
    data = model.createData()
    pin.initConstraintDynamics(model, data, models, made)
    once = pin.ProximalSettings(1e-14, damping, 1)
    a = np.array(pin.constraintDynamics(model, data, *state, models, made, once))
    return a, [np.array(one.contact_force.vector) for one in made]


def near(found: np.ndarray, expected: np.ndarray, tolerance: float = 1e-9) -> bool:
    return bool(np.max(np.abs(found - expected)) <= tolerance * np.max(np.abs(expected)))


@pytest.mark.parametrize("kind", ["3d", "6d"])
@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_loops_are_pinocchios_constraints(base: str, kind: str) -> None:
    robot, model = ring(LINKS, base, kind), ring_model(LINKS, base)
    q, v, tau = looped(robot, 1)
    assert np.max(np.abs(golden.loop_residuals(robot, q))) < 1e-10
    found, forces = golden.loop_forward_dynamics(robot, q, v, tau)
    kinds = {"3d": pin.ContactType.CONTACT_3D, "6d": pin.ContactType.CONTACT_6D}
    (one, here), (other, there) = ends_of(robot, model)
    held = pin.RigidConstraintModel(kinds[kind], model, one, here, other, there, pin.LOCAL)
    for s in range(COUNT):
        expected, pushes = constrained(model, [held], (q[s], v[s], tau[s]))
        assert near(found[s], expected)
        assert near(forces[s], pushes[0][: int(kind[0])])


def test_contacts_and_loops_are_held_together() -> None:
    robot, model = ring(LINKS, "floating", "3d"), ring_model(LINKS, "floating")
    robot = with_contacts(robot, ["l5:3d", "l3:6d"])
    q, v, tau = looped(robot, 2)
    closed = np.tile([[1.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.0, 0.0]], (COUNT // 4, 1))
    found, forces = golden.constrained_forward_dynamics(robot, q, v, tau, closed, damping=1e-3)
    ends = ends_of(robot, model)
    loop = pin.RigidConstraintModel(
        pin.ContactType.CONTACT_3D, model, *ends[0], *ends[1], pin.LOCAL
    )
    kinds = {"l5": pin.ContactType.CONTACT_3D, "l3": pin.ContactType.CONTACT_6D}
    for s in range(COUNT):
        held, rows = [], []
        for k, (link, kind) in enumerate(kinds.items()):
            if closed[s, k]:
                frame = model.frames[model.getFrameId(link, pin.BODY)]
                held.append(
                    pin.RigidConstraintModel(
                        kind, model, frame.parentJoint, frame.placement, pin.LOCAL
                    )
                )
                rows.append((slice(0, 3), slice(3, 9))[k])
        expected, pushes = constrained(model, [*held, loop], (q[s], v[s], tau[s]), 1e-3)
        assert near(found[s], expected)
        for own, push in zip([*rows, slice(9, 12)], pushes, strict=True):
            assert near(forces[s, own], push[: own.stop - own.start], 1e-8)
    still = golden.loop_forward_dynamics(robot, q[3::4], v[3::4], tau[3::4], damping=1e-3)[0]
    assert near(found[3::4], still)


@pytest.mark.parametrize("kind", ["3d", "xz", "y", "6d", "xyzab", "xbc", "yzb"])
def test_gaps_return_at_the_rate_wherever_joints_are(kind: str) -> None:
    """Gaps by Pinocchio's places, and their second derivative along the motion, of loops that are open."""
    robot, model = ring(LINKS, "floating", kind), ring_model(LINKS, "floating")
    axes = robot.loops[0].axes
    data = model.createData()
    (one, here), (other, there) = ends_of(robot, model)

    def placements(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where B's origin is in A, and B's directions there."""
        pin.forwardKinematics(model, data, q)
        between = (data.oMi[one] * here).actInv(data.oMi[other] * there)
        return np.array(between.translation), np.array(between.rotation)

    def rate(q: np.ndarray, v: np.ndarray, h: float = 1e-6) -> np.ndarray:
        ahead, behind = (placements(pin.integrate(model, q, step * v)) for step in (h, -h))
        linear = (ahead[0] - behind[0]) / (2 * h)
        turn = pin.log3(ahead[1] @ behind[1].T) / (2 * h)
        return -np.concatenate([linear, turn])[list(axes)]

    q, v, _, tau, _ = states(robot, 5, 3)
    tau, v = tau / 50, v / 2
    stiff = 6.0
    a, _ = golden.loop_forward_dynamics(robot, q, v, tau, rate=stiff)
    gaps = golden.loop_residuals(robot, q)
    _, rows = gaps_and_jacobians(robot, q)
    h = 1e-4
    for s in range(len(q)):
        where, _ = placements(q[s])
        linear = [axis for axis in axes if axis < 3]
        assert np.allclose(gaps[s][: len(linear)], -where[linear], atol=1e-12)
        now = rate(q[s], v[s])
        assert np.allclose(rows[s] @ v[s], now, atol=1e-7 * np.max(np.abs(now)))
        ahead, behind = (
            rate(pin.integrate(model, q[s], step * v[s]), v[s] + step * a[s]) for step in (h, -h)
        )
        wanted = -stiff * now - stiff**2 / 4 * gaps[s]
        found = (ahead - behind) / (2 * h)
        assert np.allclose(found, wanted, atol=1e-4 * np.max(np.abs(wanted)))


def test_loops_behind_followers_are_reduced() -> None:
    """Rows of a robot of whose joints some follow others are those of the whole tree times G."""
    robot = following_tree(1)
    names = [body.name for body in robot.bodies]
    robot = with_loops(robot, [f"{names[-1]}:{names[0]}:6d"])
    model = model_of_bodies(robot.unreduced.bodies)
    data = model.createData()
    q, *_ = states(robot, 5, 5)
    everything, g = whole(robot, q)
    _, rows = gaps_and_jacobians(robot, q)
    last, first = (model.getJointId(robot.joint_names[k]) for k in (-1, 0))
    for s in range(5):
        pin.computeJointJacobians(model, data, everything[s])
        one, other = data.oMi[last], data.oMi[first]
        turn = one.rotation.T
        both = []
        for joint in (last, first):
            j = pin.getJointJacobian(model, data, joint, pin.LOCAL_WORLD_ALIGNED)
            # of what of the body is at the second frame's origin
            lever = pin.skew(other.translation - data.oMi[joint].translation)
            both.append(np.vstack([turn @ (j[:3] - lever @ j[3:]), turn @ j[3:]]))
        assert np.allclose(rows[s], (both[0] - both[1]) @ g, atol=1e-10)


def test_sliding_contacts_know_of_loops() -> None:
    robot = with_contacts(ring(LINKS, "floating", "3d"), ["l5:z"])
    q, v, tau = looped(robot, 4)
    slope = np.full((COUNT, 2), 0.1)
    free = golden.sliding_forward_dynamics(robot, q, v, tau)
    held = golden.constrained_forward_dynamics(robot, q, v, tau)
    assert near(free[0], held[0])
    assert near(free[1], held[1])
    a, forces = golden.sliding_forward_dynamics(robot, q, v, tau, slope=slope)
    _, rows = gaps_and_jacobians(robot, q)
    jacobian = golden.frame_jacobians(with_frames(robot, {"l5": ()}), q)[:, 0, :3]
    slides = np.stack([0.1 * forces[:, 0], 0.1 * forces[:, 0], forces[:, 0]], axis=-1)
    pushed = np.einsum("nij,ni->nj", jacobian, slides) + np.einsum(
        "nij,ni->nj", rows, forces[:, 1:]
    )
    assert near(golden.rnea(robot, q, v, a), tau + pushed, 1e-8)


def test_impacts_leave_loops_closed() -> None:
    robot, model = ring(LINKS, "floating", "3d"), ring_model(LINKS, "floating")
    robot = with_contacts(robot, ["l5:3d"])
    q, v, _ = looped(robot, 5)
    after, impulses = golden.impulse_dynamics(robot, q, v)
    _, rows = gaps_and_jacobians(robot, q)
    jacobian = golden.frame_jacobians(with_frames(robot, {"l5": ()}), q)[:, 0, :3]
    both = np.concatenate([jacobian, rows], axis=1)
    data = model.createData()
    for s in range(COUNT):
        assert np.max(np.abs(both[s] @ after[s])) < 1e-9
        upper = np.triu(pin.crba(model, data, q[s]))
        mass = upper + np.triu(upper, 1).T
        assert near(mass @ (after[s] - v[s]), both[s].T @ impulses[s], 1e-8)


def test_derivatives_of_loops_are_not_there() -> None:
    robot = with_contacts(four_bar(), ["b:z"])
    with pytest.raises(
        UnsupportedError, match=r"has loops \(a:b\), of whose rows there are no der"
    ):
        golden.constrained_forward_dynamics_derivatives(robot, [1.0, 0, 0, 0], *np.zeros((2, 3)))


def test_loops_are_closed_by_the_joints_that_may_move() -> None:
    robot = four_bar()
    q = golden.neutral(robot)
    closed = close_loops(robot, np.tile(q, (3, 1)))
    assert np.max(np.abs(golden.loop_residuals(robot, closed))) < 1e-10
    # the crank stays
    own = close_loops(robot, q, ["coupler_joint", "rocker_joint"])
    assert np.array_equal(own[:2], q[:2])
    assert np.max(np.abs(golden.loop_residuals(robot, own))) < 1e-10
    with pytest.raises(
        ConfigError, match="joints: no joint 'rocker' of 'four_bar' moves by itself"
    ):
        close_loops(robot, q, ["rocker"])
    with pytest.raises(
        ConfigError,
        match=r"loops of robot 'four_bar': do not close: loop a:b is open by 0\.\d+ m; begin nearer",
    ):
        close_loops(robot, q, ["rocker_joint"])
    with pytest.raises(UnsupportedError, match="has no loops; give --loop A:B"):
        close_loops(load("iiwa14"), np.zeros(7))


def test_a_frame_that_is_turned_over_is_no_closed_loop() -> None:
    """The sine of half a turn is zero, and the gap is not."""
    robot = with_loops(load("iiwa14"), ["link5:link7:ab"])
    q = np.zeros(7)
    q[5] = np.pi
    assert np.max(np.abs(golden.loop_residuals(robot, q))) < 1e-12
    assert np.max(np.abs(gaps_and_jacobians(robot, q)[0])) == pytest.approx(np.pi)
    whole_frame = with_loops(robot, ["link5:link7:abc"])
    assert np.max(np.abs(gaps_and_jacobians(whole_frame, q)[0])) == pytest.approx(np.pi)
    closed = close_loops(robot, q)
    assert np.max(np.abs(gaps_and_jacobians(robot, closed)[0])) < 1e-10
    assert abs(np.sin(closed[5])) < 1e-9
    assert np.cos(closed[5]) > 0


def test_states_with_closed_loops_are_inside_the_ranges() -> None:
    robot = four_bar()
    ranges = golden.declared_ranges(robot)
    q, v, _ = golden.random_states(robot, ranges, 200, 1)
    q, v = closed_states(robot, ranges, q, v)
    assert np.all((q >= ranges.q_lower) & (q <= ranges.q_upper))
    assert np.all(np.abs(v) <= ranges.v_max)
    gaps, rows = gaps_and_jacobians(robot, q)
    assert np.max(np.abs(gaps)) < 1e-10
    assert np.max(np.abs(np.einsum("nij,nj->ni", rows, v))) < 1e-10
    # both ways to assemble it, and all of the crank's turn
    assert len(np.unique(np.round(q, 6), axis=0)) > 150


@pytest.mark.parametrize(("mass", "length"), SIZES)
def test_loops_of_robots_of_any_size_close(mass: float, length: float) -> None:
    usual = ring(LINKS, "fixed", "6d")
    (loop,) = usual.loops
    ends = []
    for end in (loop.first, loop.second):
        moved = tuple(length * x for x in end.placement.translation)
        ends.append(replace(end, placement=replace(end.placement, translation=moved)))
    robot = replace(scaled(usual, mass, length), task_frames=())
    robot = replace(robot, loops=(Loop(*ends, loop.axes),))
    q = golden.integrate(usual, looped(usual, 7, 5)[0], np.full(LINKS, 0.05))
    closed = close_loops(robot, q)
    gaps = gaps_and_jacobians(robot, closed)[0] / np.repeat([length, 1.0], 3)
    assert np.max(np.abs(gaps)) < 1e-9
    np.testing.assert_allclose(closed, close_loops(usual, q), atol=1e-6)


def test_loops_that_hold_a_motion_twice_are_named() -> None:
    robot = four_bar("3d")
    q = close_loops(robot, golden.neutral(robot))
    with pytest.raises(SingularityError, match="loops' inertia: is singular: not all rows can be"):
        golden.loop_forward_dynamics(robot, q, np.zeros(3), np.zeros(3))
    a, forces = golden.loop_forward_dynamics(robot, q, np.zeros(3), np.ones(3), damping=1e-7)
    plain, own = golden.loop_forward_dynamics(four_bar(), q, np.zeros(3), np.ones(3))
    assert near(a, plain, 1e-5)
    assert near(forces[[0, 2]], own, 1e-5)
    with pytest.raises(UnsupportedError, match="has no loops; give --loop A:B"):
        golden.loop_residuals(load("iiwa14"), np.zeros(7))
    with pytest.raises(UnsupportedError, match="has no contacts; give --contact FRAME:3d"):
        golden.constrained_forward_dynamics(robot, q, np.zeros(3), np.zeros(3))


def test_a_leg_of_an_mjcf_file_moves_as_mujocos_constraints_let_it() -> None:
    """The equation of motion with MuJoCo's M, bias and constraint Jacobian, and constraints that stay as they are."""
    mujoco = pytest.importorskip("mujoco")
    path = Path(__file__).parents[2] / "examples" / "parallel_leg.xml"
    robot, model = load(path), mujoco.MjModel.from_xml_path(str(path))
    q, v, tau = looped(robot, 6)
    found, _ = golden.loop_forward_dynamics(robot, q, v, tau)
    order = [robot.joint_names.index(name) for name in mujoco_joint_names(model)]
    data = mujoco.MjData(model)

    def at(position: np.ndarray, velocity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gaps and their Jacobian, of MuJoCo's equalities."""
        data.qpos[:], data.qvel[:] = position[order], velocity[order]
        mujoco.mj_forward(model, data)
        rows = data.efc_J.reshape(-1, model.nv)[: data.ne]
        return np.array(data.efc_pos[: data.ne]), np.array(rows)

    h = 1e-4
    for s in range(COUNT):
        (before, _), (after, _) = (at(q[s] + t * v[s] + t**2 / 2 * found[s], v[s]) for t in (-h, h))
        gap, rows = at(q[s], v[s])
        assert rows.shape == (6, robot.nv)
        assert np.max(np.abs(gap)) < 1e-10
        mass = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, mass)
        left = mass @ found[s, order] + data.qfrc_bias - tau[s, order]
        pushed = rows.T @ np.linalg.lstsq(rows.T, left, rcond=None)[0]
        assert near(pushed, left, 1e-9)
        # the second difference of what stays closed
        bent = (before - 2 * gap + after) / h**2
        assert np.max(np.abs(bent)) < 1e-6 * np.max(np.abs(rows) @ np.abs(found[s, order]))
