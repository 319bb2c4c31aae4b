"""Networks on engines, as these tests take them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from rbdgen import load_robot
from rbdgen.compiler.lowering import trace
from rbdgen.compiler.stages import with_defaults
from rbdgen.functions.registry import common
from rbdgen.machines.engine.core import Core
from rbdgen.machines.engine.mapping import Mapped, map_network
from rbdgen.model.ranges import declared_ranges
from rbdgen.model.robot import Robot
from rbdgen.options import Options
from rbdgen.tracing.execute import BitTrueModel
from rbdgen.tracing.network import PREFIX

CORE = Core()
"""Four lanes, two banks."""
STATES = 1024
"""States at which ranges are found."""
SEED = 7


@lru_cache
def mapped(
    name: str, functions: tuple[str, ...] = common(), core: Core = CORE, base: str = "fixed"
) -> Mapped:
    """Functions of a built-in robot on a core."""
    return mapped_robot(load_robot(name, base=base), functions, core)


def mapped_robot(robot: Robot, functions: tuple[str, ...], core: Core) -> Mapped:
    """Functions of a robot on a core."""
    options = with_defaults(Options(functions=functions, ii=100, programs="one"))
    traced = trace(robot, options, declared_ranges(robot, options.limits), STATES)
    return map_network(traced.network, traced.samples, core)


def raw_operands(own: Mapped, function: str, count: int) -> list[np.ndarray]:
    """Raw operands of ``count`` tasks, anywhere in their declared ranges."""
    random = np.random.default_rng(SEED)
    model = BitTrueModel(own.network, own.fixed)
    prefix = PREFIX[own.network.entry(function)]
    found = []
    for word in own.network.operand_words(function):
        fmt = model.format(prefix + word.name)
        found.append(fmt.quantise(random.uniform(word.lower, word.upper, count)))
    return found
