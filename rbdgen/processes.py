"""Forked processes: children see what the parent has. The same function of many things, on all cores.

Beside them: how a process goes on without a search for cyclic garbage.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def forked(work: Callable[[], None]) -> BaseProcess:
    """A process that does ``work``; its exit status is 0 where that ended well."""
    process: BaseProcess = multiprocessing.get_context("fork").Process(target=_run, args=(work,))
    with warnings.catch_warnings():
        # a thread that draws progress takes no part in what the process does
        warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
        process.start()
    return process


def _run(work: Callable[[], None]) -> None:
    """Run a forked process's work, and end it."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    status = 1
    try:
        work()
        status = 0
    finally:
        # what this process got from its parent is not its own to tidy up, nor to tell of an error
        os._exit(status)


def on_all_cores(function: Callable[[T], R], things: Sequence[T], sizes: Sequence[int]) -> list[R]:
    """``function`` of each of the ``things``, in their order. ``sizes``: about how long each takes. What a child cannot
    do, for want of memory or by an error, this process does."""
    shares = _shares(sizes, _workers())
    children = [_Child(function, things, share) for share in shares[1:]]
    try:
        found = {k: function(things[k]) for k in shares[0]}
        for child in children:
            found |= child.results()
    finally:
        for child in children:
            child.end()
    return [found[k] for k in range(len(things))]


def _workers() -> int:
    """Processes that work at a time: one where none can be forked."""
    possible = "fork" in multiprocessing.get_all_start_methods()
    # Python lets no daemonic process have children
    if not possible or multiprocessing.current_process().daemon:
        return 1
    return cores()


def _shares(sizes: Sequence[int], workers: int) -> list[list[int]]:
    """The numbers of the things that each worker takes: the largest first, to who has least."""
    shares: list[list[int]] = [[] for _ in range(workers)]
    loads = [0] * workers
    for k in sorted(range(len(sizes)), key=lambda k: -sizes[k]):
        least = loads.index(min(loads))
        shares[least].append(k)
        loads[least] += sizes[k]
    return [shares[0], *(share for share in shares[1:] if share)]


class _Child:
    """A forked process that does a share of the things."""

    def __init__(
        self, function: Callable[[Any], Any], things: Sequence[Any], share: list[int]
    ) -> None:
        self.function = function
        self.things = things
        self.share = share
        self.here, self.there = multiprocessing.Pipe(duplex=False)
        self.process = forked(self._send)
        # else this process would keep the pipe open, and wait for a child that is no more
        self.there.close()

    def _found(self) -> dict[int, Any]:
        """The results of the share by number."""
        return {k: self.function(self.things[k]) for k in self.share}

    def _send(self) -> None:
        """Send the results of the share: the process's work."""
        self.there.send_bytes(pickle.dumps(self._found()))

    def results(self) -> dict[int, Any]:
        """The results by number, from the process if it has them."""
        try:
            return pickle.loads(self.here.recv_bytes())
        except (EOFError, OSError):
            return self._found()

    def end(self) -> None:
        """End the process, whatever it is at."""
        self.process.kill()
        self.process.join()
        self.here.close()


@contextmanager
def without_collections() -> Iterator[None]:
    """No such search: it would look at the same graphs again and again, and find nothing in a quarter of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
