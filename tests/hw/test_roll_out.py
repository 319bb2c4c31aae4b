"""Roll-outs: many steps of an integrator from one task, in the model and in hardware, beside all other functions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rbdgen import ConfigError, UnsupportedError, compile_robot, golden, load_robot
from rbdgen.functions.registry import common
from rbdgen.protocol.tasks import Flag
from rbdgen.trials import make_tasks, relative_errors, task_states
from rbdgen_sim.scoreboard import run_tasks
from rbdgen_sim.simulators import get_simulator
from tests.conftest import component, design, few, in_words

AMARANTH = get_simulator("amaranth")
H = 0.005


def states_with(d, count: int, steps: np.ndarray | int):
    states = task_states(d, count, seed=3)
    states.v[:] *= 0.3  # so that the last state is inside the declared ranges as well
    states.tau[:] = golden.rnea(d.robot, states.q, states.v, states.a)
    return replace(states, steps=np.broadcast_to(np.reshape(steps, (-1, 1)), (count, 1)).copy())


def simulated(d, tasks, order, workdir: Path, stall: float):
    ports = component(d)
    return run_tasks(d, tasks, order, ports, AMARANTH, workdir, stall=stall, seed=3).outcomes


PIPELINE, ENGINE = {"ii": 4, "word": 24}, {"machine": "engine", "word": 32}


@pytest.mark.parametrize("machine", [PIPELINE, ENGINE])
@pytest.mark.parametrize("integrator", ["euler", "rk4"])
@pytest.mark.parametrize("steps", [1, 7])
@pytest.mark.slow
def test_the_model_is_the_integrator(integrator: str, steps: int, machine: dict[str, Any]) -> None:
    d = design("ur5", functions=("roll",), integrator=integrator, time_step=H, **machine)
    tasks = make_tasks(d, "roll", states_with(d, 60, steps))
    good = tasks.flags == 0
    assert good.mean() > 0.9
    for vector, (lower, word) in {"q_end": (0, 6), "v_end": (6, 12)}.items():
        formats = [w.format for w in d.tasks.functions["roll"].results[lower:word]]
        real = np.stack(
            [f.real(x) for f, x in zip(formats, tasks.expected[lower:word], strict=True)], axis=-1
        )
        truth = tasks.reference[vector]
        assert np.max(np.abs(real - truth)[good]) < 2e-4 * np.max(np.abs(truth[good]))


def test_runge_kutta_is_nearer_to_the_truth() -> None:
    """One step of either, beside a hundred small ones."""
    errors = {}
    for integrator in ("euler", "rk4"):
        d = design("pendulum2", functions=("roll",), word=24, integrator=integrator, time_step=0.02)
        states = states_with(d, 30, 1)
        fine = design("pendulum2", functions=("roll",), word=24, integrator="rk4", time_step=0.0002)
        truth = make_tasks(fine, "roll", replace(states, steps=100 * states.steps)).reference[
            "q_end"
        ]
        errors[integrator] = np.max(
            np.abs(make_tasks(d, "roll", states).reference["q_end"] - truth)
        )
    assert errors["rk4"] < 0.1 * errors["euler"]


@pytest.mark.parametrize("stall", [pytest.param(0.0, marks=pytest.mark.thorough), 0.4])
@pytest.mark.parametrize(
    ("integrator", "machine"),
    [
        ("euler", {"ii": 1}),
        ("rk4", {"ii": 3}),
        pytest.param("euler", {"ii": 3}, marks=pytest.mark.thorough),
        pytest.param("rk4", {"ii": 1}, marks=pytest.mark.thorough),
        ("euler", ENGINE),
        ("rk4", ENGINE),
    ],
)
@pytest.mark.slow
def test_bits_tags_and_order(
    integrator: str, machine: dict[str, Any], stall: float, tmp_path: Path
) -> None:
    d = design("pendulum2", functions=("roll",), integrator=integrator, time_step=H, **machine)
    steps = np.random.default_rng(1).integers(1, 5, 30)
    tasks = make_tasks(d, "roll", states_with(d, 30, steps))
    outcome = simulated(d, [tasks], np.zeros(30, int), tmp_path, stall)["roll"]
    assert outcome.mismatches == 0
    assert len(outcome.flags) == 30


@pytest.mark.parametrize("machine", [{"ii": 3}, ENGINE])
@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_one_step_takes_the_promised_time(
    integrator: str, machine: dict[str, Any], tmp_path: Path
) -> None:
    d = design("pendulum2", functions=("roll",), integrator=integrator, time_step=H, **machine)
    outcome = simulated(
        d, [make_tasks(d, "roll", states_with(d, 4, 1))], np.zeros(4, int), tmp_path, 0.0
    )["roll"]
    assert outcome.latencies[0] == d.promised_latency("roll")


@pytest.mark.parametrize("robot", few(["pendulum2", "ur5"], "pendulum2"))
@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.slow
def test_steps_of_an_engine_take_the_promised_time(robot: str, cores: int, tmp_path: Path) -> None:
    """Those of ur5 wait for the next interval of a routine that is played still."""
    d = design(robot, functions=("roll",), cores=cores, time_step=H, **ENGINE)
    tasks = make_tasks(d, "roll", states_with(d, 1, 4))
    outcome = simulated(d, [tasks], np.zeros(1, int), tmp_path, 0.0)["roll"]
    assert outcome.latencies[0] == d.promised_latency("roll") + 3 * d.step_cycles("roll")


@pytest.mark.parametrize(
    "machine",
    [
        {"ii": 4, "programs": "two"},
        pytest.param({"ii": 4, "programs": "one"}, marks=pytest.mark.thorough),
        ENGINE,
        pytest.param(ENGINE | {"cores": 3, "forces": True}, marks=pytest.mark.thorough),
    ],
)
@pytest.mark.slow
def test_beside_all_other_functions(machine: dict[str, Any], tmp_path: Path) -> None:
    functions = (*common(), "roll")
    d = design("pendulum2", functions=functions, integrator="rk4", time_step=H, **machine)
    steps = np.random.default_rng(2).integers(1, 4, 48)
    tasks = [make_tasks(d, f, states_with(d, 48, steps)) for f in d.network.functions]
    outcomes = simulated(d, tasks, np.random.default_rng(3).integers(0, 8, 48), tmp_path, 0.3)
    assert all(o.mismatches == 0 for o in outcomes.values())
    assert sum(len(o.flags) for o in outcomes.values()) == 48


@pytest.mark.parametrize(
    ("functions", "programs"),
    [
        (("id", "roll"), "two"),
        (("dfd", "roll"), "one"),
        pytest.param(("difd", "roll"), "one", marks=pytest.mark.thorough),
    ],
)
@pytest.mark.slow
def test_operands_that_a_roll_out_does_not_have_are_zero(
    functions: tuple, programs: str, tmp_path: Path
) -> None:
    """Whatever waits in the task register while an evaluation starts."""
    d = design(
        "pendulum2", functions=functions, ii=2, integrator="rk4", time_step=H, programs=programs
    )
    tasks = [make_tasks(d, f, states_with(d, 40, 3)) for f in d.network.functions]
    outcomes = simulated(d, tasks, np.arange(40) % 2, tmp_path, 0.3)
    assert all(o.mismatches == 0 for o in outcomes.values())


def test_other_functions_are_as_exact_as_without() -> None:
    d = design("pendulum2", functions=(*common(), "roll"), ii=4, integrator="rk4", time_step=H)
    for function in common():
        tasks = make_tasks(d, function, task_states(d, 100, seed=1))
        assert relative_errors(d, tasks, tasks.expected)[0] < 5e-3


def test_a_state_that_leaves_the_ranges_is_flagged() -> None:
    d = design("pendulum2", functions=("roll",), time_step=0.01)
    tasks = make_tasks(d, "roll", states_with(d, 40, 60))
    assert (tasks.flags & Flag.OVERFLOW).any()
    zero = make_tasks(d, "roll", states_with(d, 2, 0))
    assert (zero.flags & Flag.RANGE).all()


@pytest.mark.parametrize(
    ("base", "options", "message"),
    [
        (
            "floating",
            {},
            r"joint 'root_joint' \(freeflyer\): roll takes joints whose q is a plain angle",
        ),
        ("fixed", {"integrator": "heun"}, "integrator: must be one of euler, rk4, not 'heun'"),
        ("fixed", {"time_step": 0.0}, "time_step: must be between 0 and 1 seconds, not 0"),
    ],
)
def test_what_cannot_be_rolled_out(base: str, options: dict, message: str) -> None:
    with pytest.raises((UnsupportedError, ConfigError), match=message):
        compile_robot(load_robot("pendulum2", base), in_words(functions=("roll",), **options))
