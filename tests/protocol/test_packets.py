"""Rows of bytes are the beats of :class:`rbdgen.protocol.tasks.TaskFormat`, one after the other."""

from __future__ import annotations

import numpy as np
import pytest

from rbdgen import ConfigError
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


@pytest.mark.parametrize("ii", [1, 5])
@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_rows_of_packets_come_apart_again(replicas: int, ii: int) -> None:
    tasks = design("pendulum2", functions=("id", "m"), ii=ii, replicas=replicas).tasks
    sent = []
    for k, function in enumerate(("id", "m", "m", "id", "m")):
        raw = raw_words(tasks, function, 1, False)
        sent += tasks.pack(function, np.array([k]), raw)
    rows = tasks.task_rows(sent)
    assert [packet for row in tasks.read_tasks(rows.beats) for packet in row] == sent
    assert max(rows.beats) >> tasks.task.row_bits == 0
    longest = [max(map(len, sent[k : k + replicas])) for k in range(0, len(sent), replicas)]
    assert len(rows.beats) == sum(longest)
    assert rows.ends[-1] == sum(longest[:-1]) + len(sent[-1]) - 1
    # a task that loads a parameter is alone
    load = [15]
    alone = tasks.task_rows([sent[0], load, sent[1]])
    assert [len(row) for row in tasks.read_tasks(alone.beats)] == [1, 1, 1]
    few = tasks.task_rows(sent, iter([1, replicas, 1, 1, 1, 1]))
    assert few.packets == sent


def test_a_row_must_be_whole() -> None:
    tasks = design("pendulum2", functions=("id", "m"), ii=2, replicas=3).tasks
    result = [0] * tasks.result_beats("id")
    beats = tasks.result_rows([[result], [result, result]]).beats
    assert len(tasks.read_results(beats).packets) == 3
    message = r"^beats: the last result must be whole, lacks 1 beats$"
    with pytest.raises(ConfigError, match=message):
        tasks.read_results(beats[:-1])


def test_a_tag_is_all_that_is_replaced() -> None:
    packet = bytearray(b"\xff\xff\xff")
    set_tag(packet, 0x5A)
    assert header(bytes(packet)) == (31, 0x5A, 7)
    assert packet[2] == 0xFF
