"""Inertia of a frame on a serial chain's last link, Λ, and its inverse by Schur complements, in logarithmic depth.

The last link answers a wrench at the frame with its own mobility D, less what its joint's constraints take of that; to
an acceleration it opposes its own inertia S = D⁻¹, and what its joint drags along. With A of
:mod:`rbdgen.algo.cfa`, and A′ the same without the last link's mobility,

    Λ⁻¹ = D − Eᵀ A⁻¹ E,    Λ = S + Rᵀ A′⁻¹ R,

where E = Wᵀ J X and R = E D⁻¹ reach the last joint only: W are its constrained directions, J is the last link's
mobility, X takes wrenches from the frame to the joint. So of A′⁻¹ only its last block is needed, the inverse of the
complement that is left when all other rows are eliminated (:func:`rbdgen.algo.odd_even.complement`): how the chain
before the last link yields. That link's mobility is added to it for A⁻¹, and never taken from a sum. As a matrix or as
an operator, no step goes back along the chain. (Fijany, "Schur complement factorizations and parallel O(log N)
algorithms for computation of operational space mass matrix and its inverse", ICRA 1994; his A′ is negative.)

Own parts and E and R are constants in the frame's directions; other references turn the result. Entries are submodules
``Os_i`` and ``Oi_i`` of the last link, elimination is ``Ce_i``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from rbdgen.algo.cfa import (
    SPATIAL,
    Asked,
    Constraints,
    EnterFrom,
    chosen_entries,
    constraints,
    mobility_at_joint,
    scaled_entries,
    unit_scales,
)
from rbdgen.algo.chain import chain, outward_sums
from rbdgen.algo.following import Entries
from rbdgen.algo.frames import ALIGNED, LOCAL
from rbdgen.algo.mobility import BlockInverse, Mobility, block_inverse, moved_column
from rbdgen.algo.odd_even import complement
from rbdgen.algo.operational_space import FrameInertia
from rbdgen.errors import UnsupportedError, short
from rbdgen.model.body import Placement, TaskFrame
from rbdgen.model.joints import JointPlacement
from rbdgen.model.robot import Robot
from rbdgen.spatial import (
    IDENTITY3,
    ZERO3,
    Enter,
    Matrix,
    Scalar,
    Vector,
    add,
    anywhere,
    constant_matrix,
    cross,
    dot,
    is_constant,
    madd,
    matmul,
    matvec,
    mul,
    skew,
    transpose,
    vadd,
    vscale,
    vsub,
)

ASKED = Asked("operational-space schur", "operational-space factors")
SWAPPED = (3, 4, 5, 0, 1, 2)
"""Angular and linear parts exchanged."""


def check_end(robot: Robot, what: str, frames: Sequence[TaskFrame]) -> None:
    """UnsupportedError unless the only one of ``frames`` is on a serial chain's last link. ``what``: their kind."""
    last = len(robot.bodies) - 1
    if len(frames) == 1 and frames[0].body == last:
        return
    given = ", ".join(short(f.name) for f in frames)
    raise UnsupportedError(
        f"{ASKED.family}: takes one {what}, on the last link {short(robot.bodies[last].name)} of robot "
        f"{short(robot.name)}, not {given}; give that one, or use {ASKED.remedy}"
    )


@dataclass(frozen=True)
class _Seen:
    """A frame as it is ``turned`` against a reference's directions, and its ``position`` from the reference's point in
    these."""

    turned: Matrix
    position: Vector

    def matrix(self, m: Mobility) -> Mobility:
        """A mobility of the frame as the reference has it."""
        there = m.seen_from(transpose(self.turned))
        return there.about(vscale(-1.0, self.position))

    def inward(self, first: Vector, second: Vector) -> tuple[Vector, Vector]:
        """The frame's wrench from that of the reference: moment and force."""
        lever = cross(self.position, second)
        back = transpose(self.turned)
        return matvec(back, vsub(first, lever)), matvec(back, second)

    def outward(self, first: Vector, second: Vector) -> tuple[Vector, Vector]:
        """The reference's motion from that of the frame: angular and linear acceleration."""
        first = matvec(self.turned, first)
        second = matvec(self.turned, second)
        return first, vadd(second, cross(self.position, first))


@dataclass(frozen=True)
class ScaledInverse:
    """The inverse of a positive definite block that is taken in units of its rows (``scales``)."""

    block: BlockInverse
    scales: Vector

    def times(self, x: Vector) -> Vector:
        """The inverse times a vector."""
        scaled = _by_entry(self.scales, x)
        column = self.block.reduced(scaled)
        return _by_entry(self.scales, self.block.solved(column))

    @property
    def matrix(self) -> Matrix:
        """All of it."""
        size = len(self.scales)
        units = [tuple(float(i == j) for j in range(size)) for i in range(size)]
        columns = [self.block.reduced(unit) for unit in units]

        def entry(i: int, j: int) -> Scalar:
            form = self.block.form(columns[i], columns[j])
            return mul(self.scales[i] * self.scales[j], form)

        return _symmetric(size, entry)


