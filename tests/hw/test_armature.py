"""Rotor inertia in hardware: bit for bit by both families, with errors as without, and what it costs."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest

from rbdgen import Design, Options, Robot, compile_robot, load_robot
from rbdgen.functions.registry import common
from rbdgen.model import with_armature
from rbdgen.trials import make_tasks, relative_errors, task_states
from tests.hw.test_joint_types import simulated_mismatches


@lru_cache
def geared(name: str) -> Robot:
    """A built-in arm with rotors at all joints."""
    robot = load_robot(name)
    rotors = {joint: 0.1 + 0.02 * k for k, joint in enumerate(robot.joint_names)}
    return with_armature(robot, rotors)


def products_and_sums(robot: Robot) -> tuple[int, int]:
    """Of inverse dynamics, as traced."""
    design: Design = compile_robot(robot, Options(("id",), ii=4, word=18))
    nodes = [node for _, node in design.network.graph]
    products = sum(node.name in ("mul", "scale") for node in nodes)
    return products, sum(node.name in ("add", "sub") for node in nodes)


@pytest.mark.parametrize(
    ("name", "functions", "derivative", "mass_matrix"),
    [
        pytest.param("ur5", common(), "composite", "ldl", marks=pytest.mark.thorough),
        ("pendulum2", common(), "composite", "ldl"),
        ("pendulum2", ("fd", "m", "minv", "dfd"), "columns", "mminvgen"),
    ],
)
@pytest.mark.slow
def test_a_geared_arm_becomes_hardware(
    name: str, functions: tuple[str, ...], derivative: str, mass_matrix: str, tmp_path: Path
) -> None:
    options = Options(functions, ii=8, error=1e-3, derivative=derivative, mass_matrix=mass_matrix)
    d = compile_robot(geared(name), options)
    states = task_states(d, 200, seed=1)
    for function in d.network.functions:
        tasks = make_tasks(d, function, states)
        # rotors leave some entries tiny beside the others; each is promised its own error all the same
        assert relative_errors(d, tasks, tasks.expected)[0] < 1.05e-3, function
    assert simulated_mismatches(d, 3 * len(functions), tmp_path) == 0


@pytest.mark.slow
def test_a_rotor_costs_a_product_and_a_sum() -> None:
    plain = products_and_sums(load_robot("iiwa14"))
    assert products_and_sums(geared("iiwa14")) == (plain[0] + 7, plain[1] + 7)
