"""The model of a board's shell with Ethernet: what the RTL between UDP and the accelerator does, in this process.

It keeps the protocol datagram for datagram (:mod:`rbdgen.protocol.datagrams`), and knows as much of time as that does:
how long a session's owner said nothing. Tasks are answered when something behind them asks for a status, or when what
is :meth:`outgoing <DatagramShell.outgoing>` is asked for, functions in any order, as the RTL may.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rbdgen.host.accelerator import AcceleratorModel
from rbdgen.protocol.datagrams import (
    BODY_BYTES,
    DATAGRAM_VERSION,
    OVERHEAD_BYTES,
    STATUS_BYTES,
    WORD_BYTES,
    Datagram,
    Kind,
    Mark,
    Status,
    ahead,
    datagram_bytes,
    following,
    join_packets,
    padded,
    read_datagram,
    result_lengths,
    split_packets,
    task_lengths,
)
from rbdgen.protocol.tasks import TaskFormat

MINIMUM_BUFFER = 16384
"""Bytes: room for 256 tasks of usual arms."""
REQUESTS = 16
"""For so many requests there is room beside what is promised."""
REQUESTING = (Kind.HELLO, Kind.OPEN)
"""Datagrams that ask for a status."""
OWNED_SECONDS = 1.0
"""After which a session whose owner said nothing may be another host's."""

Address = Any
"""Of a host, as sockets have it."""


def buffer_bytes(tasks: TaskFormat) -> int:
    """Bytes of datagrams that a shell keeps: room for four of the longest tasks, a power of two."""
    longest = max(map(padded, task_lengths(tasks)))
    datagrams = -(-longest // BODY_BYTES)
    four = 4 * (longest + datagrams * OVERHEAD_BYTES)
    whole = four + REQUESTS * OVERHEAD_BYTES + WORD_BYTES
    return max(MINIMUM_BUFFER, 1 << (whole - 1).bit_length())


def capacity(tasks: TaskFormat) -> int:
    """What a shell promises of its buffer: all but what some requests take and the word that a full one leaves free."""
    return buffer_bytes(tasks) - REQUESTS * OVERHEAD_BYTES - WORD_BYTES


@dataclass
class DatagramShell(AcceleratorModel):
    """A shell and its accelerator. ``clock``: seconds since any time."""

    clock: Callable[[], float] = time.monotonic

    def reset(self) -> None:
        """Become what a board is after its reset."""
        super().reset()
        self.lengths = task_lengths(self.tasks)
        self.answer_lengths = result_lengths(self.tasks)
        self.capacity = capacity(self.tasks)
        self.session, self.owner, self.heard = 0, None, 0.0
        self.epoch = 0
        self.taken = self.told = 0
        self.rest = b""
        """Of a task that goes on in the next datagram."""
        self.accepted = self.damaged = self.rejected = self.repeated = 0
        self.queue: deque[list[bytes] | tuple[Datagram, Address]] = deque()
        """What was accepted and not done yet, in order: the tasks of a datagram, or a HELLO or OPEN and its sender."""
        self.output: list[tuple[bytes, Address]] = []

    def receive(self, data: bytes, sender: Address) -> None:
        """Take a datagram, and do what it asks for."""
        self.take(data, sender)
        self.advance(len(self.queue))

    def take(self, data: bytes, sender: Address) -> None:
        """Put what a datagram asks for into the queue, unless it is to be dropped."""
        datagram = read_datagram(data)
        if datagram is None:
            self.damaged += 1
        elif datagram.version != DATAGRAM_VERSION:
            self.rejected += 1
        elif datagram.kind == Kind.TASKS:
            self._take_tasks(datagram, sender)
        elif datagram.kind in REQUESTING and len(datagram.body) == STATUS_BYTES:
            self._take_hello(datagram, sender)
        else:
            self.rejected += 1

    def outgoing(self) -> list[tuple[bytes, Address]]:
        """The datagrams that the device sends, and to whom."""
        self._finish()
        output, self.output = self.output, []
        return output

    def advance(self, count: int) -> None:
        """Do what stands first in the queue."""
        for _ in range(count):
            first = self.queue.popleft()
            if isinstance(first, tuple):
                self._answer(*first)
                continue
            for packet in first:
                self.keep(packet)

    def _take_tasks(self, datagram: Datagram, sender: Address) -> None:
        if not self.session or (datagram.session, sender) != (self.session, self.owner):
            self.rejected += 1
            return
        if ahead(datagram.number, self.taken) < 0:
            self.repeated += 1
            return
        found = self._packets(datagram)
        if found is None:
            self.rejected += 1
            return
        packets, self.rest = found
        self.taken = following(datagram.number)
        self.heard = self.clock()
        self.accepted += 1
        self.queue.append(packets)

    def _packets(self, datagram: Datagram) -> tuple[list[bytes], bytes] | None:
        """The tasks that end in a datagram, and what it has of one that does not; None where its body is none."""
        stream = datagram.body
        if not datagram.marks & Mark.BEGINS:
            if not self.rest or datagram.number != self.taken:
                return None
            stream = self.rest + stream
        packets, rest = split_packets(stream, self.lengths)
        ends = bool(datagram.marks & Mark.ENDS)
        return (packets, rest) if datagram.body and ends == (not rest) else None

    def _take_hello(self, datagram: Datagram, sender: Address) -> None:
        self.accepted += 1
        self.epoch = self.epoch or datagram.number
        self.rest = b""
        if datagram.kind == Kind.HELLO and sender == self.owner:
            self.heard = self.clock()
        self.queue.append((datagram, sender))

    def _answer(self, datagram: Datagram, sender: Address) -> None:
        """Answer HELLO or OPEN, behind everything before it."""
        self._finish()
        if datagram.kind == Kind.OPEN:
            self._open(datagram.session, sender)
        counters = (self.accepted, self.damaged, 0, self.rejected, self.repeated)
        status = Status(self.identity, self.epoch, self.capacity, self.taken, self.told, *counters)
        data = datagram_bytes(Kind.HELLO, self.session, datagram.number, status.pack())
        self.output.append((data, sender))

    def _open(self, session: int, sender: Address) -> None:
        """Begin a session, if that may be."""
        owned = self.session and self.clock() - self.heard < OWNED_SECONDS
        if session in (0, self.session) or owned:
            return
        self.session, self.owner, self.heard = session, sender, self.clock()
        self.taken = self.told = 0
        self.rest = b""

    def _finish(self) -> None:
        """Answer all tasks."""
        self.work()
        if not self.answers:
            return
        answers, self.answers = self.answers, []
        for body, marks in join_packets(answers):
            data = datagram_bytes(Kind.TASKS, self.session, self.told, body, marks)
            self.told = following(self.told)
            self.output.append((data, self.owner))
