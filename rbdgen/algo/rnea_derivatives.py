"""Derivatives of inverse dynamics in columns, cut per body into ``Df_i`` and ``Db_i``.

Carpentier & Mansard, "Analytical derivatives of rigid body dynamics algorithms", RSS 2018; in the order of Plancher et
al., RA-L 2021, algorithm 2. The recursions of the Newton-Euler algorithm are differentiated with respect to one degree
of freedom after the other: outward what changes a body's velocity, acceleration and force, inward what changes the
force on a subtree. The columns are incremental: outward those of the body and its ancestors, inward those of the
subtree as well. Derivatives with respect to q are in the tangent space: a column of the motion subspace moves the child
frame.
"""

from __future__ import annotations

from dataclasses import dataclass

from rbdgen.algo.following import Entries, Reduced, rates
from rbdgen.algo.plucker import (
    ZERO6,
    JointedBody,
    Transform,
    base_vectors,
    combination,
    force_cross,
    force_vector,
    jointed_bodies,
    momentum,
    motion_cross,
)
from rbdgen.algo.rnea import Motion, Wrench, base_motion, friction_slopes
from rbdgen.model.body import Inertia
from rbdgen.model.robot import Robot
from rbdgen.spatial import Enter, Vector, anywhere, cross, vadd, vsub


@dataclass(frozen=True)
class _Change:
    """Change by one degree of freedom: a body's ``velocity`` and ``acceleration`` (6 each)."""

    velocity: Vector
    acceleration: Vector


_Changes = dict[int, _Change]
_Forces = dict[int, Vector]
KINDS = BY_POSITION, BY_VELOCITY = 0, 1
"""Derivatives with respect to q, and to v."""


def rnea_derivatives(
    robot: Robot,
    transforms: list[Transform],
    v: Vector,
    motions: list[Motion],
    totals: list[Wrench],
    enter: Enter = anywhere,
    base: Motion | None = None,
) -> tuple[Entries, Entries]:
    """Entries (row, column) of ∂τ/∂q and ∂τ/∂v that can differ from zero.

    ``transforms``: every body's transform; ``motions`` and ``totals`` (the force on each subtree) are those of
    :mod:`rbdgen.algo.rnea`; ``base``: how the base moves (default: not at all).
    """
    if base is None:
        base = base_motion(robot.gravity)
    sweep = _ColumnSweeps(robot, transforms, base)
    for i in range(len(robot.bodies)):
        with enter("Df", i):
            own = rates(robot, i, v)
            sweep.outward(i, own, motions[i])
    for i in reversed(range(len(robot.bodies))):
        with enter("Db", i):
            for kind in KINDS:
                sweep.inward(i, kind)
            own = rates(robot, i, v)
            slopes = friction_slopes(robot, i, own, enter)
            sweep.rub(i, slopes)
            sweep.turn_total(i, force_vector(totals[i]))
    by_position, by_velocity = sweep.results
    return by_position.entries, by_velocity.entries


