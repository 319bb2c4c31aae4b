"""Intervals that an accelerator needs for tasks of all its functions in a random order, and the way out of their
results.

Every program admits one task per interval; the stream brings one task per interval at most, and the next one only when
that has started. A second pass takes an interval of its program as well. Where that is another program than the first
pass has, it need not take one that a new task waits for: while it waits, tasks of the other program bring intervals
that nobody else wants. It leaves at most :data:`MOST_YIELDS` intervals to others, so that it never waits longer than
that. And a task starts only where its results will find room, which others may take: each lane has room of its own, and
one stream sends what is in them, result by result.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from rbdgen.machines.pipeline.buffers import Plan
from rbdgen.machines.pipeline.queues import (
    chosen_ahead,
    exit_depth,
    in_block_memory,
    lane_names,
    loop_cycles,
)
from rbdgen.protocol.tasks import TaskFormat
from rbdgen.tracing.network import FEEDBACK, Network


class _Lane:
    """Where results of one exit wait: their ``room``, how many may still come, ``beats`` of each, and by result that is
    on its way or ``waiting`` the cycle from which it can be sent, ``later`` than its task's admission."""

    def __init__(self, plan: Plan, tasks: TaskFormat, name: str) -> None:
        self.room = exit_depth(plan, tasks, name)
        self.beats = tasks.result_beats(name)
        written = plan.schedule.entry_cycles + plan.exits[name]
        # block memory answers a cycle later
        self.later = written + 1 + in_block_memory(tasks, name)
        self.waiting: deque[int] = deque()

    def is_ready(self, now: int) -> bool:
        """Whether a result can be sent."""
        return bool(self.waiting) and self.waiting[0] <= now


class Departures:
    """The lanes of an accelerator whose sink takes a beat in every cycle."""

    def __init__(self, plan: Plan, tasks: TaskFormat) -> None:
        names = lane_names(plan, tasks)
        self.number = {name: k for k, name in enumerate(names)}
        self.lanes = [_Lane(plan, tasks, name) for name in names]
        self.ahead = int(chosen_ahead(plan))
        self.served = 0
        self.free = 0
        """The cycle from which on a lane can be chosen again."""
        self.given: deque[tuple[int, _Lane]] = deque()
        """Lanes, and from which cycle on they have room for one more."""

    def has_room(self, name: str, now: int) -> bool:
        """Whether a task that leaves by the exit ``name`` may start in cycle ``now``, none earlier than before."""
        self._send(now)
        while self.given and self.given[0][0] <= now:
            _, lane = self.given.popleft()
            lane.room += 1
        return self.lanes[self.number[name]].room > 0

    def admit(self, name: str, now: int) -> None:
        """A task that leaves by the exit ``name`` starts."""
        lane = self.lanes[self.number[name]]
        lane.room -= 1
        lane.waiting.append(now + lane.later)

    def _send(self, until: int) -> None:
        """All results that the stream begins to send before a cycle: of several lanes, in turn."""
        while True:
            first = min((lane.waiting[0] for lane in self.lanes if lane.waiting), default=until)
            now = max(first, self.free)
            if now >= until:
                return
            count = len(self.lanes)
            behind = [(self.served + step) % count for step in range(1, count + 1)]
            number = next(k for k in behind if self.lanes[k].is_ready(now))
            lane = self.lanes[number]
            lane.waiting.popleft()
            self.served = number
            self.free = now + lane.beats
            # a lane that is chosen ahead sends a cycle later, and tells of its room from a register
            self.given.append((self.free + 2 * self.ahead, lane))


MOST_YIELDS = 3
"""Intervals that second passes leave to new tasks, from when one waits until none does. Of all seven functions in a
random order, 0.3% of the intervals are lost then; 4.7% would be at none, 1.8% at one."""


def yields(network: Network) -> bool:
    """Whether second passes leave intervals to new tasks: their program admits some, and first passes have another
    one."""
    if not network.two_passes:
        return False
    first, second = network.passes(network.two_passes[0])
    entries = [network.entry(function) for function in network.functions]
    return first.program != second.program and second.program in entries


def around_intervals(plan: Plan, exit_name: str) -> int:
    """Intervals from one admission to the next of what leaves by an exit that leads back into the pipelines."""
    leaves = plan.schedule.entry_cycles + plan.exits[exit_name]
    cycles = leaves + loop_cycles(plan, exit_name)
    # tasks are admitted once an interval
    return -(-cycles // plan.schedule.ii)


def sending_cycles(plan: Plan, tasks: TaskFormat, function: str) -> int:
    """Cycles from the admission of the task before to the first in which a task of ``function`` may be admitted, where
    tasks come without a pause."""
    # where operands are chosen a cycle after the admission, the next task's come after that
    return tasks.task_beats(function) + (plan.schedule.entry_cycles > 1)


def order_intervals(network: Network, plan: Plan, tasks: TaskFormat, order: np.ndarray) -> float:
    """Intervals per task where tasks come in this ``order`` (numbers of functions), without a pause, and results are
    taken at once. Not for roll-outs: their tasks ask for steps."""
    intervals = _Intervals(network, plan, tasks)
    for k in order.tolist():
        intervals.admit(network.functions[k])
    return intervals.now / len(order)


class _Intervals:
    """Intervals of all programs, one after another: when each task is admitted, and each second pass."""

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
            self.around = around_intervals(plan, FEEDBACK)
            self.room = exit_depth(plan, tasks, FEEDBACK)
        self.now = 0
        self.sent: int | None = None
        """The cycle in which the next task's first beat is taken; None: the first task is there already."""
        self.under_way: deque[tuple[int, str]] = deque()
        """By task between its passes the interval from which it waits for the second one, and its exit."""
        self.yielded = 0

    def admit(self, function: str) -> None:
        """Pass intervals until a task of ``function`` is admitted, its own included."""
        there = 0 if self.sent is None else self.sent + self.sending[function]
        while not self._interval(function, there <= self.now * self.ii):
            pass
        self.sent = (self.now - 1) * self.ii

    def _interval(self, function: str, there: bool) -> bool:
        """Pass an interval, in which a task of ``function`` is ``there`` or not; whether it is admitted."""
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
