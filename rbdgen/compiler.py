"""The compiler: all stages in order, from a robot and options to a design that can be built and simulated."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from rbdgen.errors import ConfigError, RbdgenWarning
from rbdgen.host.tasks import FunctionFormat, OperandWord, ResultWord, TaskFormat, task_format
from rbdgen.ir.fixed import FixedGraph, Format
from rbdgen.ir.interpret import walk
from rbdgen.ir.machine import Machine
from rbdgen.layout.execute import Answer, BitTrueModel, feedback
from rbdgen.layout.functions import DERIVATIVES, FUNCTIONS, KNOWN, MASS_MATRICES, ROLL_OUT, check_functions
from rbdgen.layout.network import (
    FEEDBACK,
    PREFIX,
    PROGRAMS,
    Network,
    build_network,
    operand_samples,
)
from rbdgen.layout.rollout import AGAIN, COEFFICIENTS, STEPS
from rbdgen.layout.words import TraceOptions
from rbdgen.model.names import sanitize
from rbdgen.model.ranges import InputRanges, declared_ranges
from rbdgen.model.robot import Robot
from rbdgen.passes.error_target import Request, find_formats, resolve_targets
from rbdgen.passes.formats import MAX_WORD, check_word
from rbdgen.passes.pipeline import Simplified
from rbdgen.passes.ranges import FoundRanges
from rbdgen.schedule.budget import Budget, Layout, fit_layout, fold_notes, lay_out
from rbdgen.schedule.buffers import Plan, make_plan
from rbdgen.schedule.check import check_plan
from rbdgen.schedule.device import DEFAULT_DEVICE, Device, get_device
from rbdgen.schedule.queues import loop_cycles, send_cycles
from rbdgen.schedule.resources import estimate
from rbdgen.schedule.scheduler import check_interval, schedule

RANGE_SAMPLES = 32768
"""States by which ranges are found."""
FAMILY_SAMPLES, FAMILY_WORD = 1024, 27
"""The same where algorithms are only compared, and the word length where only an error was asked for."""
CHOICES = {
    "formats": ("signal", "uniform"),
    "rounding": ("auto", "nearest", "truncate"),
    "overflow": ("saturate", "flag"),
    "constants": ("auto", "logic", "multipliers"),
    "columns": ("auto", "fold", "apart"),
    "programs": PROGRAMS,
    "spread": ("auto", "fewest", "twice"),
}
"""Options that are one of a few words; the first is the default."""
CROWDED = 0.75
"""Share of a device's look-up tables or registers above which constant factors had better go to multipliers."""


@dataclass(frozen=True)
class Remedy:
    """An option that is ``plain`` unless a design takes too much of a device's resources, and its ``sparing`` choice:
    ``what`` that does."""

    option: str
    plain: str
    sparing: str
    what: str


REMEDIES = (
    Remedy("columns", "apart", "fold", "columns that are alike share hardware in turn"),
    Remedy("constants", "logic", "multipliers", "constant factors take slots of multipliers"),
    Remedy("spread", "fewest", "twice", "products are spread over more multipliers, with less to choose before each"),
)
"""What is tried, in this order, where a device is crowded."""
INVERSE_STATES = 2048
"""States at which the inverse of M is tried in the chosen formats."""
WEAK_SHARE, WEAK_ERROR = 0.01, 0.1
"""An inverse that overflows at more than this share of states, or whose rms error is above this share of its rms, is of
no use."""


