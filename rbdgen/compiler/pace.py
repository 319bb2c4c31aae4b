"""The pace of a board's link beside that of an accelerator, and what is said of it."""

from __future__ import annotations

import math
from dataclasses import replace

from rbdgen.compiler.cost import AS_FAST, Cost
from rbdgen.compiler.design import Design
from rbdgen.compiler.lowering import Lowered
from rbdgen.compiler.stages import schedule_design
from rbdgen.errors import ConfigError
from rbdgen.layout.folding import MAX_II
from rbdgen.protocol.links import Link

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
