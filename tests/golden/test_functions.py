"""All golden functions against Pinocchio: files and hand-made trees, any base, both families, with external forces."""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path

import numpy as np
import pytest

from rbdgen import RbdgenWarning, Robot, golden, load_urdf
from rbdgen.model import JOINT_TYPES, Placement, builtin_path
from rbdgen.model.body import Body, Inertia
from tests.conftest import BUILTIN, SHARED_ROBOTS, SUPPORTED
from tests.golden.pinocchio import (
    INVERSE,
    ROOTS,
    differences,
    model_of_bodies,
    model_of_file,
    ours,
    reference,
    states,
    with_heavy_base,
)
from tests.model.test_joints import examples

STATES = 20
TOLERANCE = 1e-9
INDEFINITE = ("jaco_2_simple",)
"""Robots whose inertias no body can have, so that M⁻¹ has no meaning."""


def path_of(name: str) -> Path:
    if name in BUILTIN:
        return builtin_path(name)
    path = SHARED_ROBOTS / f"{name}.urdf"
    if not path.exists():
        pytest.skip(f"{name}.urdf is not beside this checkout")
    return path


@pytest.mark.parametrize("base", ROOTS)
@pytest.mark.parametrize("name", [*BUILTIN, *SUPPORTED])
def test_robots_agree_with_pinocchio(name: str, base: str) -> None:
    path = path_of(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RbdgenWarning)
        robot = load_urdf(path, base)
    model = model_of_file(path, base)
    assert robot.joint_names == tuple(model.names)[1:]
    robot = with_heavy_base(robot, model)
    given = states(robot, STATES)
    expected = reference(robot, model, *given)
    for method in golden.METHODS:
        found = differences(ours(robot, method, *given, inverse=name not in INDEFINITE), expected)
        assert max(found.values()) < TOLERANCE, (method, found)


def random_tree(
    seed: int, count: int, kinds: tuple[str, ...] = tuple(JOINT_TYPES)
) -> tuple[Body, ...]:
    """Bodies with joints of these kinds in turn, on any parent, with any inertia that a body can have."""
    rng = np.random.default_rng(seed)
    bodies: list[Body] = []
    ways: list[int] = []  # the bodies from the last one to the base: parents in depth-first order
    for i in range(count):
        options = examples(JOINT_TYPES[kinds[i % len(kinds)]])
        parent = ways[int(rng.integers(len(ways)))] if ways else -1
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        turn *= np.linalg.det(turn)
        place = Placement(tuple(map(tuple, turn.tolist())), tuple(rng.normal(size=3).tolist()))
        spread = rng.uniform(0.01, 0.3, 3)
        moments = turn.T @ np.diag(np.sum(spread) - spread) @ turn
        mass = Inertia.from_com(float(rng.uniform(0.5, 3)), rng.normal(size=3) * 0.2, moments)
        joint = options[int(rng.integers(len(options)))]
        bodies.append(Body(f"l{i}", f"j{i}", joint, parent, place, mass))  # type: ignore[arg-type]
        ways = ways[: ways.index(parent) + 1] if parent >= 0 else []
        ways.append(i)
    return tuple(bodies)


def check_tree(bodies: tuple[Body, ...], seed: int) -> None:
    """The tree as Pinocchio has it, and with the parts of compound joints one by one: Pinocchio's derivatives do not
    hold for joints whose motion subspace depends on q."""
    robot, model = Robot("tree", "base", bodies), model_of_bodies(bodies)
    assert (robot.nq, robot.nv) == (model.nq, model.nv)
    q, v, a, tau, f_ext = states(robot, STATES, seed)
    for i, body in enumerate(robot.bodies):
        if body.joint_name not in list(model.names):  # between the parts of a compound joint
            f_ext[:, i] = 0.0
    given = (q, v / 5, a, tau, f_ext)
    whole, parts = (
        reference(robot, model, *given),
        reference(robot, model_of_bodies(robot.bodies), *given),
    )
    for method in golden.METHODS:
        found = ours(robot, method, *given)
        close = differences(found, parts)
        assert max(close.values()) < TOLERANCE, (method, close)
        close = differences({n: found[n] for n in ("id", "m", "fd", "minv")}, whole)
        assert max(close.values()) < TOLERANCE, (method, close)


@pytest.mark.parametrize("seed", range(6))
def test_trees_of_all_joint_types_agree_with_pinocchio(seed: int) -> None:
    kinds = tuple(np.random.default_rng(seed).permutation(list(JOINT_TYPES)).tolist())
    check_tree(random_tree(seed, 12, kinds), seed)


def driven_tree(seed: int, **most: float) -> tuple[Body, ...]:
    """Bodies on joints of all types; most joints have drives, whose figures, by name, are up to these."""
    rng = np.random.default_rng(seed)
    kinds = tuple(rng.permutation(list(JOINT_TYPES)).tolist())
    bodies = []
    for body in random_tree(seed, 12, kinds):
        figures = {}
        for name, largest in most.items():
            # some joints have none
            drawn = tuple(rng.uniform(largest / 20, largest, body.joint.nv))
            figures[name] = drawn if rng.uniform() < 0.7 else ()
        bodies.append(dataclasses.replace(body, **figures))
    return tuple(bodies)


