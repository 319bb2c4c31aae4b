"""The box of torques: how large each joint's torque may be, and torques anywhere inside it.

Functions that take torques have two ways into their states: motions inside the declared ranges, with the torques that
cause them, and torques inside their own limits, whatever motion they cause. The second is what a controller that uses
its motors fully asks for, and reaches accelerations that no range of motions declares.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from rbdgen.functions.quantities import States
from rbdgen.model.ranges import near_limits

BOTH, MOTION, TORQUE = "both", "motion", "torque"
RANGES = {
    BOTH: "half of the states by each way",
    MOTION: "motions in the declared ranges, and the torques that cause them",
    TORQUE: "torques up to the declared effort",
}
"""Where states of functions that take torques come from; the first is the default."""
SLOWED = 0.95
"""Share of the room for torques that motions get which would take more than the declared effort."""
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


def slowed(
    states: States, limits: Sequence[float], torques_of: Callable[[States], np.ndarray]
) -> States:
    """``states`` in which every second motion that takes more than the ``limits`` (nv) is slower, so that it doesn't:
    what a robot does with the torques that it has. Those whose weight alone takes more stay as they are.

    ``torques_of`` gives the torques (n, nv) of states' motions. Torques of motions are τ₀ + s² (τ − τ₀) where
    velocities are s and accelerations s² times as large, but for friction; what that leaves out is seen afterwards."""
    if not limits:
        return states
    most = np.array(limits)
    # of both ways the others get free torques afterwards (:func:`with_torques`)
    second = np.arange(len(states.q)) % 2 == 0
    chosen = second & np.any(np.abs(states.tau) > most, axis=1)
    if not chosen.any():
        return states
    zero = np.zeros_like(states.v)
    still = torques_of(replace(states, v=zero, a=zero))
    moving = states.tau - still
    with np.errstate(divide="ignore", invalid="ignore"):
        room = (np.copysign(most, moving) - still) / moving
    room = np.where(moving == 0, np.inf, room)
    share = SLOWED * np.min(room, axis=1)
    chosen &= (share > 0) & np.all(np.abs(still) < most, axis=1)
    share = np.where(chosen, np.minimum(share, 1.0), 1.0)[:, None]
    slower = replace(states, v=states.v * np.sqrt(share), a=states.a * share)
    tau = np.where(chosen[:, None], torques_of(slower), states.tau)
    return replace(slower, tau=tau)


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
    # torques that were cut at the limits would belong to no motion, and make its errors look small
    free |= np.any(np.abs(states.tau) > most, axis=1)
    tau = np.where(free[:, None], shares * most, states.tau)
    return replace(states, tau=tau, free=free)
