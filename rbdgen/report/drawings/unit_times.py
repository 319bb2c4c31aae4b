"""The times in which a task keeps each unit of a pipeline busy.

Cycle 0 is the one after the task's last beat was accepted; the pipeline begins there, or as much later as a task takes
to enter it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rbdgen.compiler import Design
from rbdgen.ir.programs import cone
from rbdgen.machines.pipeline.queues import loop_cycles, send_cycles
from rbdgen.report.drawings.spans import FEEDBACK_ROW, RESULT, TASK, Span, TaskTime
from rbdgen.report.drawings.structure import drawn_units
from rbdgen.tracing.network import FEEDBACK


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
