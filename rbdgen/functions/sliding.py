"""Forward dynamics with contacts that slide or turn along free directions, where forces follow a law: ``scfd``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rbdgen.algo.contact import Held, Law, SlidingContacts, sliding_dynamics
from rbdgen.algo.frames import LOCAL
from rbdgen.algo.rnea import joint_placements
from rbdgen.errors import SingularityError, UnsupportedError
from rbdgen.functions import contact_parts
from rbdgen.functions.closing import loop_kinematics
from rbdgen.functions.contact_parts import (
    CLOSED,
    USES,
    WANTED,
    ContactArguments,
    Moving,
    Variant,
    checked_contacts,
    contact_kinematics,
    factored_space,
    held_axes,
    held_parts,
    inverse_inertia,
    moving,
    need_contacts,
    traced_moving,
)
from rbdgen.functions.operational_space import SMALLEST, mass_factors
from rbdgen.functions.quantities import TAU, Q, Quantity, V, vector_entries
from rbdgen.functions.record import Entries, Function, Need, Settings, TracedProgram
from rbdgen.model.robot import Robot
from rbdgen.numeric.batch import Entries as Evaluated
from rbdgen.numeric.batch import argument, evaluate
from rbdgen.spatial import Vector

SLOPE = Quantity(
    "slope",
    ("contact_slopes",),
    "1, m, 1/m",
    "force along each free direction by that along each held one, contact by contact",
    limits=(-1.0, 1.0),
)
OFFSET = Quantity(
    "offset",
    ("contact_free_rows",),
    "N, N·m",
    "force along each free direction beside that",
    limits=(-10.0, 10.0),
)
ACCELERATION = Quantity("sliding_a", ("nv",), "rad/s², m/s²", "accelerations with sliding contacts")
FORCE = Quantity(
    "sliding_force",
    ("held_rows",),
    "N, N·m",
    "forces of the contacts where they are held, then those of the loops",
)
LEAST_PIVOT = 0.25
"""States are made such that no pivot is below this share of what it is without slopes: far from where contacts jam."""
HALVINGS = 4
"""Number of times that slopes are halved for that, before they are none."""


def check(robot: Robot, settings: Settings) -> None:
    """UnsupportedError as of ``cfd``, and for contacts without free directions."""
    contact_parts.check(robot, settings)
    if not any(contact.free_axes for contact in robot.contacts):
        names = ", ".join(contact.frame.name for contact in robot.contacts)
        raise UnsupportedError(
            f"robot {robot.name!r}: its contacts {names} leave no direction free along which they could slide; give "
            "--contact FRAME:z, or use cfd"
        )


def laws_of(robot: Robot, slope: Vector, offset: Vector) -> list[Law]:
    """The contacts' laws, from all slopes and offsets."""
    # words come contact by contact, free axis by free axis
    slopes, offsets = iter(slope), iter(offset)
    found = []
    for contact in robot.contacts:
        rows = []
        given = []
        for _ in contact.free_axes:
            rows.append(tuple(next(slopes) for _ in contact.axes))
            given.append(next(offsets))
        found.append(Law(tuple(rows), tuple(given)))
    # loops let nothing slide
    return found + [Law((), ()) for _ in robot.loops]


def free_axes(robot: Robot) -> list[tuple[int, ...]]:
    """The axes along which each contact lets its frame move."""
    return [contact.free_axes for contact in robot.contacts]


def _text(
    robot: Robot,
    variant: Variant,
    q: Vector,
    v: Vector,
    tau: Vector,
    closed: Vector,
    wanted: Vector,
    f: Vector | None,
    slope: Vector,
    offset: Vector,
) -> Sequence[Evaluated]:
    now = moving(robot, variant, q, v, tau, f)
    return _slid(robot, variant[-1], now, v, closed, wanted, slope, offset)


def _slid(
    robot: Robot,
    rate: float,
    now: Moving,
    v: Vector,
    closed: Vector,
    wanted: Vector,
    slope: Vector,
    offset: Vector,
) -> Sequence[Entries]:
    """Accelerations and forces."""
    space = now.at.space(held_axes(robot), free_axes(robot))
    held = held_parts(robot, now, v, closed, wanted, rate)
    sliding = SlidingContacts(space, held, laws_of(robot, slope, offset))
    accelerations, forces = sliding_dynamics(sliding, now.rest)
    return vector_entries(accelerations), vector_entries(forces)


def _response_text(
    robot: Robot, variant: Variant, q: Vector, closed: Vector, slope: Vector
) -> Sequence[Evaluated]:
    joints = joint_placements(robot, q)
    found = contact_kinematics(robot, joints, variant[0])
    axes = held_axes(robot), free_axes(robot)
    loops = loop_kinematics(robot, joints)
    space = factored_space(found, loops, *mass_factors(robot, joints), variant[1], *axes)
    held = []
    offset: Vector = ()
    for one, contact in zip(closed, robot.contacts, strict=True):
        # only the matrix is asked for: what contacts want has no part in it
        held.append(Held(one, (0.0,) * contact.rows))
        offset += (0.0,) * len(contact.free_axes)
    held += [Held(1.0, (0.0,) * loop.rows) for loop in robot.loops]
    return (SlidingContacts(space, held, laws_of(robot, slope, offset)).response,)


