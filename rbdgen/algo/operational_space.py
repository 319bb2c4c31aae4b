"""Inertia as seen from rows of Jacobians: of frames or of contacts, on any tree.

With M = Lᵀ D L and Z = L⁻ᵀ Jᵀ, the inverse inertia is Λ⁻¹ = J M⁻¹ Jᵀ + δ 1 = Zᵀ D⁻¹ Z + δ 1: one substitution per row
of J, which keeps the tree's zeros, and no inverse of M. Featherstone, "Exploiting sparsity in operational-space
dynamics", 2010. Entries are submodule ``Os_i`` of the frame's body; Λ itself is Λ⁻¹ taken apart (``Of_i``) and inverted
(``Oi_i``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rbdgen.algo.factorisation import Elimination, Factors
from rbdgen.algo.following import Entries
from rbdgen.algo.frames import Kinematics
from rbdgen.spatial import Enter, Scalar, Vector, add, anywhere, dot, mul

DENSE = ("Of", "Oi")
"""Submodules of Λ⁻¹'s elimination and of Λ's rows."""


@dataclass(frozen=True)
class Row:
    """A row of a Jacobian: its ``entries`` by degree of freedom, and the ``body`` whose motion it is."""

    entries: Mapping[int, Scalar]
    body: int


def rows_of(kinematics: Kinematics, axes: Sequence[Sequence[int]]) -> list[Row]:
    """The rows of each frame's Jacobian for some ``axes`` of its motion, one frame after the other."""
    rows: list[Row] = []
    for frame, jacobian, chosen in zip(kinematics.frames, kinematics.jacobians, axes, strict=True):
        for row in chosen:
            entries = {dof: x for (r, dof), x in jacobian.items() if r == row}
            rows.append(Row(entries, frame.body))
    return rows


def even_damping(rows: int, damping: float) -> Entries:
    """Entries of δ 1 of so many rows, for ``damping`` δ; none for zero."""
    return {(i, i): damping for i in range(rows)} if damping else {}


class FrameInertia(ABC):
    """Λ and Λ⁻¹ of rows, by row the ``bodies`` whose motion they are; however Λ⁻¹ is found, Λ can be found of it."""

    def __init__(self, bodies: Sequence[int], enter: Enter) -> None:
        self.row_bodies = tuple(bodies)
        self.enter = enter

    @cached_property
    def inverse(self) -> Entries:
        """Entries (i, j), i ≥ j, of Λ⁻¹, without those that are zero."""
        return self._inverse()

    @property
    def is_formed(self) -> bool:
        """Whether Λ⁻¹ is there already, for something else."""
        # cached_property keeps its value there
        return "inverse" in self.__dict__

    @cached_property
    def inertia(self) -> Entries:
        """Entries (i, j), i ≥ j, of Λ."""
        return self._inertia()

    @abstractmethod
    def _inverse(self) -> Entries:
        """:attr:`inverse`, once."""

    def _inertia(self) -> Entries:
        """:attr:`inertia`, once."""
        return self.elimination.inverse(self.inverse_factors)

    @abstractmethod
    def acceleration(self, force: Sequence[Scalar]) -> Vector:
        """Λ⁻¹ times a force on the rows: the acceleration that it gives."""

    @cached_property
    def elimination(self) -> Elimination:
        """The elimination of Λ⁻¹: as a matrix without a structure."""
        # a chain: each row couples with all before it
        parents = range(-1, len(self.row_bodies) - 1)
        return Elimination(parents, self.row_bodies, self.enter, DENSE)

    @cached_property
    def inverse_factors(self) -> Factors:
        """The factors of Λ⁻¹."""
        return self.elimination.factorise(self.inverse)

    def force(self, acceleration: Sequence[Scalar]) -> Vector:
        """Λ times an acceleration of the rows: the force that it takes."""
        return self.elimination.solve(self.inverse_factors, acceleration)


class FreeMotion(ABC):
    """Motion of a robot by its joints' forces alone, and with forces on the rows of a :class:`ContactSpace`."""

    @abstractmethod
    def acceleration(self, row: int) -> Scalar:
        """Of a row, without forces on any, and without what velocities make."""

    @abstractmethod
    def pushed(self, forces: Sequence[Scalar]) -> Vector:
        """The joints' accelerations (nv), with forces on all rows."""


class ContactSpace(FrameInertia):
    """Rows of contacts."""

    @abstractmethod
    def free_motion(self, rest: Sequence[Scalar]) -> FreeMotion:
        """The motion by ``rest`` = τ − C (nv)."""


