"""Centre of mass, momentum, energies and Coriolis forces against Pinocchio: files, trees of any joints, followers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from rbdgen import Robot, golden
from rbdgen.errors import UnsupportedError
from rbdgen.model import Inertia, Setup
from tests.conftest import BUILTIN, SUPPORTED, few
from tests.golden.pinocchio import ROOTS, model_of_bodies, model_of_file, states, whole
from tests.golden.test_following import following_tree
from tests.golden.test_functions import path_of, random_tree

COUNT = 20
TOLERANCE = 1e-9
Found = dict[str, np.ndarray]


def ours(robot: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Found:
    """All results by name."""
    com, velocity, jacobian = golden.center_of_mass(robot, q, v)
    centroidal, momentum = golden.centroidal_map(robot, q, v)
    rate, bias = golden.centroidal_momentum_time_variation(robot, q, v, a)
    slopes = golden.centroidal_dynamics_derivatives(robot, q, v, a)
    kinetic, potential = golden.energies(robot, q, v)
    names = ("dh_dq", "drate_dq", "drate_dv", "drate_da")
    return {
        "com": com,
        "velocity": velocity,
        "jacobian": jacobian,
        "map": centroidal,
        "momentum": momentum,
        "rate": rate,
        "bias": bias,
        **dict(zip(names, slopes, strict=True)),
        "kinetic": kinetic[..., 0],
        "potential": potential[..., 0],
        "coriolis": golden.coriolis_matrix(robot, q, v),
    }


def theirs(model: pin.Model, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> dict[str, Any]:
    """Pinocchio's at one state."""
    data = model.createData()
    found: dict[str, Any] = {"com": pin.centerOfMass(model, data, q, v).copy()}
    found["velocity"] = data.vcom[0].copy()
    found["jacobian"] = pin.jacobianCenterOfMass(model, data, q).copy()
    found["map"] = pin.ccrba(model, data, q, v).copy()
    found["momentum"] = data.hg.vector.copy()
    rate = pin.computeCentroidalMomentumTimeVariation(model, data, q, v, a)
    found["rate"] = rate.vector.copy()
    found["bias"] = pin.dccrba(model, data, q, v) @ v
    slopes = pin.computeCentroidalDynamicsDerivatives(model, data, q, v, a)
    for name, slope in zip(("dh_dq", "drate_dq", "drate_dv", "drate_da"), slopes, strict=True):
        found[name] = np.array(slope)
    found["kinetic"] = pin.computeKineticEnergy(model, data, q, v)
    found["potential"] = pin.computePotentialEnergy(model, data, q)
    found["coriolis"] = pin.computeCoriolisMatrix(model, data, q, v).copy()
    return found


def reduced(found: dict[str, Any], g: np.ndarray) -> dict[str, Any]:
    """Results of a whole tree as those of the joints that lead, which move it by ``g``."""
    columns = ("jacobian", "map", "dh_dq", "drate_dq", "drate_dv", "drate_da")
    led = {name: found[name] @ g for name in columns}
    return found | led | {"coriolis": g.T @ found["coriolis"] @ g}


def check(robot: Robot, expected: Callable[[int], dict[str, Any]], *state: np.ndarray) -> None:
    found = ours(robot, *state)
    rows = [expected(k) for k in range(len(state[0]))]
    for name, x in found.items():
        truth = np.array([row[name] for row in rows])
        largest = max(1e-6, float(np.max(np.abs(truth))))
        assert np.max(np.abs(x - truth)) <= TOLERANCE * largest, name


def cases() -> list[Any]:
    usual = {("iiwa14", "fixed"), ("hyq", "floating"), ("pendulum2", "planar")}
    every = [(name, base) for name in [*BUILTIN, *SUPPORTED] for base in ROOTS]
    return few(every, *usual)


