"""Errors of a vector or matrix by entry as plain geometry, in pixels: shaded cells, which a template draws."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LEVELS = 9
"""Shades of a grid's cells."""


def cell_paths(cells: Sequence[tuple[float, float, float, float, int]]) -> tuple[tuple[int, str], ...]:
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
    """Errors of one vector or matrix by entry: cells shaded by decades between ``least`` and ``largest``."""

    vector: str
    size: int
    rows: int
    columns: int
    width: float
    height: float
    cells: tuple[tuple[int, str], ...]
    least: float
    largest: float
    rms: float


def error_grid(vector: str, errors: Mapping[str, Any]) -> ErrorGrid:
    """A grid of the largest error of each entry; entries without error stay empty."""
    rows = errors["max"] if errors["max"] and isinstance(errors["max"][0], list) else [errors["max"]]
    squares = [x for row in errors["rms"] for x in (row if isinstance(row, list) else [row])]
    values = [x for row in rows for x in row if x > 0]
    largest, least = max(values, default=0.0), min(values, default=0.0)
    # at most four decades are told apart; what is smaller is as pale as can be
    span = min(4.0, math.log10(largest / least)) if values and largest > least else 1.0
    size = 18 if len(rows) <= 16 else 9
    cells = [
        (j * size, i * size, size - 1, size - 1, _level(1 + math.log10(x / largest) / span) if x < largest else LEVELS)
        for i, row in enumerate(rows)
        for j, x in enumerate(row)
        if x > 0
    ]
    columns = max((len(row) for row in rows), default=0)
    rms = math.sqrt(sum(x * x for x in squares) / len(squares)) if squares else 0.0
    area = columns * size, len(rows) * size
    return ErrorGrid(vector, size, len(rows), columns, *area, cell_paths(cells), least, largest, rms)