class _ColumnSweeps:
    """Both sweeps over a robot. ``changes`` and ``forces``: by kind (with respect to q, and to v): by body: by degree
    of freedom."""

    def __init__(self, robot: Robot, transforms: list[Transform], base: Motion) -> None:
        self.robot = robot
        self.links = jointed_bodies(robot, transforms)
        self.base_velocity, self.base_acceleration = base_vectors(base)
        self.velocities: list[Vector] = []
        self.accelerations: list[Vector] = []
        self.changes: tuple[list[_Changes], list[_Changes]] = ([], [])
        self.forces: tuple[list[_Forces], list[_Forces]] = ([], [])
        self.results = Reduced(robot), Reduced(robot)

    def outward(self, i: int, rates: Vector, motion: Motion) -> None:
        """Changes of body ``i`` by each degree of freedom, whose joint moves at ``rates``."""
        link = self.links[i]
        above = self.base_velocity
        if link.parent >= 0:
            above = self.velocities[link.parent]
        carried = link.to_parent.motion(above)
        rate = combination(link.columns, rates)
        # RNEA has no linear velocities: they are made here, where they are needed
        linear = vadd(carried, rate)[3:]
        velocity = motion.angular_velocity + linear
        # RNEA has the acceleration of the origin; the spatial one is without ω × v
        turning = cross(motion.angular_velocity, linear)
        linear = vsub(motion.acceleration, turning)
        self.velocities.append(velocity)
        self.accelerations.append(motion.angular_acceleration + linear)
        # once for both kinds of derivatives
        own_momentum = momentum(link.inertia, velocity)
        for kind in KINDS:
            changes = self._carried(link, kind, rate)
            for dof, s in link.own:
                if kind == BY_VELOCITY:
                    changes[dof] = _sped_up(s, velocity, rate)
                else:
                    changes[dof] = self._turned(i, s, carried, rate)
            forces: _Forces = {}
            for dof, change in changes.items():
                forces[dof] = _force(link.inertia, change, velocity, own_momentum)
            self.changes[kind].append(changes)
            self.forces[kind].append(forces)

    def _carried(self, link: JointedBody, kind: int, rate: Vector) -> _Changes:
        """Changes that a body takes over from its parent."""
        if link.parent < 0:
            return {}
        moved: _Changes = {}
        for dof, change in self.changes[kind][link.parent].items():
            velocity = link.to_parent.motion(change.velocity)
            acceleration = link.to_parent.motion(change.acceleration)
            moved[dof] = _Change(velocity, acceleration)
        carried: _Changes = {}
        for dof, change in moved.items():
            turning = motion_cross(change.velocity, rate)
            acceleration = vadd(change.acceleration, turning)
            carried[dof] = _Change(change.velocity, acceleration)
        return carried

    def _turned(self, i: int, s: Vector, carried: Vector, rate: Vector) -> _Change:
        """Change by a rotation of body ``i`` by its joint's column ``s``."""
        link = self.links[i]
        if len(link.dofs) == 1:
            # what the joint itself contributes to v and a is along s, or is taken back by a's own change
            velocity = motion_cross(self.velocities[i], s)
            acceleration = motion_cross(self.accelerations[i], s)
            return _Change(velocity, acceleration)
        above = self.base_acceleration
        if link.parent >= 0:
            above = self.accelerations[link.parent]
        # with several columns, the others' parts do not cancel: start from the parent's motion
        pulled = link.to_parent.motion(above)
        velocity = motion_cross(carried, s)
        acceleration = motion_cross(pulled, s)
        turning = motion_cross(velocity, rate)
        return _Change(velocity, vadd(acceleration, turning))

    def inward(self, i: int, kind: int) -> None:
        """Changes of the force on the subtree of body ``i``, and what its joint feels of them."""
        link = self.links[i]
        forces = self.forces[kind][i]
        for child in self.robot.children[i]:
            to_parent = self.links[child].to_parent
            for dof, change in self.forces[kind][child].items():
                arriving = to_parent.force(change)
                before = forces.get(dof, ZERO6)
                forces[dof] = vadd(before, arriving)
        for dof, change in forces.items():
            for row, x in link.felt(change):
                self.results[kind].put(row, dof, x)

    def rub(self, i: int, slopes: Vector) -> None:
        """The friction of the joint of body ``i`` grows with its velocity by these ``slopes``."""
        dofs = self.links[i].dofs
        for dof, slope in zip(dofs, slopes, strict=True):
            self.results[BY_VELOCITY].put(dof, dof, slope)

    def turn_total(self, i: int, total: Vector) -> None:
        """The joint turns the ``total`` force on the subtree along with the subtree."""
        link = self.links[i]
        forces = self.forces[BY_POSITION][i]
        for dof, s in link.own:
            # after its own row: a joint's own force turns along with the joint
            turned = force_cross(s, total)
            forces[dof] = vadd(forces[dof], turned)


def _sped_up(s: Vector, velocity: Vector, rate: Vector) -> _Change:
    """Change of a body whose joint moves faster along its column ``s``."""
    acceleration = motion_cross(velocity, s)
    acceleration = vadd(acceleration, motion_cross(s, rate))
    return _Change(s, acceleration)


def _force(inertia: Inertia, change: _Change, velocity: Vector, own_momentum: Vector) -> Vector:
    """Change of the force on a body by a change of its motion."""
    pushed = momentum(inertia, change.acceleration)
    turned = force_cross(change.velocity, own_momentum)
    dragged = momentum(inertia, change.velocity)
    dragged = force_cross(velocity, dragged)
    return vadd(pushed, turned, dragged)
