"""Units: which submodules share one piece of hardware, and with it its multipliers.

A unit of n products needs ceil(n / interval) multipliers. What is lost is the rounding up, once per unit, so that
small submodules had better share. Neighbours in the order of the bodies join until little is lost; larger units than
that would only make for wider choices of operands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.folds import Folds, with_owners
from rbdgen.ir.graph import INPUT_OWNER

UTILIZATION = 0.94
"""Share of the multipliers' slots that is to be used, if units that are large enough can reach it."""


def _partition(sizes: Sequence[int], interval: int, largest: int) -> list[int]:
    """Where to cut a row of submodules with so many products each, so that the units need the fewest multipliers, and
    of these the most units: the ends of the units. None has more than ``largest`` products unless it is one submodule.
    """
    best: list[tuple[int, int, int]] = [(0, 0, 0)]  # multipliers, −units, where the last unit begins
    for end in range(1, len(sizes) + 1):
        total, options = 0, []
        for begin in range(end - 1, -1, -1):
            total += sizes[begin]
            if total > largest and begin < end - 1:
                break
            cost, units, _ = best[begin]
            options.append((cost - (-total // interval), units - 1, begin))
        best.append(min(options))
    ends, end = [], len(sizes)
    while end:
        ends.append(end)
        end = best[end][2]
    return ends[::-1]


def _row(names: Sequence[str], products: Counter[str], interval: int, utilization: float) -> list[list[str]]:
    """The units of a row of submodules that take turns of ``interval`` cycles."""
    sizes = [products[n] for n in names]
    least = -(-sum(sizes) // interval)
    largest = interval if utilization >= UTILIZATION else 0
    while True:
        ends = _partition(sizes, interval, largest)
        units = [list(names[a:b]) for a, b in zip([0, *ends], ends, strict=False)]
        needed = sum(-(-sum(products[n] for n in unit) // interval) for unit in units)
        if needed * utilization * interval <= sum(sizes) or needed == least or len(units) == 1:
            return units
        largest = max(interval, 2 * largest)


def share_units(fixed: FixedGraph, folds: Folds, ii: int, utilization: float = UTILIZATION) -> tuple[FixedGraph, Folds]:
    """The graph with submodules joined to units, and the folds with the units' names.

    A unit of several submodules is named after the first and their number. Folded ones join only those of as many
    branches. ``utilization``: see :data:`UTILIZATION`.
    """
    graph = fixed.graph
    products = Counter(n.owner for i, n in graph if n.op == "mul" and folds.template(i) == i)
    names = [n for n in graph.owners if n != INPUT_OWNER]
    rows: dict[int, list[str]] = {}
    for name in names:
        rows.setdefault(folds.units.get(name, 1), []).append(name)
    renamed: dict[str, str] = {}
    turns: dict[str, int] = {}
    for branches, row in rows.items():
        for unit in _row(row, products, ii // branches, utilization):
            name = unit[0] if len(unit) == 1 else f"{unit[0]}_and_{len(unit) - 1}_more"
            renamed |= dict.fromkeys(unit, name)
            if branches > 1:
                turns[name] = branches
    owners = {i: renamed[n.owner] for i, n in graph if n.op != "const" and n.owner != INPUT_OWNER}
    return with_owners(fixed, owners), Folds(folds.turns, turns)
