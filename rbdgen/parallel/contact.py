"""Forward dynamics of a single closed chain: a serial chain whose tip touches something that stands or moves as told.

The contact passes the wrench F = G_C K_C + G_F K_F on to the tip. Along the columns of G_C it keeps the tip from
moving, G_Cᵀ a_tip = given, and K_C is whatever that takes; along the columns of G_F it lets the tip move. With the open
chain's tip acceleration a_0 and the mobility Λ⁻¹ of :mod:`rbdgen.parallel.operational_space`

    type I, K_F given:            G_Cᵀ Λ⁻¹ G_C K_C = given − G_Cᵀ (a_0 + Λ⁻¹ G_F K_F)
    type II, K_F = φ K_C + d:     G_Cᵀ Λ⁻¹ (G_C + G_F φ) K_C = given − G_Cᵀ (a_0 + Λ⁻¹ G_F d)

and the joints' accelerations follow by superposition. Type II is sliding friction, where what acts along the free
directions follows the constraint force. (Contact model: Lilly & Orin, Int. J. Robotics Research 10(2), 1991; Fijany,
ICRA 1994, with Schur complements.) Restricted to serial chains whose links all have an invertible inertia.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rbdgen.errors import ConfigError, SingularityError
from rbdgen.model.body import Placement
from rbdgen.model.robot import Robot
from rbdgen.parallel.arguments import array, matrix, state
from rbdgen.parallel.cfa import elimination_of_a_steps, open_chain, settling_steps
from rbdgen.parallel.chain import (
    SWAP,
    both_sides,
    diagonal,
    placement_transform,
    serial,
    times,
    transposed,
    velocities_and_forces,
)
from rbdgen.parallel.operational_space import OperationalSpace
from rbdgen.parallel.scan import from_base, link_motion, motion_steps, propagator
from rbdgen.parallel.steps import Steps, in_sequence, side_by_side, single

SMALLEST_MOBILITY = 1e-10
"""Relative to the mobility of the last link alone: below this the tip counts as unable to move along a direction."""


@dataclass(frozen=True, eq=False)
class Contact:
    """Where and how the tip touches. Rows are [linear, angular] in the tip's frame.

    ``constrained`` G_C (..., 6, m): directions in which the contact takes any force and lets no motion through;
    ``free`` G_F (..., 6, k): directions in which it lets the tip move (None: not needed, no force acts there); ``tip``:
    placement in the last link's joint frame; ``acceleration`` (..., m): what G_Cᵀ a_tip must be (None: zero), a_tip
    being the spatial acceleration in the tip's frame. For a constant G_C that is the rate of G_Cᵀ v_tip, so that zero
    keeps a tip that does not move along G_C from starting to.
    """

    constrained: np.ndarray
    free: np.ndarray | None = None
    tip: Placement = field(default_factory=Placement)
    acceleration: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class ContactSolution:
    """``acceleration`` q̈ (..., nv); ``constraint_forces`` K_C (..., m); ``contact_force`` F (..., 6) on the tip and
    ``tip_acceleration`` (..., 6), spatial, both [linear, angular] in the tip's frame."""

    acceleration: np.ndarray
    constraint_forces: np.ndarray
    contact_force: np.ndarray
    tip_acceleration: np.ndarray


def contact_type_1(
    robot: Robot,
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
    contact: Contact,
    free_forces: np.ndarray | None = None,
    f_ext: np.ndarray | None = None,
) -> ContactSolution:
    """Forward dynamics in contact of type I: ``free_forces`` K_F (..., k) are given (None: zero). Serial chains only.

    ``q`` (..., nq), ``v`` and ``tau`` (..., nv), ``f_ext`` (..., links, 6): further wrenches on the links, [force,
    moment] in and about the link's joint frame. SI units. UnsupportedError for a tree; ConfigError naming an argument
    of wrong shape or with values that are not finite, or a G_C with dependent columns; SingularityError for a link
    without an invertible inertia, and at a kinematic singularity, where K_C is not determined.
    """
    return _solve(robot, q, v, tau, contact, None, free_forces, "free_forces", f_ext)


def contact_type_2(
    robot: Robot,
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
    contact: Contact,
    slope: np.ndarray,
    offset: np.ndarray | None = None,
    f_ext: np.ndarray | None = None,
) -> ContactSolution:
    """Forward dynamics in contact of type II: K_F = φ K_C + d, ``slope`` φ (..., k, m), ``offset`` d (..., k; None:
    zero).

    As :func:`contact_type_1` otherwise. SingularityError also where φ leaves K_C undetermined (the contact jams).
    """
    return _solve(robot, q, v, tau, contact, slope, offset, "offset", f_ext)


def _solve(
    robot: Robot,
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
    contact: Contact,
    slope: np.ndarray | None,
    offset: np.ndarray | None,
    offset_name: str,
    f_ext: np.ndarray | None,
) -> ContactSolution:
    chain = serial(robot, q)
    rates, external = velocities_and_forces(chain, v, f_ext)
    torques = chain.per_link(array("tau", tau, (robot.nv,), chain.batch))
    law = _law(contact, chain.batch, slope, offset, offset_name)
    transfer = propagator(chain.transforms)
    motion = link_motion(chain, transfer, rates, external)
    space = OperationalSpace(chain, placement_transform(contact.tip))
    opened = open_chain(space.forces, motion, torques)
    still = np.zeros((chain.links, *chain.batch, 6))
    falling = transfer.outward(from_base(chain, still))
    tip = space.tip_transform
    open_tip = times(tip, opened.links[-1] - falling[-1])
    # how links and tip answer to the contact's own wrench: per unit of K_C, and to d
    links = space.tip_response(law.wrenches)
    tips = tip @ links[-1]
    *_, m = law.held.shape
    stiff = transposed(law.held) @ tips[..., :m]
    _check_determined(stiff, law.held, space, slope is not None)
    missing = law.wanted - times(transposed(law.held), open_tip + tips[..., m])
    multipliers = _multipliers(stiff, missing, law.held, space.mobility)
    one = np.ones((*chain.batch, 1))
    weights = np.concatenate([multipliers, one], axis=-1)
    joints = space.forces.joint_accelerations(links)
    return ContactSolution(
        chain.generalised(opened.joints + times(joints, weights)),
        multipliers,
        times(law.wrenches, weights)[..., SWAP],
        (open_tip + times(tips, weights))[..., SWAP],
    )


