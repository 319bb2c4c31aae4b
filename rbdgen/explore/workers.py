"""Who computes the points: processes on this machine, or workers of a Dask cluster. Rows are the same either way."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from rbdgen.caching import code_digest
from rbdgen.errors import RbdgenError, ToolError
from rbdgen.explore.points import Point, Task
from rbdgen.installation import optional_module

Evaluate = Callable[[Task, Point], dict[str, Any]]
"""Computes a point's figures; a function of a module, so that it can be sent. RbdgenErrors make a point refused."""
PATIENCE = 10
"""Seconds that a Dask scheduler may take to answer."""
ATTEMPTS = 1
"""How often a point is given to another Dask worker after the one that had it was lost."""


def figures_or_reason(evaluate: Evaluate, task: Task, point: Point) -> dict[str, Any]:
    """A point's figures, or why it cannot be built; ToolError if this process runs other sources than the
    sweep."""
    if code_digest("rbdgen") != task.code:
        raise ToolError(
            "workers: run another version of rbdgen than this one; install the same and restart them"
        )
    try:
        return {"status": "ok"} | evaluate(task, point)
    except RbdgenError as error:
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
