"""Functions of frames and contacts in hardware: bit for bit with stalls, near float64, called through the driver."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from rbdgen import Design, Options, bit_true, compile_robot, golden
from rbdgen.model import load_robot, with_contacts, with_frames
from rbdgen.protocol.tasks import Flag
from rbdgen.trials import make_tasks, model_answers, relative_errors, task_states
from tests.hw.test_following import hand
from tests.hw.test_joint_types import simulated_mismatches

FUNCTIONS = ("fk", "jac", "acc", "lam", "laminv", "laminvf", "lama", "cfd")


@lru_cache
def design(reference: str = "local", ii: int = 6) -> Design:
    """A pendulum with two links, of whose frames one is held."""
    robot = with_frames(load_robot("pendulum2"), {"tip=link2": (0.1, 0.0, 0.2, 0.3, 0.2, 0.1)})
    robot = with_contacts(robot, ["tip", "link1:6d"])
    options = Options(
        FUNCTIONS, ii=ii, word=24, reference=reference, constraint_damping=0.5, contact_rate=2.0
    )
    return compile_robot(robot, options)


@pytest.mark.parametrize(
    "reference", ["local", pytest.param("local_world_aligned", marks=pytest.mark.thorough)]
)
@pytest.mark.slow
def test_functions_of_frames_are_near_float64(reference: str) -> None:
    d = design(reference)
    states = task_states(d, 300, seed=1)
    for function in FUNCTIONS:
        tasks = make_tasks(d, function, states)
        assert not tasks.flags.any(), function
        assert relative_errors(d, tasks, tasks.expected)[0] < 1e-3, function


def test_inertia_at_the_bases_origin_takes_a_damping() -> None:
    options = Options(("lam",), machine="engine", reference="world", constraint_damping=0.5)
    d = compile_robot(design().robot, options)
    tasks = make_tasks(d, "lam", task_states(d, 100, seed=1))
    assert not tasks.flags.any()
    assert relative_errors(d, tasks, tasks.expected)[0] < 1e-3


@pytest.mark.slow
def test_functions_of_frames_become_hardware(tmp_path: Path) -> None:
    robot = with_contacts(design().robot, ["tip"])
    options = Options(("fk", "acc", "lama", "cfd"), ii=6, word=16, constraint_damping=0.5)
    assert simulated_mismatches(compile_robot(robot, options), 40, tmp_path) == 0


def test_the_driver_calls_them_by_the_names_of_the_golden_functions() -> None:
    d = design()
    q, v, _ = golden.random_states(d.robot, d.ranges, 5, 3)
    tau = np.zeros_like(v)
    closed = np.array([[1, 0], [0, 1], [1, 1], [0, 0], [1, 0]])
    wanted = np.zeros((5, 9))
    how = {"damping": 0.5, "rate": 2.0}
    with bit_true(d) as device:
        places = device.frame_placements(q)
        for found, expected in zip(places, golden.frame_placements(d.robot, q), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-4)
        found = device.frame_jacobians(q)
        np.testing.assert_allclose(found, golden.frame_jacobians(d.robot, q), atol=1e-4)
        found = device.operational_space_inertia(q)
        expected = golden.operational_space_inertia(d.robot, q, damping=0.5)
        np.testing.assert_allclose(found, expected, atol=1e-3)
        np.testing.assert_array_equal(found, np.swapaxes(found, -1, -2))
        found, forces = device.constrained_forward_dynamics(q, v, tau, closed, wanted)
        a, f = golden.constrained_forward_dynamics(d.robot, q, v, tau, closed, wanted, **how)
        np.testing.assert_allclose(found, a, atol=1e-3 * np.max(np.abs(a)))
        np.testing.assert_allclose(forces, f, atol=1e-3 * np.max(np.abs(f)))
        assert np.all(forces[3] == 0)


@pytest.mark.slow
def test_a_contact_that_cannot_be_held_is_flagged() -> None:
    """The tip of an arm that is stretched out cannot move along it: no force holds it there."""
    robot = with_contacts(load_robot("iiwa14"), ["link7"])
    d = compile_robot(robot, Options(("cfd",), ii=12, word=22))
    states = task_states(d, 60, seed=1)
    states.others["closed"][:] = 1.0
    states.q[:30] = 0.0
    words = d.network.operand_words("cfd")
    values = [states.vector(word.vector, word.index) for word in words]
    _, flags = model_answers(d, "cfd", d.tasks.functions["cfd"].quantise(values))
    flagged = (flags & Flag.OVERFLOW) != 0
    assert flagged[:30].all()
    assert not flagged[30:].any()


def test_frames_behind_followers_and_manifests_of_them() -> None:
    robot = hand()
    robot = with_frames(robot, {robot.bodies[-1].name: (0.0, 0.0, 0.1)})
    d = compile_robot(robot, Options(("fk", "jac", "laminv"), ii=4, word=20))
    states = task_states(d, 100, seed=1)
    for function in d.network.functions:
        tasks = make_tasks(d, function, states)
        assert relative_errors(d, tasks, tasks.expected)[0] < 1e-3, function
    known = bit_true(d).manifest
    assert known.shapes["jacobian"].size == (1, 6, robot.nv)
    assert known.shapes["laminv"].symmetric
