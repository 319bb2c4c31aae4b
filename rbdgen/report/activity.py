"""What a design does when: the work of every unit by cycle, the bounds on its rate, and how it was produced.

Parts of the JSON report that pictures are drawn from. All of it follows from the schedule: promised, not measured.
"""

from __future__ import annotations

import hashlib
import platform
from collections import Counter
from fractions import Fraction
from importlib import metadata
from typing import Any

from rbdgen.compiler import Design
from rbdgen.ir.text import to_text

VERSIONED = ("rbdgen", "numpy", "networkx", "amaranth", "pyosys")
"""Packages on whose versions the bytes of a design depend."""


def activity(design: Design) -> list[dict[str, Any]]:
    """One row per unit and program: its first and last cycle for a task that starts in cycle 0, and how many products
    it starts in which cycle."""
    plan = design.plan
    graph, slots = plan.schedule.fixed.graph, plan.schedule.slots
    nodes: dict[tuple[str, str], list[int]] = {}
    for i, node in graph:
        program = plan.programs[i]
        if program is not None and node.op not in ("const", "input"):
            nodes.setdefault((node.owner, program), []).append(i)
    rows = []
    for (unit, program), mine in nodes.items():
        products = Counter(slots[i].start for i in mine if graph.nodes[i].op == "mul")
        rows.append(
            {
                "unit": unit,
                "program": program,
                "first_cycle": min(slots[i].start for i in mine),
                "last_cycle": max(slots[i].finish for i in mine),
                "products": [[cycle, products[cycle]] for cycle in sorted(products)],
            }
        )
    return sorted(rows, key=lambda r: (r["program"], r["first_cycle"], r["last_cycle"]))


def exits(design: Design) -> list[dict[str, Any]]:
    """Where results leave: name, program, and the cycle in which they are taken."""
    taken = design.plan.exits
    return [{"name": e.name, "program": e.program, "cycle": taken[e.name]} for e in design.plan.schedule.programs.exits]


def roofline(design: Design, functions: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The least interval that multipliers and streams allow each function, in cycles, and which of them binds.

    ``functions`` are the promises of :func:`rbdgen.report.design.function_promises`. A stream moves one beat a cycle.
    """
    tasks = design.tasks
    bounds = {}
    for name, promise in functions.items():
        used = promise["multipliers"]["variable"]
        compute = float(Fraction(promise["multiplications"], used)) if used else 0.0
        beats = tasks.task_beats(name), tasks.result_beats(name)
        bounds[name] = {
            "task_beats": beats[0],
            "result_beats": beats[1],
            "multiplier_bound": round(compute, 4),
            "link_bound": max(beats),
            "binds": "link" if max(beats) >= compute else "multipliers",
        }
    return {
        "task_bits_per_cycle": tasks.task.beat_bits,
        "result_bits_per_cycle": tasks.result.beat_bits,
        "functions": bounds,
    }


def versions(packages: tuple[str, ...] = VERSIONED) -> dict[str, str | None]:
    """Versions of Python and of packages; None for one that is not installed."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def graph_digest(design: Design) -> str:
    """SHA-256 of the fixed-point graph's text: two reports with the same digest are of the same arithmetic."""
    return hashlib.sha256(to_text(design.fixed).encode()).hexdigest()
