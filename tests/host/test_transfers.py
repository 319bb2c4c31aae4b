"""Transfers of whole packets are those of beats, one by one."""

from __future__ import annotations

import numpy as np
import pytest

from rbdgen.errors import LinkError
from rbdgen.host.stream_link import (
    beats_of,
    packet_of,
    result_packets,
    stream_bytes,
    task_transfer,
)
from rbdgen.protocol.packets import parameter_rows, result_rows, row_packets, task_rows
from rbdgen.protocol.registers import stream_bits
from rbdgen.protocol.tasks import TaskFormat
from tests.conftest import design


def tasks_and_results(tasks: TaskFormat) -> tuple[list[bytes], list[bytes]]:
    """Packets of tasks of all functions in any order, and of results."""
    random = np.random.default_rng(1)
    sent, answered = [], []
    for name, f in tasks.functions.items():
        tag = np.arange(10)
        given = [random.integers(w.format.minimum, w.format.maximum, 10) for w in f.operands]
        found = [random.integers(w.format.minimum, w.format.maximum, 10) for w in f.results]
        masks = [(1 << w.format.width) - 1 for w in f.results]
        raw = [x & mask for x, mask in zip(found, masks, strict=True)]
        sent += row_packets(task_rows(tasks, name, tag, given))
        answered += row_packets(result_rows(tasks, name, tag, tag % 4, raw))
    order = random.permutation(len(sent)).tolist()
    return [sent[k] for k in order], [answered[k] for k in order]


@pytest.mark.parametrize("replicas", [1, 2, 3])
@pytest.mark.parametrize("ii", [1, 4, 16])
def test_packets_go_as_beats(ii: int, replicas: int) -> None:
    functions = ("id", "m", "did")
    tasks = design("pendulum2", functions=functions, ii=ii, replicas=replicas).tasks
    sent, answered = tasks_and_results(tasks)
    rows = tasks.task_rows([beats_of(packet, tasks.task) for packet in sent])
    data, size = task_transfer(sent, tasks)
    assert data == stream_bytes(rows, tasks.task)
    assert size == tasks.answer_beats(rows.beats) * stream_bits(tasks.result) // 8
    beats = [beats_of(packet, tasks.result) for packet in answered]
    grouped = [beats[k : k + replicas] for k in range(0, len(beats), replicas)]
    back = stream_bytes(tasks.result_rows(grouped), tasks.result)
    assert len(back) == size
    assert result_packets(back, tasks) == answered
    values = {f.code: len(f.results) for f in tasks.functions.values()}
    by_beats = []
    for own in beats:
        code, _, _ = tasks.header(own[0])
        by_beats.append(packet_of(own, tasks.result, values[code]))
    assert by_beats == answered
    message = r"^device: a transfer of \d+ bytes ends inside a result; reset it$"
    with pytest.raises(LinkError, match=message):
        result_packets(back[:-1], tasks)


def test_a_task_that_loads_a_parameter_is_a_row_of_its_own() -> None:
    tasks = design("pendulum2", functions=("id", "m"), ii=4, replicas=3, calibratable=True).tasks
    (load,) = row_packets(parameter_rows(tasks, np.array([2]), np.array([-3])))
    sent, _ = tasks_and_results(tasks)
    sent[4:4] = [load, load]
    sent.append(load)
    rows = tasks.task_rows([beats_of(packet, tasks.task) for packet in sent])
    data, size = task_transfer(sent, tasks)
    assert data == stream_bytes(rows, tasks.task)
    assert size == tasks.answer_beats(rows.beats) * stream_bits(tasks.result) // 8
    assert task_transfer([], tasks) == (b"", 0)
    assert result_packets(b"", tasks) == []


@pytest.mark.parametrize("replicas", [1, 2])
def test_the_last_result_must_be_whole(replicas: int) -> None:
    tasks = design("pendulum2", functions=("id", "m", "did"), ii=4, replicas=replicas).tasks
    width = stream_bits(tasks.result) // 8
    header = 4 | (1 << tasks.result.beat_bits if replicas > 1 else 0)
    whole = header.to_bytes(width * tasks.result_beats("did"), "little")
    assert len(result_packets(whole, tasks)) == 1
    with pytest.raises(LinkError, match=r"ends inside a result; reset it$"):
        result_packets(whole[:-width], tasks)
