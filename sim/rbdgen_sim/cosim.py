"""Co-simulation: the accelerator's RTL against the bit-true model and against float64, with measured cycles.

Each function's tasks run alone and without stalls, for its cycle counts and errors; then tasks of all functions run
in random order, without stalls where an interval is promised for that, and with random stalls on both sides. Every
result of all runs is compared (:mod:`rbdgen_sim.scoreboard`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rbdgen.compiler import Design
from rbdgen.compiler.design import readable
from rbdgen.errors import ConfigError
from rbdgen.functions.quantities import labels
from rbdgen.machines.machine import fault_port, high_port
from rbdgen.report.design import design_report
from rbdgen.tracing.network import Network
from rbdgen.trials import TaskSet, make_tasks, output_errors, task_states, worst_errors
from rbdgen_sim.interface import Rtl, Simulator, Trace
from rbdgen_sim.scoreboard import Outcome, Run, run_tasks

MIXED_COUNT = 4
"""Most steps of a roll-out in the run with stalls; alone it is one."""
STALL_PROBABILITY = 0.3
"""Share of cycles in which a side stalls in the run with stalls."""
MIXED_NAME = "run of all with stalls"
FULL_RATE_NAME = "run of all at full rate"


@dataclass(frozen=True)
class FunctionFigures:
    """One function's figures: its tasks, the run alone, and its errors against float64 (:func:`output_errors`)."""

    tasks: TaskSet
    alone: Outcome
    errors: dict[str, dict[str, np.ndarray]]

    @property
    def interval(self) -> float:
        """Steady cycles per task: over the second half of the run."""
        return steady_interval(self.alone.intervals)

    def report(self, mixed: Outcome) -> dict[str, Any]:
        """Its entry in a report, with its outcome in the run of all."""
        interval, alone = self.interval, self.alone
        worst, rms = worst_errors(self.errors)
        return {
            "ii_cycles": readable(interval),
            # the first task finds the pipelines empty
            "latency_cycles": int(alone.latencies[0]),
            "latency_cycles_steady": float(np.median(_second_half(alone.latencies))),
            "tasks": self.tasks.count,
            "tasks_mixed": len(mixed.flags),
            "mismatches": alone.mismatches + mixed.mismatches,
            "overflows": int(np.count_nonzero(alone.flags)),
            "max_relative_error": worst,
            "rms_relative_error": rms,
            "errors": {vector: _shortened(parts) for vector, parts in self.errors.items()},
        }


@dataclass(frozen=True)
class FullRate:
    """The run of all functions in random order without stalls: outcomes by function, the promised ``interval`` of this
    very order and the ``measured`` one, cycles from task to task on average."""

    outcomes: dict[str, Outcome]
    promised: float
    measured: float

    @property
    def mismatches(self) -> int:
        """Over all functions."""
        return sum(o.mismatches for o in self.outcomes.values())

    def report(self) -> dict[str, Any]:
        """The report of all functions together."""
        return {
            "promised_ii_cycles_of_order": readable(self.promised),
            "ii_cycles": readable(self.measured),
            "tasks": sum(len(o.flags) for o in self.outcomes.values()),
            "mismatches": self.mismatches,
        }

    def latencies(self, function: str) -> dict[str, Any]:
        """Its latencies as a report has them; nothing of a function that no task asked for."""
        latencies = self.outcomes[function].latencies
        if not len(latencies):
            return {}
        return {
            "latency_cycles_mixed": float(np.median(latencies)),
            "latency_cycles_mixed_most": int(np.max(latencies)),
        }


@dataclass(frozen=True)
class FifoMark:
    """Marks that the runs left at one FIFO: the most entries in it at once, and whether it was ever written while full
    or read while empty."""

    high_water: int
    fault: bool


