"""Regressors against Pinocchio: files and hand-made trees, any base, and joints that follow others."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pinocchio as pin
import pytest

from rbdgen import Robot, golden, load_urdf
from rbdgen.errors import ConfigError, RbdgenWarning
from rbdgen.identification import inertial_parameters
from rbdgen.model import with_armature
from rbdgen.model.robot import VISCOUS
from tests.conftest import BUILTIN, SUPPORTED
from tests.golden.pinocchio import (
    ROOTS,
    model_of_bodies,
    model_of_file,
    states,
    whole,
    with_heavy_base,
)
from tests.golden.test_drives import damped_tree
from tests.golden.test_following import following_tree
from tests.golden.test_functions import INDEFINITE, path_of, random_tree

STATES = 20
TOLERANCE = 1e-9


def error(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))


def pinocchios(
    model: pin.Model, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Its regressors of torques, kinetic and potential energy for states in a row."""
    data = model.createData()
    torques, kinetic, potential = [], [], []
    for k in range(len(q)):
        # copies: what Pinocchio returns changes with its next call
        torques.append(np.array(pin.computeJointTorqueRegressor(model, data, q[k], v[k], a[k])))
        kinetic.append(np.array(pin.computeKineticEnergyRegressor(model, data, q[k], v[k])).ravel())
        potential.append(np.array(pin.computePotentialEnergyRegressor(model, data, q[k])).ravel())
    return np.array(torques), np.array(kinetic), np.array(potential)


@pytest.mark.parametrize("base", ROOTS)
@pytest.mark.parametrize("name", [*BUILTIN, *SUPPORTED])
def test_regressors_of_robots_are_pinocchios(name: str, base: str) -> None:
    path = path_of(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RbdgenWarning)
        robot = load_urdf(path, base)
    model = model_of_file(path, base)
    robot = with_heavy_base(robot, model)
    q, v, a, tau, _ = states(robot, STATES)
    torques, kinetic, potential = pinocchios(model, q, v, a)
    found = golden.joint_torque_regressor(robot, q, v, a)
    assert error(found, torques) < TOLERANCE
    energies = golden.energy_regressors(robot, q, v)
    assert error(energies[0], kinetic) < TOLERANCE
    assert error(energies[1], potential) < TOLERANCE
    parameters = np.concatenate([i.toDynamicParameters() for i in list(model.inertias)[1:]])
    assert error(inertial_parameters(robot), parameters) < TOLERANCE
    if name in INDEFINITE:
        return
    data = model.createData()
    expected = []
    for k in range(STATES):
        moved = np.array(pin.aba(model, data, q[k], v[k], tau[k]))
        y = np.array(pin.computeJointTorqueRegressor(model, data, q[k], v[k], moved))
        mass = np.array(pin.crba(model, data, q[k]))
        mass = np.triu(mass) + np.triu(mass, 1).T
        expected.append(-np.linalg.solve(mass, y))
    found = golden.acceleration_parameter_derivatives(robot, q, v, tau)
    assert error(found, np.array(expected)) < TOLERANCE
    given = golden.forward_dynamics(robot, q, v, tau)
    again = golden.acceleration_parameter_derivatives(robot, q, v, a=given)
    assert np.array_equal(found, again)


@pytest.mark.parametrize("seed", range(4))
def test_regressors_of_trees_of_all_joint_types_are_pinocchios(seed: int) -> None:
    robot = Robot("tree", "base", random_tree(seed, 12))
    q, v, a, _, _ = states(robot, STATES, seed)
    v = v / 5
    torques, kinetic, potential = pinocchios(model_of_bodies(robot.bodies), q, v, a)
    assert error(golden.joint_torque_regressor(robot, q, v, a), torques) < TOLERANCE
    energies = golden.energy_regressors(robot, q, v)
    assert error(energies[0], kinetic) < TOLERANCE
    assert error(energies[1], potential) < TOLERANCE


