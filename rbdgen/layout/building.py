"""From a robot and options to the network of its accelerator, with the states that ranges are found at."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rbdgen.errors import UnsupportedError
from rbdgen.functions.algorithms import check_algorithms, check_combination
from rbdgen.functions.record import Need
from rbdgen.functions.registry import check_functions, check_together
from rbdgen.functions.states import States
from rbdgen.ir.graph import Graph
from rbdgen.ir.programs import Programs
from rbdgen.layout.calibration import make_calibration
from rbdgen.layout.equivalent import equivalent
from rbdgen.layout.network import DYNAMICS, PREFIX, PROGRAMS, Network
from rbdgen.layout.samples import make_samples
from rbdgen.layout.tracing import Tracer
from rbdgen.layout.words import TraceOptions, Word, operand_words
from rbdgen.model.names import sanitize
from rbdgen.model.ranges import InputRanges, declared_ranges
from rbdgen.model.robot import Robot


def build_network(
    robot: Robot,
    options: TraceOptions | None = None,
    ranges: InputRanges | None = None,
    count: int = 256,
    seed: int = 1,
) -> tuple[Network, States]:
    """Trace the functions over the equivalent of ``robot``; with the states that ranges are to be found at.

    ``ranges`` are the declared input ranges (default: the robot's own); ``count`` states come from ``seed``.
    UnsupportedError for a function, a choice of algorithms or a robot that cannot be generated.
    """
    options = options or TraceOptions()
    options = replace(options, functions=check_functions(options.functions))
    check_options(robot, options)
    ranges = ranges or declared_ranges(robot)
    links = sanitize([b.name for b in robot.bodies])
    calibration = None
    if options.calibratable:
        calibration = make_calibration(robot, links, seed)
    frames = calibration.frames if calibration else equivalent(robot)
    states = make_samples(robot, frames.robot, ranges, options, calibration, count, seed)
    joints = sanitize(list(robot.joint_names))
    words = operand_words(
        robot,
        ranges,
        options,
        [joints[n] for n in robot.joint_names],
        [links[b.name] for b in robot.bodies],
        states.tau,
        states.minv,
    )
    tracer = Tracer(robot, frames, calibration, options, words)
    tracer.trace()
    graph = _traced_graph(tracer)
    parameters = tuple(n for n in tracer.parameters if n in graph.inputs)
    network = Network(
        robot,
        options,
        _taken_words(tracer),
        tracer.results,
        tuple(tracer.submodules.values()),
        graph,
        Programs(tracer.operands, tuple(tracer.exits), parameters),
        tracer.leaves,
        calibration,
        tracer.carried,
    )
    return network, states


def _traced_graph(tracer: Tracer) -> Graph:
    """The graph of what leaves by an exit."""
    needed: set[str] = set()
    for e in tracer.exits:
        needed.update(e.results)
    outputs = {name: i for name, i in tracer.outputs.items() if name in needed}
    return tracer.builder.graph(outputs)


def _taken_words(tracer: Tracer) -> dict[str, tuple[Word, ...]]:
    """The words of the operands of which any part is taken, by the graph or beside it."""
    taken: set[str] = set()
    for name, program in tracer.operands.items():
        taken.add(name.removeprefix(PREFIX[program]))
    # what goes along with a task, beside the pipelines
    for f in tracer.options.records:
        taken.update(q.name for q in f.operands if q.format)
    operands = {}
    for vector, words in tracer.words.items():
        if any(word.name in taken for word in words):
            operands[vector] = words
    return operands


def check_options(robot: Robot, options: TraceOptions) -> None:
    """UnsupportedError for a choice that there is not, ConfigError for one that does not go with another."""
    check_algorithms(options.derivative, options.mass_matrix)
    if options.programs not in PROGRAMS:
        raise UnsupportedError(
            f"programs {options.programs!r}: unknown; choose from {', '.join(PROGRAMS)}"
        )
    check_combination(
        options.derivative, options.mass_matrix, options.calibratable, options.moving_base
    )
    check_together(options.records)
    for f in options.records:
        if f.repeat:
            f.repeat.check(robot, options)


def operand_samples(network: Network, states: States) -> dict[str, np.ndarray]:
    """Values of the graph's operands and parameters for range analysis.

    The states come twice where forward dynamics is computed: as inverse dynamics sees them, and with zero
    acceleration and the torque that would have caused it.
    """
    twice = any(Need.ACCELERATION in f.all_needs for f in network.options.records)
    words: dict[str, Word] = {}
    for vector in network.operands.values():
        words |= {w.name: w for w in vector}
    values = {}
    for name, program in network.programs.operands.items():
        plain = name.removeprefix(PREFIX[program])
        word = words[plain]
        once = states.vector(word.vector, word.index)
        again = once
        if program == DYNAMICS and word.vector == "a":
            again = np.zeros_like(once)
        values[name] = np.concatenate([once, again]) if twice else once
    for p in network.parameters:
        once = states.vector(p.word.vector, p.word.index)
        values[p.word.name] = np.concatenate([once, once]) if twice else once
    return values
