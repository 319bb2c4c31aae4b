"""The two forward dynamics, and M and M⁻¹ on their way, against Pinocchio and each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from rbdgen import ConfigError, Robot, load_robot
from rbdgen.errors import SingularityError, UnsupportedError
from rbdgen.model import (
    Body,
    Cylindrical,
    FreeFlyer,
    Helical,
    Inertia,
    Placement,
    Prismatic,
    Revolute,
    Spherical,
)
from rbdgen.model.joints import Translation
from rbdgen.parallel import (
    cfa_forward_dynamics,
    cfa_inverse,
    jsiia_forward_dynamics,
    jsiia_inverse,
    random_chain,
    scan_mass_matrix,
)
from tests.parallel.reference import LENGTHS, Reference, error, revolute_chain, states

ForwardDynamics = Callable[..., np.ndarray]
ALGORITHMS = (jsiia_forward_dynamics, cfa_forward_dynamics)
INVERSES = (jsiia_inverse, cfa_inverse)


def mixed_chain() -> Robot:
    """A floating base and joints of one to three degrees of freedom, one of them not of unit length."""
    joints = [
        FreeFlyer(),
        Revolute((0.0, 0.6, 0.8)),
        Spherical(),
        Helical((0.0, 0.0, 1.0), 0.2),
        Translation(),
    ]
    chain = random_chain(len(joints), seed=3)
    bodies = tuple(
        replace(body, joint=joint) for body, joint in zip(chain.bodies, joints, strict=True)
    )
    return replace(chain, bodies=bodies)


@pytest.mark.parametrize("links", LENGTHS)
def test_all_agree_with_pinocchio_on_random_chains(links: int) -> None:
    for seed in range(2):
        robot = random_chain(links, seed)
        q, v, tau = states(robot, 2, seed)
        f_ext = np.random.default_rng(seed).normal(size=(2, links, 6))
        expected = Reference(robot).forward_dynamics(q, v, tau, f_ext)
        results = [algorithm(robot, q, v, tau, f_ext) for algorithm in ALGORITHMS]
        assert max(error(result, expected) for result in results) < 1e-9
        assert max(error(result, results[0]) for result in results) < 1e-9


@pytest.mark.parametrize("links", LENGTHS)
def test_mass_matrix_and_its_inverses_agree_with_pinocchio(links: int) -> None:
    robot = random_chain(links, seed=5)
    q, _, _ = states(robot, 2, 6)
    reference = Reference(robot)
    assert error(scan_mass_matrix(robot, q), reference.mass_matrix(q), 2) < 1e-12
    for inverse in INVERSES:
        assert error(inverse(robot, q), reference.inverse_mass_matrix(q), 2) < 1e-9


@pytest.mark.parametrize("name", ["iiwa14", "ur5"])
def test_all_agree_with_pinocchio_on_built_in_arms(name: str) -> None:
    robot = load_robot(name)
    q, v, tau = states(robot, 10, 1)
    expected = Reference(robot).forward_dynamics(q, v, tau)
    for algorithm in ALGORITHMS:
        assert error(algorithm(robot, q, v, tau), expected) < 1e-11


def test_joints_of_several_degrees_of_freedom() -> None:
    robot = mixed_chain()
    q, v, tau = states(robot, 3, 7)
    reference = Reference(robot)
    for algorithm in ALGORITHMS:
        assert error(algorithm(robot, q, v, tau), reference.forward_dynamics(q, v, tau)) < 1e-11
    for inverse in INVERSES:
        assert error(inverse(robot, q), reference.inverse_mass_matrix(q), 2) < 1e-11


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_free_body_falls(algorithm: ForwardDynamics) -> None:
    robot = random_chain(1)
    robot = replace(
        robot, bodies=(replace(robot.bodies[0], joint=FreeFlyer(), placement=Placement()),)
    )
    q = np.array([0.1, 0.2, 0.3, 0.0, 0.0, 0.0, 1.0])
    fall = algorithm(robot, q, np.zeros(6), np.zeros(6))
    assert np.allclose(fall, [0, 0, -9.81, 0, 0, 0], atol=1e-13)


@pytest.mark.parametrize("algorithm", [jsiia_forward_dynamics])
def test_massless_links_carry_what_follows(algorithm: ForwardDynamics) -> None:
    """A cylindrical joint is a prismatic and a revolute one with nothing between them."""
    chain, axis = random_chain(4, seed=8), (0.6, 0.0, 0.8)
    first, second, third, last = chain.bodies
    whole = replace(chain, bodies=(first, replace(second, joint=Cylindrical(axis)), third, last))
    sliding = Body("between", "sliding", Prismatic(axis), 0, second.placement, Inertia())
    turning = replace(second, joint=Revolute(axis), parent=1, placement=Placement())
    parts = replace(
        chain, bodies=(first, sliding, turning, replace(third, parent=2), replace(last, parent=3))
    )
    q, v, tau = states(whole, 3, 9)
    assert error(algorithm(parts, q, v, tau), algorithm(whole, q, v, tau)) < 1e-12


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_takes_any_leading_shape(algorithm: ForwardDynamics) -> None:
    robot = random_chain(5, seed=1)
    q, v, tau = (x.reshape(2, 3, -1) for x in states(robot, 6, 2))
    f_ext = np.random.default_rng(3).normal(size=(2, 3, 5, 6))
    a = algorithm(robot, q, v, tau, f_ext)
    assert a.shape == (2, 3, 5)
    assert error(algorithm(robot, q[1, 2], v[1, 2], tau[1, 2], f_ext[1, 2]), a[1, 2]) < 1e-13


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_no_states_give_no_results(algorithm: ForwardDynamics) -> None:
    none = np.zeros((2, 0, 3))
    assert algorithm(revolute_chain(3), none, none, none).shape == (2, 0, 3)


@pytest.mark.parametrize("inverse", INVERSES)
def test_inverse_takes_any_leading_shape(inverse: Callable[..., np.ndarray]) -> None:
    robot = mixed_chain()
    q = states(robot, 6, 2)[0].reshape(2, 3, -1)
    result = inverse(robot, q)
    assert result.shape == (2, 3, robot.nv, robot.nv)
    assert (
        error(
            result @ scan_mass_matrix(robot, q), np.broadcast_to(np.eye(robot.nv), result.shape), 2
        )
        < 1e-10
    )


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": np.zeros(4)}, r"^q: must have shape \(\.\.\., 3\), not \(4,\)$"),
        ({"q": np.array([0.0, np.inf, 0.0])}, r"^q: must be finite, holds inf$"),
        ({"v": np.zeros((2, 3))}, r"^v: must have shape \(3,\), not \(2, 3\)$"),
        ({"tau": np.array([0.0, np.nan, 0.0])}, r"^tau: must be finite, holds nan$"),
        ({"tau": "full"}, r"^tau: must be an array of numbers, not str$"),
        ({"f_ext": np.zeros((3, 5))}, r"^f_ext: must have shape \(3, 6\), not \(3, 5\)$"),
    ],
)
def test_complains_about(
    algorithm: ForwardDynamics, change: dict[str, object], message: str
) -> None:
    robot = revolute_chain(3)
    with pytest.raises(ConfigError, match=message):
        algorithm(robot, **{"q": np.zeros(3), "v": np.zeros(3), "tau": np.zeros(3), **change})


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_refuses_a_tree_by_name(algorithm: ForwardDynamics) -> None:
    robot = load_robot("hyq")
    with pytest.raises(
        UnsupportedError,
        match=r"^robot '\w+': parallel algorithms take serial chains only, but link ",
    ):
        algorithm(robot, np.zeros(robot.nq), np.zeros(robot.nv), np.zeros(robot.nv))


@pytest.mark.parametrize(
    ("inertia", "message"),
    [
        (
            Inertia(),
            r"^link 'link1': has mass 0, so its inertia has no inverse; give it a full <inertial>, .*$",
        ),
        (
            Inertia.from_com(1.0, np.array([0.1, 0.2, 0.3]), np.diag([0.1, 0.1, 0.0])),
            r"^link 'link1': has a principal moment of \S+ kg·m², so its inertia has no inverse; .*$",
        ),
    ],
)
def test_cfa_names_a_link_without_inverse_inertia(inertia: Inertia, message: str) -> None:
    robot = revolute_chain(3)
    bodies = (robot.bodies[0], replace(robot.bodies[1], inertia=inertia), robot.bodies[2])
    with pytest.raises(SingularityError, match=message):
        cfa_forward_dynamics(replace(robot, bodies=bodies), np.zeros(3), np.zeros(3), np.zeros(3))


@pytest.mark.parametrize(
    ("algorithm", "message"),
    [
        (
            jsiia_forward_dynamics,
            r"^mass matrix: is not positive definite, pivot of joint 'joint2' is 0 in state 0; "
            r"check the inertias from its link on$",
        ),
    ],
)
def test_names_the_joint_that_moves_nothing(algorithm: ForwardDynamics, message: str) -> None:
    robot = revolute_chain(3)
    robot = replace(robot, bodies=(*robot.bodies[:2], replace(robot.bodies[2], inertia=Inertia())))
    with pytest.raises(SingularityError, match=message):
        algorithm(robot, np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((2, 3)))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_refuses_a_point_mass_on_its_own_axis(algorithm: ForwardDynamics) -> None:
    """What the joint turns is zero but for rounding."""
    axis = np.array([1.0, 2.0, 3.0]) / np.sqrt(14.0)
    for distance in (0.1, 0.3, 0.7, 1.1):
        robot = revolute_chain(2)
        point = Inertia.from_com(1.7, distance * axis, np.zeros((3, 3)))
        last = replace(robot.bodies[1], joint=Revolute(tuple(axis)), inertia=point)
        robot = replace(robot, bodies=(robot.bodies[0], last))
        with pytest.raises(
            SingularityError,
            match=r"^(mass matrix: .* joint 'joint1' |link 'link1': has a principal)",
        ):
            algorithm(robot, np.zeros(2), np.zeros(2), np.zeros(2))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_refuses_an_indefinite_mass_matrix(algorithm: ForwardDynamics) -> None:
    robot = revolute_chain(3)
    faulty = Inertia.from_com(1.0, np.zeros(3), np.diag([-1.0, -1.0, -1.0]))
    robot = replace(robot, bodies=(*robot.bodies[:2], replace(robot.bodies[2], inertia=faulty)))
    with pytest.raises(
        SingularityError,
        match=r"^(mass matrix: is not positive definite, .*|link .link2.: has a principal moment of -1 .*); .*$",
    ):
        algorithm(robot, np.zeros(3), np.zeros(3), np.zeros(3))
