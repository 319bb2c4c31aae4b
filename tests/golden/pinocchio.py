"""Pinocchio as an oracle: all seven functions for a batch of states, and models of robots that no file describes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pinocchio as pin

from rbdgen import Robot, golden
from rbdgen.model.body import Body, Inertia
from tests.model.test_joints import pinocchio_joint

ROOTS = {"fixed": (), "floating": (pin.JointModelFreeFlyer,), "planar": (pin.JointModelPlanar,)}
INVERSE = ("minv", "fd", "da_dq", "da_dv")
"""Outputs that need M⁻¹."""


def model_of_file(path: Path, base: str = "fixed") -> pin.Model:
    return pin.buildModelFromUrdf(str(path), *(root() for root in ROOTS[base]))


def model_of_bodies(bodies: tuple[Body, ...]) -> pin.Model:
    """Pinocchio's model of bodies, compound joints included."""
    model = pin.Model()
    for body in bodies:
        place = pin.SE3(np.array(body.placement.rotation), np.array(body.placement.translation))
        number = model.addJoint(
            body.parent + 1, pinocchio_joint(body.joint), place, body.joint_name
        )
        model.appendBodyToJoint(number, inertia(body.inertia), pin.SE3.Identity())
    model.armature = np.array([x for body in bodies for x in body.rotors])
    return model


def inertia(given: Inertia) -> pin.Inertia:
    lever = np.array(given.first_moment) / given.mass if given.mass else np.zeros(3)
    about_lever = given.rotational - given.mass * (
        lever @ lever * np.eye(3) - np.outer(lever, lever)
    )
    return pin.Inertia(given.mass, lever, about_lever)


def with_heavy_base(robot: Robot, model: pin.Model) -> Robot:
    """``robot`` and ``model`` with a mass in the base link where it had none: files of arms that are bolted down leave
    it out, and then nothing determines how a floating base moves."""
    if robot.joint_names[0] != "root_joint" or robot.bodies[0].inertia.mass > 0:
        return robot
    block = Inertia.from_com(5.0, np.array([0.01, 0.02, 0.03]), np.diag([0.1, 0.2, 0.25]))
    model.inertias[1] = inertia(block)
    return dataclasses.replace(
        robot, bodies=(dataclasses.replace(robot.bodies[0], inertia=block), *robot.bodies[1:])
    )


def _symmetric(upper: np.ndarray) -> np.ndarray:
    return np.triu(upper) + np.triu(upper, 1).T


def reference(
    robot: Robot,
    model: pin.Model,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    tau: np.ndarray,
    f_ext: np.ndarray,
) -> dict[str, np.ndarray]:
    """Pinocchio's results by output name, for states in a row."""
    data = model.createData()
    place = [robot.joint_names.index(name) for name in list(model.names)[1:]]
    results: dict[str, list[np.ndarray]] = {}
    for k in range(len(q)):
        forces = pin.StdVec_Force()
        forces.extend(
            [pin.Force.Zero(), *(pin.Force(f_ext[k, i, :3], f_ext[k, i, 3:]) for i in place)]
        )
        # copies: what Pinocchio returns changes with its next call
        id_dq, id_dv, _ = (
            np.array(x) for x in pin.computeRNEADerivatives(model, data, q[k], v[k], a[k], forces)
        )
        now = {
            "id": pin.rnea(model, data, q[k], v[k], a[k], forces),
            "m": _symmetric(pin.crba(model, data, q[k])),
            "dtau_dq": id_dq,
            "dtau_dv": id_dv,
            "fd": pin.aba(model, data, q[k], v[k], tau[k], forces),
            "minv": _symmetric(pin.computeMinverse(model, data, q[k])),
        }
        now["da_dq"], now["da_dv"], _ = pin.computeABADerivatives(
            model, data, q[k], v[k], tau[k], forces
        )
        for name, value in now.items():
            results.setdefault(name, []).append(np.array(value))
    return {name: np.array(rows) for name, rows in results.items()}


