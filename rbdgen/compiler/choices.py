"""Choices of how hardware is shared, of algorithms of serial chains, and of how many accelerators stand behind one
stream, by modelled cost: one search over what is left open.

It starts from what a design has otherwise (:func:`rbdgen.compiler.stages.default_choices`), changes one choice at a
time, and keeps what brings it nearer to its goal. Costs are those of the resource model
(:mod:`rbdgen.machines.pipeline.resources`). Accelerators are as many as a board has room for and its link keeps at
work.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from rbdgen.algo.chain import is_serial
from rbdgen.compiler.cost import CROWDED, FULL, Cost, link_cycles, link_note
from rbdgen.compiler.design import Design
from rbdgen.compiler.lowering import Lowered, Traced, lower, trace
from rbdgen.compiler.stages import schedule_design, with_defaults
from rbdgen.errors import ConfigError, RbdgenWarning, UnsupportedError
from rbdgen.functions.algorithms import KINDS, known, needed_kinds, open_kinds
from rbdgen.machines.engine.engine import Engine
from rbdgen.machines.pipeline.budget import Budget, Target
from rbdgen.model.ranges import InputRanges
from rbdgen.model.robot import Robot
from rbdgen.options import GOALS, Options
from rbdgen.options.options import MAX_REPLICAS
from rbdgen.protocol.links import Link
from rbdgen.setting import OPEN

FIGURES = 6
"""Decimals to which two means of cycles must agree to be the same."""


def with_replicas(design: Design, replicas: int) -> Design:
    """``design`` with so many of its accelerators behind one stream: the same schedule."""
    options = replace(design.options, replicas=replicas)
    return replace(design, options=options, tasks=design.tasks.side_by_side(replicas))


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
    link = design.target.link
    # at a longer interval half of it brings as much as a second accelerator, for less
    fastest = options.ii == 1 and options.goal in (None, "throughput", "host")
    if link is None or not fastest:
        return alone
    return fed_by_link(alone, with_replicas, MAX_REPLICAS, crowded)


def fed_by_link(
    alone: Design,
    several: Callable[[Design, int], Design],
    most: int,
    crowded: float,
) -> Design:
    """The fewest of up to ``most`` accelerators, or cores of an engine, that take tasks as fast as a board's link and
    room allow (:func:`choose_replicas`), and why; ``several`` makes so many of ``alone``."""
    budget, link = alone.target.budget, alone.target.link
    assert link is not None
    best, least = alone, _mean_cycles(alone, link)
    own = _own_cycles(alone)
    limit = f"no more than {most} can be asked for"
    for count in range(2, most + 1):
        tried = several(alone, count)
        before, own = own, _own_cycles(tried)
        if own >= before:
            limit = "a stream of single tasks would not feed more"
            break
        cycles = _mean_cycles(tried, link)
        # one fewer could take as many tasks by itself: the link is what binds
        if cycles >= _own_cycles(alone) / (count - 1):
            clock = alone.machine.device.megahertz
            bits = link.bits_per_cycle(clock)
            limit = f"{link.name}, {bits:.3g} bits a cycle, would not feed more"
            break
        if not _has_room(tried, budget, crowded):
            limit = f"{budget.name} has no room for more"
            break
        if cycles < least:
            best, least = tried, cycles
    number = _counted(best)
    reason = f"{number}: a task every {least:.3g} cycles; {limit}"
    return replace(best, why=(*alone.why, reason))


def _counted(design: Design) -> str:
    """The number of accelerators, or of an engine's cores, in words."""
    if isinstance(design.machine, Engine):
        count = design.machine.cores
        return "1 core" if count == 1 else f"{count} cores"
    count = design.tasks.replicas
    return "1 accelerator" if count == 1 else f"{count} accelerators side by side"


def _own_cycles(design: Design) -> float:
    """Cycles from task to task that all accelerators allow, the mean over the functions."""
    functions = design.network.functions
    total = sum(design.machine.mean_interval(name, design.tasks) for name in functions)
    return total / len(functions)


def _mean_cycles(design: Design, link: Link) -> float:
    """Cycles from task to task that all accelerators and the link allow, the mean over the functions."""
    clock = design.machine.device.megahertz
    functions = design.network.functions
    total = 0.0
    for name in functions:
        own = design.machine.mean_interval(name, design.tasks)
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


RANGE_SAMPLES = 32768
"""States by which ranges are found."""
LONGER = 1 / 4
"""By how much of itself an interval grows from one try to the next."""
SPARED = 0.02
"""By which share of a device such a design must be smaller for the next to be tried."""
PACED = 4
"""Factor by which the next interval is longer that is tried behind a link."""
WORTH = 0.05
"""By which share a design must be smaller for such an interval to be worth while."""