@pytest.mark.filterwarnings("ignore::rbdgen.RbdgenWarning")
@pytest.mark.parametrize("case", cases())
def test_robots_have_pinocchios_momentum_and_energy(case: tuple[str, str]) -> None:
    name, base = case
    path = path_of(name)
    robot = Setup(base=base, friction="none").load(path)
    model = model_of_file(path, base)
    q, v, a, *_ = states(robot, COUNT, 2)
    check(robot, lambda k: theirs(model, q[k], v[k], a[k]), q, v, a)


@pytest.mark.parametrize("seed", range(4))
def test_trees_of_all_joint_types_do(seed: int) -> None:
    robot = Robot("tree", "base", random_tree(seed, 12))
    model = model_of_bodies(robot.bodies)
    q, v, a, *_ = states(robot, COUNT, seed)
    check(robot, lambda k: theirs(model, q[k], v[k], a[k]), q, v, a)


@pytest.mark.parametrize("seed", range(4))
def test_those_of_followers_are_reduced(seed: int) -> None:
    robot = following_tree(seed)
    model = model_of_bodies(robot.unreduced.bodies)
    q, v, a, *_ = states(robot, COUNT, seed)
    everything, g = whole(robot, q)

    def expected(k: int) -> dict[str, Any]:
        return reduced(theirs(model, everything[k], g @ v[k], g @ a[k]), g)

    check(robot, expected, q, v, a)


def test_rotors_have_a_part_in_kinetic_energy() -> None:
    robot = Setup(armature={"joint2": 0.3, "joint6": 0.1}).load("iiwa14")
    q, v, *_ = states(robot, COUNT, 3)
    m = golden.crba(robot, q)
    expected = 0.5 * np.einsum("ki,kij,kj->k", v, m, v)
    np.testing.assert_allclose(golden.kinetic_energy(robot, q, v), expected, rtol=1e-12)


def test_coriolis_forces_are_the_matrix_times_v_and_do_no_work() -> None:
    robot = Setup(base="floating").load("hyq")
    q, v, *_ = states(robot, COUNT, 4)
    c = golden.coriolis_matrix(robot, q, v)
    felt = golden.nonlinear_effects(robot, q, v) - golden.generalized_gravity(robot, q)
    product = np.einsum("kij,kj->ki", c, v)
    np.testing.assert_allclose(product, felt, atol=1e-9 * np.max(np.abs(felt)))
    step = 1e-6
    ahead = golden.crba(robot, golden.integrate(robot, q, step * v))
    behind = golden.crba(robot, golden.integrate(robot, q, -step * v))
    change = (ahead - behind) / (2 * step)
    skew = change - 2 * c
    assert np.max(np.abs(skew + np.swapaxes(skew, -1, -2))) < 1e-6 * np.max(np.abs(change))


def test_parts_are_those_of_the_whole() -> None:
    robot = Setup().load("ur5")
    q, v, *_ = states(robot, COUNT, 5)
    com, _, jacobian = golden.center_of_mass(robot, q, v)
    np.testing.assert_array_equal(golden.center_of_mass(robot, q), com)
    np.testing.assert_array_equal(golden.jacobian_center_of_mass(robot, q), jacobian)
    found, momentum = golden.centroidal_map(robot, q, v)
    np.testing.assert_array_equal(golden.centroidal_map(robot, q), found)
    np.testing.assert_array_equal(golden.centroidal_momentum(robot, q, v), momentum)
    assert golden.potential_energy(robot, q[0]).shape == ()


def test_what_has_no_mass_has_no_centre_of_it() -> None:
    bodies = random_tree(1, 3)
    empty = tuple(
        type(b)(b.name, b.joint_name, b.joint, b.parent, b.placement, Inertia()) for b in bodies
    )
    robot = Robot("ghost", "base", empty)
    q, *_ = states(robot, 1, 1)
    with pytest.raises(UnsupportedError, match="robot 'ghost': has no mass, and so no centre"):
        golden.center_of_mass(robot, q)
