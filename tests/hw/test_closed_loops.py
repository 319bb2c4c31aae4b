"""Closed loops in hardware: bit for bit with stalls, near float64, through the driver, flagged where singular."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from rbdgen import Design, Options, bit_true, close_loops, compile_robot, golden
from rbdgen.model import with_contacts
from rbdgen.protocol.tasks import Flag
from rbdgen.software.compiled import compile_functions
from rbdgen.trials import make_tasks, model_answers, relative_errors, task_states
from tests.hw.test_joint_types import simulated_mismatches
from tests.loops import four_bar

FUNCTIONS = ("lfd", "loop", "cfd")


@lru_cache
def design() -> Design:
    """A four-bar linkage whose rocker may touch something."""
    robot = with_contacts(four_bar(), ["b:z"])
    options = Options(FUNCTIONS, ii=8, word=24, contact_rate=20.0, constraint_damping=1e-2)
    return compile_robot(robot, options)


@pytest.mark.slow
def test_functions_of_loops_are_near_float64() -> None:
    d = design()
    states = task_states(d, 300, seed=1)
    gaps = golden.loop_residuals(d.robot, states.q)
    # nearly closed, and open by something to be seen
    assert 1e-4 < np.max(np.abs(gaps)) < 0.02
    for function in FUNCTIONS:
        tasks = make_tasks(d, function, states)
        assert not tasks.flags.any(), function
        assert relative_errors(d, tasks, tasks.expected)[0] < 1e-3, function


@pytest.mark.parametrize(
    "machine", ["pipeline", pytest.param("engine", marks=pytest.mark.thorough)]
)
@pytest.mark.slow
def test_functions_of_loops_become_hardware(machine: str, tmp_path: Path) -> None:
    given = {"machine": "engine", "lanes": 4} if machine == "engine" else {"ii": 8, "word": 20}
    options = Options(("lfd", "loop"), contact_rate=20.0, **given)
    assert simulated_mismatches(compile_robot(four_bar(), options), 40, tmp_path) == 0


def test_the_driver_and_c_call_them_by_the_names_of_the_golden_functions() -> None:
    d = design()
    robot = d.robot
    start = golden.random_states(robot, d.ranges, 5, 3)[0]
    q = close_loops(robot, start, ranges=d.ranges)
    v, tau = np.zeros((5, 3)), np.ones((5, 3))
    how = {"damping": 1e-2, "rate": 20.0}
    closed, wanted = np.array([[1], [0], [1], [0], [1]]), np.zeros((5, 1))
    together = golden.constrained_forward_dynamics(robot, q, v, tau, closed, wanted, **how)
    alone = golden.loop_forward_dynamics(robot, q, v, tau, **how)
    compiled = compile_functions(
        robot, FUNCTIONS, constraint_damping=1e-2, contact_rate=20.0, target="c"
    )
    with bit_true(d) as device:
        for owner, tolerance in ((device, 1e-3), (compiled, 1e-12)):
            np.testing.assert_allclose(owner.loop_residuals(q), 0.0, atol=1e-4)
            for found, expected in zip(owner.loop_forward_dynamics(q, v, tau), alone, strict=True):
                np.testing.assert_allclose(
                    found, expected, atol=tolerance * np.max(np.abs(expected))
                )
            found = owner.constrained_forward_dynamics(q, v, tau, closed, wanted)
            for one, expected in zip(found, together, strict=True):
                np.testing.assert_allclose(one, expected, atol=tolerance * np.max(np.abs(expected)))
            assert found[1].shape == (5, 3)


@pytest.mark.slow
def test_a_linkage_in_line_is_flagged() -> None:
    """A parallelogram whose bars are all in line can go two ways from there: its loop holds a motion twice."""
    robot = four_bar("xz", (0.3, 0.1, 0.3, 0.1))
    d = compile_robot(robot, Options(("lfd",), ii=12, word=24))
    states = task_states(d, 60, seed=1)
    states.q[:30] = [1.0, 0.0, 0.0, 0.0]
    words = d.network.operand_words("lfd")
    values = [states.vector(word.vector, word.index) for word in words]
    _, flags = model_answers(d, "lfd", d.tasks.functions["lfd"].quantise(values))
    flagged = (flags & Flag.OVERFLOW) != 0
    assert flagged[:30].all()
    assert not flagged[30:].any()
