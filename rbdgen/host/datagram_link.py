"""The host's end of a link over datagrams: datagrams and time in, datagrams out.

It knows neither sockets nor clocks, so that it runs in front of a network (:mod:`rbdgen.host.udp`) and, in simulated
time, of a simulated device. What a session proves of tasks is in :mod:`rbdgen.host.sessions`; here is when something is
sent, what is done about silence, and how long to wait.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from rbdgen.errors import LinkError
from rbdgen.host.exchanges import (
    HELLOS_ONLY,
    Counters,
    DeviceResetError,
    Ledger,
    Watch,
    check_design,
    check_version,
)
from rbdgen.host.manifest import Manifest
from rbdgen.host.sessions import TAGS, Batch, Session
from rbdgen.protocol.datagrams import (
    DATAGRAM_VERSION,
    WORD_BYTES,
    Datagram,
    Kind,
    Status,
    read_datagram,
    request_bytes,
    result_lengths,
)
from rbdgen.protocol.tasks import TaskFormat

FIRST_QUIET = 0.02
"""Seconds of silence after which a device is asked again, twice as many each time."""
LONGEST_QUIET = 0.5
OPENING_SECONDS = 5.0
"""Time limit of a device's first answer when it is opened."""
OWNED_SECONDS = 2.0
"""Time for which a device is asked again that is another host's; it is given up where that says nothing for a
second."""
ASK_EVERY = TAGS // 2
"""Tasks after which a HELLO is sent along."""


@dataclass
class DatagramCounters(Counters):
    """The same of datagrams: ``stray`` are also those of another session, version or kind, and those that come
    twice."""

    UNIT: ClassVar[str] = "datagrams"
    REMEDY: ClassVar[str] = "check the cable, and the switch if there is one"


class _Quiet:
    """Silence that is answered by asking: after 20 ms, and from then on after twice as long as before."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.watch = Watch(0.0, clock)

    def again(self, seconds: float = FIRST_QUIET) -> None:
        """Something came."""
        self.watch.seconds = seconds
        self.watch.again()

    def longer(self) -> None:
        """Nothing came, and the device was asked."""
        self.again(min(max(2 * self.watch.seconds, FIRST_QUIET), LONGEST_QUIET))


class _Opening:
    """A session that the device is asked for."""

    def __init__(self, clock: Callable[[], float], seconds: float) -> None:
        # by chance: a session's name must not be one that another host may have; 0 names none
        self.name = int.from_bytes(secrets.token_bytes(WORD_BYTES), "little") or 1
        self.nonces: set[int] = set()
        self.quiet = _Quiet(clock)
        self.nobody = Watch(seconds, clock)
        self.owned: Watch | None = None
        """Since the device said that it is another host's."""


@dataclass(frozen=True)
class Anyone:
    """What is asked of a device where it may be any that speaks by these ``tasks``, in place of a manifest."""

    tasks: TaskFormat
    identity: bytes | None = None
    name: str = ""


