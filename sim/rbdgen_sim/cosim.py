"""Co-simulation: the accelerator's RTL against the bit-true model and against float64, with measured cycles.

The same tasks run twice, without stalls for the cycle counts, and with random stalls on both sides; every result of
both runs is compared bit for bit: tag, order, flags and values. Cycles come from the handshakes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rbdgen import golden
from rbdgen.compiler import Design
from rbdgen.errors import ConfigError, ToolError
from rbdgen.host.tasks import TAG_BITS, Flag
from rbdgen.model.ranges import random_states
from rbdgen.report.design import design_report
from rbdgen_sim.interface import Rtl, Simulator, Stimulus, Trace

STALL_PROBABILITY = 0.3
"""Share of cycles in which a side stalls in the run with stalls."""


@dataclass(frozen=True)
class TaskSet:
    """Tasks for one function: states (n, nq), (n, nv), (n, nv), raw operands, and the model's answers.

    ``expected`` are raw results, one (n,) array per result word; ``flags`` (n,) status flags; ``reference`` (n, nv)
    float64.
    """

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    raw: list[np.ndarray]
    expected: list[np.ndarray]
    flags: np.ndarray
    reference: np.ndarray

    @property
    def count(self) -> int:
        """Number of tasks."""
        return len(self.flags)


@dataclass(frozen=True)
class Run:
    """What one simulation run showed: ``mismatches`` (results that differ in any bit from the model's), latencies in
    cycles from a task's last accepted beat to its last offered one, cycles between results, and the trace."""

    mismatches: int
    latencies: np.ndarray
    intervals: np.ndarray
    values: list[np.ndarray]
    flags: np.ndarray
    trace: Trace


@dataclass(frozen=True)
class Cosimulation:
    """Both runs and the errors against float64, relative to the largest output."""

    design: Design
    tasks: TaskSet
    free: Run
    stalled: Run
    max_relative_error: float
    rms_relative_error: float
    simulator: str
    seed: int

    @property
    def mismatches(self) -> int:
        """Over both runs."""
        return self.free.mismatches + self.stalled.mismatches

    @property
    def overflows(self) -> int:
        """Tasks whose result carries a flag, in the run without stalls."""
        return int(np.count_nonzero(self.free.flags))

    @property
    def interval(self) -> float:
        """Steady cycles per task: over the second half of the run without stalls."""
        half = self.free.intervals[len(self.free.intervals) // 2 :]
        return float(np.mean(half)) if len(half) else float("nan")

    def report(self) -> dict[str, Any]:
        """The design's report with what was measured in place of what was promised."""
        report = design_report(self.design)
        report["figures"] = "measured in RTL simulation"
        report["simulator"], report["seed"] = self.simulator, self.seed
        interval = self.interval
        steady = self.free.latencies[len(self.free.latencies) // 2 :]
        for code in report["functions"]:
            report["functions"][code] |= {
                "ii_cycles": int(interval) if interval == int(interval) else interval,
                "latency_cycles": int(self.free.latencies[0]),
                "latency_cycles_steady": float(np.median(steady)),
                "tasks": self.tasks.count,
                "mismatches": self.mismatches,
                "overflows": self.overflows,
                "max_relative_error": self.max_relative_error,
                "rms_relative_error": self.rms_relative_error,
            }
        report["build_seconds"] = round(self.free.trace.build_seconds, 2)
        report["run_seconds"] = round(self.free.trace.run_seconds + self.stalled.trace.run_seconds, 2)
        return report


def make_tasks(design: Design, states: tuple[np.ndarray, np.ndarray, np.ndarray]) -> TaskSet:
    """Tasks for states of shape (n, nq), (n, nv), (n, nv), with the model's answers."""
    q, v, a = states
    values = design.network.operand_values(q, v, a)
    raw = design.tasks.quantise([values[o.name] for o in design.network.operands])
    result = design.run(raw)
    flags = np.where(result.overflow, Flag.OVERFLOW, 0) | np.where(design.tasks.out_of_range(raw), Flag.RANGE, 0)
    expected = [result.outputs[r.name] for r in design.network.results]
    return TaskSet(q, v, a, raw, expected, flags, golden.rnea(design.robot, q, v, a))


def run_tasks(
    design: Design,
    tasks: TaskSet,
    rtl: Rtl,
    simulator: Simulator,
    workdir: Path,
    stall: float = 0.0,
    seed: int = 0,
    waves: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Run:
    """Simulate ``tasks`` once and compare every result. ToolError if the simulation does not finish."""
    layout = design.tasks
    tags = np.arange(tasks.count) % (1 << TAG_BITS)
    beats = layout.pack(np.full(tasks.count, design.codes[0]), tags, tasks.raw)
    stimulus = Stimulus(beats, tasks.count * layout.result.beats, input_stall=stall, output_stall=stall, seed=seed)
    trace = simulator.run(rtl, stimulus, workdir, waves=waves, progress=progress)
    if len(trace.payloads) != stimulus.expected_beats:
        raise ToolError(f"simulation: {len(trace.payloads)} of {stimulus.expected_beats} result beats came")
    results = layout.unpack(trace.payloads)
    wrong = (results.tag != tags) | (results.function != design.codes[0]) | (results.flags != tasks.flags)
    for value, expected in zip(results.values, tasks.expected, strict=True):
        wrong |= value != expected
    accepted = trace.accepted[layout.task.beats - 1 :: layout.task.beats]
    offered = trace.offered[layout.result.beats - 1 :: layout.result.beats]
    return Run(int(np.count_nonzero(wrong)), offered - accepted, np.diff(offered), results.values, results.flags, trace)


def relative_errors(design: Design, tasks: TaskSet, values: Sequence[np.ndarray]) -> tuple[float, float]:
    """Largest and rms error of raw results against float64, relative to the largest float64 output."""
    real = np.stack([f.real(v) for f, v in zip(design.tasks.results, values, strict=True)], axis=-1)
    error = real - tasks.reference
    largest = float(np.max(np.abs(tasks.reference)))
    return float(np.max(np.abs(error))) / largest, float(np.sqrt(np.mean(error**2))) / largest


def cosimulate(
    design: Design,
    rtl: Rtl,
    simulator: Simulator,
    workdir: Path,
    count: int = 1000,
    seed: int = 0,
    waves: Path | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Cosimulation:
    """Simulate ``count`` random tasks inside the declared ranges, with and without stalls.

    ``progress`` is told the run's name, tasks done and tasks in all. ConfigError for a count below 2.
    """
    if count < 2:
        raise ConfigError(f"tasks: must be at least 2 to measure an interval, not {count}")
    simulator.available()
    tasks = make_tasks(design, random_states(design.robot, design.ranges, count, seed))

    def tell(name: str) -> Callable[[int, int], None] | None:
        return None if progress is None else partial(progress, name)

    free = run_tasks(design, tasks, rtl, simulator, workdir, seed=seed, waves=waves, progress=tell("run"))
    stalled = run_tasks(
        design, tasks, rtl, simulator, workdir, stall=STALL_PROBABILITY, seed=seed, progress=tell("run with stalls")
    )
    largest, rms = relative_errors(design, tasks, free.values)
    return Cosimulation(design, tasks, free, stalled, largest, rms, simulator.name, seed)
