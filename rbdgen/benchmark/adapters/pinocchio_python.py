"""Pinocchio, called from Python as its users do."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import numpy as np

from rbdgen.benchmark.adapters.adapter import Adapter, rows, stacked, tupled
from rbdgen.benchmark.cells import TOLERANCES, Calls, NotThereError, Prepared
from rbdgen.benchmark.task import Task, record
from rbdgen.processor_times import pinocchio


def _open(task: Task, stack: ExitStack) -> Callable[[str], Prepared]:
    if not pinocchio.available():
        raise NotThereError("Pinocchio is not installed: pip install pin")
    model = pinocchio.model_of(task.file, task.base)
    if not pinocchio.fits(model, task.states):
        raise NotThereError(f"its model of this file has nq {model.nq} and nv {model.nv}")
    model.gravity.linear = np.array(task.robot.gravity)
    data = model.createData()

    def prepare(function: str) -> Calls:
        if not pinocchio.covered([function]):
            raise NotThereError("it has no such function")
        call = pinocchio.function(function)
        count = len(record(function).results)
        arrays = pinocchio.arguments(function, task.states)
        states = rows(arrays, task.count)

        def everything() -> list[np.ndarray]:
            found = []
            for state in states:
                values = tupled(call(model, data, *state))[:count]
                # it gives its own memory, which the next call writes into
                found.append([np.array(x) for x in values])
            return stacked(found)

        def loop(n: int) -> Callable[[], object]:
            return pinocchio.loop(model, data, function, task.states.part(slice(n)))

        return Calls(
            everything,
            TOLERANCES["float64"],
            lambda k: call(model, data, *states[k]),
            many={(n, 1): loop(n) for n in task.batches},
            how="batches: a loop in Python",
        )

    return prepare


ADAPTER = Adapter("pinocchio", "Pinocchio", "from Python", "float64", _open, "pin")
