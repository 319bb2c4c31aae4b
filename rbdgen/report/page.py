"""The HTML page of a build: one file without anything from a network, made from its reports by Jinja2 templates.

Layout, style and script are in ``templates/``; a policy in the page forbids other scripts, and all that is not in the
file. Pictures of layout and timing are the build's own files (:mod:`rbdgen.report.drawings`), built again of the shapes
that :mod:`rbdgen.report.drawings.svg` writes: whatever else such a file may hold is left out, so that it can neither
run scripts, nor load anything, nor change the page's style, and its shapes say their titles at the pointer, which those
of an image do not. Errors by entry are shaded cells, whose geometry is computed here. Plots come from
:mod:`rbdgen.report.plots`.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from defusedxml import DefusedXmlException, ElementTree

from rbdgen.errors import ConfigError
from rbdgen.functions import registry
from rbdgen.installation import optional_module
from rbdgen.report import plots
from rbdgen.report.comparison import comparison
from rbdgen.report.comparison_text import SHOWN, remark
from rbdgen.report.drawings.svg import style_sheet
from rbdgen.report.files import Build
from rbdgen.report.host_rate import rate_text
from rbdgen.report.published import CONTESTED

LEVELS = 9
"""Shades of a grid's cells."""
DECADES = 4.0
"""So many are told apart at most; what is smaller is as pale as can be."""


def cell_paths(
    cells: Sequence[tuple[float, float, float, float, int]],
) -> tuple[tuple[int, str], ...]:
    """Rectangles (x, y, width, height, shade) as one path per shade, ascending."""
    by_level: dict[int, list[str]] = defaultdict(list)
    for x, y, width, height, level in cells:
        by_level[level].append(f"M{x:g} {y:g}h{width:g}v{height:g}h{-width:g}z")
    return tuple((level, "".join(by_level[level])) for level in sorted(by_level))


def _level(share: float) -> int:
    """The shade of a share of one."""
    return max(1, min(LEVELS, math.ceil(share * LEVELS)))


@dataclass(frozen=True)
class ErrorGrid:
    """Errors of one vector or matrix by entry: cells shaded by decades between ``least`` and ``largest``. ``entries``
    says in words what is where: x, y and the entry with its error."""

    vector: str
    size: int
    rows: int
    columns: int
    width: float
    height: float
    cells: tuple[tuple[int, str], ...]
    entries: tuple[tuple[float, float, str], ...]
    least: float
    largest: float
    rms: float


def error_grid(vector: str, errors: Mapping[str, Any]) -> ErrorGrid:
    """A grid of the largest error of each entry, by joint where ``errors`` have ``labels``; entries without error stay
    empty."""
    rows = _matrix(errors["max"])
    values = [x for row in rows for x in row if x > 0]
    least, largest = min(values, default=0.0), max(values, default=0.0)
    span = 1.0
    if largest > least:
        span = min(DECADES, math.log10(largest / least))
    size = 18 if len(rows) <= 16 else 9
    cells = []
    entries = []
    for i, row in enumerate(rows):
        for j, error in enumerate(row):
            where = _where(errors.get("labels"), (i, j) if len(rows) > 1 else (j,))
            entries.append((j * size, i * size, f"{vector} {where}: {error:.1e}"))
            if error > 0:
                level = LEVELS
                if error < largest:
                    level = _level(1 + math.log10(error / largest) / span)
                # a pixel stays free between cells
                cells.append((j * size, i * size, size - 1, size - 1, level))
    columns = max((len(row) for row in rows), default=0)
    return ErrorGrid(
        vector,
        size,
        len(rows),
        columns,
        width=columns * size,
        height=len(rows) * size,
        cells=cell_paths(cells),
        entries=tuple(entries),
        least=least,
        largest=largest,
        rms=_root_mean_square(errors["rms"]),
    )


def _where(labels: Sequence[Sequence[str]] | None, place: tuple[int, ...]) -> str:
    """An entry by the ``labels`` along each dimension, else by numbers."""
    if labels is None or len(labels) != len(place):
        return ", ".join(str(k + 1) for k in place)
    return ", ".join(own[k] for k, own in zip(place, labels, strict=True))


def _matrix(values: Sequence[Any]) -> Sequence[Sequence[float]]:
    """A matrix's rows; a vector is one."""
    is_matrix = bool(values) and isinstance(values[0], list)
    return values if is_matrix else [values]


def _root_mean_square(values: Sequence[Any]) -> float:
    """Of all entries of a vector or matrix; 0 of none."""
    squares = []
    for row in values:
        for x in row if isinstance(row, list) else [row]:
            squares.append(x * x)
    return math.sqrt(sum(squares) / len(squares)) if squares else 0.0


NAMESPACE = "{http://www.w3.org/2000/svg}"
SHAPES = ("rect", "path", "text", "title", "desc")
"""Elements that are taken over, with their text."""
ATTRIBUTES = ("class", "x", "y", "width", "height", "rx", "d")
"""... and their attributes."""


def inline_picture(svg: str, name: str) -> str:
    """The picture of the file ``name`` as an element of a page; its style is the page's
    (:func:`rbdgen.report.drawings.svg.style_sheet`). ConfigError for what is no picture."""
    try:
        # anybody may have written the file: entities are not expanded
        root = ElementTree.fromstring(svg)
    except (ElementTree.ParseError, DefusedXmlException) as error:
        raise ConfigError(f"{name}: broken: {error}; generate again") from None
    if root.tag != f"{NAMESPACE}svg":
        raise ConfigError(f"{name}: broken: not an SVG; generate again")
    width, height = (_length(root.get(side)) for side in ("width", "height"))
    head = (
        f'<svg class="rbdgen" role="img" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}">'
    )
    return "".join([head, *_shapes(root), "</svg>"])


def _length(text: str | None) -> float:
    """A side of the picture in pixels; 100, as good as any, where none is given."""
    try:
        return float(text or "")
    except ValueError:
        return 100.0


def _shapes(parent: Any) -> Iterator[str]:
    """The shapes inside an element."""
    for element in parent:
        name = str(element.tag).removeprefix(NAMESPACE)
        if name not in SHAPES:
            continue
        kept = [key for key in ATTRIBUTES if key in element.attrib]
        attributes = "".join(f" {key}={quoteattr(element.attrib[key])}" for key in kept)
        yield f"<{name}{attributes}>{escape(element.text or '')}"
        yield from _shapes(element)
        yield f"</{name}>"


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
        # a name that is misspelt in a template is an error, not an empty place
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
    """The policy of what the page may do: its own style, its own script, and pictures that are inside it."""
    # by its hash, so that no other script runs, wherever it may come from
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"


def _content(build: Build) -> dict[str, Any]:
    """Values that the template speaks of."""
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
