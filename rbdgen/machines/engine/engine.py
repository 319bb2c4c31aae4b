"""Engines: a machine with values in memories, operations from a program, and arithmetic on a few lanes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rbdgen.devices.device import Device, Resources
from rbdgen.machines.engine.check import check_program
from rbdgen.machines.engine.core import AROUND, dealing_cycles
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
        # several cores have a register of their own behind the sequencer
        relay = self.cores > 1
        return self.routine(function).schedule.end + AROUND + relay

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
        if not self.dealt:
            return routine.interval
        # tasks and results pass one after the other
        passing = max(dealing_cycles(routine.operands), routine.results + 1)
        return max(routine.interval / self.cores, passing)

    def bunched_cycles(self, function: str) -> int:
        # tasks that are dealt start as many at once as there are cores
        return self.routine(function).interval if self.dealt else 0

    def step_cycles(self, function: str) -> int:
        return 0

    def ordered_interval(self, tasks: TaskFormat, order: np.ndarray) -> float | None:
        # a change of functions waits until the tasks before have left
        return None

    def mixed_interval(self, tasks: TaskFormat) -> float | None:
        return None

    # inside

    @property
    def fifos(self) -> Sequence[Fifo]:
        """The FIFOs of all cores."""
        core = self.program.core
        found = []
        for k in range(self.cores):
            own = f"engine.core{k}"
            found.append(Fifo(f"{own}.intake.words", "operands", "tasks", own, core.words))
            found.append(Fifo(f"{own}.results", "results", own, "results", core.results))
        return found

    def routine(self, function: str) -> Routine:
        """The program of a function."""
        return self.program.routines[function]
