"""A sweep's rows: as object, table, CSV, and for the plot."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from rbdgen.explore.points import NAMES, Point
from rbdgen.report.columns import table

FIGURES = (
    ("multipliers_variable", "multipliers"),
    ("multipliers_constant", "constant"),
    ("multiplier_blocks", "blocks"),
    ("luts", "look-up tables"),
    ("registers", "registers"),
    ("interval_cycles", "interval"),
    ("latency_cycles", "latency"),
    ("task_us", "µs per task"),
    ("max_relative_error", "largest error"),
)
"""Figures of a row and their heads; look-up tables and registers are modelled, cycles promised by the schedule, errors
the bit-true model's."""


def make_row(point: Point, figures: dict[str, Any]) -> dict[str, Any]:
    """One row: the choices, then the figures."""
    return {"key": point.key, **point.choice.position} | figures


def label(row: dict[str, Any], varied: Sequence[str]) -> str:
    """What tells a row from others: its values on the axes that vary."""
    parts = []
    for name in varied:
        if row[name] is not None:
            parts.append(f"{name.replace('_', ' ')} {_shown(row[name])}")
    return ", ".join(parts)


def _shown(value: Any) -> Any:
    """A value of a table: lists in a word, numbers short."""
    if isinstance(value, list):
        return ",".join(value)
    return f"{value:.3g}" if isinstance(value, float) else value


def varied_axes(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The axes on which rows differ."""
    found = []
    for name in NAMES:
        values = {str(row[name]) for row in rows}
        if len(values) > 1:
            found.append(name)
    return found


def plotted(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that can be plotted, with ``series``: everything that varies but the rate."""
    series = [name for name in varied_axes(rows) if name not in ("ii", "multipliers")]
    good = [row for row in rows if row["status"] == "ok"]
    return [row | {"series": label(row, series) or "all points"} for row in good]


def csv_text(rows: Sequence[dict[str, Any]]) -> str:
    """All rows as CSV."""
    out = io.StringIO()
    columns = [*NAMES, "status", "reason", *(key for key, _ in FIGURES), "pareto"]
    writer = csv.DictWriter(out, columns, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow(row | {"functions": " ".join(row["functions"])})
    return out.getvalue()


def text(rows: Sequence[dict[str, Any]]) -> str:
    """A table of all rows, those of the front marked; refused ones with their reasons below."""
    varied = varied_axes(rows) or ["ii"]
    head = [name.replace("_", " ") for name in varied]
    head += [name for _, name in FIGURES]
    lines, reasons = [], []
    for row in rows:
        position = [_shown(row[name]) for name in varied]
        if row["status"] == "ok":
            figures = [_shown(row[key]) for key, _ in FIGURES]
        else:
            figures = ["refused", *[""] * (len(FIGURES) - 1)]
            reasons.append(f"refused: {label(row, varied)}: {row['reason']}")
        lines.append([*position, *figures, "front" if row["pareto"] else ""])
    note = (
        "(look-up tables and registers are modelled, cycles promised by the schedule, errors the bit-true model's; "
        "'rbdgen simulate' measures a point)"
    )
    parts = [table([*head, ""], lines), "\n".join(reasons), note]
    return "\n\n".join(filter(None, parts))
