"""The timing as a trace in the Trace Event Format, which Perfetto and Chromium's tracing page open.

A function is a process, and a second one is its steady state: tasks that follow each other every ii cycles. A unit is a
thread; where tasks overlap in a unit, it has as many as it needs. Times are those of the device's clock.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rbdgen.compiler import Design
from rbdgen.report.drawings.timing import TaskTime, rows, task_time

MORE_TASKS = 2
"""Tasks of the steady state beyond those that are in flight at once."""
MOST_TASKS = 64


def timing_trace(design: Design) -> str:
    """The trace as JSON, an event a line."""
    period = design.plan.schedule.device.period * 1e-3
    order = {name: k for k, name in enumerate(rows(design))}
    events: list[dict[str, Any]] = []
    for k, function in enumerate(design.network.functions):
        task = task_time(design, function)
        count = min(task.in_flight(design.interval(function)) + MORE_TASKS, MOST_TASKS)
        for pid, name, tasks in (
            (2 * k + 1, f"{function}: one task", 1),
            (2 * k + 2, f"{function}: a task every {design.interval(function)} cycles", count),
        ):
            events.append(_named("process_name", pid, 0, name))
            events.append(_sorted("process_sort_index", pid, 0, pid))
            events += _process(design, task, pid, tasks, order, period)
    lines = ",\n".join(json.dumps(event, separators=(",", ":")) for event in events)
    head = json.dumps({"robot": design.robot.name, "design": design.name, "ii": design.options.ii})
    return f'{{"displayTimeUnit":"ns","otherData":{head},"traceEvents":[\n{lines}\n]}}\n'


def _process(
    design: Design, task: TaskTime, pid: int, tasks: int, order: dict[str, int], period: float
) -> Iterator[dict[str, Any]]:
    """The events of ``tasks`` tasks of one function, with their threads' names first."""
    ii = design.interval(task.function)
    threads: dict[tuple[str, int], int] = {}
    free: dict[tuple[str, int], int] = {}
    spans = []
    for number in range(tasks):
        for span in sorted(task.spans, key=lambda s: (s.first, order[s.row], s.submodule)):
            first, last = span.first + number * ii - task.first, span.last + number * ii - task.first
            spans.append((first, last, number, span))
    slices = []
    for first, last, number, span in sorted(spans, key=lambda s: (s[0], s[2], order[s[3].row], s[3].submodule)):
        lane = next(n for n in range(len(spans)) if free.get((span.row, n), -1) < first)
        free[span.row, lane] = last
        thread = threads.setdefault((span.row, lane), 1 + order[span.row] * (MOST_TASKS + 1) * 2 + lane)
        args: dict[str, Any] = {"task": number, "first_cycle": span.first, "last_cycle": span.last}
        if span.products:
            args["multiplications"] = sum(n for _, n in span.products)
        slices.append(
            {
                "name": f"{span.submodule or span.row}" + (f" #{number}" if tasks > 1 else ""),
                "cat": task.function,
                "ph": "X",
                "ts": round(first * period, 6),
                "dur": round((last - first + 1) * period, 6),
                "pid": pid,
                "tid": thread,
                "args": args,
            }
        )
    for (row, lane), thread in sorted(threads.items(), key=lambda t: t[1]):
        yield _named("thread_name", pid, thread, f"{row} ({lane + 1})" if lane else row)
        yield _sorted("thread_sort_index", pid, thread, thread)
    yield from slices


def _named(kind: str, pid: int, thread: int, name: str) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": pid, "tid": thread, "args": {"name": name}}


def _sorted(kind: str, pid: int, thread: int, index: int) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": pid, "tid": thread, "args": {"sort_index": index}}
