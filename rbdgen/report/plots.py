"""Plots with axes, by matplotlib: the comparison, the Pareto front of a sweep, the roofline, latency over links.

Two ways out: a file (SVG, PNG or PDF, on white), or an SVG to put into a page, whose colours are the page's own.
Diagrams without axes (tree, layout, Gantt) are not made here.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rbdgen.errors import ConfigError, counted
from rbdgen.installation import optional_module
from rbdgen.report.files import check_writable

SUFFIXES = (".svg", ".png", ".pdf")
"""File types of plots."""
Curves = Mapping[str, Mapping[str, Mapping[float, float]]]
"""Values by title of a plot, label of a curve, and place."""
SERIES = ("#2563eb", "#d97706", "#059669", "#dc2626", "#7c3aed", "#0891b2", "#be185d", "#4d7c0f")
"""Colours of series on white; a page gives its own by the variables ``--series-1`` and so on."""
MARKERS = "osD^vPX*"
FILLS = {"measured": "full", "modelled": "left", "published": "none"}
"""Fill of marks, by how a figure is known."""
FEW_DECADES = 300
"""An axis over a smaller ratio than that has more ticks than one a decade."""
TOLD = "says: "
"""Beginning of the name of a mark that says the rest of it at the pointer, in a page."""
_DATES = {"svg": "Date", "pdf": "CreationDate"}
"""Where a kind of file says when it was made."""
_INK, _FAINT = "#1f2933", "#cbd2d9"
_STYLE = {
    # letters stay text, so that they can be found, and take the page's font
    "svg.fonttype": "none",
    # names of clips are hashes with this, else with a random number: files would differ
    "svg.hashsalt": "rbdgen",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.0,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _FAINT,
    "axes.titlesize": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": _FAINT,
    "grid.linewidth": 0.5,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
}


@contextmanager
def _matplotlib() -> Iterator[Any]:
    """matplotlib's Figure class, without a window system; ToolError where matplotlib is missing."""
    matplotlib = optional_module("matplotlib", "report")
    figure = optional_module("matplotlib.figure", "report").Figure
    with matplotlib.rc_context(_STYLE):
        yield figure


def check_plot_path(path: Path) -> None:
    """ConfigError unless the file's type is one that plots can have, and it can be written."""
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(f"plot {path}: must end in {', '.join(SUFFIXES)}, not {path.suffix!r}")
    check_writable(path.parent, "--plot")


def save(figure: Any, path: Path) -> None:
    """Write a plot; ConfigError if the file cannot be written."""
    check_plot_path(path)
    kind = path.suffix.lower().removeprefix(".")
    # the same plot is the same file
    undated = {_DATES[kind]: None} if kind in _DATES else {}
    data = io.BytesIO()
    with _matplotlib():
        figure.savefig(data, format=kind, metadata=undated, dpi=150, facecolor="white")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.getvalue())
    except OSError as error:
        raise ConfigError(
            f"plot {path}: cannot be written: {error.strerror}; choose another place"
        ) from None


def inline_svg(figure: Any, label: str) -> str:
    """A plot as an SVG element for a page: transparent, as wide as its place, colours from the page's variables.

    ``label`` says what it shows, to those who cannot see it.
    """
    out = io.StringIO()
    with _matplotlib():
        figure.savefig(out, format="svg", metadata={"Date": None}, transparent=True)
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    # names inside one page must differ from plot to plot
    prefix = re.sub(r"\W+", "-", label.lower())
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r'(xlink:href="#|url\(#)', rf"\g<1>{prefix}-", svg)
    svg = re.sub(rf'id="{prefix}-{TOLD}([^"]*)">', r"><title>\1</title>", svg)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r'(<svg [^>]*?)width="[^"]*"', r"\1", svg, count=1)
    described = rf'\1role="img" aria-label="{label}"'
    svg = re.sub(r'(<svg [^>]*?)height="[^"]*"', described, svg, count=1)
    # colours stay behind the variables, for pages that do not set them
    for name, colour in {"--ink": _INK, "--line": _FAINT}.items():
        svg = svg.replace(colour, f"var({name}, {colour})")
    for k, colour in enumerate(SERIES):
        svg = svg.replace(colour, f"var(--series-{k + 1}, {colour})")
    return svg.replace("'DejaVu Sans', sans-serif", "inherit").replace("'DejaVu Sans'", "inherit")


def _logarithmic(axis: Any) -> None:
    """Make an axis logarithmic, with ticks at 1, 2 and 5 over few decades, and plain numbers."""
    ticker = optional_module("matplotlib.ticker", "report")
    if axis.axis_name == "x":
        axis.axes.set_xscale("log")
    else:
        axis.axes.set_yscale("log")
    low, high = sorted(axis.get_view_interval())
    few = low > 0 and high < low * FEW_DECADES
    axis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    axis.set_major_formatter(ticker.FuncFormatter(lambda x, _: f"{x:g}"))
    axis.set_minor_formatter(ticker.NullFormatter())


