"""Common parts of functions of contacts and closed loops: motion, rows by which they are held, operands, and checks.

Rows are over factors of M, or at a chain's end. Loops are held as contacts are that are always closed; their rows come
behind those of the contacts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from rbdgen.algo.carried import SPATIAL, Carrier, bodies_of, body_damping, carriers
from rbdgen.algo.contact import Held
from rbdgen.algo.factorisation import Elimination, Factors, both_triangles, remaining_torques
from rbdgen.algo.following import Entries
from rbdgen.algo.frames import ALIGNED, LOCAL, Kinematics
from rbdgen.algo.loops import LoopKinematics
from rbdgen.algo.operational_space import ContactSpace, OperationalSpace, Row, even_damping, rows_of
from rbdgen.algo.rnea import Motion, inward_sweep, joint_placements, outward_sweep
from rbdgen.errors import ConfigError, UnsupportedError
from rbdgen.functions.algorithms import chosen
from rbdgen.functions.closing import closed_states, loop_kinematics
from rbdgen.functions.frames import check_still
from rbdgen.functions.mass_matrix import crba
from rbdgen.functions.operational_space import (
    TRIED,
    is_singular,
    mass_factors,
    require_regular,
)
from rbdgen.functions.quantities import Quantity, checked_forces, given_base, given_wrenches
from rbdgen.functions.record import Settings, TracedProgram
from rbdgen.model.joints import JointPlacement
from rbdgen.model.ranges import declared_ranges, random_states
from rbdgen.model.robot import Robot
from rbdgen.model.task_frames import said_axes
from rbdgen.numeric.batch import Entries as Evaluated
from rbdgen.numeric.batch import (
    argument,
    choice,
    configuration,
    evaluate,
    not_negative,
    require_positive_definite,
)
from rbdgen.spatial import Enter, Scalar, Vector, anywhere, mul, sub

Variant = tuple[str, float, float]
"""Reference, damping of the constraint, and rate at which velocities of contacts decay."""


def contact_kinematics(
    robot: Robot, joints: Sequence[Any], reference: str, enter: Enter = anywhere
) -> Kinematics:
    """Of the contacts' frames."""
    return Kinematics(robot, joints, [c.frame for c in robot.contacts], reference, enter)


def held_axes(robot: Robot) -> list[tuple[int, ...]]:
    """The axes along which each contact is held."""
    return [contact.axes for contact in robot.contacts]


def _all_axes(robot: Robot) -> list[tuple[int, ...]]:
    """The same, and those of each loop."""
    return [*held_axes(robot), *(loop.axes for loop in robot.loops)]


def held_parts(
    robot: Robot,
    now: Moving,
    v: Vector,
    closed: Vector,
    wanted: Vector,
    rate: float,
) -> list[Held]:
    """The accelerations at which contacts are held: ``wanted``, less what velocities do, less ``rate`` times the
    velocity; then those of loops, for which the gap is known and takes the place of what is wanted."""
    found = now.at.contacts
    held: list[Held] = []
    first = 0
    for k, contact in enumerate(robot.contacts):
        motion = now.motions[contact.frame.body]
        spatial, classical = found.acceleration(k, motion, v)
        # a point has a classical acceleration, a frame that does not turn a spatial one
        drift = classical if contact.is_point else spatial
        speed = found.times(k, v)
        asked: list[Scalar] = []
        with found.enter("Fa", contact.frame.body):
            for number, axis in enumerate(contact.axes, first):
                rest = sub(wanted[number], drift[axis])
                asked.append(sub(rest, mul(rate, speed[axis])))
        held.append(Held(closed[k], asked))
        first += contact.rows
    return held + [_held_loop(found, now, v, rate) for found in now.at.loops]


def _held_loop(found: LoopKinematics, now: Moving, v: Vector, rate: float) -> Held:
    """The accelerations at which a loop is held: with the rate r, the gap g obeys g̈ + r ġ + r² g / 4 = 0, which brings
    it back as fast as can be without a swing (Baumgarte 1972)."""
    speed = found.speed(v)
    drift = found.drift(now.motions, now.base, speed)
    stiffness = rate**2 / 4
    asked: list[Scalar] = []
    # nobody asks for gaps that nothing brings back
    gap = found.gap if stiffness else (0.0,) * found.loop.rows
    with found.enter("Fl", found.loop.body):
        for axis, apart in zip(found.loop.axes, gap, strict=True):
            rest = sub(sub(0.0, drift[axis]), mul(rate, speed[axis]))
            asked.append(sub(rest, mul(stiffness, apart)))
    return Held(1.0, asked)


