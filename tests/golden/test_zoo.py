"""All golden functions against Pinocchio on every URDF of the package ``example-robot-data``, fixed and floating.

The package is large; without it (extra ``zoo``, ``make zoo``) the module is skipped. What is left out is listed here
with its reason, and has to be: a file that the golden model comes to refuse, or no longer refuses, fails.
"""

from __future__ import annotations

import warnings
from importlib import metadata
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from rbdgen import RbdgenWarning, Robot, golden, load_urdf
from rbdgen.errors import RbdgenError, SingularityError
from rbdgen.model import with_contacts, with_frames
from tests.golden.pinocchio import (
    INVERSE,
    differences,
    held_dynamics,
    model_of_file,
    ours,
    reduced_reference,
    states,
    whole,
    with_heavy_base,
)

STATES = 20
OFFSET = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
"""Of a frame in its link: m, and rad about fixed axes."""
DAMPING = 1e-2
"""Of a contact, 1/kg."""
TOLERANCE = 1e-9
BASES = ("fixed", "floating")

try:
    _FILES = metadata.files("example-robot-data") or []
except metadata.PackageNotFoundError:
    pytest.skip("example-robot-data is not installed (extra zoo)", allow_module_level=True)
if int(metadata.version("example-robot-data").partition(".")[0]) < 6:
    # Crocoddyl's package brings an older one, of other robots
    pytest.skip("example-robot-data is not the extra zoo's", allow_module_level=True)

ROBOTS = {
    str(p).split("/robots/", 1)[1]: Path(str(p.locate()))
    for p in _FILES
    if str(p).endswith(".urdf")
}
assert ROBOTS

EMPTY = r"has no links; a robot needs at least one$"
NOTHING_MOVES = r"has no moving joint; there is nothing to compute$"
STRANGER = (
    r"joint 'Left_index_q2': follows 'index_q1', which is no moving joint; did you mean '[^']+'\?$"
)
REFUSED = {
    ("alex_description/urdf/alex_psyonic_hands.urdf", "fixed"): STRANGER,
    ("alex_description/urdf/alex_psyonic_hands.urdf", "floating"): STRANGER,
    ("hector_description/robots/quadrotor_base.urdf", "fixed"): NOTHING_MOVES,
    ("iris_description/robots/iris_simple.urdf", "fixed"): NOTHING_MOVES,
    ("ur_description/urdf/ur3.urdf", "fixed"): EMPTY,
    ("ur_description/urdf/ur3.urdf", "floating"): EMPTY,
}
"""Files that are not read with this base, and what they are refused with."""

SINGULAR = {
    ("romeo_description/urdf/romeo.urdf", "fixed"): "joint 'RHand' moves an inertia of 0;",
    ("romeo_description/urdf/romeo.urdf", "floating"): "joint 'RHand' moves an inertia of 0;",
    (
        "romeo_description/urdf/romeo_laas_small.urdf",
        "fixed",
    ): "joint 'r_gripper_joint' moves an inertia of 0;",
    (
        "romeo_description/urdf/romeo_laas_small.urdf",
        "floating",
    ): "joint 'r_gripper_joint' moves an inertia of 0;",
}
"""Robots whose M has no inverse, and why: all but the functions that need it are compared."""

ILL_CONDITIONED = {
    ("icub_description/robots/icub.urdf", "fixed"): (1e8, 1e-8),
    ("icub_description/robots/icub.urdf", "floating"): (1e11, 1e-4),
}
"""Robots whose M is so badly conditioned (by more than the first number; the fingers weigh next to nothing) that double
precision does not determine M⁻¹ to 1e-9, and what is asked of the functions that need it instead. Against extended
precision, the golden model is off by 4e-8 at most, Pinocchio by 3e-6."""


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", sorted(ROBOTS))
def test_public_robots_agree_with_pinocchio(name: str, base: str) -> None:
    path, key = ROBOTS[name], (name, base)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RbdgenWarning)
        if key in REFUSED:
            with pytest.raises(RbdgenError, match=REFUSED[key]):
                load_urdf(path, base)
            return
        robot = load_urdf(path, base)
    model = model_of_file(path, base)
    assert robot.joint_names == tuple(model.names)[1:]
    robot = with_heavy_base(robot, model)
    given = states(robot, STATES)
    expected = reduced_reference(robot, model, *given)
    if key in SINGULAR:
        with pytest.raises(SingularityError, match=SINGULAR[key]):
            golden.minverse(robot, given[0])
    limits = dict.fromkeys(expected, TOLERANCE)
    if key in ILL_CONDITIONED:
        condition, limit = ILL_CONDITIONED[key]
        assert np.linalg.cond(expected["m"]).max() > condition
        limits |= dict.fromkeys(INVERSE, limit)
    at_rest(robot, model, *given[:2])
    frames_agree(robot, model, given, expected, limits["minv"] if key not in SINGULAR else None)
    for method in golden.METHODS:
        found = differences(ours(robot, method, *given, inverse=key not in SINGULAR), expected)
        assert all(found[n] < limits[n] for n in found), (method, found)


