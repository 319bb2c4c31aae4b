"""CFA, the constraint-force algorithm: forward dynamics from the forces that the joints pass on.

Let a joint's interbody wrench be f_i = S'_i τ_i + W_i λ_i, S' dual to the motion subspace S and W its complement, and
let P f stack the net wrenches f_i − X_{i+1}ᵀ f_{i+1}. Then Pᵀ I⁻¹ (P f) = S q̈ for a chain at rest without gravity, and

    M⁻¹ = C − Bᵀ A⁻¹ B,  A = WᵀPᵀI⁻¹P W,  B = WᵀPᵀI⁻¹P S',  C = S'ᵀPᵀI⁻¹P S'.

A link sees only its two neighbours: A is block tri-diagonal (n blocks of at most 5 × 5), symmetric and positive
definite, and odd-even elimination solves it in ⌈log₂ n⌉ levels, so that all of forward dynamics takes O(log n) on n
processors. Source: Fijany, Sharf & D'Eleuterio, IEEE Trans. Robotics and Automation 11(3), 1995. Restricted to serial
chains whose links all have an invertible inertia.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rbdgen.model.robot import Robot
from rbdgen.parallel.arguments import array
from rbdgen.parallel.chain import Chain, pads, serial, transposed, velocities_and_forces
from rbdgen.parallel.odd_even import (
    BlockTridiagonal,
    OddEvenFactors,
    eliminate,
    elimination_steps,
    solution_steps,
)
from rbdgen.parallel.scan import LinkMotion, from_base, link_motion, motion_steps, propagator
from rbdgen.parallel.steps import Steps, in_sequence, side_by_side, single


def net_wrenches(chain: Chain, forces: np.ndarray) -> np.ndarray:
    """P f, (n, *batch, 6, k), of interbody wrenches ``forces`` (n, *batch, 6, k): what is left to move each link."""
    passed = transposed(chain.transforms[1:]) @ forces[1:]
    shape = 1, *passed.shape[1:]
    last = np.broadcast_to(forces[-1:], shape)
    return np.concatenate([forces[:-1] - passed, last])


def relative_motions(chain: Chain, accelerations: np.ndarray) -> np.ndarray:
    """Pᵀ a, (n, *batch, 6, k): what each link's acceleration adds to that of the link before it."""
    carried = chain.transforms[1:] @ accelerations[:-1]
    shape = 1, *carried.shape[1:]
    first = np.broadcast_to(accelerations[:1], shape)
    return np.concatenate([first, accelerations[1:] - carried])


def constraint_matrix(chain: Chain) -> BlockTridiagonal:
    """A: the constraints' mobility. SingularityError naming a link whose inertia has no inverse."""
    w = chain.complement
    inverse = chain.inverse_inertias
    width = w.shape[-1]
    own = transposed(w) @ inverse @ w
    own = own + chain.wide(pads(chain.constrained))
    inward = transposed(chain.transforms[1:]) @ w[1:]
    carried = inverse[:-1] @ inward
    shape = chain.links, *chain.batch, width, width
    diagonal = np.array(np.broadcast_to(own, shape))
    diagonal[1:] += transposed(inward) @ carried
    below = -transposed(carried) @ w[:-1]
    names = tuple(f"joint {name!r}" for name in chain.robot.joint_names)
    return BlockTridiagonal("constraint matrix A", names, diagonal, below)


REFINEMENTS = 1
"""How often what is left of a forbidden motion is settled again. A's mobilities of light links exceed those of M⁻¹ by
orders of magnitude, which costs as many digits (1e-10 was seen on two links); one round gets them back."""


@dataclass(frozen=True, eq=False)
class ConstraintForces:
    """A chain with its eliminated A: M⁻¹ as an operator."""

    chain: Chain
    factors: OddEvenFactors

    def settle(self, accelerations: np.ndarray, required: np.ndarray | None = None) -> np.ndarray:
        """The links' accelerations (n, *batch, 6, k) once the joints have their say, from those of unjoined links.

        ``required`` (n, *batch, 6, k; None: zero) is what a joint at rest adds to the acceleration of the link before
        it.
        """
        chain = self.chain
        w = chain.complement
        result = accelerations
        for _ in range(1 + REFINEMENTS):
            forbidden = relative_motions(chain, result)
            if required is not None:
                forbidden = forbidden - required
            needed = transposed(w) @ forbidden
            multipliers = self.factors.solve(needed)
            wrenches = net_wrenches(chain, w @ multipliers)
            result = result - chain.inverse_inertias @ wrenches
        return result

    def drive(self, columns: np.ndarray) -> np.ndarray:
        """Accelerations (n, *batch, 6, k) of unjoined links under generalised forces by link, (n, *batch, s, k)."""
        passed = self.chain.dual_subspace @ columns
        wrenches = net_wrenches(self.chain, passed)
        return self.chain.inverse_inertias @ wrenches

    def joint_accelerations(
        self, accelerations: np.ndarray, required: np.ndarray | None = None
    ) -> np.ndarray:
        """q̈ by link, (n, *batch, s, k), from the links' accelerations."""
        motions = relative_motions(self.chain, accelerations)
        if required is not None:
            motions = motions - required
        return transposed(self.chain.dual_subspace) @ motions

    def inverse_times(self, columns: np.ndarray) -> np.ndarray:
        """M⁻¹ times generalised forces by link, (n, *batch, s, k), never forming M⁻¹: (C − BᵀA⁻¹B) τ."""
        unjoined = self.drive(columns)
        return self.joint_accelerations(self.settle(unjoined))


