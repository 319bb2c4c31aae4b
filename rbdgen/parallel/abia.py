"""Hybrid ABIA: forward dynamics by articulated bodies, its linear recurrences as scans.

Of the articulated-body algorithm (Featherstone 2008, section 7.3) only the articulated inertias run along the chain in
a way that is not linear; these stay a sweep of n levels, one operation each. With them the bias forces and the
accelerations are block bi-diagonal systems with the transitions ψ_i = (1 − S_i D_i⁻¹ U_iᵀ) X_i, and become scans, as
velocities are (Yang, Wu & Pan, arXiv 1609.06779). Restricted to serial chains. No link needs a mass of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rbdgen.errors import SingularityError
from rbdgen.model.robot import Robot
from rbdgen.parallel.arguments import array, state
from rbdgen.parallel.chain import (
    Chain,
    pads,
    rounding,
    serial,
    times,
    transposed,
    velocities_and_forces,
)
from rbdgen.parallel.scan import (
    LinkMotion,
    Propagator,
    from_base,
    link_motion,
    motion_steps,
    propagator,
    scan_steps,
)
from rbdgen.parallel.steps import Steps, doubling, in_sequence, side_by_side, single


@dataclass(frozen=True, eq=False)
class ArticulatedBodies:
    """``inertias`` Iᴬ (n, *batch, 6, 6); ``gains`` U D⁻¹ (n, *batch, 6, s) with U = Iᴬ S; ``joint_inverses`` D⁻¹ =
    (SᵀU)⁻¹ (n, *batch, s, s); ``transfer``: products of the transitions ψ."""

    inertias: np.ndarray
    gains: np.ndarray
    joint_inverses: np.ndarray
    transfer: Propagator


def articulated_bodies(chain: Chain) -> ArticulatedBodies:
    """The inward sweep, link by link. SingularityError naming the joint whose D = SᵀIᴬS is not positive."""
    n, width = chain.links, chain.subspace.shape[-1]
    padding = pads(chain.free)
    shape = n, *chain.batch, 6, 6
    inertias = np.array(np.broadcast_to(chain.inertias, shape))
    gains = np.empty((n, *chain.batch, 6, width))
    inverses = np.empty((n, *chain.batch, width, width))
    for i in reversed(range(n)):
        subspace = chain.subspace[i]
        force = inertias[i] @ subspace
        inertia = transposed(subspace) @ force + padding[i]
        _check_inertia(chain, i, inertia, rounding(inertias[i]))
        inverses[i] = np.linalg.inv(inertia)
        gains[i] = force @ inverses[i]
        if i:
            x = chain.transforms[i]
            left = inertias[i] - gains[i] @ transposed(force)
            carried = transposed(x) @ left @ x
            inertias[i - 1] += 0.5 * (carried + transposed(carried))
    taken = transposed(gains) @ chain.transforms
    transitions = chain.transforms - chain.subspace @ taken
    return ArticulatedBodies(inertias, gains, inverses, propagator(transitions))


def _check_inertia(chain: Chain, i: int, inertia: np.ndarray, least: np.ndarray) -> None:
    """SingularityError where what joint ``i`` moves is no more than ``least``."""
    smallest = np.linalg.eigvalsh(inertia)[..., 0]
    fine = smallest > least
    if np.all(fine):
        return
    first = np.argwhere(~fine)[0]
    raise SingularityError(
        f"mass matrix: is not positive definite, joint {chain.robot.joint_names[i]!r} moves an articulated "
        f"inertia of {smallest[tuple(first)]:.3g}{state(first)}; check the inertias from its link on"
    )


def abia_forward_dynamics(
    robot: Robot, q: np.ndarray, v: np.ndarray, tau: np.ndarray, f_ext: np.ndarray | None = None
) -> np.ndarray:
    """Forward dynamics a = M⁻¹(τ − bias) by the hybrid articulated-body inertia algorithm. Serial chains only.

    ``q`` (..., nq), ``v`` and ``tau`` (..., nv), ``f_ext`` (..., links, 6): wrenches on the links, [force, moment] in
    and about the link's joint frame. SI units. Returns a (..., nv). UnsupportedError for a tree; ConfigError naming an
    argument of wrong shape or with values that are not finite; SingularityError for an M that is not positive definite.
    Source: Featherstone 2008, table 7.1; Yang, Wu & Pan, arXiv 1609.06779.
    """
    chain = serial(robot, q)
    rates, external = velocities_and_forces(chain, v, f_ext)
    tau = array("tau", tau, (robot.nv,), chain.batch)
    torques = chain.per_link(tau)
    transfer = propagator(chain.transforms)
    motion = link_motion(chain, transfer, rates, external)
    bodies = articulated_bodies(chain)
    forces = _articulated_forces(chain, bodies, motion, torques)
    felt = times(transposed(chain.subspace), forces)
    driven = times(bodies.joint_inverses, torques - felt)
    # a_i = ψ_i a_{i−1} + (1 − S D⁻¹Uᵀ) c + S D⁻¹ u
    c = motion.bias_accelerations
    gains = transposed(bodies.gains)
    own = driven - times(gains, c)
    start = from_base(chain, np.zeros((chain.links, *chain.batch, 6)))
    taken = times(gains[0], start[0])
    start[0] -= times(chain.subspace[0], taken)
    accelerations = bodies.transfer.outward(start + c + times(chain.subspace, own))
    base = np.broadcast_to(chain.base_acceleration, (1, *chain.batch, 6))
    before = np.concatenate([base, accelerations[:-1]])
    free = times(chain.transforms, before) + c
    return chain.generalised(driven - times(gains, free))


def _articulated_forces(
    chain: Chain, bodies: ArticulatedBodies, motion: LinkMotion, torques: np.ndarray
) -> np.ndarray:
    """pᴬ (n, *batch, 6) of the links.

    pᴬ_i = p_i + Xᵀ((1 − U D⁻¹Sᵀ)(pᴬ + Iᴬ c) + U D⁻¹ τ)_{i+1}, where (1 − U D⁻¹ Sᵀ) Iᴬ c = (Iᴬ − U D⁻¹ Uᵀ) c.
    """
    carried = times(bodies.inertias, motion.bias_accelerations)
    felt = times(transposed(chain.subspace), carried)
    carried = carried + times(bodies.gains, torques - felt)
    inward = transposed(chain.transforms[1:])
    arriving = times(inward, carried[1:])
    none = np.zeros_like(carried[:1])
    forces = motion.bias_forces + np.concatenate([arriving, none])
    return bodies.transfer.inward(forces)


def abia_steps(links: int) -> Steps:
    """Steps of :func:`abia_forward_dynamics`: n levels for the articulated inertias, beside which the velocities run,
    and 2 ⌈log₂ n⌉ for the scans after them."""
    backwards = reversed(range(links))
    inertias = [single(f"articulated inertia of link {i}", 1) for i in backwards]
    transitions = in_sequence(*inertias, single("transition", links))
    return in_sequence(
        single("placement", links),
        side_by_side(motion_steps(links), transitions),
        single("force of the link", links),
        scan_steps(links, "articulated force"),
        single("drive of the joint", links),
        doubling("acceleration", links),
        single("joint acceleration", links),
    )