@pytest.mark.parametrize("seed", range(4))
def test_followers_have_parameters_of_their_own_and_push_their_leaders(seed: int) -> None:
    robot = following_tree(seed)
    q, v, a, _, _ = states(robot, STATES, seed)
    v = v / 5
    everything, g = whole(robot, q)
    model = model_of_bodies(robot.unreduced.bodies)
    torques, kinetic, potential = pinocchios(model, everything, v @ g.T, a @ g.T)
    found = golden.joint_torque_regressor(robot, q, v, a)
    assert found.shape == (STATES, robot.nv, 10 * len(robot.bodies))
    assert error(found, g.T @ torques) < TOLERANCE
    energies = golden.energy_regressors(robot, q, v)
    assert error(energies[0], kinetic) < TOLERANCE
    assert error(energies[1], potential) < TOLERANCE


def test_drives_are_not_among_the_parameters() -> None:
    """Armature and friction are the same for any parameters, and come on top."""
    bodies = damped_tree(1).bodies
    armature = [dataclasses.replace(b, armature=(0.3,) * b.joint.nv) for b in bodies]
    robot = Robot("tree", "base", tuple(armature), friction=VISCOUS)
    q, v, a, _, _ = states(robot, STATES)
    found = golden.joint_torque_regressor(robot, q, v, a) @ inertial_parameters(robot)
    damping = np.concatenate([robot.dampers(i) for i in range(len(robot.bodies))])
    total = golden.rnea(robot, q, v, a)
    assert error(found + damping * v + 0.3 * a, total) < TOLERANCE


def test_a_base_that_moves_is_that_of_a_floating_one() -> None:
    fixed, floating = (load_urdf(path_of("iiwa14"), base) for base in ("fixed", "floating"))
    q, v, a, _, _ = states(floating, STATES)
    q[:, 3:7] = (0.0, 0.0, 0.0, 1.0)
    root = golden.RootMotion(v[:, :6], a[:, :6])
    expected = golden.joint_torque_regressor(floating, q, v, a)[:, 6:, 10:]
    found = golden.joint_torque_regressor(fixed, q[:, 7:], v[:, 6:], a[:, 6:], root=root)
    assert error(found, expected) < TOLERANCE


def test_accelerations_change_with_parameters_as_their_derivatives_say() -> None:
    """Central differences of Pinocchio's forward dynamics."""
    path = path_of("iiwa14")
    robot, model = load_urdf(path), model_of_file(path)
    q, v, _, tau, _ = states(robot, 1)
    found = golden.acceleration_parameter_derivatives(robot, q[0], v[0], tau[0])
    step = 1e-6
    for body in range(7):
        nominal = np.array(model.inertias[body + 1].toDynamicParameters())
        for k in range(4):
            ends = []
            for sign in (1, -1):
                changed = nominal.copy()
                changed[k] += sign * step
                model.inertias[body + 1] = pin.Inertia.FromDynamicParameters(changed)
                ends.append(np.array(pin.aba(model, model.createData(), q[0], v[0], tau[0])))
            model.inertias[body + 1] = pin.Inertia.FromDynamicParameters(nominal)
            slope = (ends[0] - ends[1]) / (2 * step)
            column = found[:, 10 * body + k]
            assert np.max(np.abs(slope - column)) < 1e-5 * np.max(np.abs(found))


def test_energies_are_twice_half_of_v_times_mass_times_v() -> None:
    robot = with_armature(load_urdf(path_of("iiwa14")), {})
    q, v, _, _, _ = states(robot, STATES)
    kinetic, _ = golden.energy_regressors(robot, q, v)
    energy = np.einsum("ki,kij,kj->k", v, golden.crba(robot, q), v) / 2
    assert error(kinetic @ inertial_parameters(robot), energy) < TOLERANCE


def test_what_is_wrong_is_named() -> None:
    robot = load_urdf(path_of("iiwa14"))
    q = np.zeros(7)
    with pytest.raises(ConfigError, match=r"v: must have shape \(7\), not \(6,\)"):
        golden.energy_regressors(robot, q, np.zeros(6))
    with pytest.raises(TypeError, match="give tau, or a"):
        golden.acceleration_parameter_derivatives(robot, q, q)
