"""What of a robot's functions the engines of boards have room for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

from rbdgen.compiler.design import Design
from rbdgen.compiler.engines import resident_designs
from rbdgen.errors import ConfigError, counted
from rbdgen.functions.registry import common
from rbdgen.machines.engine.core import Core
from rbdgen.machines.engine.loading import Limits
from rbdgen.machines.engine.resident import Resident
from rbdgen.machines.engine.scheduler import shortest
from rbdgen.machines.engine.sizes import MOST_DEPTH, MOST_WORDS, check_sizes
from rbdgen.machines.options import ENGINE
from rbdgen.model.robot import Robot
from rbdgen.options import Options

LARGEST = {"words": MOST_WORDS, "depth": MOST_DEPTH, "results": 8192, "limits": 4080}
"""Memories in which whatever there is has room."""


@dataclass(frozen=True)
class Fitting:
    """Functions that fit an engine, each alone; and whether ``all`` of a robot's fit together."""

    functions: tuple[str, ...]
    all: bool


def fitting(
    robot: Robot, engines: Mapping[str, Resident], progress: Callable[[str], None]
) -> dict[str, Fitting]:
    """What of a robot's functions fits each of these engines, by their boards."""

    @cache
    def compiled(core: Core) -> Design:
        progress(f"programs for {counted(core.lanes, 'lane')}")
        options = Options(functions=common(), machine=ENGINE)
        return next(resident_designs(robot, options, Resident(core), searches=[shortest]))

    found = {}
    for board, engine in engines.items():
        # programs follow from lanes and banks, whatever the memories
        design = compiled(replace(engine.core, **LARGEST))
        names = design.network.functions
        alone = tuple(name for name in names if _fit(design, engine.core, (name,)))
        found[board] = Fitting(alone, _fit(design, engine.core, names))
    return found


def _fit(design: Design, core: Core, functions: tuple[str, ...]) -> bool:
    """Whether these functions fit a core together, by the constants that all have."""
    program = design.engine.program
    routines = [program.routines[name] for name in functions]
    formats = [design.tasks.functions[name] for name in functions]
    roomy = replace(core, limits=LARGEST["limits"])
    words = program.constants.words + max(r.allocation.needed for r in routines)
    try:
        check_sizes(core, {name: program.routines[name].schedule for name in functions})
    except ConfigError:
        return False
    return (
        words <= core.words
        and max(r.operands for r in routines) <= Resident(core).room.operands
        and len(Limits.of(formats, roomy).pairs) <= core.limits
    )