def _legend(figure: Any, axes: Iterable[Any], title: str) -> None:
    """A legend below the plot that names every label of ``axes`` once."""
    handles: dict[str, Any] = {}
    for ax in axes:
        found, labels = ax.get_legend_handles_labels()
        for handle, label in zip(found, labels, strict=True):
            handles.setdefault(label, handle)
    where = {"loc": "outside lower left", "ncols": 2}
    figure.legend(handles.values(), handles.keys(), title=title, **where)


def _distinct(rows: Iterable[Mapping[str, Any]], key: str) -> list[Any]:
    """The values that rows have for ``key``, each once, in their order."""
    return list(dict.fromkeys(row[key] for row in rows))


TIMES = {"latency_us": "latency, µs (one task or call)", "task_us": "µs per task"}
"""Figures of a comparison that are plotted, and what their axes are called."""
EVERY_FIGURE = {
    "latency_cycles": "latency, cycles",
    "interval_cycles": "interval, cycles",
    **TIMES,
    "per_multiplier": "tasks/s per multiplier",
    "per_lut": "tasks/s per look-up table",
}


def comparison_plot(content: Mapping[str, Any], figures: Mapping[str, str] = TIMES) -> Any:
    """The comparison: for each robot and each of the ``figures`` that any row has, every function, one mark per
    implementation."""
    rows = [{**row, "series": _series(row)} for row in content["rows"]]
    largest: int = max((row["batch"] for row in content["rows"] if row["batch"]), default=1)
    names = _distinct(rows, "series")
    by_robot: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_robot.setdefault(row["robot"], []).append(row)
    counts = [len(_distinct(mine, "function")) for mine in by_robot.values()]
    shown = [key for key in figures if key in TIMES or any(row[key] for row in rows)]
    height = sum(0.35 * count + 0.9 for count in counts) + 0.22 * len(names) + 0.3
    with _matplotlib() as figure_class:
        figure = figure_class(figsize=(5 * len(shown), height), layout="constrained")
        grid = {"height_ratios": counts, "sharex": "col"}
        axes = figure.subplots(len(by_robot), len(shown), squeeze=False, **grid)
        for line, (robot, mine) in zip(axes, by_robot.items(), strict=True):
            for ax, key in zip(line, shown, strict=True):
                # a latency is that of a call for one state
                batch = 1 if key == "latency_us" else largest
                _comparison_axes(ax, mine, names, key, batch)
            line[0].set_title(robot.rsplit("/", 1)[-1], loc="left")
        for ax, key in zip(axes[-1], shown, strict=True):
            ax.set_xlabel(figures[key] + (f" (batch {largest})" if key == "task_us" else ""))
        _legend(figure, axes.flat, "filled: measured; half filled: modelled; hollow: published")
        return figure


def _comparison_axes(
    ax: Any, rows: Sequence[Mapping[str, Any]], names: Sequence[str], key: str, batch: int
) -> None:
    """One robot's figures of one kind, a line per function: those of a ``batch`` of so many, and those of none."""
    functions = _distinct(rows, "function")
    for row in rows:
        if row[key] is None or row["batch"] not in (None, batch):
            continue
        k = names.index(row["series"])
        colour = SERIES[k % len(SERIES)]
        ours = row["implementation"].startswith("rbdgen, ")
        ax.plot(
            row[key],
            functions.index(row["function"]),
            MARKERS[k % len(MARKERS)],
            color=colour,
            markersize=9 if ours else 6,
            fillstyle=FILLS[row["cells"][key]],
            label=row["series"],
        )
    _logarithmic(ax.xaxis)
    ax.set_yticks(range(len(functions)), functions)
    # the first function on top
    ax.set_ylim(len(functions) - 0.5, -0.5)


def _series(row: Mapping[str, Any]) -> str:
    """The name of a row's implementation, with the cores that it ran on."""
    workers = row["workers"]
    if not workers:
        return row["implementation"]
    return f"{row['implementation']}, {counted(workers, 'core')}"


def latency_plot(cycles: Curves) -> Any:
    """Cycles of algorithms over the links of a chain: ``cycles`` by function, algorithm and links, a plot for each
    function."""
    figure = _curves(cycles, "links", "cycles to the result")
    for ax, families in zip(figure.axes, cycles.values(), strict=True):
        # each doubling of the links is as far
        ax.set_xscale("log", base=2)
        links = sorted({n for points in families.values() for n in points})
        ax.set_xticks(links, [str(n) for n in links])
    return figure


def area_plot(tables: Curves) -> Any:
    """Look-up tables over the interval between tasks: ``tables`` by what is computed, machine and interval, a plot for
    each of the first."""
    return _curves(tables, "cycles between tasks", "look-up tables")


