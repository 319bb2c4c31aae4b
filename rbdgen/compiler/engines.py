"""Designs with an engine: formats follow from ranges, a program from the graph, and errors are measured."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rbdgen.compiler.choices import fed_by_link
from rbdgen.compiler.cost import CROWDED, answer_time
from rbdgen.compiler.design import Design
from rbdgen.compiler.stages import closed, default_algorithms
from rbdgen.compiler.words import function_format, parameter_words
from rbdgen.devices.registry import target_device
from rbdgen.errors import ConfigError, RbdgenWarning, counted
from rbdgen.machines.engine.allocation import Place
from rbdgen.machines.engine.core import LANES, WIDTHS, Core, RoomError, core_of
from rbdgen.machines.engine.engine import Engine
from rbdgen.machines.engine.mapping import Formatted, Search, in_formats, with_program
from rbdgen.machines.engine.program import moved
from rbdgen.machines.engine.resident import Resident
from rbdgen.machines.engine.scheduler import quickest, schedule, shortest, soonest
from rbdgen.machines.engine.sizes import check_traced
from rbdgen.machines.options import ENGINE, MOST_CORES, USUAL_LANES
from rbdgen.machines.pipeline.budget import Target
from rbdgen.model.ranges import InputRanges, declared_ranges
from rbdgen.model.robot import Robot
from rbdgen.options import Options
from rbdgen.protocol.links import Streams
from rbdgen.protocol.tasks import LOADED, resident_format, task_format
from rbdgen.tracing.building import build_network, operand_samples
from rbdgen.tracing.network import Network
from rbdgen.tracing.trace_options import TraceOptions
from rbdgen.wordlength.experiment import VectorErrors, make_experiment
from rbdgen.wordlength.targets import Key, resolve_targets

RANGE_STATES = 1024
"""States at which ranges are found."""
TRIED_STATES = 4096
"""States at which errors are measured."""
OFTEN = 0.01
"""The share of flagged tasks from which on that is said."""
NAMED = 3
"""Entries that miss their target and are named; of more, their number is."""


@dataclass(frozen=True)
class Prepared:
    """A robot's functions in the formats of engines with words of one width, and ``why`` these are as they are."""

    options: Options
    ranges: InputRanges
    formatted: Formatted
    why: tuple[str, ...]


def prepare(
    robot: Robot,
    options: Options,
    ranges: InputRanges,
    progress: Callable[[str], None] = lambda stage: None,
    lean: bool = False,
    lanes: int = max(LANES),
    resident: bool = False,
) -> Prepared:
    """The formats that ``options`` ask for, of ``lean`` cores or of others, of so many ``lanes`` at most; ``resident``:
    of an engine that is there already, which complaints heed. ConfigError where an error that was asked for is missed,
    with what would do, and for what no program is long enough for; a warning where the usual error is missed."""
    options = closed(replace(options, machine=ENGINE), default_algorithms())
    progress("trace")
    traced = replace(options.part(TraceOptions), programs="one")
    network, states = build_network(robot, traced, ranges, RANGE_STATES)
    check_traced(network.graph, network.functions, lanes)
    samples = operand_samples(network, states)
    progress("formats")
    core = replace(core_of(lanes, options.word or WIDTHS[0]), lean=lean)
    formatted = in_formats(network, samples, core)
    why = _checked(network, formatted, options, ranges, progress, resident)
    return Prepared(options, ranges, formatted, why)


def made(
    prepared: Prepared,
    lanes: int,
    cores: int,
    target: Target,
    progress: Callable[[str], None] = lambda stage: None,
) -> Design:
    """The design with so many cores of so many lanes. ConfigError where something does not fit any memory."""
    options = replace(prepared.options, lanes=lanes, cores=cores)
    core = core_of(lanes, options.word or WIDTHS[0])
    alone = _alone(prepared, options, core, target, progress, _search(options, target), fit=True)
    return with_cores(alone, cores)


SEARCHES = quickest, shortest
"""How schedules of programs that are loaded are looked for: the first ones found, as a robot is waited for, and others
where that program has no room."""