@dataclass(frozen=True)
class _Answer:
    """Answers of a frame on the last link to wrenches with motions, or motions with wrenches: as its link does alone
    (``own``), and what the chain before adds, ``sign`` × Xᵀ ``inverse`` X with constant rows X (``reach``).

    Where wrenches are answered, moments and angular accelerations come first, where motions are, forces and linear
    accelerations: both go to other origins alike then, and an inertia is written as a :class:`Mobility`."""

    own: Mobility
    sign: float
    reach: Matrix
    inverse: ScaledInverse

    @property
    def matrix(self) -> Mobility:
        """As a matrix."""
        own = self.own.rows
        columns = _columns(self.reach)
        carried = [matvec(self.inverse_matrix, column) for column in columns]

        def entry(i: int, j: int) -> Scalar:
            more = dot(columns[i], carried[j])
            return add(own[i][j], mul(self.sign, more))

        return Mobility.of(_symmetric(len(own), entry))

    @cached_property
    def inverse_matrix(self) -> Matrix:
        """The inverse, formed."""
        return self.inverse.matrix

    def times(self, x: Vector) -> Vector:
        """As an operator."""
        there = tuple(dot(row, x) for row in self.reach)
        answer = self.inverse.times(there)
        result = []
        for row, column in zip(self.own.rows, _columns(self.reach), strict=True):
            own = dot(row, x)
            more = dot(column, answer)
            result.append(add(own, mul(self.sign, more)))
        return tuple(result)


class SchurComplements(FrameInertia):
    """The inertia of a ``frame`` on the last link of a chain, whose ``robot`` has the links' own inertias, with its
    ``joints`` placed. UnsupportedError as :func:`rbdgen.algo.cfa.constraints`; :func:`check_end` and trees are not
    looked for."""

    def __init__(
        self,
        robot: Robot,
        joints: list[JointPlacement],
        frame: TaskFrame,
        reference: str,
        damping: float = 0.0,
        enter: Enter = anywhere,
    ) -> None:
        super().__init__([frame.body] * 6, enter)
        self.damping = damping
        self.robot = robot
        self.joints = joints
        self.place = frame.placement
        self.reference = reference
        self.last = frame.body

    @cached_property
    def constraints(self) -> Constraints:
        """Of all joints."""
        return constraints(self.robot, self.joints, ASKED, self.enter)

    @cached_property
    def yielding(self) -> Matrix:
        """A′ complemented: how the last joint's constrained directions yield without its link. Nothing of a last joint
        that constrains nothing."""
        found = self.constraints
        diagonal = []
        below = []
        for i in range(found.first, self.last + 1):
            with self.enter("Ce", i):
                own = found.before[i]
                if i < self.last:
                    own = found.mobilities[i] + own
                diagonal.append(found.diagonal(i, own.rows))
                if i > found.first:
                    below.append(found.below(i))
        if not diagonal:
            return ()
        rest = complement(diagonal, below, EnterFrom(self.enter, found.first))
        scales = _entries(found.scales[-1], self.constrained)
        units = tuple(1.0 / scale for scale in scales)
        with self.enter("Ce", self.last):
            return scaled_entries(units, rest, units)

    @property
    def constrained(self) -> tuple[int, ...]:
        """The constraints of the last joint."""
        return self.constraints.axes[-1].constrained

    def _inverted(self, block: Matrix, alike: Mobility) -> ScaledInverse:
        """The inverse of a block of the last joint's, of about the size of ``alike``."""
        scales = _entries(unit_scales(alike), self.constrained)
        scaled = scaled_entries(scales, block, scales)
        return ScaledInverse(block_inverse(scaled), scales)

    @cached_property
    def moving(self) -> _Answer:
        """Of wrenches: Λ⁻¹."""
        own = self.constraints.mobilities[-1].about(self.place.translation)
        own = own.seen_from(self.place.rotation)
        reach = tuple(self.alone[k] for k in self.constrained)
        with self.enter("Os", self.last):
            inverse = self.freed
        return _Answer(own, -1.0, reach, inverse)

    @cached_property
    def alone(self) -> list[Vector]:
        """Motion of the frame by each component of a wrench at the last joint, were its link alone: angular first."""
        columns = []
        for column in self.constraints.mobilities[-1].columns:
            e, d = moved_column(column, self.place.translation, self.place.rotation)
            columns.append(e + d)
        return columns

    @cached_property
    def freed(self) -> ScaledInverse:
        """The inverse of A's complement: A′'s and the last link's mobility."""
        mobility = self.constraints.mobilities[-1]
        own = chosen_entries(mobility.rows, self.constrained, self.constrained)
        block = madd(self.yielding, own)
        return self._inverted(block, mobility + self._before)

    @cached_property
    def _resisting(self) -> _Answer:
        """Of motions: Λ."""
        inertia = self.robot.bodies[-1].inertia
        mass = tuple(vscale(inertia.mass, row) for row in IDENTITY3)
        own = Mobility(mass, skew(inertia.first_moment), constant_matrix(inertia.rotational))
        own = own.about(self.place.translation)
        own = own.seen_from(self.place.rotation)
        rows = _to_joint(self.place)
        reach = tuple(rows[k] for k in self.constrained)
        with self.enter("Oi", self.last):
            inverse = self._inverted(self.yielding, self._before)
        return _Answer(own, 1.0, reach, inverse)

    @property
    def _before(self) -> Mobility:
        """The constant mobility of the link before the last one, at the last joint; of a chain of one link, its own,
        for a size."""
        mobilities = self.constraints.mobilities
        if self.last == 0:
            return mobilities[0]
        return mobility_at_joint(self.robot.bodies[-1], mobilities[-2])

    @cached_property
    def seen(self) -> _Seen:
        """The frame in the reference."""
        if self.reference == LOCAL:
            return _Seen(IDENTITY3, ZERO3)
        found = chain(self.robot, self.joints, self.enter)
        with self.enter("Wr", self.last):
            link = found.rotations[-1]
            turned = matmul(link, self.place.rotation)
            if self.reference == ALIGNED:
                return _Seen(turned, ZERO3)
            own = matvec(link, self.place.translation)
        origin = outward_sums("Wr", found.offsets, self.enter)[-1]
        with self.enter("Wr", self.last):
            return _Seen(turned, vadd(origin, own))

    def _inverse(self) -> Entries:
        """Λ⁻¹ by the complement of A."""
        answer = self.moving
        with self.enter("Os", self.last):
            rows = self.seen.matrix(answer.matrix).rows
            entries = _lower_triangle(chosen_entries(rows, SWAPPED, SWAPPED))
            for k in range(len(rows)):
                own = entries.get((k, k), 0.0)
                entries[k, k] = add(own, self.damping)
        return entries

    def _inertia(self) -> Entries:
        """Λ by the complement of A′; with a damping it is none, and found of Λ⁻¹."""
        if self.damping:
            return super()._inertia()
        answer = self._resisting
        with self.enter("Oi", self.last):
            return _lower_triangle(self.seen.matrix(answer.matrix).rows)

    def force(self, acceleration: Sequence[Scalar]) -> Vector:
        """Λ times an acceleration of the frame: the force that it takes."""
        if self.damping:
            return super().force(acceleration)
        answer = self._resisting
        with self.enter("Oi", self.last):
            return self._answered(answer, tuple(acceleration))

    def acceleration(self, force: Sequence[Scalar]) -> Vector:
        """Λ⁻¹ times a force on the frame: the acceleration that it gives."""
        answer = self.moving
        with self.enter("Os", self.last):
            swapped = _entries(tuple(force), SWAPPED)
            moved = self._answered(answer, swapped)
            damped = vscale(self.damping, tuple(force))
            return vadd(_entries(moved, SWAPPED), damped)

    def _answered(self, answer: _Answer, x: Vector) -> Vector:
        """The answer to a vector of the reference."""
        first, second = self.seen.inward(x[:3], x[3:])
        answered = answer.times(first + second)
        first, second = self.seen.outward(answered[:3], answered[3:])
        return first + second


