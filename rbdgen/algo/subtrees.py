"""Motions, inertias, momenta and forces of subtrees, all in the base's coordinates and about its origin.

There, what a subtree has is the sum of what its bodies have, and joints on one path meet without a transform between
them. Sources: spatial vectors are those of Featherstone 2008, chapter 2; that all derivatives of dynamics are found by
the columns' rates Ψ̇ and Ψ̈ is Singh, Russell & Wensing, RA-L 2022.

Let S_k be the column of degree of freedom k, v and a its body's velocity and acceleration (less gravity), and λ stand
for the parent. Moving joint k turns all of its subtree; what is not that turning is

    of velocities        Ψ̇_k = v_λ × S_k,
    of accelerations     Ψ̈_k − v × Ψ̇_k   with  Ψ̈_k = a_λ × S_k + v_λ × Ψ̇_k.

By velocity k, velocities change by S_k, and accelerations by Ψ̇_k + Ṡ_k − v × S_k with Ṡ_k = v × S_k (its own body's v).
The force on a subtree, which is I a + v ×* I v of each body, then changes by I Ψ̈_k + 2 B Ψ̇_k, or by
I (Ψ̇_k + Ṡ_k) + 2 B S_k, where 2 B x is what acts on points that accelerate by 2 ω_x × v(r): it takes the angular part
of x and the subtree's momentum alone (:mod:`rbdgen.algo.composite`).

Submodules: ``Fp_i`` places body i, ``Bi_i`` has its columns and inertia and those of its subtree, ``Bv_i`` motions,
``Bf_i`` momenta and forces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from rbdgen.algo.composite import (
    CompositeInertia,
    CompositeMomentum,
    Variation,
    outer,
    response,
    symmetrised,
)
from rbdgen.algo.following import rates
from rbdgen.algo.frames import body_places
from rbdgen.algo.rnea import Wrench
from rbdgen.algo.rotation import rotate_symmetric
from rbdgen.model.body import Inertia
from rbdgen.model.joints import JointPlacement
from rbdgen.model.robot import Robot
from rbdgen.spatial import (
    ZERO3,
    Enter,
    Scalar,
    Vector,
    add,
    anywhere,
    cross,
    dot,
    madd,
    matvec,
    vadd,
    vscale,
    vsub,
)

Sum = TypeVar("Sum", CompositeInertia, CompositeMomentum, Wrench)


@dataclass(frozen=True)
class Twist:
    """A motion of space: ``angular`` velocity, and the velocity of what is at the origin, ``linear``."""

    angular: Vector
    linear: Vector

    def __add__(self, other: Twist) -> Twist:
        angular = vadd(self.angular, other.angular)
        return Twist(angular, vadd(self.linear, other.linear))

    def __sub__(self, other: Twist) -> Twist:
        angular = vsub(self.angular, other.angular)
        return Twist(angular, vsub(self.linear, other.linear))

    def scaled(self, factor: Scalar) -> Twist:
        """``factor`` times this."""
        angular = vscale(factor, self.angular)
        return Twist(angular, vscale(factor, self.linear))

    def cross(self, other: Twist) -> Twist:
        """How ``other`` changes where it is carried along: this × ``other``."""
        linear = cross(self.angular, other.linear)
        linear = vadd(linear, cross(self.linear, other.angular))
        return Twist(cross(self.angular, other.angular), linear)

    def carries(self, wrench: Wrench) -> Wrench:
        """How a wrench changes where it is carried along: this ×* ``wrench``."""
        moment = cross(self.angular, wrench.moment)
        moment = vadd(moment, cross(self.linear, wrench.force))
        return Wrench(moment, cross(self.angular, wrench.force))

    def power(self, wrench: Wrench) -> Scalar:
        """What a wrench does along this."""
        turning = dot(self.angular, wrench.moment)
        return add(turning, dot(self.linear, wrench.force))


STILL = Twist(ZERO3, ZERO3)


def momentum_of(inertia: CompositeInertia, moving: Twist) -> Wrench:
    """I x."""
    still = CompositeMomentum(ZERO3, (ZERO3,) * 3)
    change = Variation(ZERO3, moving.angular, moving.linear)
    return response(inertia, still, change)


def dragged(momentum: CompositeMomentum, x: Vector) -> Wrench:
    """2 B x: what points take that move as ``momentum`` says and accelerate by 2 x × v(r) (x: 3)."""
    massless = CompositeInertia(0.0, ZERO3, (ZERO3,) * 3)
    return response(massless, momentum, Variation(x, ZERO3, ZERO3))


@dataclass(frozen=True)
class Column:
    """A degree of freedom ``dof`` of the tree on ``body``: its column S in the base's coordinates."""

    dof: int
    body: int
    twist: Twist