def resident_designs(
    robot: Robot,
    options: Options,
    engine: Resident,
    progress: Callable[[str], None] = lambda stage: None,
    searches: Sequence[Search] = SEARCHES,
) -> Iterator[Design]:
    """Designs of a robot whose program is for such an ``engine``, which it has to itself: by each of the ``searches``
    that gives one which fits, or where answers are to come as soon as can be by that one alone. Errors are those of
    :func:`prepare`, and ConfigError where nothing fits the engine, as words of another length do not."""
    core = engine.core
    if options.word not in (None, core.width):
        raise ConfigError(
            f"word: {options.word} bits are asked for, and words of the engine have {core.width}; leave it out"
        )
    ranges = declared_ranges(robot, options.limits)
    prepared = prepare(robot, options, ranges, progress, core.lean, core.lanes, resident=True)
    options = replace(prepared.options, lanes=core.lanes, cores=engine.cores)
    wanted = _search(options, Target())
    lacking: RoomError | None = None
    fits = False
    for search in searches if wanted is schedule else [wanted]:
        try:
            design = _alone(prepared, options, core, Target(), progress, search)
        except RoomError as error:
            lacking = error
            continue
        fits = True
        functions = list(design.tasks.functions.values())
        machine = replace(design.engine, cores=engine.cores, dealt=engine.cores > 1)
        tasks = resident_format(core.width, engine.room, functions, design.tasks.parameters)
        yield replace(design, machine=machine, tasks=tasks)
    if lacking is not None and not fits:
        raise lacking


def placed(design: Design, place: Place, first_code: int) -> Design:
    """The same program in another ``place``, whose functions have codes from this one on."""
    machine = replace(design.engine, program=moved(design.engine.program, place))
    coded = {
        name: replace(own, code=first_code + k)
        for k, (name, own) in enumerate(design.tasks.functions.items())
    }
    return replace(design, machine=machine, tasks=replace(design.tasks, functions=coded))


def _search(options: Options, target: Target) -> Search:
    """How schedules are looked for: those that answer soonest where that is asked for, else those after which the next
    task comes soonest."""
    hurry = options.goal == "latency" or target.budget.latency is not None
    return soonest if hurry else schedule


def _alone(
    prepared: Prepared,
    options: Options,
    core: Core,
    target: Target,
    progress: Callable[[str], None],
    search: Search,
    fit: bool = False,
) -> Design:
    """The design with one such core, by schedules of this ``search``; ``fit``: with memories as large as need be."""
    mapped = with_program(prepared.formatted, core, progress, search, fit)
    machine = Engine(mapped.program, target_device(options))
    progress("check the program")
    machine.check()
    core = mapped.program.core
    network, fixed = mapped.network, mapped.fixed
    formats = [function_format(f, network, fixed) for f in network.functions]
    # a word in each beat
    parameters = parameter_words(network, fixed)
    words = [max(len(f.operands), len(f.results)) for f in formats]
    if parameters:
        words.append(LOADED)
    longest = 1 + max(words)
    tasks = task_format(formats, longest, longest, parameters)
    return Design(
        robot=network.robot,
        options=options,
        ranges=prepared.ranges,
        network=network,
        whole=fixed,
        fixed=fixed,
        machine=machine,
        tasks=tasks,
        word=core.width,
        table_word=core.width,
        signal_ranges=mapped.ranges,
        why=prepared.why,
        target=target,
    )


def engine_design(
    robot: Robot,
    options: Options,
    ranges: InputRanges,
    target: Target,
    progress: Callable[[str], None] = lambda stage: None,
) -> Design:
    """The design of a robot with an engine: with the lanes and cores that ``options`` say, else the fewest that a rate
    or the smallest area need, else :data:`~rbdgen.machines.options.USUAL_LANES`, in as many cores as a board's link
    keeps at work. Errors are those of :func:`prepare` and :func:`made`."""
    if target.budget.multipliers is not None:
        raise ConfigError(
            "multipliers and machine: multipliers are a pipeline's, and the machine is an engine; use lanes and cores"
        )
    lanes = options.lanes or USUAL_LANES
    prepared = prepare(robot, options, ranges, progress, lanes=lanes)
    if target.budget.of_time or options.goal == "area":
        return _smallest(prepared, options, target, progress)
    design = made(prepared, lanes, options.cores or 1, target, progress)
    if options.cores or target.link is None:
        return design
    return fed_by_link(design, with_cores, MOST_CORES, CROWDED)


