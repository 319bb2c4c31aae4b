"""The times in which a task keeps each unit busy, from which the timing chart and the trace are drawn; and that trace,
in the Trace Event Format, which Perfetto and Chromium's tracing page open.

Cycle 0 is the one after the task's last beat was accepted; the pipeline begins there, or as much later as a task takes
to enter it. In the trace a function is a process, and a second one is its steady state: tasks that follow each other
every ii cycles. A unit is a thread; where tasks overlap in a unit, it has as many as it needs. Times are those of the
device's clock.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rbdgen.compiler import Design
from rbdgen.ir.programs import cone
from rbdgen.machines.pipeline.queues import loop_cycles, send_cycles
from rbdgen.report.drawings.structure import drawn_units
from rbdgen.tracing.network import FEEDBACK

TASK, FEEDBACK_ROW, RESULT = "task in", "feedback FIFO", "result out"
"""Names of the rows that are no units."""


@dataclass(frozen=True)
class Span:
    """A task keeps ``row``, a unit or one of the rows that are none, from cycle ``first`` to cycle ``last``, both
    included, with ``submodule``. ``products`` gives how many multiplications start in which cycle."""

    row: str
    submodule: str
    first: int
    last: int
    products: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class TaskTime:
    """One task of ``function``: its spans, in the order of the rows; ``first`` and ``last`` are its cycles in all."""

    function: str
    spans: tuple[Span, ...]

    @property
    def first(self) -> int:
        """Its first cycle, in which its first beat is accepted."""
        return min(s.first for s in self.spans)

    @property
    def last(self) -> int:
        """Its last cycle, in which its last beat is offered."""
        return max(s.last for s in self.spans)

    @property
    def cycles(self) -> int:
        """Number of cycles."""
        return self.last - self.first + 1

    def in_flight(self, ii: int) -> int:
        """Tasks that are under way at once at a task every ``ii`` cycles."""
        return math.ceil(self.cycles / ii)


def rows(design: Design) -> tuple[str, ...]:
    """All rows in the order in which they are drawn."""
    names = [TASK]
    names += [unit.name for unit in drawn_units(design)]
    if FEEDBACK in design.plan.exits:
        names.append(FEEDBACK_ROW)
    names.append(RESULT)
    return tuple(names)


def task_time(design: Design, function: str) -> TaskTime:
    """A lone task, as the schedule promises it."""
    plan = design.plan
    tasks = design.tasks
    spans = [Span(TASK, "", -tasks.task_beats(function), -1)]
    start = design.pipeline.last_start(function)
    entry = plan.schedule.entry_cycles
    if len(design.network.passes(function)) > 1:
        ready = entry + plan.exits[FEEDBACK] + loop_cycles(plan, FEEDBACK)
        again = start - entry
        spans += _unit_spans(design, FEEDBACK, entry)
        # a second pass may begin as soon as its operands are there
        if again > ready:
            spans.append(Span(FEEDBACK_ROW, "", ready, again - 1))
    spans += _unit_spans(design, design.network.exit(function).name, start)
    done = start + design.pipeline.leaving_cycle(function) + 1
    sent = done + send_cycles(plan, tasks, function)
    spans.append(Span(RESULT, "", done, sent - 1))
    order = rows(design)
    spans.sort(key=lambda span: (order.index(span.row), span.first, span.submodule))
    return TaskTime(function, tuple(spans))


def _unit_spans(design: Design, exit_name: str, offset: int) -> Iterable[Span]:
    """Work of one program's task before an exit, a span per submodule."""
    graph = design.fixed.graph
    slots = design.plan.schedule.slots
    for (unit, submodule), nodes in _nodes_before(design, exit_name).items():
        starts: Counter[int] = Counter()
        for i in nodes:
            for later in range(len(graph.nodes[i].products)):
                starts[slots[i].start + later + offset] += 1
        first = min(slots[i].start for i in nodes)
        last = max(slots[i].finish for i in nodes)
        products = tuple(sorted(starts.items()))
        yield Span(unit, submodule, first + offset, last + offset, products)


def _nodes_before(design: Design, exit_name: str) -> dict[tuple[str, str], list[int]]:
    """The nodes that an exit's results depend on, by unit and submodule."""
    graph = design.fixed.graph
    plan = design.plan
    unit_of = {}
    for unit in plan.units:
        unit_of.update(dict.fromkeys(unit.nodes, unit.name))
    exits = plan.schedule.programs.exits
    results = next(e.results for e in exits if e.name == exit_name)
    nodes: dict[tuple[str, str], list[int]] = {}
    for i in cone(graph, results):
        if i in unit_of:
            key = unit_of[i], graph.nodes[i].owner
            nodes.setdefault(key, []).append(i)
    return nodes


def steady_state(design: Design) -> dict[str, tuple[float, ...]]:
    """For each unit with multipliers the share of them that starts a product in each cycle of the interval, with all
    functions' operations counted: what a task every ii cycles can use at most."""
    graph = design.fixed.graph
    schedule = design.plan.schedule
    shares = {}
    for unit in design.plan.units:
        multipliers = schedule.multipliers.get(unit.name, 0)
        if not multipliers:
            continue
        busy = [0] * schedule.ii
        for i in unit.nodes:
            for later in range(len(graph.nodes[i].products)):
                phase = (schedule.slots[i].start + later) % schedule.ii
                busy[phase] += 1
        shares[unit.name] = tuple(count / multipliers for count in busy)
    return shares


MORE_TASKS = 2
"""Tasks of the steady state beyond those that are in flight at once."""
MOST_TASKS = 64
LANES = 2 * (MOST_TASKS + 1)
"""Numbers of threads that are kept for each row."""


def timing_trace(design: Design) -> str:
    """The trace as JSON, an event a line."""
    events: list[dict[str, Any]] = []
    for k, function in enumerate(design.network.functions):
        task = task_time(design, function)
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
        "ii": design.options.ii,
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
    order = {row: k for k, row in enumerate(rows(design))}
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