@dataclass(frozen=True, eq=False)
class _Law:
    """A contact with its arrays checked, angular part first: ``held`` G_C (*batch, 6, m); ``wrenches`` (*batch, 6, m +
    1) on the tip, per unit of K_C and, last, that of d; ``wanted`` (*batch, m): what G_Cᵀ a_tip must be."""

    held: np.ndarray
    wrenches: np.ndarray
    wanted: np.ndarray


def _law(
    contact: Contact,
    batch: tuple[int, ...],
    slope: np.ndarray | None,
    offset: np.ndarray | None,
    offset_name: str,
) -> _Law:
    """K_F = slope K_C + offset for a contact. ConfigError naming what does not fit."""
    held = matrix("contact.constrained", contact.constrained, 6, batch)[..., SWAP, :]
    loose = np.zeros((*batch, 6, 0))
    if contact.free is not None:
        loose = matrix("contact.free", contact.free, 6, batch)[..., SWAP, :]
    elif slope is not None or offset is not None:
        name = offset_name if slope is None else "slope"
        raise ConfigError(
            f"{name}: acts along the free directions of the contact; give contact.free"
        )
    m = held.shape[-1]
    k = loose.shape[-1]
    phi = np.zeros((*batch, k, m))
    if slope is not None:
        phi = matrix("slope", slope, k, batch)
    if phi.shape[-1] != m:
        raise ConfigError(
            f"slope: must have {m} columns, one for each of contact.constrained, not {phi.shape[-1]}"
        )
    d = np.zeros((*batch, k))
    if offset is not None:
        d = array(offset_name, offset, (k,), batch)
    wanted = np.zeros((*batch, m))
    if contact.acceleration is not None:
        wanted = array("contact.acceleration", contact.acceleration, (m,), batch)
    driven = held + loose @ phi
    given = loose @ d[..., None]
    return _Law(held, np.concatenate([driven, given], axis=-1), wanted)


def _multipliers(
    stiff: np.ndarray, missing: np.ndarray, held: np.ndarray, mobility: np.ndarray
) -> np.ndarray:
    """K_C (*batch, m) for the ``missing`` acceleration, by equations of like size."""
    scale = 1.0 / np.sqrt(np.einsum("...im,ij,...jm->...m", held, mobility, held))
    wanted = (scale * missing)[..., None]
    solution = np.linalg.solve(both_sides(scale, stiff), wanted)
    return scale * solution[..., 0]


def _check_determined(
    stiff: np.ndarray, held: np.ndarray, space: OperationalSpace, sloped: bool
) -> None:
    """ConfigError or SingularityError unless ``stiff`` G_Cᵀ Λ⁻¹ (G_C + G_F φ) is invertible: judged in units of G_Cᵀ D
    G_C, which the last link has when it is alone."""
    if held.shape[-1] == 0:
        return
    alone = transposed(held) @ space.mobility @ held
    size = diagonal(alone)
    scale = 1.0 / np.sqrt(np.where(size > 0.0, size, 1.0))
    scaled = both_sides(scale, alone)
    smallest = np.linalg.eigvalsh(scaled)[..., 0]
    fine = (smallest > SMALLEST_MOBILITY) & np.all(size > 0.0, axis=-1)
    if not np.all(fine):
        where = state(np.argwhere(~fine)[0])
        raise ConfigError(
            f"contact.constrained: must have independent columns, are dependent{where}; drop some"
        )
    root = np.linalg.cholesky(scaled)
    judged = np.linalg.solve(root, both_sides(scale, stiff))
    judged = transposed(np.linalg.solve(root, transposed(judged)))
    smallest = np.linalg.svd(judged, compute_uv=False)[..., -1]
    fine = smallest > SMALLEST_MOBILITY
    if not np.all(fine):
        where = state(np.argwhere(~fine)[0])
        raise _undetermined(space.chain.robot.name, where, sloped)


def _undetermined(name: str, where: str, sloped: bool) -> SingularityError:
    if sloped:
        return SingularityError(
            f"contact of {name!r}: constraint forces are not determined{where}, the slope jams the contact "
            "or q is a kinematic singularity; change one of them"
        )
    return SingularityError(
        f"contact of {name!r}: constraint forces are not determined{where}, a kinematic singularity: the tip "
        "cannot be accelerated along every column of contact.constrained; move q off it or drop columns"
    )


def contact_steps(links: int) -> Steps:
    """Steps of either type of contact: the open chain and the answer to the contact's wrench at once, then K_C; 4 ⌈log₂
    n⌉ + 12 levels for n > 1."""
    drive = in_sequence(motion_steps(links), single("unjoined acceleration", links))
    return in_sequence(
        single("placement", links),
        side_by_side(elimination_of_a_steps(links), drive),
        settling_steps(links),
        single("acceleration of the tip", 1),
        single("constraint force", 1),
        single("joint acceleration", links),
    )
