"""Dense systems without symmetry by elimination, last row first and without pivoting.

What is left of each row's own entry is its pivot. Hardware flags one that is not above zero, as of a symmetric matrix;
who needs others has to know that they are. Steps of elimination and rows of the solution are submodules of the rows'
bodies, kinds as of :class:`rbdgen.algo.factorisation.Elimination`.
"""

from __future__ import annotations

from collections.abc import Sequence

from rbdgen.algo.following import Entries
from rbdgen.algo.submodules import Enter, anywhere
from rbdgen.spatial import Scalar, Vector, mul, reciprocal, sub


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
            for i in range(k):
                factor = mul(work.get((i, k), 0.0), pivots[k])
                for j in range(k):
                    _take(work, (i, j), factor, work.get((k, j), 0.0))
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


def _take(work: Entries, place: tuple[int, int], factor: Scalar, x: Scalar) -> None:
    """Subtract a product from an entry (in place)."""
    change = mul(factor, x)
    before = work.get(place, 0.0)
    work[place] = sub(before, change)
