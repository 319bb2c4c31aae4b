"""A point's figures: what its design promises, and the bit-true model's errors. Nothing is simulated in RTL."""

from __future__ import annotations

from typing import Any

from rbdgen import trials
from rbdgen.compiler import compile_robot
from rbdgen.compiler.design import readable
from rbdgen.explore.points import Point, Task
from rbdgen.model.variants import rerooted
from rbdgen.report.design import design_report


def figures(task: Task, point: Point) -> dict[str, Any]:
    """A point's figures: what its design promises, and the bit-true model's errors at random states."""
    choice = point.choice
    robot = rerooted(task.robot, choice.root) if choice.root else task.robot
    design = compile_robot(robot, choice.options, budget=choice.budget)
    report = design_report(design)
    states = trials.task_states(design, task.count, task.seed)
    resources = report["modelled_resources"]
    interval = readable(report["ii"] / report["replicas"])
    functions = {}
    for name, promise in report["functions"].items():
        tasks = trials.make_tasks(design, name, states)
        worst, rms = trials.relative_errors(design, tasks, tasks.expected)
        functions[name] = {
            "ii_cycles": promise["ii_cycles"],
            "latency_cycles": promise["latency_cycles"],
            "max_relative_error": worst,
            "rms_relative_error": rms,
            "flagged": int((tasks.flags != 0).sum()),
        }
    return {
        "figures": "promised cycles, errors of the bit-true model",
        "multipliers_variable": report["multipliers"]["variable"],
        "multipliers_constant": report["multipliers"]["constant"],
        "multiplier_blocks": report["multiplier_blocks"],
        "luts": resources["luts"],
        "registers": resources["registers"],
        "register_bits": report["register_bits"],
        "fifo_bits": report["fifo_bits"],
        "clock_mhz": report["clock_mhz"],
        "interval_cycles": interval,
        "latency_cycles": max(f["latency_cycles"] for f in functions.values()),
        "task_us": report["ii"] / report["replicas"] / report["clock_mhz"],
        "max_relative_error": max(f["max_relative_error"] for f in functions.values()),
        "by_function": functions,
    }
