"""The host's end of the byte link: many tasks in flight, every one answered, sent again, or reported lost.

The link may damage, drop or insert bytes, and the device may be reset. Facts that make recovery certain without
guessing at times:

- The device answers tasks of one function in their order. A result therefore proves that every earlier task of that
  function still in flight is lost, and its tag can be used again.
- A hello is answered after everything that came before it. Its answer proves the same for all functions.
- No task is sent unless the device has room for it, so that nothing is lost by haste.
- A status tells who the device is and its epoch, which a reset changes. Bytes keep their order, so a result between two
  statuses of one epoch is of that epoch. An exchange therefore ends with a status.

Silence is answered by another hello. What comes without being of use (noise, strangers' frames) is as good as silence:
only a task answered for good or a hello answered is progress, and time without progress is limited.
"""

from __future__ import annotations

import secrets
from collections import defaultdict, deque
from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace

from rbdgen.errors import LinkError
from rbdgen.host.exchanges import (
    DEFAULT_ATTEMPTS,
    DEFAULT_SECONDS,
    HELLOS_ONLY,
    Counters,
    DeviceResetError,
    Ledger,
    Progress,
    Watch,
    check_design,
    check_version,
)
from rbdgen.host.transport import DEFAULT_TIMEOUT, Transport
from rbdgen.protocol.frames import (
    FRAME_BYTES,
    NONCE_BYTES,
    PROTOCOL_VERSION,
    Deframer,
    Frame,
    Kind,
    Status,
    frame_bytes,
    read_version,
)
from rbdgen.protocol.packets import HEADER_BYTES, code_of, header, set_tag
from rbdgen.protocol.tasks import TAG_BITS, TaskFormat

DEFAULT_PATIENCE = 10
"""Hellos in a row without an answer before a device counts as silent."""


@dataclass(slots=True)
class _Flight:
    """A task on its way: its ``index``, tag, function code, cost in the device's room, and when it was sent."""

    index: int
    tag: int
    code: int
    cost: int
    serial: int


@dataclass
class ByteLink:
    """A device behind ``transport`` that must be of this ``identity`` (None: any), the accelerator called ``name``.
    ``limit``: the longest payload that it sends; ``attempts`` and ``patience`` as above, ``seconds`` without progress.
    Made by :func:`connect`."""

    transport: Transport
    limit: int
    identity: bytes | None
    name: str
    attempts: int = DEFAULT_ATTEMPTS
    patience: int = DEFAULT_PATIENCE
    seconds: float = DEFAULT_SECONDS
    counters: Counters = field(default_factory=Counters)

    def __post_init__(self) -> None:
        self.deframer = Deframer(self.limit)
        self.status: Status | None = None
        self.amid = False
        """Whether an exchange was broken off: its results may still come."""
        self.next_tag = 0
        """Tags go on from call to call, so that a result that comes twice and late is not taken for another call's."""

    def identified(self) -> bytes:
        """What the device says of itself."""
        return (self.status or self.hello()).identity

    def learn(self, tasks: TaskFormat) -> None:
        """Nothing: frames say how long they are."""

    @property
    def epoch(self) -> int:
        """The device's epoch, as it was last told."""
        return (self.status or self.hello()).epoch

    def hello(self) -> Status:
        """Ask the device who it is; everything that it had to say before is thrown away. LinkError if it is silent or
        another one."""
        watch = Watch(self.seconds)
        before = replace(self.counters)
        nonces: set[int] = set()
        while len(nonces) < self.patience and not watch.over:
            # an answer to any of them will do: it may be late
            nonces.add(self._send_hello())
            status = self._answered(nonces)
            if status is not None:
                self.amid = False
                return status
        since = self.counters - before
        told = ""
        if since.damaged:
            told = f": {since.measured()}"
        elif self.deframer.unframed:
            # the usual sign of a wrong baud rate
            told = ", only bytes that are no frames"
        raise LinkError(
            f"device: no answer to {len(nonces)} hellos{told}; check that the board is programmed, its port and baud "
            "rate"
        )

    def _answered(self, nonces: Container[int]) -> Status | None:
        """The answer to one of these hellos; None after silence, or where nothing else comes for as long."""
        quiet = Watch(DEFAULT_TIMEOUT)
        while (frames := self._receive(quiet)) is not None:
            for kind, payload in frames:
                status = self._accepted(kind, payload, nonces)
                if status is not None:
                    return status
            if quiet.over:
                break
        return None

    def exchange(
        self,
        packets: Sequence[bytes],
        progress: Progress = lambda done, total: None,
        epoch: int | None = None,
    ) -> list[bytes | None]:
        """Send task packets (their tags do not matter) and return each one's result packet; None for a task that was
        lost ``attempts`` times. LinkError where the device falls silent, is another one, or the line is too bad.

        Where an ``epoch`` is given, all results are of it, or this ends with a DeviceResetError.
        """
        # after an exchange that was broken off, results of its tasks may still be on their way
        status = self.hello() if self.amid or self.status is None else self.status
        self.amid = True
        results = _Exchange(self, packets, status.capacity, progress, epoch).run()
        self.amid = False
        return results

    def close(self) -> None:
        """Let go of the device."""
        self.transport.close()

    def _send_hello(self) -> int:
        nonce = int.from_bytes(secrets.token_bytes(NONCE_BYTES), "little")
        self.transport.write(frame_bytes(Kind.HELLO, nonce.to_bytes(NONCE_BYTES, "little")))
        self.counters.hellos += 1
        return nonce

    def _receive(self, quiet: Watch) -> list[Frame] | None:
        """Frames from the device, at least one; None after silence, or after noise until ``quiet`` is over."""
        while data := self.transport.read():
            frames = self.deframer.feed(data)
            # the deframer counts over all calls, as the link does
            self.counters.damaged = self.deframer.damaged
            self.counters.whole += len(frames)
            if frames:
                return frames
            if quiet.over:
                return None
        return None

    def _accepted(self, kind: int, payload: bytes, nonces: Container[int]) -> Status | None:
        """The status in a frame, if it answers a hello with one of these ``nonces``. LinkError unless it is the right
        device's."""
        head = read_version(payload) if kind == Kind.HELLO else None
        if head is None or head[0] not in nonces:
            return None
        # before the rest is unpacked, whose layout is the version's
        check_version("device", head[1], PROTOCOL_VERSION)
        status = Status.unpack(payload)
        if status is None:
            return None
        if self.identity is not None:
            check_design("device", status.identity, self.identity, self.name)
        self.status = status
        return status


