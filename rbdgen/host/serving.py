"""A device at a UDP address of this machine: the model of a shell behind a socket, in a thread of its own."""

from __future__ import annotations

import socket
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from rbdgen.errors import LinkError
from rbdgen.host.datagram_shell import DatagramShell
from rbdgen.host.udp import RECEIVE_BUFFER, split_address
from rbdgen.protocol.datagrams import MOST_BYTES, Kind

STOP_SECONDS = 0.05
"""How often a server sees whether it is to stop."""
MOST_AT_ONCE = 1024
"""Datagrams that are taken before what they ask for is answered."""
MOST_OF_SENDER = 4
"""Of them those of each sender that are no tasks of the session's owner; what else it sends is lost."""
MOST_OF_STRANGERS = 64
"""Of them those of all senders but the owner; those who were served least come first."""
MOST_KNOWN = 4096
"""Senders of which it is known how often they were served."""
TASKS = bytes([Kind.TASKS])
"""How datagrams of tasks begin."""

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
        """How many datagrams were taken of each sender but the owner."""

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
        """What is taken of that, so that the owner is served in any case, and another host as well where few senders
        send much."""
        own, others = [], []
        counts: Counter[tuple[str, int]] = Counter()
        for data, sender in came:
            owns = sender == self.shell.owner
            if not owns or data[:1] != TASKS:
                counts[sender] += 1
                if counts[sender] > MOST_OF_SENDER:
                    continue
            (own if owns else others).append((data, sender))
        others.sort(key=lambda one: self.served[one[1]])
        others = others[:MOST_OF_STRANGERS]
        if len(self.served) > MOST_KNOWN:
            self.served.clear()
        self.served.update(sender for _, sender in others)
        return own + others

    def _arrived(self) -> list[Came]:
        """What came, at most so much at once, or comes within a while."""
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
