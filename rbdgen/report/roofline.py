"""What bounds the rate of a design's functions: multipliers, or the streams. Follows from the schedule: promised."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from rbdgen.compiler import Design


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
