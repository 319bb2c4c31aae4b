"""Engines: a machine with values in memories, operations from a program, and arithmetic on a few lanes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rbdgen.devices.device import Device, Resources
from rbdgen.machines.engine.check import check_program
from rbdgen.machines.engine.core import AROUND
from rbdgen.machines.engine.program import Program, Routine
from rbdgen.machines.engine.resources import estimate, multiplier_blocks
from rbdgen.machines.machine import Buffer, Machine
from rbdgen.protocol.tasks import TaskFormat


@dataclass(frozen=True)
class Engine(Machine):
    """A core of a ``device`` with the ``program`` of all functions."""

    program: Program
    made_for: Device

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
        return estimate(self.program.core, self.device, tasks.replicas)

    def buffers(self, tasks: TaskFormat) -> Sequence[Buffer]:
        core = self.program.core
        found = []
        for k in range(tasks.replicas):
            found.append(Buffer(f"engine.core{k}.intake.words", core.words))
            found.append(Buffer(f"engine.core{k}.results", core.results))
        return found

    def check(self) -> None:
        check_program(self.program)

    def latency(self, function: str, tasks: TaskFormat) -> int:
        # cores have a register of their own behind the sequencer
        relay = tasks.replicas > 1
        return self.routine(function).schedule.end + AROUND + relay

    def steady_latency(self, function: str, tasks: TaskFormat) -> int | None:
        # tasks wait in a queue for their turn, as long as those before them take
        return None

    def interval(self, function: str) -> int:
        return self.routine(function).interval

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