@dataclass(frozen=True)
class ColumnRates:
    """Ψ̇, Ψ̈ and Ṡ of a column."""

    first: Twist
    second: Twist
    own: Twist

    @property
    def by_velocity(self) -> Twist:
        """Ψ̇ + Ṡ."""
        return self.first + self.own


class Subtrees:
    """A robot at one configuration, its joints at ``joints``."""

    def __init__(
        self, robot: Robot, joints: Sequence[JointPlacement], enter: Enter = anywhere
    ) -> None:
        self.robot = robot
        self.enter = enter
        bodies = range(len(robot.bodies))
        self.places = body_places(robot, joints, bodies, enter)
        self.columns: list[Column] = []
        self.own: list[list[Column]] = []
        # followers move as well: what is of them is added to their leaders where it leaves
        parts = robot.unreduced.v_slices
        for i, body in enumerate(robot.bodies):
            own: list[Column] = []
            joint, first = body.joint, parts[i].start
            subspace = zip(joint.angular_subspace, joint.linear_subspace, strict=True)
            for dof, (angular, linear) in enumerate(subspace, first):
                with enter("Bi", i):
                    twist = self._placed(i, angular, linear)
                own.append(Column(dof, i, twist))
            self.own.append(own)
            self.columns += own

    def _placed(self, i: int, angular: Vector, linear: Vector) -> Twist:
        """A motion in body ``i``'s coordinates."""
        place = self.places[i]
        turning = matvec(place.rotation, angular)
        moving = matvec(place.rotation, linear)
        swung = cross(place.translation, turning)
        return Twist(turning, vadd(moving, swung))

    @cached_property
    def paths(self) -> list[list[Column]]:
        """By body: the columns of all joints from the base to it, its own included."""
        found: list[list[Column]] = []
        for i, body in enumerate(self.robot.bodies):
            above = found[body.parent] if body.parent >= 0 else []
            found.append([*above, *self.own[i]])
        return found

    @cached_property
    def inertias(self) -> list[CompositeInertia]:
        """Of the bodies alone."""
        found = []
        for i, body in enumerate(self.robot.bodies):
            with self.enter("Bi", i):
                found.append(_placed_inertia(body.inertia, self.places[i]))
        return found

    @cached_property
    def composites(self) -> list[CompositeInertia]:
        """Of the subtrees."""
        return self.gathered(self.inertias, "Bi")

    def gathered(self, own: Sequence[Sum], kind: str) -> list[Sum]:
        """Sums over the subtree of each body, in submodules of this kind."""
        totals: dict[int, Any] = {}
        for i in reversed(range(len(own))):
            total: Any = own[i]
            with self.enter(kind, i):
                for child in self.robot.children[i]:
                    total = total + totals[child]
            totals[i] = total
        return [totals[i] for i in range(len(own))]

    def all_of_it(self, subtrees: Sequence[Sum], kind: str) -> Sum:
        """The sum over the whole robot, of sums over subtrees."""
        total: Any = None
        for body, own in zip(self.robot.bodies, subtrees, strict=True):
            if body.parent >= 0:
                continue
            with self.enter(kind, None):
                total = own if total is None else total + own
        return total

    def velocities(self, v: Vector, kind: str = "Bv") -> list[Twist]:
        """The bodies' velocities at joint velocities ``v`` (nv)."""
        found: list[Twist] = []
        for i, body in enumerate(self.robot.bodies):
            with self.enter(kind, i):
                total = found[body.parent] if body.parent >= 0 else STILL
                own = rates(self.robot, i, v)
                for column, rate in zip(self.own[i], own, strict=True):
                    total = total + column.twist.scaled(rate)
            found.append(total)
        return found

    def moved(self, velocities: Sequence[Twist], kind: str = "Bf") -> list[CompositeMomentum]:
        """The bodies' momenta at these velocities."""
        own = []
        pairs = zip(self.inertias, velocities, strict=True)
        for i, (inertia, moving) in enumerate(pairs):
            with self.enter(kind, i):
                own.append(inertia.moved(moving.angular, moving.linear))
        return own

    def wrenches(self, momenta: Sequence[CompositeMomentum], kind: str = "Bf") -> list[Wrench]:
        """Angular momentum about the origin, and momentum, by body."""
        found = []
        for i, momentum in enumerate(momenta):
            with self.enter(kind, i):
                found.append(momentum.wrench)
        return found

    def momenta(self, velocities: Sequence[Twist], kind: str = "Bf") -> list[Wrench]:
        """I v of the bodies alone, as a wrench: angular momentum about the origin, and momentum."""
        own = []
        pairs = zip(self.inertias, velocities, strict=True)
        for i, (inertia, moving) in enumerate(pairs):
            with self.enter(kind, i):
                own.append(momentum_of(inertia, moving))
        return own

    def moving(self, v: Vector, a: Vector, base: Vector = ZERO3) -> MovingSubtrees:
        """In motion at ``v`` and ``a`` (nv each), on a base whose origin accelerates by ``base`` (3, m/s²): by minus
        gravity where that is to be felt."""
        return MovingSubtrees(self, v, a, base)


