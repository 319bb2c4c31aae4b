"""Products of matrices that stay whole: a graph has their factors as results, and their entries as operands.

Written out, M⁻¹ times the derivatives of a humanoid is a hundred thousand operations; a processor does them in three
loops. Hardware has them written out, and graphs for it have none of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Index = tuple[int, int]
"""Row and column."""


@dataclass(frozen=True)
class MatrixProduct:
    """−(left · right).

    ``left`` and ``right`` are names of a graph's results by entry; those that are missing are zero. ``entries`` are
    names of its inputs, which stand for the product's."""

    left: Mapping[Index, str]
    right: Mapping[Index, str]
    entries: Mapping[Index, str]


def shape(entries: Mapping[Index, object]) -> Index:
    """Rows and columns that hold these entries."""
    rows = 1 + max(i for i, _ in entries)
    columns = 1 + max(j for _, j in entries)
    return rows, columns
