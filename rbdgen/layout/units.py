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


def _multipliers(products: int, interval: int) -> int:
    """How many multipliers a unit of so many products needs."""
    return -(-products // interval)


def _partition(sizes: Sequence[int], interval: int, largest: int) -> list[int]:
    """Where to cut a row of submodules with so many products each, so that the units need the fewest multipliers, and
    of these the most units: the ends of the units. None has more than ``largest`` products unless it is one submodule.
    """
    # of every beginning of the row: multipliers, −units, where the last unit begins
    best = [(0, 0, 0)]
    for end in range(1, len(sizes) + 1):
        total = 0
        options = []
        for begin in reversed(range(end)):
            total += sizes[begin]
            several = end - begin > 1
            if several and total > largest:
                break
            before, units, _ = best[begin]
            cost = before + _multipliers(total, interval)
            options.append((cost, units - 1, begin))
        best.append(min(options))
    ends = []
    end = len(sizes)
    while end:
        ends.append(end)
        _, _, end = best[end]
    ends.reverse()
    return ends


def _row(
    names: Sequence[str], products: Counter[str], interval: int, utilization: float
) -> list[list[str]]:
    """The units of a row of submodules, whose products share each multiplier of a unit over ``interval`` cycles."""
    sizes = [products[n] for n in names]
    total = sum(sizes)
    least = _multipliers(total, interval)
    largest = interval if utilization >= UTILIZATION else 0
    while True:
        units = []
        needed = 0
        begin = 0
        for end in _partition(sizes, interval, largest):
            units.append(list(names[begin:end]))
            needed += _multipliers(sum(sizes[begin:end]), interval)
            begin = end
        well_used = needed * utilization * interval <= total
        if well_used or needed == least or len(units) == 1:
            return units
        largest = max(interval, 2 * largest)


def share_units(
    fixed: FixedGraph, folds: Folds, ii: int, utilization: float = UTILIZATION
) -> tuple[FixedGraph, Folds]:
    """The graph with submodules joined to units, and the folds with the units' names.

    A unit of several submodules is named after the first and their number. Folded ones join only those of as many
    branches. ``utilization``: see :data:`UTILIZATION`.
    """
    graph = fixed.graph
    products: Counter[str] = Counter()
    for i, node in graph:
        if node.op == "mul" and folds.template(i) == i:
            products[node.owner] += 1
    names = [n for n in graph.owners if n != INPUT_OWNER]
    rows: dict[int, list[str]] = {}
    for name in names:
        branches = folds.units.get(name, 1)
        rows.setdefault(branches, []).append(name)
    renamed: dict[str, str] = {}
    folded: dict[str, int] = {}
    for branches, row in rows.items():
        for unit in _row(row, products, ii // branches, utilization):
            name = unit[0]
            if len(unit) > 1:
                name += f"_and_{len(unit) - 1}_more"
            renamed |= dict.fromkeys(unit, name)
            if branches > 1:
                folded[name] = branches
    owners = {}
    for i, node in graph:
        if node.op != "const" and node.owner != INPUT_OWNER:
            owners[i] = renamed[node.owner]
    return with_owners(fixed, owners), Folds(folds.turns, folded)
