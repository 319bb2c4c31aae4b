"""The constraint-force algorithm: M⁻¹ of a serial chain applied in logarithmic depth, without M.

A joint between two links passes a wrench on: along its motion subspace S what drives it, along the rest W what it
constrains. With the links' mobilities (:mod:`rbdgen.algo.mobility`), what joint i adds to the acceleration of the link
before it is

    r_i = D_i f_i − G_i f_{i−1} − G_{i+1}ᵀ f_{i+1},    D_i = J_i + X J_{i−1} Xᵀ,  G_i = X J_{i−1},

for wrenches f on a chain at rest without gravity, X taking motions over the joint. No joint moves along W: Wᵀ r = 0 is
a block tridiagonal system A λ = −B τ for the constraint forces λ, and q̈ = Sᵀ r, which makes M⁻¹ = C − Bᵀ A⁻¹ B. A
joint's blocks depend on its own coordinate only, and odd-even elimination (:mod:`rbdgen.algo.odd_even`) takes
⌊log₂ n⌋ + 1 levels. (Fijany, Sharf & D'Eleuterio, IEEE Trans. Robotics and Automation 11(3), 1995.)

The mobilities of light links are large and cancel along the chain, which costs a bit or two beside the factors of M. In
a block constraint moments come behind forces (:data:`FORCES_FIRST`): what turns a long chain is far less than what
turns a link, and where the rest of the block was made of a determinant of such small differences most digits were lost.
In float64 five of six random chains of 128 links come to between 5e-10 and 4e-9 of the largest acceleration, one to
2e-8. A's condition is about 2e6: solved with pivots it would leave 2e-10 to 3e-9, while the factors of M leave 1e-11. A
step of refinement would settle the rest, for a second solution of all levels in hardware.

Blocks are of submodules ``Ce_i``, what is done with a right-hand side of ``Cs_i``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from rbdgen.algo.mobility import NO_MOBILITY, Mobility, free_mobility, moved_column
from rbdgen.algo.odd_even import OddEvenFactors, eliminate
from rbdgen.errors import UnsupportedError, short
from rbdgen.model.body import Body
from rbdgen.model.joints import JointPlacement
from rbdgen.model.robot import Robot
from rbdgen.spatial import (
    Enter,
    Matrix,
    Scalar,
    Vector,
    add,
    anywhere,
    dot,
    mul,
    sub,
    transpose,
    vscale,
)

SPATIAL = 6
Wrenches = Sequence[Sequence[Scalar]]
"""By joint what it passes on (6, moments first)."""
FORCES_FIRST = (3, 4, 5, 0, 1, 2)
"""Components of a wrench in the order in which a block has them."""
ROUNDING = 1e-12
"""Largest distance of a coordinate axis from one."""


@dataclass(frozen=True)
class Asked:
    """For what is refused: the ``family`` of algorithms that was asked for, and the one that takes it instead
    (``remedy``)."""

    family: str
    remedy: str

    def refused(self, body: Body, why: str) -> UnsupportedError:
        """The error for a body's joint."""
        return UnsupportedError(
            f"{self.family}: joint {short(body.joint_name)} {why}; use {self.remedy}"
        )


FORWARD_DYNAMICS = Asked("forward-dynamics cfa", "forward-dynamics factors")


@dataclass(frozen=True)
class JointAxes:
    """Components of a wrench that drive a joint, by degree of freedom with their signs, and those that it
    constrains."""

    driven: tuple[tuple[int, float], ...]
    constrained: tuple[int, ...]


@dataclass(frozen=True)
class Constraints:
    """Constraints of a chain's joints: by joint its ``axes``, its link's ``mobilities``, those of the link before
    as its own link has them (``before``), and G (``passed``, 6×6), both nothing of the first one, and units of force by
    component that bring the diagonal of A near one (``scales``). ``first`` is the first joint with constraints."""

    axes: tuple[JointAxes, ...]
    mobilities: list[Mobility]
    before: list[Mobility]
    passed: list[Matrix]
    scales: list[Vector]
    first: int

    def diagonal(self, i: int, own: Matrix) -> Matrix:
        """A's diagonal block of joint ``i``, of whose D is ``own`` (6×6)."""
        rows = self.axes[i].constrained
        scaled = scaled_entries(self.scales[i], own, self.scales[i])
        return chosen_entries(scaled, rows, rows)

    def below(self, i: int) -> Matrix:
        """A's block of joint ``i`` and the one before it."""
        negative = vscale(-1.0, self.scales[i])
        scaled = scaled_entries(negative, self.passed[i], self.scales[i - 1])
        return chosen_entries(scaled, self.axes[i].constrained, self.axes[i - 1].constrained)


