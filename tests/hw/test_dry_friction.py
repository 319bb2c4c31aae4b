"""Dry friction in hardware: bit for bit by both families, with alike branches folded, and errors as without."""

from __future__ import annotations

import dataclasses
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from rbdgen import Options, Robot, compile_robot, load_robot
from rbdgen.functions.registry import common
from rbdgen.model import with_armature
from rbdgen.model.robot import DRY, DRY_WIDTH
from rbdgen.passes.ranges import unproven
from rbdgen.tracing.calibration import varied_robot
from rbdgen.trials import make_tasks, relative_errors, task_states
from tests.hw.test_joint_types import simulated_mismatches


@lru_cache
def rubbing(name: str, friction: str = DRY) -> Robot:
    """A built-in robot with rotors, damping and dry friction at all joints, legs alike."""
    robot = load_robot(name)
    rotors = {joint: 0.1 + 0.02 * (k % 3) for k, joint in enumerate(robot.joint_names)}
    bodies = [
        dataclasses.replace(body, damping=(0.5,), friction=(2.0 + 0.5 * (k % 3),))
        for k, body in enumerate(with_armature(robot, rotors).bodies)
    ]
    return dataclasses.replace(robot, bodies=tuple(bodies), friction=friction)


def largest_errors(robot: Robot, options: Options) -> dict[str, float]:
    """By function, at 400 states of which some joints are at rest."""
    d = compile_robot(robot, options)
    states = task_states(d, 400, seed=1)
    states.v[:100] *= np.random.default_rng(1).integers(0, 2, (100, robot.nv))
    found = {}
    for function in d.network.functions:
        tasks = make_tasks(d, function, states)
        assert not tasks.flags.any(), function
        found[function] = relative_errors(d, tasks, tasks.expected)[0]
    return found


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("derivative", "mass_matrix", "functions"),
    [
        ("composite", "ldl", ("id", "did")),
        pytest.param("composite", "ldl", common(), marks=pytest.mark.thorough),
        pytest.param("columns", "mminvgen", ("fd", "m", "minv", "dfd"), marks=pytest.mark.thorough),
    ],
)
def test_a_rubbing_arm_is_as_exact_as_one_that_is_not(
    derivative: str, mass_matrix: str, functions: tuple[str, ...]
) -> None:
    options = Options(functions, ii=8, word=20, derivative=derivative, mass_matrix=mass_matrix)
    found = largest_errors(rubbing("ur5"), options)
    without = largest_errors(rubbing("ur5", "none"), options)
    assert all(found[name] < 1.5 * without[name] for name in functions), (found, without)


@pytest.mark.parametrize(
    ("name", "ii", "changes"),
    [
        pytest.param("ur5", 8, {}, marks=pytest.mark.thorough),
        ("pendulum2", 8, {"derivative": "columns", "mass_matrix": "mminvgen"}),
        ("pendulum2", 1, {}),
        pytest.param(
            "pendulum2",
            8,
            {"overflow": "saturate", "rounding": "truncate"},
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            "pendulum2", 8, {"error": {"all": 1e-3}, "word": None}, marks=pytest.mark.thorough
        ),
        ("pendulum2", 4, {"sound": True, "word": 20}),
        ("pendulum2", 8, {"calibratable": True}),
    ],
)
@pytest.mark.slow
def test_a_rubbing_arm_becomes_hardware(name: str, ii: int, changes: dict, tmp_path: Path) -> None:
    options = Options(common(), ii=ii, **{"word": 18, **changes})
    d = compile_robot(rubbing(name), options)
    assert simulated_mismatches(d, 21, tmp_path) == 0


@pytest.mark.parametrize(
    "functions", [("id",), pytest.param(("id", "did"), marks=pytest.mark.thorough)]
)
@pytest.mark.slow
def test_four_rubbing_legs_on_one(functions: tuple[str, ...], tmp_path: Path) -> None:
    d = compile_robot(rubbing("hyq"), Options(functions, ii=8, word=18))
    graph, turns = d.fixed.graph, d.plan.schedule.folds.turns
    folded = [graph.nodes[i].op for i in turns]
    assert folded.count("abs") >= 3
    assert folded.count("normalise") == folded.count("rescale") == 3
    assert simulated_mismatches(d, 16, tmp_path) == 0


def test_a_calibrated_arm_rubs_as_before() -> None:
    d = compile_robot(
        rubbing("pendulum2"), Options(("id", "did"), ii=4, word=18, calibratable=True)
    )
    other = varied_robot(d.robot, np.random.default_rng(1))
    states = task_states(d, 200, seed=3, robot=other)
    for function in d.network.functions:
        tasks = make_tasks(d, function, states, other)
        # the slope at rest is as steep as it is, and velocities are rounded
        assert relative_errors(d, tasks, tasks.expected)[0] < 1e-3


@pytest.mark.parametrize("error", [{}, {"all": 1e-4}])
def test_bounds_know_that_a_share_is_below_one(error: dict[str, float]) -> None:
    d = compile_robot(rubbing("pendulum2"), Options(("id", "did"), sound=True, error=error))
    assert not unproven(d.fixed, d.network.declared)
    tasks = make_tasks(d, "did", task_states(d, 2000, 1))
    assert not tasks.flags.any()
    graph, formats = d.fixed.graph, d.fixed.formats
    shares = [formats[i] for i, node in graph if node.op == "rescale"]
    assert len(shares) == 2
    assert all(fmt.head <= 3 for fmt in shares)


def test_at_rest_friction_is_steepest() -> None:
    d = compile_robot(rubbing("pendulum2"), Options(("did",), ii=4, word=20))
    states = task_states(d, 3, seed=1)
    states.v[:] = 0.0
    slopes = d.run("did", make_tasks(d, "did", states).raw)
    assert not slopes.overflow.any()
    names = [w.name for w in d.network.result_words("did")]
    k = next(n for n, name in enumerate(names) if name.startswith("dtau_dv"))
    fmt = d.tasks.functions["did"].results[k].format
    value = fmt.real(slopes.values[k])
    assert np.all(np.abs(value - 0.5 - 2.0 / DRY_WIDTH) < 1.0)
