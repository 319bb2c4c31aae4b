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
            *_, k, j = index
            if k >= j:
                kept[index] = x
            elif kind == "qq" and bodies[k] == bodies[j]:
                above[index] = x
        # behind all that stand for those across, which they are instead
        found[kind] = kept | above
    return found


def whole(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Of distinct entries all."""
    found = dict(tensors)
    for kind in "qq", "vv":
        across = {(*before, j, k): x for (*before, k, j), x in tensors[kind].items() if k > j}
        found[kind] = across | tensors[kind]
    return found


def moment_along(momentum: CompositeMomentum, u: Twist) -> Vector:
    """∫ u × s dm (3), where ``momentum`` is that of motions s(r)."""
    n = momentum.moment
    trace = add(add(n[0][0], n[1][1]), n[2][2])
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
        self.joint = {c.dof: c.body for c in self.trees.columns}

    # changes by j and k, of which k is at or below j

    def _rates(self, column: Column) -> tuple[Twist, Twist, Twist, Twist]:
        found = self.moving.rates[column.dof]
        return column.twist, found.first, found.second, found.by_velocity

    def by_positions(self, j: Column, k: Column) -> Change:
        """By q_j of ∂/∂q_k."""
        _, first_j, second_j, _ = self._rates(j)
        s_k, first_k, _, _ = self._rates(k)
        moved = second_j.cross(s_k) + first_j.scaled(2.0).cross(first_k)
        turned = cross(first_j.angular, s_k.angular)
        return Change(moved, turned, first_j, first_k.angular)

    def by_velocities(self, j: Column, k: Column) -> Change:
        """By v_j of ∂/∂v_k."""
        crossed = j.twist.cross(k.twist)
        moved = crossed if j.body == k.body else crossed.scaled(2.0)
        return Change(moved, None, j.twist, k.twist.angular)

    def velocity_by_position(self, j: Column, k: Column) -> Change:
        """By q_j of ∂/∂v_k."""
        first = self.moving.rates[j.dof].first
        return Change(first.scaled(2.0).cross(k.twist), None, first, k.twist.angular)

    def position_by_velocity(self, j: Column, k: Column) -> Change:
        """By v_j of ∂/∂q_k, j above k's joint."""
        s_j, _, _, both_j = self._rates(j)
        s_k, first_k, _, _ = self._rates(k)
        moved = both_j.cross(s_k) + s_j.scaled(2.0).cross(first_k)
        turned = cross(s_j.angular, s_k.angular)
        return Change(moved, turned, s_j, first_k.angular)

    def position_by_acceleration(self, j: Column, k: Column) -> Change:
        """By a_j of ∂/∂q_k, j above k's joint."""
        return Change(j.twist.cross(k.twist))

    def wrench(self, change: Change, subtree: int) -> Wrench:
        """A change of the force on the subtree of a body."""
        inertia = self.trees.composites[subtree]
        total = momentum_of(inertia, change.moved)
        if change.turned is not None:
            total += dragged(self.moving.momenta[subtree], change.turned)
        if change.stirred is not None and change.along is not None:
            stirred = inertia.moved(change.stirred.angular, change.stirred.linear)
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
            total = add(total, dot(self.turned, change.turned))
        if change.stirred is not None and change.along is not None:
            twice = vscale(2.0, change.along)
            total = add(total, dot(self._stirred(change.stirred), twice))
        return total

    def _stirred(self, u: Twist) -> Vector:
        # several changes are by what one degree of freedom moves
        if id(u) not in self.kept:
            self.kept[id(u)] = u, moment_along(self.moved, u)
        return self.kept[id(u)][1]


class Tensors:
    """Second derivatives of all torques: by kind (:data:`KINDS`) the entries (torque, first, second)."""

    def __init__(self, second: SecondOrder) -> None:
        self.second = second
        self.trees = second.trees
        self.enter = second.enter
        self.made = {kind: Collected(second.robot) for kind in KINDS}
        # columns of the joints below a body, its own among them
        self.below: dict[int, list[Column]] = {}
        for column in self.trees.columns:
            for body in {above.body for above in self.trees.paths[column.body]}:
                self.below.setdefault(body, []).append(column)
        self.probes = {column.dof: self._probe(column) for column in self.trees.columns}

    def _probe(self, column: Column) -> Probe:
        s, body = column.twist, column.body
        inertia = self.trees.composites[body]
        with self.enter("So", body):
            unit = momentum_of(inertia, s)
            momentum = self.second.moving.momenta[body]
            turned = momentum_adjoint((s.angular, s.linear), momentum)
            return Probe(unit, turned, inertia.moved(s.angular, s.linear))

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
        made = {kind: collected.entries for kind, collected in self.made.items()}
        return distinct(self.second.robot, made)

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
        self.made[kind].put(x, i.dof, k.dof, j.dof)
        if j.body != k.body:
            self.made[kind].put(x, i.dof, j.dof, k.dof)

    def _positions(self, j: Column, k: Column) -> None:
        second, moving = self.second, self.second.moving
        change = second.by_positions(j, k)
        for i, x in self._felt(change, k):
            self._pair("qq", i, k, j, x)
        above = list(self._above(k))
        if not above:
            return
        s_j, s_k = j.twist, k.twist
        turns = s_k.carries(moving.by_position(j.dof, k.body)) + second.wrench(change, k.body)
        force = s_k.carries(second.forces[k.body]) + moving.by_position(k.dof, k.body)
        whole = turns + s_j.carries(force)
        for i in above:
            # a torque's own column turns with j where that is at or above it
            felt = turns if self._moves(j, i) else whole
            self._pair("qq", i, k, j, i.twist.power(felt))

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
            self._pair("vv", i, k, j, i.twist.power(felt))

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
            put(i.twist.power(felt), i.dof, j.dof, k.dof)

    def _carried(self, j: Column, k: Column) -> None:
        """By q_k, and by v_j or a_j, whose joint is above k's."""
        second, moving = self.second, self.second.moving
        s_k = k.twist
        change = second.position_by_velocity(j, k)
        mass = second.position_by_acceleration(j, k)
        for i, x in self._felt(change, k):
            self.made["qv"].put(x, i.dof, k.dof, j.dof)
        for i, x in self._felt(mass, k):
            # M is symmetric
            self.made["aq"].put(x, i.dof, j.dof, k.dof)
            self.made["aq"].put(x, j.dof, i.dof, k.dof)
        felt = s_k.carries(moving.by_velocity(j, k.body)) + second.wrench(change, k.body)
        pushed = momentum_of(self.trees.composites[k.body], j.twist)
        pushed = s_k.carries(pushed) + second.wrench(mass, k.body)
        for i in self._above(k):
            self.made["qv"].put(i.twist.power(felt), i.dof, k.dof, j.dof)
            self.made["aq"].put(i.twist.power(pushed), i.dof, j.dof, k.dof)


def weighted(second: SecondOrder, weights: Vector) -> dict[str, Tensor]:
    """Σ μ_i ∂²τ_i of all kinds (:data:`KINDS`), entries (first, second) that are not those of others, with ``weights``
    μ (nv)."""
    trees, enter = second.trees, second.enter
    velocities = trees.velocities(weights, "So")
    units = trees.gathered(trees.momenta(velocities, "So"), "So")
    moved = trees.moved(velocities, "So")
    turned = _turned(second, velocities)
    slid: dict[int, Twist] = {}
    for column in trees.columns:
        parent = second.robot.bodies[column.body].parent
        with enter("So", column.body):
            if parent >= 0:
                slid[column.dof] = velocities[parent].cross(column.twist)
    made = {kind: Collected(second.robot) for kind in KINDS}
    probes = [Probe(*parts) for parts in zip(units, turned, moved, strict=True)]
    for k in trees.columns:
        with enter("So", k.body):
            sums = _Sums(second, made, probes[k.body], slid, k)
        for j in trees.paths[k.body]:
            with enter("So", k.body):
                sums.add(j)
    entries = {kind: collected.entries for kind, collected in made.items()}
    return distinct(second.robot, entries)


def _turned(second: SecondOrder, velocities: Sequence[Twist]) -> list[Vector]:
    """2 ∫ v × μ dm of the subtrees."""
    totals: list[Vector] = []
    for i, (inertia, s) in enumerate(zip(second.trees.inertias, velocities, strict=True)):
        with second.enter("So", i):
            own = second.moving.velocities[i]
            momentum = inertia.moved(own.angular, own.linear)
            totals.append(momentum_adjoint((s.angular, s.linear), momentum))
    for i in reversed(range(len(totals))):
        parent = second.robot.bodies[i].parent
        if parent >= 0:
            with second.enter("So", parent):
                totals[parent] = vadd(totals[parent], totals[i])
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
        moving, body, s = second.moving, k.body, k.twist
        inertia, momentum = second.trees.composites[body], moving.momenta[body]
        first = self.rates[k.dof].first
        # (x × S) · U is x · (S ×* U), and 2 B[x] S · μ is x · −2 B[μ] S
        carried = s.carries(subtree.unit)
        self.stirred = dragged(subtree.moved, s.angular)
        self.twice_carried = _scaled(2.0, carried)
        self.own_joint = carried - self.stirred
        turned = cross(s.angular, subtree.turned)
        later = _scaled(2.0, first.carries(subtree.unit)) - dragged(subtree.moved, first.angular)
        if k.dof in slid:
            along = slid[k.dof]
            carried += momentum_of(inertia, along)
            both = momentum_adjoint((along.angular, along.linear), momentum)
            turned = vadd(turned, both)
        self.carried = carried
        self.later = later + Wrench(turned, ZERO3)
        self.by_velocity = moving.by_velocity(k, body)
        self.unit = momentum_of(inertia, s)
        self.force = s.carries(second.forces[body]) + moving.by_position(k.dof, body)

    def _slid(self, j: Column, wrench: Wrench) -> Scalar:
        return self.slid[j.dof].power(wrench) if j.dof in self.slid else 0.0

    def add(self, j: Column) -> None:
        """The entries of j."""
        k, put = self.k, self._put
        apart = j.body != k.body
        known, s = self.rates[j.dof], j.twist
        x = known.second.power(self.carried)
        x = add(x, known.first.power(self.later))
        put("qq", add(x, self._slid(j, self.force)), k, j)
        moved = self.twice_carried - self.stirred if apart else self.own_joint
        put("vv", s.power(moved), k, j)
        x = known.first.power(self.twice_carried - self.stirred)
        put("qv", add(x, self._slid(j, self.by_velocity)), j, k)
        put("aq", self._slid(j, self.unit), k, j)
        if apart:
            # by q_k, and by v_j or a_j
            x = known.by_velocity.power(self.carried)
            put("qv", add(x, s.power(self.later)), k, j)
            put("aq", s.power(self.carried), j, k)

    def _put(self, kind: str, x: Scalar, first: Column, second: Column) -> None:
        self.made[kind].put(x, first.dof, second.dof)
        # by two of one kind, both of it, unless one joint has both
        if kind in ("qq", "vv") and first.body != second.body:
            self.made[kind].put(x, second.dof, first.dof)


def _scaled(factor: float, wrench: Wrench) -> Wrench:
    return Wrench(vscale(factor, wrench.moment), vscale(factor, wrench.force))