def _curves(found: Curves, across: str, up: str) -> Any:
    """A plot for each title, with a curve for each label, on logarithmic axes of these names."""
    with _matplotlib() as figure_class:
        figure = figure_class(figsize=(9, 3.6), layout="constrained")
        axes = figure.subplots(1, len(found), squeeze=False)[0]
        for ax, (title, curves) in zip(axes, found.items(), strict=True):
            for k, (label, points) in enumerate(curves.items()):
                style = {"color": SERIES[k], "marker": MARKERS[k], "markersize": 5}
                ax.plot(list(points), list(points.values()), label=label, **style)
            _logarithmic(ax.xaxis)
            _logarithmic(ax.yaxis)
            ax.set_title(title, loc="left")
            ax.set_xlabel(across)
            ax.set_ylabel(up)
            ax.legend()
        return figure


def roofline_plot(report: Mapping[str, Any]) -> Any:
    """Tasks per second against multipliers: for each function the roof of its multiplications and that of the stream,
    and the design's point below them."""
    bounds = report["roofline"]["functions"]
    functions = {
        name: function
        for name, function in report["functions"].items()
        if function["multipliers"]["variable"]
    }
    used = [function["multipliers"]["variable"] for function in functions.values()]
    products = [function["multiplications"] for function in functions.values()]
    span = min(used, default=1) / 4, 2 * max(products, default=1)
    with _matplotlib() as figure_class:
        figure = figure_class(figsize=(8, 4.2), layout="constrained")
        ax = figure.subplots()
        for k, (name, function) in enumerate(functions.items()):
            _roof(ax, k, name, function, bounds[name]["stream_bound"], report["clock_mhz"], span)
        _logarithmic(ax.xaxis)
        _logarithmic(ax.yaxis)
        ax.set_xlabel("variable multipliers that the function uses")
        ax.set_ylabel("million tasks per second")
        ax.legend(ncols=2, title="roof: min(multipliers ÷ multiplications, 1 ÷ beats) · clock")
        return figure


def _roof(
    ax: Any,
    k: int,
    name: str,
    function: Mapping[str, Any],
    beats: int,
    clock: float,
    span: tuple[float, float],
) -> None:
    """The roof of a function whose tasks take ``beats`` of the stream, over a ``span`` of multipliers, and its
    point."""
    colour = SERIES[k % len(SERIES)]
    products = function["multiplications"]
    left, right = span
    # where the roof bends outside of the plot, it has no knee in it
    knee = min(max(products / beats, left), right)
    xs = [left, knee, right]
    ys = [min(clock * x / products, clock / beats) for x in xs]
    ax.plot(xs, ys, color=colour, linewidth=1.2, label=name)
    count = function["multipliers"]["variable"]
    rate = clock / function["ii_cycles"]
    ax.plot(
        count,
        rate,
        MARKERS[k % len(MARKERS)],
        color=colour,
        markersize=7,
        gid=f"{TOLD}{name}: {count} multipliers, {rate:.3g} million tasks per second",
    )


def pareto_plot(rows: Sequence[Mapping[str, Any]]) -> Any:
    """A sweep: rate, latency and error over look-up tables, rate over multiplier blocks; one mark per point, those of
    the front filled.

    A row has what :data:`SWEPT` names, and ``pareto``; rows of one ``series`` share a colour.
    """
    with _matplotlib() as figure_class:
        figure = figure_class(figsize=(9, 8), layout="constrained")
        grid = figure.subplots(2, 2)
        for ax, (across, up) in zip(grid.flat, PANELS, strict=True):
            _pareto_axes(ax, rows, across, up)
        _legend(figure, grid.flat[:1], "filled: no other point is better in all")
        return figure


SWEPT = {
    "luts": "look-up tables, modelled",
    "multiplier_blocks": "multiplier blocks of the device",
    "tasks_per_second": "tasks per second at the clock",
    "latency_us": "µs to a lone task's answer",
    "max_relative_error": "largest error of an entry / its largest value",
}
"""Figures of a sweep that are plotted, and what they are."""
PANELS = (
    ("luts", "tasks_per_second"),
    ("luts", "latency_us"),
    ("multiplier_blocks", "tasks_per_second"),
    ("luts", "max_relative_error"),
)
"""What is plotted across and up."""
TITLES = {
    "luts": "look-up tables",
    "multiplier_blocks": "multipliers",
    "tasks_per_second": "rate",
    "latency_us": "latency",
    "max_relative_error": "error",
}
"""The same in a word, for titles."""


def _pareto_axes(ax: Any, rows: Sequence[Mapping[str, Any]], across: str, up: str) -> None:
    """The figures ``up`` of all points against those ``across``."""
    series = _distinct(rows, "series")
    for row in rows:
        k = series.index(row["series"])
        colour = SERIES[k % len(SERIES)]
        ax.plot(
            row[across],
            row[up],
            # colours come again after so many series, with other marks
            MARKERS[(k + k // len(SERIES)) % len(MARKERS)],
            color=colour,
            markerfacecolor=colour if row["pareto"] else "none",
            label=row["series"],
        )
    _logarithmic(ax.xaxis)
    _logarithmic(ax.yaxis)
    ax.set_title(f"{TITLES[up]} over {TITLES[across]}", loc="left")
    ax.set_xlabel(SWEPT[across])
    ax.set_ylabel(SWEPT[up])
