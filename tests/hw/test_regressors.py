"""Regressors in hardware: bit for bit with stalls, near float64, by parameters of the links' own frames."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from rbdgen import Design, Options, Robot, bit_true, compile_robot, golden, load_robot
from rbdgen.errors import UnsupportedError
from rbdgen.identification import inertial_parameters
from rbdgen.trials import make_tasks, relative_errors, task_states
from tests.golden.test_functions import random_tree
from tests.hw.test_following import hand
from tests.hw.test_joint_types import simulated_mismatches

FUNCTIONS = ("regressor", "eregressor", "dadpi")


@lru_cache
def design(machine: str = "pipeline") -> Design:
    """A pendulum with two links."""
    own = {"ii": 6} if machine == "pipeline" else {"machine": machine}
    return compile_robot(load_robot("pendulum2"), Options(FUNCTIONS, **own))


def worst(d: Design, count: int = 200) -> dict[str, float]:
    """Errors of all functions beside their entries' largest values; no task is flagged."""
    states = task_states(d, count, seed=1)
    found = {}
    for function in d.network.functions:
        tasks = make_tasks(d, function, states)
        assert not tasks.flags.any(), function
        found[function] = relative_errors(d, tasks, tasks.expected)[0]
    return found


@pytest.mark.parametrize("machine", ["pipeline", "engine"])
def test_regressors_are_near_float64(machine: str) -> None:
    assert max(worst(design(machine)).values()) < 1e-3


def skew_robots() -> dict[str, Robot]:
    """A tree whose frames the hardware replaces: axes that are skew, offsets along them; and joints that follow."""
    return {
        "skew": Robot("tree", "base", random_tree(3, 3, ("revolute", "prismatic"))),
        "followers": hand(),
    }


@pytest.mark.parametrize("name", skew_robots())
def test_parameters_are_those_of_the_links_own_frames(name: str) -> None:
    d = compile_robot(skew_robots()[name], Options(FUNCTIONS[:2], machine="engine"))
    assert max(worst(d).values()) < 1e-5


@pytest.mark.slow
def test_regressors_become_hardware(tmp_path: Path) -> None:
    assert simulated_mismatches(design(), 30, tmp_path) == 0


def test_engines_compute_regressors(tmp_path: Path) -> None:
    d = compile_robot(load_robot("pendulum2"), Options(FUNCTIONS[:2], machine="engine"))
    assert simulated_mismatches(d, 10, tmp_path) == 0


def test_the_driver_calls_them_by_the_names_of_the_golden_functions() -> None:
    robot = design("engine").robot
    q, v, a = golden.random_states(robot, design("engine").ranges, 5, 3)
    tau = golden.rnea(robot, q, v, a)
    with bit_true(design("engine")) as device:
        y = device.joint_torque_regressor(q, v, a)
        assert y.shape == (5, 2, 20)
        close(y @ inertial_parameters(robot), tau)
        energies = device.energy_regressors(q, v)
        for found, expected in zip(energies, golden.energy_regressors(robot, q, v), strict=True):
            close(found, expected)
        tau = np.clip(tau, -20, 20)  # what is declared
        found = device.acceleration_parameter_derivatives(q, v, tau)
        close(found, golden.acceleration_parameter_derivatives(robot, q, v, tau))


def close(found: np.ndarray, expected: np.ndarray) -> None:
    """To the digits that engines have."""
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


def test_energies_of_a_base_that_moves_are_refused() -> None:
    options = Options(("eregressor", "regressor"), ii=6, moving_base=True)
    with pytest.raises(UnsupportedError, match="moving-base: energies are relative to a base that"):
        compile_robot(load_robot("pendulum2"), options)


@pytest.mark.thorough
def test_a_base_that_moves_changes_torques() -> None:
    d = compile_robot(load_robot("pendulum2"), Options(("regressor",), ii=6, moving_base=True))
    assert worst(d)["regressor"] < 1e-3