def _placed_inertia(inertia: Inertia, place: JointPlacement) -> CompositeInertia:
    """A body's inertia about the base's origin."""
    offset = place.translation
    turned = rotate_symmetric(place.rotation, inertia.second_moment)
    moment = matvec(place.rotation, inertia.first_moment)
    weighted = vscale(inertia.mass, offset)
    # ∫ (r + p)(r + p)ᵀ dm, expanded: Σ + H pᵀ + p Hᵀ + m p pᵀ
    mixed = symmetrised(outer(moment, offset))
    shift = outer(weighted, offset)
    second = madd(turned, mixed, shift)
    return CompositeInertia(inertia.mass, vadd(moment, weighted), second)


class MovingSubtrees:
    """A robot in motion: ``at`` a configuration, with joint velocities and accelerations (nv each) and its base's
    acceleration."""

    def __init__(self, at: Subtrees, v: Vector, a: Vector, base: Vector) -> None:
        self.at = at
        self.robot = at.robot
        self.enter = at.enter
        self.velocities = at.velocities(v)
        self.accelerations: list[Twist] = []
        self.rates: dict[int, ColumnRates] = {}
        self._base = Twist(ZERO3, base)
        self._sweep(v, a)

    def _sweep(self, v: Vector, a: Vector) -> None:
        """Accelerations and rates, outward."""
        for i, body in enumerate(self.robot.bodies):
            above, carried = self._base, STILL
            if body.parent >= 0:
                above = self.accelerations[body.parent]
                carried = self.velocities[body.parent]
            columns = self.at.own[i]
            speeds = rates(self.robot, i, v)
            gains = rates(self.robot, i, a)
            with self.enter("Bv", i):
                total = above
                for column, speed, gain in zip(columns, speeds, gains, strict=True):
                    s = column.twist
                    first = carried.cross(s)
                    own = first
                    # a joint of one degree of freedom leaves its own column as it is
                    if len(columns) > 1:
                        own = self.velocities[i].cross(s)
                    second = above.cross(s) + carried.cross(first)
                    self.rates[column.dof] = ColumnRates(first, second, own)
                    # v × (S q̇) is as well v_λ × (S q̇): a joint's motion does not turn itself
                    total = total + s.scaled(gain)
                    total = total + first.scaled(speed)
            self.accelerations.append(total)

    @cached_property
    def own_momenta(self) -> list[CompositeMomentum]:
        """Of the bodies alone."""
        return self.at.moved(self.velocities)

    @cached_property
    def momenta(self) -> list[CompositeMomentum]:
        """Of the subtrees."""
        return self.at.gathered(self.own_momenta, "Bf")

    @cached_property
    def own_forces(self) -> list[Wrench]:
        """I a + v ×* I v of the bodies alone."""
        found = []
        for i, momentum in enumerate(self.at.wrenches(self.own_momenta)):
            velocity = self.velocities[i]
            with self.enter("Bf", i):
                pushed = momentum_of(self.at.inertias[i], self.accelerations[i])
                carried = velocity.carries(momentum)
                found.append(pushed + carried)
        return found

    def forces(self, given: Sequence[Wrench] | None = None) -> list[Wrench]:
        """What moves the subtrees so, beside the ``given`` external wrenches on the bodies, in their coordinates."""
        own = self.own_forces
        if given is not None:
            own = []
            for i, wrench in enumerate(given):
                own.append(self._less(i, wrench))
        return self.at.gathered(own, "Bf")

    def _less(self, i: int, given: Wrench) -> Wrench:
        place = self.at.places[i]
        with self.enter("Bf", i):
            force = matvec(place.rotation, given.force)
            moment = matvec(place.rotation, given.moment)
            moment = vadd(moment, cross(place.translation, force))
            return self.own_forces[i] - Wrench(moment, force)

    def by_position(self, dof: int, subtree: int) -> Wrench:
        """I Ψ̈ + 2 B Ψ̇ of a column, for the subtree of a body."""
        change = self.rates[dof]
        return self.response(subtree, change.first.angular, change.second)

    def by_velocity(self, column: Column, subtree: int) -> Wrench:
        """I (Ψ̇ + Ṡ) + 2 B S of a column, for the subtree of a body."""
        change = self.rates[column.dof]
        return self.response(subtree, column.twist.angular, change.by_velocity)

    def response(self, subtree: int, x: Vector, acceleration: Twist) -> Wrench:
        """I a + 2 B x for the subtree of a body, where 2 B takes the angular x (3) alone."""
        change = Variation(x, acceleration.angular, acceleration.linear)
        inertia = self.at.composites[subtree]
        return response(inertia, self.momenta[subtree], change)
