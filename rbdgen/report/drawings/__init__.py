"""Pictures of a design that stand alone: its layout and its timing as SVG, and its timing as a trace file.

SVGs need nothing but a viewer: no scripts, no fonts from elsewhere, light and dark by the viewer's own setting. The
same design gives the same bytes. Every build has them, and the HTML report shows them.
"""

from __future__ import annotations

from rbdgen.compiler import Design
from rbdgen.report.drawings.chart import unit_chart
from rbdgen.report.drawings.engine_layout import engine_layout
from rbdgen.report.drawings.lane_chart import lane_chart
from rbdgen.report.drawings.layout import unit_layout
from rbdgen.report.drawings.trace import timing_trace

__all__ = ["layout_picture", "timing_chart", "timing_trace"]

LAYOUTS = {"pipeline": unit_layout, "engine": engine_layout}
CHARTS = {"pipeline": unit_chart, "engine": lane_chart}
"""What draws machines, by kind."""


def layout_picture(design: Design) -> str:
    """The robot's tree and the machine, as SVG."""
    return LAYOUTS[design.machine.kind](design)


def timing_chart(design: Design) -> str:
    """The times of a task of every function, as SVG."""
    return CHARTS[design.machine.kind](design)
