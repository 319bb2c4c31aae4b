"""Forward dynamics in contact: rows of Jacobians that are held, each by a force.

M a + C = τ + Jᵀ f and J a + J̇ v = d give Λ⁻¹ f = d − J̇ v − J a₀ with a₀ = M⁻¹ (τ − C) and Λ⁻¹ = J M⁻¹ Jᵀ + δ 1; then
a = a₀ + M⁻¹ Jᵀ f. With the factors of M (:mod:`rbdgen.algo.operational_space`) that is one substitution per row, a
dense solution, and one more substitution for a. Carpentier, Budhiraja & Mansard, RSS 2021, without iterations.

An open contact's rows are taken out by its number ``closed``, 0 or 1: off the diagonal they are multiplied by it, on
the diagonal stands 1, and its force is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rbdgen.algo.following import Entries
from rbdgen.algo.operational_space import ContactSpace, FreeMotion
from rbdgen.spatial import Scalar, Vector, add, mul, sub


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
    owner: list[int] = []
    for number, contact in enumerate(contacts):
        owner += [number] * len(contact.wanted)
    motion = space.free_motion(rest)
    missing = missing_accelerations(space, contacts, motion)
    matrix = _masked(space, contacts, owner)
    factors = space.elimination.factorise(matrix)
    forces = space.elimination.solve(factors, missing)
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
            both = one
            if owner[i] != owner[j]:
                both = mul(one, other)
            entry = mul(both, x)
            if i == j:
                instead = sub(1.0, one)
                entry = add(entry, instead)
            entries[i, j] = entry
    return entries
