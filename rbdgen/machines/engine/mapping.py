"""From a traced network to formats and a program: nothing is searched for but a schedule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rbdgen.ir.fixed import FLAG, FixedGraph
from rbdgen.machines.engine.composition import compose
from rbdgen.machines.engine.core import Core
from rbdgen.machines.engine.formats import choose_formats, engine_graph
from rbdgen.machines.engine.jobs import work_of
from rbdgen.machines.engine.program import Program, make_program
from rbdgen.machines.engine.scheduler import schedule
from rbdgen.passes.ranges import FoundRanges
from rbdgen.tracing.execute import feedback
from rbdgen.tracing.network import Network


@dataclass(frozen=True)
class Mapped:
    """A network on an engine: ``fixed``, its graph in the engine's formats, the ``ranges`` that these are for, and the
    ``program`` of all functions."""

    network: Network
    fixed: FixedGraph
    ranges: FoundRanges
    program: Program


def map_network(
    network: Network,
    samples: Mapping[str, np.ndarray],
    core: Core,
    overflow: str = FLAG,
) -> Mapped:
    """Map all functions of a network that was traced as one program; ``samples`` are values (n,) of its operands, at
    which ranges are found. ConfigError where something does not fit the core, UnsupportedError for functions that
    repeat and for loaded parameters."""
    graph = engine_graph(network.graph, samples, network.vectors)
    network = network.pruned(graph)
    formats = choose_formats(graph, samples, network.declared, core, feedback(network), overflow)
    network = network.pruned(formats.fixed.graph)
    schedules = {}
    for function in network.functions:
        work = work_of(compose(network, formats.fixed, function, core), core)
        schedules[function] = schedule(work, core)
    program = make_program(core, schedules)
    return Mapped(network, formats.fixed, formats.ranges, program)
