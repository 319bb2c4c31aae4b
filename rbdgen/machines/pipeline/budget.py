"""The layout for a budget: the highest task rate that so many multipliers, or a device's blocks, allow.

Every multiplier makes one product a cycle, so that no initiation interval below products / multipliers is possible.
From there upwards intervals are tried until folding and sharing leave few enough; nothing is scheduled for that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from rbdgen.devices.device import Device
from rbdgen.devices.registry import get_device, target_device
from rbdgen.errors import ConfigError
from rbdgen.installation import optional_module
from rbdgen.ir.fixed import FixedGraph
from rbdgen.machines.pipeline.layout import (
    Layout,
    SharingOptions,
    fold_notes,
    fold_units,
    join_units,
)
from rbdgen.protocol.links import Link
from rbdgen.setting import INTEGER, RATE, TIME, WORD, setting, settings
from rbdgen.tracing.folding import MAX_II
from rbdgen.tracing.network import Network

SLACK = 1.25
"""Multiple of the bound up to which an interval is looked for by steps of one; beyond, steps grow."""


@dataclass(frozen=True)
class Budget:
    """Limits of what a layout costs and reaches: at most ``multipliers``, at most ``blocks`` of a device's multiplier
    blocks (``name``: whose), at least ``rate`` tasks per second at the device's clock, and at most ``latency`` seconds
    from a lone task's last word to its result's last at the clock (of a roll-out: of one step). None: no such demand.

    ``resources``: what else there is, by the names of :class:`rbdgen.devices.device.Resources`; it decides how
    far units join at an interval that is given, and what is spared where there is too little. ``routable``: the share
    of look-up tables, registers and blocks that tools connect."""

    multipliers: int | None = setting(
        None,
        INTEGER,
        "rate",
        "instead of an interval: as many tasks per second as so many multipliers allow",
        least=1,
        metavar="N",
    )
    rate: float | None = setting(
        None,
        RATE,
        "rate",
        "instead of an interval: the smallest that takes so many tasks per second, such as 10k",
        least=0,
        open=True,
        metavar="R",
    )
    latency: float | None = setting(
        None,
        TIME,
        "rate",
        "instead of an interval: the smallest that answers a lone task in this time, such as 20us",
        least=0,
        open=True,
        metavar="S",
    )
    blocks: int | None = None
    name: str = "budget"
    resources: Mapping[str, int] = field(default_factory=dict)
    routable: float = 1.0

    def shared(self, replicas: int) -> Budget:
        """The budget of each of several accelerators behind one stream."""
        if replicas == 1:
            return self
        return replace(
            self,
            name=f"{self.name}, for each of {replicas} accelerators",
            # accelerators are alike, so that what does not divide evenly is left over
            multipliers=None if self.multipliers is None else self.multipliers // replicas,
            rate=None if self.rate is None else self.rate / replicas,
            blocks=None if self.blocks is None else self.blocks // replicas,
            resources={name: amount // replicas for name, amount in self.resources.items()},
        )

    @property
    def usable(self) -> dict[str, float]:
        """Resources as far as they can be connected."""
        usable: dict[str, float] = dict(self.resources)
        for name in ("luts", "registers"):
            if name in usable:
                usable[name] *= self.routable
        return usable

    @property
    def chooses(self) -> bool:
        """Whether the initiation interval follows from it."""
        return (self.multipliers, self.blocks, self.rate) != (None, None, None)

    @property
    def of_time(self) -> bool:
        """Whether it asks for a rate or a latency, which the smallest design is to keep."""
        return (self.rate, self.latency) != (None, None)

    @property
    def limit(self) -> int | None:
        """The most of what is counted (:attr:`counted`) that there may be: of blocks as many as can be connected."""
        return self.multipliers if self.blocks is None else math.floor(self.routable * self.blocks)

    @property
    def counted(self) -> str:
        """Name of what is counted."""
        return "multipliers" if self.blocks is None else "multiplier blocks"

    def cost(self, layout: Layout, device: Device) -> int:
        """The number of what is counted that a layout takes."""
        if self.blocks is None:
            return sum(layout.multipliers(device).values())
        return layout.blocks(device)


@dataclass(frozen=True)
class Target:
    """The hardware that a design is for: its ``device`` (None: that of the options), the ``board`` that has it, the
    ``link`` that tasks and results come by, the ``clock`` in MHz at which whatever is built runs, where that is not up
    to the design, and the ``budget`` that its layout is fitted to."""

    device: str | None = None
    board: str | None = setting(
        None,
        WORD,
        "target",
        "for what this board has; without an interval as fast as that allows",
        metavar="B",
        basic=True,
    )
    link: Link | None = None
    clock: float | None = None
    budget: Budget = field(default_factory=Budget)

    @classmethod
    def of_board(
        cls,
        name: str,
        *,
        multipliers: int | None = None,
        rate: float | None = None,
        latency: float | None = None,
        keeps_interval: bool = False,
    ) -> Target:
        """A board by its name. A design for it gets the shortest interval that the board has multipliers for, unless so
        many ``multipliers``, a ``rate`` (tasks per second) or a ``latency`` (seconds) are asked for, or the options'
        interval is to be kept.

        ConfigError for an unknown board, with the nearest one; ToolError where boards are not installed."""
        found = optional_module("rbdgen_boards.board", "hw").get_board(name)
        asked = keeps_interval or (multipliers, rate, latency) != (None, None, None)
        budget = Budget(
            multipliers,
            rate,
            latency,
            blocks=None if asked else found.resources["multipliers"],
            name=f"board {found.name}",
            resources=found.resources,
            routable=get_device(found.timing).routable,
        )
        return cls(found.timing, found.source, found.link, found.running_clock, budget)

    def check_device(self, device: str | None) -> None:
        """ConfigError where a board has another device than the one that was asked for."""
        if self.device is not None and device not in (None, self.device):
            raise ConfigError(
                f"device and board: {self.board} has {self.device}, not {device!r}; leave device out"
            )


DEMANDS = settings(Budget) | settings(Target)
"""Demands that a design may be asked to be fitted to, beside the options."""


def fit_layout(
    network: Network,
    fixed: FixedGraph,
    options: SharingOptions,
    budget: Budget,
    beyond: int = 0,
) -> Layout:
    """The layout with the smallest interval inside ``budget``, longer than ``beyond``, whatever interval ``options``
    have. ConfigError where there is none, with what would do."""
    device = target_device(options)

    def cost(layout: Layout) -> int:
        return budget.cost(layout, device)

    limit, products = budget.limit, fixed.graph.products()
    longest = _longest_interval(budget, device)
    first = max(_shortest_interval(budget, products, longest), beyond + 1)
    smallest = (products, 1)
    for ii in _intervals(min(first, MAX_II)):
        layout = fold_units(network, fixed, replace(options, ii=ii))
        if options.share:
            layout = join_units(layout, cost, limit, options.spreads)
        needed = cost(layout)
        smallest = min(smallest, (needed, ii))
        if limit is not None and needed > limit:
            continue
        # few enough multipliers, but slower than what is asked for
        if ii > longest:
            reached = device.megahertz * 1e6 / ii
            raise ConfigError(
                f"rate: {budget.rate:g} tasks/s need an interval of at most {longest} cycles, and {limit} "
                f"{budget.counted} reach {reached:.6g} tasks/s; ask for fewer or give more"
            )
        why = _reasons(budget, device, products, longest)
        why.append(_use(budget, products, ii, needed))
        return replace(layout, why=(*why, *fold_notes(network, layout)))
    raise ConfigError(
        f"{budget.name}: {limit} {budget.counted} are too few for {network.robot.name!r}; the smallest design has "
        f"{smallest[0]}, at an interval of {smallest[1]} cycles"
    )


def _longest_interval(budget: Budget, device: Device) -> int:
    """The longest interval at which a budget's rate is reached. ConfigError for a rate that no interval reaches."""
    if budget.rate is None:
        return MAX_II
    clock = device.megahertz * 1e6
    if not 0 < budget.rate <= clock:
        raise ConfigError(
            f"rate: must be above 0 and at most {clock:g} tasks/s at {device.name}, not {budget.rate:g}"
        )
    return min(MAX_II, math.floor(clock / budget.rate))