def whole(robot: Robot, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates of the whole tree, and G (joints of the tree, joints that lead)."""
    starts = {b.joint_name: (qs, vs.start) for b, qs, vs in robot.independent}
    columns = []
    g = np.zeros((robot.unreduced.nv, robot.nv))
    for rows, body in zip(robot.unreduced.v_slices, robot.bodies, strict=True):
        if body.mimic is None:
            own, column = starts[body.joint_name]
            columns.append(q[:, own])
            g[rows, column : column + body.nv] = np.eye(body.nv)
            continue
        own, column = starts[body.mimic.joint]
        led = q[:, own]
        g[rows, column] = body.mimic.multiplier
        if led.shape[1] == 2:
            angle = np.arctan2(led[:, 1], led[:, 0]) * body.mimic.multiplier + body.mimic.offset
            columns.append(np.stack([np.cos(angle), np.sin(angle)], axis=1))
        else:
            columns.append(led * body.mimic.multiplier + body.mimic.offset)
    return np.concatenate(columns, axis=1), g


def reduced_reference(robot: Robot, model: pin.Model, *given: np.ndarray) -> dict[str, np.ndarray]:
    """Pinocchio's results for a robot of whose joints some follow others: those of ``model``, in which none does,
    reduced by G. (Pinocchio's own mimic joints have no derivatives and no forward dynamics.)"""
    if robot.unreduced is robot:
        return reference(robot, model, *given)
    q, v, a, tau, f_ext = given
    everything, g = whole(robot, q)
    speeds = v @ g.T
    nothing = np.zeros_like(speeds)

    def tree(accelerations: np.ndarray) -> dict[str, np.ndarray]:
        return reference(robot.unreduced, model, everything, speeds, accelerations, nothing, f_ext)

    moving = tree(a @ g.T)
    expected = {"id": moving["id"] @ g}
    for name in ("m", "dtau_dq", "dtau_dv"):
        expected[name] = g.T @ moving[name] @ g
    if np.any(np.linalg.matrix_rank(expected["m"]) < robot.nv):
        return expected
    inverse = np.linalg.inv(expected["m"])
    rest = tau - tree(nothing)["id"] @ g
    expected["minv"] = inverse
    expected["fd"] = np.einsum("kij,kj->ki", inverse, rest)
    reached = tree(expected["fd"] @ g.T)
    for name, derivative in (("da_dq", "dtau_dq"), ("da_dv", "dtau_dv")):
        expected[name] = -inverse @ g.T @ reached[derivative] @ g
    return expected


def ours(
    robot: Robot,
    method: str,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    tau: np.ndarray,
    f_ext: np.ndarray,
    inverse: bool = True,
) -> dict[str, np.ndarray]:
    """The golden model's results by output name; without those that need M⁻¹ if not ``inverse``."""
    results = {"id": golden.rnea(robot, q, v, a, f_ext), "m": golden.crba(robot, q, method=method)}
    results["dtau_dq"], results["dtau_dv"] = golden.rnea_derivatives(
        robot, q, v, a, f_ext, method=method
    )
    if inverse:
        results["minv"] = golden.minverse(robot, q, method=method)
        results["fd"] = golden.forward_dynamics(robot, q, v, tau, f_ext, method=method)
        both = golden.forward_dynamics_derivatives(robot, q, v, tau, f_ext, method=method)
        results["da_dq"], results["da_dv"] = both
    return results


def states(robot: Robot, count: int, seed: int = 1) -> tuple[np.ndarray, ...]:
    """q, v, a, τ and f_ext."""
    ranges = golden.declared_ranges(robot)
    q, v, a = golden.random_states(robot, ranges, count, seed)
    rng = np.random.default_rng(seed)
    effort = np.array([100.0 if limit is None else limit for limit in ranges.tau_max])
    tau = rng.uniform(-1, 1, v.shape) * effort
    return q, v, a, tau, rng.normal(size=(count, len(robot.bodies), 6)) * 10


NOISE = 1e-8
"""A force or its derivative that is smaller (in units of metres, seconds and newtons) is zero but for rounding."""


def differences(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> dict[str, float]:
    """The largest difference of each output, relative to the output's largest magnitude."""
    largest = {n: float(np.max(np.abs(x))) for n, x in expected.items()}
    noise = {n: NOISE * largest["minv"] if n in ("fd", "da_dq", "da_dv") else NOISE for n in found}
    return {
        n: float(np.max(np.abs(x - expected[n]))) / max(largest[n], noise[n])
        for n, x in found.items()
    }


def agree(robot: Robot, model: pin.Model, count: int = 10) -> None:
    """All functions by both families at some states, to rounding."""
    given = states(robot, count)
    expected = reference(robot, model, *given)
    for method in golden.METHODS:
        found = differences(ours(robot, method, *given), expected)
        assert max(found.values()) < 1e-9, (method, found)


def held_dynamics(
    model: pin.Model,
    holds: Sequence[tuple[int, int]],
    reference: pin.ReferenceFrame,
    state: tuple[np.ndarray, np.ndarray, np.ndarray],
    damping: float,
    rate: float = 0.0,
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Pinocchio's accelerations, and the force of each contact, at one q, v and τ: ``holds`` are frames' numbers and
    rows, 3 or 6; ``damping`` and ``rate`` as ours."""
    models, made = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for number, rows in holds:
        frame = model.frames[number]
        kind = pin.ContactType.CONTACT_3D if rows == 3 else pin.ContactType.CONTACT_6D
        held = pin.RigidConstraintModel(kind, model, frame.parentJoint, frame.placement, reference)
        corrector = held.m_baumgarte_parameters
        corrector.Kp, corrector.Kd = 0.0, rate
        held.setBaumgarteCorrectorParameters(corrector)
        models.append(held)
    for held in models:
        made.append(held.createData())
    data = model.createData()
    pin.initConstraintDynamics(model, data, models, made)
    once = pin.ProximalSettings(1e-14, damping, 1)
    accelerations = np.array(pin.constraintDynamics(model, data, *state, models, made, once))
    rows = [count for _, count in holds]
    forces = [
        np.array(one.contact_force.vector[:count]) for one, count in zip(made, rows, strict=True)
    ]
    return accelerations, forces
