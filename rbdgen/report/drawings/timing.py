"""When a task keeps which unit busy: the times that the timing chart and the trace are drawn from.

Cycle 0 is the one after the task's last beat was accepted; the pipeline begins there, or as much later as a task takes
to enter it. Not here: shapes and files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from rbdgen.compiler import Design
from rbdgen.ir.programs import cone
from rbdgen.layout.network import FEEDBACK
from rbdgen.report.drawings.structure import drawn_units
from rbdgen.schedule.queues import loop_cycles, send_cycles

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

    def in_flight(self, ii: int) -> int:
        """Tasks that are under way at once at a task every ``ii`` cycles."""
        return -(-(self.last - self.first + 1) // ii)


def rows(design: Design) -> tuple[str, ...]:
    """All rows in the order in which they are drawn."""
    feedback = [FEEDBACK_ROW] if FEEDBACK in design.plan.exits else []
    return (TASK, *(u.name for u in drawn_units(design)), *feedback, RESULT)


def task_time(design: Design, function: str) -> TaskTime:
    """A lone task, as the schedule promises it."""
    plan, tasks = design.plan, design.tasks
    spans = [Span(TASK, "", -tasks.task_beats(function), -1)]
    start, entry = design.last_start(function), plan.schedule.entry_cycles
    if len(design.network.way(function)) > 1:
        ready = entry + plan.exits[FEEDBACK] + loop_cycles(plan, FEEDBACK)
        again = start - entry
        spans += _unit_spans(design, FEEDBACK, entry)
        if again > ready:
            spans.append(Span(FEEDBACK_ROW, "", ready, again - 1))
    spans += _unit_spans(design, design.network.exit(function).name, start)
    done = start + design.leaving_cycle(function) + 1
    spans.append(Span(RESULT, "", done, done + send_cycles(plan, tasks, function) - 1))
    order = {row: k for k, row in enumerate(rows(design))}
    return TaskTime(function, tuple(sorted(spans, key=lambda s: (order[s.row], s.first, s.submodule))))


def _unit_spans(design: Design, exit_name: str, offset: int) -> Iterable[Span]:
    """What one program's task does on its way to an exit, a span per submodule."""
    graph, plan = design.fixed.graph, design.plan
    slots = plan.schedule.slots
    unit_of = {i: unit.name for unit in plan.units for i in unit.nodes}
    results = next(e.results for e in plan.schedule.programs.exits if e.name == exit_name)
    nodes: dict[tuple[str, str], list[int]] = {}
    for i in cone(graph, results):
        if i in unit_of:
            nodes.setdefault((unit_of[i], graph.nodes[i].owner), []).append(i)
    for (unit, submodule), mine in nodes.items():
        products = Counter(slots[i].start + offset for i in mine if graph.nodes[i].op == "mul")
        first, last = min(slots[i].start for i in mine), max(slots[i].finish for i in mine)
        yield Span(unit, submodule, first + offset, last + offset, tuple(sorted(products.items())))


def steady_state(design: Design) -> dict[str, tuple[float, ...]]:
    """For each unit with multipliers the share of them that starts a product in each cycle of the interval, with all
    functions' operations counted: what a task every ii cycles can use at most."""
    graph, schedule = design.fixed.graph, design.plan.schedule
    shares = {}
    for unit in design.plan.units:
        multipliers = schedule.multipliers.get(unit.name, 0)
        if multipliers:
            busy = Counter(schedule.slots[i].start % schedule.ii for i in unit.nodes if graph.nodes[i].op == "mul")
            shares[unit.name] = tuple(busy[phase] / multipliers for phase in range(schedule.ii))
    return shares
