"""A link to a device over UDP: sockets, and the exchange of tasks over them or any other way for datagrams."""

from __future__ import annotations

import errno
import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from rbdgen.errors import LinkError
from rbdgen.host.datagram_link import Anyone, HostEnd
from rbdgen.host.exchanges import DEFAULT_ATTEMPTS, DEFAULT_SECONDS, Counters, Progress
from rbdgen.host.manifest import Manifest
from rbdgen.protocol.datagrams import DEFAULT_PORT, MOST_BYTES, Status
from rbdgen.protocol.tasks import TaskFormat

LEAST_WAIT = 1e-4
"""Seconds: a socket that is waited for no time at all would have to be asked another way."""
RECEIVE_BUFFER = 1 << 20
"""Bytes that the system is asked to keep of what comes."""
LOSSES = (errno.EAGAIN, errno.ENOBUFS, errno.EINTR)
"""Errors of sending that mean no more than that one datagram was lost."""


class DatagramPort(Protocol):
    """A way for datagrams to one device and back, on which they may be lost, come twice and in another order."""

    @property
    def name(self) -> str:
        """Whom it leads to, for complaints."""
        ...

    def troubles(self) -> tuple[str, str] | None:
        """The network's complaint since this was last asked, and the remedy; None where it said nothing."""
        ...

    def send(self, data: bytes) -> None:
        """Send a datagram."""
        ...

    def receive(self, seconds: float) -> bytes | None:
        """A datagram that came; None where none comes in so many seconds."""
        ...

    def now(self) -> float:
        """Seconds since any time."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class UdpPort:
    """A UDP socket that is connected to ``address``, ``HOST`` or ``HOST:PORT``. LinkError for an address that cannot be
    found, or to which no network leads."""

    def __init__(self, address: str) -> None:
        host, port = split_address(address)
        self.name = f"{host}:{port}"
        self.noted: tuple[str, str] | None = None
        try:
            found = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_DGRAM)
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or error
            raise LinkError(
                f"device {self.name}: cannot be found: {why}; give the board's IP address, such as 192.168.1.50"
            ) from None
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        with self._noted():
            self.socket.connect(found[0][4])
        # connecting a datagram socket sends nothing: it only finds out whether a route exists
        said = self.troubles()
        if said is not None:
            self.socket.close()
            raise LinkError(f"device {self.name}: {said[0]}; {said[1]}")

    def send(self, data: bytes) -> None:
        """Send a datagram; one that does not get out is lost like any other."""
        with self._noted():
            self.socket.send(data)

    def receive(self, seconds: float) -> bytes | None:
        """A datagram from the address."""
        # zero would make the socket non-blocking
        self.socket.settimeout(max(seconds, LEAST_WAIT))
        with self._noted():
            try:
                # one byte more than any datagram of ours, so that a longer one is seen to be none
                return self.socket.recv(MOST_BYTES + 1)
            except TimeoutError:
                return None
        # what the network says comes at once: it must not keep a processor busy
        time.sleep(LEAST_WAIT)
        return None

    def troubles(self) -> tuple[str, str] | None:
        """The network's complaint since this was last asked."""
        said, self.noted = self.noted, None
        return said

    def now(self) -> float:
        """Seconds since any time."""
        return time.monotonic()

    def close(self) -> None:
        """Let go of it."""
        self.socket.close()

    @contextmanager
    def _noted(self) -> Iterator[None]:
        """Errors of the socket are ``noted``."""
        try:
            yield
        except OSError as error:
            if error.errno in LOSSES:
                return
            # an ICMP message of the other machine, told at the next call on the socket
            if error.errno == errno.ECONNREFUSED:
                why = "nobody listens at that port there"
                self.noted = why, "check its address and port"
                return
            self.noted = _unreachable(error.errno or 0)


