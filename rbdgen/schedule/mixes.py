"""How often an accelerator takes tasks of all its functions in a random order, counted in turns.

Every program admits one task per turn, the interval; the stream brings one task per turn at most, and the next one only
when that has started. A second pass takes a turn of its program as well. Where that is another program than the
first pass has, it need not take one that a new task waits for: while it waits, tasks of the other program bring turns
that nobody else wants. It leaves at most :data:`MOST_YIELDS` turns to others, so that it never waits longer than that.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from rbdgen.layout.network import FEEDBACK, Network
from rbdgen.protocol.tasks import TaskFormat
from rbdgen.schedule.buffers import Plan
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
    return -(-cycles // plan.schedule.ii)


def mixed_turns(network: Network, plan: Plan, tasks: TaskFormat) -> float:
    """Turns per task where tasks of all functions come equally often, in a random order."""
    order = np.random.default_rng(0).integers(0, len(network.functions), TASKS)
    return order_turns(network, plan, tasks, order)


def order_turns(network: Network, plan: Plan, tasks: TaskFormat, order: np.ndarray) -> float:
    """Turns per task where tasks come in this ``order`` (numbers of functions), without a pause, and results are taken
    at once. Not for roll-outs: their tasks ask for steps."""
    if not network.two_passes:
        return 1.0
    turns = _Turns(network, plan, tasks)
    for k in order.tolist():
        turns.admit(network.functions[k])
    return turns.now / len(order)


class _Turns:
    """Turns of all programs, one after another: when each task is admitted, and each second pass."""

    def __init__(self, network: Network, plan: Plan, tasks: TaskFormat) -> None:
        self.network = network
        self.twice = network.two_passes
        self.second_program = network.passes(self.twice[0])[1].program
        self.yields = MOST_YIELDS if yields(network) else 0
        self.around = around_turns(plan, FEEDBACK)
        self.room = exit_depth(plan, tasks, FEEDBACK)
        self.now = 0
        self.under_way: deque[int] = deque()
        """By task between its passes the turn from which it waits for the second one."""
        self.yielded = 0

    def admit(self, function: str) -> None:
        """Pass turns until a task of ``function`` is admitted, its own included."""
        while not self._turn(function):
            pass

    def _turn(self, function: str) -> bool:
        """Pass a turn in which a task of ``function`` is there; whether it is admitted."""
        waiting = bool(self.under_way) and self.under_way[0] <= self.now
        blocked = function in self.twice and len(self.under_way) == self.room
        wanted = self.network.entry(function) == self.second_program and not blocked
        if not waiting:
            self.yielded = 0
        gives_way = wanted and self.yielded < self.yields
        starts = waiting and not gives_way
        if starts:
            self.under_way.popleft()
        elif waiting:
            self.yielded += 1
        admitted = not blocked and not (wanted and starts)
        if admitted and function in self.twice:
            self.under_way.append(self.now + self.around)
        self.now += 1
        return admitted
