"""The HTML page of a build: one file without anything from a network, made from its reports by Jinja2 templates.

Layout and style are in ``templates/``. Pictures of layout and timing are the build's own files
(:mod:`rbdgen.report.drawings`), plots come from :mod:`rbdgen.report.plots`.
"""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

from rbdgen.extras import optional_module
from rbdgen.functions import registry
from rbdgen.report import plots
from rbdgen.report.error_grid import LEVELS, error_grid
from rbdgen.report.folder import Build

WIDEST = 1500
"""Pixels up to which a picture is fitted to the page; a wider one is scrolled."""
TEMPLATES = Path(__file__).with_name("templates")


def page_html(build: Build) -> str:
    """The page's text; ToolError where Jinja2 or matplotlib is missing."""
    jinja2 = optional_module("jinja2", "report")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"figure": _figure, "error": _error, "bits": _bits}
    return environment.get_template("page.html.j2").render(**_content(build))


def _figure(x: float) -> str:
    """A figure to three digits, thousands as they are."""
    return f"{x:,.0f}" if abs(x) >= 1000 or x == int(x) else f"{x:.3g}"


def _error(x: float) -> str:
    return f"{x:.1e}" if x else "0"


def _bits(x: int) -> str:
    return f"{x:,} bit" if x < 10_000 else f"{x / 1000:,.0f} kbit"


def _data_url(svg: str) -> str:
    """A picture inside the page: as an image it can neither run scripts nor change the page's style."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def _fits(svg: str) -> bool:
    """Whether a picture can be read when it is made as narrow as the page."""
    width = re.search(r'<svg[^>]* width="([\d.]+)"', svg)
    return width is None or float(width[1]) <= WIDEST


def _content(build: Build) -> dict[str, Any]:
    """What the template speaks of."""
    report, simulation, figures = build.report, build.simulation, build.figures
    functions = [
        {
            "name": name,
            "summary": registry.function(name).summary,
            "promised": promise,
            "measured": simulation["functions"][name] if simulation else None,
            "bounds": report["roofline"]["functions"][name],
        }
        for name, promise in report["functions"].items()
    ]
    errors = []
    if simulation:
        for name, function in simulation["functions"].items():
            grids = [error_grid(vector, e) for vector, e in function["errors"].items()]
            errors.append((name, grids))
    return {
        "build": build,
        "report": report,
        "simulation": simulation,
        "figures": figures,
        "functions": functions,
        "bypasses": sum(f["kind"] == "bypass" for f in report["fifos"]),
        "pictures": {
            name: (_data_url(text), _fits(text)) for name, text in build.pictures.items() if text
        },
        "roofline": plots.inline_svg(plots.roofline_plot(report), "Roofline"),
        "errors": errors,
        "level_count": LEVELS,
    }