def _entries(x: Vector, numbers: Sequence[int]) -> Vector:
    """Some entries of a vector."""
    return tuple(x[k] for k in numbers)


def _by_entry(scales: Vector, x: Vector) -> Vector:
    """A vector times constants, entry by entry."""
    pairs = zip(scales, x, strict=True)
    return tuple(mul(scale, entry) for scale, entry in pairs)


def _columns(rows: Matrix) -> Matrix:
    """The six columns of rows, of which there may be none."""
    return tuple(tuple(row[k] for row in rows) for k in range(SPATIAL))


def _symmetric(size: int, entry: Callable[[int, int], Scalar]) -> Matrix:
    """The symmetric matrix of which ``entry`` gives the lower triangle."""
    lower: dict[tuple[int, int], Scalar] = {}
    for i in range(size):
        for j in range(i + 1):
            lower[j, i] = lower[i, j] = entry(i, j)
    rows = []
    for i in range(size):
        rows.append(tuple(lower[i, j] for j in range(size)))
    return tuple(rows)


def _lower_triangle(m: Matrix) -> Entries:
    """Entries (i, j), i ≥ j, without those that are zero."""
    found: Entries = {}
    for i, row in enumerate(m):
        for j, x in enumerate(row[: i + 1]):
            if not is_constant(x, 0):
                found[i, j] = x
    return found


def _to_joint(place: Placement) -> Matrix:
    """Rows by which the last link's motion, angular first, follows from that of a frame in this place, linear first."""
    swung = matmul(skew(place.translation), place.rotation)
    angular = tuple((*ZERO3, *row) for row in place.rotation)
    linear = []
    for row, lever in zip(place.rotation, swung, strict=True):
        linear.append((*row, *lever))
    return (*angular, *linear)
