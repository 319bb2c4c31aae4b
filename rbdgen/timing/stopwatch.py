"""The best time of a call over several rounds: what the machine can do when nothing disturbs it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence


def best_seconds(call: Callable[[], object], rounds: int = 5, least: float = 0.02) -> float:
    """The best wall-clock seconds of one ``call``, over ``rounds``; a round repeats the call until ``least`` seconds
    have gone, so that short calls are not lost in the clock's grain."""
    begin = time.perf_counter()
    call()
    once = time.perf_counter() - begin
    repeats = max(1, int(least / max(once, 1e-9)))
    best = float("inf")
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(repeats):
            call()
        best = min(best, (time.perf_counter() - begin) / repeats)
    return best


def best_times(calls: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """The best wall-clock seconds of each of ``calls``, over rounds in which they take turns."""
    best = [float("inf")] * len(calls)
    for _ in range(rounds):
        for k, call in enumerate(calls):
            begin = time.perf_counter()
            call()
            best[k] = min(best[k], time.perf_counter() - begin)
    return best