def _unreachable(number: int) -> tuple[str, str]:
    """An error of the socket in words about the path to the device, and the remedy."""
    remedy = "check the cable, its address, and that this computer's is in the same network"
    if number == errno.EMSGSIZE:
        remedy = "let the network interface send 1,500 bytes (its MTU)"
    return f"cannot be reached: {os.strerror(number)}", remedy


def split_address(address: str, least_port: int = 1) -> tuple[str, int]:
    """The host and the port in ``HOST`` or ``HOST:PORT``. LinkError for what is neither."""
    host, colon, digits = address.partition(":")
    if not colon:
        digits = str(DEFAULT_PORT)
    if not host or not (
        digits.isascii() and digits.isdecimal() and least_port <= int(digits) < 1 << 16
    ):
        raise LinkError(
            f"address {address!r}: must be HOST or HOST:PORT, with a port from 1 to 65535; give the board's IP "
            "address, such as 192.168.1.50"
        )
    return host, int(digits)


class DatagramLink:
    """A device behind ``port`` that must be the ``manifest``'s. ``attempts``: how often a task is sent before it counts
    as lost; ``seconds``: how long nothing may come of waiting. Made by :func:`connect`."""

    def __init__(
        self, port: DatagramPort, manifest: Manifest | Anyone, attempts: int, seconds: float
    ) -> None:
        self.port, self.attempts = port, attempts
        self.end = HostEnd(manifest, port.name, port.now, attempts, seconds)

    @property
    def epoch(self) -> int:
        """The session's name. It ends with a reset of the device and where another host takes it over, so that what
        was loaded holds as long as this stays the same."""
        self.open()
        assert self.end.session is not None
        return self.end.session.name

    @property
    def counters(self) -> Counters:
        """Events of the link."""
        return self.end.counters

    @property
    def status(self) -> Status | None:
        """The device's, as it was last told."""
        return self.end.status

    def identified(self) -> bytes:
        """What the device says of itself."""
        self.open()
        assert self.end.status is not None
        return self.end.status.identity

    def learn(self, tasks: TaskFormat) -> None:
        """Packets are as long as these ``tasks`` say from now on."""
        self.end.learn(tasks)

    def open(self) -> None:
        """Begin a session, unless there is one. LinkError if the device is silent, another one, or another host's."""
        self.end.open()
        self._run(lambda: None)

    def exchange(
        self,
        packets: Sequence[bytes],
        progress: Progress = lambda done, total: None,
        epoch: int | None = None,
    ) -> list[bytes | None]:
        """Send task packets (their tags do not matter) and return each one's result packet; None for a task that was
        lost ``attempts`` times. LinkError where the device falls silent, is another one, or another host's.

        Where an ``epoch`` is given, all results are of it, or this ends with a DeviceResetError.
        """
        if not packets:
            return []
        ledger = self.end.begin(packets, epoch)
        self._run(lambda: progress(ledger.done, ledger.count))
        return ledger.results

    def close(self) -> None:
        """Let go of the device."""
        self.port.close()

    def _run(self, progress: Callable[[], None]) -> None:
        """Send and receive until there is nothing left to do."""
        try:
            self._until_idle(progress)
        finally:
            self.end.finish()

    def _until_idle(self, progress: Callable[[], None]) -> None:
        end, port = self.end, self.port
        while not end.idle:
            for data in end.outgoing():
                port.send(data)
            data = port.receive(end.wait)
            if data is not None:
                end.receive(data)
            # only in silence: a network that complains and still delivers works
            elif (said := port.troubles()) is not None:
                end.unreachable(*said)
            progress()


def connect(
    port: DatagramPort,
    manifest: Manifest | Anyone,
    attempts: int = DEFAULT_ATTEMPTS,
    seconds: float = DEFAULT_SECONDS,
) -> DatagramLink:
    """A link to the ``manifest``'s device behind ``port``. LinkError if it is silent, was built for another robot,
    another set of functions or by another version, or is another host's."""
    link = DatagramLink(port, manifest, attempts, seconds)
    link.open()
    return link
