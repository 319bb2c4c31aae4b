"""What a report says of pipelines alone: multipliers, units, and what the schedule promises of each function."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from rbdgen.compiler import Design
from rbdgen.ir.programs import cone
from rbdgen.machines.pipeline.replicas import all_queues
from rbdgen.passes.expansions import sine_method


def multipliers(design: Design) -> dict[str, int]:
    """Multipliers in the hardware, of all accelerators behind the stream: ``variable`` ones, and ``constant`` ones,
    which are shifts and adds."""
    replicas = design.tasks.replicas
    constant = 0
    for i, node in design.fixed.graph:
        # a folded factor is one network for all branches
        if node.terms.multiple is not None and design.plan.schedule.folds.template(i) == i:
            constant += 1
    variable = sum(design.plan.schedule.multipliers.values())
    return {"variable": replicas * variable, "constant": replicas * constant}


def multiplier_widths(design: Design) -> dict[str, int]:
    """Numbers of variable multipliers of each size, of all accelerators, as ``"25×18"``, the wider operand first;
    largest first."""
    replicas = design.tasks.replicas
    schedule = design.plan.schedule
    pairs = map(schedule.input_widths, schedule.products.values())
    sizes = Counter((max(pair), min(pair)) for pair in pairs)
    return {f"{a}×{b}": replicas * sizes[a, b] for a, b in sorted(sizes, reverse=True)}


def function_passes(design: Design, function: str) -> tuple[tuple[int, ...], ...]:
    """The operations that a task of ``function`` needs in each of its passes."""
    return tuple(cone(design.fixed.graph, e.results) for e in design.network.passes(function))


def function_promises(design: Design, function: str) -> dict[str, Any]:
    """Promises of the schedule for one function: the multipliers that it uses in all accelerators, and the share of
    their slots that its own multiplications take when nothing else runs."""
    graph, schedule = design.fixed.graph, design.plan.schedule
    products, used = 0, set()
    tables, lookups = set(), set()
    passes = function_passes(design, function)
    for number, nodes in enumerate(passes):
        for i in nodes:
            node = graph.nodes[i]
            if node.operation.looks_up:
                unit = schedule.fixed.graph.nodes[i].owner
                tables.add((unit, schedule.binding[i]))
                # sine and cosine of an angle are one look-up, by both ports of a table
                lookups.add((number, unit, node.args[0]))
            if node.products:
                products += len(node.products)
                used.add(schedule.multiplier(i))
    # what both passes need is one piece of hardware
    constants = sum(graph.nodes[i].terms.multiple is not None for i in set().union(*passes))
    slots = design.interval(function) * len(used)
    replicas = design.tasks.replicas
    return {
        "ii_cycles": design.mean_interval(function),
        "latency_cycles": design.promised_latency(function),
        "latency_cycles_steady": design.steady_latency(function),
        "multipliers": {"variable": replicas * len(used), "constant": replicas * constants},
        "multiplications": products,
        "tables": replicas * len(tables),
        "lookups": len(lookups),
        "multiplier_utilization": round(products / slots, 4) if slots else 1.0,
    }


def submodule_table(design: Design) -> list[dict[str, Any]]:
    """One row per submodule of an accelerator: name, kind, body, operations, the units that execute it (several where
    some of its operations are folded) and how many of their multipliers it uses, first and last cycle."""
    # nodes belong to units in the schedule's graph, to submodules in the design's
    graph, schedule = design.fixed.graph, design.plan.schedule
    rows = []
    for sub in design.network.submodules:
        nodes = graph.owned.get(sub.name)
        if not nodes:
            continue
        rows.append(
            {
                "name": sub.name,
                "kind": sub.kind,
                "body": None if sub.body is None else design.robot.bodies[sub.body].name,
                **{
                    f"{kind}_multiplications": n
                    for kind, n in graph.multiplications(sub.name).items()
                },
                "additions": graph.additions(sub.name),
                "unit": "/".join(dict.fromkeys(schedule.fixed.graph.nodes[i].owner for i in nodes)),
                "multipliers": len(
                    {schedule.multiplier(i) for i in nodes if graph.nodes[i].products}
                ),
                "first_cycle": min(schedule.slots[i].start for i in nodes),
                "last_cycle": max(schedule.slots[i].finish for i in nodes),
            }
        )
    return rows


def unit_table(design: Design) -> list[dict[str, Any]]:
    """One row per unit of an accelerator: its submodules, its turns for alike branches, multipliers and how well they
    are used."""
    schedule, rows = design.plan.schedule, []
    graph, folds = schedule.fixed.graph, schedule.folds
    for unit in design.plan.units:
        if unit.nodes:
            products = sum(len(graph.nodes[i].products) for i in unit.nodes)
            count = schedule.multipliers.get(unit.name, 0)
            rows.append(
                {
                    "name": unit.name,
                    "submodules": sorted({design.fixed.graph.nodes[i].owner for i in unit.nodes}),
                    "turns": folds.units.get(unit.name, 1),
                    "multiplications": products,
                    "multipliers": count,
                    "utilization": round(products / (count * schedule.ii), 4) if count else None,
                }
            )
    return rows


def bounds(design: Design, function: str) -> dict[str, float]:
    """The least interval that multipliers, tables and streams allow a function, in cycles from task to task: a stream
    moves one beat a cycle, with a lane for each accelerator, and a table answers one angle."""
    tasks, promise = design.tasks, function_promises(design, function)
    used, found = promise["multipliers"]["variable"], {}
    beats = max(tasks.task_beats(function), tasks.result_beats(function))
    found["streams"] = beats / tasks.replicas
    found["multipliers"] = float(Fraction(promise["multiplications"], used)) if used else 0.0
    found["memory"] = (
        float(Fraction(promise["lookups"], promise["tables"])) if promise["tables"] else 0.0
    )
    return found


def machine_part(design: Design) -> dict[str, Any]:
    """The entries of a report on the machine itself."""
    plan = design.plan
    replicas = design.tasks.replicas
    method = sine_method(design.table_word)
    return {
        "multipliers": multipliers(design),
        "multiplier_widths": multiplier_widths(design),
        "sine": {
            "tables": replicas * sum(plan.schedule.tables.values()),
            "order": method.order,
            "address_bits": method.address_bits,
            "truncation": method.truncation,
        },
        "register_bits": replicas * plan.register_bits,
        "fifo_bits": replicas * plan.fifo_bits,
        "functions": {name: function_promises(design, name) for name in design.network.functions},
        "multiplier_utilization": round(plan.schedule.utilization, 4),
        "submodules": submodule_table(design),
        "units": unit_table(design),
        "fifos": [asdict(q) for q in all_queues(plan, design.tasks)],
    }