def _shortest_interval(budget: Budget, products: int, longest: int) -> int:
    """The shortest interval to be tried. ConfigError for a budget without multipliers."""
    if budget.limit is None:
        # with a rate and no limit, the slowest design that reaches it takes the fewest multipliers
        return 1 if budget.rate is None else longest
    if budget.limit < 1:
        raise ConfigError(f"{budget.counted}: must be at least 1, not {budget.limit}")
    return max(1, -(-products // budget.limit))


def _intervals(first: int) -> Iterator[int]:
    """Intervals to be tried, from ``first`` on."""
    ii = first
    while ii <= MAX_II:
        yield ii
        # at long intervals a cycle more or less changes little
        ii += 1 if ii <= SLACK * first else max(1, ii // 16)


def _reasons(budget: Budget, device: Device, products: int, longest: int) -> list[str]:
    """Reasons of a budget for the interval, in lines."""
    why = []
    if budget.rate is not None:
        allowed = math.floor(device.megahertz * 1e6 / budget.rate)
        capped = ""
        if allowed > longest:
            reached = device.megahertz * 1e6 / longest
            capped = (
                f"; a pipeline has {longest} at most, and takes {reached:.0f} tasks/s with them"
            )
        why.append(
            f"{budget.rate:g} tasks/s at {device.megahertz:g} MHz allow an interval of {allowed} cycles{capped}"
        )
    if budget.limit is not None:
        least = -(-products // budget.limit)
        connected = ""
        if budget.blocks is not None and budget.limit < budget.blocks:
            connected = f", of {budget.blocks} as many as place and route connects well,"
        why.append(
            f"{products} products on {budget.limit} {budget.counted}{connected} need an interval of at least {least} "
            "cycles"
        )
    return why


def _use(budget: Budget, products: int, ii: int, needed: int) -> str:
    """Remark on how many multipliers or blocks do at the chosen interval, and how well they are used."""
    enough = f"{budget.counted} do" if needed != 1 else f"{budget.counted.removesuffix('s')} does"
    text = f"at {ii} cycles {needed} {enough}"
    if needed:
        text += f", {products / (ii * needed):.0%} used"
    return text
