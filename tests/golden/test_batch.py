"""Batches: any leading shape, the same bits whatever the batch, and tapes that are the texts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rbdgen import golden, load_robot
from rbdgen.numeric import batch
from rbdgen.numeric.tape import Recorder, finished
from rbdgen.spatial import reciprocal, sin
from tests.golden.pinocchio import ours, states


def test_any_leading_shape() -> None:
    robot = load_robot("pendulum2")
    q, v, a = (
        x.reshape(2, 3, 2)
        for x in golden.random_states(robot, golden.declared_ranges(robot), 6, seed=0)
    )
    tau = golden.rnea(robot, q, v, a)
    assert tau.shape == (2, 3, 2)
    assert np.array_equal(tau[1, 2], golden.rnea(robot, q[1, 2], v[1, 2], a[1, 2]))
    by_position, by_velocity = golden.forward_dynamics_derivatives(robot, q, v, tau)
    assert by_position.shape == by_velocity.shape == (2, 3, 2, 2)


def test_no_states_are_a_batch() -> None:
    robot = load_robot("pendulum2")
    none = np.zeros((0, 2))
    assert golden.rnea(robot, none, none, none, np.zeros((0, 2, 6))).shape == (0, 2)
    assert golden.forward_dynamics_derivatives(robot, none, none, none)[0].shape == (0, 2, 2)


def test_a_hanging_pendulum_needs_no_torque() -> None:
    robot = load_robot("pendulum2")
    rest = golden.rnea(robot, np.array([0.0, 0.0]), np.zeros(2), np.zeros(2))
    side = golden.rnea(robot, np.array([math.pi / 2, 0.0]), np.zeros(2), np.zeros(2))
    assert min(np.max(np.abs(rest)), np.max(np.abs(side))) < 1e-12
    assert max(np.max(np.abs(rest)), np.max(np.abs(side))) > 0.1


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_tapes_and_parts_compute_the_texts_bits(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = load_robot("hyq", base)
    given = states(robot, 37)
    recorded = {m: ours(robot, m, *given) for m in golden.METHODS}
    monkeypatch.setattr(batch, "CHUNK", 10)
    parts = {m: ours(robot, m, *given) for m in golden.METHODS}
    monkeypatch.setattr(batch, "LONGEST_TAPE", 10)
    batch.recording.cache_clear()
    direct = {m: ours(robot, m, *given) for m in golden.METHODS}
    batch.recording.cache_clear()
    for method in golden.METHODS:
        for name, whole in recorded[method].items():
            assert np.array_equal(whole, parts[method][name])
            assert np.array_equal(whole, direct[method][name])


def test_a_tape_holds_equal_operations_once_and_no_others() -> None:
    recorder = Recorder(100)
    x, y = recorder.operand(), recorder.operand()
    total = (x + y) * (y + x) - 2.0 * sin(x)
    _unused = reciprocal(y)
    last = reciprocal(total) + 1
    tape = finished(recorder, [last.number, x.number])
    assert [function.__name__ for function, *_ in tape.steps] == [
        "add", "multiply", "sin", "multiply", "subtract", "reciprocal", "add",
    ]  # fmt: skip
    assert tape.rows < 4
    a, b = np.array([0.5, 2.0]), np.array([3.0, -1.0])
    result, same = tape.play([a, b], tape.memory(2))
    assert np.array_equal(result, 1.0 / ((a + b) * (a + b) - 2.0 * np.sin(a)) + 1.0)
    assert same is a


def test_a_tape_ends_at_its_limit() -> None:
    recorder = Recorder(3)
    x = recorder.operand()
    y = x + x
    with pytest.raises(OverflowError):
        _ = y + x + y
