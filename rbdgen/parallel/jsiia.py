"""JSIIA: forward dynamics by forming the mass matrix in logarithmic depth and inverting it in parallel.

Composite inertias come from one inward scan. Column i of M is the wrench Iᶜ_i S_i as every joint before i feels it; the
wrenches are carried inward by doubling, so that all n(n+1)/2 entries are there after ⌈log₂ n⌉ levels. The inversion
sweeps one pivot after another, each over all entries at once (Gauss-Jordan; no pivoting, M being positive definite).
Source: Yang, Wu & Pan, arXiv 1609.06779, which names the algorithm; composite inertias: Featherstone 2008, section 6.2.
Restricted to serial chains.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rbdgen.errors import SingularityError
from rbdgen.model.robot import Robot
from rbdgen.parallel.arguments import array, state
from rbdgen.parallel.chain import (
    Chain,
    both_sides,
    diagonal,
    rounding,
    serial,
    times,
    transposed,
    velocities_and_forces,
)
from rbdgen.parallel.scan import (
    Propagator,
    composite_inertias,
    joint_force_steps,
    joint_forces,
    link_motion,
    motion_steps,
    propagator,
    scan_steps,
)
from rbdgen.parallel.steps import Steps, doubling, in_sequence, side_by_side, single

REFINEMENTS = 1
"""How often the forces that are left over are turned into accelerations again. Inverting M costs as many digits as it
is ill-conditioned, about n³ for a chain; residuals by inverse dynamics get them back (1e-10 to 1e-12 at 256 links)."""


def _mass_matrix(chain: Chain, transfer: Propagator, to_invert: bool = False) -> np.ndarray:
    """M (*batch, nv, nv). ``to_invert``: SingularityError naming a joint that moves no inertia."""
    composites = composite_inertias(chain, transfer)
    wrenches = composites @ chain.subspace
    if to_invert:
        own = np.einsum("...ik,...ik->...k", chain.subspace, wrenches)
        least = rounding(composites)[..., None]
        fine = (own > least) | ~chain.wide(chain.free)
        smallest = np.where(fine, np.inf, own)
        by_joint = np.min(smallest, axis=-1)
        _positive(chain, np.all(fine, axis=-1), by_joint)
    felt = _carried_inward(wrenches, transfer)
    n = chain.links
    width = chain.subspace.shape[-1]
    links = np.arange(n)
    distance, link = np.nonzero(links >= links[:, None])
    earlier = link - distance
    arrived = felt[distance, link]
    entries = transposed(chain.subspace[earlier]) @ arrived
    blocks = np.zeros((n, n, *chain.batch, width, width))
    blocks[earlier, link] = entries
    blocks[link, earlier] = transposed(entries)
    in_rows = np.moveaxis(blocks, (0, 1), (-4, -2))
    rows = in_rows.reshape(*chain.batch, n * width, n * width)
    free = chain.free.ravel()
    return rows[..., free, :][..., free]


def _carried_inward(wrenches: np.ndarray, transfer: Propagator) -> np.ndarray:
    """[d, i]: the wrench of link i's columns as it arrives d links before it, by doubling d."""
    n = len(wrenches)
    links = np.arange(n)
    felt = np.zeros((n, *wrenches.shape))
    felt[0] = wrenches
    for step, product in zip(doubling("carry", n), transfer.products, strict=True):
        s = step.stride
        distances = np.arange(min(s, n - s))
        earlier = links - distances[:, None]
        distance, link = np.nonzero(earlier >= s)
        passed = transposed(product[link - distance - s])
        arrived = felt[distance, link]
        felt[distance + s, link] = passed @ arrived
    return felt


def scan_mass_matrix(robot: Robot, q: np.ndarray) -> np.ndarray:
    """The mass matrix M (..., nv, nv) at ``q`` (..., nq), by scan and doubling. Serial chains only.

    UnsupportedError for a tree; ConfigError for a ``q`` of wrong shape or not finite.
    """
    chain = serial(robot, q)
    return _mass_matrix(chain, propagator(chain.transforms))


