"""A sweep's rows: as object, table, CSV, and for the plot."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from rbdgen.explore.points import NAMES, Point
from rbdgen.report.tables import table

FIGURES = (
    ("multipliers_variable", "multipliers"),
    ("multipliers_constant", "constant"),
    ("multiplier_blocks", "blocks"),
    ("register_bits", "register bits"),
    ("fifo_bits", "FIFO bits"),
    ("interval_cycles", "interval"),
    ("latency_cycles", "latency"),
    ("task_us", "µs per task"),
    ("max_relative_error", "largest error"),
)
"""Figures of a row and their heads; cycles are promised by the schedule, errors the bit-true model's."""


def make_row(point: Point, figures: dict[str, Any]) -> dict[str, Any]:
    """One row: the choices, then the figures."""
    return {"key": point.key, **point.choice.place} | figures


def label(row: dict[str, Any], varied: Sequence[str]) -> str:
    """What tells a row from others: its values on the axes that vary."""
    parts = []
    for name in varied:
        value = row[name]
        if value is None:
            continue
        parts.append(f"{name.replace('_', ' ')} {','.join(value) if isinstance(value, list) else value}")
    return ", ".join(parts)


def varied_axes(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The axes on which rows differ."""
    return [name for name in NAMES if len({str(r[name]) for r in rows}) > 1]


def plotted(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that can be plotted, with ``series``: everything that varies but the rate."""
    series = [name for name in varied_axes(rows) if name not in ("ii", "multipliers")]
    return [r | {"series": label(r, series) or "all points"} for r in rows if r["status"] == "ok"]


def csv_text(rows: Sequence[dict[str, Any]]) -> str:
    """All rows as CSV."""
    out = io.StringIO()
    columns = [*NAMES, "status", "reason", *(key for key, _ in FIGURES), "pareto"]
    writer = csv.DictWriter(out, columns, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(r | {"functions": " ".join(r["functions"])} for r in rows)
    return out.getvalue()


def text(rows: Sequence[dict[str, Any]]) -> str:
    """A table of all rows, those of the front marked; refused ones with their reasons below."""
    varied = varied_axes(rows) or ["ii"]
    lines = []
    for r in rows:
        place = [",".join(r[n]) if isinstance(r[n], list) else r[n] for n in varied]
        if r["status"] == "ok":
            shown = [f"{r[k]:.3g}" if isinstance(r[k], float) else r[k] for k, _ in FIGURES]
        else:
            shown = ["refused", *[""] * (len(FIGURES) - 1)]
        lines.append([*place, *shown, "front" if r["pareto"] else ""])
    head = [*(n.replace("_", " ") for n in varied), *(h for _, h in FIGURES), ""]
    reasons = [f"refused: {label(r, varied)}: {r['reason']}" for r in rows if r["status"] != "ok"]
    note = "cycles are promised by the schedule, errors are the bit-true model's; 'rbdgen simulate' measures a point"
    return "\n\n".join(filter(None, [table(head, lines), "\n".join(reasons), f"({note})"]))
