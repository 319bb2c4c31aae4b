"""Second derivatives of inverse dynamics, as tensors or summed with a weight for each torque.

What Singh, Russell & Wensing compute (IEEE Transactions on Robotics 2023), here in the base's coordinates and with the
momenta of :mod:`rbdgen.algo.composite` instead of 6 × 6 matrices. With j at or above k (j ⪯ k), the force on k's
subtree changes by j by I Ψ̈_j + 2 B Ψ̇_j or by I (Ψ̇_j + Ṡ_j) + 2 B S_j (:mod:`rbdgen.algo.subtrees`). Joint k moves none
of j's columns: it changes I and B alone, as those of points that have gone on along S_k, to

    I'_k = S_k ×* I − I S_k ×,    2 B'_k = S_k ×* 2 B − 2 B S_k × + 2 B[Ψ̇_k].

So second derivatives of the force, by what first and then, beside what turns along with j, are

    q_k q_j:  I'_k Ψ̈_j + 2 B'_k Ψ̇_j
    v_k v_j:  2 B[S_k] S_j                           (less I (S_j × S_k) where one joint has both)
    v_k q_j:  2 B[S_k] Ψ̇_j
    q_k v_j:  I'_k (Ψ̇_j + Ṡ_j) + 2 B'_k S_j         (j above k's joint)
    q_k a_j:  I'_k S_j                               (likewise).

I'_k is an inertia without mass and B'_k a momentum, both made once for k. This is for torques above k. What one at or
below k has of a change is a power of j's motions along wrenches of the torque and k alone (:class:`Pull`).

With weights μ_i of the torques, Σ μ_i τ_i is the power of all forces along the velocities that μ would be; these change
by Λ_k = μ_λ × S_k as velocities do by Ψ̇_k. So the sums cost about twice what first derivatives do.

A second derivative is of a first one: entry (i, k, j) is the change by j of ∂τ_i/∂x_k, in the tangent space, where
those by q of one joint of several degrees of freedom depend on their order.

Submodules: ``So_i`` for what body i is the deepest of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rbdgen.algo.composite import (
    CompositeInertia,
    CompositeMomentum,
    Variation,
    momentum_adjoint,
    outer,
    response,
    symmetrised,
)
from rbdgen.algo.factorisation import dof_bodies
from rbdgen.algo.following import Collected
from rbdgen.algo.frames import path_of
from rbdgen.algo.rnea import Wrench
from rbdgen.algo.subtrees import (
    Column,
    ColumnRates,
    MovingSubtrees,
    Twist,
    dragged,
    momentum_of,
)
from rbdgen.model.robot import Robot
from rbdgen.spatial import (
    ZERO3,
    Scalar,
    Vector,
    add,
    cross,
    madd,
    transpose,
    vadd,
    vscale,
)

KINDS = "qq", "vv", "qv", "aq"
"""Second derivatives, by what first and then."""
Tensor = dict[tuple[int, ...], Scalar]


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


class SecondOrder:
    """Changes of the forces on subtrees that move so (``moving``), whose ``forces`` these are."""

    def __init__(self, moving: MovingSubtrees, forces: Sequence[Wrench]) -> None:
        self.moving = moving
        self.forces = forces
        self.trees = moving.at
        self.robot: Robot = moving.robot
        self.enter = moving.enter

    def displaced(
        self, k: Column, moved: CompositeMomentum
    ) -> tuple[CompositeInertia, CompositeMomentum]:
        """I'_k and B'_k of k's subtree, whose momentum along S_k is ``moved``: its points go on along S_k, and their
        velocities turn and change by Ψ̇_k."""
        s, first = k.twist, self.moving.rates[k.dof].first
        momentum = self.moving.momenta[k.body]
        stirred = self.trees.composites[k.body].moved(first.angular, first.linear)
        turned = tuple(cross(s.angular, x) for x in transpose(momentum.moment))
        # ∫ v sᵀ dm, where s(r) is the origin's and ω × r
        swung = tuple(cross(s.angular, x) for x in momentum.moment)
        slid = outer(momentum.linear, s.linear)
        moment = madd(transpose(turned), swung, slid)
        linear = cross(s.angular, momentum.linear)
        inertia = CompositeInertia(0.0, moved.linear, symmetrised(moved.moment))
        return inertia, CompositeMomentum(linear, moment) + stirred


@dataclass(frozen=True)
class Pull:
    """What a torque at or below k's joint has of changes by k and by a column j at or above it: powers of j's motions
    along these. ``own_joint`` takes the place of ``stirring`` where one joint has both."""

    carried: Wrench
    stirring: Wrench
    own_joint: Wrench
    later: Wrench

    def felt(self, known: ColumnRates, j: Twist, apart: bool) -> dict[str, Scalar]:
        """By q_k q_j, v_k v_j and v_k q_j; and by q_k v_j and q_k a_j where the joints are ``apart``."""
        both = known.second.power(self.carried)
        turning = known.first.power(self.later)
        found = {"qq": add(both, turning)}
        found["vv"] = j.power(self.stirring if apart else self.own_joint)
        found["vq"] = known.first.power(self.stirring)
        if apart:
            both = known.by_velocity.power(self.carried)
            turning = j.power(self.later)
            found["qv"] = add(both, turning)
            found["qa"] = j.power(self.carried)
        return found


@dataclass(frozen=True)
class Probe:
    """What pairs with changes of the force on a subtree: ``unit`` = I S, ``turned`` = 2 ∫ v × S dm, and the subtree's
    momentum along S, ``moved``, or sums of these over columns."""

    unit: Wrench
    turned: Vector
    moved: CompositeMomentum

    def pull(self, s: Twist, first: Twist) -> Pull:
        """That along a column and its rate Ψ̇."""
        # (x × S) · U is x · (S ×* U), and 2 B[x] S · U is x · −2 B[U] S
        carried = s.carries(self.unit)
        stirred = dragged(self.moved, s.angular)
        twice = _scaled(2.0, carried)
        later = _scaled(2.0, first.carries(self.unit))
        later = later - dragged(self.moved, first.angular)
        turned = cross(s.angular, self.turned)
        later += Wrench(turned, ZERO3)
        return Pull(carried, twice - stirred, carried - stirred, later)


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
            self._at_or_below(k)
            above = [i for i in self.trees.paths[k.body] if i.body != k.body]
            if above:
                with self.enter("So", k.body):
                    self._above(k, above)
        return entries_of(self.second.robot, self.made)

    def _put(self, i: Column, k: Column, j: Column, felt: Mapping[str, Scalar]) -> None:
        """What torque i has of changes by k and j (:meth:`Pull.felt`)."""
        dofs = i.dof, k.dof, j.dof
        apart = j.body != k.body
        for kind in "qq", "vv":
            self.made[kind].put(felt[kind], *dofs)
            # both entries of two of one kind, unless one joint has both
            if apart:
                self.made[kind].put(felt[kind], i.dof, j.dof, k.dof)
        self.made["qv"].put(felt["vq"], i.dof, j.dof, k.dof)
        if apart:
            self.made["qv"].put(felt["qv"], *dofs)

    def _masses(self, i: Column, k: Column, j: Column, x: Scalar) -> None:
        """∂M_ij/∂q_k, of a symmetric M."""
        put = self.made["aq"].put
        put(x, i.dof, j.dof, k.dof)
        if i.dof != j.dof:
            put(x, j.dof, i.dof, k.dof)

    def _at_or_below(self, k: Column) -> None:
        """The torques at or below k's joint."""
        rates = self.second.moving.rates
        first = rates[k.dof].first
        for i in self.below[k.body]:
            with self.enter("So", i.body):
                pull = self.probes[i.dof].pull(k.twist, first)
                for j in self.trees.paths[k.body]:
                    apart = j.body != k.body
                    own = pull.felt(rates[j.dof], j.twist, apart)
                    self._put(i, k, j, own)
                    if apart:
                        self._masses(i, k, j, own["qa"])

    def _above(self, k: Column, above: Sequence[Column]) -> None:
        """The torques of joints above k's."""
        second, moving = self.second, self.second.moving
        s, body = k.twist, k.body
        moved = self.probes[k.dof].moved
        inertia, momentum = second.displaced(k, moved)
        force = s.carries(second.forces[body]) + moving.by_position(k.dof, body)
        pushed = moving.by_velocity(k, body)
        for j in self.trees.paths[body]:
            rates = moving.rates[j.dof]
            first, later, both = rates.first.angular, rates.second, rates.by_velocity
            turns = {
                "qq": response(inertia, momentum, _variation(first, later)),
                "vv": dragged(moved, j.twist.angular),
                "vq": dragged(moved, first),
                "qv": response(inertia, momentum, _variation(j.twist.angular, both)),
            }
            if j.body == body:
                # one joint's velocities do not turn its own columns
                crossed = j.twist.cross(s)
                turns["vv"] -= momentum_of(self.trees.composites[body], crossed)
            still = dict(turns)
            still["qq"] += j.twist.carries(force)
            still["vq"] += j.twist.carries(pushed)
            along = momentum_of(inertia, j.twist)
            for i in above:
                # a torque's own column turns with j where that is at or above it
                felt = turns if j.body <= i.body else still
                self._put(i, k, j, {kind: i.twist.power(x) for kind, x in felt.items()})
                # the other half of M is the same
                if j.body != body and i.dof <= j.dof:
                    x = i.twist.power(along)
                    self._masses(i, k, j, x)


def _variation(x: Vector, acceleration: Twist) -> Variation:
    return Variation(x, acceleration.angular, acceleration.linear)


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
        own = subtree.pull(s, first)
        if k.dof in slid:
            along = slid[k.dof]
            carried = own.carried + momentum_of(inertia, along)
            both = momentum_adjoint((along.angular, along.linear), momentum)
            later = own.later + Wrench(both, ZERO3)
            own = replace(own, carried=carried, later=later)
        self.pull = own
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
        felt = self.pull.felt(self.rates[j.dof], j.twist, apart)
        x = self._slid(j, self.force)
        put("qq", add(felt["qq"], x), k, j)
        put("vv", felt["vv"], k, j)
        x = self._slid(j, self.by_velocity)
        put("qv", add(felt["vq"], x), j, k)
        x = self._slid(j, self.unit)
        put("aq", x, k, j)
        if apart:
            put("qv", felt["qv"], k, j)
            put("aq", felt["qa"], j, k)

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
