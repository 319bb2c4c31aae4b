"""Second derivatives of inverse dynamics, as tensors or summed with a weight for each torque.

What Singh, Russell & Wensing compute (IEEE Transactions on Robotics 2023), here in the base's coordinates and with the
momenta of :mod:`rbdgen.algo.composite` instead of 6 × 6 matrices: 2 B is found by what a subtree's points do, so that a
change by k of it is the same with what k moves, Ψ̇_k or S_k, in place of v. With j at or above k (j ⪯ k), and d the
deepest of three on a path, all changes of the force on the subtree of d are

    by q_j of ∂/∂q_k:  I (Ψ̈_j × S_k + 2 Ψ̇_j × Ψ̇_k) + 2 B (Ψ̇_j × S_k) + 2 B[Ψ̇_j] Ψ̇_k
    by v_j of ∂/∂v_k:  I (2 S_j × S_k) + 2 B[S_j] S_k                         (once S_j × S_k where one joint has both)
    by q_j of ∂/∂v_k:  I (2 Ψ̇_j × S_k) + 2 B[Ψ̇_j] S_k
    by v_j of ∂/∂q_k:  I ((Ψ̇_j + Ṡ_j) × S_k + 2 S_j × Ψ̇_k) + 2 B (S_j × S_k) + 2 B[S_j] Ψ̇_k      (j above k's joint)
    by a_j of ∂/∂q_k:  I (S_j × S_k)                                                              (likewise)

beside what turns along: all of it where the torque's joint turns too, else S × the force that turns (:class:`Change`).
2 B[u] x pairs with a torque's column S as 2 x · ∫ u × S dm, which is linear in u once the subtree's momentum along S is
known. Products of three columns then cost a dozen multiplications, or six where the torque is not the deepest.

With weights μ_i of the torques, Σ μ_i τ_i is the power of all forces along the velocities that μ would be; these change
by Λ_k = μ_λ × S_k as velocities do by Ψ̇_k. So the sums cost about twice what first derivatives do.

A second derivative is of a first one: entry (i, k, j) is the change by j of ∂τ_i/∂x_k, in the tangent space, where
those by q of one joint of several degrees of freedom depend on their order.

Submodules: ``So_i`` for what body i is the deepest of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rbdgen.algo.composite import CompositeMomentum, momentum_adjoint
from rbdgen.algo.factorisation import dof_bodies
from rbdgen.algo.following import Collected
from rbdgen.algo.frames import path_of
from rbdgen.algo.rnea import Wrench
from rbdgen.algo.subtrees import Column, MovingSubtrees, Twist, dragged, momentum_of
from rbdgen.model.robot import Robot
from rbdgen.spatial import (
    ZERO3,
    Scalar,
    Vector,
    add,
    cross,
    dot,
    matvec,
    transpose,
    vadd,
    vscale,
    vsub,
)

KINDS = "qq", "vv", "qv", "aq"
"""Second derivatives, by what first and then."""
Tensor = dict[tuple[int, ...], Scalar]


@dataclass(frozen=True)
class Change:
    """What a force on a subtree changes by: I ``moved`` + 2 B ``turned`` + 2 B[``stirred``] ``along``, the last two by
    their angular parts (3)."""

    moved: Twist
    turned: Vector | None = None
    stirred: Twist | None = None
    along: Vector | None = None


def distinct(robot: Robot, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Without entries that are the same as those across the diagonal of the last two dimensions: of those by two
    velocities or positions the ones below it, and of positions of one joint both."""
    bodies = dof_bodies(robot)
    found = dict(tensors)
    for kind in "qq", "vv":
        kept: Tensor = {}
        above: Tensor = {}
        for index, x in tensors[kind].items():
            *before, k, j = index
            one_joint = kind == "qq" and bodies[k] == bodies[j]
            if k >= j:
                kept[index] = x
                if one_joint and k > j:
                    # a zero differs from what is across as well
                    above.setdefault((*before, j, k), 0.0)
            elif one_joint:
                above[index] = x
        # behind all that stand for those across, which they are instead
        found[kind] = kept | above
    return found


