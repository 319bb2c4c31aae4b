"""The number of accelerators behind one stream: as many as a board has room for and its link keeps at work."""

from __future__ import annotations

from dataclasses import replace

from rbdgen.compiler.design import Design
from rbdgen.errors import ConfigError
from rbdgen.options.options import MAX_REPLICAS
from rbdgen.protocol.links import Link
from rbdgen.schedule.budget import Budget

FIGURES = 6
"""Decimals to which two means of cycles must agree to be the same."""


def with_replicas(design: Design, replicas: int) -> Design:
    """``design`` with so many of its accelerators behind one stream: the same schedule."""
    tasks = design.tasks
    several = replace(
        tasks,
        task=replace(tasks.task, lanes=replicas),
        result=replace(tasks.result, lanes=replicas),
    )
    options = replace(design.options, replicas=replicas)
    return replace(design, options=options, tasks=several)


def choose_replicas(design: Design, crowded: float) -> Design:
    """``design`` with the fewest accelerators that take tasks as fast as its board allows, and why.

    They take no more of its multiplier blocks and memories than there are, and at most the share ``crowded`` of
    look-up tables and registers; and one less would be slower than the link is. It is one accelerator where nothing
    says how many there may be: without a board, at an interval of more than a cycle, or where a goal other than
    throughput at the accelerator or the host was given. A number that was given stays.
    """
    options = design.options
    if options.replicas is not None:
        return design
    alone = with_replicas(design, 1)
    budget, link = design.target.budget, design.target.link
    # at a longer interval half of it brings as much as a second accelerator, for less
    fastest = options.ii == 1 and options.goal in (None, "throughput", "host")
    if link is None or not fastest:
        return alone
    best, least = alone, _mean_cycles(alone, link)
    limit = f"no more than {MAX_REPLICAS} can be asked for"
    for replicas in range(2, MAX_REPLICAS + 1):
        tried = with_replicas(alone, replicas)
        cycles = _mean_cycles(tried, link)
        # one fewer could take as many tasks by itself: the link is what binds
        if cycles >= _own_cycles(alone) / (replicas - 1):
            clock = design.machine.device.megahertz
            bits = link.bits_per_cycle(clock)
            limit = f"{link.name}, {bits:.3g} bits a cycle, would not feed more"
            break
        if not _has_room(tried, budget, crowded):
            limit = f"{budget.name} has no room for more"
            break
        if cycles < least:
            best, least = tried, cycles
    count = _counted(best.tasks.replicas)
    reason = f"{count}: a task every {least:.3g} cycles; {limit}"
    return replace(best, why=(*design.why, reason))


def _counted(replicas: int) -> str:
    """The number of accelerators, in words."""
    return "1 accelerator" if replicas == 1 else f"{replicas} accelerators side by side"


def _own_cycles(design: Design) -> float:
    """Cycles from task to task that all accelerators allow, the mean over the functions."""
    functions = design.network.functions
    total = sum(design.interval(name) for name in functions)
    return total / design.tasks.replicas / len(functions)


def _mean_cycles(design: Design, link: Link) -> float:
    """Cycles from task to task that all accelerators and the link allow, the mean over the functions."""
    clock = design.machine.device.megahertz
    functions = design.network.functions
    total = 0.0
    for name in functions:
        own = design.interval(name) / design.tasks.replicas
        total += max(own, link.interval(design.tasks, name, clock))
    return round(total / len(functions), FIGURES)


def _has_room(design: Design, budget: Budget, crowded: float) -> bool:
    """Whether a board has room for all of a design's accelerators, and tags can number the rows under way."""
    try:
        used = design.machine.resources(design.tasks)
    except ConfigError:
        return False
    shares = {"multipliers": 1.0, "memories": 1.0, "luts": crowded, "registers": crowded}
    for name, amount in used.as_dict().items():
        available = budget.resources.get(name)
        if available is not None and amount > shares[name] * available:
            return False
    return True
