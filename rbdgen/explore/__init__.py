"""Sweeps over design choices: points, their figures, and which of them no other beats.

What a point's figures are is told by whoever starts a sweep; this room knows how to list points, to share the work, to
go on after a stop, and to compare.
"""

from rbdgen.explore.front import mark_front
from rbdgen.explore.points import (
    AXES,
    NAMES,
    RATES,
    ROOT,
    Axis,
    Choice,
    Point,
    Task,
    combinations,
    make_points,
)
from rbdgen.explore.rows import csv_text, label, plotted, text
from rbdgen.explore.store import Store
from rbdgen.explore.workers import run_on_dask, run_on_processes

__all__ = [
    "AXES",
    "NAMES",
    "RATES",
    "ROOT",
    "Axis",
    "Choice",
    "Point",
    "Store",
    "Task",
    "combinations",
    "csv_text",
    "label",
    "make_points",
    "mark_front",
    "plotted",
    "run_on_dask",
    "run_on_processes",
    "text",
]
