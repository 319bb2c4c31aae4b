"""Sweeps over design choices: points, their figures, and which of them no other beats.

A point's figures are computed by a function that whoever starts a sweep gives (:func:`rbdgen.explore.sweep.figures`);
here points are listed, the work is shared and goes on after a stop, and rows are compared.
"""

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
from rbdgen.explore.sweep import (
    Store,
    csv_text,
    label,
    mark_front,
    plotted,
    run_on_dask,
    run_on_processes,
    text,
)

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
