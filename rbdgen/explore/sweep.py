"""A sweep over design choices: who computes its points (processes on this machine, or workers of a Dask cluster, with
the same rows either way), their figures, the folder in which finished ones are kept, which of them no other beats, and
rows as table, CSV and for the plot.

Nothing is simulated in RTL: a point's figures are what its design promises, and the bit-true model's errors. A file for
every finished point is written whole or not at all, so that a sweep can go on.
"""

from __future__ import annotations

import csv
import io
import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from rbdgen.caching import code_digest
from rbdgen.errors import ConfigError, RbdgenError, ToolError
from rbdgen.explore.points import NAMES, Point, Task
from rbdgen.installation import optional_module
from rbdgen.machines.pipeline.budget import Budget
from rbdgen.report.columns import table

MEASURES = ("multiplier_blocks", "luts", "task_us", "max_relative_error")
"""Figures that should be small."""


def beats(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether ``one`` is nowhere worse than ``other`` and somewhere better."""
    no_worse = all(one[measure] <= other[measure] for measure in MEASURES)
    return no_worse and any(one[measure] < other[measure] for measure in MEASURES)


def mark_front(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with ``pareto``: no other row of the same functions on the same device, or board, beats it (blocks of
    different devices are of different sizes). Rows that were refused are never on it."""
    good = [row for row in rows if row["status"] == "ok"]
    marked = []
    for row in rows:
        front = row["status"] == "ok"
        if front:
            rivals = [rival for rival in good if _comparable(rival, row)]
            front = not any(beats(rival, row) for rival in rivals)
        marked.append(row | {"pareto": front})
    return marked


def _comparable(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two rows are of the same functions on the same device, and board if they are for one."""
    return all(one[key] == other[key] for key in ("functions", "device", "board"))


def check_room(used: Mapping[str, int], budget: Budget) -> None:
    """ConfigError where a design takes more of something than its board has."""
    for name, available in budget.resources.items():
        if used.get(name, 0) > available:
            raise ConfigError(
                f"{budget.name}: {used[name]} {name} are more than the {available} that it has"
            )


def figures(task: Task, point: Point) -> dict[str, Any]:
    """A point's figures: what its design promises, and the bit-true model's errors at random states."""
    # imported by the processes that compute: the command line lists the axes in every call, and must start quickly
    from rbdgen import trials
    from rbdgen.compiler import compile_robot
    from rbdgen.compiler.design import readable
    from rbdgen.model.variants import rerooted
    from rbdgen.report.design import design_report

    choice = point.choice
    robot = rerooted(task.robot, choice.root) if choice.root else task.robot
    design = compile_robot(robot, choice.options, target=choice.target)
    report = design_report(design)
    states = trials.task_states(design, task.count, task.seed)
    resources = report["modelled_resources"]
    check_room(design.machine.resources(design.tasks).as_dict(), choice.target.budget)
    interval = readable(max(design.mean_interval(name) for name in design.network.functions))
    latency = max(f["latency_cycles"] for f in report["functions"].values())
    clock = design.running_clock
    functions = {}
    for name, promise in report["functions"].items():
        tasks = trials.make_tasks(design, name, states)
        worst, rms = trials.relative_errors(design, tasks, tasks.expected)
        functions[name] = {
            "ii_cycles": promise["ii_cycles"],
            "latency_cycles": promise["latency_cycles"],
            "max_relative_error": worst,
            "rms_relative_error": rms,
            "flagged": int((tasks.flags != 0).sum()),
        }
    return {
        "figures": "promised cycles, errors of the bit-true model",
        "multipliers_variable": report["multipliers"]["variable"],
        "multipliers_constant": report["multipliers"]["constant"],
        "multiplier_blocks": report["multiplier_blocks"],
        "luts": resources["luts"],
        "registers": resources["registers"],
        "register_bits": report["register_bits"],
        "fifo_bits": report["fifo_bits"],
        "device": report["device"],
        "clock_mhz": clock,
        "interval_cycles": interval,
        "latency_cycles": latency,
        "latency_us": latency / clock,
        "task_us": interval / clock,
        "tasks_per_second": 1e6 * clock / interval,
        "max_relative_error": max(f["max_relative_error"] for f in functions.values()),
        "by_function": functions,
    }


MORE = ("clock_mhz", "latency_us", "tasks_per_second", "register_bits", "fifo_bits")
"""Further columns of the CSV file, which follow from others or are of interest to few."""
FIGURES = (
    ("multipliers_variable", "multipliers"),
    ("multipliers_constant", "constant"),
    ("multiplier_blocks", "blocks"),
    ("luts", "look-up tables"),
    ("registers", "registers"),
    ("interval_cycles", "interval"),
    ("latency_cycles", "latency"),
    ("task_us", "µs per task"),
    ("max_relative_error", "largest error"),
)
"""Figures of a row and their heads; look-up tables and registers are modelled, cycles promised by the schedule, errors
the bit-true model's."""


def make_row(point: Point, figures: dict[str, Any]) -> dict[str, Any]:
    """One row: the choices, then the figures."""
    return {"key": point.key, **point.choice.position} | figures


def label(row: dict[str, Any], varied: Sequence[str]) -> str:
    """Label that tells a row from others: its values on the axes that vary."""
    parts = []
    for name in varied:
        if row[name] is not None:
            parts.append(f"{name.replace('_', ' ')} {_shown(row[name])}")
    return ", ".join(parts)


def _shown(value: Any) -> Any:
    """A value of a table: lists in a word, numbers short."""
    if isinstance(value, list):
        return ",".join(value)
    return f"{value:.3g}" if isinstance(value, float) else value


def varied_axes(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The axes on which rows differ."""
    found = []
    for name in NAMES:
        values = {str(row[name]) for row in rows}
        if len(values) > 1:
            found.append(name)
    return found


def plotted(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that can be plotted, with ``series``: everything that varies but the rate."""
    series = [name for name in varied_axes(rows) if name not in ("ii", "multipliers", "lanes")]
    good = [row for row in rows if row["status"] == "ok"]
    return [row | {"series": label(row, series) or "all points"} for row in good]


def csv_text(rows: Sequence[dict[str, Any]]) -> str:
    """All rows as CSV."""
    out = io.StringIO()
    columns = [*NAMES, "status", "reason", *(key for key, _ in FIGURES), *MORE, "pareto"]
    writer = csv.DictWriter(out, columns, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        # commas part the columns
        writer.writerow(row | {"functions": " ".join(row["functions"])})
    return out.getvalue()


def text(rows: Sequence[dict[str, Any]]) -> str:
    """A table of all rows, those of the front marked; refused ones with their reasons below."""
    # a single point differs from none, and its row needs a name
    varied = varied_axes(rows) or ["ii"]
    head = [name.replace("_", " ") for name in varied]
    head += [name for _, name in FIGURES]
    lines, reasons = [], []
    for row in rows:
        position = [_shown(row[name]) for name in varied]
        if row["status"] == "ok":
            figures = [_shown(row[key]) for key, _ in FIGURES]
        else:
            figures = ["refused", *[""] * (len(FIGURES) - 1)]
            reasons.append(f"refused: {label(row, varied)}: {row['reason']}")
        lines.append([*position, *figures, "front" if row["pareto"] else ""])
    note = (
        "(look-up tables and registers are modelled, cycles promised by the schedule, errors the bit-true model's; "
        "'rbdgen simulate' measures a point)"
    )
    parts = [table([*head, ""], lines), "\n".join(reasons), note]
    return "\n\n".join(filter(None, parts))


SCHEMA = "rbdgen.point/2"
"""Name and version of a point's file."""
POINTS = "points"
"""The folder of the points' files."""


class Store:
    """The finished points in ``directory``; ConfigError if it cannot be written."""

    def __init__(self, directory: Path) -> None:
        self.folder = directory / POINTS
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(
                f"{directory}: cannot be written: {error.strerror}; choose another directory with -o"
            ) from None

    def load(self, points: Sequence[Point]) -> dict[str, dict[str, Any]]:
        """Figures of those of ``points`` that are finished, by key; a file that is broken counts as not there."""
        found = {}
        for point in points:
            try:
                content = json.loads(
                    (self.folder / f"{point.key}.json").read_text(encoding="utf-8")
                )
            except (OSError, UnicodeDecodeError, json.JSONDecodeError):
                continue
            if isinstance(content, dict) and (content.get("schema"), content.get("key")) == (
                SCHEMA,
                point.key,
            ):
                found[point.key] = content["figures"]
        return found

    def save(self, point: Point, figures: dict[str, Any]) -> None:
        """Keep a finished point's figures."""
        content = {
            "schema": SCHEMA,
            "key": point.key,
            "position": point.choice.position,
            "figures": figures,
        }
        path = self.folder / f"{point.key}.json"
        # named after this process: several sweeps may write into one folder
        beside = path.with_suffix(f".{os.getpid()}.part")
        try:
            beside.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
            beside.replace(path)
        except OSError as error:
            raise ConfigError(
                f"{path}: cannot be written: {error.strerror}; make room and start again"
            ) from None


Evaluate = Callable[[Task, Point], dict[str, Any]]
"""Computes a point's figures; a function of a module, so that it can be sent. RbdgenErrors make a point refused."""
PATIENCE = 10
"""Seconds that a Dask scheduler may take to answer."""
ATTEMPTS = 1
"""Times that a point is given to another Dask worker after the one that had it was lost."""


def figures_or_reason(evaluate: Evaluate, task: Task, point: Point) -> dict[str, Any]:
    """A point's figures, or why it cannot be built; ToolError if this process runs other sources than the
    sweep."""
    # a cluster's workers have installations of their own
    if code_digest("rbdgen") != task.code:
        raise ToolError(
            "workers: run another version of rbdgen than this one; install the same and restart them"
        )
    try:
        return {"status": "ok"} | evaluate(task, point)
    except RbdgenError as error:
        # one line, as a cell of a table
        return {"status": "refused", "reason": " ".join(str(error).split())}


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def run_on_processes(
    evaluate: Evaluate, task: Task, points: Sequence[Point], jobs: int
) -> Generator[tuple[Point, dict[str, Any]]]:
    """Every point with its figures, as they are finished, by ``jobs`` processes.

    ToolError if a process is killed. Closing the iterator ends the processes, whatever they are at.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        min(jobs, len(points)) or 1, context, _leave_interrupts_to_the_parent
    ) as pool:
        # an interrupt may come as soon as the first point is given to a process
        try:
            waiting = {pool.submit(figures_or_reason, evaluate, task, p): p for p in points}
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        except BrokenProcessPool:
            raise ToolError(
                "a process was killed, perhaps for want of memory; finished points are kept, the same command goes on; "
                "use fewer --jobs"
            ) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()


def run_on_dask(
    evaluate: Evaluate, task: Task, points: Sequence[Point], address: str
) -> Generator[tuple[Point, dict[str, Any]]]:
    """The same by the workers of the Dask scheduler at ``address``.

    ToolError if Dask is missing, the scheduler does not answer, or workers are lost.
    """
    distributed = optional_module("distributed", "dask")
    try:
        client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ToolError(
            f"dask {address!r}: does not answer: {error}; start one with 'dask scheduler'"
        ) from None
    with client:
        # nothing can be spread over workers who are still to come
        shared = client.scatter(task, broadcast=True, hash=False) if client.ncores() else task
        waiting = {
            client.submit(figures_or_reason, evaluate, shared, p, pure=False, retries=ATTEMPTS): p
            for p in points
        }
        try:
            for future in distributed.as_completed(list(waiting), loop=client.loop):
                yield waiting[future], future.result()
        except (distributed.KilledWorker, distributed.CancelledError) as error:
            raise ToolError(
                f"dask {address!r}: workers were lost ({type(error).__name__}); finished points are kept, the same "
                "command goes on"
            ) from None
        finally:
            client.cancel(list(waiting))
