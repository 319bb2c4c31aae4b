"""The stages behind formats: layout, schedule, buffers, checks; and the same design at another clock or interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from rbdgen.compiler.design import Design
from rbdgen.compiler.lowering import Lowered
from rbdgen.compiler.words import function_format, parameter_words
from rbdgen.devices.registry import target_device
from rbdgen.functions.algorithms import open_kinds, usual
from rbdgen.ir.ops import require
from rbdgen.machines.engine.engine import Engine
from rbdgen.machines.pipeline.budget import Budget, Target, fit_layout
from rbdgen.machines.pipeline.buffers import make_plan
from rbdgen.machines.pipeline.layout import Layout, SharingOptions, fold_notes, lay_out
from rbdgen.machines.pipeline.operators import OPERATORS
from rbdgen.machines.pipeline.pipeline import Pipeline
from rbdgen.machines.pipeline.replicas import row_depth
from rbdgen.machines.pipeline.scheduler import schedule
from rbdgen.model.ranges import InputRanges
from rbdgen.options import Options
from rbdgen.protocol.tasks import task_format
from rbdgen.setting import OPEN
from rbdgen.tracing.network import Network


def default_choices(options: Options) -> dict[str, str]:
    """The choices where nothing speaks for anything else. Constant factors are products where multipliers and their
    accumulators are shared: a slot of these costs less than adders."""
    constants = "multipliers" if options.ii > 1 else "logic"
    sharing = {"constants": constants, "spread": "fewest", "programs": "two"}
    return sharing | default_algorithms()


def default_algorithms() -> dict[str, str]:
    """The same of algorithms alone, of any machine."""
    return {kind: usual(kind).name for kind in open_kinds()}


def with_defaults(options: Options) -> Options:
    """``options`` with what they leave open as in :func:`default_choices`."""
    return closed(options, default_choices(options))


def closed(options: Options, found: Mapping[str, str]) -> Options:
    """``options`` with what was ``found`` for those that they leave open."""
    still_open = {name: x for name, x in found.items() if getattr(options, name) == OPEN}
    return replace(options, **still_open)


def scheduled(
    options: Options,
    network: Network,
    layout: Layout,
    blocks: int | None = None,
    roughly: bool = False,
) -> dict[str, Any]:
    """The parts of a design that follow from its layout; ``blocks``: how many multiplier blocks there are (None: any
    number). ``roughly``: only to tell what it would cost, with lifetimes as they come, and unproven."""
    device = target_device(options)
    spare = None if options.spreads else 0
    if options.spreads and blocks is not None:
        spare = blocks - layout.blocks(device)
    times = schedule(
        layout.fixed,
        device,
        layout.ii,
        network.programs,
        layout.folds,
        spare,
        shorten=not roughly,
        hurry=blocks is None,
    )
    fixed = layout.source
    formats = [function_format(f, network, fixed) for f in network.functions]
    # behind a link that binds, packets are as short as they can be: padding is at the ends of beats
    beats = 1 if options.goal == "host" else layout.ii
    replicas = options.replicas or 1
    parameters = parameter_words(network, fixed)
    tasks = task_format(formats, device.task_beats(beats), beats, parameters, replicas)
    plan = make_plan(times, {network.exit(f).name: tasks.sent(f) for f in network.functions})
    if replicas > 1:
        # what cannot be numbered is refused before anything is made of it
        row_depth(plan, tasks)
    machine = Pipeline(plan, network)
    # what is only compared is not built; the one that is chosen is scheduled again and proven
    if not roughly:
        machine.check()
    return {"machine": machine, "tasks": tasks, "fixed": fixed, "why": layout.why}


def schedule_design(
    lowered: Lowered,
    options: Options,
    ranges: InputRanges,
    target: Target,
    progress: Callable[[str], None] = lambda stage: None,
    beyond: int = 0,
    roughly: bool = False,
) -> Design:
    """A design of a graph, at the interval of ``options`` or the shortest beyond ``beyond`` that the budget of
    ``target`` allows. ConfigError where there is none."""
    network, fixed = lowered.network, lowered.fixed
    require(fixed.graph.operations, OPERATORS, "pipelines")
    how = options.part(SharingOptions)
    budget = target.budget.shared(options.replicas or 1)
    if not budget.chooses:
        blocks = budget.resources.get("multipliers")
        layout = lay_out(network, fixed, how, blocks)
        layout = replace(layout, why=tuple(fold_notes(network, layout)))
        progress("schedule")
        parts = scheduled(options, network, layout, blocks, roughly)
    else:
        most = budget.multipliers if budget.blocks is None else budget.blocks
        parts: dict[str, Any] = {}
        while not parts or _exceeds(parts["machine"], budget):
            progress("choose the layout")
            layout = fit_layout(network, fixed, how, budget, beyond)
            options, beyond = replace(options, ii=layout.ii), layout.ii
            progress("schedule")
            parts = scheduled(options, network, layout, most, roughly)
    simplified = lowered.simplified
    return Design(
        robot=network.robot,
        options=options,
        ranges=ranges,
        network=network,
        whole=fixed,
        word=simplified.word,
        table_word=simplified.table_word,
        signal_ranges=simplified.ranges,
        target=target,
        **parts,
    )


def _exceeds(machine: Pipeline, budget: Budget) -> bool:
    """Whether pipelines take more multipliers than there are: runs of products may not fill them as well as the
    layout counts on."""
    if machine.blocks > (budget.blocks or math.inf):
        return True
    return sum(machine.plan.schedule.multipliers.values()) > (budget.multipliers or math.inf)


def at_clock(design: Design, clock: float) -> Design:
    """The same design for another clock in MHz: the same units and folds, scheduled again. ConfigError where the
    device's operators are too slow."""
    if isinstance(design.machine, Engine):
        options = replace(design.options, clock=clock)
        machine = replace(design.machine, made_for=target_device(options))
        return replace(design, options=options, machine=machine)
    options, schedule = replace(design.options, clock=clock), design.plan.schedule
    layout = Layout(schedule.fixed, schedule.folds, options.ii, design.fixed, design.why)
    parts = scheduled(options, design.network, layout, schedule.blocks)
    return replace(design, options=options, **parts)


def at_interval(design: Design, ii: int, blocks: int | None = None) -> Design:
    """The same design with a task every ``ii`` cycles: laid out and scheduled again, nothing traced again. ``blocks``:
    how many multiplier blocks there are (default: any number)."""
    options = replace(design.options, ii=ii)
    layout = lay_out(design.network, design.whole, options.part(SharingOptions), blocks)
    parts = scheduled(options, design.network, layout, blocks)
    return replace(design, options=options, **parts)
