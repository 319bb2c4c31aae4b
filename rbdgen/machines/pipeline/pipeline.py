"""Pipelines: a machine with an operator, or a share of one, for every operation, and a schedule that repeats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rbdgen.devices.device import Device, Resources
from rbdgen.machines.machine import Buffer, Machine
from rbdgen.machines.pipeline.buffers import Plan
from rbdgen.machines.pipeline.check import check_plan
from rbdgen.machines.pipeline.mixes import (
    around_intervals,
    order_intervals,
    sending_cycles,
)
from rbdgen.machines.pipeline.queues import send_cycles
from rbdgen.machines.pipeline.replicas import all_queues, around_cycles
from rbdgen.machines.pipeline.resources import estimate
from rbdgen.protocol.tasks import TaskFormat
from rbdgen.tracing.network import AGAIN, FEEDBACK, Network


@dataclass(frozen=True)
class Pipeline(Machine):
    """A ``plan`` of units, slots, registers and FIFOs for the functions of a ``network``."""

    plan: Plan
    network: Network

    kind = "pipeline"

    @property
    def device(self) -> Device:
        return self.plan.schedule.device

    @property
    def blocks(self) -> int:
        return self.plan.schedule.blocks

    @property
    def parts(self) -> Sequence[str]:
        return [unit.name for unit in self.plan.units if unit.nodes]

    @property
    def timing(self) -> object:
        return self.plan.schedule.slots

    @property
    def _ii(self) -> int:
        """Cycles in which every program admits one task."""
        return self.plan.schedule.ii

    def resources(self, tasks: TaskFormat) -> Resources:
        return estimate(self.plan, tasks)

    def buffers(self, tasks: TaskFormat) -> Sequence[Buffer]:
        return [Buffer(queue.name, queue.depth) for queue in all_queues(self.plan, tasks)]

    def check(self) -> None:
        check_plan(self.plan)

    def latency(self, function: str, tasks: TaskFormat) -> int:
        # one cycle into the task register, the way to the results, and the way through the lane, less the cycle shared;
        # and of several accelerators the ways to and from them
        done = self.last_start(function) + self.leaving_cycle(function) + 1
        sent = done + send_cycles(self.plan, tasks, function)
        return sent + around_cycles(tasks, function)

    def steady_latency(self, function: str, tasks: TaskFormat) -> int | None:
        # tasks that take several intervals of a program come back in bunches, and of several accelerators a row waits
        # in front of them as well
        repeats = function == self.network.repeated_name
        if repeats or self.network.admissions(function) > 1 or tasks.replicas > 1:
            return None
        # each task is sent as soon as the one before has started, and waits for its turn
        sending = sending_cycles(self.plan, tasks, function)
        return self.latency(function, tasks) + max(0, self._ii - sending)

    def interval(self, function: str) -> int:
        return self._ii * self.network.admissions(function)

    def bunched_cycles(self, function: str) -> int:
        # tasks that take several intervals of a program start behind each other, until the first ones come back
        further = self.network.admissions(function) - 1
        if not further:
            return 0
        return further * (around_intervals(self.plan, FEEDBACK) - 1) * self._ii

    def step_cycles(self, function: str) -> int:
        if function != self.network.repeated_name:
            return 0
        intervals = self.network.evaluations(function) * around_intervals(self.plan, AGAIN)
        return intervals * self._ii

    def ordered_interval(self, tasks: TaskFormat, order: np.ndarray) -> float:
        return self._ii * order_intervals(self.network, self.plan, tasks, order)

    # inside

    def leaving_cycle(self, function: str) -> int:
        """Cycle of its last pass in which a task's results are taken."""
        return self.plan.exits[self.network.exit(function).name]

    def last_start(self, function: str) -> int:
        """Cycle 0 of the program that makes the results of a lone task, counted from the cycle after the last beat's
        acceptance: later where another program, or other evaluations of the same one, come first."""
        entry = self.plan.schedule.entry_cycles
        intervals = 0
        if len(self.network.passes(function)) > 1:
            intervals = around_intervals(self.plan, FEEDBACK)
        elif function == self.network.repeated_name:
            intervals = (self.network.evaluations(function) - 1) * around_intervals(
                self.plan, AGAIN
            )
        return entry + intervals * self._ii
