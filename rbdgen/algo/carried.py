"""Frames' motions and forces from those of the bodies that carry them, and inertia that way.

Rows of a frame that is far from its body's joint, or in the base's directions, depend on each other much more than rows
of the body at its joint: there the joint's own axis moves one row alone. So Λ⁻¹ is taken apart for the bodies' rows,
and what comes of it is carried to the frames, whose motion is X times their body's:

    Λ⁻¹ = X Λ_b⁻¹ Xᵀ + δ 1 = X (Λ_b⁻¹ + δ X⁻¹ X⁻ᵀ) Xᵀ,   Λ = X⁻ᵀ (Λ_b⁻¹ + δ X⁻¹ X⁻ᵀ)⁻¹ X⁻¹.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from rbdgen.algo.following import Entries
from rbdgen.algo.frames import LOCAL, WORLD, Kinematics, body_places
from rbdgen.algo.operational_space import OperationalSpace
from rbdgen.model.body import Placement, TaskFrame
from rbdgen.model.joints import JointPlacement
from rbdgen.model.robot import Robot
from rbdgen.spatial import (
    IDENTITY3,
    Enter,
    Matrix,
    Scalar,
    Vector,
    cross,
    matmul,
    matvec,
    skew,
    transpose,
    vadd,
    vscale,
    vsub,
)

SPATIAL = 6
Carry = Callable[[Vector], Vector]
"""Of motions or forces (6), [linear, angular]."""


@dataclass(frozen=True)
class Carrier:
    """A frame on its ``body``: ``rotation`` Q from the body's coordinates to those that the frame's motion is given in,
    and where in the body the ``point`` p is whose motion that is."""

    body: int
    rotation: Matrix
    point: Vector

    def motion(self, m: Vector) -> Vector:
        """The frame's motion from the body's: X m."""
        linear, angular = m[:3], m[3:]
        swung = cross(self.point, angular)
        moved = vsub(linear, swung)
        return (*matvec(self.rotation, moved), *matvec(self.rotation, angular))

    def body_motion(self, m: Vector) -> Vector:
        """The body's motion from the frame's: X⁻¹ m."""
        back = transpose(self.rotation)
        angular = matvec(back, m[3:])
        linear = matvec(back, m[:3])
        swung = cross(self.point, angular)
        return (*vadd(linear, swung), *angular)

    def force(self, f: Vector) -> Vector:
        """The force on the frame that is one on the body: X⁻ᵀ f."""
        force, moment = f[:3], f[3:]
        lever = cross(self.point, force)
        moment = vsub(moment, lever)
        return (*matvec(self.rotation, force), *matvec(self.rotation, moment))

    def body_force(self, f: Vector) -> Vector:
        """The force on the body that is one on the frame: Xᵀ f."""
        back = transpose(self.rotation)
        force = matvec(back, f[:3])
        moment = matvec(back, f[3:])
        lever = cross(self.point, force)
        return (*force, *vadd(moment, lever))

    def damping(self, damping: float) -> Matrix:
        """δ X⁻¹ X⁻ᵀ (6, 6), for ``damping`` δ."""
        arm = skew(self.point)
        # the rotation drops out: δ 1 looks the same from all directions
        square = matmul(arm, transpose(arm))
        rows: list[Vector] = []
        for i in range(3):
            unit = IDENTITY3[i]
            first = (*vadd(unit, square[i]), *arm[i])
            rows.append(vscale(damping, first))
        for i in range(3):
            second = (*transpose(arm)[i], *IDENTITY3[i])
            rows.append(vscale(damping, second))
        return tuple(rows)


def carriers(
    robot: Robot,
    joints: Sequence[JointPlacement],
    frames: Sequence[TaskFrame],
    reference: str,
    enter: Enter,
) -> list[Carrier]:
    """The places of ``frames`` on their bodies, their motions given in ``reference``."""
    if reference == LOCAL:
        return [_fixed(frame) for frame in frames]
    places = body_places(robot, joints, (frame.body for frame in frames), enter)
    found = []
    for frame in frames:
        place = places[frame.body]
        point = frame.placement.translation
        if reference == WORLD:
            with enter("Fp", frame.body):
                # the base's origin, as the body sees it
                away = matvec(transpose(place.rotation), place.translation)
                point = vscale(-1.0, away)
        found.append(Carrier(frame.body, place.rotation, point))
    return found


def _fixed(frame: TaskFrame) -> Carrier:
    """A frame in its own directions."""
    placement = frame.placement
    return Carrier(frame.body, transpose(placement.rotation), placement.translation)


def bodies_of(
    robot: Robot, joints: Sequence[JointPlacement], frames: Sequence[TaskFrame], enter: Enter
) -> Kinematics:
    """The bodies of frames, as frames at their joints."""
    # at the joint, its own axis moves one row alone (see above)
    own = [replace(frame, placement=Placement()) for frame in frames]
    return Kinematics(robot, joints, own, LOCAL, enter)


def body_damping(found: Sequence[Carrier], damping: float, enter: Enter) -> Entries:
    """Entries (i, j), i ≥ j, of δ X⁻¹ X⁻ᵀ of all frames."""
    entries: Entries = {}
    if damping == 0.0:
        return entries
    for k, carrier in enumerate(found):
        # no constant at the base's origin, and where frames can be moved
        with enter("Fx", carrier.body):
            rows = carrier.damping(damping)
        for i, row in enumerate(rows):
            for j in range(i + 1):
                entries[SPATIAL * k + i, SPATIAL * k + j] = row[j]
    return entries


class CarriedSpace:
    """Inertia of frames by that of their bodies, ``space``, whose damping is that of :func:`body_damping`."""

    def __init__(self, space: OperationalSpace, found: Sequence[Carrier], enter: Enter) -> None:
        self.space = space
        self.carriers = tuple(found)
        self.enter = enter

    @cached_property
    def inverse(self) -> Entries:
        """Entries (i, j), i ≥ j, of Λ⁻¹."""
        carried = [carrier.motion for carrier in self.carriers]
        return self._carried(self.space.inverse, carried)

    @cached_property
    def inertia(self) -> Entries:
        """Entries (i, j), i ≥ j, of Λ."""
        carried = [carrier.force for carrier in self.carriers]
        return self._carried(self.space.inertia, carried)

    def acceleration(self, force: Sequence[Scalar]) -> Vector:
        """Λ⁻¹ times a force on the frames."""
        pushed = self.each([carrier.body_force for carrier in self.carriers], force)
        moved = self.space.acceleration(pushed)
        return self.each([carrier.motion for carrier in self.carriers], moved)

    def force(self, acceleration: Sequence[Scalar]) -> Vector:
        """Λ times an acceleration of the frames."""
        pulled = self.each([carrier.body_motion for carrier in self.carriers], acceleration)
        held = self.space.force(pulled)
        return self.each([carrier.force for carrier in self.carriers], held)

    def each(self, carry: Sequence[Carry], x: Sequence[Scalar]) -> Vector:
        """Each frame's part of ``x``, carried."""
        result: list[Scalar] = []
        for k, (carrier, carried) in enumerate(zip(self.carriers, carry, strict=True)):
            part = tuple(x[SPATIAL * k : SPATIAL * (k + 1)])
            with self.enter("Fx", carrier.body):
                result += carried(part)
        return tuple(result)

    def _carried(self, entries: Entries, carry: Sequence[Carry]) -> Entries:
        """T B Tᵀ of a symmetric B by its lower triangle, T made of what ``carry`` does to each frame's part."""
        rows = range(SPATIAL * len(self.carriers))
        turned = []
        for j in rows:
            column = [entries.get((max(i, j), min(i, j)), 0.0) for i in rows]
            turned.append(self.each(carry, column))
        result: Entries = {}
        for i in rows:
            # the other side of T B Tᵀ, row by row
            row = self.each(carry, [column[i] for column in turned])
            for j in range(i + 1):
                if not (isinstance(row[j], float) and row[j] == 0.0):
                    result[i, j] = row[j]
        return result