def _invert(chain: Chain, matrix: np.ndarray) -> np.ndarray:
    """Inverse of M (*batch, nv, nv), whose diagonal is positive, by nv sweeps.

    Rows and columns are scaled to a unit diagonal first. SingularityError naming the joint whose pivot is not positive.
    """
    size = diagonal(matrix)
    scale = 1.0 / np.sqrt(size)
    work = both_sides(scale, matrix)
    rows = matrix.shape[-1]
    owners = np.nonzero(chain.free)[0]
    for k in reversed(range(rows)):
        pivot = work[..., k, k]
        fine = pivot > rows * np.finfo(float).eps
        if not np.all(fine):
            where = np.full((chain.links, *chain.batch), True)
            where[owners[k]] = fine
            pivots = np.broadcast_to(pivot * size[..., k], where.shape)
            _positive(chain, where, pivots)
        divisor = pivot[..., None]
        row = work[..., k, :] / divisor
        column = work[..., :, k].copy()
        product = column[..., :, None] * row[..., None, :]
        work = work - product
        work[..., k, :] = row
        work[..., :, k] = column / divisor
        work[..., k, k] = -1.0 / pivot
    work = -0.5 * (work + transposed(work))
    return both_sides(scale, work)


def _positive(chain: Chain, fine: np.ndarray, pivots: np.ndarray) -> None:
    """SingularityError naming the first link's joint (n, *batch) that is not ``fine``, and its pivot of M."""
    if np.all(fine):
        return
    first = np.argwhere(~fine)[0]
    joint = chain.robot.joint_names[first[0]]
    raise SingularityError(
        f"mass matrix: is not positive definite, pivot of joint {joint!r} is "
        f"{pivots[tuple(first)]:.3g}{state(first[1:])}; check the inertias from its link on"
    )


def jsiia_inverse(robot: Robot, q: np.ndarray) -> np.ndarray:
    """M⁻¹ (..., nv, nv) at ``q`` (..., nq). Serial chains only.

    UnsupportedError for a tree; ConfigError for a ``q`` of wrong shape or not finite; SingularityError for an M that is
    not positive definite.
    """
    chain = serial(robot, q)
    transfer = propagator(chain.transforms)
    mass = _mass_matrix(chain, transfer, to_invert=True)
    return _invert(chain, mass)


def jsiia_forward_dynamics(
    robot: Robot, q: np.ndarray, v: np.ndarray, tau: np.ndarray, f_ext: np.ndarray | None = None
) -> np.ndarray:
    """Forward dynamics a = M⁻¹(τ − bias) by the joint-space inertia inversion algorithm. Serial chains only.

    ``q`` (..., nq), ``v`` and ``tau`` (..., nv), ``f_ext`` (..., links, 6): wrenches on the links, [force, moment] in
    and about the link's joint frame. SI units. Returns a (..., nv). UnsupportedError for a tree; ConfigError naming an
    argument of wrong shape or with values that are not finite; SingularityError for an M that is not positive definite.
    """
    chain = serial(robot, q)
    rates, external = velocities_and_forces(chain, v, f_ext)
    torques = array("tau", tau, (robot.nv,), chain.batch)
    transfer = propagator(chain.transforms)
    motion = link_motion(chain, transfer, rates, external)
    mass = _mass_matrix(chain, transfer, to_invert=True)
    inverse = _invert(chain, mass)
    bias = joint_forces(chain, transfer, motion)
    accelerations = times(inverse, torques - chain.generalised(bias))
    for _ in range(REFINEMENTS):
        own = times(chain.subspace, chain.per_link(accelerations))
        taken = joint_forces(chain, transfer, motion, own)
        left = torques - chain.generalised(taken)
        accelerations = accelerations + times(inverse, left)
    return accelerations


def entry_steps(links: int) -> Steps:
    """From the placements to the entries of M: 2 ⌈log₂ n⌉ + 2 levels."""
    carry = []
    for step in doubling("carry columns inward", links):
        s = step.stride
        wrenches = sum(min(s, i - s + 1) for i in range(s, links))
        carry.append(replace(step, operations=wrenches))
    return in_sequence(
        scan_steps(links, "composite inertia"),
        single("wrench of the column", links),
        carry,
        single("entry of M", links * (links + 1) // 2),
    )


def scan_mass_matrix_steps(links: int) -> Steps:
    """Steps of :func:`scan_mass_matrix`: 2 ⌈log₂ n⌉ + 3 levels."""
    return in_sequence(single("placement", links), entry_steps(links))


def jsiia_steps(links: int) -> Steps:
    """Steps of :func:`jsiia_forward_dynamics`: the bias beside M, n pivots, products with the inverse."""
    pivots = [single(f"sweep pivot {k}", links * links) for k in reversed(range(links))]
    sweeps = in_sequence(*pivots)
    product = single("row of the product with M⁻¹", links)
    bias = in_sequence(motion_steps(links), joint_force_steps(links))
    inverse = in_sequence(entry_steps(links), sweeps)
    again = in_sequence(joint_force_steps(links), product)
    return in_sequence(
        single("placement", links), side_by_side(bias, inverse), product, *[again] * REFINEMENTS
    )
