"""Names of a unit's ports, and when it reports overflow at which of them."""

from __future__ import annotations

from rbdgen.schedule.buffers import Plan, UnitPlan

ReportTime = tuple[int, tuple[str, ...]]
"""A cycle of a task, and the exits by which the results leave that depend on what happens in it."""
FLAG_DELAY = 2
"""Cycles from an overflow to its report, where the results stay for so long."""


def label(plan: Plan, node: int) -> str:
    """A node's name in the hardware: its operand's or result's name, else its operation and number. An acceleration or
    torque can be both an operand and a result of the same name."""
    fixed = plan.schedule.fixed
    graph = fixed.graph
    if graph.nodes[node].is_input:
        return graph.nodes[node].attr
    for name, i in graph.outputs.items():
        if i == node:
            return f"{name}_result" if name in graph.inputs else name
    return f"{fixed.name(node)}{node}"


def input_port(plan: Plan, node: int) -> str:
    """Name of the input port at which ``node`` arrives."""
    return f"i_{label(plan, node)}"


def tap_name(plan: Plan, node: int, cycle: int) -> str:
    """Name of the output port that offers ``node`` in ``cycle``."""
    return f"{label(plan, node)}_at{cycle}"


def overflow_port(cycle: int, exits: tuple[str, ...]) -> str:
    """Name of the port that reports in ``cycle`` what saturated on the path to ``exits``."""
    return f"overflow{cycle}_{'_'.join(exits)}"


def overflow_reports(plan: Plan, unit: UnitPlan) -> dict[ReportTime, int]:
    """The cycles in which something in a unit may saturate, each with the exits whose results depend on it, and when
    that is reported: two cycles later, but never after the results have left."""
    fixed = plan.schedule.fixed
    slots = plan.schedule.slots
    reports = {}
    for i in unit.nodes:
        operation = fixed.graph.nodes[i].operation
        if not (operation.rounds or operation.is_partial) or not fixed.may_overflow(i):
            continue
        cycle = slots[i].finish
        exits = plan.reaches[i]
        leaves = [plan.exits[name] for name in exits]
        reports[cycle, exits] = min([cycle + FLAG_DELAY, *leaves])
    return reports


def report_times(
    reports: dict[ReportTime, int],
) -> list[ReportTime]:
    """When something is reported, and for which exits, from what :func:`overflow_reports` says; in order."""
    return sorted({(report, exits) for (_, exits), report in reports.items()})
