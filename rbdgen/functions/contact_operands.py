"""What functions of contacts share: operands, and checks of robots, options and arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rbdgen.algo.factorisation import both_triangles
from rbdgen.algo.frames import ALIGNED, LOCAL
from rbdgen.algo.rnea import joint_placements
from rbdgen.errors import ConfigError, UnsupportedError
from rbdgen.functions.algorithms import chosen
from rbdgen.functions.contact_motion import (
    Variant,
    contact_kinematics,
    factored_space,
    held_axes,
)
from rbdgen.functions.frames import check_still
from rbdgen.functions.mass_matrix import crba
from rbdgen.functions.operands import checked_forces
from rbdgen.functions.operational_space import (
    TRIED,
    is_singular,
    mass_factors,
    require_regular,
)
from rbdgen.functions.quantities import Quantity
from rbdgen.functions.record import Settings
from rbdgen.model.ranges import declared_ranges, random_states
from rbdgen.model.robot import Robot
from rbdgen.numeric.arguments import (
    argument,
    choice,
    configuration,
    not_negative,
    require_positive_definite,
)
from rbdgen.numeric.batch import Entries as Evaluated
from rbdgen.numeric.batch import evaluate
from rbdgen.spatial import Vector

CLOSED = Quantity(
    "closed", ("contacts",), "1", "which contacts are closed: 1 or 0", limits=(0.0, 1.0), whole=True
)
WANTED = Quantity(
    "wanted",
    ("contact_rows",),
    "m/s², rad/s²",
    "accelerations that the contacts are held at: zero, or what corrects their places",
    limits=(-10.0, 10.0),
)
REFERENCES = (LOCAL, ALIGNED)
"""What contacts' motions and forces can be given in."""
USES = frozenset({"reference", "constraint_damping", "contact_rate", "operational_space"})


def check(robot: Robot, settings: Settings) -> None:
    """UnsupportedError for a robot without contacts, or with some that hinder each other at all states, and for options
    that do not go with them."""
    need_contacts(robot)
    frames = [contact.frame for contact in robot.contacts]
    chosen("operational_space", settings).text.check(robot, settings, "contact", frames)
    check_still(robot, settings)
    if settings.reference not in REFERENCES:
        raise UnsupportedError(
            f"reference {settings.reference}: contacts are held in one of {', '.join(REFERENCES)}; choose one"
        )
    q, _, _ = random_states(robot, declared_ranges(robot), TRIED, 1)
    variant = settings.reference, settings.constraint_damping, 0.0
    held = np.ones((TRIED, len(robot.contacts)))
    inverse = inverse_inertia(robot, q, held, variant)
    if np.all(is_singular(robot, held_axes(robot), inverse)):
        names = ", ".join(contact.frame.name for contact in robot.contacts)
        raise UnsupportedError(
            f"robot {robot.name!r}: its contacts {names} hold some motion twice, or one that the robot has not, when "
            "all are closed; give fewer, :3d instead of :6d, or --constraint-damping"
        )


def need_contacts(robot: Robot) -> None:
    """UnsupportedError for a robot without contacts."""
    if not robot.contacts:
        raise UnsupportedError(
            f"robot {robot.name!r}: has no contacts; give --contact FRAME:3d, or with_contacts(robot, [FRAME])"
        )


def _inverse_text(robot: Robot, variant: Variant, q: Vector) -> Sequence[Evaluated]:
    joints = joint_placements(robot, q)
    found = contact_kinematics(robot, joints, variant[0])
    space = factored_space(found, *mass_factors(robot, joints), variant[1], held_axes(robot))
    return (both_triangles(space.inverse),)


def inverse_inertia(
    robot: Robot, q: np.ndarray, closed: np.ndarray, variant: Variant
) -> np.ndarray:
    """Λ⁻¹ of the closed contacts (..., rows, rows), and 1 on the diagonal of the others."""
    counts = [contact.rows for contact in robot.contacts]
    rows = sum(counts)
    whole = evaluate(_inverse_text, robot, variant, [(rows, rows)], q.shape[:-1], (q,))[0]
    kept = np.repeat(closed, counts, axis=-1)
    masked = whole * kept[..., :, None] * kept[..., None, :]
    return masked + (1.0 - kept)[..., None] * np.eye(rows)


@dataclass(frozen=True, eq=False)
class ContactArguments:
    """Arguments of a function of contacts, checked; shapes as of :func:`constrained_forward_dynamics`."""

    variant: Variant
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    closed: np.ndarray
    wanted: np.ndarray
    f_ext: np.ndarray | None

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading shape."""
        return self.q.shape[:-1]

    @property
    def operands(self) -> tuple[np.ndarray | None, ...]:
        """All, in this order."""
        return self.q, self.v, self.tau, self.closed, self.wanted, self.f_ext


def checked_contacts(
    robot: Robot,
    variant: Variant,
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
    closed: np.ndarray | None,
    wanted: np.ndarray | None,
    f_ext: np.ndarray | None,
) -> ContactArguments:
    """The arguments, with errors as of :func:`constrained_forward_dynamics`."""
    need_contacts(robot)
    reference, damping, rate = variant
    choice("reference", reference, REFERENCES)
    variant = reference, not_negative("damping", damping), not_negative("rate", rate)
    q = configuration(robot, q)
    batch = q.shape[:-1]
    v, tau = (argument(name, x, (robot.nv,), batch) for name, x in (("v", v), ("tau", tau)))
    count = len(robot.contacts)
    rows = sum(contact.rows for contact in robot.contacts)
    mask = np.ones((*batch, count)) if closed is None else closed
    mask = argument("closed", mask, (count,), batch)
    if not np.all((mask == 0) | (mask == 1)):
        raise ConfigError("closed: must be 0 or 1 for each contact")
    held = np.zeros((*batch, rows)) if wanted is None else wanted
    held = argument("wanted", held, (rows,), batch)
    require_positive_definite(robot, crba(robot, q))
    inverse = inverse_inertia(robot, q, mask, variant)
    require_regular("contacts' inertia", robot, held_axes(robot), inverse)
    forces = checked_forces(robot, f_ext, batch)
    return ContactArguments(variant, q, v, tau, mask, held, forces)


def given_options(settings: Settings | None) -> dict[str, Any]:
    """The options of a design by the names of the golden functions' arguments."""
    if settings is None:
        return {}
    return {
        "reference": settings.reference,
        "damping": settings.constraint_damping,
        "rate": settings.contact_rate,
    }
