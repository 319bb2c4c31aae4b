"""The scoreboard: simulates tasks once, and compares every result bit for bit with the model's.

Tag, order within its function, flags and values must agree. Cycles come from the handshakes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from rbdgen.compiler import Design
from rbdgen.errors import ToolError
from rbdgen.protocol.tasks import CALIBRATE, TAG_BITS, TaskFormat
from rbdgen.trials import TaskSet
from rbdgen_sim.interface import Rtl, Simulator, Stimulus, Trace


@dataclass(frozen=True)
class Outcome:
    """What one run showed of one function: ``mismatches`` (results that differ in any bit from the model's), latencies
    in cycles from a task's last accepted beat to its last offered one, cycles between results, values and flags."""

    mismatches: int
    latencies: np.ndarray
    intervals: np.ndarray
    values: list[np.ndarray]
    flags: np.ndarray


@dataclass(frozen=True)
class Run:
    """One simulation: ``outcomes`` by function, and the trace."""

    outcomes: dict[str, Outcome]
    trace: Trace


@dataclass(frozen=True)
class _Sent:
    """What is sent: for each set of tasks how many (``used``) and their ``tags``; ``loads`` of parameters, then
    ``packets`` in the order of the tasks."""

    used: list[int]
    tags: list[np.ndarray]
    loads: Sequence[Sequence[int]]
    packets: Sequence[Sequence[int]]


@dataclass(frozen=True)
class _Received:
    """The results that came: their ``packets`` and headers' ``codes``, and when each was offered whole."""

    packets: Sequence[Sequence[int]]
    codes: np.ndarray
    offered: np.ndarray


def run_tasks(
    design: Design,
    tasks: Sequence[TaskSet],
    order: np.ndarray,
    rtl: Rtl,
    simulator: Simulator,
    workdir: Path,
    stall: float = 0.0,
    seed: int = 0,
    waves: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Run:
    """Simulate tasks once and compare every result.

    ``order`` (n,) says which set each task is taken from, in each set from its first on. The first set's parameters are
    loaded before, if it has any. ToolError if the simulation does not finish, or does not take a parameter.
    """
    layout = design.tasks
    sent = _send(layout, tasks, order)
    expected_beats = len(sent.loads)
    for task_set, used in zip(tasks, sent.used, strict=True):
        expected_beats += used * layout.result_beats(task_set.function)
    beats = [*chain.from_iterable(sent.loads), *chain.from_iterable(sent.packets)]
    stimulus = Stimulus(beats, expected_beats, input_stall=stall, output_stall=stall, seed=seed)
    trace = simulator.run(rtl, stimulus, workdir, waves=waves, progress=progress)
    if len(trace.payloads) != expected_beats:
        raise ToolError(f"simulation: {len(trace.payloads)} of {expected_beats} result beats came")
    lengths = [len(packet) for packet in (*sent.loads, *sent.packets)]
    accepted = _last_beats(trace.accepted, lengths)[len(sent.loads) :]
    received = _receive(layout, trace)
    outcomes = {}
    for k, task_set in enumerate(tasks):
        ends = accepted[order == k]
        outcomes[task_set.function] = _compare(layout, task_set, sent.tags[k], ends, received)
    return Run(outcomes, trace)


def _send(layout: TaskFormat, tasks: Sequence[TaskSet], order: np.ndarray) -> _Sent:
    """The packets of all tasks, those of each set with tags that count up."""
    used, tags, sources = [], [], []
    for k, task_set in enumerate(tasks):
        count = int(np.count_nonzero(order == k))
        tag = np.arange(count) % (1 << TAG_BITS)
        raw = [word[:count] for word in task_set.raw]
        used.append(count)
        tags.append(tag)
        sources.append(iter(layout.pack(task_set.function, tag, raw)))
    loads: Sequence[Sequence[int]] = []
    parameters = tasks[0].parameters
    if parameters is not None:
        number = np.arange(len(parameters))
        loads = layout.pack_calibration(number, number, parameters)
    packets = [next(sources[k]) for k in order]
    return _Sent(used, tags, loads, packets)


def _receive(layout: TaskFormat, trace: Trace) -> _Received:
    """The results in a trace. ToolError if one says that a parameter was refused."""
    packets = layout.split(trace.payloads)
    codes = []
    for packet in packets:
        code, number, flags = layout.header(packet[0])
        if code == CALIBRATE and flags:
            raise ToolError(f"simulation: parameter {number} was refused, flags {flags}")
        codes.append(code)
    lengths = [len(packet) for packet in packets]
    return _Received(packets, np.array(codes), _last_beats(trace.offered, lengths))


def _last_beats(cycles: np.ndarray, lengths: Sequence[int]) -> np.ndarray:
    """The cycles of the last beats of packets, from those of all beats."""
    return np.asarray(cycles)[np.cumsum(lengths) - 1]


def _compare(
    layout: TaskFormat,
    tasks: TaskSet,
    tags: np.ndarray,
    accepted: np.ndarray,
    received: _Received,
) -> Outcome:
    """The outcome of one function, whose tasks were ``accepted`` whole in these cycles. ToolError if there are not as
    many results as tasks."""
    count = len(tags)
    mine = received.codes == layout.functions[tasks.function].code
    packets = [received.packets[k] for k in np.flatnonzero(mine).tolist()]
    results = layout.unpack(tasks.function, packets)
    if len(results.tag) != count:
        raise ToolError(
            f"simulation: {len(results.tag)} of {count} results of {tasks.function} came"
        )
    wrong = (results.tag != tags) | (results.flags != tasks.flags[:count])
    for value, expected in zip(results.values, tasks.expected, strict=True):
        wrong |= value != expected[:count]
    offered = received.offered[mine]
    return Outcome(
        mismatches=int(np.count_nonzero(wrong)),
        latencies=offered - accepted,
        intervals=np.diff(offered),
        values=results.values,
        flags=results.flags,
    )
