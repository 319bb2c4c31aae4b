"""A device at a UDP address of this machine: the model of a shell behind a socket, in a thread of its own."""

from __future__ import annotations

import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from rbdgen.errors import LinkError
from rbdgen.host.datagram_shell import DatagramShell
from rbdgen.host.udp import split_address
from rbdgen.protocol.datagrams import MOST_BYTES

STOP_SECONDS = 0.05
"""How often a server sees whether it is to stop."""


Thread = TypeVar("Thread", bound="UdpThread")


class UdpThread(ABC):
    """Serves a UDP port (``socket``) in a thread of its own, while the context lasts."""

    def __init__(self, port: socket.socket) -> None:
        self.socket = port
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.stopping = False

    @property
    def name(self) -> str:
        """The address and port."""
        host, port = self.socket.getsockname()
        return f"{host}:{port}"

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
    LinkError for an address that is none of this machine's, or in use."""

    def __init__(self, shell: DatagramShell, address: str) -> None:
        self.shell = shell
        host, port = split_address(address, least_port=0)
        bound = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
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

    @contextmanager
    def paused(self) -> Iterator[DatagramShell]:
        """The shell, while nothing is served."""
        with self.lock:
            yield self.shell

    def serve(self) -> None:
        """Take what comes."""
        try:
            came = self.socket.recvfrom(MOST_BYTES + 1)
        except OSError:
            # silence, or a host that is gone
            return
        with self.lock:
            self._take(*came)

    def _take(self, data: bytes, sender: tuple[str, int]) -> None:
        """Take a datagram and what else came, and answer."""
        self.shell.receive(data, sender)
        self.socket.setblocking(False)
        try:
            while True:
                self.shell.receive(*self.socket.recvfrom(MOST_BYTES + 1))
        except OSError:
            self.socket.settimeout(STOP_SECONDS)
        for answer, host in self.shell.outgoing():
            self._send(answer, host)

    def _send(self, data: bytes, host: tuple[str, int]) -> None:
        """Send a datagram; what cannot be sent is lost like any other."""
        try:
            self.socket.sendto(data, host)
        except OSError:
            return
