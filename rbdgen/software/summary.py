"""Costs of a function's program: operations, memory, text; for people and for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rbdgen.software.blocks import cut
from rbdgen.software.nvrtc import Report
from rbdgen.software.program import Program, Straight, Whole

SCHEMA = "rbdgen.software/1"
"""Name and version of the summary's structure."""
KINDS = {
    "product": "products",
    "shift": "products",
    "sum": "sums",
    "sin": "sines",
    "cos": "sines",
    "reciprocal": "divisions",
    "divide": "divisions",
}
"""Kinds as which operations count."""


def operations(program: Program) -> dict[str, int]:
    """Numbers of ``products``, ``sums``, ``sines`` (and cosines) and ``divisions`` of a call, or of a step of time."""
    # kinds that do not occur are zero, not missing
    counts = Counter(dict.fromkeys(dict.fromkeys(KINDS.values()), 0))
    for step in program.steps:
        if isinstance(step, Whole):
            rows, inner = program.arrays[step.left].shape
            columns = program.arrays[step.right].shape[1]
            counts["products"] += rows * inner * columns
            counts["sums"] += rows * inner * columns
            continue
        for _, node in step.graph:
            # a processor multiplies by constants as well
            multiplies = node.products or node.terms.multiple is not None
            kind = "product" if multiplies else node.op
            if kind in KINDS:
                counts[KINDS[kind]] += 1
    return dict(counts)


def local_numbers(program: Program) -> int:
    """Numbers that a call has in memory of its own."""
    slots = [cut(step).slots for step in program.steps if isinstance(step, Straight)]
    return sum(x.size for x in program.local) + max(slots, default=0)


def summary(robot: str, target: str, programs: Sequence[Program]) -> dict[str, Any]:
    """Summary of what was made: operations and memory by function."""
    functions = {}
    for program in programs:
        functions[program.function.name] = {
            "summary": program.function.summary,
            **operations(program),
            "memory_bytes": 8 * local_numbers(program),
        }
    return {"schema": SCHEMA, "robot": robot, "target": target, "functions": functions}


def kernel_row(known: Report) -> dict[str, Any]:
    """Costs of a CUDA kernel on an architecture."""
    occupancy = known.occupancy
    return {
        "function": known.function,
        "kernel": known.name,
        "bits": known.kernel.kind.bits,
        "warps": known.kernel.warps,
        "registers": known.usage.registers,
        "spilled_bytes": known.usage.spilled + known.kernel.kept,
        "shared_bytes": known.kernel.shared,
        "resident_warps": occupancy.warps if occupancy else None,
    }
