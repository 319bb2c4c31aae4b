"""Savings by ranges of motions alone: formats of the same functions without the room for free torques.

A function that takes torques keeps its error at the torques of declared motions beside accelerations that free torques
reach, which may be thousands of times as large: that costs bits. Formats tell; nothing is scheduled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from rbdgen.compiler.design import Design
from rbdgen.compiler.lowering import lower, trace
from rbdgen.devices.registry import target_device
from rbdgen.errors import ConfigError
from rbdgen.ir.fixed import FixedGraph
from rbdgen.layout.torques import BOTH, MOTION
from rbdgen.schedule.layout import SharingOptions, lay_out

SAMPLES = 8192
"""States that ranges are found at here: enough for a comparison."""


def narrower_ranges(
    design: Design, progress: Callable[[str], None] = lambda stage: None
) -> dict[str, Any] | None:
    """The cost of a design's formats beside those for motions only (``--ranges motion``), as a report has it; None
    where it has no such choice, or nothing was searched for."""
    options = design.options
    takes_torques = any(f.takes_torques for f in design.network.options.records)
    if options.ranges != BOTH or not options.targets or not takes_torques:
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