@dataclass(frozen=True)
class Cosimulation:
    """All runs: ``functions`` alone, ``mixed``: tasks and mismatches of the run in random order with stalls, and
    ``full_rate``: that without (None: an interval is promised for none). ``marks`` are those of the FIFOs over all
    runs, by name."""

    design: Design
    functions: dict[str, FunctionFigures]
    mixed: dict[str, Outcome]
    full_rate: FullRate | None
    simulator: str
    seed: int
    build_seconds: float
    run_seconds: float
    marks: dict[str, FifoMark]

    @property
    def misused(self) -> list[str]:
        """The FIFOs, by name, that were ever over their depth, or read while empty."""
        return misused(self.design, self.marks)

    @property
    def mismatches(self) -> int:
        """Over all runs."""
        alone = sum(f.alone.mismatches for f in self.functions.values())
        full_rate = self.full_rate.mismatches if self.full_rate else 0
        return alone + full_rate + sum(o.mismatches for o in self.mixed.values())

    def report(self) -> dict[str, Any]:
        """The design's report with what was measured in place of what was promised."""
        report = design_report(self.design)
        report["figures"] = "measured in RTL simulation"
        report["simulator"], report["seed"] = self.simulator, self.seed
        for name, figures in self.functions.items():
            report["functions"][name] |= figures.report(self.mixed[name])
            for vector, errors in report["functions"][name]["errors"].items():
                errors["labels"] = self._labels(vector)
            if self.full_rate is not None:
                report["functions"][name] |= self.full_rate.latencies(name)
        if self.full_rate is not None:
            report["mixed"] |= self.full_rate.report()
        for row in report["fifos"]:
            row |= asdict(self.marks[row["name"]])
        report["build_seconds"] = round(self.build_seconds, 2)
        report["run_seconds"] = round(self.run_seconds, 2)
        return report

    def _labels(self, vector: str) -> list[list[str]]:
        """Names of a vector's or a matrix's entries, along each of its dimensions."""
        robot = self.design.robot
        quantity = self.design.network.options.quantities[vector]
        return [labels(robot, dimension, robot.joint_names) for dimension in quantity.shape]


def steady_interval(intervals: np.ndarray) -> float:
    """Cycles from result to result over the second half of a run. Tasks that take several turns come back in bunches:
    of them whole ones count, from the end of a pause to the end of another."""
    half = _second_half(intervals)
    if not len(half):
        return float("nan")
    # where tasks come evenly every interval is a pause
    pauses = np.flatnonzero(half == np.max(half))
    bunches = half[pauses[0] + 1 : pauses[-1] + 1]
    return float(np.mean(bunches if len(bunches) else half))