@dataclass(frozen=True)
class ConstraintForces:
    """A chain whose ``constraints`` are eliminated: D by joint (``own``, 6×6), and the ``factors`` of A's rows from the
    first joint that constrains anything on."""

    constraints: Constraints
    own: list[Matrix]
    factors: OddEvenFactors

    @property
    def axes(self) -> tuple[JointAxes, ...]:
        """By joint."""
        return self.constraints.axes

    def accelerations(self, tau: Vector, enter: Enter = anywhere) -> Vector:
        """M⁻¹ times the joints' forces (nv)."""
        wrenches = self.driven(tau)
        right = self.right(wrenches, enter)
        moved = EnterFrom(enter, self.constraints.first)
        held = self.factors.solve(right, moved)
        self.constrain(wrenches, held, enter)
        return self.joint_accelerations(wrenches, enter)

    def driven(self, tau: Vector) -> list[list[Scalar]]:
        """The joints' wrenches (6 each) without constraint forces."""
        given = iter(tau)
        wrenches = []
        for axes in self.axes:
            wrench: list[Scalar] = [0.0] * SPATIAL
            for k, sign in axes.driven:
                force = next(given)
                wrench[k] = mul(sign, force)
            wrenches.append(wrench)
        return wrenches

    def right(self, wrenches: Wrenches, enter: Enter = anywhere) -> list[Vector]:
        """By row of A what the ``wrenches`` without constraint forces ask of these."""
        right = []
        for i in range(self.constraints.first, len(self.axes)):
            with enter("Cs", i):
                entries = []
                for k in self.axes[i].constrained:
                    forbidden = self._relative(i, k, wrenches)
                    scale = -self.constraints.scales[i][k]
                    entries.append(mul(scale, forbidden))
                right.append(tuple(entries))
        return right

    def constrain(
        self, wrenches: list[list[Scalar]], held: Sequence[Vector], enter: Enter = anywhere
    ) -> None:
        """Put the constraint forces, by row of A, into the joints' wrenches (in place)."""
        for i, forces in enumerate(held, self.constraints.first):
            with enter("Cs", i):
                for k, force in zip(self.axes[i].constrained, forces, strict=True):
                    scale = self.constraints.scales[i][k]
                    wrenches[i][k] = mul(scale, force)

    def joint_accelerations(
        self, wrenches: Wrenches, enter: Enter = anywhere, pushed: Vector = (0.0,) * SPATIAL
    ) -> Vector:
        """The joints' accelerations by their wrenches. ``pushed``: the last link's own acceleration (6, angular first)
        by what else acts on it."""
        result: list[Scalar] = []
        last = len(self.axes) - 1
        for i, axes in enumerate(self.axes):
            with enter("Cs", i):
                for k, sign in axes.driven:
                    moved = self._relative(i, k, wrenches)
                    if i == last:
                        moved = add(moved, pushed[k])
                    result.append(mul(sign, moved))
        return tuple(result)

    def _relative(self, i: int, k: int, wrenches: Wrenches) -> Scalar:
        """Component ``k`` of what joint ``i`` adds to the acceleration of the link before it."""
        row = self.own[i][k]
        total = dot(row, tuple(wrenches[i]))
        if i > 0:
            row = self.constraints.passed[i][k]
            before = tuple(wrenches[i - 1])
            taken = dot(row, before)
            total = sub(total, taken)
        if i + 1 < len(self.axes):
            column = tuple(row[k] for row in self.constraints.passed[i + 1])
            after = tuple(wrenches[i + 1])
            taken = dot(column, after)
            total = sub(total, taken)
        return total


@dataclass(frozen=True)
class EnterFrom:
    """Enters submodules of rows that are numbered from the joint ``first``."""

    enter: Enter
    first: int

    def __call__(self, kind: str, body: int | None) -> AbstractContextManager[None]:
        row = 0 if body is None else body
        return self.enter(kind, self.first + row)


