"""Turns that an accelerator needs for tasks of all its functions in a random order.

Every program admits one task per turn, the interval; the stream brings one task per turn at most, and the next one only
when that has started. A second pass takes a turn of its program as well. Where that is another program than the
first pass has, it need not take one that a new task waits for: while it waits, tasks of the other program bring turns
that nobody else wants. It leaves at most :data:`MOST_YIELDS` turns to others, so that it never waits longer than that.
And a task starts only where its results will find room, which others may take (:mod:`rbdgen.schedule.departures`).
"""

from __future__ import annotations

from collections import deque

import numpy as np

from rbdgen.layout.network import FEEDBACK, Network
from rbdgen.protocol.tasks import TaskFormat
from rbdgen.schedule.buffers import Plan
from rbdgen.schedule.departures import Departures
from rbdgen.schedule.queues import exit_depth, loop_cycles

MOST_YIELDS = 3
"""Turns that second passes leave to new tasks, from when one waits until none does. Of all seven functions in a random
order, 0.3% of the turns are lost then; 4.7% would be at none, 1.8% at one."""
TASKS = 10_000
"""Tasks of the random order that is played."""


def yields(network: Network) -> bool:
    """Whether second passes leave turns to new tasks: their program admits some, and first passes have another one."""
    if not network.two_passes:
        return False
    first, second = network.passes(network.two_passes[0])
    entries = [network.entry(function) for function in network.functions]
    return first.program != second.program and second.program in entries


def around_turns(plan: Plan, exit_name: str) -> int:
    """Turns from one admission to the next of what leaves by an exit that leads back into the pipelines."""
    leaves = plan.schedule.entry_cycles + plan.exits[exit_name]
    cycles = leaves + loop_cycles(plan, exit_name)
    # tasks are admitted once a turn
    return -(-cycles // plan.schedule.ii)


def sending_cycles(plan: Plan, tasks: TaskFormat, function: str) -> int:
    """Cycles from the admission of the task before to the first in which a task of ``function`` may be admitted, where
    tasks come without a pause."""
    # where operands are chosen a cycle after the admission, the next task's come after that
    return tasks.task_beats(function) + (plan.schedule.entry_cycles > 1)


def mixed_turns(network: Network, plan: Plan, tasks: TaskFormat) -> float:
    """Turns per task where tasks of all functions come equally often, in a random order."""
    order = np.random.default_rng(0).integers(0, len(network.functions), TASKS)
    return order_turns(network, plan, tasks, order)


def order_turns(network: Network, plan: Plan, tasks: TaskFormat, order: np.ndarray) -> float:
    """Turns per task where tasks come in this ``order`` (numbers of functions), without a pause, and results are taken
    at once. Not for roll-outs: their tasks ask for steps."""
    turns = _Turns(network, plan, tasks)
    for k in order.tolist():
        turns.admit(network.functions[k])
    return turns.now / len(order)


class _Turns:
    """Turns of all programs, one after another: when each task is admitted, and each second pass."""

    def __init__(self, network: Network, plan: Plan, tasks: TaskFormat) -> None:
        self.ii = plan.schedule.ii
        self.programs = {f: network.entry(f) for f in network.functions}
        self.exits = {f: network.exit(f).name for f in network.functions}
        self.sending = {f: sending_cycles(plan, tasks, f) for f in network.functions}
        self.departures = Departures(plan, tasks)
        self.twice = network.two_passes
        self.second_program = network.second_program
        self.yields = MOST_YIELDS if yields(network) else 0
        if self.twice:
            self.around = around_turns(plan, FEEDBACK)
            self.room = exit_depth(plan, tasks, FEEDBACK)
        self.now = 0
        self.sent: int | None = None
        """The cycle in which the next task's first beat is taken; None: the first task is there already."""
        self.under_way: deque[tuple[int, str]] = deque()
        """By task between its passes the turn from which it waits for the second one, and its exit."""
        self.yielded = 0

    def admit(self, function: str) -> None:
        """Pass turns until a task of ``function`` is admitted, its own included."""
        there = 0 if self.sent is None else self.sent + self.sending[function]
        while not self._turn(function, there <= self.now * self.ii):
            pass
        self.sent = (self.now - 1) * self.ii

    def _turn(self, function: str, there: bool) -> bool:
        """Pass a turn, in which a task of ``function`` is ``there`` or not; whether it is admitted."""
        cycle = self.now * self.ii
        # second passes come in the order of the first
        waiting = bool(self.under_way) and self.under_way[0][0] <= self.now
        ready = waiting and self.departures.has_room(self.under_way[0][1], cycle)
        free = there and self._has_room(function, cycle)
        wanted = free and self.programs[function] == self.second_program
        if not waiting:
            self.yielded = 0
        gives_way = wanted and self.yielded < self.yields
        starts = ready and not gives_way
        if starts:
            _, leaves_by = self.under_way.popleft()
            self.departures.admit(leaves_by, cycle)
        elif ready:
            self.yielded += 1
        admitted = free and not (wanted and starts)
        if admitted and function in self.twice:
            self.under_way.append((self.now + self.around, self.exits[function]))
        elif admitted:
            self.departures.admit(self.exits[function], cycle)
        self.now += 1
        return admitted

    def _has_room(self, function: str, cycle: int) -> bool:
        """Whether what a new task of ``function`` makes in its first pass finds room."""
        if function in self.twice:
            return len(self.under_way) < self.room
        return self.departures.has_room(self.exits[function], cycle)
