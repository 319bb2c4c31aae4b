"""How robots with contacts move, and the rows by which contacts are held: over factors of M, or at a chain's end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rbdgen.algo.carried import SPATIAL, Carrier, bodies_of, body_damping, carriers
from rbdgen.algo.contact import Held
from rbdgen.algo.factorisation import Elimination, Factors, remaining_torques
from rbdgen.algo.following import Entries
from rbdgen.algo.frames import Kinematics
from rbdgen.algo.operational_space import (
    ContactSpace,
    OperationalSpace,
    Row,
    even_damping,
    rows_of,
)
from rbdgen.algo.rnea import Motion, inward_sweep, joint_placements, outward_sweep
from rbdgen.algo.submodules import Enter, anywhere
from rbdgen.functions.algorithms import chosen
from rbdgen.functions.operands import given_base, given_wrenches
from rbdgen.functions.operational_space import mass_factors
from rbdgen.functions.record import TracedProgram
from rbdgen.model.robot import Robot
from rbdgen.spatial import Scalar, Vector, mul, sub

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


def held_contacts(
    robot: Robot,
    now: Moving,
    v: Vector,
    closed: Vector,
    wanted: Vector,
    rate: float,
) -> list[Held]:
    """What the contacts are held at: ``wanted``, less what velocities do, less ``rate`` times the velocity."""
    found = now.contacts
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
    return held


Axes = Sequence[tuple[int, ...]]
"""By contact some axes of its frame."""


@dataclass(frozen=True)
class HeldRows:
    """The rows by which contacts are held, a ``space``. By contact one of ``carriers`` where they are not its frame's
    but its body's, which that carries to the frame (:mod:`rbdgen.algo.carried`)."""

    space: ContactSpace
    carriers: Sequence[Carrier | None]
    enter: Enter

    def inward(self, held: Sequence[Held]) -> list[Held]:
        """What the contacts are held at, by these rows."""
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
    robot: Robot, found: Kinematics, along: Elimination, factors: Factors, damping: float
) -> HeldRows:
    """The rows by which the contacts of ``robot`` are held, whose frames' motions are ``found``, over a mass matrix
    that is taken apart: a contact that holds a whole frame holds its body."""
    plain = iter(rows_of(found, held_axes(robot)))
    rows: list[Row] = []
    entries: Entries = {}
    carried: list[Carrier | None] = []
    for contact in robot.contacts:
        own = [next(plain) for _ in contact.axes]
        added = even_damping(len(own), damping)
        carrier = None
        if contact.rows == SPATIAL:
            frames = [contact.frame]
            (carrier,) = carriers(robot, found.joints, frames, found.reference, found.enter)
            bodies = bodies_of(robot, found.joints, frames, found.enter)
            own = rows_of(bodies, [contact.axes])
            added = body_damping([carrier], damping)
        for (i, j), x in added.items():
            entries[len(rows) + i, len(rows) + j] = x
        rows += own
        carried.append(carrier)
    space = OperationalSpace(along, factors, rows, entries, found.enter)
    return HeldRows(space, carried, found.enter)


@dataclass(frozen=True)
class Moving:
    """A robot with contacts in motion: how its contacts and its bodies move, and what torques leave to accelerations
    (``rest``). ``space`` gives rows of all contacts, for one or several choices of axes one after the other; ``held``
    those by which they are held."""

    contacts: Kinematics
    motions: Sequence[Motion]
    rest: Sequence[Scalar]
    space: Callable[..., ContactSpace]
    held: Callable[[], HeldRows]


Spaces = tuple[Callable[..., ContactSpace], Callable[[], HeldRows]]
"""``space`` and ``held`` of a :class:`Moving`."""


def factored_space(
    found: Kinematics, along: Elimination, factors: Factors, damping: float, *axes: Axes
) -> ContactSpace:
    """Rows of contacts over a mass matrix that is taken apart."""
    rows: list[Row] = []
    for own in axes:
        rows += rows_of(found, own)
    return OperationalSpace(along, factors, rows, damping, found.enter)


def moving(
    robot: Robot, variant: Variant, q: Vector, v: Vector, tau: Vector, f: Vector | None
) -> Moving:
    """``robot`` at q, v and τ, with external forces, if any."""
    reference, damping, _ = variant
    joints = joint_placements(robot, q)
    still = (0.0,) * robot.nv
    base = given_base(robot, None)
    motions, wrenches = outward_sweep(robot, joints, v, still, given_wrenches(f), base=base)
    effects, _ = inward_sweep(robot, joints, v, still, wrenches)
    along, factors = mass_factors(robot, joints)
    found = contact_kinematics(robot, joints, reference)
    rest = remaining_torques(robot, tau, effects)
    space = partial(factored_space, found, along, factors, damping)
    held = partial(factored_rows, robot, found, along, factors, damping)
    return Moving(found, motions, rest, space, held)


def traced_moving(trace: TracedProgram) -> Moving:
    """The same, traced."""
    reference, _, _ = traced_variant(trace)
    found = contact_kinematics(trace.robot, trace.placements(), reference, trace.enter)
    motions = trace.motions()
    space, held = chosen("operational_space", trace.settings).text.contacts(trace, found)
    return Moving(found, motions, trace.rest(), space, held)


def traced_variant(trace: TracedProgram) -> Variant:
    """The options that contacts are traced with."""
    settings = trace.settings
    return settings.reference, settings.constraint_damping, settings.contact_rate
