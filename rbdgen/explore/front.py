"""Which points of a sweep no other beats: the Pareto front over cost, time and error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MEASURES = ("multiplier_blocks", "task_us", "max_relative_error")
"""What should be small."""


def beats(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether ``one`` is nowhere worse than ``other`` and somewhere better."""
    pairs = [(one[m], other[m]) for m in MEASURES]
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def mark_front(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with ``pareto``: no other row of the same functions on the same device beats it (blocks of different
    devices are of different sizes). Rows that were refused are never on it."""
    good = [r for r in rows if r["status"] == "ok"]
    result = []
    for row in rows:
        rivals = [r for r in good if (r["functions"], r["device"]) == (row["functions"], row["device"])]
        front = row["status"] == "ok" and not any(beats(r, row) for r in rivals)
        result.append(row | {"pareto": front})
    return result