Axes = Sequence[tuple[int, ...]]
"""By contact some axes of its frame."""


@dataclass(frozen=True)
class HeldRows:
    """The rows by which contacts and loops are held, a ``space``. By contact one of ``carriers`` where they are not its
    frame's but its body's, which that carries to the frame (:mod:`rbdgen.algo.carried`); loops have none."""

    space: ContactSpace
    carriers: Sequence[Carrier | None]
    enter: Enter

    def inward(self, held: Sequence[Held]) -> list[Held]:
        """The accelerations at which contacts are held, by these rows."""
        found = []
        for contact, carrier in zip(held, self.carriers, strict=True):
            wanted = contact.wanted
            if carrier:
                with self.enter("Fx", carrier.body):
                    wanted = carrier.body_motion(tuple(wanted))
            found.append(Held(contact.closed, wanted))
        return found

    def outward(self, forces: Sequence[Scalar], held: Sequence[Held]) -> Vector:
        """The contacts' forces from those on these rows."""
        left = iter(forces)
        found: list[Scalar] = []
        for contact, carrier in zip(held, self.carriers, strict=True):
            force = tuple(next(left) for _ in contact.wanted)
            if carrier:
                with self.enter("Fx", carrier.body):
                    force = carrier.force(force)
            found += force
        return tuple(found)


def factored_rows(
    robot: Robot,
    found: Kinematics,
    loops: Sequence[LoopKinematics],
    along: Elimination,
    factors: Factors,
    damping: float,
) -> HeldRows:
    """The rows by which the contacts of ``robot`` are held, whose frames' motions are ``found``, and its loops, over a
    mass matrix that is taken apart: a contact that holds a whole frame holds its body."""
    plain = iter(rows_of(found, held_axes(robot)))
    rows: list[Row] = []
    entries: Entries = {}
    carried: list[Carrier | None] = []
    for contact in robot.contacts:
        own = [next(plain) for _ in contact.axes]
        added = even_damping(len(own), damping)
        carrier = None
        # a whole frame is held as well as its body is, whose rows depend less on each other
        if contact.rows == SPATIAL:
            frames = [contact.frame]
            (carrier,) = carriers(robot, found.joints, frames, found.reference, found.enter)
            bodies = bodies_of(robot, found.joints, frames, found.enter)
            own = rows_of(bodies, [contact.axes])
            added = body_damping([carrier], damping, found.enter)
        for (i, j), x in added.items():
            entries[len(rows) + i, len(rows) + j] = x
        rows += own
        carried.append(carrier)
    for loop in loops:
        own = loop.rows
        for (i, j), x in even_damping(len(own), damping).items():
            entries[len(rows) + i, len(rows) + j] = x
        rows += own
        carried.append(None)
    space = OperationalSpace(along, factors, rows, entries, found.enter)
    return HeldRows(space, carried, found.enter)


@dataclass(frozen=True)
class Holding:
    """What may hold a robot at one configuration: how its contacts and loops move. ``space`` gives rows of all
    contacts, for one or several choices of axes one after the other, those of loops behind the first; ``held`` those by
    which they are held."""

    contacts: Kinematics
    loops: Sequence[LoopKinematics]
    space: Callable[..., ContactSpace]
    held: Callable[[], HeldRows]


@dataclass(frozen=True)
class Moving:
    """A robot with contacts and loops in motion: where these are (``at``), how its bodies and its base move, and what
    torques leave to accelerations (``rest``)."""

    at: Holding
    base: Motion
    motions: Sequence[Motion]
    rest: Sequence[Scalar]


Spaces = tuple[Callable[..., ContactSpace], Callable[[], HeldRows]]
"""``space`` and ``held`` of a :class:`Holding`."""


def factored_space(
    found: Kinematics,
    loops: Sequence[LoopKinematics],
    along: Elimination,
    factors: Factors,
    damping: float,
    *axes: Axes,
) -> ContactSpace:
    """Rows of contacts and loops over a mass matrix that is taken apart."""
    first, *others = axes
    rows = rows_of(found, first)
    for loop in loops:
        rows += loop.rows
    for own in others:
        rows += rows_of(found, own)
    return OperationalSpace(along, factors, rows, damping, found.enter)