def constraint_forces(
    robot: Robot,
    joints: list[JointPlacement],
    enter: Enter = anywhere,
    asked: Asked = FORWARD_DYNAMICS,
    last: bool = False,
) -> ConstraintForces:
    """The constraints of ``robot`` with its ``joints`` placed, eliminated; with ``last``, those of the last joint at
    last. Refuses as :func:`constraints`."""
    found = constraints(robot, joints, asked, enter)
    own = []
    for i, mobility in enumerate(found.mobilities):
        with enter("Ce", i):
            both = mobility + found.before[i]
            own.append(both.rows)
    diagonal = []
    below = []
    for i in range(found.first, len(own)):
        with enter("Ce", i):
            diagonal.append(found.diagonal(i, own[i]))
            if i > found.first:
                below.append(found.below(i))
    factors = eliminate(diagonal, below, EnterFrom(enter, found.first), last)
    return ConstraintForces(found, own, factors)


def constraints(
    robot: Robot, joints: list[JointPlacement], asked: Asked, enter: Enter = anywhere
) -> Constraints:
    """The constraints of ``robot`` with its ``joints`` placed. UnsupportedError naming a joint or a link that the
    algorithm does not take; trees are not looked for (:func:`rbdgen.algo.chain.check_serial`)."""
    axes = tuple(joint_axes(robot, i, asked) for i in range(len(robot.bodies)))
    mobilities = [free_mobility(body, asked.family, asked.remedy) for body in robot.bodies]
    before = [NO_MOBILITY]
    passed: list[Matrix] = [()]
    scales = [unit_scales(mobilities[0])]
    for i, body in enumerate(robot.bodies[1:], 1):
        at_joint = mobility_at_joint(body, mobilities[i - 1])
        scales.append(unit_scales(mobilities[i] + at_joint))
        with enter("Ce", i):
            there = at_joint.about(joints[i].translation)
            before.append(there.seen_from(joints[i].rotation))
            passed.append(_passed(body, joints[i], mobilities[i - 1]))
    first = 0 if axes[0].constrained else 1
    return Constraints(axes, mobilities, before, passed, scales, first)


def joint_axes(robot: Robot, i: int, asked: Asked) -> JointAxes:
    """The axes of the joint of body ``i``, which must be coordinate axes. UnsupportedError naming a joint that is
    moved by more than its force, or along other axes."""
    body = robot.bodies[i]
    joint = body.joint
    driven = []
    for angular, linear in zip(joint.angular_subspace, joint.linear_subspace, strict=True):
        column = angular + linear
        largest = max(range(SPATIAL), key=lambda k: abs(column[k]))
        sign = 1.0 if column[largest] > 0.0 else -1.0
        left = list(column)
        left[largest] -= sign
        if max(map(abs, left)) > ROUNDING:
            raise asked.refused(body, "moves along no coordinate axis")
        driven.append((largest, sign))
    if body.mimic is not None:
        raise asked.refused(body, "follows another")
    if any(body.rotors):
        raise asked.refused(body, "turns a rotor's inertia")
    free = [k for k, _ in driven]
    constrained = tuple(k for k in FORCES_FIRST if k not in free)
    if i > 0 and not constrained:
        raise asked.refused(body, "constrains nothing")
    return JointAxes(tuple(driven), constrained)


def mobility_at_joint(body: Body, before: Mobility) -> Mobility:
    """The mobility of the link before, at a body's joint."""
    placement = body.placement
    there = before.about(placement.translation)
    return there.seen_from(placement.rotation)


def _passed(body: Body, joint: JointPlacement, before: Mobility) -> Matrix:
    """G of a body's joint: how the link before moves there under its own joint's wrench."""
    placement = body.placement
    columns = []
    for column in before.columns:
        there = moved_column(column, placement.translation, placement.rotation)
        e, d = moved_column(there, joint.translation, joint.rotation)
        columns.append(e + d)
    return transpose(tuple(columns))


def unit_scales(mobility: Mobility) -> Vector:
    """By component of a wrench the power of two nearest to the root of what a constant mobility does not resist."""
    rows = mobility.rows
    return tuple(2.0 ** -round(math.log2(rows[k][k]) / 2) for k in range(SPATIAL))


def scaled_entries(left: Vector, m: Matrix, right: Vector) -> Matrix:
    """The rows of a matrix times ``left``, its columns times ``right``."""
    rows = []
    for scale, row in zip(left, m, strict=True):
        pairs = zip(row, right, strict=True)
        entries = tuple(mul(scale * other, x) for x, other in pairs)
        rows.append(entries)
    return tuple(rows)


def chosen_entries(m: Matrix, rows: Sequence[int], columns: Sequence[int]) -> Matrix:
    """Some rows and columns of a matrix."""
    chosen = []
    for i in rows:
        row = m[i]
        chosen.append(tuple(row[j] for j in columns))
    return tuple(chosen)
