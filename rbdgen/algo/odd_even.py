"""Symmetric positive definite block tridiagonal systems by odd-even elimination, in logarithmic depth.

Every other row is eliminated at the same time, each into its two neighbours, which leaves a system of the same kind
with half of the rows; ⌊log₂ n⌋ + 1 eliminations leave none, and as many steps back give the solution (cyclic
reduction: Hockney 1965; Heller 1976 for blocks; Fijany, Sharf & D'Eleuterio 1995 use it for robots). No pivoting is
needed: the diagonal blocks of every level are Schur complements, positive definite with the matrix. What a row does is
submodule ``Ce_i`` while it is eliminated and ``Cs_i`` for a right-hand side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rbdgen.algo.mobility import BlockInverse, ReducedColumn, block_inverse
from rbdgen.spatial import (
    Enter,
    Matrix,
    Scalar,
    Vector,
    anywhere,
    dot,
    matvec,
    sub,
    transpose,
    vsub,
)

Order = list[tuple[int, tuple[int, ...]]]
"""The rows that a level eliminates, each with those that it is eliminated into."""


@dataclass(frozen=True)
class Neighbour:
    """A row that another one is eliminated into: its number ``row``, and by its entries the columns of the
    eliminated diagonal block's inverse times the block that couples the two (``columns``)."""

    row: int
    columns: tuple[Vector, ...]


@dataclass(frozen=True)
class EliminatedRow:
    """A ``row``, the ``inverse`` of its diagonal block and its ``neighbours``, one or two."""

    row: int
    inverse: BlockInverse
    neighbours: tuple[Neighbour, ...]


@dataclass(frozen=True)
class OddEvenFactors:
    """A matrix as elimination leaves it: the rows by ``levels``, those of a level eliminated at the same time."""

    levels: tuple[tuple[EliminatedRow, ...], ...]

    def solve(self, right: Sequence[Vector], enter: Enter = anywhere) -> list[Vector]:
        """x of A x = right, both by block row."""
        return self.restored(self.reduced(right, enter), {}, enter)

    def reduced(self, right: Sequence[Vector], enter: Enter = anywhere) -> list[Vector]:
        """The rest of a right-hand side at each row when it is eliminated."""
        rest = list(right)
        for level in self.levels:
            for own in level:
                _pass_on(own, rest, enter)
        return rest

    def restored(
        self, rest: Sequence[Vector], known: Mapping[int, Vector], enter: Enter = anywhere
    ) -> list[Vector]:
        """x by row from what is left of the right-hand side; rows that are ``known`` already are taken as they are."""
        result = list(rest)
        for level in reversed(self.levels):
            for own in level:
                if own.row in known:
                    result[own.row] = known[own.row]
                    continue
                with enter("Cs", own.row):
                    column = own.inverse.reduced(rest[own.row])
                    x = own.inverse.solved(column)
                    for neighbour in own.neighbours:
                        rows = transpose(neighbour.columns)
                        taken = matvec(rows, result[neighbour.row])
                        x = vsub(x, taken)
                result[own.row] = x
        return result


def _pass_on(own: EliminatedRow, rest: list[Vector], enter: Enter) -> None:
    """Take what a row has of a right-hand side into its neighbours' (in place)."""
    for neighbour in own.neighbours:
        with enter("Cs", neighbour.row):
            taken = tuple(dot(column, rest[own.row]) for column in neighbour.columns)
            rest[neighbour.row] = vsub(rest[neighbour.row], taken)


def eliminate(
    diagonal: Sequence[Matrix],
    below: Sequence[Matrix],
    enter: Enter = anywhere,
    last: bool = False,
) -> OddEvenFactors:
    """The factors of a matrix of n block rows, from its ``diagonal`` blocks (n) and those ``below``: the k-th is block
    (k + 1, k). ``last``: the last row is the last to be eliminated, for ⌈log₂ n⌉ + 1 levels."""
    work = _work(diagonal, below, enter)
    levels = [work.level(order) for order in elimination_order(len(diagonal), last)]
    return OddEvenFactors(tuple(levels))


