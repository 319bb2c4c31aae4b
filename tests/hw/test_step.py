"""A step of time in hardware: bit for bit, near float64, beside other functions, and for no more than dfd takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from rbdgen import Options, UnsupportedError, compile_robot, load_robot
from rbdgen.report.design import multipliers
from rbdgen.trials import make_tasks, relative_errors, task_states
from tests.hw.test_joint_types import simulated_mismatches


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_a_step_becomes_hardware(integrator: str, tmp_path: Path) -> None:
    options = Options(
        ("fd", "step"), ii=8, word=24, integrator=integrator, time_step=0.01, forces=True
    )
    d = compile_robot(load_robot("pendulum2"), options)
    states = task_states(d, 200, seed=1)
    for function in ("fd", "step"):
        tasks = make_tasks(d, function, states)
        assert not tasks.flags.any()
        assert relative_errors(d, tasks, tasks.expected)[0] < 1e-3, function
    assert simulated_mismatches(d, 24, tmp_path) == 0


def test_a_step_takes_no_more_multipliers_than_its_derivatives() -> None:
    robot = load_robot("iiwa14")
    step = compile_robot(robot, Options(("step",), ii=12, word=18))
    derivatives = compile_robot(robot, Options(("dfd",), ii=12, word=18, with_inverse=True))
    least = multipliers(derivatives)["variable"]
    assert multipliers(step)["variable"] <= 1.1 * least


def test_a_step_is_made_by_its_own_families() -> None:
    with pytest.raises(UnsupportedError, match="derivative columns: step is made with composite"):
        compile_robot(load_robot("pendulum2"), Options(("step",), derivative="columns"))
