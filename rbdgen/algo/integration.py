"""Where a state gets to that moves for a while, and what becomes of its changes: joints by their own manifolds.

A state is [q, v] with a tangent of 2 nv: of its changes, those of q are velocities of the joints. A way moves q by the
exponential of each joint and adds to v, as Pinocchio's ``integrate`` and Crocoddyl's states. Integration is submodule
``In_i`` of a degree of freedom's body.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from functools import cached_property

from rbdgen.algo.factorisation import dof_bodies
from rbdgen.algo.following import Entries
from rbdgen.algo.submodules import Enter, anywhere
from rbdgen.model.rigid_motions import Functions
from rbdgen.model.robot import Robot
from rbdgen.spatial import Matrix, Scalar, Vector, add, is_constant, mul


class Integration:
    """A robot's, by ``functions`` of the angles by which its joints turn (:mod:`rbdgen.model.rigid_motions`)."""

    def __init__(self, robot: Robot, functions: Functions, enter: Enter = anywhere) -> None:
        self.robot = robot
        self.functions = functions
        self.enter = enter

    @cached_property
    def bodies(self) -> tuple[int, ...]:
        """For each entry of a state's tangent the body of its degree of freedom."""
        bodies = dof_bodies(self.robot)
        return bodies + bodies

    def of_entry(self, k: int) -> AbstractContextManager[None]:
        """Text of an entry of a state's tangent belongs to its integration."""
        return self.enter("In", self.bodies[k])

    def scaled(self, factor: float, rows: Entries) -> Entries:
        """``factor`` times entries by row of the tangent and column; none if it is zero."""
        result: Entries = {}
        if factor == 0.0:
            return result
        for (i, j), x in rows.items():
            with self.of_entry(i):
                result[i, j] = mul(factor, x)
        return result

    def moved(self, q: Vector, way: Vector) -> Vector:
        """q (nq) after a ``way`` (nv)."""
        result: list[Scalar] = []
        for body, own_q, own_v in self.robot.independent:
            own = q[own_q]
            if not all(is_constant(x, 0) for x in way[own_v]):
                with self.of_entry(own_v.start):
                    own = body.joint.moved(own, way[own_v], self.functions)
            result += own
        return tuple(result)

    def changes(self, way: Vector) -> Changes:
        """What becomes of changes on a ``way`` (nv)."""
        by_start: Entries = {}
        by_way: dict[int, list[tuple[int, Scalar]]] = {}
        for body, _, own in self.robot.independent:
            with self.of_entry(own.start):
                start, through = body.joint.moved_by(way[own], self.functions)
            for (i, k), x in _entries(start, own.start):
                by_start[i, k] = x
            for (i, k), x in _entries(through, own.start):
                by_way.setdefault(k, []).append((i, x))
        return Changes(self, by_start, by_way)


class Changes:
    """On a way: ``by_start`` the entries of what a change of q at its start becomes, and by column those of what a
    change of the way itself does."""

    def __init__(
        self, own: Integration, by_start: Entries, by_way: dict[int, list[tuple[int, Scalar]]]
    ) -> None:
        self.own = own
        self.by_start = by_start
        self.by_way = by_way

    def through(self, ways: Entries) -> Entries:
        """What changes of the way make of the state's tangent, by the ways' entries; v changes by those of v."""
        result: Entries = {}
        for (k, j), x in ways.items():
            if k >= self.own.robot.nv:
                result[k, j] = x
                continue
            for i, factor in self.by_way[k]:
                with self.own.of_entry(i):
                    term = mul(factor, x)
                    increase(result, (i, j), term)
        return result

    def with_start(self, ways: Entries) -> Entries:
        """As :meth:`through`, and what changes of the state at the start become."""
        result = self.through(ways)
        nv = self.own.robot.nv
        held = dict(self.by_start)
        for k in range(nv, 2 * nv):
            held[k, k] = 1.0
        for (i, j), x in held.items():
            with self.own.of_entry(i):
                increase(result, (i, j), x)
        return result


def _entries(m: Matrix, first: int) -> Iterable[tuple[tuple[int, int], Scalar]]:
    """Entries of a block on the diagonal that are not zero, by row and column."""
    for i, row in enumerate(m):
        for j, x in enumerate(row):
            if not is_constant(x, 0):
                yield (first + i, first + j), x


def increase(entries: Entries, place: tuple[int, int], x: Scalar) -> None:
    """Add to an entry (in place)."""
    before = entries.get(place, 0.0)
    entries[place] = add(before, x)
