"""Contacts with free directions in hardware: bit for bit with stalls, near float64, flagged where they jam."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from rbdgen import Design, Options, compile_robot, golden
from rbdgen.emulation import bit_true
from rbdgen.model import load_robot, with_contacts, with_frames
from rbdgen.protocol.tasks import Flag
from rbdgen.trials import make_tasks, model_answers, relative_errors, task_states
from tests.hw.test_joint_types import simulated_mismatches


@lru_cache
def design(reference: str = "local") -> Design:
    """A pendulum with two links, whose tip slides and whose first link is held."""
    robot = with_frames(load_robot("pendulum2"), {"tip=link2": (0.1, 0.0, 0.2, 0.3, 0.2, 0.1)})
    robot = with_contacts(robot, ["tip:z", "link1:6d"])
    options = Options(
        ("cfd", "scfd"),
        ii=6,
        word=24,
        reference=reference,
        constraint_damping=0.5,
        contact_rate=2.0,
    )
    return compile_robot(robot, options)


@pytest.mark.parametrize("reference", ["local", "local_world_aligned"])
def test_sliding_contacts_are_near_float64(reference: str) -> None:
    d = design(reference)
    states = task_states(d, 300, seed=1)
    for function in d.network.functions:
        tasks = make_tasks(d, function, states)
        assert not tasks.flags.any(), function
        assert relative_errors(d, tasks, tasks.expected)[0] < 1e-4, function


@pytest.mark.slow
def test_sliding_contacts_become_hardware(tmp_path: Path) -> None:
    robot = with_contacts(design().robot, ["tip:xb"])
    options = Options(("scfd",), ii=6, word=18, constraint_damping=0.5, forces=True)
    assert simulated_mismatches(compile_robot(robot, options), 24, tmp_path) == 0


def test_the_driver_calls_them_by_the_name_of_the_golden_function() -> None:
    d = design()
    states = task_states(d, 5, seed=3)
    given = [states.others[name] for name in ("closed", "wanted", "slope", "offset")]
    arguments = states.q, states.v, states.tau, *given
    expected = golden.sliding_forward_dynamics(d.robot, *arguments, damping=0.5, rate=2.0)
    with bit_true(d) as device:
        found = device.sliding_forward_dynamics(*arguments)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-4 * np.max(np.abs(y)))


@pytest.mark.slow
def test_a_contact_that_jams_is_flagged() -> None:
    """A slope beyond the one at which a unit of normal force, with what follows, moves the tip along its normal no
    more."""
    robot = with_frames(load_robot("iiwa14"), {"tip=link7": (0.0, 0.0, 0.1)})
    robot = with_contacts(robot, ["tip:z"])
    d = compile_robot(robot, Options(("scfd",), ii=12, word=24))
    states = task_states(d, 400, seed=1)
    inverse = golden.operational_space_inverse(robot, states.q)
    limit = -inverse[:, 2, 2] / inverse[:, 2, 0]
    jams = np.abs(limit) < 0.9
    assert jams.any()
    slope = np.zeros((400, 2))
    slope[:, 0] = np.where(jams, 1.1 * limit, 0.0)
    closed = np.ones((400, 1))
    states = replace(states, others={**states.others, "slope": slope, "closed": closed})
    words = d.network.operand_words("scfd")
    values = [states.vector(word.vector, word.index) for word in words]
    _, flags = model_answers(d, "scfd", d.tasks.functions["scfd"].quantise(values))
    flagged = (flags & Flag.OVERFLOW) != 0
    assert flagged[jams].all()
    assert not flagged[~jams].any()


def test_states_are_made_where_no_contact_jams() -> None:
    robot = with_frames(load_robot("pendulum2"), {"tip=link2": (0.0, 0.0, 0.3, 0.0, 1.0, 0.0)})
    robot = with_contacts(robot, ["tip:z"])
    damping = 0.1
    d = compile_robot(robot, Options(("scfd",), word=26, constraint_damping=damping))
    states = task_states(d, 500, seed=1)
    inverse = golden.operational_space_inverse(robot, states.q)
    own = inverse[:, 2, 2] + damping
    slope = states.others["slope"]
    closed = states.others["closed"][:, 0] == 1

    def pivots(slope: np.ndarray) -> np.ndarray:
        more = inverse[:, 2, 0] * slope[:, 0] + inverse[:, 2, 1] * slope[:, 1]
        return ((own + more) / own)[closed]

    assert np.min(pivots(slope)) >= 0.25 * (1 - 1e-9)
    assert np.min(pivots(np.sign(slope))) < 0
    assert np.max(np.abs(slope)) > 0.9
    assert not make_tasks(d, "scfd", states).flags.any()