@dataclass(frozen=True)
class OpenChoice:
    """An option that the search may set, and what each of its ``values`` does. ``algorithm``: a kind of algorithms with
    some for serial chains only, which are tried for latency."""

    option: str
    values: Mapping[str, str]
    algorithm: bool = False

    def others(self, value: str) -> list[str]:
        """The values that are not this one."""
        return [other for other in self.values if other != value]

    def is_open(self, robot: Robot, options: Options) -> bool:
        """Whether the search may set it for ``robot`` and ``options``."""
        if getattr(options, self.option) != OPEN:
            return False
        if not self.algorithm:
            return True
        needed = self.option in needed_kinds(options.records)
        return needed and options.goal == "latency" and is_serial(robot)


def _algorithm_choice(kind: str) -> OpenChoice:
    """The choice among algorithms of a kind."""
    what = kind.replace("_", " ")
    values = {}
    for algorithm in known(kind).values():
        if not algorithm.comparison:
            how, _, _ = algorithm.summary.partition(";")
            values[algorithm.name] = f"{what} {how}"
    return OpenChoice(kind, values, algorithm=True)


CHOICES = (
    *map(_algorithm_choice, open_kinds()),
    OpenChoice(
        "constants",
        {
            "logic": "constant factors are shifts and adds",
            "multipliers": "constant factors take slots of multipliers",
        },
    ),
    OpenChoice(
        "programs",
        {
            "two": "derivatives are a program of their own",
            "one": "derivatives and all else are one program",
        },
    ),
    OpenChoice(
        "spread",
        {
            "fewest": "products are on as few multipliers as need be",
            "twice": "products are spread over more multipliers, with less to choose before each",
        },
    ),
)
"""The choices that are tried, in this order."""
TRACED = ("programs", *KINDS)
"""The options of these that decide what is traced."""


class Workshop:
    """Designs of one robot with different choices; what they have in common is computed once."""

    def __init__(
        self,
        robot: Robot,
        ranges: InputRanges,
        target: Target,
        progress: Callable[[str], None],
    ) -> None:
        self.robot, self.ranges, self.target, self.progress = robot, ranges, target, progress
        self._traced: dict[tuple[str, ...], Traced] = {}
        self._lowered: dict[tuple[object, ...], Lowered] = {}

    @property
    def available(self) -> Mapping[str, float]:
        """Amounts of tables, registers and multiplier blocks that can be used, as far as they are known."""
        return self.target.budget.usable

    @property
    def lengthens(self) -> bool:
        """Whether the interval may become longer than multipliers allow: it was not given, nor was a rate."""
        budget = self.target.budget
        return bool(self.available) and budget.chooses and budget.rate is None

    def lowered(self, options: Options) -> Lowered:
        """The fixed-point graph for these choices."""
        # for a target, what folds at the interval has equal formats; words know no interval
        interval = options.ii if options.targets else 1
        text = tuple(getattr(options, name) for name in TRACED)
        key = text, options.constants, interval
        if key not in self._lowered:
            if text not in self._traced:
                self.progress("trace")
                self._traced[text] = trace(self.robot, options, self.ranges, RANGE_SAMPLES)
            self.progress("formats")
            traced = self._traced[text]
            self._lowered[key] = lower(traced, options, self.ranges, self.progress)
        return self._lowered[key]

    def design(self, options: Options, roughly: bool, beyond: int = 0) -> Design:
        """The design of these choices; ``roughly``: only to tell what it would cost."""
        lowered = self.lowered(options)
        return schedule_design(
            lowered, options, self.ranges, self.target, self.progress, beyond, roughly
        )


@dataclass(frozen=True)
class Candidate:
    """A design that was tried, its cost, why it is as it is, and the interval beyond which it was laid out."""

    design: Design
    cost: Cost
    why: tuple[str, ...] = ()
    beyond: int = 0


def choose(workshop: Workshop, options: Options) -> Design:
    """The design that serves the goal best, by what ``options`` leave open."""
    design = _chosen_sharing(workshop, options)
    if options.goal is None and workshop.lengthens:
        # who gives a goal or a rate has said already how often tasks are to come
        note = link_note(workshop.lowered(design.options), design)
        design = replace(design, why=(*design.why, *note))
    return choose_replicas(design, CROWDED)


def _chosen_sharing(workshop: Workshop, options: Options) -> Design:
    """The accelerator that serves the goal best; its number is left as it was."""
    still_open = [c for c in CHOICES if c.is_open(workshop.robot, options)]
    options = with_defaults(options)
    available, lengthens = workshop.available, workshop.lengthens
    searches = bool(still_open) and (options.goal is not None or bool(available))
    if not searches and not lengthens:
        return workshop.design(options, roughly=False)
    best = _tried(workshop, options)
    if lengthens and options.goal == "host":
        best = _paced(workshop, best)
    # without a goal nothing is changed where the device has room
    crowded = best.cost.share(available) > CROWDED or best.cost.exceeds(available)
    if still_open and (options.goal is not None or crowded):
        best = _improved(workshop, best, still_open)
    if lengthens:
        best = _lengthened(workshop, best)
    # candidates were scheduled roughly and unproven; only this one is made in full
    found = workshop.design(best.design.options, roughly=False, beyond=best.beyond)
    return replace(found, why=(*found.why, *best.why))


