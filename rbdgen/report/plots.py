"""Plots with axes, by matplotlib: the comparison, the Pareto front of a sweep, the roofline.

Two ways out: a file (SVG, PNG or PDF, on white), or an SVG to put into a page, whose colours are the page's own.
Diagrams without axes (tree, layout, Gantt) are not made here.
"""

from __future__ import annotations

import importlib
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rbdgen.errors import ConfigError, ToolError

SUFFIXES = (".svg", ".png", ".pdf")
"""File types of plots."""
SERIES = ("#2563eb", "#d97706", "#059669", "#dc2626", "#7c3aed", "#0891b2", "#be185d", "#4d7c0f")
"""Colours of series on white; a page gives its own by the variables ``--series-1`` and so on."""
MARKERS = "osD^vPX*"
_INK, _FAINT = "#1f2933", "#cbd2d9"
_STYLE = {
    "svg.fonttype": "none",
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
    try:
        matplotlib = importlib.import_module("matplotlib")
        figure = importlib.import_module("matplotlib.figure").Figure
    except ModuleNotFoundError as error:
        raise ToolError(
            f"Python package {error.name!r} is missing; install it with: pip install 'rbdgen[report]'"
        ) from None
    with matplotlib.rc_context(_STYLE):
        yield figure


def check_plot_path(path: Path) -> None:
    """ConfigError unless the file's type is one that plots can have."""
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(f"plot {path}: must end in {', '.join(SUFFIXES)}, not {path.suffix!r}")


def save(figure: Any, path: Path) -> None:
    """Write a plot; ConfigError if the file cannot be written."""
    check_plot_path(path)
    kind = path.suffix.lower().removeprefix(".")
    dates: Mapping[str, None] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
    data = io.BytesIO()
    with _matplotlib():
        figure.savefig(data, format=kind, metadata=dates, dpi=150, facecolor="white")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.getvalue())
    except OSError as error:
        raise ConfigError(f"plot {path}: cannot be written: {error.strerror}; choose another place") from None


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
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r'(<svg [^>]*?)width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg [^>]*?)height="[^"]*"', rf'\1role="img" aria-label="{label}"', svg, count=1)
    for name, colour in {"--ink": _INK, "--line": _FAINT}.items():
        svg = svg.replace(colour, f"var({name}, {colour})")
    for k, colour in enumerate(SERIES):
        svg = svg.replace(colour, f"var(--series-{k + 1}, {colour})")
    return svg.replace("'DejaVu Sans', sans-serif", "inherit").replace("'DejaVu Sans'", "inherit")


def _logarithmic(axis: Any) -> None:
    """Make an axis logarithmic, with ticks at 1, 2 and 5 over few decades, and plain numbers."""
    ticker = importlib.import_module("matplotlib.ticker")
    (axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale)("log")
    low, high = sorted(axis.get_view_interval())
    few = high < low * 300 if low > 0 else False
    axis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    axis.set_major_formatter(ticker.FuncFormatter(lambda x, _: f"{x:g}"))
    axis.set_minor_formatter(ticker.NullFormatter())


def comparison_plot(content: Mapping[str, Any]) -> Any:
    """The comparison: for each robot, latency and time per task of every function, one mark per implementation."""
    rows = content["rows"]
    robots = list(dict.fromkeys(r["robot"] for r in rows))
    largest = max((r["batch"] for r in rows if r["batch"]), default=1)
    measures = (("latency_us", "latency, µs (one task or call)"), ("task_us", f"µs per task (batch {largest})"))
    names = list(dict.fromkeys(_series(r) for r in rows))
    counts = [len({r["function"] for r in rows if r["robot"] == robot}) for robot in robots]
    with _matplotlib() as figure_class:
        height = sum(0.35 * n + 0.9 for n in counts) + 0.22 * len(names) + 0.3
        figure = figure_class(figsize=(10, height), layout="constrained")
        axes = figure.subplots(len(robots), 2, squeeze=False, height_ratios=counts, sharex="col")
        for row, robot in enumerate(robots):
            functions = list(dict.fromkeys(r["function"] for r in rows if r["robot"] == robot))
            for column, (key, label) in enumerate(measures):
                ax = axes[row][column]
                wanted = largest if key == "task_us" else 1
                for r in rows:
                    if r["robot"] != robot or r[key] is None or r["batch"] not in (None, wanted):
                        continue
                    k = names.index(_series(r))
                    ours = r["implementation"].startswith("rbdgen, II")
                    ax.plot(
                        r[key],
                        functions.index(r["function"]),
                        MARKERS[k % len(MARKERS)],
                        color=SERIES[k % len(SERIES)],
                        markersize=9 if ours else 6,
                        markerfacecolor=SERIES[k % len(SERIES)] if ours else "none",
                        label=_series(r),
                    )
                _logarithmic(ax.xaxis)
                ax.set_yticks(range(len(functions)), functions)
                ax.set_ylim(len(functions) - 0.5, -0.5)
                ax.set_title(robot.rsplit("/", 1)[-1] if column == 0 else "", loc="left")
                if row == len(robots) - 1:
                    ax.set_xlabel(label)
        handles = {label: h for ax in axes.flat for h, label in zip(*ax.get_legend_handles_labels(), strict=True)}
        title = "filled: RTL simulation, at the clock of the device model"
        figure.legend(handles.values(), handles.keys(), loc="outside lower left", ncols=2, title=title)
        return figure


