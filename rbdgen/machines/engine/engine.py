"""Engines: a machine with values in memories, operations from a program, and arithmetic on a few lanes."""

from __future__ import annotations

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
class Engine(Machine):
    """So many ``cores`` of the device that they are ``made_for``, with the ``program`` of all functions. They stand
    side by side behind a stream of rows, or tasks go to them in turn."""

    program: Program
    made_for: Device
    cores: int = 1

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
        return estimate(self.program.core, self.device, self.cores)

    def buffers(self, tasks: TaskFormat) -> Sequence[Buffer]:
        core = self.program.core
        found = []
        for k in range(self.cores):
            found.append(Buffer(f"engine.core{k}.intake.words", core.words))
            found.append(Buffer(f"engine.core{k}.results", core.results))
        return found

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
        return self.routine(function).interval

    def mean_interval(self, function: str, tasks: TaskFormat) -> float:
        routine = self.routine(function)
        mean = routine.interval / self.cores
        if tasks.replicas == self.cores:
            return mean
        # tasks and results pass one after the other
        return max(mean, dealing_cycles(routine.operands), routine.results + 1)

    def bunched_cycles(self, function: str) -> int:
        return 0

    def step_cycles(self, function: str) -> int:
        return 0

    def ordered_interval(self, tasks: TaskFormat, order: np.ndarray) -> float | None:
        # a change of functions waits until the tasks before have left
        return None

    def mixed_interval(self, tasks: TaskFormat) -> float | None:
        return None

    # inside

    def routine(self, function: str) -> Routine:
        """The program of a function."""
        return self.program.routines[function]
