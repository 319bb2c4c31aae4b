"""One cell of the benchmark: one function of one robot by one implementation, and the rules by which it is measured.

- Results at all states are compared with the oracle before timing and again after it, through the calls that are timed.
- An error is that of an entry, over its largest magnitude at these states (for entries that are nearly nothing
  beside others: a thousandth of the result's largest).
- ``single_us``: one call after another, each for one state; ``latency_us``: one such call by the clock at the host,
  with operands and results in its memory; ``batches``: time per state of a call for so many.
- Implementations take turns, round by round. Medians are what counts, the best is beside them.
- Every cell has a status.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rbdgen.benchmark.task import Task, record

VALIDATED, INACCURATE, ABSENT, FAILED = "validated", "inaccurate", "not there", "failed"
STATUSES = {
    VALIDATED: "errors before and after timing are within the tolerance of its precision",
    INACCURATE: "they are not; times are shown all the same",
    ABSENT: "its package, tool or device is missing here, or it has no such function",
    FAILED: "it raised an error, which is told",
}
COUNTED = "by the testbench"
"""Callers of what was not timed: cycles were counted."""
SMALLEST = 1e-3
"""Of a result's largest magnitude: what an entry's error is compared with at least."""
TOLERANCES = {"float64": 1e-9, "float32": 2e-4, "differences": 1e-3}
"""Errors that count as right, by precision; of fixed point a design's own error target. ``differences`` are finite
ones."""


SINGLES = 64
"""States of single calls, the first of the task's."""


class NotThereError(Exception):
    """An implementation, or a function of it, that is not there; the reason in a line."""


@dataclass(frozen=True)
class Calls:
    """A function that is ready to be called at a task's states.

    ``everything`` gives results at all of them (n, …), in the function's order, by the calls that are timed. ``one(k)``
    is a call for state k below :data:`SINGLES`. ``loop``: where the caller is not Python, as many single calls as it
    says, and a call that makes them. ``many``: by number of states and of cores a call for so many. ``how``: in a few
    words.
    """

    everything: Callable[[], Sequence[np.ndarray]]
    tolerance: float
    one: Callable[[int], object] | None = None
    loop: tuple[int, Callable[[], object]] | None = None
    many: Mapping[tuple[int, int], Callable[[], object]] = field(default_factory=dict)
    how: str = ""


@dataclass(frozen=True)
class Counted:
    """A function whose cycles were counted: µs at a clock, the ``largest`` error over states and the ``errors`` by
    result and entry, and results that were not as they must be to the bit (``mismatches``)."""

    latency_us: float
    task_us: float
    largest: float
    errors: Mapping[str, Any]
    mismatches: int
    tolerance: float
    how: str


Prepared = Calls | Counted


@dataclass
class Cell:
    """What is known of a cell; see the schema ``benchmark.json`` for units."""

    robot: str
    function: str
    implementation: str
    called: str
    precision: str
    ours: bool
    version: str | None = None
    status: str = FAILED
    why: str = ""
    how: str = ""
    tolerance: float | None = None
    error_before: float | None = None
    error_after: float | None = None
    errors: dict[str, Any] = field(default_factory=dict)
    single_us: dict[str, float] | None = None
    latency_us: dict[str, float] | None = None
    batches: list[dict[str, float]] = field(default_factory=list)

    def judge(self) -> None:
        """Give it the status that its errors deserve."""
        known = (self.error_before, self.error_after)
        right = all(x is not None and x <= (self.tolerance or 0.0) for x in known)
        self.status = VALIDATED if right else INACCURATE


def entry_errors(task: Task, function: str, found: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """The largest error of each entry by result, over the states. ValueError for results of another shape."""
    errors = {}
    for x, y, right in zip(record(function).results, found, task.oracle[function], strict=True):
        values = np.asarray(y, float)
        if values.shape != right.shape:
            raise ValueError(f"{x.name} has shape {values.shape}, not {right.shape}")
        largest = np.max(np.abs(right), axis=0)
        scale = np.maximum(largest, SMALLEST * np.max(largest))
        # a robot may have a result that is nothing at all
        worst = np.max(np.abs(values - right), axis=0) / np.where(scale == 0.0, 1.0, scale)
        errors[x.name] = np.where(np.isfinite(worst), worst, np.inf)
    return errors


def largest(errors: Mapping[str, np.ndarray]) -> float:
    """The largest error of all entries; a number of JSON."""
    return float(min(max(np.max(x) for x in errors.values()), 1e300))


def by_entry(errors: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Errors as JSON has them, to three digits."""
    rounded = np.vectorize(lambda x: float(f"{min(x, 1e300):.2e}"), otypes=[float])
    return {name: rounded(x).tolist() for name, x in errors.items()}
