"""What an impact does at contacts: ``impulse``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rbdgen.algo.contact import Held, held_dynamics
from rbdgen.algo.factorisation import dof_bodies
from rbdgen.algo.frames import LOCAL
from rbdgen.algo.rnea import joint_placements
from rbdgen.errors import ConfigError
from rbdgen.functions.contact_parts import (
    CLOSED,
    REFERENCES,
    Holding,
    Variant,
    check,
    checked_closed,
    holding_at,
    need_contacts,
    require_held,
    traced_holding,
)
from rbdgen.functions.quantities import Q, Quantity, V, vector_entries
from rbdgen.functions.record import Entries, Function, Need, TracedProgram
from rbdgen.model.robot import Robot
from rbdgen.numeric.batch import Entries as Evaluated
from rbdgen.numeric.batch import argument, choice, configuration, evaluate, not_negative
from rbdgen.spatial import Scalar, Vector, add, mul, sub

RESTITUTION = Quantity(
    "restitution",
    ("contacts",),
    "1",
    "share of a contact's speed with which it leaves again",
    limits=(0.0, 1.0),
)
AFTER = Quantity("v_after", ("nv",), "rad/s, m/s", "velocities after the impact")
IMPULSE = Quantity(
    "impulse", ("held_rows",), "N·s, N·m·s", "impulses of the contacts, then those of the loops"
)


def _bounced(
    robot: Robot,
    at: Holding,
    v: Vector,
    closed: Vector,
    restitution: Vector,
) -> tuple[Entries, Entries]:
    """Velocities after the impact, and impulses."""
    found, rows = at.contacts, at.held()
    contacts = []
    for k, contact in enumerate(robot.contacts):
        speed = found.times(k, v)
        wanted: list[Scalar] = []
        with found.enter("Fa", contact.frame.body):
            turned = add(1.0, restitution[k])
            for axis in contact.axes:
                wanted.append(sub(0.0, mul(turned, speed[axis])))
        contacts.append(Held(closed[k], wanted))
    for loop in at.loops:
        speed = loop.speed(v)
        with found.enter("Fl", loop.loop.body):
            # what opened a loop does so no longer
            contacts.append(Held(1.0, [sub(0.0, speed[axis]) for axis in loop.loop.axes]))
    # an impulse changes velocities as a force makes accelerations, and no other force has the time to
    nothing = (0.0,) * robot.nv
    changes, pushes = held_dynamics(rows.space, rows.inward(contacts), nothing)
    after: list[Scalar] = []
    bodies = dof_bodies(robot)
    for dof, (before, change) in enumerate(zip(v, changes, strict=True)):
        with found.enter("Im", bodies[dof]):
            after.append(add(before, change))
    return vector_entries(tuple(after)), vector_entries(rows.outward(pushes, contacts))


def _text(
    robot: Robot, variant: Variant, q: Vector, v: Vector, closed: Vector, restitution: Vector
) -> Sequence[Evaluated]:
    at = holding_at(robot, variant, joint_placements(robot, q))
    return _bounced(robot, at, v, closed, restitution)


def impulse_dynamics(
    robot: Robot,
    q: np.ndarray,
    v: np.ndarray,
    closed: np.ndarray | None = None,
    restitution: np.ndarray | float = 0.0,
    *,
    reference: str = LOCAL,
    damping: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """What happens where contacts close at once: velocities after the impact, and the contacts' impulses.

    ``v`` (..., nv) before it; ``closed`` (..., contacts): 1 for those that are hit, 0 for others (default: all);
    ``restitution`` (..., contacts) or one number: of the speed along what a contact holds, the share with which it
    leaves again; 0: it stays. Returns v⁺ (..., nv) and impulses (..., rows) in ``reference``, as Pinocchio's
    ``impulseDynamics``; loops stay closed, and their impulses come behind. All else as
    :func:`rbdgen.golden.constrained_forward_dynamics`; friction and rotors' inertia as there. ConfigError for a
    restitution outside 0 to 1."""
    need_contacts(robot)
    choice("reference", reference, REFERENCES)
    variant = reference, not_negative("damping", damping), 0.0
    q = configuration(robot, q)
    batch = q.shape[:-1]
    v = argument("v", v, (robot.nv,), batch)
    mask = checked_closed(robot, closed, batch)
    share = np.asarray(restitution)
    if share.ndim == 0:
        share = np.broadcast_to(share, mask.shape)
    share = argument("restitution", share, mask.shape[-1:], batch)
    if np.any((share < 0) | (share > 1)):
        raise ConfigError("restitution: must be 0 to 1 for each contact")
    require_held(robot, q, mask, variant)
    shapes = [(robot.nv,), IMPULSE.size(robot)]
    after, impulses = evaluate(_text, robot, variant, shapes, batch, (q, v, mask, share))
    return after, impulses


def _traced(trace: TracedProgram) -> Mapping[str, Entries]:
    given = [trace.operand(quantity.name) for quantity in (V, CLOSED, RESTITUTION)]
    after, impulses = _bounced(trace.robot, traced_holding(trace, trace.robot), *given)
    return {AFTER.name: after, IMPULSE.name: impulses}


RECORDS = (
    Function(
        name="impulse",
        code=49,
        summary="velocities after an impact at contacts, and its impulses",
        operands=(Q, V, CLOSED, RESTITUTION),
        results=(AFTER, IMPULSE),
        needs=frozenset({Need.FACTORS}),
        trace=_traced,
        golden=impulse_dynamics,
        forced=False,
        based=False,
        check=check,
        uses=frozenset({"reference", "constraint_damping", "operational_space"}),
        closes=True,
    ),
)
