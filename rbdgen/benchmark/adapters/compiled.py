"""rbdgen's C: called from Python, and from C."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

import numpy as np

from rbdgen.benchmark.adapters.adapter import Adapter, rows, stacked, tupled
from rbdgen.benchmark.cells import TOLERANCES, Calls, Prepared
from rbdgen.benchmark.task import Task
from rbdgen.native import required_compiler
from rbdgen.processes import cores
from rbdgen.software.compiled import compile_functions
from rbdgen.software.timing import one_by_one, pointers


def _from_python(task: Task, stack: ExitStack) -> Callable[[str], Prepared]:
    required_compiler()
    compiled = compile_functions(task.robot, task.functions)

    def prepare(function: str) -> Calls:
        call, operands = compiled.function(function), task.operands(function)
        states = rows(operands, task.count)
        room = tupled(call(*states[0]))

        def everything() -> list[np.ndarray]:
            found = []
            for state in states:
                call(*state, out=room)
                found.append([x.copy() for x in room])
            return stacked(found)

        def one(k: int) -> None:
            call(*states[k], out=room)

        def many(n: int, workers: int) -> Callable[[], object]:
            some = [x[:n] for x in operands]
            out = tuple(np.empty((n, *x.shape)) for x in call.results)

            def run() -> None:
                call.library.omp_set_num_threads(workers)
                call(*some, out=out)

            return run

        batches = {}
        for workers in sorted({1, cores()}):
            for n in task.batches:
                batches[n, workers] = many(n, workers)
        how = "results in arrays that are given (out=)"
        return Calls(everything, TOLERANCES["float64"], one, many=batches, how=how)

    return prepare


def _from_c(task: Task, stack: ExitStack) -> Callable[[str], Prepared]:
    required_compiler()
    compiled = compile_functions(task.robot, task.functions)

    def prepare(function: str) -> Calls:
        made = compiled.function(function)
        results = [np.empty((task.count, *x.shape)) for x in made.results]
        given = pointers([*task.operands(function), *results])
        loop = partial(one_by_one(made), ctypes.c_size_t(task.count), *given)

        def everything() -> list[np.ndarray]:
            for x in results:
                x.fill(np.nan)
            loop()
            return results

        how = "a loop in C over single calls"
        return Calls(everything, TOLERANCES["float64"], loop=(task.count, loop), how=how)

    return prepare


FROM_PYTHON = Adapter(
    "c", "rbdgen C, from Python", "from Python", "float64", _from_python, ours=True
)
FROM_C = Adapter("c_from_c", "rbdgen C, from C", "from C", "float64", _from_c, ours=True)
