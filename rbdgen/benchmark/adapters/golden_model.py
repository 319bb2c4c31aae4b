"""rbdgen's golden model in NumPy: the oracle itself, whose time is told too."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from rbdgen.benchmark.adapters.adapter import Adapter
from rbdgen.benchmark.cells import SINGLES, TOLERANCES, Calls, Prepared
from rbdgen.benchmark.task import Task
from rbdgen.processor_times import golden_calls


def _open(task: Task, stack: ExitStack) -> Callable[[str], Prepared]:
    def prepare(function: str) -> Calls:
        every = golden_calls(task.robot, task.states)[function]
        parts = [task.states.part(slice(k, k + 1)) for k in range(min(task.count, SINGLES))]
        one = [golden_calls(task.robot, part)[function] for part in parts]
        many = {
            (n, 1): golden_calls(task.robot, task.states.part(slice(n)))[function]
            for n in task.batches
        }
        how = "the oracle itself; a call for the batch"
        return Calls(every, TOLERANCES["float64"], lambda k: one[k](), many=many, how=how)

    return prepare


ADAPTER = Adapter(
    "golden", "rbdgen golden model (NumPy)", "from Python", "float64", _open, "numpy", True
)