class HostEnd:
    """The host's end of a link to the device at ``address`` that must be the ``manifest``'s.

    :meth:`open` it, or :meth:`begin` an exchange; then send what is :meth:`outgoing`, wait for a datagram for
    :attr:`wait` seconds, and give it to :meth:`receive`, until nothing is left to do (:attr:`idle`). ``clock``: seconds
    since any time. ``attempts``: how often a task is sent before it counts as lost; ``seconds``: how long nothing may
    come of waiting. LinkError from either where the device is silent or another one, or somebody else's.
    """

    def __init__(
        self,
        manifest: Manifest | Anyone,
        address: str,
        clock: Callable[[], float],
        attempts: int,
        seconds: float,
    ) -> None:
        self.manifest, self.tasks, self.clock = manifest, manifest.tasks, clock
        self.device = f"device {address}"
        self.attempts, self.seconds = attempts, seconds
        self.lengths = result_lengths(manifest.tasks)
        self.counters = DatagramCounters()
        self.status: Status | None = None
        """The device's last."""
        self.session: Session | None = None
        self.exchange: _Exchange | None = None
        self.opening: _Opening | None = None
        self.cause = "was reset"
        """By what the last session ended."""
        self.trouble = ""
        """The network's complaints of the path to the device, since it last answered."""

    def learn(self, tasks: TaskFormat) -> None:
        """Packets are as long as these ``tasks`` say from now on."""
        self.tasks, self.lengths = tasks, result_lengths(tasks)
        if self.session is not None:
            self.session.learn(tasks)

    @property
    def idle(self) -> bool:
        """Whether nothing is left to do."""
        return self.opening is None and (self.exchange is None or self.exchange.over)

    @property
    def wait(self) -> float:
        """Seconds until something is to be done even if nothing comes."""
        if self.opening is not None:
            return self.opening.quiet.watch.left
        return 0.0 if self.exchange is None else self.exchange.wait

    def open(self) -> None:
        """Ask for a session, unless there is one."""
        if self.session is None and self.opening is None:
            met = self.status is not None
            # a device that never answered is most often not there at all: say so soon
            seconds = self.seconds if met else min(self.seconds, OPENING_SECONDS)
            self.opening = _Opening(self.clock, seconds)
            self.before = replace(self.counters)

    def begin(self, packets: Sequence[bytes], epoch: int | None) -> Ledger:
        """Begin an exchange of task packets, at least one; their tags do not matter. What becomes of them is in the
        ledger. Where an ``epoch`` is given, which is a session's name, all results are of that session, or this ends
        with a DeviceResetError."""
        if epoch is not None and (self.session is None or self.session.name != epoch):
            raise DeviceResetError(self.cause)
        self.open()
        self.exchange = _Exchange(self, packets, epoch)
        return self.exchange.ledger

    def finish(self) -> None:
        """Let go of what was begun, whether it is over or not."""
        self.opening = self.exchange = None

    def outgoing(self) -> list[bytes]:
        """The datagrams that are to be sent now."""
        if self.opening is not None:
            return self._ask_for_session(self.opening)
        return [] if self.exchange is None else self.exchange.outgoing()

    def unreachable(self, why: str, remedy: str) -> None:
        """Take notice of what the network says of the way to the device. LinkError if that never answered."""
        if self.status is None:
            raise LinkError(f"{self.device}: {why}; {remedy}")
        # it answered once, so that the network may be mended while there is time
        self.trouble = f" ({why})"

    def receive(self, data: bytes) -> None:
        """Take a datagram that came from the device's address."""
        datagram = read_datagram(data)
        if datagram is None:
            self.counters.damaged += 1
            return
        self.counters.whole += 1
        if not self._take(datagram):
            self.counters.stray += 1

    def _take(self, datagram: Datagram) -> bool:
        """Whether a datagram says anything."""
        if datagram.kind == Kind.HELLO:
            return self._take_status(datagram)
        session, exchange = self.session, self.exchange
        if (datagram.kind, datagram.version) != (Kind.TASKS, DATAGRAM_VERSION):
            return False
        if session is None or exchange is None or datagram.session != session.name:
            return False
        return exchange.take(datagram)

    def _take_status(self, datagram: Datagram) -> bool:
        nonce, opening, session = datagram.number, self.opening, self.session
        # only answers to questions of this host count: others' statuses are no facts about its session
        opens = opening is not None and nonce in opening.nonces
        if not opens and (session is None or nonce not in session.asked):
            return False
        # before the body is read, which another version may lay out in another way
        check_version(self.device, datagram.version, DATAGRAM_VERSION)
        status = Status.unpack(datagram.body)
        if status is None:
            return False
        if self.manifest.identity is not None:
            check_design(self.device, status.identity, self.manifest.identity, self.manifest.name)
        self.trouble = ""
        if opening is not None and opens:
            self._opened(opening, datagram.session, status)
        elif session is not None:
            self._told(session, datagram, status)
        self.status = status
        return True

    def _opened(self, opening: _Opening, name: int, status: Status) -> None:
        """The device's answer to an OPEN: the session that it holds."""
        # somebody is there, even where the session is another host's
        opening.nobody.again()
        if name != opening.name:
            opening.owned = opening.owned or Watch(OWNED_SECONDS, self.clock)
            return
        self.opening = None
        self.session = Session(name, status, self.tasks)
        if self.exchange is not None:
            self.exchange.again()

    def _told(self, session: Session, datagram: Datagram, status: Status) -> None:
        """The device's answer to a HELLO."""
        ours = (datagram.session, status.epoch) == (session.name, session.epoch)
        # before the session forgets the question
        sent = session.asked[datagram.number].sent
        lost = session.settle(datagram.number, status) if ours else None
        if lost is None:
            self._ended(session, status)
        elif self.exchange is not None:
            self.exchange.told(sent, lost)

    def _ended(self, session: Session, status: Status) -> None:
        """The device has another session than this one."""
        # a reset changes the epoch, another host's session does not
        taken_over = status.epoch == session.epoch
        self.cause = "was used by another host" if taken_over else "was reset"
        self.session = None
        exchange = self.exchange
        if exchange is None or exchange.over:
            return
        if exchange.epoch is not None:
            raise DeviceResetError(self.cause)
        exchange.lose(session.abandon())
        self.open()

    def _ask_for_session(self, opening: _Opening) -> list[bytes]:
        if opening.owned is not None and opening.owned.over:
            raise LinkError(
                f"{self.device}: is in use by another host; end what drives it there, or wait until it is done"
            )
        if opening.nobody.over:
            # a device that was met before fell silent amid an exchange, which knows more
            exchange = self.exchange if self.status else None
            raise exchange.failure() if exchange else self._unanswered(opening)
        if not opening.quiet.watch.over:
            return []
        nonce = self.nonce()
        # answers to earlier questions still count: they may be late
        opening.nonces.add(nonce)
        opening.quiet.longer()
        return [request_bytes(Kind.OPEN, opening.name, nonce)]

    def nonce(self) -> int:
        """That of the next HELLO or OPEN."""
        self.counters.hellos += 1
        return int.from_bytes(secrets.token_bytes(WORD_BYTES), "little")

    def _unanswered(self, opening: _Opening) -> LinkError:
        since = self.counters - self.before
        came = since.damaged + since.whole
        told = f", but {came} other datagrams" if came else ""
        return LinkError(
            f"{self.device}: no answer to {len(opening.nonces)} hellos{told}{self.trouble}; check that the board is "
            "programmed, its cable and its address"
        )


