"""The smallest pipeline that answers within a given time: the longest interval at which it does."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import replace

from rbdgen.compiler.choices import Workshop, choose
from rbdgen.compiler.cost import answer_time
from rbdgen.compiler.design import Design
from rbdgen.compiler.stages import schedule_design, with_defaults
from rbdgen.devices.registry import target_device
from rbdgen.errors import ConfigError
from rbdgen.options import Options
from rbdgen.tracing.folding import MAX_II

NEAR = 1 / 8
"""Two intervals are as good where the longer is longer by a smaller share."""
SHORTER = 4
"""An interval that is too long after all is shortened by one of so many parts of it."""


def within_latency(workshop: Workshop, options: Options) -> Design:
    """The pipeline with the longest interval at which it keeps the latency, and the rate if there is one, of the
    workshop's budget, up to :data:`NEAR` of it. ConfigError where none keeps it.

    An interval's latency is known once it is scheduled; it grows with the interval, nearly always, so that intervals
    are halved until one keeps it, and the gap to the one before is then halved as well."""
    target = workshop.target
    assert target.budget.latency is not None
    allowed = target.budget.latency
    free = copy.copy(workshop)
    budget = replace(target.budget, latency=None, rate=None)
    free.target = replace(target, budget=budget)
    clock = 1e6 * (target.clock or target_device(options).megahertz)
    # no result comes before all of its task's products were made
    longest = min(MAX_II, max(1, math.floor(allowed * clock)))
    if target.budget.rate is not None:
        longest = min(longest, max(1, math.floor(clock / target.budget.rate)))
    if target.budget.rate is not None and clock / longest < target.budget.rate:
        raise ConfigError(
            f"rate: must be at most {clock:g} tasks/s, one a cycle, not {target.budget.rate:g}"
        )

    # formats are found for each interval anew, which takes longer than all else: to look, those of one will do
    lowered = free.lowered(with_defaults(replace(options, ii=longest)))

    def keeps(ii: int) -> bool:
        workshop.progress(f"try an interval of {ii} cycles")
        closed = with_defaults(replace(options, ii=ii))
        design = schedule_design(lowered, closed, free.ranges, free.target, roughly=True)
        return answer_time(design) <= allowed

    def made(ii: int) -> Design:
        # goals beside it would trade the time that is left
        return choose(free, replace(options, ii=ii, goal=None if ii > 1 else "latency"))

    ii = _longest(keeps, longest)
    design = made(ii)
    while answer_time(design) > allowed and ii > 1:
        # with formats of its own it takes a little longer
        ii = max(1, ii - max(1, ii // SHORTER))
        design = made(ii)
    if answer_time(design) > allowed:
        took = answer_time(design) * 1e6
        raise ConfigError(
            f"latency: {allowed * 1e6:g} µs are less than the {took:.3g} that a pipeline takes at an interval of "
            f"{ii} cycles; use a faster clock or device"
        )
    took = answer_time(design) * 1e6
    why = f"an interval of {ii} cycles answers within {took:.3g} µs, and {allowed * 1e6:g} are allowed"
    options = replace(design.options, goal=options.goal)
    return replace(design, options=options, target=target, why=(*design.why, why))


def _longest(keeps: Callable[[int], bool], longest: int) -> int:
    """The longest interval up to ``longest`` that keeps a latency, up to :data:`NEAR`; 1 where none longer does."""
    ii, too_long = longest, None
    while ii > 1 and not keeps(ii):
        ii, too_long = ii // 2, ii
    while too_long is not None and too_long - ii > max(1, ii * NEAR):
        between = (ii + too_long) // 2
        if keeps(between):
            ii = between
        else:
            too_long = between
    return ii
