"""Designs with an engine: formats follow from ranges, a program from the graph, and errors are measured."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace

from rbdgen.compiler.design import Design
from rbdgen.compiler.words import function_format, parameter_words
from rbdgen.devices.registry import target_device
from rbdgen.errors import ConfigError, RbdgenWarning
from rbdgen.functions.algorithms import open_kinds, usual
from rbdgen.machines.engine.core import WIDTHS, Core, core_of
from rbdgen.machines.engine.engine import Engine
from rbdgen.machines.engine.mapping import Formatted, in_formats, with_program
from rbdgen.machines.options import USUAL_LANES
from rbdgen.machines.pipeline.budget import Target
from rbdgen.model.ranges import InputRanges
from rbdgen.model.robot import Robot
from rbdgen.options import Options
from rbdgen.protocol.tasks import task_format
from rbdgen.setting import OPEN
from rbdgen.tracing.building import build_network, operand_samples
from rbdgen.tracing.network import Network
from rbdgen.tracing.trace_options import TraceOptions
from rbdgen.wordlength.experiment import Experiment, make_experiment
from rbdgen.wordlength.targets import resolve_targets

RANGE_STATES = 1024
"""States at which ranges are found."""
TRIED_STATES = 4096
"""States at which errors are measured."""
NAMED = 3
"""Entries that miss their target and are named; of more, their number is."""


def engine_core(options: Options) -> Core:
    """The core that options ask for."""
    return core_of(options.lanes or USUAL_LANES, options.word or WIDTHS[0])


def engine_design(
    robot: Robot,
    options: Options,
    ranges: InputRanges,
    target: Target,
    progress: Callable[[str], None] = lambda stage: None,
) -> Design:
    """The design of a robot with an engine. ConfigError where an error that was asked for is missed, with what would
    do, and where something does not fit the engine's memories; a warning where the usual error is missed."""
    options = _with_algorithms(options)
    core = engine_core(options)
    device = target_device(options)
    progress("trace")
    traced = replace(options.part(TraceOptions), programs="one")
    network, states = build_network(robot, traced, ranges, RANGE_STATES)
    samples = operand_samples(network, states)
    progress("formats")
    formatted = in_formats(network, samples, core)
    why = _checked(network, formatted, options, ranges, progress)
    mapped = with_program(formatted, core, progress, hurry=options.goal == "latency")
    machine = Engine(mapped.program, device)
    progress("check the program")
    machine.check()
    network, fixed = mapped.network, mapped.fixed
    formats = [function_format(f, network, fixed) for f in network.functions]
    # a word in each beat
    longest = max(1 + max(len(f.operands), len(f.results)) for f in formats)
    parameters = parameter_words(network, fixed)
    tasks = task_format(formats, longest, longest, parameters, options.cores or 1)
    return Design(
        robot=network.robot,
        options=options,
        ranges=ranges,
        network=network,
        whole=fixed,
        fixed=fixed,
        machine=machine,
        tasks=tasks,
        word=core.width,
        table_word=core.width,
        signal_ranges=mapped.ranges,
        why=why,
        target=target,
    )


def _with_algorithms(options: Options) -> Options:
    """Options with the usual algorithm where one is left open."""
    usual_ones = {kind: usual(kind).name for kind in open_kinds()}
    still_open = {name: x for name, x in usual_ones.items() if getattr(options, name) == OPEN}
    return replace(options, **still_open)


def _checked(
    network: Network,
    formatted: Formatted,
    options: Options,
    ranges: InputRanges,
    progress: Callable[[str], None],
) -> tuple[str, ...]:
    """Why the words are as they are; complaints where they miss what is asked of errors."""
    width = options.word or WIDTHS[0]
    if not options.targets:
        return (f"words of {width} bits, as asked for",)
    progress("errors")
    targets = resolve_targets(options.targets, network)
    experiment = make_experiment(network, ranges, options.seed, TRIED_STATES, targets)
    missed = _missed(experiment, formatted)
    if not missed:
        return (f"words of {width} bits keep every error at {TRIED_STATES} states",)
    remedy = f"--word {WIDTHS[-1]} has smaller ones, and --machine pipeline keeps any"
    complaint = f"error: words of {width} bits miss it {_named(missed)}; {remedy}"
    if options.error:
        raise ConfigError(complaint)
    warnings.warn(complaint, RbdgenWarning, stacklevel=2)
    return (complaint,)


def _missed(experiment: Experiment, formatted: Formatted) -> Mapping[str, float]:
    """Vectors and their worst entries that miss their targets, in units of these, the worst first."""
    errors, _ = experiment.measure(formatted.fixed)
    found = {
        f"{function} {own.entry}": own.worst
        for (function, _), own in errors.items()
        if own.worst > 1
    }
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _named(missed: Mapping[str, float]) -> str:
    """Entries and by what they miss their targets, in words."""
    names = [f"{name} by {factor:.2g} times" for name, factor in list(missed.items())[:NAMED]]
    more = len(missed) - len(names)
    return f"at {', '.join(names)}" + (f" and {more} more" if more else "")
