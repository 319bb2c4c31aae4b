"""The cost of a design by the model, which of two serves a goal better, and its pace beside that of a board's link."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from rbdgen.compiler.design import Design
from rbdgen.compiler.lowering import Lowered
from rbdgen.compiler.stages import schedule_design
from rbdgen.errors import ConfigError
from rbdgen.protocol.links import Link
from rbdgen.tracing.folding import MAX_II

CROWDED, FULL = 0.75, 0.9
"""Shares of a device's look-up tables or registers: above the first, logic is spared; above the second, place and route
hardly ever succeed, and tasks come at longer intervals instead, where that helps."""
AS_FAST = 0.1
"""Two designs are as fast at the host where the rates there differ by less."""
STEP = 0.05
"""Two designs are as crowded where the shares differ by less."""
LUTS_OF_BLOCK = 400
"""Worth of a multiplier block in look-up tables where no device says how many of both there are."""


@dataclass(frozen=True)
class Cost:
    """The cost of a design: look-up ``tables``, registers and multiplier ``blocks``, all by the model; ``intervals``:
    cycles from task to task, summed over the functions; ``latencies``: of lone tasks, summed likewise; ``at_host``: as
    ``intervals``, but as long as a board's link takes where that is longer."""

    tables: int
    registers: int
    blocks: int
    intervals: int
    latencies: int
    at_host: float

    @classmethod
    def of(cls, design: Design) -> Cost:
        """The cost of a design."""
        used = design.machine.resources(design.tasks).as_dict()
        functions = design.network.functions
        return cls(
            used["luts"],
            used["registers"],
            used["multipliers"],
            sum(design.interval(f) for f in functions),
            sum(design.promised_latency(f) for f in functions),
            sum(interval_at_host(design, f) for f in functions),
        )

    def share(self, available: Mapping[str, float]) -> float:
        """The larger share that it takes of what is available of tables and registers."""
        used = {"luts": self.tables, "registers": self.registers}
        return max(
            (used[name] / available[name] for name in used if name in available), default=0.0
        )

    def exceeds(self, available: Mapping[str, float]) -> bool:
        """Whether it takes more multiplier blocks than there are."""
        return self.blocks > available.get("multipliers", math.inf)

    def area(self, available: Mapping[str, float]) -> float:
        """Look-up tables and multiplier blocks in one figure, in tables."""
        worth = float(LUTS_OF_BLOCK)
        if available.get("luts") and available.get("multipliers"):
            # as much as there is of tables for each block: what a device has little of is dear
            worth = available["luts"] / available["multipliers"]
        return self.tables + worth * self.blocks

    def key(self, goal: str, available: Mapping[str, float]) -> tuple[float, ...]:
        """Figures to be small for a goal, the more important first: how far a device is crowded comes before all."""
        # in steps, so that a hair's breadth of crowding does not outweigh the goal
        crowded = math.ceil(max(0.0, self.share(available) - CROWDED) / STEP)
        area = self.area(available)
        by_goal = {
            "throughput": (self.intervals, area, self.latencies),
            "area": (area, self.intervals, self.latencies),
            "latency": (self.latencies, area, self.intervals),
            # formats, and with them packets, differ a little from design to design
            "host": (round(math.log(self.at_host, 1 + AS_FAST)), area, self.latencies),
        }
        return (self.exceeds(available), crowded, *by_goal[goal])


def interval_at_host(design: Design, function: str) -> float:
    """Cycles from task to task of a function at the host: of one accelerator, or of the board's link where that is
    slower."""
    own = float(design.interval(function))
    link = design.target.link
    if link is None:
        return own
    return max(own, link.interval(design.tasks, function, design.running_clock))


def answer_time(design: Design) -> float:
    """Seconds from the last word of a lone task to its result's last, of the function that takes longest, at the clock
    at which what is built runs; of a roll-out of one step."""
    cycles = max(map(design.promised_latency, design.network.functions))
    return cycles / (1e6 * design.running_clock)


CLEARLY = 2
"""Factor by which a link must take longer than the accelerator for that to be said."""
SHOWN_INTERVAL = 64
"""Cycles of the interval that is shown where a link takes longer: most of what there is to save is saved there."""


def link_cycles(design: Design) -> int:
    """The longest interval at which the accelerator is no slower than its board's link, of no function; 1 at least,
    also without a link."""
    link = design.target.link
    if link is None:
        return 1
    clock = design.running_clock
    cycles = min(link.interval(design.tasks, name, clock) for name in design.network.functions)
    return max(1, min(MAX_II, math.floor(cycles)))


def link_note(lowered: Lowered, design: Design) -> list[str]:
    """A line where the board's link is clearly slower than ``design``: a longer interval that would be no slower at the
    host, what it would take by the model, and how to ask for it. ``lowered``: the design's graph."""
    target, link = design.target, design.target.link
    slowest = max(design.interval(name) for name in design.network.functions)
    longest = link_cycles(design)
    if link is None or longest < CLEARLY * slowest:
        return []
    ii = min(longest, max(SHOWN_INTERVAL, CLEARLY * design.options.ii))
    options = replace(design.options, ii=ii, goal="host", replicas=1)
    # a budget with multipliers would choose an interval of its own
    free = replace(target, budget=replace(target.budget, multipliers=None, blocks=None))
    try:
        other = schedule_design(lowered, options, design.ranges, free, roughly=True)
    except ConfigError:
        return []
    before, after = Cost.of(design), Cost.of(other)
    if after.area(target.budget.resources) >= before.area(target.budget.resources):
        return []
    return [_note(link, ii, before, after)]


def _note(link: Link, ii: int, before: Cost, after: Cost) -> str:
    gain = before.at_host / after.at_host
    # packets are shorter, too, where they have fewer beats
    many = "as many" if gain < 1 + AS_FAST else f"{gain:.2g} times as many"
    return (
        f"at the host {link.name} binds, not the accelerator: an interval of {ii} cycles would bring {many} tasks "
        f"there, with {after.tables} look-up tables instead of {before.tables} and {after.blocks} multiplier blocks "
        f"instead of {before.blocks}, by the model; --for host chooses so"
    )
