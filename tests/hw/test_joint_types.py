"""Hardware of every joint type and of mobile bases: the model against float64, the RTL against the model."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from rbdgen import Options, Robot, compile_robot, load_robot
from rbdgen.compiler import Design
from rbdgen.model import JOINT_TYPES, Continuous, Placement
from rbdgen.model.joints import Coordinates
from rbdgen.tracing.equivalent import equivalent
from rbdgen.trials import make_tasks, relative_errors, task_states
from rbdgen_sim.scoreboard import run_tasks
from rbdgen_sim.simulators import get_simulator
from tests.conftest import component, design, error_of_largest
from tests.model.test_joints import examples
from tests.tracing.test_equivalent import difference

FUNCTIONS = ("id", "m", "did")
"""The others add nothing that depends on the type of a joint, and random joints make M nearly singular."""


def arm(joint: Coordinates) -> Robot:
    """The pendulum with another joint in its middle and a body behind it, nothing aligned with anything."""
    robot = load_robot("pendulum2")
    first, last = robot.bodies
    turn = Placement(((0.6, 0.0, 0.8), (0.0, 1.0, 0.0), (-0.8, 0.0, 0.6)), (0.2, -0.1, 0.3))
    middle = dataclasses.replace(
        last, name="middle", joint_name="middle", joint=joint, placement=turn
    )
    return dataclasses.replace(robot, bodies=(first, middle, dataclasses.replace(last, parent=1)))


def simulated_mismatches(d: Design, count: int, workdir: Path) -> int:
    """Of ``count`` tasks of all functions in turn."""
    states = task_states(d, count, seed=2)
    tasks = [make_tasks(d, f, states) for f in d.network.functions]
    order = np.arange(count) % len(tasks)
    run = run_tasks(
        d, tasks, order, component(d), get_simulator("amaranth"), workdir, stall=0.2, seed=3
    )
    assert sum(len(o.flags) for o in run.outcomes.values()) == count
    return sum(o.mismatches for o in run.outcomes.values())


@pytest.mark.parametrize("name", JOINT_TYPES)
def test_the_equivalent_robot_keeps_its_torques(name: str) -> None:
    for joint in examples(JOINT_TYPES[name]):
        robot = arm(joint)
        assert difference(robot, equivalent(robot).robot) < 1e-11


FEW = ("revolute", "cylindrical", "spherical")
"""Joint types that stand for all: a coordinate, two, and a quaternion."""


@pytest.mark.parametrize(
    "name",
    [n if n in FEW else pytest.param(n, marks=pytest.mark.thorough) for n in JOINT_TYPES],
)
@pytest.mark.slow
def test_every_joint_type_becomes_hardware(name: str, tmp_path: Path) -> None:
    robot = arm(examples(JOINT_TYPES[name])[-1])
    d = compile_robot(robot, Options(FUNCTIONS, ii=8, word=18))
    states = task_states(d, 300, seed=1)
    for function in FUNCTIONS:
        tasks = make_tasks(d, function, states)
        assert not tasks.flags.any()
        assert error_of_largest(d, tasks) < 2e-4, function
        # of each entry, in words of 18 bits
        assert relative_errors(d, tasks, tasks.expected)[0] < 1e-3, function
    if name == "spherical":  # the RTL does not know joint types; one with a quaternion will do
        assert simulated_mismatches(d, 9, tmp_path) == 0


def test_a_continuous_joint_takes_cosine_and_sine() -> None:
    d = compile_robot(arm(Continuous((0.0, 0.0, 1.0))), Options(("id",), word=18))
    assert {w.name for w in d.network.operands["q"]} >= {"q_middle_cos", "q_middle_sin"}


@pytest.mark.parametrize("base", ["floating", "planar"])
@pytest.mark.slow
def test_mobile_bases(base: str, tmp_path: Path) -> None:
    d = design("pendulum2", base=base, functions=FUNCTIONS, ii=6)
    coordinates = (
        ("x", "y", "z", "qx", "qy", "qz", "qw") if base == "floating" else ("x", "y", "cos", "sin")
    )
    names = [w.name for w in d.network.operands["q"]]
    assert names[: len(coordinates)] == [f"q_root_joint_{c}" for c in coordinates]
    states = task_states(d, 300, seed=1)
    for function in FUNCTIONS:
        tasks = make_tasks(d, function, states)
        assert error_of_largest(d, tasks) < 2e-4, function
        # of each entry, in words of 18 bits
        assert relative_errors(d, tasks, tasks.expected)[0] < 1e-3, function
    if base == "planar":
        assert simulated_mismatches(d, 9, tmp_path) == 0
