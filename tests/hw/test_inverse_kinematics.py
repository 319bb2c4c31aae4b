"""Inverse kinematics in hardware: tasks of different numbers of steps, bit for bit, and near float64."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from rbdgen import Design, Options, Robot, bit_true, compile_robot, golden, load_robot, with_frames
from rbdgen.errors import ConfigError, UnsupportedError
from rbdgen.model.joints import Continuous, FreeFlyer
from rbdgen.trials import make_tasks, relative_errors, task_states
from rbdgen_sim.scoreboard import run_tasks
from rbdgen_sim.simulators import get_simulator
from tests.chains import jointed
from tests.conftest import component
from tests.hw.test_following import hand

MACHINES = {"pipeline": {"ii": 6}, "engine": {"machine": "engine"}}
DAMPING = 0.02


def robots(name: str) -> Robot:
    match name:
        case "pendulum":
            return with_frames(load_robot("pendulum2"), {"tip=link2": (0.1, 0.0, 0.2)})
        case "followers":
            own = hand()
            return with_frames(own, {own.bodies[-1].name: (0.0, 0.0, 0.1)})
    own = jointed({0: FreeFlyer(), 1: Continuous((0.6, 0.0, -0.8))}, 3)
    return with_frames(own, {own.bodies[-1].name: (0.1, 0.2, 0.0), own.bodies[1].name: ()})


@lru_cache
def design(name: str, machine: str, functions: tuple[str, ...] = ("ik",)) -> Design:
    options = Options(functions, constraint_damping=DAMPING, **MACHINES[machine])
    return compile_robot(robots(name), options)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", ["pendulum", "followers", "floating"])
@pytest.mark.slow
def test_steps_are_near_float64(name: str, machine: str) -> None:
    d = design(name, machine)
    tasks = make_tasks(d, "ik", task_states(d, 200, seed=1))
    assert not tasks.flags.any()
    assert relative_errors(d, tasks, tasks.expected)[0] < 1e-3


@pytest.mark.slow
def test_targets_have_bits_though_most_are_beyond_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    # a step's derivatives by a target that it does not reach are zero
    monkeypatch.setattr("rbdgen.functions.inverse_kinematics.SHARE", 0.15)
    # another damping than elsewhere: what float64 computes is kept by robot and damping, and has the usual share
    d = compile_robot(robots("floating"), Options(("ik",), constraint_damping=DAMPING / 2, ii=6))
    tasks = make_tasks(d, "ik", task_states(d, 200, seed=1))
    assert relative_errors(d, tasks, tasks.expected)[0] < 1e-3


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.slow
def test_steps_become_hardware(machine: str, tmp_path: Path) -> None:
    d = design("pendulum", machine, ("ik", "fk"))
    count = 30
    steps = np.random.default_rng(1).integers(1, 5, (count, 1))
    states = replace(task_states(d, count, seed=2), steps=steps)
    tasks = [make_tasks(d, f, states) for f in d.network.functions]
    order = np.arange(count) % len(tasks)
    simulator = get_simulator("amaranth")
    run = run_tasks(d, tasks, order, component(d), simulator, tmp_path, stall=0.2, seed=3)
    assert sum(len(o.flags) for o in run.outcomes.values()) == count
    assert [o.mismatches for o in run.outcomes.values()] == [0, 0]


def test_the_driver_asks_for_as_many_steps_as_each_task_needs() -> None:
    d = design("pendulum", "engine", ("ik", "fk"))
    q, *_ = golden.random_states(d.robot, d.ranges, 6, 3)
    steps = np.arange(1, 7)
    weight = np.ones((6, 6))
    with bit_true(d) as device:
        goal = device.frame_placements(np.roll(q, 1, axis=0))
        # words of matrices come behind those of vectors: by name, the order does not matter
        given = {"to_rotation": goal[0], "to_position": goal[1], "weight": weight}
        found = device.inverse_kinematics_step(q=q, steps=steps, **given)
    expected = golden.inverse_kinematics_step(d.robot, q, steps=steps, **given, damping=DAMPING)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    once = golden.inverse_kinematics_step(d.robot, q, **given, damping=DAMPING)
    assert np.max(np.abs(expected - once)) > 0.01


def test_what_cannot_be_is_named() -> None:
    robot = robots("pendulum")
    with pytest.raises(UnsupportedError, match=r"^constraint-damping: ik divides by it where"):
        compile_robot(robot, Options(("ik",), ii=6))
    with pytest.raises(UnsupportedError, match="has no frames; give --frame LINK"):
        compile_robot(load_robot("pendulum2"), Options(("ik",), ii=6, constraint_damping=0.1))
    with pytest.raises(ConfigError, match=r"^functions: roll and ik repeat, which only one"):
        compile_robot(robot, Options(("ik", "roll"), ii=6, constraint_damping=0.1))
