"""The host's end of the byte link: many tasks in flight, every one answered, sent again, or reported lost.

The link may damage, drop or insert bytes. Three facts make recovery certain without guessing at times:

- The device answers tasks of one function in their order. A result therefore proves that every earlier task of that
  function still in flight is lost, and its tag can be used again.
- A hello is answered after everything that came before it. Its answer proves the same for all functions.
- No task is sent unless the device has room for it, so that nothing is lost by haste.

Silence is answered by another hello, which is all that a time limit ever causes.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rbdgen.errors import LinkError
from rbdgen.host.transport import Transport
from rbdgen.protocol.frames import (
    FRAME_BYTES,
    NONCE_BYTES,
    PROTOCOL_VERSION,
    Deframer,
    Kind,
    Status,
    frame_bytes,
)
from rbdgen.protocol.packets import header, set_tag
from rbdgen.protocol.tasks import TAG_BITS

Progress = Callable[[int, int], None]
"""Called with (tasks answered, tasks in all)."""

DEFAULT_ATTEMPTS = 100
"""Times that a task is sent before it counts as lost."""
DEFAULT_PATIENCE = 10
"""Hellos in a row without an answer before a device counts as silent."""


@dataclass
class Counters:
    """What a link went through: tasks ``sent`` (again, too), ``lost`` on the way, hellos sent, frames from the device
    that were ``damaged``, and ``stray`` ones that answer nothing in flight."""

    sent: int = 0
    lost: int = 0
    hellos: int = 0
    damaged: int = 0
    stray: int = 0


@dataclass
class _Flight:
    """A task on its way: its ``index``, tag, function code, cost in the device's room, and when it was sent."""

    index: int
    tag: int
    code: int
    cost: int
    serial: int


@dataclass
class ByteLink:
    """A device behind ``transport``. ``limit``: the longest payload that it sends. Made by :func:`connect`."""

    transport: Transport
    limit: int
    attempts: int = DEFAULT_ATTEMPTS
    patience: int = DEFAULT_PATIENCE
    counters: Counters = field(default_factory=Counters)

    def __post_init__(self) -> None:
        self.deframer = Deframer(self.limit)
        self.status: Status | None = None

    def hello(self) -> Status:
        """Ask the device who it is; everything that it had to say before is thrown away. LinkError if it is silent."""
        for _ in range(self.patience):
            nonce = self._send_hello()
            while frames := self._receive():
                for kind, payload in frames:
                    status = Status.unpack(payload) if kind == Kind.HELLO else None
                    if status is not None and status.nonce == nonce:
                        self.status = status
                        return status
        raise LinkError(
            f"device: no answer to {self.patience} hellos; check that the board is programmed, its port and baud rate"
        )

    def exchange(
        self, packets: Sequence[bytes], progress: Progress = lambda done, total: None
    ) -> list[bytes | None]:
        """Send task packets (their tags do not matter) and return each one's result packet; None for a task that was
        lost ``attempts`` times. LinkError where the device falls silent."""
        status = self.status or self.hello()
        return _Exchange(self, packets, status.capacity, progress).run()

    def _send_hello(self) -> int:
        nonce = int.from_bytes(secrets.token_bytes(NONCE_BYTES), "little")
        self.transport.write(frame_bytes(Kind.HELLO, nonce.to_bytes(NONCE_BYTES, "little")))
        self.counters.hellos += 1
        return nonce

    def _receive(self) -> list[tuple[int, bytes]] | None:
        """Frames from the device, at least one; None after silence."""
        while data := self.transport.read():
            frames = self.deframer.feed(data)
            self.counters.damaged = self.deframer.damaged
            if frames:
                return [(f.kind, f.payload) for f in frames]
        return None


