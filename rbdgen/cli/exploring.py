"""``rbdgen explore``: a sweep over design choices, on this machine or on a Dask cluster."""

from __future__ import annotations

import argparse
import json
from contextlib import closing
from pathlib import Path
from typing import Any

from rbdgen import explore as sweep
from rbdgen.cli.arguments import given_setup
from rbdgen.cli.console import need_cluster, need_plots, print_result, reporter, say
from rbdgen.cli.process import put
from rbdgen.compiler import Options
from rbdgen.errors import ConfigError, ToolError
from rbdgen.explore.sweep import figures, make_row
from rbdgen.model import Setup
from rbdgen.processes import cores
from rbdgen.report import plots
from rbdgen.report.files import check_writable, write_files

SCHEMA = "rbdgen.explore/1"
"""Name and version of a sweep's object."""


def explore(args: argparse.Namespace) -> None:
    """``rbdgen explore``."""
    directory, plot = args.output, args.plot or args.output / "pareto.svg"
    check_writable(directory)
    plots.check_plot_path(plot)
    if args.dask:
        need_cluster()
    plotted = _plots_are_possible(args)
    jobs = args.jobs or cores()
    values = {name: getattr(args, name) for name in sweep.NAMES}
    asked = args.functions or [Options().functions]
    values["functions"] = [Options(functions=functions).functions for functions in asked]
    choices = sweep.combinations(Options(), values)
    robot = Setup(**given_setup(args, sweep.NAMES)).load(args.robot)
    task = sweep.Task(robot, args.tasks, args.seed)
    points = sweep.make_points(task, choices)
    store = sweep.Store(directory)
    finished = store.load(points)
    missing = [p for p in points if p.key not in finished]
    taken = len(points) - len(missing)
    with reporter() as progress:
        progress.count("points", taken, len(points))
        if args.dask:
            work = sweep.run_on_dask(figures, task, missing, args.dask)
        else:
            work = sweep.run_on_processes(figures, task, missing, jobs)
        if missing:
            # an interrupt in here must not leave processes at work
            with closing(work):
                for point, found in work:
                    store.save(point, found)
                    finished[point.key] = found
                    progress.count("points", len(finished), len(points))
    rows = sweep.mark_front([make_row(p, finished[p.key]) for p in points])
    if all(r["status"] != "ok" for r in rows):
        raise ConfigError(f"no point can be built; the first: {rows[0]['reason']}")
    content = {
        "schema": SCHEMA,
        "robot": task.robot.name,
        "points": len(points),
        "taken": taken,
        "rows": rows,
    }
    _show(args, content)
    if plotted:
        _plot(args, rows, plot)


def _plots_are_possible(args: argparse.Namespace) -> bool:
    """Whether there can be a plot. Where matplotlib is missing, a plot that was asked for is a ToolError, the usual one
    a note."""
    try:
        need_plots()
    except ToolError as error:
        if args.plot:
            raise
        say(f"note: no plot: {error}")
        return False
    return True


def _show(args: argparse.Namespace, content: dict[str, Any]) -> None:
    """Write and print the table of a sweep."""
    rows, taken, points = content["rows"], content["taken"], content["points"]
    # files are the same however often a sweep was stopped
    kept = {key: value for key, value in content.items() if key != "taken"}
    texts = {
        "explore.json": json.dumps(kept, indent=2) + "\n",
        "explore.csv": sweep.csv_text(rows),
    }
    files = write_files(texts, args.output)
    wrote = "\n".join(f"wrote {f}" for f in files)
    known = f"{taken} of {points} points were finished before"
    print_result(args, content, f"{sweep.text(rows)}\n\n{known}\n{wrote}")


def _plot(args: argparse.Namespace, rows: list[dict[str, Any]], path: Path) -> None:
    """The plot of a sweep whose table is written and printed."""
    plots.save(plots.pareto_plot(sweep.plotted(rows)), path)
    if not args.json:
        put(f"wrote {path}")