class _Exchange:
    """One call of :meth:`ByteLink.exchange`."""

    def __init__(
        self,
        link: ByteLink,
        packets: Sequence[bytes],
        capacity: int,
        progress: Progress,
        epoch: int | None,
    ) -> None:
        self.link, self.packets, self.progress, self.epoch = link, packets, progress, epoch
        self.ledger = Ledger(len(packets), link.attempts)
        self.room = capacity
        self.tags = deque(range(1 << TAG_BITS))
        # the tag that was free for longest comes first: a late result then answers nothing
        self.tags.rotate(-link.next_tag)
        self.flights: dict[int, _Flight] = {}
        self.order: defaultdict[int, deque[_Flight]] = defaultdict(deque)
        """Flights by their functions' codes, in the order of sending."""
        self.serial = 0
        self.confirmed = not packets
        """Whether a status came after the last result."""
        self.asked: dict[int, int] = {}
        """The hellos that may yet be answered: the number of tasks sent before each, by its nonce."""
        self.silent = 0
        """Hellos since the last progress."""
        self.before = replace(link.counters)
        self.quiet = Watch(DEFAULT_TIMEOUT)
        self.any_progress = Watch(link.seconds)
        self.task_progress = Watch(HELLOS_ONLY * link.seconds)

    def run(self) -> list[bytes | None]:
        ledger = self.ledger
        while ledger.waiting or self.flights or not self.confirmed:
            self._send()
            # with all sent, one question proves what becomes of the last ones
            if not ledger.waiting and not self.asked:
                self._ask()
            frames = self.link._receive(self.quiet)
            done = ledger.done
            for kind, payload in frames or ():
                self._take(kind, payload)
            if ledger.done > done:
                self._progress()
                self.task_progress.again()
            self._keep_time(silence=frames is None)
            self.progress(ledger.done, ledger.count)
        return ledger.results

    def _keep_time(self, silence: bool) -> None:
        """Ask again after silence; LinkError where there was no progress for too long."""
        if silence or self.quiet.over:
            self.silent += 1
            if self.silent <= self.link.patience:
                self._ask()
        # a device that answers hellos and no task would else be asked for ever
        stuck = self.ledger.done < self.ledger.count and self.task_progress.over
        if stuck or self.silent > self.link.patience or self.any_progress.over:
            raise self._failure()

    def _failure(self) -> LinkError:
        done = self.ledger.told()
        since = self.link.counters - self.before
        if since.bad:
            return LinkError(
                f"device: the line is too bad: {done} {since.measured()}; {since.REMEDY}"
            )
        return LinkError(
            f"device: silent {done}, {self.silent} hellos in a row; check the cable and reset the board"
        )

    def _send(self) -> None:
        """Send as much as the device has room for, in one write."""
        frames = []
        waiting = self.ledger.waiting
        while waiting and self.tags:
            packet = bytearray(self.packets[waiting[0]])
            cost = len(packet) + FRAME_BYTES
            # nothing in flight will free any more room
            if cost > self.room and not self.flights:
                raise LinkError(
                    f"device: has room for {self.room} bytes, a task needs {cost}; build its bitstream again"
                )
            if cost > self.room:
                break
            tag = self.tags.popleft()
            set_tag(packet, tag)
            self._depart(waiting.popleft(), tag, code_of(packet), cost)
            frames.append(frame_bytes(Kind.TASK, packet))
        if frames:
            self.link.counters.sent += len(frames)
            self.link.transport.write(b"".join(frames))

    def _depart(self, index: int, tag: int, code: int, cost: int) -> None:
        """A task is in flight from now on."""
        flight = _Flight(index, tag, code, cost, self.serial)
        self.link.next_tag = tag + 1
        self.room -= cost
        self.serial += 1
        self.flights[tag] = flight
        self.order[code].append(flight)

    def _ask(self) -> None:
        self.asked[self.link._send_hello()] = self.serial
        self.quiet.again()

    def _progress(self) -> None:
        self.silent = 0
        self.quiet.again()
        self.any_progress.again()

    def _take(self, kind: int, payload: bytes) -> None:
        if kind == Kind.HELLO:
            status = self.link._accepted(kind, payload, self.asked)
            if status is not None:
                self._take_status(status)
            return
        flight = self._flight_of(kind, payload)
        if flight is None:
            self.link.counters.stray += 1
            return
        queue = self.order[flight.code]
        # answers of one function keep their order: all before this one are lost
        while queue[0] is not flight:
            self._lose(queue.popleft())
        queue.popleft()
        self._land(flight)
        self.ledger.answer(flight.index, payload)
        # the device may have been reset since its last status: the exchange ends with another one
        self.confirmed = False

    def _flight_of(self, kind: int, payload: bytes) -> _Flight | None:
        """The task in flight that a frame answers, if it does one."""
        if kind != Kind.TASK or len(payload) < HEADER_BYTES:
            return None
        code, tag, _ = header(payload)
        flight = self.flights.get(tag)
        return flight if flight is not None and flight.code == code else None

    def _take_status(self, status: Status) -> None:
        """Count as lost all that was sent before the hello and is not answered."""
        # what was loaded into the device is gone, and results since the reset are of other parameters
        if self.epoch is not None and status.epoch != self.epoch:
            raise DeviceResetError
        self._progress()
        self.confirmed = True
        # hellos keep their order as well: answers to earlier ones are lost
        before = self.asked[status.nonce]
        while next(iter(self.asked)) != status.nonce:
            del self.asked[next(iter(self.asked))]
        del self.asked[status.nonce]
        for queue in self.order.values():
            while queue and queue[0].serial < before:
                self._lose(queue.popleft())

    def _lose(self, flight: _Flight) -> None:
        self._land(flight)
        self.link.counters.lost += 1
        self.ledger.lose(flight.index)

    def _land(self, flight: _Flight) -> None:
        """A task is no longer in flight: its tag and room are free."""
        del self.flights[flight.tag]
        self.tags.append(flight.tag)
        self.room += flight.cost


def connect(
    transport: Transport,
    identity: bytes | None,
    limit: int,
    name: str,
    attempts: int = DEFAULT_ATTEMPTS,
    patience: int = DEFAULT_PATIENCE,
    seconds: float = DEFAULT_SECONDS,
) -> ByteLink:
    """A link to the device of this ``identity``, or to any: the accelerator called ``name``, which sends payloads up to
    ``limit``.

    LinkError if it is silent, or was built for another robot, another set of functions or by another version.
    """
    link = ByteLink(transport, limit, identity, name, attempts, patience, seconds)
    link.hello()
    return link
