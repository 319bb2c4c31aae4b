"""The choice of the machine: a pipeline, an engine, or the one of both that is smaller for what is asked."""

from __future__ import annotations

from dataclasses import replace

from rbdgen.compiler.choices import Workshop, choose
from rbdgen.compiler.cost import Cost
from rbdgen.compiler.design import Design
from rbdgen.compiler.engines import engine_design
from rbdgen.errors import ConfigError, UnsupportedError
from rbdgen.machines.options import ENGINE, PIPELINE
from rbdgen.options import Options
from rbdgen.tracing.folding import MAX_II


def choose_machine(workshop: Workshop, options: Options) -> Design:
    """The design with the machine that is asked for; where none is, with a pipeline, unless a rate or the smallest area
    is asked for and an engine does it with less. Errors are those of the one machine, or of both."""
    kinds = options.kinds
    if len(kinds) > 1 and not _asks_for_size(workshop, options):
        kinds = (PIPELINE,)
    designs, refused = [], []
    for kind in kinds:
        try:
            designs.append(_made(workshop, replace(options, machine=kind), len(kinds) > 1))
        except (ConfigError, UnsupportedError) as error:
            refused.append(error)
    if not designs:
        raise refused[0]
    if len(kinds) == 1 or refused:
        return designs[0]
    available = workshop.available
    smaller, other = sorted(designs, key=lambda d: Cost.of(d).key("area", available))
    return replace(smaller, why=(*smaller.why, _beside(smaller, other)))


def _asks_for_size(workshop: Workshop, options: Options) -> bool:
    """Whether the smallest design is asked for that does something."""
    return options.goal == "area" or workshop.target.budget.rate is not None


def _made(workshop: Workshop, options: Options, compares: bool) -> Design:
    """The design with one kind of machine; ``compares``: to tell which is smaller."""
    if options.machine == ENGINE:
        own = workshop.robot, options, workshop.ranges, workshop.target
        return engine_design(*own, workshop.progress)
    if compares and options.goal == "area" and not workshop.target.budget.chooses:
        # nothing is said of time: products wait as long as they can
        options = replace(options, ii=MAX_II)
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
