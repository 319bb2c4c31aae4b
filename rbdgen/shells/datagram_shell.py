"""The model of a board's shell with Ethernet, in this process, and the thread that serves it at a UDP address.

It keeps the protocol datagram for datagram (:mod:`rbdgen.protocol.datagrams`), and knows as much of time as that does:
how long a session's owner said nothing. Tasks are answered when something behind them asks for a status, or when what
is :meth:`outgoing <DatagramShell.outgoing>` is asked for, functions in any order, as the RTL may.
"""

from __future__ import annotations

import socket
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from rbdgen.errors import LinkError
from rbdgen.host.udp import RECEIVE_BUFFER, split_address
from rbdgen.protocol.datagrams import (
    DATAGRAM_VERSION,
    MOST_BYTES,
    STATUS_BYTES,
    Datagram,
    Kind,
    Mark,
    Status,
    ahead,
    capacity,
    datagram_bytes,
    following,
    join_packets,
    read_datagram,
    split_packets,
)
from rbdgen.shells.shell import AcceleratorModel

REQUESTING = (Kind.HELLO, Kind.OPEN)
"""Datagrams that ask for a status."""
OWNED_SECONDS = 1.0
"""After which a session whose owner said nothing may be another host's."""

Address = Any
"""Of a host, as sockets have it."""


@dataclass
class DatagramShell(AcceleratorModel):
    """A shell and its accelerator. ``clock``: seconds since any time."""

    clock: Callable[[], float] = time.monotonic

    def reset(self) -> None:
        """Become what a board is after its reset."""
        super().reset()
        self.capacity = capacity(self.tasks)
        self.session, self.owner, self.heard = 0, None, 0.0
        self.epoch = 0
        self.taken = self.told = 0
        self.rest = b""
        """Of a task that goes on in the next datagram."""
        self.accepted = self.damaged = self.rejected = self.repeated = 0
        self.queue: deque[list[bytes] | tuple[Datagram, Address]] = deque()
        """Work that was accepted and not done yet, in order: the tasks of a datagram, or a HELLO or OPEN and its
        sender."""
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
        # it was taken before; taken again it would be computed twice
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
            # the part before is missing: what follows cannot be cut into tasks
            if not self.rest or datagram.number != self.taken:
                return None
            stream = self.rest + stream
        packets, rest = split_packets(stream, self.lengths)
        ends = bool(datagram.marks & Mark.ENDS)
        return (packets, rest) if datagram.body and ends == (not rest) else None

    def _take_hello(self, datagram: Datagram, sender: Address) -> None:
        self.accepted += 1
        # the first question after a reset names the epoch
        self.epoch = self.epoch or datagram.number
        self.rest = b""
        # only its owner keeps a session alive
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
        # a host that died would else hold the board for ever
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


STOP_SECONDS = 0.05
"""The interval at which a server sees whether it is to stop."""
MOST_AT_ONCE = 1024
"""Datagrams that are taken before what they ask for is answered."""
MOST_OF_SENDER = 4
"""Of them those of each sender that are no tasks of the session's owner; what else it sends is lost."""
MOST_OF_STRANGERS = 64
"""Of them those of all senders but the owner; those who were served least come first."""
MOST_KNOWN = 4096
"""Senders of which it is known how often they were served."""
TASKS = bytes([Kind.TASKS])
"""The first byte of datagrams of tasks."""

Came = tuple[bytes, tuple[str, int]]
"""A datagram and its sender."""

Thread = TypeVar("Thread", bound="UdpThread")


class UdpThread(ABC):
    """Serves a UDP port (``socket``) in a thread of its own, while the context lasts."""

    def __init__(self, port: socket.socket) -> None:
        self.socket = port
        host, number = port.getsockname()
        self.name = f"{host}:{number}"
        """The address and port."""
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.stopping = False

    def __enter__(self: Thread) -> Thread:
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop."""
        self.stopping = True
        if self.thread.is_alive():
            self.thread.join()
        self.socket.close()

    def _serve(self) -> None:
        while not self.stopping:
            self.serve()

    @abstractmethod
    def serve(self) -> None:
        """Do what there is to do, and return soon: within :data:`STOP_SECONDS` where there is nothing."""


class UdpServer(UdpThread):
    """Serves ``shell`` at ``address``, ``HOST`` or ``HOST:PORT``, while the context lasts; port 0 is any that is free.
    Whatever strangers send, and however much, hosts are served, and it stops when it is told to.

    LinkError for an address that is none of this machine's, or in use."""

    def __init__(self, shell: DatagramShell, address: str) -> None:
        self.shell = shell
        host, port = split_address(address, least_port=0)
        bound = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        try:
            bound.bind((host, port))
        except OSError as error:
            bound.close()
            raise LinkError(
                f"address {address}: cannot be served: {error.strerror}; give an address of this machine and a port "
                "that is free"
            ) from None
        bound.settimeout(STOP_SECONDS)
        super().__init__(bound)
        self.lock = threading.Lock()
        self.served: Counter[tuple[str, int]] = Counter()
        """Number of datagrams that were taken of each sender but the owner."""

    @contextmanager
    def paused(self) -> Iterator[DatagramShell]:
        """The shell, while nothing is served."""
        with self.lock:
            yield self.shell

    def serve(self) -> None:
        """Take what came, and answer."""
        came = self._arrived()
        if not came:
            return
        with self.lock:
            for data, sender in self._chosen(came):
                self.shell.receive(data, sender)
            for answer, host in self.shell.outgoing():
                self._send(answer, host)

    def _chosen(self, came: list[Came]) -> list[Came]:
        """The datagrams that are taken of these, so that the owner is served in any case, and another host as well
        where few senders send much."""
        own, others = [], []
        counts: Counter[tuple[str, int]] = Counter()
        for data, sender in came:
            owns = sender == self.shell.owner
            if not owns or data[:1] != TASKS:
                counts[sender] += 1
                if counts[sender] > MOST_OF_SENDER:
                    continue
            (own if owns else others).append((data, sender))
        # a sender of floods waits behind those that were served least
        others.sort(key=lambda one: self.served[one[1]])
        others = others[:MOST_OF_STRANGERS]
        if len(self.served) > MOST_KNOWN:
            # forged addresses must not fill the memory
            self.served.clear()
        self.served.update(sender for _, sender in others)
        return own + others

    def _arrived(self) -> list[Came]:
        """Datagrams that came, at most so many at once, or comes within a while."""
        came: list[Came] = []
        try:
            came.append(self.socket.recvfrom(MOST_BYTES + 1))
            self.socket.setblocking(False)
            while len(came) < MOST_AT_ONCE:
                came.append(self.socket.recvfrom(MOST_BYTES + 1))
        except OSError:
            # silence, or a host that is gone
            pass
        self.socket.settimeout(STOP_SECONDS)
        return came

    def _send(self, data: bytes, host: tuple[str, int]) -> None:
        """Send a datagram; what cannot be sent is lost like any other."""
        try:
            self.socket.sendto(data, host)
        except OSError:
            return
