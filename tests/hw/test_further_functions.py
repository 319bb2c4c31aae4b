"""Functions beside the seven in hardware: bit for bit with stalls, near float64, by both machines and compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rbdgen
from rbdgen import Design, Options, bit_true, compile_robot, golden
from rbdgen.functions import registry
from rbdgen.model import Setup, load_robot, with_contacts, with_frames
from rbdgen.trials import make_tasks, relative_errors, task_states
from tests.conftest import few
from tests.hw.test_joint_types import simulated_mismatches

MOMENTUM = ("com", "cmm", "dcmm", "dcent", "energy", "coriolis")
SECOND = ("d2id", "hid", "d2fd", "hfd")
FRAMES = ("dfe", "djac", "impulse", "dcfd", "dscfd")
GROUPS = MOMENTUM, SECOND, FRAMES


def design(functions: tuple[str, ...], **options: Any) -> Design:
    """Of a pendulum with two links, of whose frames one is held."""
    robot = with_frames(load_robot("pendulum2"), {"tip=link2": (0.1, 0.0, 0.2, 0.3, 0.2, 0.1)})
    robot = with_contacts(robot, ["tip:x"])
    if set(functions) & {"impulse", "dcfd", "dscfd"}:
        options |= {"constraint_damping": 0.5}
    return compile_robot(robot, Options(functions, **options))


@pytest.mark.parametrize("machine", ["pipeline", "engine"])
@pytest.mark.parametrize("functions", GROUPS, ids=lambda names: names[0])
@pytest.mark.slow
def test_they_are_near_float64(functions: tuple[str, ...], machine: str) -> None:
    interval = {} if machine == "engine" else {"ii": 8}
    d = design(functions, machine=machine, **interval)
    states = task_states(d, 200, seed=1)
    for function in functions:
        tasks = make_tasks(d, function, states)
        assert not tasks.flags.any(), function
        assert relative_errors(d, tasks, tasks.expected)[0] < 1e-3, function


@pytest.mark.parametrize("functions", few(GROUPS, SECOND), ids=lambda names: names[0])
@pytest.mark.slow
def test_they_become_hardware(functions: tuple[str, ...], tmp_path: Path) -> None:
    assert simulated_mismatches(design(functions, ii=8, word=18), 40, tmp_path) == 0


def test_the_driver_fills_in_what_is_the_same() -> None:
    d = design(("d2id",), machine="engine")
    q, v, a = golden.random_states(d.robot, d.ranges, 5, 3)
    with bit_true(d) as device:
        found = device.rnea_second_order_derivatives(q, v, a)
    for x, expected in zip(
        found, golden.rnea_second_order_derivatives(d.robot, q, v, a), strict=True
    ):
        np.testing.assert_allclose(x, expected, atol=1e-5 * max(1.0, np.max(np.abs(expected))))


@pytest.mark.slow
def test_turns_of_a_floating_base_are_sent_both_ways() -> None:
    """Of a symmetric matrix an entry above the diagonal is a word of its own where it differs."""
    robot = Setup(base="floating").load("pendulum2")
    d = compile_robot(robot, Options(("hid", "d2id"), machine="engine"))
    places = {w.index for w in d.network.result_words("hid") if w.vector == "h_tau_qq"}
    assert {(3, 4), (4, 3)} <= places
    assert (6, 3) in places
    assert (3, 6) not in places
    states = task_states(d, 20, seed=2)
    for function in d.network.functions:
        # also where one of the two is zero
        tasks = make_tasks(d, function, states)
        assert relative_errors(d, tasks, tasks.expected)[0] < 1e-3
    q, v, a = golden.random_states(robot, d.ranges, 5, 3)
    weights = np.random.default_rng(1).uniform(-1, 1, v.shape)
    with bit_true(d) as device:
        found = device.rnea_hessians(q, v, a, weights)
    for x, expected in zip(found, golden.rnea_hessians(robot, q, v, a, weights), strict=True):
        np.testing.assert_allclose(x, expected, atol=1e-4 * max(1.0, np.max(np.abs(expected))))


@pytest.mark.slow
def test_compiled_they_are_the_golden_functions() -> None:
    names = (*MOMENTUM, *SECOND, "dfe", "djac", "impulse", "dcfd", "dscfd")
    robot = with_frames(load_robot("pendulum2"), {"tip=link2": (0.1, 0.0, 0.2)})
    robot = with_contacts(robot, ["tip:x"])
    made = rbdgen.compile(robot, names)
    q, v, a = golden.random_states(robot, golden.declared_ranges(robot), 5, 3)
    given = {"q": q, "v": v, "a": a, "tau": golden.rnea(robot, q, v, a)}
    given |= {"multiplier": v / 10, "closed": np.ones((5, 1)), "wanted": np.zeros((5, 1))}
    given |= {"slope": np.full((5, 2), 0.2), "offset": np.zeros((5, 2))}
    given["restitution"] = np.full((5, 1), 0.5)
    for name in names:
        record = registry.function(name)
        operands = [given[quantity.name] for quantity in record.operands]
        found = getattr(made, record.method)(*operands)
        expected = getattr(golden, record.method)(robot, *operands)
        for x, truth in (
            zip(found, expected, strict=True)
            if isinstance(expected, tuple)
            else [(found, expected)]
        ):
            np.testing.assert_allclose(x, truth, atol=1e-9 * max(1.0, np.max(np.abs(truth))))
