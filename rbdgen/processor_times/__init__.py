"""The speed of this machine at the functions today: the golden model and, where it is installed, Pinocchio.

Not for hardware: its cycles come from RTL simulation (:mod:`rbdgen_sim`).
"""

import importlib.metadata
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rbdgen import golden
from rbdgen.functions import registry
from rbdgen.functions.closing import closed_states
from rbdgen.functions.quantities import States
from rbdgen.functions.record import Function
from rbdgen.model.robot import Robot
from rbdgen.processes import cores
from rbdgen.processor_times import pinocchio

__all__ = [
    "BATCHES",
    "Timing",
    "best_seconds",
    "best_times",
    "golden_calls",
    "machine",
    "time_today",
]


def best_seconds(call: Callable[[], object], rounds: int = 5, least: float = 0.02) -> float:
    """The best wall-clock seconds of one ``call``, over ``rounds``; a round repeats the call until ``least`` seconds
    have gone, so that short calls are not lost in the clock's grain."""
    begin = time.perf_counter()
    call()
    # also warms caches: the first call is never a measurement
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


Others = Callable[[np.ndarray], Mapping[str, np.ndarray]]
"""Values of the operands whose range is declared with them, by name, at configurations (n, nq)."""


def timing_states(
    robot: Robot, count: int, seed: int, inverse: bool, others: Others = lambda q: {}
) -> States:
    """``count`` random states inside the declared ranges, with closed loops; with M⁻¹ if ``inverse``."""
    ranges = golden.declared_ranges(robot)
    q, v, a = golden.random_states(robot, ranges, count, seed)
    q, v = closed_states(robot, ranges, q, v)
    minv = golden.minverse(robot, q) if inverse else None
    steps = np.ones((count, 1), int)
    return States(q, v, a, None, golden.rnea(robot, q, v, a), minv, steps=steps, others=others(q))


def golden_calls(
    robot: Robot, s: States, method: str = "composite"
) -> dict[str, Callable[[], Sequence[np.ndarray]]]:
    """For each function, by its code name, a call that computes it at all states by this family of algorithms."""

    def call(function: Function) -> Callable[[], Sequence[np.ndarray]]:
        return lambda: function.evaluated(robot, s, None, method)

    return {name: call(function) for name, function in registry.known().items()}


BATCHES = (1, 4, 16, 64, 256, 1024, 4096)
"""States per call."""
NUMPY, PINOCCHIO = "rbdgen golden model (NumPy)", "Pinocchio from Python"


@dataclass(frozen=True)
class Timing:
    """One measurement on this machine: ``microseconds`` per state, of a call for ``batch`` states by ``workers`` cores.

    ``how`` says how the cores were used. ``microseconds`` is None where nothing could be measured; ``note`` says why.
    """

    implementation: str
    function: str
    workers: int
    batch: int | None
    microseconds: float | None
    how: str = ""
    note: str = ""


def time_today(
    robot: Robot,
    urdf: Path,
    base: str,
    functions: Sequence[str],
    batches: Sequence[int] = BATCHES,
    seed: int = 1,
    rounds: int = 3,
    progress: Callable[[str, int, int], None] = lambda name, done, total: None,
    others: Others = lambda q: {},
) -> list[Timing]:
    """Time ``functions`` of ``robot``, which is that of ``urdf``; the best of ``rounds`` for each batch. ``others``:
    operands that :func:`rbdgen.processor_times.timing_states` does not know.

    ``progress`` is told a name, how many functions are done, and how many there are.
    """
    taken = {q.name for f in functions for q in registry.function(f).operands}
    states = timing_states(robot, max(batches), seed, "minv" in taken, others)
    result: list[Timing] = []
    for done, function in enumerate(functions):
        progress("time the golden model", done, len(functions))
        for batch in batches:
            call = golden_calls(robot, states.part(slice(batch)))[function]
            call()  # records the text
            each = best_seconds(call, rounds) / batch * 1e6
            result.append(Timing(NUMPY, function, 1, batch, each, "one call for the batch"))
    progress("time the golden model", len(functions), len(functions))
    return result + _pinocchio(urdf, base, functions, batches, states, rounds, progress)


def _pinocchio(
    urdf: Path,
    base: str,
    functions: Sequence[str],
    batches: Sequence[int],
    states: States,
    rounds: int,
    progress: Callable[[str, int, int], None],
) -> list[Timing]:
    def nothing(function: str, note: str) -> Timing:
        return Timing(PINOCCHIO, function, 1, None, None, note=note)

    if not pinocchio.available():
        return [nothing(f, "Pinocchio is not installed: pip install pin") for f in functions]
    model = pinocchio.model_of(urdf, base)
    if not pinocchio.fits(model, states):
        note = f"Pinocchio's model of this file has nq {model.nq} and nv {model.nv}"
        return [
            nothing(f, f"{note}, ours {states.q.shape[1]} and {states.v.shape[1]}")
            for f in functions
        ]
    mine = pinocchio.covered(functions)
    result = [nothing(f, "Pinocchio has no such function") for f in functions if f not in mine]
    data, team = model.createData(), None
    with ExitStack() as stack:
        for done, function in enumerate(mine):
            progress("time Pinocchio", done, len(mine))
            for batch in batches:
                some = states.part(slice(batch))
                alone = (
                    best_seconds(pinocchio.loop(model, data, function, some), rounds) / batch * 1e6
                )
                result.append(
                    Timing(PINOCCHIO, function, 1, batch, alone, "one state after another")
                )
                # one core has nobody to share with
                if cores() < 2:
                    continue
                if team is None:
                    team = stack.enter_context(pinocchio.Team(urdf, base, states, cores()))
                calls: dict[str, Callable[[], object]] = {
                    "a process per core": team.call(function, batch)
                }
                if own := pinocchio.own_parallel(model, function, some, cores()):
                    calls["Pinocchio's own threads"] = own
                times = {
                    how: best_seconds(call, rounds) / batch * 1e6 for how, call in calls.items()
                }
                how = min(times, key=lambda h: times[h])
                result.append(Timing(PINOCCHIO, function, cores(), batch, times[how], how))
        progress("time Pinocchio", len(mine), len(mine))
    return result


PACKAGES = ("numpy", "pin")
"""Packages whose speed is measured."""


def machine() -> dict[str, Any]:
    """Processor, cores, Python, and the versions of what is timed (None: not installed)."""
    return {
        "processor": _processor(),
        "cores": cores(),
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
    }


def version(package: str) -> str | None:
    """An installed package's version."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _processor() -> str:
    """The processor's name, where the system tells it."""
    try:
        # platform.processor() is empty on most Linux systems
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())
