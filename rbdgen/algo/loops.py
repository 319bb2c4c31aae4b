"""Closed loops: how far two frames are apart that belong together, and how they move against each other.

A loop keeps its second frame B where its first frame A has it. With u, where B's origin is in A's coordinates, and R,
which turns B's directions into A's, the gap is −u along the linear axes; about the angular ones it is the sine of the
angle by which B is turned in A, times the axis of that turn, with a minus as well. Where two angular axes are held it
is the sine of the angle between the third ones, so that B may turn about that without end.

The gap's rate is the motion of A as seen from B, at B's origin and in A's directions:

    v_A + ω_A × u − R v_B = −u̇,    ω_A − R ω_B

(the latter where B is not turned, as then the gap's rate is this). So axes are A's and turn with it, as those of a slot
or a hinge do, and what moves A and B alike has no part: rows have entries of the joints between them only. While these
do not accelerate, the rates do so by

    a_A + α_A × u + ω_A × (ω_A × u) − R a_B + 2 ω_A × u̇,    α_A − R α_B + ω_A × R ω_B.

Of loops that are closed, and stay so, that is what Pinocchio's ``constraintDynamics`` has for its ``CONTACT_3D`` and
``CONTACT_6D`` between two joints. Source: Featherstone 2008, sections 8.2 and 8.3. A loop's own text is submodule
``Fl_i``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rbdgen.algo.following import Entries
from rbdgen.algo.frames import collect_columns, inward_places, local_column, path_of
from rbdgen.algo.operational_space import Row
from rbdgen.algo.rnea import Motion
from rbdgen.model.body import LINEAR_AXES, Loop, TaskFrame
from rbdgen.model.joints import JointPlacement
from rbdgen.model.robot import Robot
from rbdgen.spatial import (
    IDENTITY3,
    Enter,
    Matrix,
    Scalar,
    Vector,
    add,
    anywhere,
    cross,
    matmul,
    matvec,
    mul,
    sub,
    transpose,
    vadd,
    vscale,
    vsub,
)


@dataclass(frozen=True)
class PathsApart:
    """The bodies that move two of them against each other: those on the way to the ``first`` and to the ``second`` from
    the last one that carries both, the ``carrier`` (−1: the base)."""

    first: list[int]
    second: list[int]
    carrier: int


def paths_apart(robot: Robot, one: int, other: int) -> PathsApart:
    """Of bodies ``one`` and ``other``."""
    first = path_of(robot, one)
    second = path_of(robot, other)
    shared = 0
    carrier = -1
    for here, there in zip(first, second, strict=False):
        if here != there:
            break
        carrier = here
        shared += 1
    return PathsApart(first[shared:], second[shared:], carrier)


class LoopKinematics:
    """A loop of a robot at one configuration: ``turn`` R and ``offset`` u, and motions."""

    def __init__(
        self, robot: Robot, joints: Sequence[JointPlacement], loop: Loop, enter: Enter = anywhere
    ) -> None:
        self.robot = robot
        self.loop = loop
        self.enter = enter
        self.paths = paths_apart(robot, loop.first.body, loop.second.body)
        self.first = inward_places(robot, joints, loop.first, enter, self.paths.first)
        self.second = inward_places(robot, joints, loop.second, enter, self.paths.second)
        one = self.first[self.paths.carrier]
        other = self.second[self.paths.carrier]
        with enter("Fl", loop.body):
            back = transpose(one.rotation)
            self.turn: Matrix = matmul(back, other.rotation)
            apart = vsub(other.translation, one.translation)
            self.offset = matvec(back, apart)

    @cached_property
    def gap(self) -> Vector:
        """The gap, along each axis that is held."""
        angular = self.loop.angular_axes
        found: list[Scalar] = []
        with self.enter("Fl", self.loop.body):
            turned = _turned(self.turn, angular)
            apart = self.offset + turned
            for axis in self.loop.axes:
                found.append(sub(0.0, apart[axis]))
        return tuple(found)

    @cached_property
    def jacobian(self) -> Entries:
        """The rates of the gap, of all six axes, from v: entries (axis, degree of freedom)."""
        entries: Entries = {}
        paths = self.paths
        given = self.robot, paths.first, self._column_of_first, self.enter
        collect_columns(entries, *given)
        given = self.robot, paths.second, self._column_of_second, self.enter
        collect_columns(entries, *given, sign=-1.0)
        return entries

    def _column_of_first(self, body: int, angular: Vector, linear: Vector) -> Vector:
        column = local_column(angular, linear, self.first[body])
        moving, turning = column[:3], column[3:]
        # not of A's origin, but of what is at B's
        swung = cross(turning, self.offset)
        return vadd(moving, swung) + turning

    def _column_of_second(self, body: int, angular: Vector, linear: Vector) -> Vector:
        column = local_column(angular, linear, self.second[body])
        moving = matvec(self.turn, column[:3])
        turning = matvec(self.turn, column[3:])
        return moving + turning

    @property
    def rows(self) -> list[Row]:
        """The rows of the axes that are held."""
        by_axis: dict[int, dict[int, Scalar]] = {axis: {} for axis in self.loop.axes}
        for (axis, dof), x in self.jacobian.items():
            if axis in by_axis:
                by_axis[axis][dof] = x
        return [Row(entries, self.loop.body) for entries in by_axis.values()]

    def speed(self, v: Vector) -> Vector:
        """The rates of the gap, of all six axes, at joint velocities ``v`` (nv)."""
        found: list[Scalar] = [0.0] * (2 * LINEAR_AXES)
        with self.enter("Fl", self.loop.body):
            for (row, dof), entry in self.jacobian.items():
                term = mul(entry, v[dof])
                found[row] = add(found[row], term)
        return tuple(found)

    def drift(self, motions: Sequence[Motion], base: Motion, speed: Vector) -> Vector:
        """How the rates of the gap (6) change while the joints do not accelerate, where bodies and the base move as
        these motions say, relative to free fall, and the rates are ``speed``."""
        first, second = self.loop.first, self.loop.second
        with self.enter("Fl", self.loop.body):
            place = first.placement
            point = matvec(place.rotation, self.offset)
            # what of A's body is at B's origin
            reached = vadd(place.translation, point)
            one = _seen(first, motions, base, reached)
            other = _seen(second, motions, base, second.placement.translation)
            moved = matvec(self.turn, other.acceleration)
            linear = vsub(one.acceleration, moved)
            # A's axes turn: speed is −u̇
            swept = cross(one.turning, speed[:3])
            linear = vsub(linear, vscale(2.0, swept))
            turned = matvec(self.turn, other.turning_faster)
            angular = vsub(one.turning_faster, turned)
            turning = matvec(self.turn, other.turning)
            carried = cross(one.turning, turning)
            return linear + vadd(angular, carried)


@dataclass(frozen=True)
class _Seen:
    """A frame's motion in its own directions: how it is ``turning``, by how much faster, and the ``acceleration`` of a
    point of its body, relative to free fall."""

    turning: Vector
    turning_faster: Vector
    acceleration: Vector


def _seen(frame: TaskFrame, motions: Sequence[Motion], base: Motion, point: Vector) -> _Seen:
    """A frame's motion, with the acceleration of a ``point`` in its body's coordinates."""
    motion = motions[frame.body] if frame.body >= 0 else base
    into = transpose(frame.placement.rotation)
    swung = matvec(motion.gradient, point)
    moved = vadd(motion.acceleration, swung)
    turning = matvec(into, motion.angular_velocity)
    turning_faster = matvec(into, motion.angular_acceleration)
    return _Seen(turning, turning_faster, matvec(into, moved))


NEXT = (1, 2, 0)
"""The axis after each."""


def _turned(turn: Matrix, held: Sequence[int]) -> Vector:
    """By how much B is turned in A (3), about the axes that are held."""
    if len(held) == LINEAR_AXES - 1:
        (free,) = {0, 1, 2} - set(held)
        column = tuple(row[free] for row in turn)
        return cross(IDENTITY3[free], column)
    found = []
    for one in NEXT:
        other = NEXT[one]
        twice = sub(turn[other][one], turn[one][other])
        found.append(mul(0.5, twice))
    return tuple(found)
