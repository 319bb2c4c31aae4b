"""What bounds the rate of a design's functions: multipliers, tables in memory, the streams, or a board's link.
Promised, as it follows from the schedule."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from rbdgen.compiler import Design
from rbdgen.compiler.design import readable


def roofline(design: Design, functions: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The least interval that multipliers, tables, streams and the board's link, if there is one, allow each function,
    in cycles from task to task, and which of them binds.

    ``functions`` are the promises of :func:`rbdgen.report.design.function_promises`. A stream moves one beat a cycle,
    with a lane for each accelerator, and a table answers one angle.
    """
    tasks = design.tasks
    link = design.target.link
    clock = design.plan.schedule.device.megahertz
    bounds = {}
    for name, promise in functions.items():
        used = promise["multipliers"]["variable"]
        compute = float(Fraction(promise["multiplications"], used)) if used else 0.0
        memory = (
            float(Fraction(promise["lookups"], promise["tables"])) if promise["tables"] else 0.0
        )
        beats = tasks.task_beats(name), tasks.result_beats(name)
        streams = max(beats) / tasks.replicas
        ways = {"streams": streams, "multipliers": compute, "memory": memory}
        if link is not None:
            ways["link"] = link.interval(tasks, name, clock)
        bounds[name] = {
            "task_beats": beats[0],
            "result_beats": beats[1],
            "multiplier_bound": round(compute, 4),
            "memory_bound": round(memory, 4),
            "stream_bound": readable(streams),
            "binds": max(ways, key=lambda way: ways[way]),
        }
        if link is not None:
            bounds[name]["link_bound"] = round(ways["link"], 4)
    found: dict[str, Any] = {
        "task_bits_per_cycle": tasks.task.row_bits,
        "result_bits_per_cycle": tasks.result.row_bits,
        "functions": bounds,
    }
    if link is not None:
        bits = round(link.bits_per_cycle(clock), 4)
        found["link"] = {"name": link.name, "bits_per_cycle": bits}
    return found