def holding_at(robot: Robot, variant: Variant, joints: list[JointPlacement]) -> Holding:
    """The contacts and loops of ``robot``, its joints at ``joints``."""
    reference, damping, _ = variant
    found = contact_kinematics(robot, joints, reference)
    loops = loop_kinematics(robot, joints)
    given = found, loops, *mass_factors(robot, joints), damping
    return Holding(
        found, loops, partial(factored_space, *given), partial(factored_rows, robot, *given)
    )


def moving(
    robot: Robot, variant: Variant, q: Vector, v: Vector, tau: Vector, f: Vector | None
) -> Moving:
    """``robot`` at q, v and τ, with external forces, if any."""
    joints = joint_placements(robot, q)
    # without accelerations: what τ has beyond the torques of this accelerates the joints
    still = (0.0,) * robot.nv
    base = given_base(robot, None)
    motions, wrenches = outward_sweep(robot, joints, v, still, given_wrenches(f), base=base)
    effects, _ = inward_sweep(robot, joints, v, still, wrenches)
    rest = remaining_torques(robot, tau, effects)
    return Moving(holding_at(robot, variant, joints), base, motions, rest)


def traced_holding(trace: TracedProgram, robot: Robot) -> Holding:
    """The contacts and loops of ``robot``, traced."""
    reference, _, _ = traced_variant(trace)
    found = contact_kinematics(robot, trace.placements(), reference, trace.enter)
    loops = traced_loops(trace)
    text = chosen("operational_space", trace.settings).text
    return Holding(found, loops, *text.contacts(trace, robot, found, loops))


def traced_moving(trace: TracedProgram, robot: Robot) -> Moving:
    """The same in motion."""
    at = traced_holding(trace, robot)
    return Moving(at, trace.root_motion(), trace.motions(), trace.rest())


def traced_loops(trace: TracedProgram) -> list[LoopKinematics]:
    """The loops that all functions of a program share."""
    return trace.shared(
        "loops", lambda: loop_kinematics(trace.robot, trace.placements(), trace.enter)
    )


def traced_variant(trace: TracedProgram) -> Variant:
    """The options that contacts are traced with."""
    settings = trace.settings
    return settings.reference, settings.constraint_damping, settings.contact_rate


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
"""Directions in which contacts' motions and forces can be given."""
USES = frozenset({"reference", "constraint_damping", "contact_rate", "operational_space"})


def check(robot: Robot, settings: Settings) -> None:
    """UnsupportedError for a robot without contacts, or with some that hinder each other or its loops at all states,
    for loops that close nowhere, and for options that do not go with them."""
    need_contacts(robot)
    check_held(robot, settings)


def check_held(robot: Robot, settings: Settings) -> None:
    """The same, where there may be loops alone."""
    frames = [contact.frame for contact in robot.contacts]
    chosen("operational_space", settings).text.check(robot, settings, "contact", frames)
    check_still(robot, settings)
    if robot.contacts and settings.reference not in REFERENCES:
        raise UnsupportedError(
            f"reference {settings.reference}: contacts are held in one of {', '.join(REFERENCES)}; choose one"
        )
    # contacts may hinder each other at some states: only all of them make a design useless
    ranges = declared_ranges(robot)
    q, v, _ = random_states(robot, ranges, TRIED, 1)
    q, _ = closed_states(robot, ranges, q, v)
    # velocities, and what corrects them, have no part in inertia
    variant = settings.reference, settings.constraint_damping, 0.0
    held = np.ones((TRIED, len(robot.contacts)))
    inverse = inverse_inertia(robot, q, held, variant)
    if np.all(is_singular(robot, _all_axes(robot), inverse)):
        raise UnsupportedError(_twice(robot, inverse))


def _twice(robot: Robot, inverse: np.ndarray) -> str:
    """The message for a robot whose contacts and loops hinder each other, by some of their Λ⁻¹ (n, rows, rows)."""
    contacts = ", ".join(contact.frame.name for contact in robot.contacts)
    if not robot.loops:
        return (
            f"robot {robot.name!r}: its contacts {contacts} hold some motion twice, or one that the robot has not, "
            "when all are closed; give fewer, :3d instead of :6d, or --constraint-damping"
        )
    owners = f"loops {', '.join(loop.name for loop in robot.loops)}"
    if contacts:
        owners += f" and its contacts {contacts}"
    enough = _loops_that_hold_once(robot, inverse)
    remedy = f"give --loop {','.join(enough)}" if enough else "leave its loops out"
    return (
        f"robot {robot.name!r}: its {owners} hold some motion twice, or one that the robot has not; {remedy}, or "
        "--constraint-damping"
    )


