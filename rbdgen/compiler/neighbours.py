"""What is next to the smallest design that does what was asked for: the next faster one and the next smaller one, with
what they cost.

Neighbours are an engine with more or fewer lanes or cores, and a pipeline with a shorter or longer interval; both kinds
of machines are tried on both sides, whichever the design has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rbdgen.compiler.cost import Cost, answer_time
from rbdgen.compiler.design import Design
from rbdgen.compiler.hearing import heard
from rbdgen.errors import ConfigError, UnsupportedError
from rbdgen.machines.engine.core import LANES
from rbdgen.machines.engine.engine import Engine
from rbdgen.machines.options import ENGINE, MOST_CORES, PIPELINE, USUAL_LANES
from rbdgen.machines.pipeline.budget import Budget, Target
from rbdgen.options import Options
from rbdgen.options.options import PIPELINES_ALONE
from rbdgen.setting import OPEN
from rbdgen.tracing.folding import MAX_II

Compiled = Callable[[Options, Target], Design]
"""Compiles a design of the same robot."""
STEP = 2
"""Factor between a pipeline's interval and the next that is tried."""


@dataclass(frozen=True)
class Neighbours:
    """The next ``faster`` and the next ``smaller`` design; None where none of those that were tried is."""

    faster: Design | None
    smaller: Design | None


def asks_for_smallest(design: Design) -> bool:
    """Whether a design is the smallest that does something that was asked for."""
    return design.options.goal == "area" or design.target.budget.of_time


def neighbours(design: Design, compiled: Compiled) -> Neighbours:
    """The neighbours of a design: the smallest of what is faster, and the fastest of what is smaller. What a machine
    cannot do, or has no room for, is no neighbour."""
    budget = design.target.budget
    kept = Budget(name=budget.name, resources=budget.resources, routable=budget.routable)
    free = replace(design.target, budget=kept)
    found: list[Design] = []
    for changes in _around(design):
        try:
            options = replace(design.options, **changes)
            found.append(heard(partial(compiled, options, free), []))
        except (ConfigError, UnsupportedError):
            continue
    # fast is what answers soon where a latency was asked for, else what takes tasks often
    seconds = slowest_interval if budget.latency is None else answer_time

    def area(own: Design) -> float:
        return Cost.of(own).area(budget.usable)

    faster = [own for own in found if seconds(own) < seconds(design)]
    smaller = [own for own in found if area(own) < area(design)]
    return Neighbours(min(faster, key=area, default=None), min(smaller, key=seconds, default=None))


def slowest_interval(design: Design) -> float:
    """Seconds from task to task of the slowest function, at the clock at which what is built runs."""
    cycles = max(map(design.mean_interval, design.network.functions))
    return cycles / (1e6 * design.running_clock)


def _around(design: Design) -> Iterator[dict[str, Any]]:
    """Changes of options for designs next to one, of both kinds."""
    defaults = {name: getattr(Options(), name) for name in PIPELINES_ALONE}
    engine = {"machine": ENGINE, "goal": None} | defaults
    # choices that were made for one interval are made again for another
    open_ = {"constants": OPEN, "spread": OPEN, "programs": OPEN}
    # without a goal: choices that make it a little smaller take minutes for many functions
    pipeline = {"machine": PIPELINE, "goal": None, "lanes": None, "cores": None} | open_
    if not isinstance(design.machine, Engine):
        own = design.options.ii
        steps = {own // STEP, own * STEP}
        if design.target.budget.latency is not None:
            # which may stay as it is over several steps
            steps |= {own // STEP**3, 1, own * STEP**3}
        for ii in sorted(steps - {own}):
            if 1 <= ii <= MAX_II:
                yield pipeline | {"ii": ii}
        # the fastest core, and the smallest
        for lanes in (USUAL_LANES, min(LANES)):
            yield engine | {"lanes": lanes, "cores": 1}
        return
    lanes, cores = design.machine.program.core.lanes, design.machine.cores
    for other in LANES:
        if other <= USUAL_LANES and other != lanes and cores == 1:
            yield engine | {"lanes": other, "cores": 1}
    for count in (cores - 1, cores + 1):
        if 1 <= count <= MOST_CORES:
            yield engine | {"lanes": lanes, "cores": count}
    slowest = max(map(design.interval, design.network.functions))
    yield pipeline | {"ii": max(1, min(MAX_II, slowest // (STEP * cores)))}
