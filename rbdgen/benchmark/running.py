"""All cells of the benchmark: implementations are prepared, compared, timed in turns, and compared again.

What one of them does wrong is its own cell's affair: others go on.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from rbdgen.benchmark.adapters.adapter import Adapter
from rbdgen.benchmark.cells import (
    ABSENT,
    FAILED,
    INACCURATE,
    SINGLES,
    Calls,
    Cell,
    Counted,
    NotThereError,
    Prepared,
    by_entry,
    entry_errors,
    largest,
)
from rbdgen.benchmark.task import Task
from rbdgen.errors import ToolError
from rbdgen.processor_times import version

Progress = Callable[[str], None]
ROUNDS = 9
"""Of times, of which the median counts."""
CHUNK = 0.01
"""Seconds of a round of one cell, in which short calls are repeated."""
LONGEST = 2.0
"""Seconds of one cell's rounds of one kind, if one round is not longer."""
LATENCIES = 500
"""Calls by the clock, one by one."""


@dataclass
class _Open:
    """A cell that is ready to be timed."""

    cell: Cell
    calls: Calls


def run(task: Task, adapters: Iterable[Adapter], progress: Progress) -> list[Cell]:
    """The cells of a task, by function and implementation."""
    cells: dict[tuple[str, str], Cell] = {}
    chosen = list(adapters)
    with ExitStack() as stack:
        open_: list[_Open] = []
        for adapter in chosen:
            progress(f"{task.name}: prepare {adapter.name}")
            for function, made in _prepared(adapter, task, stack):
                cell = _cell(task, adapter, function)
                cells[function, adapter.name] = cell
                _settle(task, cell, made, open_)
        for function in task.functions:
            progress(f"{task.name}: time {function}")
            _time(task, [x for x in open_ if x.cell.function == function])
    return [cells[f, adapter.name] for f in task.functions for adapter in chosen]


def _prepared(
    adapter: Adapter, task: Task, stack: ExitStack
) -> list[tuple[str, Prepared | Exception]]:
    """Each function, ready, or with what is in the way of it."""
    found: list[tuple[str, Prepared | Exception]] = []
    try:
        make = adapter.open(task, stack)
    except Exception as error:  # of a package that is not ours, which may raise anything
        return [(function, error) for function in task.functions]
    for function in task.functions:
        try:
            found.append((function, make(function)))
        except Exception as error:
            found.append((function, error))
    return found


def _cell(task: Task, adapter: Adapter, function: str) -> Cell:
    own = version(adapter.package) if adapter.package else None
    return Cell(
        task.name,
        function,
        adapter.name,
        adapter.called,
        adapter.precision,
        adapter.ours,
        own,
    )


def _settle(task: Task, cell: Cell, made: Prepared | Exception, open_: list[_Open]) -> None:
    """Say what is known before timing, and keep what is to be timed."""
    if isinstance(made, Exception):
        _excuse(cell, made)
        return
    cell.how, cell.tolerance = made.how, made.tolerance
    if isinstance(made, Counted):
        cell.error_before = cell.error_after = made.largest
        cell.errors = dict(made.errors)
        cell.latency_us = {"median": made.latency_us, "p99": made.latency_us}
        cell.batches = [{"states": 1, "cores": 1, "us": made.task_us}]
        cell.judge()
        if made.mismatches:
            cell.status = INACCURATE
            cell.why = f"{made.mismatches} results differ from the bit-true model"
        return
    try:
        errors = entry_errors(task, cell.function, made.everything())
    except Exception as error:
        _excuse(cell, error)
        return
    cell.error_before = largest(errors)
    open_.append(_Open(cell, made))


def _excuse(cell: Cell, error: Exception) -> None:
    """What kept a cell from being measured."""
    absent = isinstance(error, NotThereError | ImportError | ToolError)
    cell.status = ABSENT if absent else FAILED
    said = " ".join(str(error).split())[:300] or type(error).__name__
    cell.why = (
        said if absent or isinstance(error, ValueError) else f"{type(error).__name__}: {said}"
    )


