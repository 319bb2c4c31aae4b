"""Pinocchio, called from Python as its users call it: one state after another, on one core and on all.

All cores: loops are spread over worker processes, one per core, as Python's lock keeps threads from sharing this work;
workers have their model and states before the clock starts, and results stay with them. Inverse and forward dynamics
also have Pinocchio's own parallel calls. Pinocchio itself is optional, and imported when it is used.
"""

from __future__ import annotations

import importlib
import multiprocessing
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np

from rbdgen.errors import ToolError
from rbdgen.functions import registry
from rbdgen.functions.quantities import States
from rbdgen.functions.record import Pinocchio

BASES = {"floating": "JointModelFreeFlyer", "planar": "JointModelPlanar"}


def available() -> bool:
    """Whether Pinocchio can be imported."""
    try:
        pin = _pinocchio()
    except ImportError:
        return False
    # another package of this name extends a test runner
    return hasattr(pin, "buildModelFromUrdf")


def _pinocchio() -> Any:
    return importlib.import_module("pinocchio")


def model_of(urdf: Path, base: str) -> Any:
    """Pinocchio's model of a URDF."""
    pin = _pinocchio()
    root = [getattr(pin, BASES[base])()] if base in BASES else []
    return pin.buildModelFromUrdf(str(urdf), *root)


def arguments(function: str, states: States) -> list[np.ndarray]:
    """The operands (n, …) of Pinocchio's counterpart of a function, behind model and data."""
    return [getattr(states, name) for name in _counterpart(function).arguments]


def _counterpart(function: str) -> Pinocchio:
    """Pinocchio's counterpart of a function that it has."""
    found = registry.function(function).pinocchio
    assert found is not None
    return found


def function(name: str) -> Callable[..., Any]:
    """Pinocchio's counterpart of a function that it has."""
    return getattr(_pinocchio(), _counterpart(name).name)


def loop(model: Any, data: Any, function: str, states: States) -> Callable[[], None]:
    """A call that runs Pinocchio's ``function`` at every state, one after another."""
    call, arrays = getattr(_pinocchio(), _counterpart(function).name), arguments(function, states)

    def run() -> None:
        for state in zip(*arrays, strict=True):
            call(model, data, *state)

    return run


def own_parallel(
    model: Any, function: str, states: States, threads: int
) -> Callable[[], object] | None:
    """A call of Pinocchio's own parallel form of ``function``; None where it has none."""
    pin = _pinocchio()
    call = getattr(pin, _counterpart(function).parallel or "", None)
    if call is None:
        return None
    pool = pin.ModelPool(model, threads)
    # states are columns there: another order would be copied, and the copy be measured
    arrays = [np.asfortranarray(x.T) for x in arguments(function, states)]
    return lambda: call(threads, pool, *arrays)


@dataclass(frozen=True)
class _Worker:
    process: BaseProcess
    pipe: Connection

    def answer(self) -> None:
        """Wait for the worker's word; ToolError if it has ended."""
        try:
            self.pipe.recv()
        except EOFError:
            self.process.join()
            raise ToolError(
                f"Pinocchio: a worker process ended with status {self.process.exitcode}; its complaint is above"
            ) from None


class Team:
    """Worker processes that share the loops over states; a context manager."""

    def __init__(self, urdf: Path, base: str, states: States, workers: int) -> None:
        # a fork would copy locks that other threads hold
        context = multiprocessing.get_context("spawn")
        self.workers: list[_Worker] = []
        for _ in range(workers):
            here, there = context.Pipe()
            process = context.Process(
                target=_serve, args=(there, str(urdf), base, states), daemon=True
            )
            process.start()
            self.workers.append(_Worker(process, here))
        for worker in self.workers:
            worker.answer()

    def call(self, function: str, count: int) -> Callable[[], None]:
        """A call that runs ``function`` at the first ``count`` states, in equal parts by as many workers as there are
        states for; it ends when all have."""
        parts = [
            (int(p[0]), int(p[-1]) + 1)
            for p in np.array_split(np.arange(count), len(self.workers))
            if len(p)
        ]

        def run() -> None:
            for worker, part in zip(self.workers, parts, strict=False):
                worker.pipe.send((function, *part))
            for worker, _ in zip(self.workers, parts, strict=False):
                worker.answer()

        return run

    def __enter__(self) -> Team:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            with suppress(BrokenPipeError):
                worker.pipe.send(None)
        for worker in self.workers:
            worker.process.join()


def _serve(pipe: Connection, urdf: str, base: str, states: States) -> None:
    """A worker: runs parts of loops as it is told."""
    model = model_of(Path(urdf), base)
    data = model.createData()
    pipe.send("ready")
    while (order := pipe.recv()) is not None:
        function, first, last = order
        loop(model, data, function, states.part(slice(first, last)))()
        pipe.send("done")


def fits(model: Any, states: States) -> bool:
    """Whether states of ours are states of this model: as many coordinates and velocities."""
    return (model.nq, model.nv) == (states.q.shape[1], states.v.shape[1])


def covered(functions: Sequence[str]) -> list[str]:
    """Those of ``functions`` that Pinocchio has."""
    return [f for f in functions if registry.function(f).pinocchio]
