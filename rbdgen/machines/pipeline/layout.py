"""A layout: which units a design has at an initiation interval, what is folded in them, and what that takes.

Alike branches are folded; submodules are joined into one unit where they share multipliers well. Nothing is scheduled
for that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace

from rbdgen.devices.device import Device
from rbdgen.devices.registry import DeviceOptions, target_device
from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.folds import NO_FOLDS, Folds
from rbdgen.machines.pipeline.delays import Operators
from rbdgen.machines.pipeline.multipliers import Run, UnitMultipliers, product_runs
from rbdgen.model.robot import Robot
from rbdgen.model.variants import longest_chain, rerooted, shortest_root
from rbdgen.passes.dots import shape_dots
from rbdgen.setting import OPEN, SWITCH, WORD, setting
from rbdgen.tracing.folding import FoldOptions, alike_branches, fold_branches
from rbdgen.tracing.network import Network
from rbdgen.tracing.units import UTILIZATION, share_units

DENSER = (UTILIZATION, 0.97, 1.0)
"""Shares of multipliers' phases that are to be used, as far as a budget needs it."""
LOOSER = (0.0, 0.8, 0.9, *DENSER)
"""The same where multipliers are not to be saved: submodules join only as far as they must. What is apart has short
wires; iiwa14 with all functions at 16 cycles takes 136 multipliers instead of 114, and 7% less wire."""


@dataclass(frozen=True)
class SharingOptions(DeviceOptions, FoldOptions):
    """Options of how submodules share multipliers at an interval, on a device."""

    share: bool = setting(True, SWITCH, "sharing", "submodules share multipliers", otherwise="yes")
    spread: str = setting(
        OPEN,
        WORD,
        "sharing",
        "as few multipliers as there can be, or about twice as many, for narrower choices before them",
        otherwise="auto",
        choices=lambda: (OPEN, "fewest", "twice"),
        metavar="S",
    )

    @property
    def spreads(self) -> bool:
        """Whether multipliers are not to be saved."""
        return self.spread == "twice"


@dataclass(frozen=True)
class Layout:
    """A graph with its units and folds for an initiation interval ``ii``; ``source``: the same graph by
    submodules; ``why`` it was chosen, in lines."""

    fixed: FixedGraph
    folds: Folds
    ii: int
    source: FixedGraph
    why: tuple[str, ...] = ()

    def units(self, device: Device) -> dict[str, UnitMultipliers]:
        """The multipliers of each unit on ``device``."""
        runs: dict[str, list[Run]] = defaultdict(list)
        for i, run in product_runs(self.fixed, self.folds, device).items():
            runs[self.fixed.graph.nodes[i].owner].append(run)
        found = {}
        for unit, own in runs.items():
            interval = self.folds.interval(unit, self.ii)
            found[unit] = UnitMultipliers(interval, own)
        return found

    def multipliers(self, device: Device) -> dict[str, int]:
        """Multipliers by unit."""
        return {unit: len(own.sizes) for unit, own in self.units(device).items()}

    def blocks(self, device: Device) -> int:
        """Multiplier blocks that these take on ``device``, if each makes products that are alike in width."""
        return sum(sum(own.sizes) for own in self.units(device).values())


def lay_out(
    network: Network,
    fixed: FixedGraph,
    options: SharingOptions,
    blocks: int | None = None,
) -> Layout:
    """The units at one interval: alike branches folded, submodules joined where they share multipliers; more of them,
    as far as otherwise more than ``blocks`` of the device's multiplier blocks would be taken."""
    device = target_device(options)
    folded = fold_units(network, fixed, options)
    if not options.share:
        return folded
    return join_units(folded, lambda layout: layout.blocks(device), blocks, options.spreads)


def fold_units(network: Network, fixed: FixedGraph, options: SharingOptions) -> Layout:
    """A unit for each submodule; alike branches folded. Dots are as long as the interval of the unit that executes
    them."""
    device, ii, fold = target_device(options), options.ii, options.fold
    arrivals = _arrivals(fixed, device)
    longest = dict.fromkeys(fixed.graph.owners, _longest(ii))
    # folds shorten intervals, for which dots may be too long; other dots may fold otherwise
    while True:
        shaped = shape_dots(fixed, longest.__getitem__, arrivals, device.add)
        layout = _fold(network, shaped, device, ii, fold)
        shorter = {}
        for owner, interval in _intervals(shaped, layout).items():
            allowed = _longest(interval)
            # dots only ever become shorter, so that this ends
            if allowed < longest[owner]:
                shorter[owner] = allowed
        if not shorter:
            return layout
        longest |= shorter


