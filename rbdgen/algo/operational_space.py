"""Inertia as seen from rows of Jacobians: of frames or of contacts, on any tree.

With M = Lᵀ D L and Z = L⁻ᵀ Jᵀ, the inverse inertia is Λ⁻¹ = J M⁻¹ Jᵀ + δ 1 = Zᵀ D⁻¹ Z + δ 1: one substitution per row
of J, which keeps the tree's zeros, and no inverse of M. Featherstone, "Exploiting sparsity in operational-space
dynamics", 2010. Entries are submodule ``Os_i`` of the frame's body; Λ itself is Λ⁻¹ taken apart (``Of_i``) and inverted
(``Oi_i``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rbdgen.algo.factorisation import Elimination, Factors
from rbdgen.algo.following import Entries
from rbdgen.algo.frames import Kinematics
from rbdgen.algo.submodules import Enter, anywhere
from rbdgen.spatial import Scalar, Vector, add, dot, mul

DENSE = ("Of", "Oi")
"""Submodules of Λ⁻¹'s elimination and of Λ's rows."""


@dataclass(frozen=True)
class Row:
    """A row of a Jacobian: its ``entries`` by degree of freedom, and the ``body`` whose motion it is."""

    entries: Mapping[int, Scalar]
    body: int


def rows_of(kinematics: Kinematics, counts: Sequence[int]) -> list[Row]:
    """The first so many rows of each frame's Jacobian, one frame after the other."""
    rows: list[Row] = []
    for frame, jacobian, count in zip(kinematics.frames, kinematics.jacobians, counts, strict=True):
        for row in range(count):
            entries = {dof: x for (r, dof), x in jacobian.items() if r == row}
            rows.append(Row(entries, frame.body))
    return rows


def even_damping(rows: int, damping: float) -> Entries:
    """δ 1 of so many rows."""
    return {(i, i): damping for i in range(rows)} if damping else {}


class OperationalSpace:
    """Rows of Jacobians over a mass matrix that is taken apart ``along`` its tree into ``factors``; entries (i, j), i ≥
    j, of ``damping`` are added to Λ⁻¹."""

    def __init__(
        self,
        along: Elimination,
        factors: Factors,
        rows: Sequence[Row],
        damping: Entries | None = None,
        enter: Enter = anywhere,
    ) -> None:
        self.along = along
        self.factors = factors
        self.rows = tuple(rows)
        self.damping = damping or {}
        self.enter = enter
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

    @cached_property
    def inverse(self) -> Entries:
        """Entries (i, j), i ≥ j, of Λ⁻¹, without those that are zero."""
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

    @cached_property
    def elimination(self) -> Elimination:
        """How Λ⁻¹ is taken apart: as a matrix without a structure."""
        parents = range(-1, len(self.rows) - 1)
        bodies = [row.body for row in self.rows]
        return Elimination(parents, bodies, self.enter, DENSE)

    @cached_property
    def inverse_factors(self) -> Factors:
        """The factors of Λ⁻¹."""
        return self.elimination.factorise(self.inverse)

    @cached_property
    def inertia(self) -> Entries:
        """Entries (i, j), i ≥ j, of Λ."""
        return self.elimination.inverse(self.inverse_factors)

    def force(self, acceleration: Sequence[Scalar]) -> Vector:
        """Λ times an acceleration of the rows: the force that it takes."""
        return self.elimination.solve(self.inverse_factors, acceleration)

    def acceleration(self, force: Sequence[Scalar]) -> Vector:
        """Λ⁻¹ times a force on the rows: the acceleration that it gives, by one solution with M."""
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
