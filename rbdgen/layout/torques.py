"""The box of torques: how large each joint's torque may be, and torques anywhere inside it.

Functions that take torques have two ways into their states: motions inside the declared ranges, with the torques that
cause them, and torques inside their own limits, whatever motion they cause. The second is what a controller that uses
its motors fully asks for, and reaches accelerations that no range of motions declares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rbdgen.functions.states import States
from rbdgen.model.ranges import near_limits

BOTH, MOTION, TORQUE = "both", "motion", "torque"
RANGES = {
    BOTH: "half of the states by each way",
    MOTION: "motions in the declared ranges, and the torques that cause them",
    TORQUE: "torques up to the declared effort",
}
"""Where states of functions that take torques come from; the first is the default."""
HEADROOM = 1.1
"""Over the largest sampled torques and entries of M⁻¹, for the declared range of operands that follow from others."""


def torque_limits(
    ranges: str, declared: Sequence[float | None], motion: np.ndarray
) -> tuple[float, ...]:
    """The largest torque of each degree of freedom (nv): the ``declared`` effort, or, where there is none or
    ``ranges`` are those of motions, what sampled motions take: ``motion`` (n, nv)."""
    limits = []
    for effort, taken in zip(declared, np.max(np.abs(motion), axis=0), strict=True):
        if ranges == MOTION or effort is None:
            effort = HEADROOM * float(taken)
        limits.append(effort)
    return tuple(limits)


def with_torques(
    states: States,
    limits: Sequence[float],
    ranges: str,
    seed: int,
    straining: int = 0,
) -> States:
    """``states`` with torques inside ``limits`` (nv). Those of motions stay as they are, where all are inside; others
    are free, uniform in the box, and of the last ``straining`` states near its ends. No limits: no function takes
    torques."""
    if ranges == MOTION or not limits:
        return states
    most = np.array(limits)
    count = len(states.q)
    rng = np.random.default_rng([seed, count])
    shares = rng.uniform(-1, 1, states.tau.shape)
    if straining:
        shares[-straining:] = near_limits(rng, straining, len(most))
    free = np.ones(count, bool)
    if ranges == BOTH:
        free = np.arange(count) % 2 == 1
    free |= np.any(np.abs(states.tau) > most, axis=1)
    tau = np.where(free[:, None], shares * most, states.tau)
    return replace(states, tau=tau, free=free)
