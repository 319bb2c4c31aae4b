"""Timing what a user has today: every implementation, and why one is missing."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from rbdgen import golden, load_robot
from rbdgen.errors import ToolError
from rbdgen.functions.registry import common, known
from rbdgen.model import builtin_path
from rbdgen.processor_times import (
    NUMPY,
    PINOCCHIO,
    best_seconds,
    golden_calls,
    machine,
    pinocchio,
    time_today,
    timing_states,
)

ROBOT, URDF = load_robot("pendulum2"), builtin_path("pendulum2")


def test_all_functions_are_timed() -> None:
    times = time_today(ROBOT, URDF, "fixed", common(), batches=(1, 8), rounds=1)
    for name in common():
        assert {t.batch for t in times if t.implementation == NUMPY and t.function == name} == {
            1,
            8,
        }
        mine = [t for t in times if t.implementation == PINOCCHIO and t.function == name]
        if name == "difd":
            assert [t.note for t in mine] == ["Pinocchio has no such function"]
        else:
            assert {t.workers for t in mine} == {1, machine()["cores"]}
            assert all(t.how for t in mine)
    assert all(t.microseconds is None or t.microseconds > 0 for t in times)


def test_without_pinocchio_the_rows_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pinocchio", None)
    times = time_today(ROBOT, URDF, "fixed", ("id",), batches=(1,), rounds=1)
    missing = [t for t in times if t.implementation == PINOCCHIO]
    assert [(t.microseconds, t.note) for t in missing] == [
        (None, "Pinocchio is not installed: pip install pin")
    ]


def test_another_model_is_not_timed() -> None:
    times = time_today(ROBOT, builtin_path("ur5"), "fixed", ("id",), batches=(1,), rounds=1)
    missing = next(t for t in times if t.implementation == PINOCCHIO)
    assert missing.microseconds is None
    assert missing.note == "Pinocchio's model of this file has nq 6 and nv 6, ours 2 and 2"


def test_golden_calls_compute_the_functions() -> None:
    states = timing_states(ROBOT, 5, seed=3, inverse=True)
    calls = golden_calls(ROBOT, states)
    assert set(calls) == set(known())
    np.testing.assert_array_equal(calls["m"]()[0], golden.crba(ROBOT, states.q))
    np.testing.assert_allclose(calls["fd"]()[0], states.a, rtol=1e-8, atol=1e-8)
    for one, other in zip(calls["dfd"](), calls["difd"](), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


def test_pinocchio_computes_what_we_do() -> None:
    """The loop calls the functions of our names with our states."""
    pin = pytest.importorskip("pinocchio")
    states = timing_states(ROBOT, 2, seed=3, inverse=False)
    model = pinocchio.model_of(URDF, "fixed")
    data = model.createData()
    pinocchio.loop(model, data, "id", states)()
    np.testing.assert_allclose(
        data.tau, golden.rnea(ROBOT, states.q, states.v, states.a)[-1], rtol=1e-9, atol=1e-9
    )
    pinocchio.loop(model, data, "fd", states)()
    np.testing.assert_allclose(data.ddq, states.a[-1], rtol=1e-8, atol=1e-8)
    assert pin.__version__


def test_workers_share_a_batch() -> None:
    states = timing_states(ROBOT, 9, seed=3, inverse=False)
    with pinocchio.Team(URDF, "fixed", states, 2) as team:
        for count in (1, 2, 9):
            team.call("m", count)()
        assert all(worker.process.is_alive() for worker in team.workers)
    assert not any(worker.process.is_alive() for worker in team.workers)


def test_a_worker_that_fails_is_told() -> None:
    states = timing_states(ROBOT, 2, seed=3, inverse=False)
    broken = replace(states, q=states.q[:, :1])
    with (
        pinocchio.Team(URDF, "fixed", broken, 1) as team,
        pytest.raises(ToolError, match=r"^Pinocchio: a worker.* status 1"),
    ):
        team.call("m", 2)()


def test_best_of_rounds() -> None:
    calls = []
    assert 0 < best_seconds(lambda: calls.append(1), rounds=2, least=0.0) < 1
    assert len(calls) == 3