class _Exchange:
    """One call of :meth:`ByteLink.exchange`."""

    def __init__(
        self, link: ByteLink, packets: Sequence[bytes], capacity: int, progress: Progress
    ) -> None:
        self.link, self.packets, self.progress = link, packets, progress
        self.results: list[bytes | None] = [None] * len(packets)
        self.tries = [0] * len(packets)
        self.waiting = deque(range(len(packets)))
        self.room = capacity
        self.tags = deque(range(1 << TAG_BITS))
        self.flights: dict[int, _Flight] = {}
        self.order: dict[int, deque[_Flight]] = {}
        self.serial = 0
        self.done = 0
        self.asked: tuple[int, int] | None = None
        """Nonce of the last hello, and the number of tasks sent before it."""

    def run(self) -> list[bytes | None]:
        silent = 0
        while self.waiting or self.flights:
            self._send()
            if not self.waiting and self.asked is None:
                self._ask()
            frames = self.link._receive()
            if frames is None:
                silent += 1
                if silent > self.link.patience:
                    raise LinkError(
                        f"device: silent after {self.done} of {len(self.packets)} tasks, {silent} hellos in a row; "
                        "check the cable and reset the board"
                    )
                self._ask()
                continue
            silent = 0
            for kind, payload in frames:
                self._take(kind, payload)
            self.progress(self.done, len(self.packets))
        return self.results

    def _send(self) -> None:
        """Send as much as the device has room for, in one write."""
        frames = []
        while self.waiting and self.tags:
            index = self.waiting[0]
            packet = bytearray(self.packets[index])
            cost = len(packet) + FRAME_BYTES
            if cost > self.room:
                break
            self.waiting.popleft()
            self.room -= cost
            tag = self.tags.popleft()
            set_tag(packet, tag)
            code = header(packet)[0]
            flight = _Flight(index, tag, code, cost, self.serial)
            self.serial += 1
            self.tries[index] += 1
            self.flights[tag] = flight
            self.order.setdefault(code, deque()).append(flight)
            frames.append(frame_bytes(Kind.TASK, bytes(packet)))
        if frames:
            self.link.counters.sent += len(frames)
            self.link.transport.write(b"".join(frames))

    def _ask(self) -> None:
        self.asked = self.link._send_hello(), self.serial

    def _take(self, kind: int, payload: bytes) -> None:
        if kind == Kind.HELLO:
            status = Status.unpack(payload)
            if status is not None and self.asked is not None and status.nonce == self.asked[0]:
                self.link.status = status
                before, self.asked = self.asked[1], None
                for queue in self.order.values():
                    while queue and queue[0].serial < before:
                        self._lose(queue.popleft())
            return
        flight = (
            self.flights.get(header(payload)[1])
            if kind == Kind.TASK and len(payload) >= 2
            else None
        )
        if flight is None or flight.code != header(payload)[0]:
            self.link.counters.stray += 1
            return
        queue = self.order[flight.code]
        while queue[0] is not flight:
            self._lose(queue.popleft())
        queue.popleft()
        self._land(flight)
        self.results[flight.index] = payload
        self.done += 1

    def _lose(self, flight: _Flight) -> None:
        self._land(flight)
        self.link.counters.lost += 1
        if self.tries[flight.index] < self.link.attempts:
            self.waiting.append(flight.index)

    def _land(self, flight: _Flight) -> None:
        """A task is no longer in flight: its tag and room are free."""
        del self.flights[flight.tag]
        self.tags.append(flight.tag)
        self.room += flight.cost


def connect(
    transport: Transport,
    identity: bytes,
    limit: int,
    name: str,
    attempts: int = DEFAULT_ATTEMPTS,
    patience: int = DEFAULT_PATIENCE,
) -> ByteLink:
    """A link to the device of this ``identity``: the accelerator called ``name``, which sends payloads up to ``limit``.

    LinkError if it is silent, or was built for another robot, another set of functions or by another version.
    """
    link = ByteLink(transport, limit, attempts, patience)
    status = link.hello()
    if status.version != PROTOCOL_VERSION:
        raise LinkError(
            f"device: speaks version {status.version} of the protocol, this host version {PROTOCOL_VERSION}; "
            "build the board's bitstream with this version of rbdgen"
        )
    if status.identity != identity:
        raise LinkError(
            f"device: holds design {status.identity.hex()}, not {identity.hex()} ({name}); program the board with that "
            "bitstream, or use the manifest of the design that it holds"
        )
    return link
