"""Results on their way out: the room of each lane, and the one stream that sends what is in them, result by result.

Results of functions that take different times come together, and then wait for each other. Where the stream is as good
as always busy, a lane fills up by that, and tasks that leave by it cannot start in every turn.
"""

from __future__ import annotations

from collections import deque

from rbdgen.protocol.tasks import TaskFormat
from rbdgen.schedule.buffers import Plan
from rbdgen.schedule.queues import chosen_ahead, exit_depth, in_block_memory, lane_names


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