def _smallest(
    prepared: Prepared,
    options: Options,
    target: Target,
    progress: Callable[[str], None],
) -> Design:
    """The fewest lanes, and only then cores, that reach a rate and keep a latency; the fewest lanes there are without
    either."""
    rate = target.budget.rate or 0.0
    latency = target.budget.latency or math.inf
    tried = [options.lanes] if options.lanes else [n for n in LANES if n <= USUAL_LANES]
    lanes, design = tried[0], made(prepared, tried[0], options.cores or 1, target, progress)
    for more in tried[1:]:
        if _rate(design) >= rate and answer_time(design) <= latency:
            return _told(design, target)
        lanes, design = more, made(prepared, more, options.cores or 1, target, progress)
    if answer_time(design) > latency:
        raise ConfigError(
            f"latency: {latency * 1e6:g} µs are less than the {answer_time(design) * 1e6:.3g} that an engine of "
            f"{lanes} lanes takes; use a pipeline, or a faster clock or device"
        )
    if _rate(design) >= rate:
        return _told(design, target)
    needed = math.ceil(rate / _rate(design) * design.engine.cores)
    most = _rate(with_cores(design, MOST_CORES))
    if options.cores or most < rate:
        remedy = f"{needed} cores of {lanes} lanes would do"
        if most < rate:
            remedy = f"{MOST_CORES} cores, which is the most, reach {most:.4g}"
        raise ConfigError(
            f"rate: {rate:g} tasks a second are more than the {_rate(design):.4g} of this engine; {remedy}"
        )
    why = f"{needed} cores of {lanes} lanes for {rate:g} tasks a second"
    return replace(with_cores(design, needed), why=(*design.why, why))


def _told(design: Design, target: Target) -> Design:
    """A design and how much more it does than what is asked of its time."""
    budget = target.budget
    engine = f"an engine of {counted(design.engine.program.core.lanes, 'lane')}"
    why = []
    if budget.rate is not None:
        why.append(
            f"{engine} takes {_rate(design):.0f} tasks a second, and {budget.rate:g} are asked for"
        )
    if budget.latency is not None:
        took = answer_time(design) * 1e6
        why.append(
            f"{engine} answers within {took:.3g} µs, and {budget.latency * 1e6:g} are allowed"
        )
    return replace(design, why=(*design.why, *why))


def _rate(design: Design) -> float:
    """Tasks a second of the slowest function."""
    slowest = max(map(design.mean_interval, design.network.functions))
    return 1e6 * design.running_clock / slowest


def with_cores(design: Design, cores: int) -> Design:
    """The same program in so many cores: side by side where several tasks can come side by side, as a link of bytes or
    datagrams does not bring them."""
    link = design.target.link
    rows = link is None or isinstance(link, Streams)
    machine = replace(design.engine, cores=cores, dealt=cores > 1 and not rows)
    tasks = design.tasks.side_by_side(cores if rows else 1)
    options = replace(design.options, cores=cores)
    return replace(design, options=options, machine=machine, tasks=tasks)


def _checked(
    network: Network,
    formatted: Formatted,
    options: Options,
    ranges: InputRanges,
    progress: Callable[[str], None],
    resident: bool,
) -> tuple[str, ...]:
    """Why the words are as they are; complaints where they miss what is asked of errors."""
    width = options.word or WIDTHS[0]
    if not options.targets:
        return (f"words of {width} bits, as asked for",)
    progress("errors")
    wider, other = f"--word {WIDTHS[-1]} has smaller ones, and ", "--machine pipeline"
    if resident:
        wider, other = "", "an accelerator of its own by 'rbdgen generate --machine pipeline'"
    targets = resolve_targets(options.targets, network)
    experiment = make_experiment(network, ranges, options.seed, TRIED_STATES, targets)
    errors, flagged = experiment.measure(formatted.fixed)
    often = {name: share for name, share in flagged.items() if share > OFTEN}
    if often:
        told = ", ".join(f"{share:.1%} of {name}" for name, share in often.items())
        warnings.warn(
            f"word: of tasks at declared states {told} are flagged, as something is beyond words of {width} bits: a "
            f"reciprocal near a singularity, say; narrower ranges or {other} have fewer",
            RbdgenWarning,
            stacklevel=2,
        )
    missed = _missed(errors)
    if not missed:
        return (f"words of {width} bits keep every error at {TRIED_STATES} states",)
    complaint = f"error: words of {width} bits miss it {_named(missed)}; {wider}{other} keeps any"
    if options.error:
        raise ConfigError(complaint)
    warnings.warn(complaint, RbdgenWarning, stacklevel=2)
    return (complaint,)


def _missed(errors: Mapping[Key, VectorErrors]) -> Mapping[str, float]:
    """Vectors and their worst entries that miss their targets, in units of these, the worst first."""
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
