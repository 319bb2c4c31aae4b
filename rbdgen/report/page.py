"""The HTML page of a build: one file without anything from a network, made from its reports by Jinja2 templates.

Layout, style and script are in ``templates/``; a policy in the page forbids other scripts, and all that is not in the
file. Pictures of layout and timing are the build's own files (:mod:`rbdgen.report.drawings`), plots come from
:mod:`rbdgen.report.plots`.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

from rbdgen.functions import registry
from rbdgen.installation import optional_module
from rbdgen.report import plots
from rbdgen.report.comparison import comparison
from rbdgen.report.comparison_text import SHOWN, remark
from rbdgen.report.drawings.svg import style_sheet
from rbdgen.report.error_grid import LEVELS, error_grid
from rbdgen.report.folder import Build
from rbdgen.report.host_rate import rate_text
from rbdgen.report.inline import inline_picture
from rbdgen.report.rivals import CONTESTED

LONG = 20
"""Rows from which a table is scrolled in a frame of its own."""
TEMPLATES = Path(__file__).with_name("templates")
SCRIPT = TEMPLATES / "page.js"


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
    environment.filters |= {
        "figure": _figure,
        "error": _error,
        "bits": _bits,
        "remark": remark,
        "rate": rate_text,
    }
    return environment.get_template("page.html.j2").render(**_content(build))


def _figure(x: float) -> str:
    """A figure to three digits, thousands as they are."""
    return f"{x:,.0f}" if abs(x) >= 1000 or x == int(x) else f"{x:.3g}"


def _error(x: float) -> str:
    return f"{x:.1e}" if x else "0"


def _bits(x: int) -> str:
    return f"{x:,} bit" if x < 10_000 else f"{x / 1000:,.0f} kbit"


def _policy(script: str) -> str:
    """What the page may do: its own style, its own script, and pictures that are inside it."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"


def _content(build: Build) -> dict[str, Any]:
    """What the template speaks of."""
    report, simulation, figures = build.report, build.simulation, build.figures
    script = SCRIPT.read_text(encoding="utf-8")
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
        "host": (build.routed or report).get("host"),
        "bypasses": sum(f["kind"] == "bypass" for f in report["fifos"]),
        "pictures": {
            name: inline_picture(text, name) for name, text in build.pictures.items() if text
        },
        "picture_style": style_sheet(),
        "comparison": comparison([(report["robot"], simulation or report)]),
        "shown_figures": SHOWN,
        "contested": CONTESTED,
        "script": script,
        "policy": _policy(script),
        "long": LONG,
        "roofline": plots.inline_svg(plots.roofline_plot(report), "Roofline"),
        "errors": errors,
        "level_count": LEVELS,
    }
