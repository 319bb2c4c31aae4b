"""From a robot and options to the network of its accelerator, with the states that ranges are found at."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from rbdgen.algo.chain import check_serial
from rbdgen.errors import ConfigError, UnsupportedError
from rbdgen.functions.algorithms import KINDS, chosen, usual
from rbdgen.functions.quantities import States
from rbdgen.functions.record import Need
from rbdgen.ir.graph import INPUT_OWNER, Graph
from rbdgen.ir.programs import Programs, cone
from rbdgen.model.ranges import InputRanges, declared_ranges
from rbdgen.model.robot import Robot
from rbdgen.protocol.identifiers import sanitize
from rbdgen.tracing.calibration import Calibration, make_calibration
from rbdgen.tracing.construction import Construction
from rbdgen.tracing.equivalent import equivalent
from rbdgen.tracing.execute import float_passes
from rbdgen.tracing.network import PREFIX, Network
from rbdgen.tracing.samples import make_samples, sampled_torques
from rbdgen.tracing.torques import slowed, torque_limits, with_torques
from rbdgen.tracing.trace import trace
from rbdgen.tracing.trace_options import TraceOptions
from rbdgen.tracing.words import Word, operand_words

CHUNK = 4096
"""States at which passes are evaluated at once: few enough that their values stay in the processor's cache."""


