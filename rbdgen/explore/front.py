"""Which points of a sweep no other beats: the Pareto front over cost, time and error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MEASURES = ("multiplier_blocks", "luts", "task_us", "max_relative_error")
"""What should be small."""


def beats(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether ``one`` is nowhere worse than ``other`` and somewhere better."""
    no_worse = all(one[measure] <= other[measure] for measure in MEASURES)
    return no_worse and any(one[measure] < other[measure] for measure in MEASURES)


def mark_front(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with ``pareto``: no other row of the same functions on the same device beats it (blocks of different
    devices are of different sizes). Rows that were refused are never on it."""
    good = [row for row in rows if row["status"] == "ok"]
    marked = []
    for row in rows:
        front = row["status"] == "ok"
        if front:
            rivals = [rival for rival in good if _comparable(rival, row)]
            front = not any(beats(rival, row) for rival in rivals)
        marked.append(row | {"pareto": front})
    return marked


def _comparable(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two rows are of the same functions on the same device."""
    return all(one[key] == other[key] for key in ("functions", "device"))
