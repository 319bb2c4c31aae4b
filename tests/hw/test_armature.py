"""Rotor inertia in hardware: all functions bit for bit by both families, and what it costs."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest

from rbdgen import Design, Options, Robot, compile_robot, load_robot
from rbdgen.functions.registry import common
from rbdgen.model import with_armature
from rbdgen.trials import make_tasks, relative_errors, task_states
from tests.hw.test_joint_types import simulated_mismatches
from tests.hw.test_marks import simulate


@lru_cache
def geared(name: str, base: str) -> Robot:
    """A built-in robot with rotors at all joints but a mobile base's."""
    robot = load_robot(name, base=base)
    joints = [joint for joint in robot.joint_names if joint != "root_joint"]
    return with_armature(robot, {joint: 0.1 + 0.02 * k for k, joint in enumerate(joints)})


def products_and_sums(robot: Robot) -> tuple[int, int]:
    """Of inverse dynamics, as traced."""
    design: Design = compile_robot(robot, Options(("id",), ii=4, word=18))
    nodes = [node for _, node in design.network.graph]
    products = sum(node.op in ("mul", "scale") for node in nodes)
    return products, sum(node.op in ("add", "sub") for node in nodes)


def wanted(robot: Robot, **options: object) -> Design:
    """The design of all functions, whose errors are as small as those of other robots."""
    d = compile_robot(robot, Options(common(), ii=8, word=20, **options))  # type: ignore[arg-type]
    states = task_states(d, 200, seed=1)
    for function in d.network.functions:
        tasks = make_tasks(d, function, states)
        assert relative_errors(d, tasks, tasks.expected)[0] < 2e-3, function
    return d


@pytest.mark.parametrize(
    ("derivative", "mass_matrix"), [("composite", "ldl"), ("columns", "mminvgen")]
)
def test_all_functions_of_a_geared_arm(derivative: str, mass_matrix: str, tmp_path: Path) -> None:
    d = wanted(geared("ur5", "fixed"), derivative=derivative, mass_matrix=mass_matrix)
    assert simulated_mismatches(d, 3 * len(common()), tmp_path) == 0


def test_all_functions_of_a_geared_quadruped(tmp_path: Path) -> None:
    d = wanted(geared("hyq", "floating"))
    assert simulate(d, tmp_path, 4, "icarus").mismatches == 0


def test_a_rotor_costs_a_product_and_a_sum() -> None:
    plain = products_and_sums(load_robot("iiwa14"))
    assert products_and_sums(geared("iiwa14", "fixed")) == (plain[0] + 7, plain[1] + 7)
