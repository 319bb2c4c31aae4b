"""Frames fixed to links: where they are, their Jacobians, and how they accelerate while the joints do not.

A frame's motion is given in one of Pinocchio's three references: ``local``, of its origin in its own directions;
``local_world_aligned``, of its origin in the base's directions; ``world``, of the point of its link that is at the
base's origin, in the base's directions. Rows are [linear, angular].

For ``local`` a sweep inward carries the frame's place in each body's coordinates (``Fj_i``), where a joint's axis is
constant; for the others a sweep outward places the bodies in the base's (``Fp_i``). Source: Featherstone 2008, sections
2.8 and 3.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial

from rbdgen.algo.following import Entries
from rbdgen.algo.rnea import Motion
from rbdgen.model.body import Placement, TaskFrame
from rbdgen.model.joints import IDENTITY_PLACEMENT, JointPlacement
from rbdgen.model.robot import Robot
from rbdgen.spatial import (
    ZERO3,
    Enter,
    Scalar,
    Vector,
    add,
    anywhere,
    cross,
    matvec,
    mul,
    transpose,
    vadd,
    vsub,
)

LOCAL, WORLD, ALIGNED = "local", "world", "local_world_aligned"
REFERENCES = {
    LOCAL: "of the frame's origin, in the frame's directions",
    WORLD: "of what is at the base's origin, in the base's directions",
    ALIGNED: "of the frame's origin, in the base's directions",
}
"""Directions in which a frame's motion is given; the first is the default."""


def path_of(robot: Robot, body: int) -> list[int]:
    """The bodies from the base to this one."""
    path: list[int] = []
    while body >= 0:
        path.append(body)
        body = robot.bodies[body].parent
    path.reverse()
    return path


def _constant(placement: Placement) -> JointPlacement:
    """A constant place."""
    return JointPlacement(placement.rotation, placement.translation)


def body_places(
    robot: Robot, joints: Sequence[JointPlacement], carrying: Iterable[int], enter: Enter
) -> dict[int, JointPlacement]:
    """In the base's coordinates, the bodies of these numbers with all that they hang on, and the base, which is −1."""
    wanted: set[int] = set()
    for body in carrying:
        # bodies that carry nothing are not placed
        wanted.update(path_of(robot, body))
    places = {-1: IDENTITY_PLACEMENT}
    # parents have smaller numbers than their children
    for i in sorted(wanted):
        body = robot.bodies[i]
        with enter("Fp", i):
            own = _constant(body.placement) @ joints[i]
            places[i] = places[body.parent] @ own
    return places


def frame_places(
    robot: Robot,
    joints: Sequence[JointPlacement],
    frames: Sequence[TaskFrame],
    enter: Enter = anywhere,
) -> tuple[list[JointPlacement], dict[int, JointPlacement]]:
    """Where frames are, and the bodies that they hang on (:func:`body_places`), in the base's coordinates."""
    bodies = body_places(robot, joints, (frame.body for frame in frames), enter)
    places: list[JointPlacement] = []
    for frame in frames:
        with enter("Fp", frame.body):
            place = bodies[frame.body] @ _constant(frame.placement)
            places.append(place)
    return places, bodies


def inward_places(
    robot: Robot,
    joints: Sequence[JointPlacement],
    frame: TaskFrame,
    enter: Enter = anywhere,
    path: Sequence[int] | None = None,
) -> dict[int, JointPlacement]:
    """Where a frame is in the coordinates of each body that it hangs on, and of the base, which is −1; or of those of
    the last part of this ``path`` only, and of what carries that."""
    place = _constant(frame.placement)
    places = {frame.body: place}
    for i in reversed(path_of(robot, frame.body) if path is None else path):
        body = robot.bodies[i]
        with enter("Fj", i):
            # inward, so that the frame ends up in each body's coordinates, where axes are constant
            turned = joints[i] @ place
            place = _constant(body.placement) @ turned
        places[body.parent] = place
    return places


def local_column(angular: Vector, linear: Vector, place: JointPlacement) -> Vector:
    """A joint's motion, in its body's coordinates, as the frame's: the frame is at ``place`` there."""
    inward = transpose(place.rotation)
    swung = cross(angular, place.translation)
    moved = matvec(inward, vadd(linear, swung))
    turned = matvec(inward, angular)
    return (*moved, *turned)


def _outer_column(angular: Vector, linear: Vector, place: JointPlacement, point: Vector) -> Vector:
    """A joint's motion, of a body at ``place``, as that of a point, both in the base's coordinates."""
    turning = matvec(place.rotation, angular)
    moving = matvec(place.rotation, linear)
    lever = vsub(point, place.translation)
    swung = cross(turning, lever)
    moving = vadd(moving, swung)
    return (*moving, *turning)