@pytest.mark.parametrize("seed", range(3))
def test_rotors_of_all_joint_types_agree_with_pinocchio(seed: int) -> None:
    check_tree(driven_tree(seed, armature=1.0), seed)


@pytest.mark.parametrize("kind", JOINT_TYPES)
def test_every_joint_type_within_a_chain_agrees_with_pinocchio(kind: str) -> None:
    bodies = random_tree(7, 3, ("revolute", kind))
    check_tree(tuple(dataclasses.replace(b, parent=i - 1) for i, b in enumerate(bodies)), 1)


@pytest.mark.parametrize("seed", range(3))
def test_derivatives_are_central_differences(seed: int) -> None:
    robot = Robot("tree", "base", random_tree(seed, 10))
    q, v, a, tau, f_ext = states(robot, 4, seed)
    v, a = v / 10, a / 10

    def stretched(x: np.ndarray, batch: tuple[int, ...]) -> np.ndarray:
        return np.broadcast_to(x, batch + x.shape[1:])

    def torque(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return golden.rnea(robot, q, v, stretched(a, q.shape[:-1]), stretched(f_ext, q.shape[:-1]))

    def acceleration(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return golden.forward_dynamics(
            robot, q, v, stretched(tau, q.shape[:-1]), stretched(f_ext, q.shape[:-1])
        )

    for function, exact in (
        (torque, golden.rnea_derivatives(robot, q, v, a, f_ext)),
        (acceleration, golden.forward_dynamics_derivatives(robot, q, v, tau, f_ext)),
    ):
        numeric = golden.central_differences(robot, function, q, v)
        for e, n in zip(exact, numeric, strict=True):
            assert np.max(np.abs(e - n)) < 1e-6 * np.max(np.abs(e))


@pytest.mark.parametrize("method", golden.METHODS)
def test_a_given_root_motion_is_that_of_a_floating_base(method: str) -> None:
    """The arm's forces are those of the same robot on a floating base that moves so."""
    robot, floating = (load_urdf(path_of("iiwa14"), base) for base in ("fixed", "floating"))
    q, v, a, _, f_ext = states(floating, STATES)
    q[:, 3:7] = (0.0, 0.0, 0.0, 1.0)
    root = golden.RootMotion(v[:, :6], a[:, :6])
    arm = (q[:, 7:], v[:, 6:], a[:, 6:], f_ext[:, 1:])
    whole = golden.rnea(floating, q, v, a, f_ext)
    found = golden.rnea(robot, *arm, root=root)
    assert np.allclose(found, whole[:, 6:], atol=1e-9 * np.abs(whole).max())
    expected = golden.rnea_derivatives(floating, q, v, a, f_ext)
    for one, other in zip(
        golden.rnea_derivatives(robot, *arm, root=root, method=method), expected, strict=True
    ):
        assert np.allclose(one, other[:, 6:, 6:], atol=1e-9 * np.abs(other).max())
    again = golden.forward_dynamics(robot, *arm[:2], found, arm[3], root=root, method=method)
    assert np.allclose(again, a[:, 6:], atol=1e-6)
    minv = golden.minverse(robot, arm[0])
    given = golden.forward_dynamics_derivatives(
        robot, *arm[:2], f_ext=arm[3], a=arm[2], minv=minv, root=root
    )
    computed = golden.forward_dynamics_derivatives(
        robot, *arm[:2], found, arm[3], root=root, method=method
    )
    for one, other in zip(given, computed, strict=True):
        assert np.allclose(one, other, atol=1e-9 * np.abs(other).max())


def test_a_root_that_is_turned_feels_gravity_in_its_own_frame() -> None:
    robot, floating = (load_urdf(path_of("ur5"), base) for base in ("fixed", "floating"))
    q, v, a, _, _ = states(floating, STATES)
    v[:, :6] = a[:, :6] = 0.0
    quaternion = q[:, 3:7]
    turned = np.array(
        [
            np.array(floating.bodies[0].joint.placement((0.0, 0.0, 0.0, *x)).rotation).T
            for x in quaternion
        ]
    )
    root = golden.RootMotion(v[:, :6], a[:, :6], turned @ np.array(robot.gravity))
    found = golden.rnea(robot, q[:, 7:], v[:, 6:], a[:, 6:], root=root)
    assert np.allclose(
        found, golden.rnea(floating, q, v, a)[:, 6:], atol=1e-9 * np.abs(found).max()
    )


def test_inverse_outputs_are_named() -> None:
    """The list of outputs that need M⁻¹ is what the golden model leaves out without it."""
    robot = load_urdf(path_of("pendulum2"))
    given = states(robot, 1)
    assert set(ours(robot, "composite", *given)) - set(
        ours(robot, "composite", *given, inverse=False)
    ) == set(INVERSE)
