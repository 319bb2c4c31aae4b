"""Forward dynamics in contacts of which some directions are held and others free, with forces along these by a law.

Along the directions G_C a contact is held by forces K_C, as in :mod:`rbdgen.algo.contact`; along G_F it lets its frame
move, and there acts K_F = φ K_C + d: friction of what slides follows the force that holds it. With Λ⁻¹ of held and free
rows together, blocks C and F,

    (Λ⁻¹_CC + Λ⁻¹_CF φ) K_C = wanted − a₀ − Λ⁻¹_CF d,

which is not symmetric, and not always solvable: where φ is so large that a force that holds, with the friction that
follows, does not accelerate its contact towards where it holds, the contact jams (Painlevé's paradox), and a pivot is
not above zero. (Lilly & Orin, Int. J. Robotics Research 10(2), 1991: contacts of the second type; Fijany, ICRA 1994.)

An open contact's rows are taken out by its number ``closed``, 0 or 1: its equations become K_C = 0, and d is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property

from rbdgen.algo.contact import Held, missing_accelerations
from rbdgen.algo.following import Entries
from rbdgen.algo.lu import lu_solve
from rbdgen.algo.operational_space import DENSE, ContactSpace
from rbdgen.spatial import Matrix, Scalar, Vector, add, mul, sub


@dataclass(frozen=True)
class Law:
    """What acts along a contact's free directions: ``slope`` φ, a row for each of them with an entry for each held one,
    and ``offset`` d."""

    slope: Matrix
    offset: Vector


@dataclass(frozen=True)
class _Row:
    """A held or free row: its ``contact``, and which of that one's held or free rows it is (``own``)."""

    contact: int
    own: int


class SlidingContacts:
    """``contacts`` with their ``laws``; the rows of ``space`` are the held ones of all contacts, then all free ones."""

    def __init__(self, space: ContactSpace, contacts: Sequence[Held], laws: Sequence[Law]) -> None:
        self.space = space
        self.contacts = contacts
        self.laws = laws
        self.held: list[_Row] = []
        self.free: list[_Row] = []
        for number, (contact, law) in enumerate(zip(contacts, laws, strict=True)):
            self.held += [_Row(number, own) for own in range(len(contact.wanted))]
            self.free += [_Row(number, own) for own in range(len(law.offset))]

    def _enter(self, row: int) -> AbstractContextManager[None]:
        return self.space.enter("Os", self.space.row_bodies[row])

    def _mobility(self, i: int, j: int) -> Scalar:
        """Entry (i, j) of Λ⁻¹."""
        return self.space.inverse.get((max(i, j), min(i, j)), 0.0)

    def _slope(self, free: _Row, held: _Row) -> Scalar:
        """The entry of φ; none between different contacts."""
        if free.contact != held.contact:
            return 0.0
        return self.laws[free.contact].slope[free.own][held.own]

    @property
    def response(self) -> Entries:
        """Entries (i, j) of how held rows accelerate by their forces and what follows these; of open ones, of 1."""
        entries: Entries = {}
        for i, row in enumerate(self.held):
            closed = self.contacts[row.contact].closed
            with self._enter(i):
                for j in range(len(self.held)):
                    entry = mul(closed, self._response(i, j))
                    if i == j:
                        instead = sub(1.0, closed)
                        entry = add(entry, instead)
                    entries[i, j] = entry
        return entries

    def _response(self, i: int, j: int) -> Scalar:
        """Entry (i, j), were all contacts closed."""
        total = self._mobility(i, j)
        for k, row in enumerate(self.free, len(self.held)):
            slope = self._slope(row, self.held[j])
            follows = mul(self._mobility(i, k), slope)
            total = add(total, follows)
        return total

    @cached_property
    def offsets(self) -> list[Scalar]:
        """d by free row, 0 of open contacts."""
        found: list[Scalar] = []
        for k, row in enumerate(self.free, len(self.held)):
            with self._enter(k):
                given = self.laws[row.contact].offset[row.own]
                found.append(mul(self.contacts[row.contact].closed, given))
        return found

    def right(self, missing: Sequence[Scalar]) -> list[Scalar]:
        """By held row the acceleration that is ``missing``, less what d makes."""
        found: list[Scalar] = []
        for i, row in enumerate(self.held):
            with self._enter(i):
                total: Scalar = 0.0
                for k, offset in enumerate(self.offsets, len(self.held)):
                    more = mul(self._mobility(i, k), offset)
                    total = add(total, more)
                made = mul(self.contacts[row.contact].closed, total)
                found.append(sub(missing[i], made))
        return found

    def following(self, forces: Vector) -> Vector:
        """K_F from K_C."""
        found: list[Scalar] = []
        for k, row in enumerate(self.free):
            with self._enter(len(self.held) + k):
                total = self.offsets[k]
                for j, other in enumerate(self.held):
                    slope = self._slope(row, other)
                    more = mul(slope, forces[j])
                    total = add(total, more)
                found.append(total)
        return tuple(found)


def sliding_dynamics(sliding: SlidingContacts, rest: Sequence[Scalar]) -> tuple[Vector, Vector]:
    """Accelerations (nv) and the forces of the held rows, from ``rest`` = τ − C (nv)."""
    space = sliding.space
    motion = space.free_motion(rest)
    missing = missing_accelerations(space, sliding.contacts, motion)
    right = sliding.right(missing)
    forces = lu_solve(sliding.response, right, space.row_bodies, space.enter, DENSE)
    both = forces + sliding.following(forces)
    return motion.pushed(both), forces
