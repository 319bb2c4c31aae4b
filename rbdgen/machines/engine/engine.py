"""Engines: a machine with values in memories, operations from a program, and arithmetic on a few lanes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rbdgen.devices.device import Device, Resources
from rbdgen.machines.engine.check import check_program
from rbdgen.machines.engine.core import (
    AROUND,
    ASKED,
    CIRCLING,
    RETURNED,
    WAITING,
    asking_cycles,
    dealing_cycles,
    entering_cycles,
    intake_cycles,
    whole_cycles,
)
from rbdgen.machines.engine.program import Program, Routine
from rbdgen.machines.engine.resources import estimate, multiplier_blocks
from rbdgen.machines.machine import Buffer, Machine
from rbdgen.protocol.tasks import TaskFormat


@dataclass(frozen=True)
class Fifo:
    """A FIFO of single words: its path (``name``), what it is for (``kind``), where words come from and go to, and how
    many it holds at most."""

    name: str
    kind: str
    source: str
    sink: str
    depth: int


@dataclass(frozen=True)
class Engine(Machine):
    """So many ``cores`` of the device that they are ``made_for``, with the ``program`` of all functions. They are
    accelerators side by side behind a stream of rows, or one accelerator that has tasks ``dealt`` to them in turn."""

    program: Program
    made_for: Device
    cores: int = 1
    dealt: bool = False

    kind = "engine"

    @property
    def device(self) -> Device:
        return self.made_for

    @property
    def blocks(self) -> int:
        return multiplier_blocks(self.program.core, self.device)

    @property
    def parts(self) -> Sequence[str]:
        width = self.program.core.width
        return [f"lane_{width}", f"special_{width}"]

    @property
    def timing(self) -> object:
        return self.program

    def resources(self, tasks: TaskFormat) -> Resources:
        return estimate(self.program.core, self.device, self.cores, len(tasks.parameters))

    def buffers(self, tasks: TaskFormat) -> Sequence[Buffer]:
        return [Buffer(fifo.name, fifo.depth) for fifo in self.fifos]

    def check(self) -> None:
        check_program(self.program)

    def latency(self, function: str, tasks: TaskFormat) -> int:
        routine = self.routine(function)
        cycles = routine.schedule.end + AROUND + self._relay
        if not routine.schedule.work.repeats:
            return cycles
        # it is taken whole before it goes to its core
        return cycles + entering_cycles(routine.operands)

    @property
    def _relay(self) -> int:
        """Cycles that cores are behind the sequencer: several have a register of their own."""
        return int(self.cores > 1)

    def steady_latency(self, function: str, tasks: TaskFormat) -> int | None:
        # tasks wait in a queue for their turn, as long as those before them take
        return None

    def interval(self, function: str) -> int:
        return math.ceil(self._mean(function))

    def mean_interval(self, function: str, tasks: TaskFormat) -> float:
        return self._mean(function) / tasks.replicas

    def _mean(self, function: str) -> float:
        """Cycles from task to task in one accelerator, on average."""
        routine = self.routine(function)
        interval, passing = routine.interval, dealing_cycles(routine.operands)
        if self.program.core.kept:
            repeats = routine.schedule.work.repeats
            entering = (whole_cycles if repeats else asking_cycles)(routine.operands)
            interval = max(interval, entering)
            # the next task goes to another core as soon as this one is known, or is taken, whole
            passing = (routine.operands if repeats else passing) + ASKED
        if not self.dealt:
            return interval
        # tasks and results pass one after the other
        return max(interval / self.cores, passing, routine.results + 1)

    def bunched_cycles(self, function: str) -> int:
        # tasks that are dealt start as many at once as there are cores
        return self.routine(function).interval if self.dealt else 0

    def step_cycles(self, function: str) -> int:
        routine = self.routine(function)
        if not routine.schedule.work.repeats:
            return 0
        last = routine.schedule.end - routine.results
        cycles = last + entering_cycles(routine.operands) + RETURNED + self._relay
        if cycles > routine.stages * routine.interval:
            return cycles
        # while a routine is played tasks start at its intervals only
        return math.ceil(cycles / routine.interval) * routine.interval

    def ordered_interval(self, tasks: TaskFormat, order: np.ndarray) -> float | None:
        if self.cores > 1:
            # each waits for tasks of its own and for those that others have
            return None
        routines = list(self.program.routines.values())
        begins = start = 0
        starts: list[int] = []
        before: Routine | None = None
        for own in (routines[k] for k in order.tolist()):
            whole = begins + intake_cycles(own.operands)
            if before is None:
                start = whole
            else:
                start = _next_start(before, start, own, whole)
            # the next one is taken in when there is room for this one among those that wait
            begins = max(whole, starts[-WAITING] if len(starts) >= WAITING else 0)
            starts.append(start)
            before = own
        return (starts[-1] - starts[0]) / max(len(starts) - 1, 1)

    # inside

    @property
    def fifos(self) -> Sequence[Fifo]:
        """The FIFOs of all cores."""
        core = self.program.core
        found = []
        for k in range(self.cores):
            own = f"engine.core{k}"
            found.append(Fifo(f"{own}.intake.words", "operands", "tasks", own, core.waiting))
            found.append(Fifo(f"{own}.results", "results", own, "results", core.results))
            if core.kept:
                # as they are built
                circle = f"engine.repeater{k}"
                found += [
                    Fifo(
                        f"{circle}.fresh",
                        "operands of a task that repeats",
                        "tasks",
                        circle,
                        core.words,
                    ),
                    Fifo(f"{circle}.kept", "operands that stay", circle, circle, core.kept),
                    Fifo(f"{circle}.circlers", "tasks that repeat", circle, circle, CIRCLING),
                ]
        return found

    def routine(self, function: str) -> Routine:
        """The program of a function."""
        return self.program.routines[function]


def _next_start(before: Routine, start: int, own: Routine, whole: int) -> int:
    """The first cycle in which a task can start that is there at ``whole``, behind one of the routine ``before`` that
    started at ``start``: tasks of one routine at its intervals while it is played, others when it has ended."""
    ends = start + before.stages * before.interval
    following = start + before.interval * max(math.ceil((whole - start) / before.interval), 1)
    if own is before and following < ends:
        return following
    # a cycle in which nothing is played
    return max(ends + 1, whole)