def build_network(
    robot: Robot,
    options: TraceOptions | None = None,
    ranges: InputRanges | None = None,
    count: int = 256,
    software: bool = False,
) -> tuple[Network, States]:
    """Trace the functions over the equivalent of ``robot``; with the states that ranges are to be found at.

    ``ranges`` are the declared input ranges (default: the robot's own); ``count`` states come from the options' seed.
    ``software``: for a processor, as exact as float64 at any operands, with products of large matrices as a whole.
    UnsupportedError for a function, a choice of algorithms or a robot that cannot be generated; ConfigError for
    parameters that could be loaded for no function.
    """
    options = options or TraceOptions()
    check_options(robot, options)
    ranges = ranges or declared_ranges(robot, options.limits)
    seed = options.seed
    links = sanitize([b.name for b in robot.bodies])
    calibration = None
    if options.calibratable or options.movable_frames:
        calibration = make_calibration(
            robot, links, seed, options.calibratable, options.movable_frames
        )
    frames = calibration.frames if calibration else equivalent(robot)
    states = make_samples(robot, frames.robot, ranges, options, calibration, count, seed)
    torques = torque_limits(options.ranges, ranges.tau_max, states.tau)
    # before free torques are drawn, to which motions give way that take too much even so
    states = slowed(states, torques, partial(sampled_torques, robot, frames.robot, calibration))
    states = with_torques(states, torques, options.ranges, seed, straining=count // 2)
    joints = sanitize(list(robot.joint_names))
    words = operand_words(
        robot,
        ranges,
        options,
        [joints[n] for n in robot.joint_names],
        [links[b.name] for b in robot.bodies],
        torques,
        states.minv,
    )
    built = Construction(robot, frames, calibration, options, words, states, software)
    trace(built)
    graph = _traced_graph(built)
    parameters = tuple(n for n in built.parameters if n in graph.inputs)
    if calibration is not None:
        _check_loaded(calibration, graph, options)
    network = Network(
        robot,
        options,
        _taken_words(built),
        built.results,
        tuple(built.submodules.values()),
        graph,
        Programs(built.operands, tuple(built.exits), parameters),
        built.leaves,
        calibration,
        built.carried,
        tuple(built.builder.products),
    )
    return network, states


def _check_loaded(calibration: Calibration, graph: Graph, options: TraceOptions) -> None:
    """ConfigError where parameters can be loaded that no function looks at."""
    needed = {graph.nodes[i].attr for i in cone(graph, graph.outputs) if graph.nodes[i].is_input}
    inertial = {p.word.name for p in calibration.parameters if not p.frame}
    placed = {p.word.name for p in calibration.parameters if p.frame}
    asked = {
        "calibratable": (inertial, "what links weigh", "id"),
        "movable_frames": (placed, "where frames are", "fk"),
    }
    for option, (names, what, example) in asked.items():
        if names and not names & needed:
            raise ConfigError(
                f"{option} and functions: {option} loads {what}, on which none of {', '.join(options.functions)} "
                f"depends; add a function such as {example}, or leave {option} out"
            )


def _traced_graph(built: Construction) -> Graph:
    """The graph of what leaves by an exit."""
    needed: set[str] = set()
    for e in built.exits:
        needed.update(e.results)
    outputs = {name: i for name, i in built.outputs.items() if name in needed}
    outputs |= built.builder.sides
    graph = built.builder.graph(outputs, spared=built.places)
    _check_owned(graph)
    return graph


def _check_owned(graph: Graph) -> None:
    """UnsupportedError where a function's text computes something outside of all submodules: no hardware would."""
    for i, node in graph:
        if node.is_given or node.owner != INPUT_OWNER:
            continue
        reached = (name for name in graph.outputs if i in cone(graph, (name,)))
        raise UnsupportedError(
            f"result {next(reached, '')!r}: its function's text computes {node.name} (%{i}) outside of all submodules, "
            "where there is no hardware; enter a submodule before it (TracedProgram.enter)"
        )


def _taken_words(built: Construction) -> dict[str, tuple[Word, ...]]:
    """The words of the operands of which any part is taken, by the graph or beside it."""
    taken: set[str] = set()
    for name, program in built.operands.items():
        taken.add(name.removeprefix(PREFIX[program]))
    # what goes along with a task, beside the pipelines
    for f in built.options.records:
        taken.update(q.name for q in f.operands if q.format)
    operands = {}
    for vector, words in built.words.items():
        if any(word.name in taken for word in words):
            operands[vector] = words
    return operands


def check_options(robot: Robot, options: TraceOptions) -> None:
    """UnsupportedError for functions and algorithms that do not take the robot."""
    for kind in KINDS:
        if chosen(kind, options).serial:
            check_serial(robot, chosen(kind, options).asked, usual(kind).asked)
    for f in options.records:
        if f.check:
            f.check(robot, options)


def operand_samples(network: Network, states: States) -> dict[str, np.ndarray]:
    """Values of the graph's operands and parameters for range analysis.

    All states come once with all operands together, as functions of motions see them; and again for each pass of every
    function that computes accelerations, with what the pass before makes of them.
    """
    together = _together(network, states)
    blocks = [together]
    for f in network.options.records:
        if Need.ACCELERATION not in f.all_needs:
            continue
        for taken in _taken_by_pass(network, f.name, states, together):
            # what the pass does not take is as it usually is, so that nothing else comes to extremes
            block = together | taken
            if not any(_same(block, known) for known in blocks):
                blocks.append(block)
    return {name: np.concatenate([block[name] for block in blocks]) for name in together}


def _taken_by_pass(
    network: Network, function: str, states: States, together: Mapping[str, np.ndarray]
) -> list[dict[str, np.ndarray]]:
    """For each pass of a function the operands that it takes, at all states."""
    graph = network.graph
    names = {i: name for name, i in graph.inputs.items()}
    words = network.operand_words(function)
    count = len(states.q)
    found: list[dict[str, np.ndarray]] = []
    for first in range(0, count, CHUNK):
        chosen = slice(first, first + CHUNK)
        part = states.part(chosen)
        given = {w.name: part.vector(w.vector, w.index) for w in words}
        given |= {p.word.name: together[p.word.name][chosen] for p in network.parameters}
        # only operands are looked at: values between would fill the memory
        passes = float_passes(network, graph, function, given, kept=names.keys())
        if not found:
            found = [{} for _ in passes]
        for taken, values in zip(found, passes, strict=True):
            for i in names.keys() & values.keys():
                whole = taken.setdefault(names[i], np.empty(count))
                whole[chosen] = values[i]
    return found


def _same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    """Whether two blocks of operands are equal."""
    return all(x is other[name] or np.array_equal(x, other[name]) for name, x in one.items())


def _together(network: Network, states: States) -> dict[str, np.ndarray]:
    """Values of all operands and parameters at once."""
    words: dict[str, Word] = {}
    for vector in network.operands.values():
        words |= {w.name: w for w in vector}
    values = {}
    for name, program in network.programs.operands.items():
        word = words[name.removeprefix(PREFIX[program])]
        values[name] = states.vector(word.vector, word.index)
    for p in network.parameters:
        values[p.word.name] = states.vector(p.word.vector, p.word.index)
    return values
