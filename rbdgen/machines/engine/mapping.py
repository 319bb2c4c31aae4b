"""From a traced network to formats and a program: nothing is searched for but a schedule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from rbdgen.errors import ConfigError
from rbdgen.ir.fixed import FLAG, FixedGraph
from rbdgen.machines.engine.composition import compose
from rbdgen.machines.engine.core import Core
from rbdgen.machines.engine.formats import choose_formats, engine_graph
from rbdgen.machines.engine.jobs import Work, work_of
from rbdgen.machines.engine.placing import NoRoomError, Schedule
from rbdgen.machines.engine.program import Program, make_program
from rbdgen.machines.engine.scheduler import schedule
from rbdgen.machines.engine.sizes import check_least, needed_core
from rbdgen.passes.ranges import FoundRanges
from rbdgen.processes import on_all_cores
from rbdgen.tracing.execute import BitTrueModel, handed_on
from rbdgen.tracing.network import Network

Search = Callable[[Work, Core], Schedule]
"""How schedules are looked for: one of :mod:`rbdgen.machines.engine.scheduler`. NoRoomError where there is none."""
FEW_SLOTS = 600
"""Slots of all functions up to which their schedules are not worth processes of their own."""


@dataclass(frozen=True)
class Formatted:
    """A network whose graph is ``fixed``, in an engine's formats, and the ``ranges`` that these are for."""

    network: Network
    fixed: FixedGraph
    ranges: FoundRanges


@dataclass(frozen=True)
class Mapped(Formatted):
    """The same with the ``program`` of all functions."""

    program: Program


def in_formats(
    network: Network,
    samples: Mapping[str, np.ndarray],
    core: Core,
    overflow: str = FLAG,
) -> Formatted:
    """The formats of a network that was traced as one program; ``samples`` are values (n,) of its operands, at which
    ranges are found. They do not depend on a core's lanes. ConfigError where it could not be scheduled on so many."""
    graph = engine_graph(network.graph, samples, network.droppable, core.lean)
    check_least(graph, network.functions, core.lanes)
    network = network.pruned(graph)
    formats = choose_formats(graph, samples, network.declared, core, handed_on(network), overflow)
    return Formatted(network.pruned(formats.fixed.graph), formats.fixed, formats.ranges)


def map_network(
    network: Network,
    samples: Mapping[str, np.ndarray],
    core: Core,
    overflow: str = FLAG,
) -> Mapped:
    """Map all functions of a network that was traced as one program (:func:`in_formats`, :func:`with_program`)."""
    return with_program(in_formats(network, samples, core, overflow), core)


def with_program(
    formatted: Formatted,
    core: Core,
    progress: Callable[[str], None] = lambda stage: None,
    search: Search = schedule,
    fit: bool = False,
) -> Mapped:
    """The program of all functions, by schedules that this ``search`` finds. ``fit``: memories are as large as need be,
    whatever the core's are. ConfigError where something does not fit the core."""
    network, fixed = formatted.network, formatted.fixed
    progress("programs")
    works = {f: work_of(compose(network, fixed, f, core), core) for f in network.functions}
    schedules = _schedules(works, core, search)
    parameters = BitTrueModel(network, fixed).nominal
    if fit:
        core = needed_core(core, schedules, parameters)
    program = make_program(core, schedules, parameters)
    return Mapped(network, fixed, formatted.ranges, program)


def _schedules(works: Mapping[str, Work], core: Core, search: Search) -> dict[str, Schedule]:
    """The schedule of each function's work. ConfigError where there is none."""

    def scheduled(function: str) -> Schedule | str:
        """The schedule of one function, or what is in its way."""
        try:
            return search(works[function], core)
        except NoRoomError as error:
            return str(error)

    slots = [work.slots for work in works.values()]
    several = sum(slots) > FEW_SLOTS
    found = on_all_cores(scheduled, list(works), slots) if several else map(scheduled, works)
    schedules = {}
    for function, own in zip(works, found, strict=True):
        if isinstance(own, str):
            raise ConfigError(
                f"function {function!r}: {own}; use other lanes, or --machine pipeline"
            )
        schedules[function] = own
    return schedules
