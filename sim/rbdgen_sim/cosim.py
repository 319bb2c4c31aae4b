"""Co-simulation: the accelerator's RTL against the bit-true model and against float64, with measured cycles.

Each function's tasks run alone and without stalls, for its cycle counts and errors; then tasks of all functions run
in random order with random stalls on both sides. Every result of all runs is compared bit for bit: tag, order
within its function, flags and values. Cycles come from the handshakes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rbdgen.compiler import Design
from rbdgen.errors import ConfigError, ToolError
from rbdgen.host.tasks import CALIBRATE, TAG_BITS
from rbdgen.layout.calibration import varied_robot
from rbdgen.layout.functions import ROLL_OUT
from rbdgen.report.design import design_report
from rbdgen.schedule.queues import fault_port, high_port, queues
from rbdgen.trials import (
    TaskSet,
    make_tasks,
    output_errors,
    task_states,
    worst_errors,
)
from rbdgen_sim.interface import Rtl, Simulator, Stimulus, Trace

MIXED_STEPS = 4
"""Most steps of a roll-out in the run with stalls; alone it is one."""
STALL_PROBABILITY = 0.3
"""Share of cycles in which a side stalls in the run with stalls."""


@dataclass(frozen=True)
class Outcome:
    """What one run showed of one function: ``mismatches`` (results that differ in any bit from the model's), latencies
    in cycles from a task's last accepted beat to its last offered one, cycles between results, values and flags."""

    mismatches: int
    latencies: np.ndarray
    intervals: np.ndarray
    values: list[np.ndarray]
    flags: np.ndarray


@dataclass(frozen=True)
class Measured:
    """One function's figures: its tasks, the run alone, and its errors against float64 (:func:`output_errors`)."""

    tasks: TaskSet
    alone: Outcome
    errors: dict[str, dict[str, np.ndarray]]

    @property
    def interval(self) -> float:
        """Steady cycles per task: over the second half of the run."""
        half = self.alone.intervals[len(self.alone.intervals) // 2 :]
        return float(np.mean(half)) if len(half) else float("nan")


@dataclass(frozen=True)
class Mark:
    """What the runs did to one FIFO: the most entries in it at once, and whether it was ever written while full or read
    while empty."""

    high_water: int
    fault: bool


@dataclass(frozen=True)
class Cosimulation:
    """All runs: ``functions`` alone, and ``mixed``: tasks and mismatches of the run in random order with stalls.
    ``marks`` are those of the FIFOs over all runs, by name."""

    design: Design
    functions: dict[str, Measured]
    mixed: dict[str, Outcome]
    simulator: str
    seed: int
    build_seconds: float
    run_seconds: float
    marks: dict[str, Mark]

    @property
    def misused(self) -> list[str]:
        """The FIFOs, by name, that were ever over their depth, or read while empty."""
        depths = {q.name: q.depth for q in queues(self.design.plan, self.design.tasks)}
        return [name for name, mark in self.marks.items() if mark.fault or mark.high_water > depths[name]]

    @property
    def mismatches(self) -> int:
        """Over all runs."""
        alone = sum(f.alone.mismatches for f in self.functions.values())
        return alone + sum(o.mismatches for o in self.mixed.values())

    def report(self) -> dict[str, Any]:
        """The design's report with what was measured in place of what was promised."""
        report = design_report(self.design)
        report["figures"] = "measured in RTL simulation"
        report["simulator"], report["seed"] = self.simulator, self.seed
        for name, measured in self.functions.items():
            interval, alone = measured.interval, measured.alone
            worst, rms = worst_errors(measured.errors)
            steady = alone.latencies[len(alone.latencies) // 2 :]
            report["functions"][name] |= {
                "ii_cycles": int(interval) if interval == int(interval) else interval,
                "latency_cycles": int(alone.latencies[0]),
                "latency_cycles_steady": float(np.median(steady)),
                "tasks": measured.tasks.count,
                "tasks_mixed": len(self.mixed[name].flags),
                "mismatches": alone.mismatches + self.mixed[name].mismatches,
                "overflows": int(np.count_nonzero(alone.flags)),
                "max_relative_error": worst,
                "rms_relative_error": rms,
                "errors": {
                    vector: {kind: _shortened(x).tolist() for kind, x in parts.items()}
                    for vector, parts in measured.errors.items()
                },
            }
        for row in report["fifos"]:
            row |= asdict(self.marks[row["name"]])
        report["build_seconds"] = round(self.build_seconds, 2)
        report["run_seconds"] = round(self.run_seconds, 2)
        return report


def _shortened(x: np.ndarray) -> np.ndarray:
    """The same to three significant digits: what a report shows of each entry."""
    return np.vectorize(lambda e: float(f"{e:.2e}"), otypes=[float])(x)


@dataclass(frozen=True)
class Run:
    """One simulation: ``outcomes`` by function, and the trace."""

    outcomes: dict[str, Outcome]
    trace: Trace


def run_tasks(
    design: Design,
    tasks: Sequence[TaskSet],
    order: np.ndarray,
    rtl: Rtl,
    simulator: Simulator,
    workdir: Path,
    stall: float = 0.0,
    seed: int = 0,
    waves: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Run:
    """Simulate tasks once and compare every result.

    ``order`` (n,) says which set each task is taken from, in each set from its first on. The first set's parameters are
    loaded before, if it has any. ToolError if the simulation does not finish, or does not take a parameter.
    """
    layout = design.tasks
    used = [int(np.count_nonzero(order == k)) for k in range(len(tasks))]
    tags = [np.arange(n) % (1 << TAG_BITS) for n in used]
    packets = [
        iter(layout.pack(t.function, tag, [r[:n] for r in t.raw])) for t, tag, n in zip(tasks, tags, used, strict=True)
    ]
    loads: list[list[int]] = []
    if tasks[0].parameters is not None:
        number = np.arange(len(tasks[0].parameters))
        loads = layout.pack_calibration(number, number, tasks[0].parameters)
    sent = [*loads, *(next(packets[k]) for k in order)]
    expected_beats = len(loads) + sum(n * layout.result_beats(t.function) for t, n in zip(tasks, used, strict=True))
    beats = [b for packet in sent for b in packet]
    stimulus = Stimulus(beats, expected_beats, input_stall=stall, output_stall=stall, seed=seed)
    trace = simulator.run(rtl, stimulus, workdir, waves=waves, progress=progress)
    if len(trace.payloads) != expected_beats:
        raise ToolError(f"simulation: {len(trace.payloads)} of {expected_beats} result beats came")
    accepted = np.asarray(trace.accepted)[np.cumsum([len(p) for p in sent]) - 1][len(loads) :]
    received = layout.split(trace.payloads)
    offered = np.asarray(trace.offered)[np.cumsum([len(p) for p in received]) - 1]
    headers = [layout.header(p[0]) for p in received]
    codes = np.array([code for code, _, _ in headers])
    for code, number, flags in headers:
        if code == CALIBRATE and flags:
            raise ToolError(f"simulation: parameter {number} was refused, flags {flags}")
    outcomes = {}
    for k, t in enumerate(tasks):
        mine = codes == layout.functions[t.function].code
        results = layout.unpack(t.function, [p for p, m in zip(received, mine, strict=True) if m])
        if len(results.tag) != used[k]:
            raise ToolError(f"simulation: {len(results.tag)} of {used[k]} results of {t.function} came")
        wrong = (results.tag != tags[k]) | (results.flags != t.flags[: used[k]])
        for value, expected in zip(results.values, t.expected, strict=True):
            wrong |= value != expected[: used[k]]
        latencies = offered[mine] - accepted[order == k]
        outcomes[t.function] = Outcome(
            int(np.count_nonzero(wrong)), latencies, np.diff(offered[mine]), results.values, results.flags
        )
    return Run(outcomes, trace)


def fifo_marks(design: Design, traces: Sequence[Trace]) -> dict[str, Mark]:
    """The marks of all FIFOs over several runs, by name, from the probes of :func:`rbdgen.schedule.queues.high_port`
    and :func:`~rbdgen.schedule.queues.fault_port`."""
    return {
        q.name: Mark(
            max(t.probes[high_port(q.name)] for t in traces), any(t.probes[fault_port(q.name)] for t in traces)
        )
        for q in queues(design.plan, design.tasks)
    }


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
    """Simulate ``count`` random tasks inside the declared ranges: of each function alone, then all mixed, with stalls
    and, where they can be loaded, with the parameters of a robot that differs.

    ``progress`` is told the run's name, tasks done and tasks in all. ``waves``: the first run's. ConfigError for a
    count below 2.
    """
    if count < 2:
        raise ConfigError(f"tasks: must be at least 2 to measure an interval, not {count}")
    simulator.available()
    states = task_states(design, count, seed)
    tasks = [make_tasks(design, f, states) for f in design.network.functions]

    def tell(name: str) -> Callable[[int, int], None] | None:
        return None if progress is None else partial(progress, name)

    functions, traces = {}, []
    for k, t in enumerate(tasks):
        picture = waves if k == 0 else None
        order = np.full(count, k)
        run = run_tasks(design, tasks, order, rtl, simulator, workdir, 0.0, seed, picture, tell(f"run of {t.function}"))
        alone = run.outcomes[t.function]
        functions[t.function] = Measured(t, alone, output_errors(design, t, alone.values))
        traces.append(run.trace)
    calibrated = design.network.calibration is not None
    if calibrated or ROLL_OUT.name in design.network.functions:
        # the runs alone are as after a reset, this one is of another robot, and roll-outs have several steps
        other = varied_robot(design.robot, np.random.default_rng(seed)) if calibrated else None
        steps = np.random.default_rng(seed).integers(1, MIXED_STEPS + 1, (count, 1))
        states = replace(task_states(design, count, seed, other), steps=steps)
        tasks = [make_tasks(design, f, states, other) for f in design.network.functions]
    order = np.random.default_rng(seed).integers(0, len(tasks), count)
    mixed = run_tasks(
        design, tasks, order, rtl, simulator, workdir, STALL_PROBABILITY, seed, None, tell("run of all with stalls")
    )
    traces.append(mixed.trace)
    return Cosimulation(
        design,
        functions,
        mixed.outcomes,
        simulator.name,
        seed,
        sum(t.build_seconds for t in traces),
        sum(t.run_seconds for t in traces),
        fifo_marks(design, traces),
    )