class OperationalSpace(ContactSpace):
    """Rows of Jacobians over a mass matrix that is taken apart ``along`` its tree into ``factors``; ``damping`` is
    added to Λ⁻¹: a number on its diagonal, or entries (i, j), i ≥ j."""

    def __init__(
        self,
        along: Elimination,
        factors: Factors,
        rows: Sequence[Row],
        damping: float | Entries = 0.0,
        enter: Enter = anywhere,
    ) -> None:
        super().__init__([row.body for row in rows], enter)
        self.along = along
        self.factors = factors
        self.rows = tuple(rows)
        if isinstance(damping, (int, float)):
            damping = even_damping(len(rows), damping)
        self.damping: Entries = damping
        self.dofs = range(len(factors.reciprocals))

    def _dense(self, row: Row) -> list[Scalar]:
        """A row with its zeros."""
        return [row.entries.get(k, 0.0) for k in self.dofs]

    @cached_property
    def halves(self) -> list[list[Scalar]]:
        """Z by row: L⁻ᵀ times the row."""
        found = []
        for row in self.rows:
            dense = self._dense(row)
            found.append(self.along.reduced(self.factors, dense))
        return found

    def _inverse(self) -> Entries:
        """By one substitution per row."""
        # once by row, so that an entry is one dot
        scaled = [self.along.scaled(self.factors, half) for half in self.halves]
        entries: Entries = {}
        for i, row in enumerate(self.rows):
            with self.enter("Os", row.body):
                for j in range(i + 1):
                    entry = dot(tuple(self.halves[i]), tuple(scaled[j]))
                    entry = add(entry, self.damping.get((i, j), 0.0))
                    if not (isinstance(entry, float) and entry == 0.0):
                        entries[i, j] = entry
        return entries

    def free_motion(self, rest: Sequence[Scalar]) -> FreeMotion:
        """The motion by ``rest`` = τ − C (nv), whose first substitution serves all that follows."""
        return _ReducedMotion(self, rest)

    def acceleration(self, force: Sequence[Scalar]) -> Vector:
        """Λ⁻¹ times a force on the rows: the acceleration that it gives, by one solution with M; where Λ⁻¹ is there for
        something else, by that, if it is shorter."""
        # products of either way: Jᵀ and J, and two substitutions
        solution = 2 * sum(len(row.entries) for row in self.rows) + 2 * len(self.factors.lower)
        if self.is_formed and len(self.rows) ** 2 < solution:
            return self._product(force)
        pushed: list[Scalar] = [0.0 for _ in self.dofs]
        for row, f in zip(self.rows, force, strict=True):
            with self.enter("Os", row.body):
                for dof, x in row.entries.items():
                    push = mul(x, f)
                    pushed[dof] = add(pushed[dof], push)
        moved = self.along.solve(self.factors, pushed)
        found: list[Scalar] = []
        for i, row in enumerate(self.rows):
            with self.enter("Os", row.body):
                total = dot(tuple(self._dense(row)), moved)
                for j, f in enumerate(force):
                    damped = mul(self.damping.get((max(i, j), min(i, j)), 0.0), f)
                    total = add(total, damped)
                found.append(total)
        return tuple(found)

    def _product(self, force: Sequence[Scalar]) -> Vector:
        """Λ⁻¹, as it is there, times a force on the rows."""
        found = []
        for i, row in enumerate(self.rows):
            entries = []
            for j in range(len(self.rows)):
                entries.append(self.inverse.get((max(i, j), min(i, j)), 0.0))
            with self.enter("Os", row.body):
                found.append(dot(tuple(entries), tuple(force)))
        return tuple(found)


class _ReducedMotion(FreeMotion):
    """With the factors of M."""

    def __init__(self, space: OperationalSpace, rest: Sequence[Scalar]) -> None:
        self.space = space
        self.reduced = space.along.reduced(space.factors, rest)

    @cached_property
    def _scaled(self) -> Vector:
        return tuple(self.space.along.scaled(self.space.factors, self.reduced))

    def acceleration(self, row: int) -> Scalar:
        """Of a row, by its half of Λ⁻¹."""
        return dot(tuple(self.space.halves[row]), self._scaled)

    def pushed(self, forces: Sequence[Scalar]) -> Vector:
        """The joints' accelerations, with forces added to what is reduced."""
        space = self.space
        # forces enter between the substitutions: their first one is Z, which is there
        pushed = list(self.reduced)
        for half, force in zip(space.halves, forces, strict=True):
            for k, x in enumerate(half):
                with space.enter("Mi", space.along.bodies[k]):
                    push = mul(x, force)
                    pushed[k] = add(pushed[k], push)
        scaled = space.along.scaled(space.factors, pushed)
        return space.along.restored(space.factors, scaled)
