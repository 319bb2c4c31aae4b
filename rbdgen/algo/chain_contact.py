"""A contact of a serial chain's last link by constraint forces: one solution, and the contact's force on its way.

The joints' constraint forces solve A λ = b (:mod:`rbdgen.algo.cfa`), and a wrench on the last link enters the last row
of b only. That row is the last to be eliminated and the first to be known: when it is, so is the acceleration of the
contact without its force, the last link's mobility times what its joint passes on. Its inverse makes the contact's Λ⁻¹
as well (:mod:`rbdgen.algo.schur`; Fijany, ICRA 1994). So the contact's force is found between elimination and the steps
back, which then give the joints' accelerations with it: no second solution, and no Jacobian.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from rbdgen.algo.cfa import SPATIAL, ConstraintForces, Constraints, EnterFrom, constraint_forces
from rbdgen.algo.following import Entries
from rbdgen.algo.operational_space import ContactSpace, FreeMotion
from rbdgen.algo.schur import ASKED, ScaledInverse, SchurComplements
from rbdgen.model.body import TaskFrame
from rbdgen.model.joints import JointPlacement
from rbdgen.model.robot import Robot
from rbdgen.spatial import Enter, Scalar, Vector, anywhere, dot, mul, vadd


class ChainContact(ContactSpace):
    """Rows of a contact, the ``axes`` of its ``frame`` on the last link; all else as
    :class:`rbdgen.algo.schur.SchurComplements`. UnsupportedError for a single body whose joint constrains nothing."""

    def __init__(
        self,
        robot: Robot,
        joints: list[JointPlacement],
        frame: TaskFrame,
        axes: Sequence[int],
        reference: str,
        damping: float = 0.0,
        enter: Enter = anywhere,
    ) -> None:
        super().__init__([frame.body] * len(axes), enter)
        self.axes = tuple(axes)
        self.forces = constraint_forces(robot, joints, enter, ASKED, last=True)
        if not self.forces.factors.levels:
            raise ASKED.refused(robot.bodies[-1], "constrains nothing")
        self.end = _End(robot, joints, frame, reference, damping, enter, self.forces)

    def _inverse(self) -> Entries:
        """The contact's part of the frame's Λ⁻¹."""
        whole = self.end.inverse
        entries: Entries = {}
        for i, one in enumerate(self.axes):
            for j, other in enumerate(self.axes[: i + 1]):
                place = max(one, other), min(one, other)
                if place in whole:
                    entries[i, j] = whole[place]
        return entries

    def acceleration(self, force: Sequence[Scalar]) -> Vector:
        """Λ⁻¹ times a force on the rows."""
        moved = self.end.acceleration(self.on_frame(force))
        return tuple(moved[axis] for axis in self.axes)

    def on_frame(self, force: Sequence[Scalar]) -> Vector:
        """A force on the rows as one on the frame (6)."""
        whole: list[Scalar] = [0.0] * SPATIAL
        for axis, x in zip(self.axes, force, strict=True):
            whole[axis] = x
        return tuple(whole)

    def free_motion(self, rest: Sequence[Scalar]) -> FreeMotion:
        """The motion by ``rest`` = τ − C (nv)."""
        return _ChainMotion(self, rest)


class _End(SchurComplements):
    """The chain's end, whose complement comes with the elimination."""

    def __init__(
        self,
        robot: Robot,
        joints: list[JointPlacement],
        frame: TaskFrame,
        reference: str,
        damping: float,
        enter: Enter,
        forces: ConstraintForces,
    ) -> None:
        super().__init__(robot, joints, frame, reference, damping, enter)
        self.forces = forces

    @cached_property
    def constraints(self) -> Constraints:
        """Of all joints."""
        return self.forces.constraints

    @cached_property
    def freed(self) -> ScaledInverse:
        """The inverse of A's last row, as it is eliminated."""
        scales = self.constraints.scales[-1]
        units = tuple(scales[k] for k in self.constrained)
        return ScaledInverse(self.forces.factors.levels[-1][0].inverse, units)


class _ChainMotion(FreeMotion):
    """Between elimination and the steps back."""

    def __init__(self, contact: ChainContact, rest: Sequence[Scalar]) -> None:
        self.contact = contact
        self.end = contact.end
        forces = contact.forces
        self.enter = EnterFrom(contact.enter, forces.constraints.first)
        self.wrenches = forces.driven(tuple(rest))
        right = forces.right(self.wrenches, contact.enter)
        # down to the last row, and no further: the contact's force is found first
        self.rest = forces.factors.reduced(right, self.enter)
        self.row = len(self.rest) - 1
        with self.enter("Cs", self.row):
            self.held = self._solved(self.rest[self.row])

    def _solved(self, right: Vector) -> Vector:
        """The last row's part of a solution, in its units."""
        block = self.end.freed.block
        return block.solved(block.reduced(right))

    @cached_property
    def _moved(self) -> Vector:
        """The frame's acceleration (6), linear first."""
        end = self.end
        wrench = list(self.wrenches[-1])
        with self.enter("Cs", self.row):
            for k, scale, force in zip(end.constrained, end.freed.scales, self.held, strict=True):
                wrench[k] = mul(scale, force)
        with self.contact.enter("Os", end.last):
            rows = zip(*end.alone, strict=True)
            own = tuple(dot(row, tuple(wrench)) for row in rows)
            angular, linear = end.seen.outward(own[:3], own[3:])
        return linear + angular

    def acceleration(self, row: int) -> Scalar:
        """Of one of the contact's rows."""
        return self._moved[self.contact.axes[row]]

    def pushed(self, forces: Sequence[Scalar]) -> Vector:
        """The joints' accelerations with forces on the rows."""
        end = self.end
        whole = self.contact.on_frame(forces)
        with self.contact.enter("Os", end.last):
            moment, force = end.seen.inward(whole[3:], whole[:3])
            pushed = tuple(dot(column, moment + force) for column in end.alone)
        with self.enter("Cs", self.row):
            asked = []
            for k, scale in zip(end.constrained, end.freed.scales, strict=True):
                # the contact's wrench changes the last row alone
                asked.append(mul(-scale, pushed[k]))
            held = vadd(self.held, self._solved(tuple(asked)))
        chain = self.contact.forces
        found = chain.factors.restored(self.rest, {self.row: held}, self.enter)
        wrenches = [list(wrench) for wrench in self.wrenches]
        chain.constrain(wrenches, found, self.contact.enter)
        return chain.joint_accelerations(wrenches, self.contact.enter, pushed)
