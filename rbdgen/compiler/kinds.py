"""The choice of the machine: a pipeline, an engine, or the one of both that is smaller for what is asked, or fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from rbdgen.compiler.choices import Workshop, choose
from rbdgen.compiler.cost import FULL, Cost
from rbdgen.compiler.design import Design
from rbdgen.compiler.engines import engine_design
from rbdgen.compiler.hearing import Told, heard, tell
from rbdgen.compiler.latency import within_latency
from rbdgen.errors import ConfigError, UnsupportedError
from rbdgen.machines.options import ENGINE, PIPELINE
from rbdgen.options import Options
from rbdgen.tracing.folding import MAX_II


def choose_machine(workshop: Workshop, options: Options) -> Design:
    """The design with the machine that is asked for; where none is, with a pipeline, unless a rate or the smallest area
    is asked for and an engine does it with less, or a board has no room for a pipeline and has it for an engine. Errors
    are those of the one machine, or of the pipeline."""
    kinds = options.kinds
    if len(kinds) == 1:
        return _made(workshop, replace(options, machine=kinds[0]))
    if _asks_for_size(workshop, options):
        return _smaller(workshop, options)
    pipeline = _made(workshop, replace(options, machine=PIPELINE))
    available = workshop.available
    if not available or not _crowded(pipeline, available):
        return pipeline
    workshop.progress("a pipeline would not fit: try an engine")
    try:
        engine = _made(workshop, replace(options, machine=ENGINE))
    except (ConfigError, UnsupportedError):
        return pipeline
    if _crowded(engine, available):
        return pipeline
    name = workshop.target.budget.name
    return replace(engine, why=(*engine.why, f"{_beside(engine, pipeline)}, too much for {name}"))


def _crowded(design: Design, available: Mapping[str, float]) -> bool:
    """Whether a design takes more of what is available than place and route can connect."""
    cost = Cost.of(design)
    return cost.share(available) > FULL or cost.exceeds(available)


def _smaller(workshop: Workshop, options: Options) -> Design:
    """The smaller design of both that does what is asked for."""
    designs: list[tuple[Design, Told]] = []
    refused: list[Exception] = []
    for kind in options.kinds:
        own = replace(options, machine=kind)
        budget = workshop.target.budget
        nothing_of_time = options.goal == "area" and not (budget.chooses or budget.of_time)
        if kind == PIPELINE and nothing_of_time:
            # products wait as long as they can
            own = replace(own, ii=MAX_II)
        if kind == PIPELINE and options.goal is None and budget.latency is None:
            # a rate alone asks for the smallest as well
            own = replace(own, goal="area")
        try:
            told: Told = []
            made = heard(partial(_made, workshop, own), told)
            asked = replace(made.options, goal=options.goal)
            designs.append((replace(made, options=asked), told))
        except (ConfigError, UnsupportedError) as error:
            refused.append(error)
    if not designs:
        raise refused[0]
    designs.sort(key=lambda own: Cost.of(own[0]).key("area", workshop.available))
    smaller, told = designs[0]
    # of what is not taken nobody has to be warned
    tell(told, stacklevel=2)
    if refused:
        return smaller
    other, _ = designs[1]
    return replace(smaller, why=(*smaller.why, _beside(smaller, other)))


def _asks_for_size(workshop: Workshop, options: Options) -> bool:
    """Whether the smallest design is asked for that does something."""
    return options.goal == "area" or workshop.target.budget.of_time


def _made(workshop: Workshop, options: Options) -> Design:
    """The design with the machine of ``options``."""
    if options.machine == ENGINE:
        own = workshop.robot, options, workshop.ranges, workshop.target
        return engine_design(*own, workshop.progress)
    if workshop.target.budget.latency is not None:
        return within_latency(workshop, options)
    return choose(workshop, options)


def _beside(design: Design, other: Design) -> str:
    """What the other machine would cost, by the model."""
    return f"{_costs(design)}; {_costs(other)}, by the model"


def _costs(design: Design) -> str:
    """What a design takes and how fast it is, in words."""
    cost = Cost.of(design)
    article = "an" if design.machine.kind == ENGINE else "a"
    slowest = max(design.mean_interval(name) for name in design.network.functions)
    blocks = "1 multiplier block" if cost.blocks == 1 else f"{cost.blocks} multiplier blocks"
    return (
        f"{article} {design.machine.kind} takes {cost.tables} look-up tables and {blocks}, for a task every "
        f"{slowest:g} cycles"
    )