def at_rest(robot: Robot, model: pin.Model, q: np.ndarray, v: np.ndarray) -> None:
    """Nonlinear effects and gravity agree as well."""
    everything, g = whole(robot, q)
    data = model.createData()
    effects, weights = [], []
    for k in range(len(q)):
        effects.append(np.array(pin.nonLinearEffects(model, data, everything[k], g @ v[k])) @ g)
        weights.append(np.array(pin.computeGeneralizedGravity(model, data, everything[k])) @ g)
    found = {
        "nle": golden.nonlinear_effects(robot, q, v),
        "g": golden.generalized_gravity(robot, q),
    }
    close = differences(found, {"nle": np.array(effects), "g": np.array(weights)})
    assert max(close.values()) < TOLERANCE, close


def frames_agree(
    robot: Robot,
    model: pin.Model,
    given: tuple[np.ndarray, ...],
    expected: dict[str, np.ndarray],
    limit: float | None,
) -> None:
    """Frames on the last links of the first and of the last branch, and, where M has an inverse, their inertia to
    within ``limit``, and forward dynamics where one of them is held."""
    leaves = [
        body.name for body, below in zip(robot.bodies, robot.children, strict=True) if not below
    ]
    links = dict.fromkeys((leaves[0], leaves[-1]))
    framed = with_frames(robot, {f"f{k}={link}": OFFSET for k, link in enumerate(links)})
    numbers = []
    for frame in framed.task_frames:
        joint = model.getJointId(framed.bodies[frame.body].joint_name)
        place = pin.SE3(np.array(frame.placement.rotation), np.array(frame.placement.translation))
        new = pin.Frame(f"test_{frame.name}", joint, 0, place, pin.OP_FRAME)
        numbers.append(model.addFrame(new))
    q, v, _, tau, _ = given
    everything, g = whole(robot, q)
    data, count = model.createData(), len(numbers)
    found: dict[str, list] = {name: [] for name in ("rotation", "position", "jac", "drift")}
    for k in range(len(q)):
        pin.forwardKinematics(model, data, everything[k], g @ v[k], np.zeros(len(g)))
        pin.updateFramePlacements(model, data)
        pin.computeJointJacobians(model, data, everything[k])
        found["rotation"].append([np.array(data.oMf[n].rotation) for n in numbers])
        found["position"].append([np.array(data.oMf[n].translation) for n in numbers])
        found["jac"].append([pin.getFrameJacobian(model, data, n, pin.LOCAL) @ g for n in numbers])
        drifts = [pin.getFrameAcceleration(model, data, n, pin.LOCAL) for n in numbers]
        found["drift"].append([x.vector for x in drifts])
    theirs = {name: np.array(rows) for name, rows in found.items()}
    mine = dict(zip(("rotation", "position"), golden.frame_placements(framed, q), strict=True))
    mine["jac"] = golden.frame_jacobians(framed, q)
    close = differences(mine, {name: theirs[name] for name in mine})
    assert max(close.values()) < TOLERANCE, close
    # a lone body's is zero, what is left of its classical acceleration
    drift, classical = golden.frame_accelerations(framed, q, v)
    largest = max(1.0, np.max(np.abs(classical)), np.max(np.abs(drift)))
    assert np.max(np.abs(drift - theirs["drift"])) < TOLERANCE * largest
    if limit is None:
        return
    jacobian = theirs["jac"].reshape(len(q), 6 * count, robot.nv)
    inverse = jacobian @ expected["minv"] @ np.swapaxes(jacobian, 1, 2)
    ours_of_it = golden.operational_space_inverse(framed, q)
    close = differences({"laminv": ours_of_it}, {"laminv": inverse})
    assert max(close.values()) < limit, close
    if robot.unreduced is not robot:
        return
    held = with_contacts(framed, [framed.task_frames[-1].name])
    accelerations, forces = golden.constrained_forward_dynamics(held, q, v, tau, damping=DAMPING)
    pushes, moves = [], []
    for k in range(len(q)):
        moved, pushed = held_dynamics(
            model, [(numbers[-1], 3)], pin.LOCAL, (q[k], v[k], tau[k]), DAMPING
        )
        moves.append(moved)
        pushes.append(pushed[0])
    close = differences(
        {"a": accelerations, "f": forces}, {"a": np.array(moves), "f": np.array(pushes)}
    )
    assert max(close.values()) < limit, close


def test_what_is_left_out_is_there() -> None:
    for name, _ in (*REFUSED, *SINGULAR, *ILL_CONDITIONED):
        assert name in ROBOTS