def shaped_for(fixed: FixedGraph, device: Device, ii: int) -> FixedGraph:
    """The same bits with dots as long as an interval of ``ii`` cycles allows, for a unit of each submodule."""
    arrivals = _arrivals(fixed, device)
    return shape_dots(fixed, lambda owner: _longest(ii), arrivals, device.add)


def _longest(interval: int) -> int:
    """Products of a dot that one multiplier makes within an interval; none where there is one for each."""
    return 0 if interval == 1 else interval


def _fold(network: Network, fixed: FixedGraph, device: Device, ii: int, fold: bool) -> Layout:
    """Units for dots that are shaped already."""

    def fits(folds: Folds, node: int) -> bool:
        delays = Operators(fixed, device, folds, ii).delays(node)
        return delays.fit(device, device.reach)

    graph, folds = fixed, NO_FOLDS
    if fold and ii > 1:
        graph, folds = fold_branches(network, fixed, ii, fits)
    return Layout(graph, folds, ii, fixed)


def _intervals(source: FixedGraph, layout: Layout) -> dict[str, int]:
    """The shortest interval at which a submodule's dots are executed."""
    found: dict[str, int] = {}
    for i, node in source.graph:
        if not node.terms.is_dot:
            continue
        unit = layout.fixed.graph.nodes[i].owner
        interval = layout.folds.interval(unit, layout.ii)
        found[node.owner] = min(interval, found.get(node.owner, interval))
    return found


def _arrivals(fixed: FixedGraph, device: Device) -> list[float]:
    """When each node's value is there at the earliest, ns, in a design that shares nothing."""
    # what shares operators is decided on dots that have their shapes already
    operators = Operators(fixed, device)
    arrivals: list[float] = []
    for i, node in fixed.graph:
        before = max((arrivals[a] for a in node.args), default=0.0)
        delays = operators.delays(i)
        arrivals.append(before + delays.cycles * device.period + delays.after)
    return arrivals


def join_units(
    layout: Layout, cost: Callable[[Layout], int], limit: int | None, spread: bool
) -> Layout:
    """The same with submodules joined where they share multipliers (``spread``: only as far as need be), as many as
    keep the ``cost`` within the ``limit`` if that can be."""
    # at an interval of one cycle no multiplier can be shared
    if layout.ii == 1:
        return layout
    joined = layout
    for utilization in LOOSER if spread else DENSER:
        fixed, folds = share_units(layout.fixed, layout.folds, layout.ii, utilization)
        joined = replace(layout, fixed=fixed, folds=folds)
        if limit is None or cost(joined) <= limit:
            break
    return joined


def fold_notes(network: Network, layout: Layout) -> list[str]:
    """Remarks on what was folded, what was not although it is alike, and a root from which chains would be shorter."""
    robot = network.robot
    notes = []
    root = shortest_root(robot)
    if root != robot.bodies[0].name:
        longest = longest_chain(robot)
        shorter = longest_chain(rerooted(robot, root))
        notes.append(
            f"with --root {root} the longest chain would have {shorter} bodies instead of {longest}, and the "
            "base that link's coordinates"
        )
    for branches in alike_branches(robot):
        note = _branch_note(robot, branches, layout)
        if note is not None:
            notes.append(note)
    return notes


def _branch_note(robot: Robot, branches: list[list[int]], layout: Layout) -> str | None:
    """Whether alike ``branches`` are folded, or why not; None if something else keeps them apart."""
    count = len(branches)
    names = ", ".join(robot.bodies[branch[0]].name for branch in branches)
    if count in layout.folds.units.values():
        return f"{count} branches share one, in turns of {layout.ii // count} cycles: {names}"
    if layout.ii % count:
        multiple = -(-layout.ii // count) * count
        return f"alike branches are not folded, an interval of {multiple} cycles would do: {names}"
    return None
