"""Ways for bytes and datagrams that lose, double, delay and alter them, and slip others in, by a seed.

:class:`Noise` is a transport around another. :class:`FaultyPort` leads to a model in this process, in simulated time;
:class:`UdpRelay` stands between a host and any device with a UDP address.
"""

from __future__ import annotations

import select
import socket
from collections import Counter, deque
from dataclasses import dataclass

import numpy as np

from rbdgen.host.transport import Transport
from rbdgen.host.udp import split_address
from rbdgen.protocol.datagrams import MOST_BYTES, Kind, datagram_bytes
from rbdgen.shells.datagram_shell import STOP_SECONDS, DatagramShell, UdpThread


@dataclass
class Noise:
    """Of the bytes in either direction the share ``rate`` is altered, dropped, or joined by a random one."""

    inner: Transport
    rate: float
    seed: int = 0

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)
        self.faults = 0

    def damage(self, data: bytes) -> bytes:
        """``data`` as it comes out; counts the ``faults``."""
        result, start = bytearray(), 0
        for offset in np.flatnonzero(self.random.random(len(data)) < self.rate):
            self.faults += 1
            result += data[start:offset]
            start = int(offset) + 1
            extra = int(self.random.integers(256))
            match int(self.random.integers(3)):
                case 0:
                    result.append(data[offset] ^ int(self.random.integers(1, 256)))
                case 1:
                    pass
                case _:
                    result += bytes([extra, data[offset]])
        return bytes(result + data[start:])

    def write(self, data: bytes) -> None:
        """Write what is left of ``data``."""
        self.inner.write(self.damage(data))

    def read(self) -> bytes:
        """The bytes left of those that came."""
        data = self.inner.read()
        damaged = self.damage(data)
        # a reading that lost all its bytes is not silence
        return damaged if damaged or not data else self.read()

    def close(self) -> None:
        """Close the transport inside."""
        self.inner.close()


LONGEST_DELAY = 8
"""Datagrams that may overtake one that is late."""
STEP = 1e-5
"""Seconds of simulated time that a datagram takes."""


@dataclass
class Faults:
    """One direction. Of the datagrams a share of ``lost`` is lost, and so on: come twice (the second time perhaps
    late), come late, are damaged; and before a share of ``strangers`` there comes one that is nobody's."""

    lost: float = 0.0
    doubled: float = 0.0
    late: float = 0.0
    damaged: float = 0.0
    strangers: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)
        self.counts: Counter[str] = Counter()
        self.waiting: list[tuple[int, bytes]] = []
        """Datagrams that are late, and how many more overtake each."""

    def through(self, data: bytes) -> list[bytes]:
        """The datagrams that come out where ``data`` goes in."""
        out = self._overtaken()
        if self._happens("strangers"):
            out.append(self._stranger())
        if self._happens("lost"):
            return out
        if self._happens("damaged"):
            data = self._damaged(data)
        copies = 2 if self._happens("doubled") else 1
        for _ in range(copies):
            if self._happens("late"):
                self.waiting.append((int(self.random.integers(1, LONGEST_DELAY)), data))
            else:
                out.append(data)
        return out

    def _happens(self, fault: str) -> bool:
        happens = bool(self.random.random() < getattr(self, fault))
        self.counts[fault] += happens
        return happens

    def _overtaken(self) -> list[bytes]:
        """Late datagrams that come now."""
        out = [data for left, data in self.waiting if not left]
        self.waiting = [(left - 1, data) for left, data in self.waiting if left]
        return out

    def _damaged(self, data: bytes) -> bytes:
        """``data`` with one bit inverted, or cut."""
        place = int(self.random.integers(len(data)))
        if self.random.random() < 0.2:
            return data[:place]
        altered = bytearray(data)
        altered[place] ^= 1 << int(self.random.integers(8))
        return bytes(altered)

    def _stranger(self) -> bytes:
        """Something of nobody: any bytes, or a datagram of another session."""
        junk = self.random.bytes(4 * int(self.random.integers(1, 100)))
        if self.random.random() < 0.5:
            return junk
        kind = int(self.random.integers(1, len(Kind) + 1))
        session, number = self.random.integers(1, 1 << 32, 2).tolist()
        # a stranger that opens a session would be another host
        kind = Kind.HELLO if kind == Kind.OPEN else kind
        return datagram_bytes(kind, session, number, junk, int(self.random.integers(4)))


class FaultyPort:
    """A :class:`rbdgen.host.udp.DatagramPort` to ``shell`` in this process, in simulated time; ``host`` is its address,
    for the shell."""

    def __init__(
        self,
        shell: DatagramShell,
        to_device: Faults | None = None,
        to_host: Faults | None = None,
        host: str = "host",
    ) -> None:
        self.shell, self.name, self.host = shell, "model", host
        self.to_device, self.to_host = to_device or Faults(), to_host or Faults()
        self.time = 0.0
        self.inbox: deque[bytes] = deque()
        self.cut = False
        """Whether nothing gets through."""
        shell.clock = self.now

    def send(self, data: bytes) -> None:
        """Send a datagram."""
        for came in [] if self.cut else self.to_device.through(data):
            self.shell.receive(came, self.host)

    def receive(self, seconds: float) -> bytes | None:
        """The device's answer."""
        if not self.inbox:
            for data, host in self.shell.outgoing():
                self._answered(data, host)
        self.time += STEP if self.inbox else max(seconds, STEP)
        return self.inbox.popleft() if self.inbox else None

    def _answered(self, data: bytes, host: object) -> None:
        if host != self.host:
            # another port's
            self.shell.output.append((data, host))
        elif not self.cut:
            self.inbox += self.to_host.through(data)

    def troubles(self) -> tuple[str, str] | None:
        """Nothing is said."""
        return None

    def now(self) -> float:
        """Simulated seconds."""
        return self.time

    def close(self) -> None:
        """Nothing is open."""


class UdpRelay(UdpThread):
    """Stands at a port of its own before the ``device`` (``HOST:PORT``), for one host, while the context lasts."""

    def __init__(self, device: str, to_device: Faults, to_host: Faults) -> None:
        self.to_device, self.to_host = to_device, to_host
        near, self.far = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        near.bind(("127.0.0.1", 0))
        self.far.connect(split_address(device))
        super().__init__(near)
        self.host: tuple[str, int] | None = None

    def close(self) -> None:
        """Stop."""
        super().close()
        self.far.close()

    def serve(self) -> None:
        """Pass on what comes from either end."""
        readable, _, _ = select.select([self.socket, self.far], [], [], STOP_SECONDS)
        for end in readable:
            # a device that is not there, or a host that is gone, is silent
            try:
                self._pass(end)
            except OSError:
                continue

    def _pass(self, end: socket.socket) -> None:
        # one byte more than there may be, so that what is too long arrives as such
        data, sender = end.recvfrom(MOST_BYTES + 1)
        if end is self.socket:
            self.host = sender
            for out in self.to_device.through(data):
                self.far.send(out)
        elif self.host is not None:
            for out in self.to_host.through(data):
                self.socket.sendto(out, self.host)
