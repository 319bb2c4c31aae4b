"""A step of time in hardware: bit for bit, near float64, beside other functions, and for no more than dfd takes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rbdgen import ConfigError, Options, Robot, UnsupportedError, compile_robot, load_robot
from rbdgen.functions.registry import common
from rbdgen.model.joints import FreeFlyer, Joint, Planar
from rbdgen.report.pipeline import multipliers
from rbdgen.trials import make_tasks, relative_errors, task_states
from tests.conftest import few
from tests.hw.test_joint_types import simulated_mismatches


@pytest.mark.parametrize("integrator", few(["euler", "rk4"], "euler"))
@pytest.mark.slow
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


@pytest.mark.slow
def test_beside_derivatives_a_step_goes_through_their_program(tmp_path: Path) -> None:
    functions = ("fd", "did", "dfd", "step")
    d = compile_robot(load_robot("pendulum2"), Options(functions, ii=4, word=24, time_step=0.01))
    assert d.network.two_passes == ("dfd", "step")
    states = task_states(d, 200, seed=1)
    for function in functions:
        tasks = make_tasks(d, function, states)
        assert relative_errors(d, tasks, tasks.expected)[0] < 1e-3, function
    assert simulated_mismatches(d, 40, tmp_path) == 0
    rk4 = Options(functions, ii=4, word=24, time_step=0.01, integrator="rk4")
    assert compile_robot(load_robot("pendulum2"), rk4).network.two_passes == ("dfd",)


@pytest.mark.thorough
def test_a_step_beside_the_seven_functions_takes_little_more() -> None:
    robot = load_robot("iiwa14")
    seven = compile_robot(robot, Options(common(), ii=12, word=18))
    eight = compile_robot(robot, Options((*common(), "step"), ii=12, word=18))
    assert multipliers(eight)["variable"] <= 1.15 * multipliers(seven)["variable"]


def mobile(joint: Joint) -> Robot:
    """The pendulum with its upper link on another joint."""
    robot = load_robot("pendulum2")
    upper, lower = robot.bodies
    upper = replace(upper, joint=joint, damping=(), friction=())
    return replace(robot, bodies=(upper, lower))


@pytest.mark.parametrize("joint", [FreeFlyer(), Planar()])
@pytest.mark.slow
def test_a_mobile_robot_steps_on_its_manifold(joint: Joint, tmp_path: Path) -> None:
    d = compile_robot(mobile(joint), Options(("step",), ii=8, word=27, time_step=0.01))
    tasks = make_tasks(d, "step", task_states(d, 200, seed=1))
    assert not tasks.flags.any()
    assert relative_errors(d, tasks, tasks.expected)[0] < 1e-3
    names = {w.name for w in d.network.results["q_next"]}
    assert f"q_next_joint1_{joint.coordinate_names[-1]}" in names
    if joint.nv == 3:  # the RTL does not know joint types; the smaller one will do
        assert simulated_mismatches(d, 12, tmp_path) == 0


def test_a_turn_beyond_a_step_is_refused() -> None:
    options = Options(("step",), time_step=0.1)
    with pytest.raises(
        ConfigError, match=r"a joint turns by \d+ rad in 0.1 s, .* give a smaller one"
    ):
        compile_robot(mobile(FreeFlyer()), options)


@pytest.mark.thorough
def test_a_step_takes_no_more_multipliers_than_its_derivatives() -> None:
    robot = load_robot("iiwa14")
    step = compile_robot(robot, Options(("step",), ii=12, word=18))
    derivatives = compile_robot(robot, Options(("dfd",), ii=12, word=18, with_inverse=True))
    least = multipliers(derivatives)["variable"]
    assert multipliers(step)["variable"] <= 1.1 * least


def test_a_step_is_made_by_its_own_families() -> None:
    with pytest.raises(UnsupportedError, match="derivative columns: step is made with composite"):
        compile_robot(load_robot("pendulum2"), Options(("step",), derivative="columns"))
