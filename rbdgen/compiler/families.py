"""The multiplications of every choice of algorithms, side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from rbdgen.compiler.lowering import lower, trace
from rbdgen.compiler.stages import plainly
from rbdgen.functions.algorithms import DERIVATIVES, MASS_MATRICES
from rbdgen.functions.record import Need
from rbdgen.model.ranges import declared_ranges
from rbdgen.model.robot import Robot
from rbdgen.options import Options

FAMILY_SAMPLES, FAMILY_WORD = 1024, 27
"""States by which ranges are found where algorithms are only compared, and the word length where only an error was
asked for."""


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
    options = plainly(options)
    if options.word is None:
        options = replace(options, error={}, formats="signal", word=FAMILY_WORD)
    needs = frozenset[Need]().union(*(f.all_needs for f in options.records))
    gradient = Need.GRADIENT in needs
    inverts = bool({Need.INVERSE, Need.ACCELERATION} & needs)
    ranges = declared_ranges(robot, options.limits)
    result = []
    for derivative in DERIVATIVES if gradient else (options.derivative,):
        for mass_matrix in MASS_MATRICES if inverts else (options.mass_matrix,):
            progress(f"count multiplications of {derivative}, {mass_matrix}")
            choice = replace(options, derivative=derivative, mass_matrix=mass_matrix)
            lowered = lower(trace(robot, choice, ranges, FAMILY_SAMPLES), choice, ranges)
            counted = lowered.fixed.graph.multiplications()
            result.append(Family(derivative, mass_matrix, **counted))
    return tuple(result)
