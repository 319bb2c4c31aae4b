"""Rows of bytes are the beats of :class:`rbdgen.protocol.tasks.TaskFormat`, one after the other."""

from __future__ import annotations

import numpy as np
import pytest

from rbdgen.functions.registry import common
from rbdgen.protocol.packets import (
    header,
    read_results,
    read_tasks,
    result_rows,
    set_tag,
    task_rows,
)
from rbdgen.protocol.tasks import TaskFormat
from tests.conftest import design


def raw_words(tasks: TaskFormat, function: str, count: int, results: bool) -> list[np.ndarray]:
    random = np.random.default_rng(5)
    f = tasks.functions[function]
    formats = [w.format for w in (f.results if results else f.operands)]
    return [random.integers(x.minimum, x.maximum + 1, count) for x in formats]


@pytest.mark.parametrize("ii", [1, 4, 16])
@pytest.mark.parametrize("function", common())
def test_rows_are_beats(function: str, ii: int) -> None:
    tasks = design("pendulum2", functions=common(), ii=ii).tasks
    raw, tag = raw_words(tasks, function, 20, False), np.arange(20) * 12
    rows = task_rows(tasks, function, tag, raw)
    assert rows.shape == (20, tasks.task.packet_bytes(len(raw)))
    size = tasks.task.beat_bytes
    for row, beats in zip(rows, tasks.pack(function, tag, raw), strict=True):
        whole = b"".join(beat.to_bytes(size, "little") for beat in beats)
        assert whole.startswith(row.tobytes())
        assert not any(whole[len(row) :])
    back_tag, back = read_tasks(tasks, function, rows)
    assert np.array_equal(back_tag, tag)
    assert np.array_equal(back, raw)


@pytest.mark.parametrize("function", common())
def test_results_come_back(function: str) -> None:
    tasks = design("pendulum2", functions=common(), ii=4).tasks
    raw, tag, flags = raw_words(tasks, function, 30, True), np.arange(30), np.arange(30) % 4
    results = read_results(tasks, function, result_rows(tasks, function, tag, flags, raw))
    assert np.array_equal(results.tag, tag)
    assert np.array_equal(results.flags, flags)
    assert np.array_equal(results.values, raw)


def test_a_tag_is_all_that_is_replaced() -> None:
    packet = bytearray(b"\xff\xff\xff")
    set_tag(packet, 0x5A)
    assert header(bytes(packet)) == (15, 0x5A, 15)
    assert packet[2] == 0xFF
