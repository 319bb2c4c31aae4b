"""Derivatives of forward dynamics with contacts: of accelerations and of the contacts' forces.

M a − Jᵀ f = τ − C and the contacts' accelerations α(q, v, a) = d hold at all q, v and τ. So

    M ∂a − Jᵀ ∂f = ∂τ − ∂ID(q, v, a, f),    J ∂a = −∂α

with a and f as they are on the right: what holds contacts is taken apart once
(:class:`rbdgen.algo.contact.ClosedContacts`), and solves for each column. (Budhiraja, Carpentier, Mastalli & Mansard,
Humanoids 2018; Carpentier, Budhiraja & Mansard, RSS 2021.) With the columns' rates of :mod:`rbdgen.algo.subtrees`, in
the base's coordinates and as the frame on body b turns along, α changes by Ψ̈ − v × Ψ̇ by position, and by Ψ̇ + Ṡ − v ×
S by velocity.

In the base's directions a force does not turn with its frame: the torques change by Jᵀ (S × f) more, and α by S × α.

Submodules: ``Fa_i`` for what contacts do, others with a ``c`` behind, as inverse dynamics is there a second time.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from rbdgen.algo.composite import composite_inertias, derivatives, mass_matrix
from rbdgen.algo.factorisation import dof_bodies
from rbdgen.algo.following import Collected
from rbdgen.algo.frames import LOCAL, Kinematics
from rbdgen.algo.rnea import Wrench, base_motion, inward_sweep, outward_sweep
from rbdgen.algo.subtrees import Column, MovingSubtrees, Subtrees, Twist
from rbdgen.model.body import Contact
from rbdgen.model.joints import JointPlacement
from rbdgen.model.robot import Robot
from rbdgen.spatial import (
    ZERO3,
    Enter,
    Entries,
    Vector,
    add,
    cross,
    matvec,
    mul,
    transpose,
    vadd,
    vscale,
    vsub,
)


@dataclass(frozen=True)
class State:
    """A robot at ``joints`` that moves at ``v`` and ``a`` (nv each), held by ``forces``, [force, moment] at each
    contact, beside the ``given`` external wrenches on its bodies; speeds of contacts decay at ``rate``."""

    robot: Robot
    joints: list[JointPlacement]
    v: Vector
    a: Vector
    forces: Sequence[Vector]
    given: Sequence[Wrench] | None
    rate: float


def again(enter: Enter) -> Enter:
    """For text that is there a second time: submodules of its own."""

    def entered(kind: str, body: int | None) -> AbstractContextManager[None]:
        return enter(f"{kind}c", body)

    return entered


class ContactSlopes:
    """Slopes of what holds contacts, of a robot in this ``state`` whose contacts' frames move as ``found``."""

    def __init__(self, state: State, found: Kinematics) -> None:
        self.state = state
        self.found = found
        self.robot = state.robot
        self.enter = found.enter
        trees = Subtrees(self.robot, state.joints, self.enter)
        # accelerations of frames are those that are seen: gravity is not among them
        self.moving: MovingSubtrees = trees.moving(state.v, state.a, ZERO3)
        self.trees = trees
        self.wholes = state.forces

    def torques(self) -> tuple[Entries, Entries]:
        """∂τ/∂q and ∂τ/∂v of inverse dynamics, with the contacts' forces."""
        robot, joints = self.robot, self.state.joints
        v, a = self.state.v, self.state.a
        enter = again(self.enter)
        base = base_motion(robot.gravity)
        given = self._wrenches()
        motions, own = outward_sweep(robot, joints, v, a, given, enter, base)
        _, totals = inward_sweep(robot, joints, v, a, own, enter)
        inertias = composite_inertias(robot, joints, enter)
        mass = mass_matrix(robot, joints, inertias, enter)
        both = derivatives(robot, joints, v, base, motions, totals, inertias, mass, enter)
        by_position, by_velocity = both.by_position, both.by_velocity
        if self.found.reference != LOCAL:
            by_position = self._with_turned_forces(by_position)
        return by_position, by_velocity

    def _wrenches(self) -> tuple[Wrench, ...]:
        """External wrenches on all bodies, in their coordinates."""
        none = Wrench(ZERO3, ZERO3)
        total = [none] * len(self.robot.bodies)
        if self.state.given is not None:
            total = list(self.state.given)
        pairs = zip(self.robot.contacts, self.wholes, strict=True)
        for contact, whole in pairs:
            body = contact.frame.body
            with self.enter("Fa", body):
                own = self._on_body(contact, whole)
                total[body] = total[body] + own
        return tuple(total)

    def _on_body(self, contact: Contact, whole: Vector) -> Wrench:
        place = contact.frame.placement
        turn = place.rotation
        if self.found.reference != LOCAL:
            body = self.trees.places[contact.frame.body]
            turn = transpose(body.rotation)
        force = matvec(turn, whole[:3])
        moment = matvec(turn, whole[3:])
        lever = cross(place.translation, force)
        return Wrench(vadd(moment, lever), force)

    def _with_turned_forces(self, by_position: Entries) -> Entries:
        """∂τ/∂q where forces keep the base's directions."""
        collected = Collected(self.robot)
        bodies = dof_bodies(self.robot)
        for k, contact in enumerate(self.robot.contacts):
            jacobian = self.found.jacobians[k]
            for column in self.trees.paths[contact.frame.body]:
                with self.enter("Fa", column.body):
                    turned = _turned_by(column.twist.angular, self.wholes[k])
                for (row, dof), x in jacobian.items():
                    with self.enter("Fa", bodies[dof]):
                        term = mul(x, turned[row])
                        # rows are the robot's own degrees of freedom already
                        collected.put(term, column.dof, before=(dof,))
        found = dict(by_position)
        for (row, dof), x in collected.entries.items():
            before = found.get((row, dof), 0.0)
            with self.enter("Fa", bodies[row]):
                found[row, dof] = add(before, x)
        return found

    def accelerations(self) -> tuple[Entries, Entries]:
        """Of the contacts' rows, with what their speeds are brought back by: ∂/∂q and ∂/∂v, by (row, dof)."""
        made = Collected(self.robot), Collected(self.robot)
        first = 0
        for k, contact in enumerate(self.robot.contacts):
            for column in self.trees.paths[contact.frame.body]:
                with self.enter("Fa", contact.frame.body):
                    changes = self._changes(k, contact, column)
                    for collected, change in zip(made, changes, strict=True):
                        for row, axis in enumerate(contact.axes, first):
                            entry = change[axis]
                            collected.put(entry, column.dof, before=(row,))
            first += contact.rows
        by_position, by_velocity = (collected.entries for collected in made)
        return by_position, by_velocity

    def _changes(self, k: int, contact: Contact, column: Column) -> tuple[Vector, Vector]:
        """A column's changes of a contact's acceleration and, at the rate, of its speed: by position, by velocity."""
        body, s = contact.frame.body, column.twist
        own = self.moving.velocities[body]
        known = self.moving.rates[column.dof]
        by_position = known.second - own.cross(known.first)
        by_velocity = known.by_velocity - own.cross(s)
        moved = self._seen(k, contact, known.first, by_position)
        sped_up = self._seen(k, contact, s, by_velocity)
        if self.found.reference != LOCAL:
            whole = self._whole(k, contact)
            moved = vadd(moved, _turned_by(s.angular, whole))
        return moved, sped_up

    def _seen(self, k: int, contact: Contact, moved: Twist, accelerated: Twist) -> Vector:
        """Changes of velocity and acceleration of a contact's body as those of what holds it."""
        velocity = self._of_frame(k, moved)
        acceleration = self._of_frame(k, accelerated)
        if contact.is_point:
            # the classical acceleration has ω × v beside the spatial one
            whole = self._velocity(k)
            swept = cross(velocity[3:], whole[:3])
            more = cross(whole[3:], velocity[:3])
            acceleration = _with_linear(acceleration, vadd(swept, more))
        return self._with_speed(acceleration, velocity)

    def _whole(self, k: int, contact: Contact) -> Vector:
        """Acceleration of a contact and, at the rate, its speed."""
        velocity = self._velocity(k)
        moving = self.moving.accelerations[contact.frame.body]
        acceleration = self._of_frame(k, moving)
        if contact.is_point:
            swept = cross(velocity[3:], velocity[:3])
            acceleration = _with_linear(acceleration, swept)
        return self._with_speed(acceleration, velocity)

    def _with_speed(self, acceleration: Vector, velocity: Vector) -> Vector:
        decaying = vscale(self.state.rate, velocity)
        return vadd(acceleration, decaying)

    def _velocity(self, k: int) -> Vector:
        body = self.found.frames[k].body
        return self._of_frame(k, self.moving.velocities[body])

    def _of_frame(self, k: int, moving: Twist) -> Vector:
        """[linear, angular] of a motion as the contact's frame has it, in its reference."""
        place = self.found.places[k]
        swung = cross(place.translation, moving.angular)
        linear = vsub(moving.linear, swung)
        if self.found.reference != LOCAL:
            return linear + moving.angular
        back = transpose(place.rotation)
        return matvec(back, linear) + matvec(back, moving.angular)


def _turned_by(axis: Vector, x: Vector) -> Vector:
    """How [linear, angular] turns about ``axis``."""
    linear = cross(axis, x[:3])
    return linear + cross(axis, x[3:])


def _with_linear(x: Vector, more: Vector) -> Vector:
    """[linear, angular] with ``more`` of the first."""
    return vadd(x[:3], more) + x[3:]