class Kinematics:
    """Frames of a robot at one configuration, in one reference; what several functions need is computed once."""

    def __init__(
        self,
        robot: Robot,
        joints: Sequence[JointPlacement],
        frames: Sequence[TaskFrame],
        reference: str,
        enter: Enter = anywhere,
    ) -> None:
        self.robot = robot
        self.joints = joints
        self.frames = tuple(frames)
        self.reference = reference
        self.enter = enter
        self.inward: list[dict[int, JointPlacement]] = []
        self.places: list[JointPlacement] = []
        self.bodies: dict[int, JointPlacement] = {}
        if reference == LOCAL:
            self.inward = [inward_places(robot, joints, f, enter) for f in frames]
            self.places = [found[-1] for found in self.inward]
        else:
            self.places, self.bodies = frame_places(robot, joints, frames, enter)

    @cached_property
    def jacobians(self) -> list[Entries]:
        """The frames' Jacobians: entries (row, degree of freedom)."""
        return [self._jacobian(k) for k in range(len(self.frames))]

    def _jacobian(self, number: int) -> Entries:
        """A frame's Jacobian: entries (row, degree of freedom)."""
        entries: Entries = {}
        path = path_of(self.robot, self.frames[number].body)
        collect_columns(entries, self.robot, path, partial(self._column, number), self.enter)
        return entries

    def _column(self, number: int, body: int, angular: Vector, linear: Vector) -> Vector:
        """The part of the motion of a body's joint that is a frame's."""
        if self.reference == LOCAL:
            return local_column(angular, linear, self.inward[number][body])
        # what moves is the point of the link that is there now: the base's origin, or the frame's
        point = ZERO3 if self.reference == WORLD else self.places[number].translation
        return _outer_column(angular, linear, self.bodies[body], point)

    def times(self, number: int, x: Vector) -> Vector:
        """A frame's Jacobian times ``x`` (nv)."""
        found: list[Scalar] = [0.0] * 6
        with self.enter("Fv", self.frames[number].body):
            for (row, dof), entry in self.jacobians[number].items():
                term = mul(entry, x[dof])
                found[row] = add(found[row], term)
        return tuple(found)

    def acceleration(self, number: int, motion: Motion, v: Vector) -> tuple[Vector, Vector]:
        """A frame's spatial acceleration (6), and the linear part of the classical one (3), where its body moves as
        ``motion`` says, which is relative to free fall, and the joints at ``v`` (nv)."""
        frame = self.frames[number]
        velocity = self.times(number, v)
        linear, turning = velocity[:3], velocity[3:]
        with self.enter("Fa", frame.body):
            moved, turned = self._of_origin(number, motion)
            # ω × v: by so much the classical acceleration is more than the spatial one
            swept = cross(turning, linear)
            if self.reference != WORLD:
                spatial = vsub(moved, swept)
                return (*spatial, *turned), moved
            # from the frame's origin to what is at the base's
            position = self.places[number].translation
            arm = cross(turning, position)
            carried = vadd(linear, arm)
            spatial = vsub(moved, cross(turning, carried))
            lever = cross(position, turned)
            spatial = vadd(spatial, lever)
            return (*spatial, *turned), vadd(spatial, swept)

    def _of_origin(self, number: int, motion: Motion) -> tuple[Vector, Vector]:
        """The classical acceleration of a frame's origin, gravity not felt, and its angular one; in the frame's
        directions for ``local``, else in the base's."""
        frame = self.frames[number]
        offset = matvec(motion.gradient, frame.placement.translation)
        felt = vadd(motion.acceleration, offset)
        gravity = self.robot.gravity
        if self.reference == LOCAL:
            into = transpose(frame.placement.rotation)
            falling = matvec(transpose(self.places[number].rotation), gravity)
        else:
            into = self.bodies[frame.body].rotation
            falling = gravity
        seen = matvec(into, felt)
        # motions are relative to free fall; a frame's acceleration is not
        moved = vadd(seen, falling)
        return moved, matvec(into, motion.angular_acceleration)


def collect_columns(
    entries: Entries,
    robot: Robot,
    path: Sequence[int],
    column: Callable[[int, Vector, Vector], Vector],
    enter: Enter,
    sign: float = 1.0,
) -> None:
    """Add to a Jacobian's entries (row, degree of freedom), in place, the ``column`` of each motion of the joints along
    a path, by its body and its angular and linear part there; with a ``sign``."""
    parts = robot.unreduced.v_slices
    for i in path:
        joint = robot.bodies[i].joint
        columns = zip(
            robot.gearing[parts[i]], joint.angular_subspace, joint.linear_subspace, strict=True
        )
        with enter("Fj", i):
            for (dof, gear), angular, linear in columns:
                _collect(entries, dof, sign * gear, column(i, angular, linear))


def _collect(entries: Entries, dof: int, gear: float, column: Vector) -> None:
    """Add a column to that of a degree of freedom (in place)."""
    for row, x in enumerate(column):
        geared = mul(gear, x)
        before = entries.get((row, dof), 0.0)
        entry = add(before, geared)
        # a constant zero is no entry: words and products are left out for it
        if isinstance(entry, float) and entry == 0.0:
            continue
        entries[row, dof] = entry
