"""Inertia of a frame at a chain's end by Schur complements as a text, beside the golden model, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from rbdgen import ConfigError, Options, Robot, UnsupportedError, compile_robot, golden, load_robot
from rbdgen.algo.following import Entries
from rbdgen.algo.frames import REFERENCES
from rbdgen.algo.rnea import joint_placements
from rbdgen.algo.schur import SchurComplements, check_end
from rbdgen.model import FreeFlyer, Inertia, Spherical, with_armature, with_frames
from rbdgen.report.evidence import evidence
from rbdgen.tracing.equivalent import equivalent
from tests.chains import (
    STATES,
    error,
    jointed,
    random_chain,
    random_states,
    scalars,
    snake,
    stacked,
    tipped,
)


def schur(
    robot: Robot, q: np.ndarray, reference: str = "local", damping: float = 0.0
) -> SchurComplements:
    """In the frames that hardware is traced in."""
    whole = equivalent(robot).whole
    joints = joint_placements(whole, scalars(q))
    return SchurComplements(whole, joints, whole.task_frames[0], reference, damping)


def matrix(entries: Entries) -> np.ndarray:
    found = np.zeros((STATES, 6, 6))
    for (i, j), x in entries.items():
        found[:, i, j] = x
        found[:, j, i] = x
    return found


def operators_fit(space: SchurComplements, inverse: np.ndarray, inertia: np.ndarray | None) -> None:
    """Operators are the matrices, to rounding."""
    x = np.random.default_rng(1).normal(size=(STATES, 6))
    moved = stacked(space.acceleration(scalars(x)))
    assert error(moved, (inverse @ x[..., None])[..., 0]) < 1e-9
    if inertia is not None:
        force = stacked(space.force(scalars(x)))
        assert error(force, (inertia @ x[..., None])[..., 0]) < 1e-8


LONGEST = pytest.param(64, 0.0, "local", marks=pytest.mark.thorough)
LENGTHS = [*product((7, 8, 17), (0.0, 0.1), REFERENCES), (32, 0.1, "world"), LONGEST]


@pytest.mark.parametrize(("links", "damping", "reference"), LENGTHS)
@pytest.mark.slow
def test_chains_have_the_inertia_that_the_golden_model_gives_them(
    links: int, damping: float, reference: str
) -> None:
    robot = tipped(random_chain(links, seed=links))
    q, *_ = random_states(robot)
    how = {"reference": reference, "damping": damping}
    space = schur(robot, q, **how)
    inverse = golden.operational_space_inverse(robot, q, **how)
    inertia = golden.operational_space_inertia(robot, q, **how)
    assert error(matrix(space.inverse), inverse) < 1e-9
    assert error(matrix(space.inertia), inertia) < 1e-8
    operators_fit(space, inverse, inertia)


@pytest.mark.parametrize("links", [1, 2, 3, 5, 6])
def test_short_chains_have_an_inverse_inertia(links: int) -> None:
    robot = tipped(random_chain(links, seed=links))
    q, *_ = random_states(robot)
    space = schur(robot, q)
    inverse = golden.operational_space_inverse(robot, q)
    assert error(matrix(space.inverse), inverse) < 1e-9
    operators_fit(space, inverse, None)
    if links < 6:
        assert np.all(np.linalg.matrix_rank(matrix(space.inverse), tol=1e-9) == links)


@pytest.mark.parametrize(
    "make",
    [
        lambda: load_robot("iiwa14"),
        lambda: jointed({0: FreeFlyer()}, 1),
        lambda: jointed({0: FreeFlyer()}, 2),
        lambda: jointed({0: FreeFlyer()}, 5),
        lambda: jointed({2: Spherical(), 4: Spherical()}, 5),
    ],
)
def test_arms_floating_chains_and_joints_of_several_degrees_of_freedom(
    make: Callable[[], Robot],
) -> None:
    robot = tipped(make())
    q, *_ = random_states(robot)
    space = schur(robot, q, "world")
    inverse = golden.operational_space_inverse(robot, q, reference="world")
    inertia = golden.operational_space_inertia(robot, q, reference="world")
    assert error(matrix(space.inverse), inverse) < 1e-10
    assert error(matrix(space.inertia), inertia) < 1e-9
    operators_fit(space, inverse, inertia)


def test_a_free_body_has_its_own_inertia_whatever_its_state() -> None:
    robot = jointed({0: FreeFlyer()}, 1)
    robot = with_frames(robot, {robot.bodies[0].name: ()})
    q, *_ = random_states(robot)
    body = robot.bodies[0].inertia
    expected = np.zeros((6, 6))
    expected[:3, :3] = body.mass * np.eye(3)
    expected[3:, 3:] = body.rotational
    x, y, z = body.first_moment
    expected[3:, :3] = [[0, -z, y], [z, 0, -x], [-y, x, 0]]
    expected[:3, 3:] = expected[3:, :3].T
    assert error(matrix(schur(robot, q).inertia), np.broadcast_to(expected, (STATES, 6, 6))) < 1e-12


def massless() -> Robot:
    robot = snake(3)
    bodies = list(robot.bodies)
    bodies[1] = replace(bodies[1], inertia=Inertia())
    return replace(robot, bodies=tuple(bodies))


@pytest.mark.parametrize(
    ("robot", "why"),
    [
        (with_armature(snake(3), {"j2": 0.1}), "joint 'j2' turns a rotor's inertia"),
        (jointed({1: FreeFlyer()}), "joint 'j1' constrains nothing"),
        (massless(), "link 'l2' has a mass of 0 kg and no inertia that can be inverted"),
    ],
)
def test_what_it_does_not_take_is_named_with_the_remedy(robot: Robot, why: str) -> None:
    robot = tipped(robot)
    q, *_ = random_states(robot)
    text = f"^operational-space schur: {why}; use operational-space factors$"
    with pytest.raises(UnsupportedError, match=text):
        _ = schur(robot, q).inverse


@pytest.mark.parametrize(
    ("frames", "given"), [({"l2": ()}, "'l2'"), ({"l3": (), "a=l3": ()}, "'l3', 'a'")]
)
def test_other_frames_are_refused(frames: dict[str, tuple[()]], given: str) -> None:
    robot = with_frames(snake(3), frames)
    text = (
        r"^operational-space schur: takes one frame, on the last link 'l3' of robot 'snake', not "
        f"{given}; give that one, or use operational-space factors$"
    )
    with pytest.raises(UnsupportedError, match=text):
        check_end(robot, "frame", robot.task_frames)
    with pytest.raises(UnsupportedError, match=text):
        compile_robot(robot, Options(("laminv",), operational_space="schur"))


def test_trees_and_loaded_parameters_are_refused() -> None:
    hyq = with_frames(load_robot("hyq"), {"lf_lowerleg": ()})
    with pytest.raises(UnsupportedError, match=r"^operational-space schur: takes serial chains"):
        compile_robot(hyq, Options(("laminv",), operational_space="schur"))
    with pytest.raises(
        ConfigError,
        match=r"^calibratable and operational_space: calibratable needs operational_space factors",
    ):
        Options(("laminv",), operational_space="schur", calibratable=True)
    with pytest.raises(ConfigError, match=r"^operational_space and functions: operational_space"):
        Options(("id",), operational_space="schur")


@pytest.mark.thorough
def test_what_words_cannot_hold_is_refused() -> None:
    """Λ where an arm can be stretched out; what it does to a force has formats all the same."""
    robot = tipped(load_robot("iiwa14"))
    with pytest.raises(
        ConfigError, match=r"^word: what is inverted varies by .* beyond all words: .*damping"
    ):
        compile_robot(robot, Options(("lam",), word=30, operational_space="schur"))
    moved = compile_robot(robot, Options(("laminvf",), operational_space="schur"))
    found = evidence(moved, 1000)["functions"]["laminvf"]
    assert found["flagged"]["overflow"] == 0
    assert found["outputs"]["moved"]["max_relative"] <= 1e-3
