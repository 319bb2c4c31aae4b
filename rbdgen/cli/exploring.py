"""``rbdgen explore``: a sweep over design choices, on this machine or on a Dask cluster."""

from __future__ import annotations

import argparse
import json
from contextlib import closing

from rbdgen import explore as sweep
from rbdgen.cli.console import print_result, reporter
from rbdgen.compiler import Options
from rbdgen.errors import ConfigError
from rbdgen.explore.figures import figures
from rbdgen.explore.rows import make_row
from rbdgen.layout.functions import check_algorithms, check_functions
from rbdgen.model import load_robot
from rbdgen.report import plots
from rbdgen.report.files import write_files
from rbdgen.schedule.device import get_device
from rbdgen.timing.machine import cores

SCHEMA = "rbdgen.explore/1"
"""Name and version of a sweep's object."""


def explore(args: argparse.Namespace) -> None:
    """``rbdgen explore``."""
    directory, plot = args.output, args.plot or args.output / "pareto.svg"
    plots.check_plot_path(plot)
    if args.tasks < 1:
        raise ConfigError(f"tasks: must be at least 1, not {args.tasks}")
    jobs = cores() if args.jobs is None else args.jobs
    if jobs < 1:
        raise ConfigError(f"jobs: must be at least 1, not {jobs}")
    values = {name: getattr(args, name) for name in sweep.NAMES}
    values["functions"] = [check_functions(f) for f in args.functions or [("id",)]]
    choices = sweep.combinations(Options(), values)
    for choice in choices:
        get_device(choice.options.device)
        check_algorithms(choice.options.derivative, choice.options.mass_matrix)
    task = sweep.Task(load_robot(args.robot, base=args.base), args.tasks, args.seed)
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
            with closing(work):
                for point, found in work:
                    store.save(point, found)
                    finished[point.key] = found
                    progress.count("points", len(finished), len(points))
    rows = sweep.mark_front([make_row(p, finished[p.key]) for p in points])
    if all(r["status"] != "ok" for r in rows):
        raise ConfigError(f"no point can be built; the first: {rows[0]['reason']}")
    content = {"schema": SCHEMA, "robot": task.robot.name, "points": len(points), "taken": taken, "rows": rows}
    kept = {k: v for k, v in content.items() if k != "taken"}
    files = write_files(
        {"explore.json": json.dumps(kept, indent=2) + "\n", "explore.csv": sweep.csv_text(rows)}, directory
    )
    plots.save(plots.pareto_plot(sweep.plotted(rows)), plot)
    wrote = "\n".join(f"wrote {f}" for f in (*files, plot))
    print_result(args, content, f"{sweep.text(rows)}\n\n{taken} of {len(points)} points were finished before\n{wrote}")
