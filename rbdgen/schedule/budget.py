"""The layout for a budget: the highest task rate that so many multipliers, or a device's blocks, allow.

Every multiplier makes one product a cycle, so that no initiation interval below products / multipliers is possible.
From there upwards intervals are tried until folding and sharing leave few enough; nothing is scheduled for that.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from rbdgen.errors import ConfigError
from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.folds import NO_FOLDS, Folds
from rbdgen.layout.columns import fold_columns
from rbdgen.layout.folding import alike_branches, fold_branches
from rbdgen.layout.network import Network
from rbdgen.layout.units import UTILIZATION, share_units
from rbdgen.model.rooting import longest_chain, rerooted, shortest_root
from rbdgen.schedule.delays import operator_delays
from rbdgen.schedule.device import Device
from rbdgen.schedule.scheduler import MAX_II

DENSER = (UTILIZATION, 0.97, 1.0)
"""How well multipliers are to be used, as far as a budget needs it."""
LOOSER = (0.0, 0.8, 0.9, *DENSER)
"""The same where multipliers are not to be saved: submodules join only as far as they must. What is apart has short
wires; iiwa14 with all functions at 16 cycles takes 136 multipliers instead of 114, and 7% less wire."""
SLACK = 1.25
"""How far beyond the bound an interval is looked for by steps of one; beyond, steps grow."""


@dataclass(frozen=True)
class Budget:
    """What a layout may cost or must reach: at most ``multipliers``, at most ``blocks`` of the device's multiplier
    blocks (``name``: whose), at least ``rate`` tasks per second at the device's clock. None: no such demand.

    ``resources``: what else there is, by the names of :class:`rbdgen.schedule.resources.Resources`; it decides how
    far units join at an interval that is given, and what is spared where there is too little."""

    multipliers: int | None = None
    rate: float | None = None
    blocks: int | None = None
    name: str = "budget"
    resources: Mapping[str, int] = field(default_factory=dict)

    @property
    def chooses(self) -> bool:
        """Whether the initiation interval follows from it."""
        return (self.multipliers, self.blocks, self.rate) != (None, None, None)


@dataclass(frozen=True)
class Layout:
    """A graph with its units and folds for an initiation interval ``ii``; ``why`` it was chosen, in lines."""

    fixed: FixedGraph
    folds: Folds
    ii: int
    why: tuple[str, ...] = ()

    def multipliers(self) -> dict[str, int]:
        """Multipliers by unit."""
        graph, folds = self.fixed.graph, self.folds
        products = Counter(n.owner for i, n in graph if n.op == "mul" and folds.template(i) == i)
        return {unit: -(-n // folds.interval(unit, self.ii)) for unit, n in products.items()}

    def blocks(self, device: Device) -> int:
        """Multiplier blocks that these take on ``device``, if each makes products that are alike in width."""
        graph, needed = self.fixed.graph, self.multipliers()
        sizes: dict[str, list[int]] = defaultdict(list)
        for i, node in graph:
            if node.op == "mul" and self.folds.template(i) == i:
                sizes[node.owner].append(device.blocks(*self.folds.factor_widths(self.fixed, i)))
        total = 0
        for unit, costs in sizes.items():
            interval = self.folds.interval(unit, self.ii)
            total += sum(sorted(costs, reverse=True)[k * interval] for k in range(needed[unit]))
        return total


def lay_out(
    network: Network,
    fixed: FixedGraph,
    device: Device,
    ii: int,
    fold: bool = True,
    share: bool = True,
    columns: bool = False,
    blocks: int | None = None,
    apart: bool = False,
) -> Layout:
    """The units at one interval: alike branches folded, and ``columns``, submodules joined where they share
    multipliers (``apart``: none); more of them, as far as otherwise more than ``blocks`` of the device's multiplier
    blocks would be taken."""
    folded = _folded(network, fixed, device, ii, fold, columns)
    return _joined(folded, lambda layout: layout.blocks(device), blocks, apart) if share else folded


def _folded(network: Network, fixed: FixedGraph, device: Device, ii: int, fold: bool, columns: bool) -> Layout:
    """A unit for each submodule, alike branches and columns folded."""

    def fits(folds: Folds, node: int) -> bool:
        return operator_delays(fixed, device, node, folds).fit(device, max(device.select, device.link))

    graph, folds = fold_branches(network, fixed, ii, fits) if fold and ii > 1 else (fixed, NO_FOLDS)
    if columns and ii > 1:
        graph, folds = fold_columns(network, graph, folds, ii, fits)
    return Layout(graph, folds, ii)


def _joined(layout: Layout, cost: Callable[[Layout], int], limit: int | None, apart: bool) -> Layout:
    """The same with submodules joined where they share multipliers (``apart``: only as far as need be), as many as keep
    the ``cost`` within the ``limit`` if that can be."""
    if layout.ii == 1:
        return layout
    usage = LOOSER if apart else DENSER
    ways = (Layout(*share_units(layout.fixed, layout.folds, layout.ii, u), layout.ii) for u in usage)
    joined = next(ways)
    while limit is not None and cost(joined) > limit:
        denser = next(ways, None)
        if denser is None:
            break
        joined = denser
    return joined


def _intervals(first: int) -> Iterator[int]:
    ii = first
    while ii <= MAX_II:
        yield ii
        ii += 1 if ii <= SLACK * first else max(1, ii // 16)


def fit_layout(
    network: Network,
    fixed: FixedGraph,
    device: Device,
    budget: Budget,
    fold: bool = True,
    share: bool = True,
    columns: bool = False,
    beyond: int = 0,
    apart: bool = False,
) -> Layout:
    """The layout with the smallest interval inside ``budget``, longer than ``beyond``; ``apart``: with submodules
    joined only as far as that needs. ConfigError where there is none, with what would do."""
    clock = device.megahertz * 1e6
    products = fixed.graph.count("mul")
    first, last, why = 1, MAX_II, []
    if budget.rate is not None:
        if not 0 < budget.rate <= clock:
            raise ConfigError(
                f"rate: must be above 0 and at most {clock:g} tasks/s at {device.name}, not {budget.rate:g}"
            )
        last = min(last, math.floor(clock / budget.rate))
        why.append(f"{budget.rate:g} tasks/s at {device.megahertz:g} MHz allow an interval of {last} cycles")
        if budget.multipliers is None and budget.blocks is None:
            first = last
    limit = budget.multipliers if budget.blocks is None else budget.blocks
    what = "multipliers" if budget.blocks is None else "multiplier blocks"
    if limit is not None and limit < 1:
        raise ConfigError(f"{what}: must be at least 1, not {limit}")
    if limit is not None:
        first = max(first, -(-products // limit))
        why.append(f"{products} products on {limit} {what} need an interval of at least {-(-products // limit)} cycles")
    first = max(first, beyond + 1)
    smallest = (products, 1)

    def cost(layout: Layout) -> int:
        return sum(layout.multipliers().values()) if budget.blocks is None else layout.blocks(device)

    for ii in _intervals(min(first, MAX_II)):
        folded = _folded(network, fixed, device, ii, fold, columns)
        layout = _joined(folded, cost, limit, apart) if share else folded
        needed = cost(layout)
        smallest = min(smallest, (needed, ii))
        if limit is not None and needed > limit:
            continue
        if ii > last:
            raise ConfigError(
                f"rate: {budget.rate:g} tasks/s need an interval of at most {last} cycles, and {limit} {what} reach "
                f"{clock / ii:.6g} tasks/s; ask for fewer or give more"
            )
        why.append(f"at {ii} cycles {needed} {what} do" + (f", {products / (ii * needed):.0%} used" if needed else ""))
        return Layout(layout.fixed, layout.folds, ii, (*why, *fold_notes(network, layout)))
    raise ConfigError(
        f"{budget.name}: {limit} {what} are too few for {network.robot.name!r}; the smallest design has {smallest[0]}, "
        f"at an interval of {smallest[1]} cycles"
    )


def fold_notes(network: Network, layout: Layout) -> list[str]:
    """What was folded, what was not although it is alike, and a root from which chains would be shorter."""
    notes, robot = [], network.robot
    root = shortest_root(robot)
    if root != robot.bodies[0].name:
        lengths = longest_chain(robot), longest_chain(rerooted(robot, root))
        notes.append(
            f"with --root {root} the longest chain would have {lengths[1]} bodies instead of {lengths[0]}, and the "
            "base that link's coordinates"
        )
    for branches in alike_branches(robot):
        names = ", ".join(robot.bodies[b[0]].name for b in branches)
        if len(branches) in layout.folds.units.values():
            notes.append(
                f"{len(branches)} branches share one, in turns of {layout.ii // len(branches)} cycles: {names}"
            )
        elif layout.ii % len(branches):
            multiple = -(-layout.ii // len(branches)) * len(branches)
            notes.append(f"alike branches are not folded, an interval of {multiple} cycles would do: {names}")
    return notes
