"""Units: which submodules share one piece of hardware, and with it its multipliers.

A unit needs as many multipliers as its runs of products fill: the products of a dot go to one multiplier, one after the
other. What is lost is what runs leave free, so that small submodules had better share. Neighbours in the order of the
bodies join until little is lost; larger units than that would only make for longer connections.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.folds import Folds, with_owners
from rbdgen.ir.graph import INPUT_OWNER

UTILIZATION = 0.94
"""Share of the multipliers' slots that is to be used, if units that are large enough can reach it."""


def first_fit(lengths: Iterable[int], interval: int) -> list[int]:
    """The numbers of multipliers for runs of so many products: for one after the other the first that has room for it
    in its ``interval``."""
    room: list[int] = []
    numbers = []
    for length in lengths:
        number = 0
        for left in room:
            if left >= length:
                break
            number += 1
        else:
            room.append(interval)
        room[number] -= length
        numbers.append(number)
    return numbers


def _multipliers(runs: Counter[int], interval: int) -> int:
    """The number of multipliers that a unit needs for runs of so many products, by length, the longest first."""
    longest_first = sorted(runs.elements(), reverse=True)
    return len(set(first_fit(longest_first, interval)))


def _products(runs: Counter[int]) -> int:
    """The products of some runs."""
    return sum(length * count for length, count in runs.items())


def _partition(rows: Sequence[Counter[int]], interval: int, largest: int) -> list[int]:
    """Where to cut a row of submodules with such runs each, so that the units need the fewest multipliers, and of these
    the most units: the ends of the units. None has more than ``largest`` products unless it is one submodule."""
    # of every beginning of the row: multipliers, −units, where the last unit begins
    best = [(0, 0, 0)]
    for end in range(1, len(rows) + 1):
        together: Counter[int] = Counter()
        options = []
        for begin in reversed(range(end)):
            together += rows[begin]
            several = end - begin > 1
            if several and _products(together) > largest:
                break
            before, units, _ = best[begin]
            cost = before + _multipliers(together, interval)
            options.append((cost, units - 1, begin))
        best.append(min(options))
    ends = []
    end = len(rows)
    while end:
        ends.append(end)
        _, _, end = best[end]
    ends.reverse()
    return ends


def join_row(
    names: Sequence[str], runs: Mapping[str, Counter[int]], interval: int, utilization: float
) -> list[list[str]]:
    """The units of a row of submodules, whose products share each multiplier of a unit over ``interval`` cycles."""
    rows = [runs[n] for n in names]
    total = sum(map(_products, rows))
    least = -(-total // interval)
    largest = interval if utilization >= UTILIZATION else 0
    while True:
        units = []
        needed = 0
        begin = 0
        for end in _partition(rows, interval, largest):
            units.append(list(names[begin:end]))
            needed += _multipliers(sum(rows[begin:end], Counter()), interval)
            begin = end
        well_used = needed * utilization * interval <= total
        # where the row may be one unit, and is not, larger ones need as many
        if well_used or needed == least or largest >= total:
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
    runs: dict[str, Counter[int]] = defaultdict(Counter)
    for i, node in graph:
        if node.products and folds.template(i) == i:
            runs[node.owner][len(node.products)] += 1
    names = [n for n in graph.owners if n != INPUT_OWNER]
    rows: dict[int, list[str]] = {}
    for name in names:
        branches = folds.units.get(name, 1)
        rows.setdefault(branches, []).append(name)
    renamed: dict[str, str] = {}
    folded: dict[str, int] = {}
    for branches, row in rows.items():
        # branches share the interval: each has its part of it
        for unit in join_row(row, runs, ii // branches, utilization):
            name = unit[0]
            if len(unit) > 1:
                name += f"_and_{len(unit) - 1}_more"
            renamed |= dict.fromkeys(unit, name)
            if branches > 1:
                folded[name] = branches
    owners = {}
    for i, node in graph:
        if not node.is_const and node.owner != INPUT_OWNER:
            owners[i] = renamed[node.owner]
    return with_owners(fixed, owners), Folds(folds.turns, folded)
