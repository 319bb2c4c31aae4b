"""Robots loaded into an engine, and mixed tasks of all of their functions: each answer against the bit-true model's, bit
for bit. The engine may be emulated, its RTL in simulation, or the netlist of a board."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rbdgen.compiler.design import Design
from rbdgen.compiler.engines import prepare, resident_design
from rbdgen.host.engine import Engine
from rbdgen.host.transport import Transport
from rbdgen.machines.engine.resident import Resident, read_identity
from rbdgen.machines.options import ENGINE
from rbdgen.model.load import load_robot
from rbdgen.model.ranges import declared_ranges
from rbdgen.options import Options
from rbdgen.resident import program_of
from rbdgen_sim.comparison import (
    ATTEMPTS,
    PATIENCE,
    SECONDS,
    Comparison,
    differences,
    mixed_requests,
)


def compare_robots(
    transport: Transport,
    robots: Sequence[str],
    functions: Sequence[str],
    tasks: int,
    seed: int,
    progress: Callable[[str], None] = lambda stage: None,
) -> dict[str, Comparison]:
    """Load each of the built-in ``robots`` into the engine behind ``transport``, beside those before it, and send so
    many mixed ``tasks`` of its ``functions``; what differs, by robot."""
    found = {}
    with Engine.open(transport, ATTEMPTS, PATIENCE, SECONDS) as engine:
        shape = read_identity(engine.identity)
        for name in robots:
            progress(f"load {name}")
            design = design_for(shape, name, functions)
            device = engine.load(program_of(design, shape, engine.entries))
            progress(f"{tasks} tasks of {name}")
            requests, order = mixed_requests(design, tasks, seed)
            answers = device.solve(requests, order)
            different = 0
            for request, answer in zip(requests, answers, strict=True):
                known = differences(design, device.manifest, request, answer)
                different += int(np.count_nonzero(known.any | answer.lost))
            found[name] = Comparison(tasks, different)
    return found


def design_for(engine: Resident, name: str, functions: Sequence[str]) -> Design:
    """The design whose program is for an engine, of functions of a built-in robot."""
    robot = load_robot(name)
    options = Options(functions=tuple(functions), machine=ENGINE)
    ranges = declared_ranges(robot, options.limits)
    return resident_design(prepare(robot, options, ranges, lean=engine.core.lean), engine)