def whole(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Of distinct entries all."""
    found = dict(tensors)
    for kind in "qq", "vv":
        across: Tensor = {}
        for index, x in tensors[kind].items():
            *before, k, j = index
            if k > j:
                across[*before, j, k] = x
        found[kind] = across | tensors[kind]
    return found


def moment_along(momentum: CompositeMomentum, u: Twist) -> Vector:
    """∫ u × s dm (3), where ``momentum`` is that of motions s(r)."""
    n = momentum.moment
    trace = add(n[0][0], n[1][1])
    trace = add(trace, n[2][2])
    turned = matvec(transpose(n), u.angular)
    turned = vsub(turned, vscale(trace, u.angular))
    return vadd(turned, cross(u.linear, momentum.linear))


class SecondOrder:
    """Changes of the forces on subtrees that move so (``moving``), whose ``forces`` these are."""

    def __init__(self, moving: MovingSubtrees, forces: Sequence[Wrench]) -> None:
        self.moving = moving
        self.forces = forces
        self.trees = moving.at
        self.robot: Robot = moving.robot
        self.enter = moving.enter

    # changes by j and k, of which k is at or below j

    def by_positions(self, j: Column, k: Column) -> Change:
        """By q_j of ∂/∂q_k."""
        rates = self.moving.rates
        above = rates[j.dof]
        first = rates[k.dof].first
        s = k.twist
        turning = above.first.scaled(2.0)
        moved = above.second.cross(s)
        moved = moved + turning.cross(first)
        turned = cross(above.first.angular, s.angular)
        return Change(moved, turned, above.first, first.angular)

    def by_velocities(self, j: Column, k: Column) -> Change:
        """By v_j of ∂/∂v_k."""
        crossed = j.twist.cross(k.twist)
        # one joint's velocities do not turn its own columns
        if j.body != k.body:
            crossed = crossed.scaled(2.0)
        return Change(crossed, None, j.twist, k.twist.angular)

    def velocity_by_position(self, j: Column, k: Column) -> Change:
        """By q_j of ∂/∂v_k."""
        first = self.moving.rates[j.dof].first
        moved = first.scaled(2.0).cross(k.twist)
        return Change(moved, None, first, k.twist.angular)

    def position_by_velocity(self, j: Column, k: Column) -> Change:
        """By v_j of ∂/∂q_k, j above k's joint."""
        rates = self.moving.rates
        both = rates[j.dof].by_velocity
        first = rates[k.dof].first
        s = j.twist
        turning = s.scaled(2.0)
        moved = both.cross(k.twist)
        moved = moved + turning.cross(first)
        turned = cross(s.angular, k.twist.angular)
        return Change(moved, turned, s, first.angular)

    def position_by_acceleration(self, j: Column, k: Column) -> Change:
        """By a_j of ∂/∂q_k, j above k's joint."""
        return Change(j.twist.cross(k.twist))

    def wrench(self, change: Change, subtree: int) -> Wrench:
        """A change of the force on the subtree of a body."""
        inertia = self.trees.composites[subtree]
        momentum = self.moving.momenta[subtree]
        total = momentum_of(inertia, change.moved)
        if change.turned is not None:
            total += dragged(momentum, change.turned)
        u = change.stirred
        if u is not None and change.along is not None:
            stirred = inertia.moved(u.angular, u.linear)
            total += dragged(stirred, change.along)
        return total


@dataclass(frozen=True)
class Probe:
    """What pairs with changes of the force on a subtree: ``unit`` = I S, ``turned`` = 2 ∫ v × S dm, and the subtree's
    momentum along S, ``moved``, or such sums. What of these a motion stirs is ``kept``."""

    unit: Wrench
    turned: Vector
    moved: CompositeMomentum
    kept: dict[int, tuple[Twist, Vector]] = field(default_factory=dict)

    def feels(self, change: Change) -> Scalar:
        """What it has of a change."""
        total = change.moved.power(self.unit)
        if change.turned is not None:
            turned = dot(self.turned, change.turned)
            total = add(total, turned)
        u = change.stirred
        if u is not None and change.along is not None:
            twice = vscale(2.0, change.along)
            stirred = dot(self._stirred(u), twice)
            total = add(total, stirred)
        return total

    def _stirred(self, u: Twist) -> Vector:
        # several changes are by what one degree of freedom moves
        known = self.kept.get(id(u))
        if known is None:
            known = u, moment_along(self.moved, u)
            self.kept[id(u)] = known
        return known[1]


class Tensors:
    """Second derivatives of all torques: by kind (:data:`KINDS`) the entries (torque, first, second)."""

    def __init__(self, second: SecondOrder) -> None:
        self.second = second
        self.trees = second.trees
        self.enter = second.enter
        self.made = {kind: Collected(second.robot) for kind in KINDS}
        # columns of the joints below a body, its own among them
        self.below: dict[int, list[Column]] = {}
        self.probes: dict[int, Probe] = {}
        for column in self.trees.columns:
            self.probes[column.dof] = self._probe(column)
            for body in path_of(second.robot, column.body):
                self.below.setdefault(body, []).append(column)

    def _probe(self, column: Column) -> Probe:
        s, body = column.twist, column.body
        inertia = self.trees.composites[body]
        momentum = self.second.moving.momenta[body]
        with self.enter("So", body):
            moved = inertia.moved(s.angular, s.linear)
            column_of = s.angular, s.linear
            turned = momentum_adjoint(column_of, momentum)
            return Probe(moved.wrench, turned, moved)

    def build(self) -> dict[str, Tensor]:
        """The entries by kind that are not those of others (:func:`distinct`)."""
        for k in self.trees.columns:
            for j in self.trees.paths[k.body]:
                with self.enter("So", k.body):
                    self._positions(j, k)
                    self._velocities(j, k)
                    self._mixed(j, k)
                    if j.body != k.body:
                        self._carried(j, k)
        return entries_of(self.second.robot, self.made)

    def _felt(self, change: Change, k: Column) -> Iterator[tuple[Column, Scalar]]:
        """What torques at or below k's joint have of a change."""
        for i in self.below[k.body]:
            with self.enter("So", i.body):
                yield i, self.probes[i.dof].feels(change)

    def _above(self, k: Column) -> Iterator[Column]:
        """The columns of joints above k's."""
        for i in self.trees.paths[k.body]:
            if i.body != k.body:
                yield i

    def _pair(self, kind: str, i: Column, k: Column, j: Column, x: Scalar) -> None:
        """An entry by two of one kind: both of it, unless one joint has both."""
        put = self.made[kind].put
        put(x, i.dof, k.dof, j.dof)
        if j.body != k.body:
            put(x, i.dof, j.dof, k.dof)

    def _positions(self, j: Column, k: Column) -> None:
        second, moving = self.second, self.second.moving
        change = second.by_positions(j, k)
        for i, x in self._felt(change, k):
            self._pair("qq", i, k, j, x)
        above = list(self._above(k))
        if not above:
            return
        s, body = k.twist, k.body
        turns = s.carries(moving.by_position(j.dof, body))
        turns = turns + second.wrench(change, body)
        force = s.carries(second.forces[body])
        force = force + moving.by_position(k.dof, body)
        whole = turns + j.twist.carries(force)
        for i in above:
            # a torque's own column turns with j where that is at or above it
            felt = turns if self._moves(j, i) else whole
            x = i.twist.power(felt)
            self._pair("qq", i, k, j, x)

    def _moves(self, j: Column, i: Column) -> bool:
        """Whether joint j moves i's body; both are on one path."""
        return j.body <= i.body

    def _velocities(self, j: Column, k: Column) -> None:
        change = self.second.by_velocities(j, k)
        for i, x in self._felt(change, k):
            self._pair("vv", i, k, j, x)
        above = list(self._above(k))
        if not above:
            return
        felt = self.second.wrench(change, k.body)
        for i in above:
            x = i.twist.power(felt)
            self._pair("vv", i, k, j, x)

    def _mixed(self, j: Column, k: Column) -> None:
        """By v_k and q_j."""
        change = self.second.velocity_by_position(j, k)
        put = self.made["qv"].put
        for i, x in self._felt(change, k):
            put(x, i.dof, j.dof, k.dof)
        above = list(self._above(k))
        if not above:
            return
        turns = self.second.wrench(change, k.body)
        force = self.second.moving.by_velocity(k, k.body)
        whole = turns + j.twist.carries(force)
        for i in above:
            felt = turns if self._moves(j, i) else whole
            x = i.twist.power(felt)
            put(x, i.dof, j.dof, k.dof)

    def _carried(self, j: Column, k: Column) -> None:
        """By q_k, and by v_j or a_j, whose joint is above k's."""
        second, moving = self.second, self.second.moving
        by_velocity = self.made["qv"].put
        by_acceleration = self.made["aq"].put
        s, body = k.twist, k.body
        change = second.position_by_velocity(j, k)
        mass = second.position_by_acceleration(j, k)
        for i, x in self._felt(change, k):
            by_velocity(x, i.dof, k.dof, j.dof)
        for i, x in self._felt(mass, k):
            # M is symmetric
            by_acceleration(x, i.dof, j.dof, k.dof)
            by_acceleration(x, j.dof, i.dof, k.dof)
        felt = s.carries(moving.by_velocity(j, body))
        felt = felt + second.wrench(change, body)
        pushed = momentum_of(self.trees.composites[body], j.twist)
        pushed = s.carries(pushed)
        pushed = pushed + second.wrench(mass, body)
        for i in self._above(k):
            x = i.twist.power(felt)
            by_velocity(x, i.dof, k.dof, j.dof)
            x = i.twist.power(pushed)
            by_acceleration(x, i.dof, j.dof, k.dof)


def weighted(second: SecondOrder, weights: Vector) -> dict[str, Tensor]:
    """Σ μ_i ∂²τ_i of all kinds (:data:`KINDS`), entries (first, second) that are not those of others, with ``weights``
    μ (nv)."""
    trees, enter = second.trees, second.enter
    velocities = trees.velocities(weights, "So")
    moved = trees.gathered(trees.moved(velocities, "So"), "So")
    units = trees.wrenches(moved, "So")
    turned = _turned(second, velocities)
    slid: dict[int, Twist] = {}
    for column in trees.columns:
        parent = second.robot.bodies[column.body].parent
        with enter("So", column.body):
            if parent >= 0:
                slid[column.dof] = velocities[parent].cross(column.twist)
    made = {kind: Collected(second.robot) for kind in KINDS}
    for k in trees.columns:
        body = k.body
        unit, along = units[body], moved[body]
        subtree = Probe(unit, turned[body], along)
        with enter("So", body):
            sums = _Sums(second, made, subtree, slid, k)
        for j in trees.paths[k.body]:
            with enter("So", k.body):
                sums.add(j)
    return entries_of(second.robot, made)


def entries_of(robot: Robot, made: Mapping[str, Collected]) -> dict[str, Tensor]:
    """What was collected by kind, without entries that are those of others."""
    found: dict[str, Tensor] = {}
    for kind, collected in made.items():
        found[kind] = collected.entries
    return distinct(robot, found)


def _turned(second: SecondOrder, velocities: Sequence[Twist]) -> list[Vector]:
    """2 ∫ v × μ dm of the subtrees."""
    totals: list[Vector] = []
    pairs = zip(second.moving.own_momenta, velocities, strict=True)
    for i, (momentum, s) in enumerate(pairs):
        with second.enter("So", i):
            along = s.angular, s.linear
            own = momentum_adjoint(along, momentum)
            totals.append(own)
    for i in reversed(range(len(totals))):
        parent = second.robot.bodies[i].parent
        if parent >= 0:
            with second.enter("So", parent):
                total = vadd(totals[parent], totals[i])
            totals[parent] = total
    return totals


class _Sums:
    """The entries of ``k`` and of columns at or above it, from its ``subtree``'s sums; ``slid`` has the Λ that are not
    zero. What a column above changes is a power of its motions: along wrenches that are k's alone."""

    def __init__(
        self,
        second: SecondOrder,
        made: dict[str, Collected],
        subtree: Probe,
        slid: dict[int, Twist],
        k: Column,
    ) -> None:
        self.rates = second.moving.rates
        self.made = made
        self.slid = slid
        self.k = k
        moving = second.moving
        body, s = k.body, k.twist
        inertia = second.trees.composites[body]
        momentum = moving.momenta[body]
        first = self.rates[k.dof].first
        # (x × S) · U is x · (S ×* U), and 2 B[x] S · μ is x · −2 B[μ] S
        carried = s.carries(subtree.unit)
        stirred = dragged(subtree.moved, s.angular)
        twice = _scaled(2.0, carried)
        self.stirring = twice - stirred
        self.own_joint = carried - stirred
        turned = cross(s.angular, subtree.turned)
        later = _scaled(2.0, first.carries(subtree.unit))
        later = later - dragged(subtree.moved, first.angular)
        if k.dof in slid:
            along = slid[k.dof]
            carried += momentum_of(inertia, along)
            column = along.angular, along.linear
            both = momentum_adjoint(column, momentum)
            turned = vadd(turned, both)
        self.carried = carried
        self.later = later + Wrench(turned, ZERO3)
        self.by_velocity = moving.by_velocity(k, body)
        self.unit = momentum_of(inertia, s)
        force = s.carries(second.forces[body])
        self.force = force + moving.by_position(k.dof, body)

    def _slid(self, j: Column, wrench: Wrench) -> Scalar:
        slid = self.slid.get(j.dof)
        return slid.power(wrench) if slid else 0.0

    def add(self, j: Column) -> None:
        """The entries of j."""
        k, put = self.k, self._put
        apart = j.body != k.body
        known, s = self.rates[j.dof], j.twist
        x = known.second.power(self.carried)
        y = known.first.power(self.later)
        x = add(x, y)
        y = self._slid(j, self.force)
        x = add(x, y)
        put("qq", x, k, j)
        moved = self.stirring if apart else self.own_joint
        x = s.power(moved)
        put("vv", x, k, j)
        x = known.first.power(self.stirring)
        y = self._slid(j, self.by_velocity)
        x = add(x, y)
        put("qv", x, j, k)
        x = self._slid(j, self.unit)
        put("aq", x, k, j)
        if apart:
            # by q_k, and by v_j or a_j
            x = known.by_velocity.power(self.carried)
            y = s.power(self.later)
            x = add(x, y)
            put("qv", x, k, j)
            x = s.power(self.carried)
            put("aq", x, j, k)

    def _put(self, kind: str, x: Scalar, first: Column, second: Column) -> None:
        put = self.made[kind].put
        put(x, first.dof, second.dof)
        # by two of one kind, both of it, unless one joint has both
        paired = kind in ("qq", "vv")
        if paired and first.body != second.body:
            put(x, second.dof, first.dof)


def _scaled(factor: float, wrench: Wrench) -> Wrench:
    moment = vscale(factor, wrench.moment)
    return Wrench(moment, vscale(factor, wrench.force))
