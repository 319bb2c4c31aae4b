"""The same functions compiled otherwise, for a table beside the design: multiplications of every choice of algorithms,
and savings by ranges of motions alone.

A function that takes torques keeps its error at the torques of declared motions and at free torques; without the
second its formats need no room for accelerations that free torques reach.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from rbdgen.algo.chain import is_serial
from rbdgen.compiler.design import Design
from rbdgen.compiler.lowering import lower, trace
from rbdgen.compiler.stages import with_defaults
from rbdgen.devices.registry import target_device
from rbdgen.errors import ConfigError, RbdgenError, UnsupportedError
from rbdgen.functions.algorithms import (
    chosen_algorithms,
    known,
    needed_kinds,
    open_kinds,
)
from rbdgen.ir.fixed import FixedGraph
from rbdgen.machines.options import ENGINE
from rbdgen.machines.pipeline.layout import SharingOptions, lay_out
from rbdgen.model.ranges import InputRanges, declared_ranges
from rbdgen.model.robot import Robot
from rbdgen.options import Options
from rbdgen.tracing.torques import BOTH, MOTION

FAMILY_SAMPLES, FAMILY_WORD = 1024, 27
"""States by which ranges are found where algorithms are only compared, and the word length where only an error was
asked for."""


@dataclass(frozen=True)
class Family:
    """Multiplications of one choice of ``algorithms``, one of each kind: ``variable`` ones and ones with constants.
    Both are None where they cannot be counted, and ``problem`` says why."""

    algorithms: dict[str, str]
    variable: int | None
    constant: int | None
    problem: str | None = None


def compare_families(
    robot: Robot, options: Options, progress: Callable[[str], None] = lambda stage: None
) -> tuple[Family, ...]:
    """The multiplications of ``options`` by every choice of algorithms that makes a difference for its functions.

    Ranges are found at fewer states than for a design to be built. A choice that no formats are found for says so in
    its row.
    """
    options = with_defaults(options)
    if options.word is None:
        options = replace(options, error={}, formats="signal", word=FAMILY_WORD)
    ranges = declared_ranges(robot, options.limits)
    result = []
    for choice in _choices(robot, options):
        algorithms = chosen_algorithms(choice)
        progress(f"count multiplications of {', '.join(algorithms.values())}")
        try:
            counted = _multiplications(robot, choice, ranges)
        except UnsupportedError:
            if algorithms == chosen_algorithms(options):
                raise
            # a family for some robots only
            continue
        except RbdgenError as error:
            # the others are of use without it
            result.append(Family(algorithms, None, None, " ".join(str(error).split())))
            continue
        variable, constant = counted["variable"], counted["constant"]
        result.append(Family(algorithms, variable, constant))
    return tuple(result)


def _multiplications(robot: Robot, choice: Options, ranges: InputRanges) -> dict[str, int]:
    """Those of one choice, as of :meth:`rbdgen.ir.graph.Graph.multiplications`."""
    traced = trace(robot, choice, ranges, FAMILY_SAMPLES)
    return lower(traced, choice, ranges).fixed.graph.multiplications()


def _choices(robot: Robot, options: Options) -> list[Options]:
    """The choices of algorithms that make a difference, go together, and take the robot: all of those that take trees,
    and those for serial chains one by one beside what was chosen."""
    needed = needed_kinds(options.records)
    given = chosen_algorithms(options)
    varied = [kind for kind in needed if kind not in open_kinds()]
    candidates = []
    for names in product(*map(known, varied)):
        candidates.append(dict(zip(varied, names, strict=True)))
    for kind in open_kinds():
        others = known(kind) if kind in needed and is_serial(robot) else ()
        candidates += [{kind: name} for name in others if name != given[kind]]
    choices = []
    for candidate in candidates:
        with suppress(ConfigError):
            choices.append(replace(options, **candidate))
    return choices


SAMPLES = 8192
"""States that ranges are found at here: enough for a comparison."""


def narrower_ranges(
    design: Design, progress: Callable[[str], None] = lambda stage: None
) -> dict[str, Any] | None:
    """The cost of a design's formats beside those for motions only (``--ranges motion``), as a report has it; None
    where it has no such choice, or nothing was searched for."""
    options = design.options
    takes_torques = any(f.takes_torques for f in design.network.options.records)
    # an engine's words are as long as they are, whatever the ranges
    searched = bool(options.targets) and options.machine != ENGINE
    if options.ranges != BOTH or not searched or not takes_torques:
        return None
    progress("ranges of motions only")
    narrow = replace(options, ranges=MOTION)
    traced = trace(design.robot, narrow, design.ranges, SAMPLES)
    try:
        lowered = lower(traced, narrow, design.ranges)
    except ConfigError:
        # what is out of reach with narrower ranges has nothing to offer
        return None
    device = target_device(options)
    # spread as far as nothing else asks for: the comparison is of the fewest blocks
    sharing = replace(options.part(SharingOptions), spread="fewest")
    layout = lay_out(lowered.network, lowered.fixed, sharing)
    return {
        "ranges": MOTION,
        "signal_bits_mean": _mean_bits(lowered.fixed),
        "multiplier_blocks": layout.blocks(device),
        "instead_of": {
            "ranges": BOTH,
            "signal_bits_mean": _mean_bits(design.whole),
            "multiplier_blocks": design.machine.blocks,
        },
    }


def _mean_bits(fixed: FixedGraph) -> float:
    """Bits of a signal, on average."""
    widths = [fixed.formats[i].width for i, node in fixed.graph if not node.is_const]
    return round(float(np.mean(widths)), 2)
