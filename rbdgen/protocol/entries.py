"""Entries of symmetric matrices and tensors: which one is sent, and for which other it stands."""

from __future__ import annotations

from collections.abc import Sequence


def mirrored(index: Sequence[int]) -> tuple[int, ...]:
    """The entry for which one below the diagonal of the last two dimensions stands as well: that across it. Any other
    stands for itself alone; one above the diagonal is sent only where the two differ, behind that below it."""
    *before, row, column = index
    if row > column:
        row, column = column, row
    return (*before, row, column)


def is_above(index: Sequence[int]) -> bool:
    """Whether an entry is above that diagonal."""
    return index[-1] > index[-2]
