"""JSIIA: forward dynamics by forming the mass matrix in logarithmic depth and inverting it in parallel.

Composite inertias come from one inward scan. Column i of M is the wrench Iᶜ_i S_i as every joint before i feels it; the
wrenches are carried inward by doubling, so that all n(n+1)/2 entries are there after ⌈log₂ n⌉ levels. The inversion
sweeps one pivot after another, each over all entries at once (Gauss-Jordan; no pivoting, M being positive definite).
Source: Yang, Wu & Pan, arXiv 1609.06779, which names the algorithm; composite inertias: Featherstone 2008, section 6.2.
Restricted to serial chains.
"""

from __future__ import annotations

import numpy as np

from rbdgen.errors import SingularityError
from rbdgen.model.robot import Robot
from rbdgen.parallel.arguments import array, state
from rbdgen.parallel.chain import Chain, rounding, serial, times, transposed, velocities_and_forces
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
from rbdgen.parallel.steps import Step, Steps, doubling, in_sequence, side_by_side, single

REFINEMENTS = 1
"""How often the forces that are left over are turned into accelerations again. Inverting M costs as many digits as it
is ill-conditioned, about n³ for a chain; residuals by inverse dynamics get them back (1e-10 to 1e-12 at 256 links)."""


def _mass_matrix(chain: Chain, transfer: Propagator, to_invert: bool = False) -> np.ndarray:
    """M (*batch, nv, nv). ``to_invert``: SingularityError naming a joint that moves no inertia."""
    n, width = chain.links, chain.subspace.shape[-1]
    composites = composite_inertias(chain, transfer)
    wrenches = composites @ chain.subspace
    if to_invert:
        own = np.einsum("...ik,...ik->...k", chain.subspace, wrenches)
        fine = (own > rounding(composites)[..., None]) | ~chain.wide(chain.free)
        _positive(chain, np.all(fine, axis=-1), np.min(np.where(fine, np.inf, own), axis=-1))
    # felt[d, i]: the wrench of link i's columns as it arrives d links before it
    felt = np.zeros((n, n, *chain.batch, 6, width))
    felt[0] = wrenches
    for step, product in zip(doubling("carry", n), transfer.products, strict=True):
        s = step.stride
        distance, link = np.nonzero(np.arange(n) - np.arange(min(s, n - s))[:, None] >= s)
        felt[distance + s, link] = transposed(product[link - distance - s]) @ felt[distance, link]
    distance, link = np.nonzero(np.arange(n) >= np.arange(n)[:, None])
    entries = transposed(chain.subspace[link - distance]) @ felt[distance, link]
    blocks = np.zeros((n, n, *chain.batch, width, width))
    blocks[link - distance, link] = entries
    blocks[link, link - distance] = transposed(entries)
    rows = np.moveaxis(blocks, (0, 1), (-4, -2)).reshape(*chain.batch, n * width, n * width)
    free = chain.free.ravel()
    return rows[..., free, :][..., free]


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
    size = np.einsum("...ii->...i", matrix)
    scale = 1.0 / np.sqrt(size)
    work = scale[..., :, None] * matrix * scale[..., None, :]
    rows = matrix.shape[-1]
    owners = np.nonzero(chain.free)[0]
    for k in reversed(range(rows)):
        pivot = work[..., k, k]
        fine = pivot > rows * np.finfo(float).eps
        if not np.all(fine):
            where = np.full((chain.links, *chain.batch), True)
            where[owners[k]] = fine
            _positive(chain, where, np.broadcast_to(pivot * size[..., k], where.shape))
        row = work[..., k, :] / pivot[..., None]
        column = work[..., :, k].copy()
        work = work - column[..., :, None] * row[..., None, :]
        work[..., k, :] = row
        work[..., :, k] = column / pivot[..., None]
        work[..., k, k] = -1.0 / pivot
    work = -0.5 * (work + transposed(work))
    return scale[..., :, None] * work * scale[..., None, :]


def _positive(chain: Chain, fine: np.ndarray, pivots: np.ndarray) -> None:
    """SingularityError naming the first link's joint (n, *batch) that is not ``fine``, and its pivot of M."""
    if not np.all(fine):
        first = np.argwhere(~fine)[0]
        raise SingularityError(
            f"mass matrix: is not positive definite, pivot of joint {chain.robot.joint_names[first[0]]!r} is "
            f"{pivots[tuple(first)]:.3g}{state(first[1:])}; check the inertias from its link on"
        )


def jsiia_inverse(robot: Robot, q: np.ndarray) -> np.ndarray:
    """M⁻¹ (..., nv, nv) at ``q`` (..., nq). Serial chains only.

    UnsupportedError for a tree; ConfigError for a ``q`` of wrong shape or not finite; SingularityError for an M that is
    not positive definite.
    """
    chain = serial(robot, q)
    return _invert(chain, _mass_matrix(chain, propagator(chain.transforms), to_invert=True))


def jsiia_forward_dynamics(
    robot: Robot, q: np.ndarray, v: np.ndarray, tau: np.ndarray, f_ext: np.ndarray | None = None
) -> np.ndarray:
    """Forward dynamics a = M⁻¹(τ − bias) by the joint-space inertia inversion algorithm. Serial chains only.

    Arguments, result and errors as :func:`rbdgen.parallel.abia_forward_dynamics`.
    """
    chain = serial(robot, q)
    rates, external = velocities_and_forces(chain, v, f_ext)
    torques = array("tau", tau, (robot.nv,), chain.batch)
    transfer = propagator(chain.transforms)
    motion = link_motion(chain, transfer, rates, external)
    inverse = _invert(chain, _mass_matrix(chain, transfer, to_invert=True))
    accelerations = times(inverse, torques - chain.generalised(joint_forces(chain, transfer, motion)))
    for _ in range(REFINEMENTS):
        own = times(chain.subspace, chain.per_link(accelerations))
        left = torques - chain.generalised(joint_forces(chain, transfer, motion, own))
        accelerations = accelerations + times(inverse, left)
    return accelerations


def entry_steps(links: int) -> Steps:
    """From the placements to the entries of M: 2 ⌈log₂ n⌉ + 2 levels."""
    carry = tuple(
        Step(
            step.name,
            sum(min(step.stride, i - step.stride + 1) for i in range(step.stride, links)),
            step.level,
            step.stride,
        )
        for step in doubling("carry columns inward", links)
    )
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
    sweeps = in_sequence(*(single(f"sweep pivot {k}", links * links) for k in reversed(range(links))))
    product = single("row of the product with M⁻¹", links)
    bias = in_sequence(motion_steps(links), joint_force_steps(links))
    inverse = in_sequence(entry_steps(links), sweeps)
    again = in_sequence(joint_force_steps(links), product)
    return in_sequence(single("placement", links), side_by_side(bias, inverse), product, *[again] * REFINEMENTS)