def constraint_forces(chain: Chain) -> ConstraintForces:
    """A of the chain, eliminated. SingularityError naming the link or joint where that fails."""
    return ConstraintForces(chain, eliminate(constraint_matrix(chain)))


def cfa_inverse(robot: Robot, q: np.ndarray) -> np.ndarray:
    """M⁻¹ (..., nv, nv) at ``q`` (..., nq), all columns of C − BᵀA⁻¹B at once. Serial chains only.

    UnsupportedError for a tree; ConfigError for a ``q`` of wrong shape or not finite; SingularityError naming a link
    without mass or without a moment about some axis, or the joint where A is not positive definite.
    """
    chain = serial(robot, q)
    width = chain.free.shape[1]
    unit = np.zeros((chain.links, width, robot.nv))
    unit[chain.free] = np.eye(robot.nv)
    shape = chain.links, *chain.batch, *unit.shape[1:]
    columns = np.broadcast_to(chain.wide(unit), shape)
    inverse = constraint_forces(chain).inverse_times(columns)
    return chain.generalised(inverse)


@dataclass(frozen=True, eq=False)
class OpenChain:
    """A moving chain under its joints' forces: ``links`` accelerations (n, *batch, 6), gravity as the base's own, and
    ``joints`` q̈ by link (n, *batch, s)."""

    links: np.ndarray
    joints: np.ndarray


def open_chain(forces: ConstraintForces, motion: LinkMotion, torques: np.ndarray) -> OpenChain:
    """Forward dynamics with Coriolis forces, gravity and external wrenches taken per link, where they arise.

    Sending them through the joints first, as a bias of τ, is the same in exact arithmetic, but adds large numbers along
    the chain that cancel later.
    """
    chain = forces.chain
    required = from_base(chain, motion.bias_accelerations)
    required = required[..., None]
    driven = forces.drive(torques[..., None])
    biased = chain.inverse_inertias @ motion.bias_forces[..., None]
    unjoined = driven - biased
    accelerations = forces.settle(unjoined, required)
    joints = forces.joint_accelerations(accelerations, required)
    return OpenChain(accelerations[..., 0], joints[..., 0])


def cfa_forward_dynamics(
    robot: Robot, q: np.ndarray, v: np.ndarray, tau: np.ndarray, f_ext: np.ndarray | None = None
) -> np.ndarray:
    """Forward dynamics a = M⁻¹(τ − bias) by the constraint-force algorithm. Serial chains only.

    Arguments and result as :func:`rbdgen.parallel.jsiia_forward_dynamics`. UnsupportedError for a tree; ConfigError
    naming an argument of wrong shape or with values that are not finite; SingularityError naming a link without mass or
    without a moment about some axis, or the joint where A is not positive definite.
    """
    chain = serial(robot, q)
    rates, external = velocities_and_forces(chain, v, f_ext)
    tau = array("tau", tau, (robot.nv,), chain.batch)
    torques = chain.per_link(tau)
    transfer = propagator(chain.transforms)
    motion = link_motion(chain, transfer, rates, external)
    opened = open_chain(constraint_forces(chain), motion, torques)
    return chain.generalised(opened.joints)


def settling_steps(links: int) -> Steps:
    """Steps of :meth:`ConstraintForces.settle`, refinements included."""
    once = in_sequence(
        single("forbidden motion", links),
        solution_steps(links),
        single("settled acceleration", links),
    )
    return in_sequence(*[once] * (1 + REFINEMENTS))


def elimination_of_a_steps(links: int) -> Steps:
    """Steps of :func:`constraint_forces`."""
    return in_sequence(single("block row of A", links), elimination_steps(links))


def cfa_steps(links: int) -> Steps:
    """Steps of :func:`cfa_forward_dynamics`, 4 ⌈log₂ n⌉ + 10 levels for n > 1; A is eliminated beside the
    velocities."""
    drive = in_sequence(motion_steps(links), single("unjoined acceleration", links))
    return in_sequence(
        single("placement", links),
        side_by_side(elimination_of_a_steps(links), drive),
        settling_steps(links),
        single("joint acceleration", links),
    )
