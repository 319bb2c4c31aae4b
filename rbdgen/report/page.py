"""The HTML page of a build: one file without anything from a network, made from its reports by Jinja2 templates.

Layout and style are in ``templates/``; what the pictures show is in :mod:`rbdgen.report.pictures` and
:mod:`rbdgen.report.plots`.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from rbdgen.errors import ToolError
from rbdgen.layout.functions import FUNCTIONS
from rbdgen.report import pictures, plots
from rbdgen.report.folder import Build

TEMPLATES = Path(__file__).with_name("templates")
KINDS = {
    "Sc": "sines and cosines",
    "Rf": "RNEA, outward",
    "Rb": "RNEA, inward",
    "Mb": "mass matrix, inward",
    "Mf": "mass matrix and its inverse, outward",
    "Mi": "inverse of the mass matrix",
    "Df": "derivatives, outward",
    "Db": "derivatives, inward",
    "Mx": "products with the inverse",
}
"""Kinds of submodules in the order of the legend."""


def page_html(build: Build) -> str:
    """The page's text; ToolError where Jinja2 or matplotlib is missing."""
    try:
        jinja2 = importlib.import_module("jinja2")
    except ModuleNotFoundError as error:
        raise ToolError(
            f"Python package {error.name!r} is missing; install it with: pip install 'rbdgen[report]'"
        ) from None
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


def _content(build: Build) -> dict[str, Any]:
    """What the template speaks of."""
    report, simulation, figures = build.report, build.simulation, build.figures
    functions = [
        {
            "name": name,
            "summary": FUNCTIONS[name].summary if name in FUNCTIONS else name,
            "promised": promise,
            "measured": simulation["functions"][name] if simulation else None,
            "bounds": report["roofline"]["functions"][name],
        }
        for name, promise in report["functions"].items()
    ]
    used = {unit["kind"] for unit in report["submodules"]}
    kinds = [k for k in KINDS if k in used] + sorted(used - set(KINDS))
    errors = [
        (name, [pictures.error_grid(vector, e) for vector, e in f["errors"].items()])
        for name, f in (simulation["functions"].items() if simulation else ())
    ]
    return {
        "build": build,
        "report": report,
        "simulation": simulation,
        "figures": figures,
        "functions": functions,
        "kinds": [(k, KINDS.get(k, k)) for k in kinds],
        "kind_class": {k: f"kind-{n + 1}" for n, k in enumerate([*KINDS, *sorted(used - set(KINDS))])},
        "tree": pictures.tree_diagram(report),
        "layout": pictures.layout_diagram(report),
        "tasks": pictures.task_gantts(report),
        "steady": pictures.steady_grid(report),
        "bypasses": sum(f["kind"] == "bypass" for f in report["fifos"]),
        "flight": max((e["cycle"] + 1 for e in report["exits"]), default=0) / report["ii"],
        "roofline": plots.inline_svg(plots.roofline_plot(report), "Roofline"),
        "errors": errors,
        "level_count": pictures.LEVELS,
    }
