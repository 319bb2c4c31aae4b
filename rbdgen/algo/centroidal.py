"""The centre of mass, and momentum about it: maps from joint velocities, their rates, and their derivatives.

Momentum is [linear, angular] in the base's directions, about the centre of mass (Orin, Goswami & Lee, Autonomous Robots
2013). Column k of the map A is the momentum of k's subtree where its joint moves at 1, I_k S_k. The rate of momentum is
the wrench that moves the robot so, gravity not felt: its derivatives are those of the forces on subtrees
(:mod:`rbdgen.algo.subtrees`), and, by position, what the subtree's own force turns by. As moments are about a point
that moves, each changes by −J_k × force more, where J_k is the centre of mass's Jacobian.

Submodules: ``Cm_i`` for the columns of body i, ``Cm`` for the whole robot.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from rbdgen.algo.composite import CompositeInertia
from rbdgen.algo.following import Collected
from rbdgen.algo.rnea import Wrench
from rbdgen.algo.subtrees import Column, MovingSubtrees, Subtrees, momentum_of
from rbdgen.spatial import Scalar, Vector, add, cross, mul, vadd, vscale, vsub

Columns = dict[tuple[int, ...], Scalar]
"""Entries of a matrix by row and degree of freedom."""


def times(columns: Columns, x: Vector, rows: int) -> Vector:
    """A matrix of so many rows times ``x`` (nv)."""
    found: list[Scalar] = [0.0] * rows
    for (row, dof), entry in columns.items():
        term = mul(entry, x[dof])
        found[row] = add(found[row], term)
    return tuple(found)


class Centroid:
    """The centre of mass of a robot at one configuration, ``trees``."""

    def __init__(self, trees: Subtrees) -> None:
        self.trees = trees
        self.robot = trees.robot
        self.enter = trees.enter

    @cached_property
    def whole(self) -> CompositeInertia:
        """The robot's inertia."""
        return self.trees.all_of_it(self.trees.composites, "Cm")

    @cached_property
    def position(self) -> Vector:
        """The centre of mass, in the base's coordinates."""
        with self.enter("Cm", None):
            return vscale(1.0 / self.whole.mass, self.whole.first)

    @cached_property
    def _momenta(self) -> dict[int, Wrench]:
        """I_k S_k by degree of freedom of the tree, about the base's origin."""
        found = {}
        for column in self.trees.columns:
            with self.enter("Cm", column.body):
                inertia = self.trees.composites[column.body]
                found[column.dof] = momentum_of(inertia, column.twist)
        return found

    @cached_property
    def slopes(self) -> dict[int, Vector]:
        """By degree of freedom of the tree: how the centre of mass moves."""
        found = {}
        for column in self.trees.columns:
            with self.enter("Cm", column.body):
                push = self._momenta[column.dof].force
                found[column.dof] = vscale(1.0 / self.whole.mass, push)
        return found

    @cached_property
    def jacobian(self) -> Columns:
        """Of the centre of mass, (3, nv)."""
        collected = Collected(self.robot)
        for column in self.trees.columns:
            with self.enter("Cm", column.body):
                collected.put_vector(self.slopes[column.dof], column.dof)
        return collected.entries

    @cached_property
    def map(self) -> Columns:
        """A, (6, nv)."""
        collected = Collected(self.robot)
        for column in self.trees.columns:
            with self.enter("Cm", column.body):
                momentum = self.about(self._momenta[column.dof])
                collected.put_vector(momentum, column.dof)
        return collected.entries

    def about(self, wrench: Wrench) -> Vector:
        """A wrench about the base's origin as [linear, angular] about the centre of mass."""
        lever = cross(self.position, wrench.force)
        return wrench.force + vsub(wrench.moment, lever)

    def velocity(self, v: Vector) -> Vector:
        """Of the centre of mass."""
        with self.enter("Cm", None):
            return times(self.jacobian, v, 3)

    def momentum(self, v: Vector) -> Vector:
        """A v."""
        with self.enter("Cm", None):
            return times(self.map, v, 6)

    def gained(self, a: Vector, bias: Vector) -> Vector:
        """A a + ``bias``: the rate of momentum with accelerations, from that without."""
        gain = self.momentum(a)
        with self.enter("Cm", None):
            return vadd(gain, bias)

    def rate(self, moving: MovingSubtrees) -> Vector:
        """Of momentum, where the robot moves so on a base that stands still and without gravity."""
        total = self.trees.all_of_it(moving.forces(), "Cm")
        with self.enter("Cm", None):
            return self.about(total)


@dataclass(frozen=True)
class CentroidalDerivatives:
    """∂h/∂q, ∂ḣ/∂q and ∂ḣ/∂v, (6, nv) each; ∂h/∂v and ∂ḣ/∂a are A."""

    momentum_by_position: Columns
    rate_by_position: Columns
    rate_by_velocity: Columns


def centroidal_derivatives(found: Centroid, moving: MovingSubtrees) -> CentroidalDerivatives:
    """Of a robot that moves so on a base that stands still and without gravity."""
    trees = found.trees
    momenta = trees.wrenches(moving.momenta)
    forces = moving.forces()
    whole = trees.all_of_it(momenta, "Cm"), trees.all_of_it(forces, "Cm")
    made = [Collected(found.robot) for _ in range(3)]
    for column in trees.columns:
        with found.enter("Cm", column.body):
            columns = _changes(found, moving, column, (momenta, forces), whole)
            for collected, x in zip(made, columns, strict=True):
                collected.put_vector(x, column.dof)
    return CentroidalDerivatives(*(collected.entries for collected in made))


def _changes(
    found: Centroid,
    moving: MovingSubtrees,
    column: Column,
    subtrees: tuple[list[Wrench], list[Wrench]],
    whole: tuple[Wrench, Wrench],
) -> tuple[Vector, Vector, Vector]:
    """One column of each derivative; momenta and forces of ``subtrees``, and of the ``whole`` robot."""
    body, dof, s = column.body, column.dof, column.twist
    momenta, forces = subtrees
    inertia = found.trees.composites[body]
    slipped = momentum_of(inertia, moving.rates[dof].first)
    by_position = s.carries(momenta[body]) + slipped
    turned = s.carries(forces[body])
    rate_by_position = turned + moving.by_position(dof, body)
    rate_by_velocity = moving.by_velocity(column, body)

    def about_moved(wrench: Wrench, total: Wrench) -> Vector:
        # the point that moments are about moves as well
        moved = cross(found.slopes[dof], total.force)
        change = found.about(wrench)
        return change[:3] + vsub(change[3:], moved)

    return (
        about_moved(by_position, whole[0]),
        about_moved(rate_by_position, whole[1]),
        found.about(rate_by_velocity),
    )
