"""Errors of a vector or matrix by entry as plain geometry, in pixels: shaded cells, which a template draws."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LEVELS = 9
"""Shades of a grid's cells."""
DECADES = 4.0
"""So many are told apart at most; what is smaller is as pale as can be."""


def cell_paths(
    cells: Sequence[tuple[float, float, float, float, int]],
) -> tuple[tuple[int, str], ...]:
    """Rectangles (x, y, width, height, shade) as one path per shade, ascending."""
    by_level: dict[int, list[str]] = defaultdict(list)
    for x, y, width, height, level in cells:
        by_level[level].append(f"M{x:g} {y:g}h{width:g}v{height:g}h{-width:g}z")
    return tuple((level, "".join(by_level[level])) for level in sorted(by_level))


def _level(share: float) -> int:
    """The shade of a share of one."""
    return max(1, min(LEVELS, math.ceil(share * LEVELS)))


@dataclass(frozen=True)
class ErrorGrid:
    """Errors of one vector or matrix by entry: cells shaded by decades between ``least`` and ``largest``. ``entries``
    says in words what is where: x, y and the entry with its error."""

    vector: str
    size: int
    rows: int
    columns: int
    width: float
    height: float
    cells: tuple[tuple[int, str], ...]
    entries: tuple[tuple[float, float, str], ...]
    least: float
    largest: float
    rms: float


def error_grid(vector: str, errors: Mapping[str, Any]) -> ErrorGrid:
    """A grid of the largest error of each entry, by joint where ``errors`` have ``labels``; entries without error stay
    empty."""
    rows = _matrix(errors["max"])
    values = [x for row in rows for x in row if x > 0]
    least, largest = min(values, default=0.0), max(values, default=0.0)
    span = 1.0
    if largest > least:
        span = min(DECADES, math.log10(largest / least))
    size = 18 if len(rows) <= 16 else 9
    cells = []
    entries = []
    for i, row in enumerate(rows):
        for j, error in enumerate(row):
            where = _where(errors.get("labels"), (i, j) if len(rows) > 1 else (j,))
            entries.append((j * size, i * size, f"{vector} {where}: {error:.1e}"))
            if error > 0:
                level = LEVELS
                if error < largest:
                    level = _level(1 + math.log10(error / largest) / span)
                cells.append((j * size, i * size, size - 1, size - 1, level))
    columns = max((len(row) for row in rows), default=0)
    return ErrorGrid(
        vector,
        size,
        len(rows),
        columns,
        width=columns * size,
        height=len(rows) * size,
        cells=cell_paths(cells),
        entries=tuple(entries),
        least=least,
        largest=largest,
        rms=_root_mean_square(errors["rms"]),
    )


def _where(labels: Sequence[Sequence[str]] | None, place: tuple[int, ...]) -> str:
    """An entry by the ``labels`` along each dimension, else by numbers."""
    if labels is None or len(labels) != len(place):
        return ", ".join(str(k + 1) for k in place)
    return ", ".join(own[k] for k, own in zip(place, labels, strict=True))


def _matrix(values: Sequence[Any]) -> Sequence[Sequence[float]]:
    """A matrix's rows; a vector is one."""
    is_matrix = bool(values) and isinstance(values[0], list)
    return values if is_matrix else [values]


def _root_mean_square(values: Sequence[Any]) -> float:
    """Of all entries of a vector or matrix; 0 of none."""
    squares = []
    for row in values:
        for x in row if isinstance(row, list) else [row]:
            squares.append(x * x)
    return math.sqrt(sum(squares) / len(squares)) if squares else 0.0
