"""Exchanges with a device, over any link: one call at a time, time limits, and the fate of each task.

Tasks of two calls on one link would get tags of each other's, and results with them. So a second thread waits until the
call before is over. What cannot wait for itself (a device that is called by its own progress function) and what shares
a link without sharing this (a forked process) is an error.

Not here: how tasks and results travel (:mod:`rbdgen.host.byte_link`, :mod:`rbdgen.host.datagram_link`).
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from typing import ClassVar

from rbdgen.errors import LinkError

Progress = Callable[[int, int], None]
"""Called with (tasks answered, tasks in all)."""

DEFAULT_ATTEMPTS = 100
"""Times that a task is sent before it counts as lost."""
HELLOS_ONLY = 3
"""Factor on the time without any progress for which hellos may be answered, but no task."""
BAD_SHARE = 0.05
"""Of tasks that are lost, or frames that come damaged: from there on a failure is the line's."""


class DeviceResetError(LinkError):
    """The device lost what it had to keep: ``cause`` says by what."""

    def __init__(self, cause: str = "was reset") -> None:
        super().__init__(
            f"device: {cause} in mid-use; load its parameters and send its tasks again"
        )
        self.cause = cause


@dataclass
class Counters:
    """Events of a link: tasks ``sent`` (again, too), ``lost`` on the way, hellos sent, frames from the device
    that came ``whole`` or ``damaged``, and ``stray`` ones that answer nothing in flight."""

    sent: int = 0
    lost: int = 0
    hellos: int = 0
    whole: int = 0
    damaged: int = 0
    stray: int = 0

    UNIT: ClassVar[str] = "frames"
    """The name of what travels."""
    REMEDY: ClassVar[str] = "check the cable, or lower the baud rate"
    """Advice on a bad line."""

    def __sub__(self, before: Counters) -> Counters:
        """Events since ``before``."""
        # by position, so that subclasses need no method of their own
        pairs = zip(astuple(self), astuple(before), strict=True)
        return type(self)(*(now - then for now, then in pairs))

    @property
    def bad(self) -> bool:
        """Whether so much was lost or damaged that the line is to blame for what failed."""
        # a share, as any long exchange loses some
        damaged = self.damaged > BAD_SHARE * (self.damaged + self.whole)
        return damaged or self.lost > BAD_SHARE * self.sent

    def measured(self) -> str:
        """A sentence on the line's quality, for a complaint."""
        came = self.damaged + self.whole
        share = self.damaged / max(1, came)
        lost = (
            f"{self.lost} of {self.sent} tasks that were sent were lost, and " if self.sent else ""
        )
        damaged = f"{self.damaged} of {came} {self.UNIT} from the device ({share:.0%}) came damaged"
        return lost + damaged


class Ledger:
    """The tasks of one exchange, ``count`` of them, by their index: those that are ``waiting`` to be sent, the
    ``results``, and how many are ``done``, that is answered, or lost for good after so many ``attempts``."""

    def __init__(self, count: int, attempts: int) -> None:
        self.attempts = attempts
        self.results: list[bytes | None] = [None] * count
        self.waiting = deque(range(count))
        self.losses: dict[int, int] = {}
        self.done = 0

    @property
    def count(self) -> int:
        """Tasks in all."""
        return len(self.results)

    def answer(self, index: int, packet: bytes) -> None:
        """A task is answered."""
        self.results[index] = packet
        self.done += 1

    def answer_all(self, indices: Sequence[int], packets: Sequence[bytes]) -> None:
        """Tasks are answered; an index below 0 is none of them."""
        results = self.results
        for index, packet in zip(indices, packets, strict=True):
            if index >= 0:
                # a task may be answered twice, once late
                self.done += results[index] is None
                results[index] = packet

    def lose(self, index: int) -> None:
        """A task was lost on its way: it is to be sent again, or is lost for good."""
        losses = self.losses.get(index, 0) + 1
        self.losses[index] = losses
        if losses < self.attempts:
            self.waiting.append(index)
        else:
            self.done += 1

    def told(self) -> str:
        """The progress so far, for a complaint."""
        return f"after {self.done} of {self.count} tasks"


def check_version(device: str, found: int, known: int) -> None:
    """LinkError unless the ``device`` speaks the version of the protocol that this host does (``known``)."""
    if found != known:
        raise LinkError(
            f"{device}: speaks version {found} of the protocol, this host version {known}; build the board's "
            "bitstream with this version of rbdgen"
        )


def check_design(device: str, found: bytes, identity: bytes, name: str) -> None:
    """LinkError unless the ``device`` holds the design with this ``identity``, the accelerator called ``name``."""
    if found != identity:
        raise LinkError(
            f"{device}: holds design {found.hex()}, not {identity.hex()} ({name}); program the board with that "
            "bitstream, or use the manifest of the design that it holds"
        )


DEFAULT_SECONDS = 10.0
"""Without progress before a device is given up."""


@dataclass
class Watch:
    """``over`` once ``seconds`` of the ``clock`` have passed since it was made, or since it began ``again``."""

    seconds: float
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self.again()

    def again(self) -> None:
        """Begin again: there was progress."""
        self.end = self.clock() + self.seconds

    @property
    def left(self) -> float:
        """Seconds that are left, at least 0."""
        return max(0.0, self.end - self.clock())

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return self.clock() >= self.end


class Access:
    """One user at a time. ``own``: what is behind the link is in this process, so that a forked one has its own."""

    def __init__(self, own: bool = False) -> None:
        self.own = own
        self.closed = False
        self._process = os.getpid()
        self._amid = False
        self._lock = threading.RLock()

    @contextmanager
    def call(self) -> Iterator[None]:
        """The device is this call's until it is over. LinkError for one that is closed, another process' or amid a call
        of this thread's."""
        self._follow_fork()
        with self._lock:
            if self.closed:
                raise LinkError("device: is closed; open it again")
            if self._amid:
                raise LinkError(
                    "device: is amid a call of this thread's; call it when that is over, not from its progress"
                )
            self._amid = True
            try:
                yield
            finally:
                self._amid = False

    def close(self, let_go: Callable[[], None]) -> None:
        """Close it, once the calls of other threads are over, unless it is closed already; ``let_go`` does that."""
        if self.closed:
            return
        if not self.own and os.getpid() != self._process:
            # the link is the other process', which may still use it
            self.closed = True
            return
        with self.call():
            self.closed = True
            let_go()

    def _follow_fork(self) -> None:
        """A forked process has a lock that nobody lets go of, where a thread of the other one had it."""
        if os.getpid() == self._process:
            return
        if not self.own or self._amid:
            raise LinkError(
                "device: was opened by another process, which a forked one shares it with; open it in this one"
            )
        self._process = os.getpid()
        self._lock = threading.RLock()
