"""What bounds the rate of a design's functions: multipliers, tables in memory, or the streams. Promised, as it follows
from the schedule."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from rbdgen.compiler import Design


def roofline(design: Design, functions: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The least interval that multipliers, tables and streams allow each function, in cycles, and which of them binds.

    ``functions`` are the promises of :func:`rbdgen.report.design.function_promises`. A stream moves one beat a cycle, a
    table answers one angle.
    """
    tasks = design.tasks
    bounds = {}
    for name, promise in functions.items():
        used = promise["multipliers"]["variable"]
        compute = float(Fraction(promise["multiplications"], used)) if used else 0.0
        memory = (
            float(Fraction(promise["lookups"], promise["tables"])) if promise["tables"] else 0.0
        )
        beats = tasks.task_beats(name), tasks.result_beats(name)
        bounds[name] = {
            "task_beats": beats[0],
            "result_beats": beats[1],
            "multiplier_bound": round(compute, 4),
            "memory_bound": round(memory, 4),
            "stream_bound": max(beats),
            "binds": max(
                ("streams", max(beats)),
                ("multipliers", compute),
                ("memory", memory),
                key=lambda bound: bound[1],
            )[0],
        }
    return {
        "task_bits_per_cycle": tasks.task.beat_bits,
        "result_bits_per_cycle": tasks.result.beat_bits,
        "functions": bounds,
    }
