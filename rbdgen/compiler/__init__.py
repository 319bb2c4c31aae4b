"""The compiler: all stages in order, from a robot and options to a design that can be built and simulated; and designs
that were compiled before, from the user's cache."""

from __future__ import annotations

import hashlib
import pickle
import sys
import warnings
import zlib
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from rbdgen.caching import cached, code_digest, keep
from rbdgen.compiler.choices import Workshop
from rbdgen.compiler.cost import FULL, Cost
from rbdgen.compiler.design import Design
from rbdgen.compiler.families import Family, compare_families
from rbdgen.compiler.hearing import Told, heard, tell
from rbdgen.compiler.kinds import choose_machine
from rbdgen.compiler.stages import at_clock, at_interval
from rbdgen.devices.registry import DEFAULT_DEVICE
from rbdgen.errors import ConfigError, RbdgenWarning
from rbdgen.machines.engine.engine import Engine
from rbdgen.machines.pipeline.budget import Budget, Target
from rbdgen.model.ranges import declared_ranges
from rbdgen.model.robot import Robot
from rbdgen.options import Options
from rbdgen.processes import without_collections
from rbdgen.setting import settings

__all__ = [
    "Budget",
    "Design",
    "Family",
    "Options",
    "Target",
    "at_clock",
    "at_interval",
    "compare_families",
    "compile_robot",
    "kept_design",
]

DESIGNS, SUFFIX = "designs", ".pickle"
"""Where designs are kept, and how their files' names end."""


def compile_robot(
    robot: Robot,
    options: Options,
    progress: Callable[[str], None] = lambda stage: None,
    budget: Budget | None = None,
    *,
    target: Target | None = None,
) -> Design:
    """Run all stages; ``progress`` is told each stage's name. With a ``budget``, or a ``target`` that has one, the
    interval is chosen for it, whatever ``options`` say of that. How hardware is shared is chosen by modelled cost, as
    far as ``options`` leave it open (:mod:`rbdgen.compiler.choices`). ConfigError for a budget's demand that is none,
    for a budget and a target at once, for a device that the target has not, and for a robot or target that is none;
    other errors are those of the stages."""
    _check_type("robot", robot, Robot, "rbdgen.load_robot")
    if target is not None:
        _check_type("target", target, Target, "rbdgen.Target.of_board")
    if budget is not None and target is not None:
        raise ConfigError("budget and target: give one of them; a target has a budget of its own")
    target = target or Target(budget=budget or Budget())
    _check_demands(target.budget)
    if target.device is not None:
        # the default cannot be told from a device that was not given, and gives way to the target's
        target.check_device(None if options.device == DEFAULT_DEVICE else options.device)
        options = replace(options, device=target.device)
    if options.goal == "host" and target.link is None:
        raise ConfigError(
            "goal (--for): host is for the link of a board; give --board, or another goal such as area"
        )
    if target.budget.latency is not None and options.goal not in (None, "area"):
        raise ConfigError(
            f"latency and goal (--for): a latency asks for the smallest design that keeps it, not for {options.goal}; "
            "leave one of them out"
        )
    ranges = declared_ranges(robot, options.limits)
    with without_collections():
        design = choose_machine(Workshop(robot, ranges, target, progress), options)
    _warn(design, target.budget)
    return design


def _check_type(name: str, given: object, wanted: type, source: str) -> None:
    """ConfigError for what is given by its name, where an object is wanted that ``source`` makes."""
    if not isinstance(given, wanted):
        raise ConfigError(
            f"{name}: must be a {wanted.__name__}, such as {source} gives, not {given!r}"
        )


def _check_demands(budget: Budget) -> None:
    """ConfigError for a demand of another type, or out of range."""
    for name, setting in settings(Budget).items():
        value = getattr(budget, name)
        if value is not None:
            setting.check(name, value)


def _warn(design: Design, budget: Budget) -> None:
    """Say what will not work as it was asked for."""
    found = design.signal_ranges
    if design.options.sound and found.unbounded:
        warnings.warn(
            f"sound: {len(found.unbounded)} reciprocals have no bound above zero; the {found.open} signals that depend "
            "on them keep sampled ranges, and flag what does not fit",
            RbdgenWarning,
            stacklevel=3,
        )
    memories = design.machine.resources(design.tasks).memories
    there = budget.resources.get("memories")
    if there is not None and memories > there:
        warnings.warn(
            f"{budget.name}: by the model, {memories} block memories would be used, and there are {there}; use fewer "
            "functions, or a larger device",
            RbdgenWarning,
            stacklevel=3,
        )
    cost = Cost.of(design)
    for name, used in (("luts", cost.tables), ("registers", cost.registers)):
        if name not in budget.resources:
            continue
        available = budget.resources[name]
        most = round(FULL * budget.usable[name])
        if used > most:
            warnings.warn(
                f"{budget.name}: by the model, about {used} of {available} {name} would be used, and place and route "
                f"rarely connects more than {most}; {_smaller(design)}",
                RbdgenWarning,
                stacklevel=3,
            )
            # a warning of the registers would name the same remedies
            return


def _smaller(design: Design) -> str:
    """What takes less than a design does."""
    if isinstance(design.machine, Engine):
        return "use fewer cores or lanes, or a larger device"
    one = "--programs one, " if len(design.network.programs.names) > 1 else ""
    return f"use a longer --ii, {one}fewer functions, a shorter word or a larger device"


def kept_design(
    robot: Robot,
    options: Options,
    target: Target,
    compile_it: Callable[[], Design],
    found: Callable[[], None],
) -> Design:
    """The design of ``compile_it``, or the one that it gave before for the same robot, options and target; ``found`` is
    told where that is so. Its warnings come again, and it has a key by which what is made of it can be kept as well."""
    key = _design_key(robot, options, target)
    kept = cached(DESIGNS, key, SUFFIX)
    told: Told = []
    try:
        if kept is None:
            design = heard(compile_it, told)
            keep(DESIGNS, key, SUFFIX, zlib.compress(pickle.dumps((design, told)), 1))
        else:
            found()
            # unpickling runs code: the cache gives only what no other user can have written
            design, told = pickle.loads(zlib.decompress(kept.content))
    finally:
        tell(told, stacklevel=2)
    object.__setattr__(design, "key", key)
    return design


def _design_key(robot: Robot, options: Options, target: Target) -> str:
    """Digits that differ where designs might."""
    versions = code_digest("rbdgen"), np.__version__, sys.version
    # dataclasses print all of their fields, and floats to the last bit
    about = "\n".join([*versions, repr(robot), repr(options), repr(target)])
    return hashlib.sha256(about.encode()).hexdigest()[:32]