def _series(row: Mapping[str, Any]) -> str:
    workers = f", {row['workers']} core{'s' if row['workers'] > 1 else ''}" if row["workers"] else ""
    return row["implementation"] + workers


def roofline_plot(report: Mapping[str, Any]) -> Any:
    """Tasks per second against multipliers: for each function the roof of its multiplications and that of the stream,
    and the design's point below them."""
    clock, bounds = report["clock_mhz"], report["roofline"]["functions"]
    functions = [(name, f) for name, f in report["functions"].items() if f["multipliers"]["variable"]]
    with _matplotlib() as figure_class:
        figure = figure_class(figsize=(8, 4.2), layout="constrained")
        ax = figure.subplots()
        used = [f["multipliers"]["variable"] for _, f in functions] or [1]
        span = min(used) / 4, max(f["multiplications"] for _, f in functions) * 2 if functions else 2
        for k, (name, f) in enumerate(functions):
            colour, link = SERIES[k % len(SERIES)], bounds[name]["link_bound"]
            knee = min(max(f["multiplications"] / link, span[0]), span[1])
            xs = [span[0], knee, span[1]]
            ys = [min(clock * x / f["multiplications"], clock / link) for x in xs]
            ax.plot(xs, ys, color=colour, linewidth=1.2, label=name)
            ax.plot(
                f["multipliers"]["variable"],
                clock / f["ii_cycles"],
                MARKERS[k % len(MARKERS)],
                color=colour,
                markersize=7,
            )
        _logarithmic(ax.xaxis)
        _logarithmic(ax.yaxis)
        ax.set_xlabel("variable multipliers that the function uses")
        ax.set_ylabel("million tasks per second")
        ax.legend(ncols=2, title="roof: min(multipliers ÷ multiplications, 1 ÷ beats) · clock")
        return figure


def pareto_plot(rows: Sequence[Mapping[str, Any]]) -> Any:
    """A sweep: time per task against multiplier blocks, one mark per point, the front's points filled and joined.

    A row has ``multiplier_blocks``, ``task_us``, ``max_relative_error``, ``pareto`` and ``label``; rows of one
    ``series`` share a colour.
    """
    series = list(dict.fromkeys(r["series"] for r in rows))
    with _matplotlib() as figure_class:
        figure = figure_class(figsize=(9, 5), layout="constrained")
        left, right = figure.subplots(1, 2)
        for ax, y, label in (
            (left, "task_us", "µs per task at the model's clock"),
            (right, "max_relative_error", "largest error / largest output"),
        ):
            for r in rows:
                k = series.index(r["series"])
                colour = SERIES[k % len(SERIES)]
                filled = colour if r["pareto"] else "none"
                marker = MARKERS[(k + k // len(SERIES)) % len(MARKERS)]
                ax.plot(r["multiplier_blocks"], r[y], marker, color=colour, markerfacecolor=filled, label=r["series"])
            _logarithmic(ax.xaxis)
            _logarithmic(ax.yaxis)
            ax.set_xlabel("multiplier blocks of the device")
            ax.set_ylabel(label)
        handles, labels = left.get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="outside lower left", ncols=2, title="filled: no other point is better in all"
        )
        return figure