def _least_pivots(
    robot: Robot, q: np.ndarray, closed: np.ndarray, slope: np.ndarray, variant: Variant
) -> np.ndarray:
    """The least of the pivots of what the contacts' forces and those that follow do (...), each relative to what it is
    without slopes."""
    (rows,) = FORCE.size(robot)
    operands = q, closed, slope
    response = evaluate(_response_text, robot, variant, [(rows, rows)], q.shape[:-1], operands)[0]
    # pivots without slopes: those of a positive definite matrix
    alone = inverse_inertia(robot, q, closed, variant)
    least = np.full(q.shape[:-1], np.inf)
    before = np.ones(q.shape[:-1])
    for k in reversed(range(rows)):
        # by trailing minors: pivots are their quotients
        both = np.linalg.det(response[..., k:, k:]) / np.linalg.det(alone[..., k:, k:])
        least = np.minimum(least, both / before)
        # a minor that is not positive was counted; the next quotient must not hide it
        before = np.where(both > 0, both, 1.0)
    return least


def bounded(
    robot: Robot, settings: Settings, q: np.ndarray, others: Mapping[str, np.ndarray]
) -> Mapping[str, np.ndarray]:
    """Slopes that are halved, or none, at states near which contacts jam."""
    slope = others[SLOPE.name].copy()
    variant = settings.reference, settings.constraint_damping, 0.0
    for number in range(HALVINGS + 1):
        jammed = _least_pivots(robot, q, others[CLOSED.name], slope, variant) < LEAST_PIVOT
        if not jammed.any():
            break
        # only where it jams: ranges keep the strength that users declared
        slope[jammed] *= 0.0 if number == HALVINGS else 0.5
    return {**others, SLOPE.name: slope}


def sliding_forward_dynamics(
    robot: Robot,
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
    closed: np.ndarray | None = None,
    wanted: np.ndarray | None = None,
    slope: np.ndarray | None = None,
    offset: np.ndarray | None = None,
    f_ext: np.ndarray | None = None,
    *,
    reference: str = LOCAL,
    damping: float = 0.0,
    rate: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Forward dynamics with contacts along whose free directions forces act: φ times those that hold them, plus d.

    Contacts are held along their axes as :func:`rbdgen.golden.constrained_forward_dynamics` holds them. Free are, of a
    contact with linear axes only, the other linear ones, else all others. ``slope`` φ (..., slopes): contact by
    contact, for each free axis an entry for each held one; ``offset`` d (..., free rows); default: none. With no slope,
    d is a known force. Friction of what slides along −x at a contact ``z`` has the slopes μ and 0.

    Returns a (..., nv) and the forces along the held axes (..., rows). SingularityError where a slope is so large that
    its contact jams, or nearly. All else as there. Source: :mod:`rbdgen.algo.contact`."""
    variant = reference, damping, rate
    given, laws = checked_sliding(robot, variant, q, v, tau, closed, wanted, f_ext, slope, offset)
    shapes = [(robot.nv,), FORCE.size(robot)]
    operands = *given.operands, *laws
    accelerations, found = evaluate(_text, robot, given.variant, shapes, given.batch, operands)
    return accelerations, found


def checked_sliding(
    robot: Robot,
    variant: Variant,
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
    closed: np.ndarray | None,
    wanted: np.ndarray | None,
    f_ext: np.ndarray | None,
    slope: np.ndarray | None,
    offset: np.ndarray | None,
) -> tuple[ContactArguments, list[np.ndarray]]:
    """The arguments, and slopes and offsets, with errors as of :func:`sliding_forward_dynamics`."""
    need_contacts(robot)
    given = checked_contacts(robot, variant, q, v, tau, closed, wanted, f_ext)
    laws = []
    for name, quantity, x in (("slope", SLOPE, slope), ("offset", OFFSET, offset)):
        size = quantity.size(robot)
        value = np.zeros((*given.batch, *size)) if x is None else x
        laws.append(argument(name, value, size, given.batch))
    # before the solution, which would be wrong without a sign of it
    pivots = _least_pivots(robot, given.q, given.closed, laws[0], given.variant)
    _require_sliding(robot, pivots)
    return given, laws


def _require_sliding(robot: Robot, pivots: np.ndarray) -> None:
    """SingularityError naming the first state at which a contact jams."""
    jammed = pivots <= SMALLEST
    if np.any(jammed):
        state = np.argwhere(jammed)[0]
        at = f" at state {', '.join(map(str, state))}" if pivots.ndim else ""
        raise SingularityError(
            f"slope: jams a contact of robot {robot.name!r}{at}: the force that holds it, with what follows, does not "
            "move it back; give smaller slopes, or a damping"
        )


def _traced(trace: TracedProgram) -> Mapping[str, Entries]:
    now = traced_moving(trace, trace.robot)
    given = [trace.operand(quantity.name) for quantity in (V, CLOSED, WANTED, SLOPE, OFFSET)]
    rate = trace.settings.contact_rate
    accelerations, forces = _slid(trace.robot, rate, now, *given)
    return {ACCELERATION.name: accelerations, FORCE.name: forces}


RECORDS = (
    Function(
        name="scfd",
        code=20,
        summary="forward dynamics with sliding contacts",
        operands=(Q, V, TAU, CLOSED, WANTED, SLOPE, OFFSET),
        results=(ACCELERATION, FORCE),
        needs=frozenset({Need.TORQUE, Need.FACTORS}),
        trace=_traced,
        golden=sliding_forward_dynamics,
        based=False,
        check=check,
        uses=USES,
        closes=True,
        bounded=bounded,
    ),
)
