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
from rbdgen.algo.rnea import Motion, Wrench, base_motion, inward_sweep, outward_sweep
from rbdgen.algo.subtrees import Column, MovingSubtrees, Subtrees, Twist
from rbdgen.model.body import Contact
from rbdgen.model.joints import JointPlacement
from rbdgen.model.robot import Robot
from rbdgen.spatial import (
    ZERO3,
    Enter,
    Entries,
    Scalar,
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
    """A robot at ``joints`` that moves at ``v`` and ``a`` (nv each), held by ``forces`` (contact rows) beside the
    ``given`` external wrenches on its bodies; speeds of contacts decay at ``rate``."""

    robot: Robot
    joints: list[JointPlacement]
    v: Vector
    a: Vector
    forces: Vector
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
        self.wholes = self._whole_forces()

    def _whole_forces(self) -> list[Vector]:
        """By contact its force with all six entries."""
        left = iter(self.state.forces)
        found = []
        for contact in self.robot.contacts:
            whole: list[Scalar] = [0.0] * 6
            for axis in contact.axes:
                whole[axis] = next(left)
            found.append(tuple(whole))
        return found

    def torques(self) -> tuple[Entries, Entries]:
        """∂τ/∂q and ∂τ/∂v of inverse dynamics, with the contacts' forces."""
        robot, state, enter = self.robot, self.state, again(self.enter)
        base = base_motion(robot.gravity)
        given = self._wrenches()
        motions, own = outward_sweep(robot, state.joints, state.v, state.a, given, enter, base)
        _, totals = inward_sweep(robot, state.joints, state.v, state.a, own, enter)
        by_position, by_velocity = self._derivatives(base, motions, totals, enter)
        if self.found.reference != LOCAL:
            by_position = self._with_turned_forces(by_position)
        return by_position, by_velocity

    def _derivatives(
        self, base: Motion, motions: list[Motion], totals: list[Wrench], enter: Enter
    ) -> tuple[Entries, Entries]:
        robot, joints = self.robot, self.state.joints
        inertias = composite_inertias(robot, joints, enter)
        mass = mass_matrix(robot, joints, inertias, enter)
        v = self.state.v
        both = derivatives(robot, joints, v, base, motions, totals, inertias, mass, enter)
        return both.by_position, both.by_velocity

    def _wrenches(self) -> tuple[Wrench, ...]:
        """External wrenches on all bodies, in their coordinates."""
        none = Wrench(ZERO3, ZERO3)
        total = list(self.state.given or [none] * len(self.robot.bodies))
        for contact, whole in zip(self.robot.contacts, self.wholes, strict=True):
            body = contact.frame.body
            with self.enter("Fa", body):
                total[body] = total[body] + self._on_body(contact, whole)
        return tuple(total)

    def _on_body(self, contact: Contact, whole: Vector) -> Wrench:
        place = contact.frame.placement
        turn = place.rotation
        if self.found.reference != LOCAL:
            turn = transpose(self.trees.places[contact.frame.body].rotation)
        force = matvec(turn, whole[:3])
        moment = matvec(turn, whole[3:])
        lever = cross(place.translation, force)
        return Wrench(vadd(moment, lever), force)

    def _with_turned_forces(self, by_position: Entries) -> Entries:
        """∂τ/∂q where forces keep the base's directions."""
        collected = Collected(self.robot)
        bodies = dof_bodies(self.robot)
        for k, contact in enumerate(self.robot.contacts):
            jacobian, whole = self.found.jacobians[k], self.wholes[k]
            for column in self.trees.paths[contact.frame.body]:
                with self.enter("Fa", column.body):
                    axis = column.twist.angular
                    turned = cross(axis, whole[:3]) + cross(axis, whole[3:])
                for (row, dof), x in jacobian.items():
                    with self.enter("Fa", bodies[dof]):
                        term = mul(x, turned[row])
                        # rows are the robot's own degrees of freedom already
                        collected.put(term, column.dof, before=(dof,))
        found = dict(by_position)
        for (row, dof), x in collected.entries.items():
            with self.enter("Fa", bodies[row]):
                found[row, dof] = add(found.get((row, dof), 0.0), x)
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
                        held = tuple(change[axis] for axis in contact.axes)
                        for row, x in enumerate(held, first):
                            collected.put(x, column.dof, before=(row,))
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
        changed = [
            self._seen(k, contact, moved, accelerated)
            for moved, accelerated in ((known.first, by_position), (s, by_velocity))
        ]
        if self.found.reference != LOCAL:
            changed[0] = vadd(changed[0], self._turned(k, contact, s.angular))
        return changed[0], changed[1]

    def _seen(self, k: int, contact: Contact, moved: Twist, accelerated: Twist) -> Vector:
        """Changes of velocity and acceleration of a contact's body as those of what holds it."""
        velocity = self._of_frame(k, moved)
        acceleration = self._of_frame(k, accelerated)
        if contact.is_point:
            # the classical acceleration has ω × v beside the spatial one
            whole = self._velocity(k)
            swept = cross(velocity[3:], whole[:3])
            swept = vadd(swept, cross(whole[3:], velocity[:3]))
            acceleration = vadd(acceleration[:3], swept) + acceleration[3:]
        return vadd(acceleration, vscale(self.state.rate, velocity))

    def _turned(self, k: int, contact: Contact, axis: Vector) -> Vector:
        """How acceleration and speed of a contact turn as its frame does, in the base's directions."""
        velocity = self._velocity(k)
        acceleration = self._of_frame(k, self.moving.accelerations[contact.frame.body])
        if contact.is_point:
            swept = cross(velocity[3:], velocity[:3])
            acceleration = vadd(acceleration[:3], swept) + acceleration[3:]
        whole = vadd(acceleration, vscale(self.state.rate, velocity))
        return cross(axis, whole[:3]) + cross(axis, whole[3:])

    def _velocity(self, k: int) -> Vector:
        return self._of_frame(k, self.moving.velocities[self.found.frames[k].body])

    def _of_frame(self, k: int, moving: Twist) -> Vector:
        """[linear, angular] of a motion as the contact's frame has it, in its reference."""
        place = self.found.places[k]
        linear = vsub(moving.linear, cross(place.translation, moving.angular))
        if self.found.reference != LOCAL:
            return linear + moving.angular
        back = transpose(place.rotation)
        return matvec(back, linear) + matvec(back, moving.angular)
