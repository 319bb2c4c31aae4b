"""Forward dynamics in contact: rows of Jacobians that are held, each by a force, and others that slide.

M a + C = τ + Jᵀ f and J a + J̇ v = d give Λ⁻¹ f = d − J̇ v − J a₀ with a₀ = M⁻¹ (τ − C) and Λ⁻¹ = J M⁻¹ Jᵀ + δ 1; then
a = a₀ + M⁻¹ Jᵀ f. With the factors of M (:mod:`rbdgen.algo.operational_space`) that is one substitution per row, a
dense solution, and one more substitution for a. Carpentier, Budhiraja & Mansard, RSS 2021, without iterations.

An open contact's rows are taken out by its number ``closed``, 0 or 1: off the diagonal they are multiplied by it, on
the diagonal stands 1, and its force is 0.

Sliding contacts. Along the directions G_C a contact is held by forces K_C, as above; along G_F it lets its frame
move, and there acts K_F = φ K_C + d: friction of what slides follows the force that holds it. With Λ⁻¹ of held and free
rows together, blocks C and F,

    (Λ⁻¹_CC + Λ⁻¹_CF φ) K_C = wanted − a₀ − Λ⁻¹_CF d,

which is not symmetric, and not always solvable: where φ is so large that a force that holds, with the friction that
follows, does not accelerate its contact towards where it holds, the contact jams (Painlevé's paradox), and a pivot is
not above zero. (Lilly & Orin, Int. J. Robotics Research 10(2), 1991: contacts of the second type; Fijany, ICRA 1994.)

Its equations become K_C = 0 where a contact is open, and d is 0. They are solved by elimination, last row first and
without pivoting: what is left of each row's own entry is its pivot, and hardware flags one that is not above zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property

from rbdgen.algo.following import Entries
from rbdgen.algo.operational_space import DENSE, ContactSpace, FreeMotion
from rbdgen.spatial import Enter, Matrix, Scalar, Vector, add, anywhere, mul, reciprocal, sub


@dataclass(frozen=True)
class Held:
    """A contact's rows: ``closed`` 0 or 1, and by row how it is to accelerate beyond what velocities make it:
    ``wanted`` = d − J̇ v."""

    closed: Scalar
    wanted: Sequence[Scalar]


def held_dynamics(
    space: ContactSpace, contacts: Sequence[Held], rest: Sequence[Scalar]
) -> tuple[Vector, Vector]:
    """Accelerations (nv) and the contacts' forces by row, from ``rest`` = τ − C (nv); the contacts' rows are those of
    ``space``, one contact after the other."""
    return ClosedContacts(space, contacts).moved(contacts, rest)


class ClosedContacts:
    """The ``contacts`` of ``space`` that are closed, taken apart once for any wanted accelerations and torques."""

    def __init__(self, space: ContactSpace, contacts: Sequence[Held]) -> None:
        self.space = space
        owner: list[int] = []
        for number, contact in enumerate(contacts):
            # open contacts are masked as a whole
            owner += [number] * len(contact.wanted)
        matrix = _masked(space, contacts, owner)
        self.factors = space.elimination.factorise(matrix)

    def moved(self, contacts: Sequence[Held], rest: Sequence[Scalar]) -> tuple[Vector, Vector]:
        """Accelerations (nv) and forces by row, as of :func:`held_dynamics`."""
        motion = self.space.free_motion(rest)
        missing = missing_accelerations(self.space, contacts, motion)
        forces = self.space.elimination.solve(self.factors, missing)
        return motion.pushed(forces), forces


def missing_accelerations(
    space: ContactSpace, contacts: Sequence[Held], motion: FreeMotion
) -> list[Scalar]:
    """By row of the contacts, which are the first of ``space``, the acceleration that its force has to make: nothing of
    an open contact."""
    found: list[Scalar] = []
    for contact in contacts:
        for asked in contact.wanted:
            row = len(found)
            with space.enter("Os", space.row_bodies[row]):
                missing = sub(asked, motion.acceleration(row))
                found.append(mul(contact.closed, missing))
    return found


def _masked(space: ContactSpace, contacts: Sequence[Held], owner: Sequence[int]) -> Entries:
    """Λ⁻¹ of the closed contacts, and 1 on the diagonal of the others."""
    entries: Entries = {}
    for (i, j), x in space.inverse.items():
        one = contacts[owner[i]].closed
        other = contacts[owner[j]].closed
        with space.enter("Os", space.row_bodies[i]):
            # 0 or 1 squared is itself
            both = one
            if owner[i] != owner[j]:
                both = mul(one, other)
            entry = mul(both, x)
            if i == j:
                # an open contact's equation becomes 1 · f = 0, so that the matrix stays regular
                instead = sub(1.0, one)
                entry = add(entry, instead)
            entries[i, j] = entry
    return entries


def lu_solve(
    matrix: Entries,
    right: Sequence[Scalar],
    bodies: Sequence[int],
    enter: Enter = anywhere,
    kinds: tuple[str, str] = ("Of", "Oi"),
) -> Vector:
    """x of A x = right, from A's entries (i, j); those that are missing are zero. ``bodies``: by row, whose submodules
    its steps and its result are, of these ``kinds``."""
    work = dict(matrix)
    rest = list(right)
    pivots: list[Scalar] = [0.0] * len(rest)
    for k in reversed(range(len(rest))):
        with enter(kinds[0], bodies[k]):
            pivots[k] = reciprocal(work[k, k])
            # rows above only: those below are eliminated already
            for i in range(k):
                factor = mul(work.get((i, k), 0.0), pivots[k])
                for j in range(k):
                    change = mul(factor, work.get((k, j), 0.0))
                    before = work.get((i, j), 0.0)
                    work[i, j] = sub(before, change)
                change = mul(factor, rest[k])
                rest[i] = sub(rest[i], change)
    found: list[Scalar] = []
    for k, pivot in enumerate(pivots):
        with enter(kinds[1], bodies[k]):
            total = rest[k]
            for j, x in enumerate(found):
                change = mul(work.get((k, j), 0.0), x)
                total = sub(total, change)
            found.append(mul(total, pivot))
    return tuple(found)


@dataclass(frozen=True)
class Law:
    """The law of forces along a contact's free directions: ``slope`` φ, a row for each of them with an entry for each
    held one, and ``offset`` d."""

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
                # an open contact asks for nothing: its right-hand side stays 0
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
    # friction that follows makes the matrix unsymmetric: no factors L D Lᵀ
    forces = lu_solve(sliding.response, right, space.row_bodies, space.enter, DENSE)
    both = forces + sliding.following(forces)
    return motion.pushed(both), forces
