"""States at which programs are checked and timed: their operands as arrays, and what the golden model says there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rbdgen.functions.quantities import MINV, States
from rbdgen.golden import minverse, rnea
from rbdgen.layout.samples import bounded_others, random_base, random_forces, random_others
from rbdgen.layout.trace_options import TraceOptions
from rbdgen.model.ranges import declared_ranges, random_states
from rbdgen.model.robot import Robot
from rbdgen.software.program import Program

MOST_STEPS = 6
"""Of a roll-out."""


def program_states(
    robot: Robot, settings: TraceOptions, program: Program, count: int, seed: int = 0
) -> States:
    """Random states inside the robot's limits, with the torques of their motions."""
    own = replace(settings, functions=(program.function.name,))
    q, v, a = random_states(robot, declared_ranges(robot), count, seed)
    f_ext = random_forces(robot, own, count, seed)
    base = random_base(own, count, seed)
    steps = np.random.default_rng(seed).integers(0, MOST_STEPS + 1, (count, 1))
    others = bounded_others(robot, own, q, random_others(robot, own, count, seed))
    states = States(q, v, a, f_ext, np.zeros_like(v), None, base, steps=steps, others=others)
    takes_inverse = any(x.name == MINV.name for x in program.operands)
    inverse = minverse(robot, q) if takes_inverse else None
    tau = rnea(robot, q, v, a, f_ext, root=states.root)
    return replace(states, tau=tau, minv=inverse)


def operand_arrays(program: Program, states: States) -> list[np.ndarray]:
    """The operands, (count, …) each, in the program's order."""
    found = []
    for x in program.operands:
        own = states.others.get(x.name)
        found.append(getattr(states, x.name) if own is None else own)
    return found


def reference(
    robot: Robot, settings: TraceOptions, program: Program, states: States
) -> list[np.ndarray]:
    """The results of the golden model, (count, …) each, in the program's order."""
    own = replace(settings, functions=(program.function.name,))
    record = program.function
    values = record.evaluated(robot, states, own, None)
    found = dict(zip((x.name for x in record.results), values, strict=True))
    if record.extra and own.extra_of(record.name):
        found[record.extra.quantity.name] = record.extra.reference(robot, states)
    return [np.asarray(found[x.name]) for x in program.results]
