"""Pictures of a design that stand alone: its layout and its timing as SVG, and its timing as a trace file.

SVGs need nothing but a viewer: no scripts, no fonts from elsewhere, light and dark by the viewer's own setting. The
same design gives the same bytes. Every build has them, and the HTML report shows them.
"""

from rbdgen.report.drawings.chart import timing_chart
from rbdgen.report.drawings.layout import layout_picture
from rbdgen.report.drawings.timing import timing_trace

__all__ = ["layout_picture", "timing_chart", "timing_trace"]
