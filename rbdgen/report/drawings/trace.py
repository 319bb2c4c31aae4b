"""A trace of tasks' times in the Trace Event Format, which Perfetto and Chromium's tracing page open.

A function is a process, and a second one is its steady state: tasks that follow each other every ii cycles. A unit or a
lane is a thread; where tasks overlap in one, it has as many as it needs. Times are those of the device's clock.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rbdgen.compiler import Design
from rbdgen.report.drawings import lane_times, unit_times
from rbdgen.report.drawings.spans import Span, TaskTime

TIMES = {"pipeline": unit_times, "engine": lane_times}
"""Rows and times of machines, by kind."""
MORE_TASKS = 2
"""Tasks of the steady state beyond those that are in flight at once."""
MOST_TASKS = 64
LANES = 2 * (MOST_TASKS + 1)
"""Numbers of threads that are kept for each row."""


def timing_trace(design: Design) -> str:
    """The trace as JSON, an event a line."""
    times = TIMES[design.machine.kind]
    events: list[dict[str, Any]] = []
    for k, function in enumerate(design.network.functions):
        task = times.task_time(design, function)
        ii = design.interval(function)
        count = min(task.in_flight(ii) + MORE_TASKS, MOST_TASKS)
        alone = 2 * k + 1
        steady = 2 * k + 2
        events += _process(design, task, alone, f"{function}: one task", 1)
        events += _process(design, task, steady, f"{function}: a task every {ii} cycles", count)
    lines = ",\n".join(json.dumps(event, separators=(",", ":")) for event in events)
    about = {
        "robot": design.robot.name,
        "design": design.name,
        "ii": design.ii,
    }
    head = json.dumps(about)
    return f'{{"displayTimeUnit":"ns","otherData":{head},"traceEvents":[\n{lines}\n]}}\n'


def _process(
    design: Design, task: TaskTime, pid: int, name: str, tasks: int
) -> Iterator[dict[str, Any]]:
    """The events of ``tasks`` tasks of one function as process ``pid`` of that name, with the threads' names first."""
    yield _named("process_name", pid, 0, name)
    yield _sorted("process_sort_index", pid, 0, pid)
    ii = design.interval(task.function)
    period = design.machine.device.period * 1e-3
    order = {row: k for k, row in enumerate(TIMES[design.machine.kind].rows(design))}
    runs = _runs(task, tasks, ii)

    def key(run: _Run) -> tuple[int, int, int, str]:
        return run.first, run.task, order[run.span.row], run.span.submodule

    # lanes are given out in the order in which runs begin
    runs.sort(key=key)
    threads: dict[tuple[str, int], int] = {}
    slices = []
    for run, lane in zip(runs, _lanes(runs), strict=True):
        row = run.span.row
        number = 1 + order[row] * LANES + lane
        thread = threads.setdefault((row, lane), number)
        numbered = tasks > 1
        slices.append(_slice(run, task.function, numbered, period, pid, thread))
    for (row, lane), thread in sorted(threads.items(), key=lambda item: item[1]):
        yield _named("thread_name", pid, thread, f"{row} ({lane + 1})" if lane else row)
        yield _sorted("thread_sort_index", pid, thread, thread)
    yield from slices


@dataclass(frozen=True)
class _Run:
    """A span of the task of that number, from cycle ``first`` to cycle ``last`` of the trace."""

    task: int
    span: Span
    first: int
    last: int


def _runs(task: TaskTime, tasks: int, ii: int) -> list[_Run]:
    """The spans of so many tasks, one every ``ii`` cycles."""
    found = []
    for number in range(tasks):
        begin = number * ii - task.first
        for span in task.spans:
            first = begin + span.first
            last = begin + span.last
            found.append(_Run(number, span, first, last))
    return found


def _lanes(runs: Sequence[_Run]) -> Iterator[int]:
    """For each run the first lane of its row in which nothing else is going on."""
    busy_until: dict[tuple[str, int], int] = {}
    for run in runs:
        row = run.span.row
        lane = 0
        while busy_until.get((row, lane), -1) >= run.first:
            lane += 1
        busy_until[row, lane] = run.last
        yield lane


def _slice(
    run: _Run, function: str, numbered: bool, period: float, pid: int, thread: int
) -> dict[str, Any]:
    """A run as an event; times are in µs, as the format has them."""
    span = run.span
    name = span.submodule or span.row
    args: dict[str, Any] = {
        "task": run.task,
        "first_cycle": span.first,
        "last_cycle": span.last,
    }
    if span.products:
        args["multiplications"] = sum(count for _, count in span.products)
    return {
        "name": f"{name} #{run.task}" if numbered else name,
        "cat": function,
        "ph": "X",
        "ts": round(run.first * period, 6),
        "dur": round((run.last - run.first + 1) * period, 6),
        "pid": pid,
        "tid": thread,
        "args": args,
    }


def _named(kind: str, pid: int, thread: int, name: str) -> dict[str, Any]:
    return _about(kind, pid, thread, {"name": name})


def _sorted(kind: str, pid: int, thread: int, index: int) -> dict[str, Any]:
    return _about(kind, pid, thread, {"sort_index": index})


def _about(kind: str, pid: int, thread: int, args: dict[str, Any]) -> dict[str, Any]:
    """An event that says something of a process or a thread."""
    return {"name": kind, "ph": "M", "pid": pid, "tid": thread, "args": args}
