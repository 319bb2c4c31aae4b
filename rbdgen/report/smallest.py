"""The smallest design that does what was asked for, beside what a part has, and the next faster and smaller ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rbdgen.compiler import Design
from rbdgen.compiler.cost import answer_time
from rbdgen.compiler.neighbours import Neighbours, slowest_interval
from rbdgen.errors import counted
from rbdgen.machines.engine.engine import Engine
from rbdgen.machines.pipeline.budget import Budget
from rbdgen.report.columns import paragraph, table
from rbdgen.report.host_rate import rate_text

RESOURCES = {
    "luts": "tables",
    "registers": "registers",
    "multipliers": "blocks",
    "memories": "memories",
}
"""Resources, and their heads."""


def smallest(design: Design, found: Neighbours) -> dict[str, Any]:
    """The report: ``asked``, in words; ``available``, the part's totals (None without a board); of the design and its
    neighbours what they take by the model, tasks a second of the slowest function and µs to the slowest answer."""
    budget = design.target.budget
    nearby = {"faster": found.faster, "smaller": found.smaller}
    return {
        "asked": _asked(budget),
        "part": design.target.board,
        "available": dict(budget.resources) or None,
        "this": _row(design),
        **{name: None if own is None else _row(own) for name, own in nearby.items()},
    }


def _asked(budget: Budget) -> str:
    """What was asked for, in words."""
    parts = []
    if budget.rate is not None:
        parts.append(f"at least {rate_text(budget.rate)} tasks a second")
    if budget.latency is not None:
        parts.append(f"an answer within {budget.latency * 1e6:g} µs")
    return " and ".join(parts) or "the smallest"


def _row(design: Design) -> dict[str, Any]:
    """A design's figures."""
    used = design.machine.resources(design.tasks).as_dict()
    return {
        "machine": design.machine.kind,
        "design": _named(design),
        **{name: used[name] for name in RESOURCES},
        "tasks_per_second": round(1 / slowest_interval(design), 1),
        "latency_us": round(1e6 * answer_time(design), 4),
    }


def _named(design: Design) -> str:
    """A design in as few words as a table's cell has room for."""
    machine = design.machine
    if isinstance(machine, Engine):
        lanes = counted(machine.program.core.lanes, "lane")
        cores = f", {machine.cores} cores" if machine.cores > 1 else ""
        return f"engine, {lanes}{cores}"
    return f"pipeline, a task in {design.options.ii}"


def smallest_text(found: Mapping[str, Any]) -> str:
    """The report for people."""
    available = found["available"]
    names = {"this": "the smallest", "faster": "next faster", "smaller": "next smaller"}
    rows, missing = [], []
    for key, name in names.items():
        own = found[key]
        if own is None:
            missing.append(f"nothing {key} was found")
            continue
        cells = [_used(own[resource], resource, available) for resource in RESOURCES]
        rate, latency = rate_text(own["tasks_per_second"]), f"{own['latency_us']:.3g}"
        rows.append([name, own["design"], *cells, rate, latency])
    if available:
        totals = [available.get(resource) for resource in RESOURCES]
        rows.append([found["part"], "has", *totals, "", ""])
    else:
        missing.append("with --board, beside what a part has")
    heads = ["", "design", *RESOURCES.values(), "tasks/s", "µs"]
    title = paragraph(f"asked for: {found['asked']}; by the model, with µs to an answer:")
    note = paragraph(f"({'; '.join(missing)})") if missing else ""
    return "\n".join(filter(None, [title, table(heads, rows), note]))


def _used(amount: int, resource: str, available: Mapping[str, int] | None) -> Any:
    """An amount, and the share of the part that it is."""
    if not available or not available.get(resource):
        return amount
    return f"{amount}, {amount / available[resource]:.0%}"