class _Exchange:
    """One exchange of tasks."""

    def __init__(self, end: HostEnd, packets: Sequence[bytes], epoch: int | None) -> None:
        self.host, self.packets, self.epoch = end, packets, epoch
        self.ledger = Ledger(len(packets), end.attempts)
        self.batch = self._batch()
        self.before = replace(end.counters)
        self.any_progress = Watch(end.seconds, end.clock)
        self.task_progress = Watch(HELLOS_ONLY * end.seconds, end.clock)
        self.quiet = _Quiet(end.clock)
        self.quiet.again()
        self.unasked = 0
        """Tasks that were sent since the last HELLO."""
        self.datagrams = 0
        """Of TASKS that were sent so far."""
        self.due: list[bytes] = []
        """Datagrams to be sent before anything else."""
        self.heard = False
        """Whether hellos were answered since the last result."""
        if end.session is not None:
            # results of an exchange that was broken off may still come, and answer nobody
            end.session.abandon()
            if end.session.flights:
                self._ask(end.session)

    @property
    def over(self) -> bool:
        """Whether every task is answered, or lost for good."""
        return self.ledger.done == self.ledger.count

    @property
    def wait(self) -> float:
        """Seconds until something is to be done even if nothing comes."""
        watches = self.quiet.watch, self.any_progress, self.task_progress
        return min(watch.left for watch in watches)

    def outgoing(self) -> list[bytes]:
        """The datagrams that are to be sent now."""
        session = self.host.session
        if self.over or session is None:
            return []
        if self.any_progress.over or self.task_progress.over:
            raise self.failure()
        self._send(session)
        if self.quiet.watch.over:
            self._ask(session)
            # after a silence, what was tried before may help now
            session.probed = None
            self.quiet.longer()
        # no silence so far, but without a status no tag of a lost task would become free
        elif self.unasked >= ASK_EVERY or self._stopped(session):
            self._ask(session)
        due, self.due = self.due, []
        return due

    def take(self, datagram: Datagram) -> bool:
        """Take results. Whether there were any."""
        session = self.host.session
        assert session is not None
        indices, packets, stray = session.land(datagram)
        if stray:
            self.host.counters.stray += max(stray, 0)
        if indices:
            self.ledger.answer_all(indices, packets)
            self.task_progress.again()
            self.heard = False
            self._progress()
        return stray >= 0

    def told(self, sent: int, lost: list[int]) -> None:
        """The device told its status, by the answer to a HELLO that was sent when TASKS below ``sent`` were."""
        session = self.host.session
        assert session is not None
        self.any_progress.again()
        self.lose(lost)
        probe = session.probe(sent)
        self.due += probe
        self.heard = True
        if probe or session.suspects(sent):
            self._ask(session)

    def lose(self, indices: list[int]) -> None:
        """Tasks were lost on their way."""
        done = self.ledger.done
        for index in indices:
            if index >= 0:
                self.host.counters.lost += 1
                self.ledger.lose(index)
        # a task that is given up is progress as well: the exchange comes to its end
        if self.ledger.done > done:
            self.task_progress.again()

    def again(self) -> None:
        """Go on in another session."""
        self.due = []
        self.unasked = 0
        self._progress()
        self.task_progress.again()

    def _send(self, session: Session) -> None:
        """Send what the device has room for."""
        while True:
            if self.batch.over:
                if not self.ledger.waiting:
                    return
                self.batch = self._batch()
            datagrams, count = session.depart(self.batch)
            if not count:
                break
            self.due += datagrams
            self.datagrams += len(datagrams)
            self.unasked += count
            self.host.counters.sent += count
        # with nothing in flight, no room will ever become free
        if not session.flights:
            raise LinkError(
                f"{self.host.device}: has room for {session.room} bytes, a task needs {session.needs(self.batch)}; "
                "build its bitstream again"
            )

    def _stopped(self, session: Session) -> bool:
        """Whether no more can be sent now, and no HELLO is on its way since. A datagram alone gets none: it is
        answered, or there is silence."""
        return self.unasked > 0 and self.datagrams > 1 and not session.asked

    def _batch(self) -> Batch:
        """The tasks that wait."""
        indices = [*self.ledger.waiting]
        self.ledger.waiting.clear()
        packets = [self.packets[index] for index in indices]
        return Batch(packets, indices, self.host.lengths)

    def _ask(self, session: Session) -> None:
        self.due.append(session.ask(self.host.nonce()))
        self.unasked = 0

    def _progress(self) -> None:
        self.quiet.again()
        self.any_progress.again()

    def failure(self) -> LinkError:
        """The error where nothing came of waiting."""
        done, device = self.ledger.told(), self.host.device
        since = self.host.counters - self.before
        # the line's figures explain a silence better than the silence itself
        if since.bad:
            return LinkError(
                f"{device}: the line is too bad: {done} {since.measured()}; {since.REMEDY}"
            )
        if self.heard and not self.any_progress.over:
            return LinkError(f"{device}: answers hellos, but no tasks, {done}; {since.REMEDY}")
        return LinkError(
            f"{device}: silent {done} for {self.host.seconds:g} s{self.host.trouble}; check the cable, and that the "
            "board has power"
        )
