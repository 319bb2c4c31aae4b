"""Who may use a device now: one call at a time, whichever threads they come from, and none once it is closed.

Tasks of two calls on one link would get tags of each other's, and results with them. So a second thread waits until the
call before is over. What cannot wait for itself (a device that is called by its own progress function) and what shares
a link without sharing this (a forked process) is an error.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rbdgen.errors import LinkError


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
