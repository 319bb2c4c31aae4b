"""The scoreboard: simulates tasks once, and compares every result bit for bit with the model's.

Tag, order within its function, flags and values must agree. Cycles come from the handshakes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rbdgen.compiler import Design
from rbdgen.errors import ToolError
from rbdgen.protocol.tasks import CALIBRATE, TAG_BITS, Rows, TaskFormat
from rbdgen.trials import TaskSet
from rbdgen_sim.interface import QUIET, Rtl, Simulator, Stimulus, Trace


@dataclass(frozen=True)
class Outcome:
    """Findings of one run about one function: ``mismatches`` (results that differ in any bit from the model's),
    latencies in cycles from a task's last accepted beat to its last offered one, cycles from result to result (of
    several accelerators the mean of as many as there are), values and flags."""

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
    """Packets that are sent: for each set of tasks how many (``used``) and their ``tags``; in ``rows`` the ``loads`` of
    so many parameters, then the tasks in their order."""

    used: list[int]
    tags: list[np.ndarray]
    loads: int
    rows: Rows


@dataclass(frozen=True)
class _Received:
    """The results that came: their ``packets`` and headers' ``codes``, when each was offered whole, and from how many
    accelerators (``replicas``)."""

    packets: Sequence[Sequence[int]]
    codes: np.ndarray
    offered: np.ndarray
    replicas: int


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
    # a host that stalls has not always a task for every accelerator
    sizes = _random_sizes(layout.replicas, seed) if stall else None
    sent = _send(layout, tasks, order, sizes)
    beats = sent.rows.beats
    expected_beats = layout.answer_beats(beats)
    # within its latency nothing may come of a task that is alone
    latency = max(design.promised_latency(own.function) for own in tasks)
    stimulus = Stimulus(
        beats,
        expected_beats,
        input_stall=stall,
        output_stall=stall,
        seed=seed,
        timeout_cycles=max(QUIET, 2 * latency),
    )
    trace = simulator.run(rtl, stimulus, workdir, waves=waves, progress=progress)
    if len(trace.payloads) != expected_beats:
        raise ToolError(f"simulation: {len(trace.payloads)} of {expected_beats} result beats came")
    # loads come before all tasks
    accepted = trace.accepted[sent.rows.ends[sent.loads :]]
    received = _receive(layout, trace)
    outcomes = {}
    for k, task_set in enumerate(tasks):
        ends = accepted[order == k]
        outcomes[task_set.function] = _compare(layout, task_set, sent.tags[k], ends, received)
    return Run(outcomes, trace)


def _random_sizes(replicas: int, seed: int) -> Iterator[int]:
    """Numbers of tasks in rows."""
    # 0 and 1 are the stalls of the stream's ends
    generator = np.random.default_rng([seed, 2])
    while True:
        yield int(generator.integers(1, replicas + 1))


def _send(
    layout: TaskFormat, tasks: Sequence[TaskSet], order: np.ndarray, sizes: Iterator[int] | None
) -> _Sent:
    """The packets of all tasks, those of each set with tags that count up, in rows of ``sizes``."""
    used, tags, sources = [], [], []
    for k, task_set in enumerate(tasks):
        count = int(np.count_nonzero(order == k))
        # counted within a function: a result out of order has another's tag
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
    rows = layout.task_rows([*loads, *packets], sizes)
    return _Sent(used, tags, len(loads), rows)


def _receive(layout: TaskFormat, trace: Trace) -> _Received:
    """The results in a trace. ToolError if one says that a parameter was refused."""
    rows = layout.read_results(trace.payloads)
    codes = []
    for packet in rows.packets:
        code, number, flags = layout.header(packet[0])
        if code == CALIBRATE and flags:
            raise ToolError(f"simulation: parameter {number} was refused, flags {flags}")
        codes.append(code)
    return _Received(rows.packets, np.array(codes), trace.offered[rows.ends], layout.replicas)


def _intervals(offered: np.ndarray, replicas: int) -> np.ndarray:
    """Cycles from result to result: of several accelerators, whose results come side by side, the mean of as many."""
    if replicas == 1:
        return np.diff(offered)
    return (offered[replicas:] - offered[:-replicas]) / replicas


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
        intervals=_intervals(offered, received.replicas),
        values=results.values,
        flags=results.flags,
    )