def _second_half(x: np.ndarray) -> np.ndarray:
    """The half of a run in which the pipelines are in their steady state."""
    return x[len(x) // 2 :]


def misused(design: Design, marks: Mapping[str, FifoMark]) -> list[str]:
    """The FIFOs, by name, that were ever over their depth, or read while empty."""
    depths = {buffer.name: buffer.depth for buffer in design.machine.buffers(design.tasks)}
    # marks count on where a FIFO is full
    return [n for n, mark in marks.items() if mark.fault or mark.high_water > depths[n]]


def _shortened(parts: dict[str, np.ndarray]) -> dict[str, list]:
    """The same to three significant digits, as lists: what a report shows of each entry."""
    # with its type given: NumPy cannot tell that of a vector without entries
    shorten = np.vectorize(lambda entry: float(f"{entry:.2e}"), otypes=[float])
    return {kind: shorten(x).tolist() for kind, x in parts.items()}


def fifo_marks(design: Design, traces: Sequence[Trace]) -> dict[str, FifoMark]:
    """The marks of all FIFOs over several runs, by name, from the probes of
    :func:`rbdgen.machines.machine.high_port` and :func:`~rbdgen.machines.machine.fault_port`."""
    marks = {}
    for buffer in design.machine.buffers(design.tasks):
        high, fault = high_port(buffer.name), fault_port(buffer.name)
        most = max(trace.probes[high] for trace in traces)
        faulty = any(trace.probes[fault] for trace in traces)
        marks[buffer.name] = FifoMark(most, faulty)
    return marks


def differs_mixed(network: Network) -> bool:
    """Whether tasks of the run of all are others than those of the runs alone: they are of another robot where that can
    be loaded, and roll-outs have several steps."""
    return network.calibration is not None or network.repeated is not None


@dataclass(frozen=True)
class _Bench:
    """Where runs take place."""

    design: Design
    rtl: Rtl
    simulator: Simulator
    workdir: Path
    seed: int
    progress: Callable[[str, int, int], None] | None

    def run(
        self,
        name: str,
        tasks: Sequence[TaskSet],
        order: np.ndarray,
        stall: float = 0.0,
        waves: Path | None = None,
    ) -> Run:
        """One run (:func:`rbdgen_sim.scoreboard.run_tasks`), whose progress is told under its name."""
        told = None
        if self.progress is not None:
            told = partial(self.progress, name)
        return run_tasks(
            self.design,
            tasks,
            order,
            self.rtl,
            self.simulator,
            self.workdir,
            stall=stall,
            seed=self.seed,
            waves=waves,
            progress=told,
        )


def measured_mix(design: Design, order: np.ndarray, run: Run) -> FullRate:
    """Measurements of a run of tasks of all functions in this ``order``, without stalls."""
    promised = design.machine.ordered_interval(design.tasks, order)
    assert promised is not None
    beats = [design.tasks.task_beats(function) for function in design.network.functions]
    lengths = np.array(beats)[order]
    # a task's first beat is taken when the task before has started, but for the very first
    firsts = np.cumsum(lengths)[:-1]
    cycles = run.trace.accepted[firsts]
    measured = float(np.mean(np.diff(cycles))) if len(cycles) > 1 else promised
    return FullRate(run.outcomes, promised, measured)


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
    """Simulate ``count`` random tasks inside the declared ranges: of each function alone, then all mixed, at full rate
    where an interval is promised for that, then with stalls and, where they can be loaded, with the parameters of a
    robot that differs.

    ``progress`` is told the run's name, tasks done and tasks in all. ``waves``: the first run's. ConfigError for a
    count below 2, or below two for each of several accelerators.
    """
    least = 2 * design.tasks.replicas
    if count < least:
        raise ConfigError(f"tasks: must be at least {least} to measure an interval, not {count}")
    # before any work: the tasks' results are computed next
    simulator.available()
    bench = _Bench(design, rtl, simulator, workdir, seed, progress)
    states = task_states(design, count, seed)
    tasks = [make_tasks(design, function, states) for function in design.network.functions]
    functions, traces = {}, []
    for k, task_set in enumerate(tasks):
        order = np.full(count, k)
        picture = waves if k == 0 else None
        run = bench.run(f"run of {task_set.function}", tasks, order, waves=picture)
        alone = run.outcomes[task_set.function]
        errors = output_errors(design, task_set, alone.values)
        functions[task_set.function] = FunctionFigures(task_set, alone, errors)
        traces.append(run.trace)
    order = np.random.default_rng(seed).integers(0, len(tasks), count)
    full_rate = None
    if design.mixed_interval is not None:
        run = bench.run(FULL_RATE_NAME, tasks, order)
        full_rate = measured_mix(design, order, run)
        traces.append(run.trace)
    if differs_mixed(design.network):
        tasks = _other_tasks(design, count, seed)
    mixed = bench.run(MIXED_NAME, tasks, order, STALL_PROBABILITY)
    traces.append(mixed.trace)
    return Cosimulation(
        design,
        functions,
        mixed.outcomes,
        full_rate,
        simulator.name,
        seed,
        sum(trace.build_seconds for trace in traces),
        sum(trace.run_seconds for trace in traces),
        fifo_marks(design, traces),
    )


def _other_tasks(design: Design, count: int, seed: int) -> list[TaskSet]:
    """Tasks of the run of all, where they are others than after a reset (:func:`differs_mixed`)."""
    robot = None
    if design.network.calibration is not None:
        robot = design.network.calibration.varied(np.random.default_rng(seed))
    steps = np.random.default_rng(seed).integers(1, MIXED_COUNT + 1, (count, 1))
    states = replace(task_states(design, count, seed, robot), steps=steps)
    functions = design.network.functions
    return [make_tasks(design, function, states, robot) for function in functions]