def elimination_order(count: int, last: bool = False) -> list[Order]:
    """By level the rows that are eliminated of ``count`` ones; ``last`` as of :func:`eliminate`."""
    rows = list(range(count))
    levels = []
    while rows:
        start = 0
        if last and len(rows) > 1:
            start = len(rows) % 2
        level = []
        for place in range(start, len(rows), 2):
            own = rows[place]
            first = max(place - 1, 0)
            around = rows[first : place + 2]
            others = tuple(row for row in around if row != own)
            level.append((own, others))
        levels.append(level)
        rows = rows[1 - start :: 2]
    return levels


def complement(
    diagonal: Sequence[Matrix], below: Sequence[Matrix], enter: Enter = anywhere
) -> Matrix:
    """The last row's diagonal block with all other rows eliminated into it, their Schur complement: ⌈log₂ n⌉ levels,
    and no step back. Blocks as in :func:`eliminate`; the last one need not be positive definite."""
    work = _work(diagonal, below, enter)
    for order in elimination_order(len(diagonal), last=True)[:-1]:
        work.level(order)
    return work.diagonal[-1]


@dataclass(frozen=True)
class _Work:
    """The blocks of the rows that are left, in place."""

    diagonal: list[Matrix]
    below: dict[tuple[int, int], Matrix]
    enter: Enter

    def level(self, order: Order) -> tuple[EliminatedRow, ...]:
        """The rows of a level, eliminated."""
        found = [self.eliminated(own, others) for own, others in order]
        return tuple(found)

    def eliminated(self, row: int, others: tuple[int, ...]) -> EliminatedRow:
        """A row, eliminated into the ``others``."""
        with self.enter("Ce", row):
            inverse = block_inverse(self.diagonal[row])
            coupled = []
            for other in others:
                block = self._coupling(row, other)
                columns = [inverse.reduced(column) for column in transpose(block)]
                coupled.append(columns)
            found = []
            for other, columns in zip(others, coupled, strict=True):
                solved = tuple(inverse.solved(column) for column in columns)
                found.append(Neighbour(other, solved))
        for other, columns in zip(others, coupled, strict=True):
            self._reduce_diagonal(row, other, inverse, columns)
        if len(others) == 2:
            before, after = others
            with self.enter("Ce", row):
                self.below[after, before] = _couplings(inverse, coupled[1], coupled[0])
        return EliminatedRow(row, inverse, tuple(found))

    def _coupling(self, row: int, other: int) -> Matrix:
        """Block (row, other)."""
        if other < row:
            return self.below[row, other]
        return transpose(self.below[other, row])

    def _reduce_diagonal(
        self, row: int, other: int, inverse: BlockInverse, columns: list[ReducedColumn]
    ) -> None:
        """Take from another row's diagonal block what this one's elimination changes."""
        block = [list(entries) for entries in self.diagonal[other]]
        for i, left in enumerate(columns):
            for j in range(i + 1):
                with self.enter("Ce", row):
                    taken = inverse.form(left, columns[j])
                with self.enter("Ce", other):
                    entry = sub(block[i][j], taken)
                block[i][j] = entry
                block[j][i] = entry
        self.diagonal[other] = tuple(tuple(entries) for entries in block)


def _work(diagonal: Sequence[Matrix], below: Sequence[Matrix], enter: Enter) -> _Work:
    """All rows."""
    blocks = {(k + 1, k): block for k, block in enumerate(below)}
    return _Work(list(diagonal), blocks, enter)


def _couplings(
    inverse: BlockInverse, after: list[ReducedColumn], before: list[ReducedColumn]
) -> Matrix:
    """The block between two rows that the elimination of the one between them makes."""
    rows = []
    for left in after:
        entries: list[Scalar] = []
        for right in before:
            taken = inverse.form(left, right)
            entries.append(sub(0.0, taken))
        rows.append(tuple(entries))
    return tuple(rows)