@dataclass(frozen=True)
class Options:
    """What to build: ``functions`` by name, initiation interval ``ii`` in cycles, ``word`` in bits, ``device`` by name.

    ``derivative`` and ``mass_matrix`` choose algorithms (:mod:`rbdgen.layout.functions`). ``forces`` adds external
    forces on all bodies to the operands, ``moving_base`` the motion of the base; ``with_inverse``: ``dfd`` returns M⁻¹
    as well; ``calibratable``: inertial parameters can be loaded; ``integrator`` and ``time_step`` (s) are those of
    roll-outs. ``fold``: one piece of hardware serves branches that are alike in turn, where their number divides
    ``ii``; ``share``: submodules share multipliers. ``constants``: factors that are constant are shifts and adds in
    logic, or take slots of multipliers; auto is logic, unless a device has too little of that. ``columns``: parts of a
    submodule that are alike are one piece of hardware in turn; auto is apart, unless a device has too little for that.
    ``programs``: the derivatives are a program of their own, which other tasks pass by, or parts of the only one, which
    is smaller and which ``dfd`` takes two turns of. ``spread``: as few multipliers as there can be, or about twice as
    many, if a device has them, for narrower choices before them and submodules that stay apart; auto is fewest, unless
    a device has too little for those choices. ``clock``: MHz that the schedule is made for (default: the device's).
    ``limits`` override joints' declared ranges (see :func:`rbdgen.model.ranges.declared_ranges`); ``seed`` chooses the
    states that ranges are sampled at.
    """

    functions: tuple[str, ...] = ("id",)
    ii: int = 1
    word: int = 18
    device: str = DEFAULT_DEVICE
    derivative: str = "composite"
    mass_matrix: str = "ldl"
    forces: bool = False
    moving_base: bool = False
    with_inverse: bool = False
    calibratable: bool = False
    integrator: str = "euler"
    time_step: float = 1e-3
    fold: bool = True
    share: bool = True
    error: Mapping[str, float] = field(default_factory=dict)
    formats: str = "signal"
    sound: bool = False
    rounding: str = "auto"
    overflow: str = "saturate"
    constants: str = "auto"
    columns: str = "auto"
    programs: str = "two"
    spread: str = "auto"
    clock: float | None = None
    seed: int = 1
    limits: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Design:
    """Everything that is known of an accelerator before it is built.

    ``word``: the word length by which noise was told from signals, which is that of all formats unless they were found
    for an error target; tables are as good as words of ``table_word`` bits need. ``why``: how the layout was chosen.
    """

    robot: Robot
    options: Options
    ranges: InputRanges
    network: Network
    fixed: FixedGraph
    plan: Plan
    tasks: TaskFormat
    word: int
    table_word: int
    signal_ranges: FoundRanges
    why: tuple[str, ...] = ()

    @cached_property
    def name(self) -> str:
        """Name of the Verilog top: the robot and the functions."""
        robot = sanitize([self.robot.name])[self.robot.name]
        functions = "all" if self.network.functions == tuple(FUNCTIONS) else "_".join(self.network.functions)
        extras = (("f_ext", "forces"), ("base", "moving_base"), ("inverse", "with_inverse"), ("cal", "calibratable"))
        return "_".join(["rbd", robot, functions, *(name for name, o in extras if getattr(self.options, o))])

    @property
    def precision(self) -> str:
        """The word length or the smallest error target, in a name."""
        options = self.options
        return f"e{min(options.error.values()):g}".replace("e-", "m") if options.error else f"w{options.word}"

    def input_format(self, name: str) -> Format:
        """Format of an operand of the graph."""
        return self.fixed.formats[self.fixed.graph.inputs[name]]

    def output_format(self, name: str) -> Format:
        """Format of a result of the graph."""
        return self.fixed.formats[self.fixed.graph.outputs[name]]

    @cached_property
    def feedback(self) -> dict[str, str | None]:
        """For each operand of the second pass the result of the first that feeds it (None: it is always zero)."""
        return feedback(self.network)

    def promised_latency(self, function: str) -> int:
        """Cycles from the last beat's acceptance to the last result beat's offer, of a lone task (of a roll-out: of one
        step).

        One cycle into the task register, the way to the results, and the way through the lane, less the cycle shared.
        """
        done = self.last_start(function) + self.leaving_cycle(function) + 1
        return done + send_cycles(self.plan, self.tasks, function)

    def leaving_cycle(self, function: str) -> int:
        """Cycle of its last pass in which a task's results are taken."""
        return self.plan.exits[self.network.exit(function).name]

    def interval(self, function: str) -> int:
        """Cycles from one task of ``function`` to the next, where nothing else runs."""
        return self.options.ii * self.network.turns(function)

    def last_start(self, function: str) -> int:
        """Cycle 0 of the program that makes the results of a lone task, counted from the cycle after the last beat's
        acceptance: later where another program, or other evaluations of the same one, come first."""
        ii, entry = self.options.ii, self.plan.schedule.entry_cycles

        def turn(exit_name: str) -> int:
            """Cycles from one admission to the next, of what has left by this exit in between."""
            return -(-(entry + self.plan.exits[exit_name] + loop_cycles(self.plan, exit_name)) // ii) * ii

        if len(self.network.way(function)) > 1:
            return entry + turn(FEEDBACK)
        if function == ROLL_OUT.name:
            return entry + (len(COEFFICIENTS[self.options.integrator]) - 1) * turn(AGAIN)
        return entry

    @cached_property
    def model(self) -> BitTrueModel:
        """The bit-true model."""
        return BitTrueModel(self.network, self.fixed)

    def run(
        self, function: str, raw: Sequence[np.ndarray], parameters: Mapping[str, np.ndarray] | None = None
    ) -> Answer:
        """The bit-true model on raw operands of one function, one (n,) array per operand word; see
        :meth:`rbdgen.layout.execute.BitTrueModel.run`."""
        return self.model.run(function, raw, parameters)


def function_format(function: str, network: Network, fixed: FixedGraph) -> FunctionFormat:
    """The words of one function's tasks, from the network and its formats."""
    prefix = PREFIX[network.entry(function)]
    operands = []
    for word in network.operand_words(function):
        if word.vector == "steps":
            operands.append(OperandWord(word.name, STEPS, (int(word.lower), int(word.upper))))
            continue
        fmt = fixed.formats[fixed.graph.inputs[prefix + word.name]]
        codes = int(fmt.quantise(word.lower)), int(fmt.quantise(word.upper))
        operands.append(OperandWord(word.name, fmt, codes))
    results = [ResultWord(w.name, fixed.formats[fixed.graph.outputs[w.name]]) for w in network.result_words(function)]
    return FunctionFormat(function, KNOWN[function].code, tuple(operands), tuple(results))


def parameter_words(network: Network, fixed: FixedGraph) -> list[OperandWord]:
    """The words by which parameters are loaded."""
    words = []
    for word in (p.word for p in network.parameters):
        fmt = fixed.formats[fixed.graph.inputs[word.name]]
        words.append(OperandWord(word.name, fmt, (int(fmt.quantise(word.lower)), int(fmt.quantise(word.upper)))))
    return words


def target_device(options: Options) -> Device:
    """The device that a schedule is made for, at the clock that it is made for. ConfigError for one out of range."""
    device = get_device(options.device)
    return device if options.clock is None else device.at_clock(options.clock)


def at_clock(design: Design, clock: float) -> Design:
    """The same design for another clock in MHz: the same units and folds, scheduled again. ConfigError where the
    device's operators are too slow."""
    options, schedule = replace(design.options, clock=clock), design.plan.schedule
    layout = Layout(schedule.fixed, schedule.folds, options.ii, design.why)
    planned = _planned(options, design.network, design.fixed, layout, schedule.blocks)
    return replace(design, options=options, **planned)


def at_interval(design: Design, ii: int, blocks: int | None = None) -> Design:
    """The same design with a task every ``ii`` cycles: laid out and scheduled again, nothing traced again. ``blocks``:
    how many multiplier blocks there are (default: any number)."""
    options = replace(design.options, ii=ii)
    how = options.fold, options.share, options.columns == "fold", blocks, options.spread == "twice"
    layout = lay_out(design.network, design.fixed, target_device(options), ii, *how)
    return replace(design, options=options, **_planned(options, design.network, design.fixed, layout, blocks))


def _planned(
    options: Options, network: Network, fixed: FixedGraph, layout: Layout, blocks: int | None = None
) -> dict[str, Any]:
    """What of a design follows from its layout; ``blocks``: how many multiplier blocks there are (None: any number)."""
    device, spare = target_device(options), None if options.spread == "twice" else 0
    if options.spread == "twice" and blocks is not None:
        spare = blocks - layout.blocks(device)
    times = schedule(layout.fixed, device, layout.ii, network.programs, layout.folds, spare)
    formats = [function_format(f, network, fixed) for f in network.functions]
    tasks = task_format(formats, device.task_beats(layout.ii), layout.ii, parameter_words(network, fixed))
    plan = make_plan(times, {network.exit(f).name: tasks.sent(f) for f in network.functions})
    check_plan(plan)
    return {"plan": plan, "tasks": tasks, "why": layout.why}


@dataclass(frozen=True)
class Family:
    """Multiplications of one choice of algorithms: ``variable`` ones and ones with constants."""

    derivative: str
    mass_matrix: str
    variable: int
    constant: int


def compare_families(
    robot: Robot, options: Options, progress: Callable[[str], None] = lambda stage: None
) -> tuple[Family, ...]:
    """The multiplications of ``options`` by every choice of algorithms that makes a difference for its functions.

    Ranges are found at fewer states than for a design to be built.
    """
    functions = check_functions(options.functions)
    gradient, inverts = bool({"did", "dfd", "difd"} & set(functions)), bool({"fd", "minv", "dfd"} & set(functions))
    result = []
    for derivative in DERIVATIVES if gradient else (options.derivative,):
        for mass_matrix in MASS_MATRICES if inverts else (options.mass_matrix,):
            progress(f"count multiplications of {derivative}, {mass_matrix}")
            choice = replace(options, derivative=derivative, mass_matrix=mass_matrix)
            if options.error:
                choice = replace(choice, error={}, word=FAMILY_WORD)
            graph = _lowered(robot, choice, declared_ranges(robot, options.limits), FAMILY_SAMPLES)[1].graph
            result.append(Family(derivative, mass_matrix, **graph.multiplications()))
    return tuple(result)


def _lowered(
    robot: Robot,
    options: Options,
    ranges: InputRanges,
    count: int,
    progress: Callable[[str], None] = lambda stage: None,
) -> tuple[Network, FixedGraph, Simplified]:
    """The network, its fixed-point graph and what that was made of, with ranges found at ``count`` states.

    ConfigError where M⁻¹ is needed and the word is too short for it, with the word that would do.
    """
    own = {f.name for f in fields(Options)}
    names = [f.name for f in fields(TraceOptions) if f.name in own and f.name != "functions"]
    trace = TraceOptions(check_functions(options.functions), **{name: getattr(options, name) for name in names})
    network, states = build_network(robot, trace, ranges, count, options.seed)
    samples = operand_samples(network, states)
    targets = resolve_targets(options.error, network) if options.error else {}
    request = Request(
        *(network, samples, targets, target_device(options), options.rounding),
        saturate=options.overflow == "saturate",
        sound=options.sound,
        interval=options.ii,
        fold=options.fold,
        columns=options.columns == "fold",
        multiply=options.constants == "multipliers",
    )
    if targets:
        found = find_formats(request, ranges, options.seed, options.formats == "uniform", progress)
        return found.network, found.fixed, found.simplified

    def at(word: int) -> FixedGraph:
        return request.fixed(request.simplified(word))

    simplified = request.simplified(options.word)
    fixed = request.fixed(simplified)
    few = {name: x[:: max(1, len(x) // INVERSE_STATES)] for name, x in samples.items()}
    reason = weak_inverse(network, fixed, few)
    if reason:
        words = range(options.word + 1, MAX_WORD + 1)
        enough = next((w for w in words if not weak_inverse(network, at(w), few)), None)
        remedy = f"{enough} bits would do" if enough else f"no word up to {MAX_WORD} bits does"
        raise ConfigError(
            f"word: {options.word} bits are too few for the inverse of M of {robot.name!r}: {reason}; {remedy}"
        )
    return network.pruned(fixed.graph), fixed, simplified


def check_choices(options: Options) -> None:
    """ConfigError naming an option that is none of its choices."""
    for name, choices in CHOICES.items():
        if getattr(options, name) not in choices:
            raise ConfigError(f"{name}: must be one of {', '.join(choices)}, not {getattr(options, name)!r}")


def weak_inverse(network: Network, fixed: FixedGraph, operands: Mapping[str, np.ndarray]) -> str | None:
    """Why the inverse of M or what is solved with it is of no use in these formats; None where it is, or is not needed.

    ``operands`` are values (n,) of the graph's operands.
    """
    graph = fixed.graph
    names = [w.name for v in ("minv", "a") for w in network.results.get(v, ()) if w.name in graph.outputs]
    if not names:
        return None
    raw = {n: fixed.formats[i].quantise(operands[n]) for n, i in graph.inputs.items()}
    outputs, overflow = Machine(fixed, names).run(raw)
    flagged = float(np.mean(overflow))
    if flagged > WEAK_SHARE:
        return f"{flagged:.1%} of the declared states overflow"
    values = walk(graph, {n: fixed.formats[i].real(raw[n]) for n, i in graph.inputs.items()})
    wanted = {graph.outputs[name] for name in names}
    exact = {i: value for i, value in enumerate(values) if i in wanted}
    good = ~overflow
    for vector in ("minv", "a"):
        errors = truths = 0.0
        for name in (w.name for w in network.results.get(vector, ()) if w.name in graph.outputs):
            truth = np.broadcast_to(exact[graph.outputs[name]], good.shape)[good]
            got = fixed.formats[graph.outputs[name]].real(outputs[name])[good]
            errors, truths = errors + float(np.sum((got - truth) ** 2)), truths + float(np.sum(truth**2))
        if errors > WEAK_ERROR**2 * truths:
            return f"the rms error of {vector} is {np.sqrt(errors / truths):.0%} of its rms"
    return None


def compile_robot(
    robot: Robot,
    options: Options,
    progress: Callable[[str], None] = lambda stage: None,
    budget: Budget | None = None,
) -> Design:
    """Run all stages; ``progress`` is told each stage's name. With a ``budget`` the layout is chosen for it, whatever
    ``options`` say of the initiation interval. What ``options`` leave open is tried out: columns apart and constant
    factors in logic, and as far as that takes more of the budget's resources than :data:`CROWDED`, what takes less of
    them (:data:`REMEDIES`) if there are enough multipliers. Errors are those of the stages."""
    check_word(options.word)
    check_interval(options.ii)
    check_choices(options)
    design = _least_crowded(robot, options, progress, budget)
    excess = crowded(design, budget.resources, 1.0) if budget else None
    if budget and excess:
        smaller = "--programs one, " if len(design.network.programs.names) > 1 else ""
        message = (
            f"{budget.name}: by the model, {excess}; use {smaller}fewer functions, a shorter word or a larger device"
        )
        warnings.warn(message, RbdgenWarning, stacklevel=2)
    return design


def _least_crowded(robot: Robot, options: Options, progress: Callable[[str], None], budget: Budget | None) -> Design:
    """What ``options`` leave open done in the plainest way, or as far as that takes too much of the budget's resources
    with columns folded, then with constant factors on multipliers."""
    available = budget.resources if budget else {}
    remedies = [r for r in REMEDIES if getattr(options, r.option) == "auto"]
    options = replace(options, **{r.option: r.plain for r in remedies})
    design, taken = _compiled(robot, options, progress, budget), ()
    for remedy in remedies:
        crowd = crowded(design, available, CROWDED)
        if not crowd:
            break
        progress(f"{crowd}: {remedy.what}")
        try:
            other = _compiled(robot, replace(design.options, **{remedy.option: remedy.sparing}), progress, budget)
        except ConfigError:
            continue
        if "multipliers" not in available or other.plan.schedule.blocks <= available["multipliers"]:
            design, taken = other, (*taken, f"{remedy.what}; else {crowd}")
    return replace(design, why=(*design.why, *taken))


def crowded(design: Design, available: Mapping[str, int], share: float) -> str | None:
    """What the design would take more of than this share of what is ``available``, by the model of
    :mod:`rbdgen.schedule.resources`; None if nothing."""
    used = estimate(design.plan, design.tasks).as_dict()
    for name in ("luts", "registers"):
        if name in available and used[name] > share * available[name]:
            return f"about {used[name]} of {available[name]} {name} would be used"
    return None


def _compiled(robot: Robot, options: Options, progress: Callable[[str], None], budget: Budget | None) -> Design:
    """Run all stages, with constant factors and columns as ``options`` say."""
    device, columns = target_device(options), options.columns == "fold"
    progress("trace and formats")
    ranges = declared_ranges(robot, options.limits)
    network, fixed, simplified = _lowered(robot, options, ranges, RANGE_SAMPLES, progress)
    if options.sound and simplified.ranges.unbounded:
        found = simplified.ranges
        warnings.warn(
            f"sound: {len(found.unbounded)} reciprocals have no bound above zero; the {found.open} signals that depend "
            "on them keep sampled ranges, and flag what does not fit",
            RbdgenWarning,
            stacklevel=2,
        )
    how, apart = (options.fold, options.share, columns), options.spread == "twice"
    if budget is None or not budget.chooses:
        blocks = budget.resources.get("multipliers") if budget else None
        layout = lay_out(network, fixed, device, options.ii, *how, blocks, apart)
        layout = replace(layout, why=tuple(fold_notes(network, layout)))
        progress("schedule")
        planned = _planned(options, network, fixed, layout, blocks)
    else:
        beyond, planned = 0, {}
        while not planned or planned["plan"].schedule.blocks > (budget.blocks or math.inf):
            progress("choose the layout")
            layout = fit_layout(network, fixed, device, budget, *how, beyond, apart)
            options, beyond = replace(options, ii=layout.ii), layout.ii
            progress("schedule")
            most = budget.multipliers if budget.blocks is None else budget.blocks
            planned = _planned(options, network, fixed, layout, most)
    return Design(
        robot=robot,
        options=options,
        ranges=ranges,
        network=network,
        fixed=fixed,
        word=simplified.word,
        table_word=simplified.table_word,
        signal_ranges=simplified.ranges,
        **planned,
    )