def _tried(workshop: Workshop, options: Options, beyond: int = 0) -> Candidate:
    design = workshop.design(options, roughly=True, beyond=beyond)
    return Candidate(design, Cost.of(design), beyond=beyond)


def _improved(workshop: Workshop, best: Candidate, choices: list[OpenChoice]) -> Candidate:
    """Each choice changed, and changed back, where that helps, until nothing does."""
    in_vain, first = 0, best
    for choice in itertools.cycle(choices):
        better = _changed(workshop, best, choice)
        if better is best:
            in_vain += 1
        else:
            best, in_vain = better, 0
        # the choice that was changed last need not be tried again
        others = len(choices) - (0 if best is first else 1)
        if in_vain >= others:
            break
    return best


def _changed(workshop: Workshop, first: Candidate, choice: OpenChoice) -> Candidate:
    """The best design that differs in one choice at most."""
    best = first
    options = first.design.options
    goal = options.goal or next(iter(GOALS))
    available = workshop.available
    for after in choice.others(getattr(options, choice.option)):
        workshop.progress(f"try: {choice.option} {after}")
        tried = _tried_value(workshop, first, choice, after)
        if tried is None:
            continue
        if tried.cost.key(goal, available) < best.cost.key(goal, available):
            note = f"{choice.values[after]}: {_gain(first.cost, tried.cost)}"
            best = replace(tried, why=(*first.why, note))
    return best


def _tried_value(
    workshop: Workshop, first: Candidate, choice: OpenChoice, value: str
) -> Candidate | None:
    """The design with another value of a choice; None where there is none."""
    options = replace(first.design.options, **{choice.option: value})
    with warnings.catch_warnings():
        if choice.algorithm:
            # one that misses the usual error is no better, however soon it answers
            warnings.simplefilter("error", RbdgenWarning)
        try:
            return _tried(workshop, options, first.beyond)
        except (ConfigError, UnsupportedError, RbdgenWarning):
            return None


def _gain(before: Cost, after: Cost) -> str:
    """The gain of a change, by the model."""
    blocks = "1 multiplier block" if after.blocks == 1 else f"{after.blocks} multiplier blocks"
    tables = f"{after.tables} look-up tables instead of {before.tables}"
    area = f"{tables}, {blocks} instead of {before.blocks}, by the model"
    if after.latencies == before.latencies:
        return area
    return f"latencies of {after.latencies} cycles in all instead of {before.latencies}, {area}"


def _paced(workshop: Workshop, best: Candidate) -> Candidate:
    """Longer intervals, as long as the board's link is no faster and that makes the design smaller."""
    first, longest = best, link_cycles(best.design)
    while best.design.options.ii < longest:
        ii = min(PACED * best.design.options.ii, longest)
        workshop.progress(f"the link would be slower: try an interval of {ii} cycles or more")
        tried = _tried(workshop, replace(best.design.options, ii=ii), ii - 1)
        before, after = (x.cost.key("host", workshop.available) for x in (best, tried))
        smaller = tried.cost.area(workshop.available) < (1 - WORTH) * best.cost.area(
            workshop.available
        )
        if after >= before or not smaller:
            break
        best = tried
    return _with_longer(first, best, ", no slower at the host")


def _lengthened(workshop: Workshop, best: Candidate) -> Candidate:
    """Longer intervals, as far as a device is full and that helps."""
    first = before = best
    while best.cost.share(workshop.available) > FULL:
        ii = best.design.options.ii
        longer = ii + math.ceil(ii * LONGER)
        workshop.progress(f"the device would be full: try an interval of {longer} cycles or more")
        try:
            # beyond one less, so that the interval itself is the first that is laid out
            tried = _tried(workshop, replace(best.design.options, ii=longer), longer - 1)
        except ConfigError:
            break
        spared = best.cost.share(workshop.available) - tried.cost.share(workshop.available)
        if spared < SPARED:
            break
        before, best = best, tried
    return _with_longer(first, _no_longer_than_needed(workshop, before, best))


def _no_longer_than_needed(workshop: Workshop, before: Candidate, best: Candidate) -> Candidate:
    """The shortest interval that does what that of ``best`` does: not to fill the device, which ``before`` does."""
    too_short = before.design.options.ii
    while best.cost.share(workshop.available) <= FULL and best.design.options.ii - too_short > 1:
        ii = (too_short + best.design.options.ii) // 2
        workshop.progress(f"try an interval of {ii} cycles")
        tried = _tried(workshop, replace(best.design.options, ii=ii), ii - 1)
        # multipliers may ask for a longer interval than the one that is tried
        longer = tried.design.options.ii >= best.design.options.ii
        if longer or tried.cost.share(workshop.available) > FULL:
            too_short = ii
        else:
            best = tried
    return best


def _with_longer(first: Candidate, best: Candidate, remark: str = "") -> Candidate:
    """``best``, and why its interval is longer than that of the ``first``, if it is."""
    if best is first:
        return best
    ii, before = best.design.options.ii, first.design.options.ii
    gain = _gain(first.cost, best.cost)
    note = f"an interval of {ii} cycles instead of {before}{remark}: {gain}"
    return replace(best, why=(*first.why, note))