def _time(task: Task, open_: Sequence[_Open]) -> None:
    """Time one function, its implementations in turns, and compare again."""
    singles: list[tuple[Cell, Callable[[], float]]] = []
    for x in open_:
        call = _single(x.calls, min(task.count, SINGLES))
        if call is not None:
            singles.append((x.cell, call))
    for cell, times in _rounds(singles):
        cell.single_us = _summary(times)
    many: dict[tuple[int, int], list[tuple[Cell, Callable[[], float]]]] = {}
    for x in open_:
        for (states, cores), call in x.calls.many.items():
            many.setdefault((states, cores), []).append((x.cell, _repeated(call, states)))
    for (states, cores), calls in many.items():
        for cell, times in _rounds(calls):
            summary = _summary(times)
            cell.batches.append({"states": states, "cores": cores, "us": summary["median"]})
    for x in open_:
        _finish(task, x)


def _finish(task: Task, x: _Open) -> None:
    """Latencies, the errors after timing, and the status."""
    try:
        if x.calls.one is not None:
            x.cell.latency_us = _latencies(x.calls.one, min(task.count, SINGLES))
        errors = entry_errors(task, x.cell.function, x.calls.everything())
    except Exception as error:
        _excuse(x.cell, error)
        return
    x.cell.error_after = largest(errors)
    x.cell.errors = by_entry(errors)
    x.cell.judge()


def _single(calls: Calls, count: int) -> Callable[[], float] | None:
    """Seconds of a single call, in a round of them; None where it is never called so."""
    if calls.loop is not None:
        states, loop = calls.loop
        return _repeated(loop, states)
    one = calls.one
    if one is None:
        return None

    def every() -> None:
        for k in range(count):
            one(k)

    return _repeated(every, count)


def _repeated(call: Callable[[], object], states: int) -> Callable[[], float]:
    """Seconds for each of the ``states`` of a call, which is repeated until a round is long enough."""
    repeats = 0

    def timed(number: int) -> float:
        begin = time.perf_counter()
        for _ in range(number):
            call()
        return time.perf_counter() - begin

    def a_round() -> float:
        nonlocal repeats
        if not repeats:
            # the first call warms what is to be warmed, the second one says how often
            call()
            once = timed(1)
            repeats = max(1, int(CHUNK / max(once, 1e-9)))
            if repeats == 1:
                return once / states
        return timed(repeats) / repeats / states

    return a_round


def _rounds(
    calls: Sequence[tuple[Cell, Callable[[], float]]],
) -> list[tuple[Cell, list[float]]]:
    """Seconds of each, in rounds in which they take turns. One that raises is out, with its error in its cell."""
    times: list[list[float]] = [[] for _ in calls]
    spent = [0.0] * len(calls)
    out: set[int] = set()
    for _ in range(ROUNDS):
        for k, (cell, call) in enumerate(calls):
            if k in out or spent[k] > LONGEST:
                continue
            begin = time.perf_counter()
            try:
                times[k].append(call())
            except Exception as error:
                _excuse(cell, error)
                out.add(k)
            spent[k] += time.perf_counter() - begin
    return [(cell, own) for (cell, _), own in zip(calls, times, strict=True) if own]


def _summary(seconds: Sequence[float]) -> dict[str, float]:
    """Median and best in µs, to four digits."""
    return {"median": _us(statistics.median(seconds)), "best": _us(min(seconds))}


def _us(seconds: float) -> float:
    return float(f"{seconds * 1e6:.4g}")


def _latencies(one: Callable[[int], object], count: int) -> dict[str, float]:
    """Median and 99th percentile of single calls by the clock, in µs."""
    found = []
    end = time.perf_counter() + LONGEST
    for k in range(LATENCIES):
        begin = time.perf_counter_ns()
        one(k % count)
        found.append((time.perf_counter_ns() - begin) / 1e9)
        if time.perf_counter() > end:
            break
    found.sort()
    last = found[min(len(found) - 1, int(0.99 * len(found)))]
    return {"median": _us(statistics.median(found)), "p99": _us(last)}