def _loops_that_hold_once(robot: Robot, inverse: np.ndarray) -> list[str]:
    """The loops, as an option says them, with those axes alone that hold what nothing before them does."""
    kept: list[int] = []
    found = []
    row = sum(contact.rows for contact in robot.contacts)
    axes = [axis for own in _all_axes(robot) for axis in own]
    kept += range(row)
    for loop in robot.loops:
        own = []
        for axis in loop.axes:
            tried = np.ix_(range(len(inverse)), [*kept, row], [*kept, row])
            one_by_one = [(axes[k],) for k in (*kept, row)]
            if not np.all(is_singular(robot, one_by_one, inverse[tried])):
                kept.append(row)
                own.append(axis)
            row += 1
        if own:
            found.append(f"{loop.name}:{said_axes(tuple(own))}")
    return found


def need_contacts(robot: Robot) -> None:
    """UnsupportedError for a robot without contacts."""
    if not robot.contacts:
        raise UnsupportedError(
            f"robot {robot.name!r}: has no contacts; give --contact FRAME:3d, or with_contacts(robot, [FRAME])"
        )


def _inverse_text(robot: Robot, variant: Variant, q: Vector) -> Sequence[Evaluated]:
    joints = joint_placements(robot, q)
    found = contact_kinematics(robot, joints, variant[0])
    loops = loop_kinematics(robot, joints)
    factors = mass_factors(robot, joints)
    space = factored_space(found, loops, *factors, variant[1], held_axes(robot))
    return (both_triangles(space.inverse),)


def inverse_inertia(
    robot: Robot, q: np.ndarray, closed: np.ndarray, variant: Variant
) -> np.ndarray:
    """Λ⁻¹ of the closed contacts and the loops (..., rows, rows), and 1 on the diagonal of the others."""
    counts = [contact.rows for contact in robot.contacts]
    loop_rows = sum(loop.rows for loop in robot.loops)
    rows = sum(counts) + loop_rows
    whole = evaluate(_inverse_text, robot, variant, [(rows, rows)], q.shape[:-1], (q,))[0]
    # rows of open contacts become those of a unit matrix, which holds nothing and can be inverted
    kept = np.repeat(closed, counts, axis=-1)
    kept = np.concatenate([kept, np.ones((*kept.shape[:-1], loop_rows))], axis=-1)
    masked = whole * kept[..., :, None] * kept[..., None, :]
    return masked + (1.0 - kept)[..., None] * np.eye(rows)


def require_held(robot: Robot, q: np.ndarray, closed: np.ndarray, variant: Variant) -> None:
    """SingularityError for a mass matrix that is not positive definite, and for closed contacts and loops that hold
    some motion twice."""
    # M before all that is made of it, so that the message names what is wrong
    require_positive_definite(robot, crba(robot, q))
    inverse = inverse_inertia(robot, q, closed, variant)
    what = "contacts' inertia" if robot.contacts else "loops' inertia"
    require_regular(what, robot, _all_axes(robot), inverse)


def checked_closed(robot: Robot, closed: np.ndarray | None, batch: tuple[int, ...]) -> np.ndarray:
    """Which contacts are closed (..., contacts): all where nothing is given. ConfigError for what is not 0 or 1."""
    count = len(robot.contacts)
    mask = np.ones((*batch, count)) if closed is None else closed
    mask = argument("closed", mask, (count,), batch)
    if not np.all((mask == 0) | (mask == 1)):
        raise ConfigError("closed: must be 0 or 1 for each contact")
    return mask


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
    """The arguments, with errors as of :func:`constrained_forward_dynamics`, of a robot with contacts or loops."""
    reference, damping, rate = variant
    choice("reference", reference, REFERENCES)
    variant = reference, not_negative("damping", damping), not_negative("rate", rate)
    q = configuration(robot, q)
    batch = q.shape[:-1]
    v, tau = (argument(name, x, (robot.nv,), batch) for name, x in (("v", v), ("tau", tau)))
    rows = sum(contact.rows for contact in robot.contacts)
    mask = checked_closed(robot, closed, batch)
    held = np.zeros((*batch, rows)) if wanted is None else wanted
    held = argument("wanted", held, (rows,), batch)
    require_held(robot, q, mask, variant)
    forces = checked_forces(robot, f_ext, batch)
    return ContactArguments(variant, q, v, tau, mask, held, forces)
