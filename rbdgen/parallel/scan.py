"""Block bi-diagonal systems by parallel prefix (scan): velocities, accelerations, forces, composite inertias.

What runs along a chain is a first-order linear recurrence x_i = T_i x_{i−1} + b_i, a block bi-diagonal system. The
pairs (T, b) compose associatively, so that an inclusive scan solves it in ⌈log₂ n⌉ levels (Hillis & Steele 1986; for
robot dynamics Yang, Wu & Pan, arXiv 1609.04493). Here the products of T, which depend on q only, are formed once, and
serve recurrences outward, recurrences inward (by transposes) and the congruence recurrence of composite inertias alike.

All of it is restricted to serial chains.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rbdgen.model.robot import Robot
from rbdgen.parallel.arguments import array
from rbdgen.parallel.chain import (
    Chain,
    force_cross,
    motion_cross,
    serial,
    times,
    transposed,
    velocities_and_forces,
)
from rbdgen.parallel.steps import Steps, doubling, in_sequence, side_by_side, single


@dataclass(frozen=True, eq=False)
class Propagator:
    """Products of neighbouring transitions over distances 1, 2, 4, …

    ``products[k]`` (n − 2ᵏ, *batch, m, m): element j takes x from link j to link j + 2ᵏ. ``links`` is n.
    """

    links: int
    products: tuple[np.ndarray, ...]

    def outward(self, b: np.ndarray) -> np.ndarray:
        """x_i = T_i x_{i−1} + b_i for every i, x before the first link being zero; b and x (n, *batch, m)."""
        x = b
        for step, product in zip(doubling("outward", self.links), self.products, strict=True):
            s = step.stride
            arriving = times(product, x[:-s])
            x = np.concatenate([x[:s], x[s:] + arriving])
        return x

    def inward(self, b: np.ndarray) -> np.ndarray:
        """x_i = T_{i+1}ᵀ x_{i+1} + b_i for every i, x after the last link being zero; b and x (n, *batch, m)."""
        x = b
        for step, product in zip(doubling("inward", self.links), self.products, strict=True):
            s = step.stride
            arriving = times(transposed(product), x[s:])
            x = np.concatenate([x[:-s] + arriving, x[-s:]])
        return x

    def inward_congruence(self, b: np.ndarray) -> np.ndarray:
        """X_i = T_{i+1}ᵀ X_{i+1} T_{i+1} + B_i for every i; B and X (n, *batch, m, m)."""
        x = b
        for step, product in zip(doubling("congruence", self.links), self.products, strict=True):
            s = step.stride
            arriving = transposed(product) @ x[s:] @ product
            x = np.concatenate([x[:-s] + arriving, x[-s:]])
        return x


def propagator(transitions: np.ndarray) -> Propagator:
    """The products of ``transitions`` T (n, *batch, m, m); the first link's is not used."""
    links = len(transitions)
    products: list[np.ndarray] = []
    for step in doubling("products", links):
        if not products:
            products.append(transitions[1:])
        else:
            half = step.stride // 2
            previous = products[-1]
            products.append(previous[half:] @ previous[:-half])
    return Propagator(links, tuple(products))


def scan_steps(links: int, name: str = "scan") -> Steps:
    """One recurrence over ``links`` links: ⌈log₂ links⌉ levels, the products for the next level beside each."""
    products = [step for step in doubling(f"{name}: products", links) if 2 * step.stride < links]
    return side_by_side(doubling(name, links), products)


@dataclass(frozen=True, eq=False)
class LinkMotion:
    """``velocities``, ``bias_accelerations`` c (of the joint's own velocity) and ``bias_forces`` p = v ×* I v − f_ext
    of the links, each (n, *batch, 6)."""

    velocities: np.ndarray
    bias_accelerations: np.ndarray
    bias_forces: np.ndarray


def link_motion(
    chain: Chain, transfer: Propagator, rates: np.ndarray, external: np.ndarray | None
) -> LinkMotion:
    """What the links' velocities do, from the joints' ``rates`` (n, *batch, s): one scan and one step per link."""
    own = times(chain.subspace, rates)
    velocities = transfer.outward(own)
    momenta = times(chain.inertias, velocities)
    forces = force_cross(velocities, momenta)
    if external is not None:
        forces = forces - external
    return LinkMotion(velocities, motion_cross(velocities, own), forces)


def from_base(chain: Chain, b: np.ndarray) -> np.ndarray:
    """``b`` with the base's acceleration (gravity) let into the first link."""
    first = b[:1] + times(chain.transforms[:1], chain.base_acceleration)
    first = np.broadcast_to(first, (1, *b.shape[1:]))
    return np.concatenate([first, b[1:]])


def joint_forces(
    chain: Chain,
    transfer: Propagator,
    motion: LinkMotion,
    own_accelerations: np.ndarray | None = None,
) -> np.ndarray:
    """τ by link (n, *batch, s) for the joints' ``own_accelerations`` S q̈ (n, *batch, 6; None: zero): two scans."""
    b = motion.bias_accelerations
    if own_accelerations is not None:
        b = b + own_accelerations
    accelerations = transfer.outward(from_base(chain, b))
    forces = times(chain.inertias, accelerations)
    forces = transfer.inward(forces + motion.bias_forces)
    return times(transposed(chain.subspace), forces)


def scan_inverse_dynamics(
    robot: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray, f_ext: np.ndarray | None = None
) -> np.ndarray:
    """Inverse dynamics τ by three scans: velocities and accelerations outward, forces inward. Serial chains only.

    ``q`` (..., nq), ``v`` and ``a`` (..., nv), ``f_ext`` (..., links, 6): wrenches on the links, [force, moment] in and
    about the link's joint frame. SI units. Returns τ (..., nv). UnsupportedError for a tree; ConfigError naming an
    argument of wrong shape or with values that are not finite. Source: Yang, Wu & Pan, arXiv 1609.04493.
    """
    chain = serial(robot, q)
    rates, external = velocities_and_forces(chain, v, f_ext)
    a = chain.per_link(array("a", a, (robot.nv,), chain.batch))
    transfer = propagator(chain.transforms)
    motion = link_motion(chain, transfer, rates, external)
    own = times(chain.subspace, a)
    return chain.generalised(joint_forces(chain, transfer, motion, own))


def motion_steps(links: int) -> Steps:
    """Steps of :func:`link_motion`: ⌈log₂ n⌉ + 2 levels."""
    return in_sequence(
        single("velocity of the joint", links),
        scan_steps(links, "velocity"),
        single("bias of the link", links),
    )


def joint_force_steps(links: int) -> Steps:
    """Steps of :func:`joint_forces`: 2 ⌈log₂ n⌉ + 2 levels. The products of the transitions are there already."""
    return in_sequence(
        doubling("acceleration", links),
        single("force of the link", links),
        doubling("force", links),
        single("projection on the joint", links),
    )


def scan_inverse_dynamics_steps(links: int) -> Steps:
    """Steps of :func:`scan_inverse_dynamics`: 3 ⌈log₂ n⌉ + 5 levels."""
    return in_sequence(single("placement", links), motion_steps(links), joint_force_steps(links))


def composite_inertias(chain: Chain, transfer: Propagator) -> np.ndarray:
    """Each link's inertia with all that follows it, (n, *batch, 6, 6): one inward scan."""
    shape = chain.links, *chain.batch, 6, 6
    inertias = np.broadcast_to(chain.inertias, shape)
    return transfer.inward_congruence(inertias)
