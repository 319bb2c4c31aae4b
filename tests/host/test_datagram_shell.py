"""The model of a shell for datagrams keeps the protocol: what it takes, what it drops and counts, what it answers."""

from __future__ import annotations

import numpy as np
import pytest

from rbdgen.emulation import bit_true_datagrams
from rbdgen.protocol.datagrams import (
    BODY_BYTES,
    DATAGRAM_VERSION,
    STATUS_BYTES,
    WHOLE,
    Datagram,
    Kind,
    Mark,
    Status,
    datagram_bytes,
    join_packets,
    read_datagram,
    request_bytes,
)
from rbdgen.protocol.packets import header, set_tag, task_packets
from rbdgen.protocol.tasks import Flag
from rbdgen.shells.datagram_shell import OWNED_SECONDS, DatagramShell
from tests.conftest import design
from tests.host.ethernet import LONG, long_shell, with_check_sum

HOST, OTHER = "host", "other"
SESSION = 77


class Talk:
    """A host that says what it is told to, to a device with a session of its own."""

    def __init__(self, shell: DatagramShell | None = None) -> None:
        self.shell = shell or bit_true_datagrams(
            design("pendulum2", functions=("id", "m"), ii=4, calibratable=True)
        )
        self.time = 0.0
        self.shell.clock = lambda: self.time
        self.say(Kind.OPEN, SESSION, 5)

    def say(
        self,
        kind: int,
        session: int = SESSION,
        number: int = 0,
        body: bytes | None = None,
        marks: int = 0,
        sender: str = HOST,
    ) -> list[tuple[Datagram, str]]:
        """What the device answers to a datagram, and whom; a request for a status has the body that it needs."""
        if body is None:
            body = bytes(STATUS_BYTES)
        return self.hear(datagram_bytes(kind, session, number, body, marks), sender)

    def hear(self, data: bytes, sender: str = HOST) -> list[tuple[Datagram, str]]:
        """What the device answers to any bytes, and whom."""
        self.shell.receive(data, sender)
        answers = []
        for answer, host in self.shell.outgoing():
            datagram = read_datagram(answer)
            assert datagram is not None
            answers.append((datagram, host))
        return answers

    def status(self, session: int = SESSION, sender: str = HOST) -> Status:
        """The device's."""
        ((datagram, host),) = self.say(Kind.HELLO, session, 9, sender=sender)
        assert (datagram.kind, datagram.number, host) == (Kind.HELLO, 9, sender)
        status = Status.unpack(datagram.body)
        assert status is not None
        return status

    def task(self, tag: int = 3) -> bytes:
        """The body of a task."""
        tasks = self.shell.tasks
        name, f = next(iter(tasks.functions.items()))
        (packet,) = task_packets(tasks, name, np.zeros((1, len(f.operands)), np.int64))
        tagged = bytearray(packet)
        set_tag(tagged, tag)
        ((body, _),) = join_packets([bytes(tagged)])
        return bytes(body)


def test_a_session_is_told_with_the_first_nonce_since_the_reset() -> None:
    talk = Talk()
    status = talk.status()
    assert (status.epoch, status.taken, status.told, status.accepted) == (5, 0, 0, 2)
    assert status.identity == talk.shell.identity
    talk.shell.reset()
    ((datagram, _),) = talk.say(Kind.HELLO, SESSION, 6)
    assert datagram.session == 0
    assert len(datagram.body) == STATUS_BYTES
    assert talk.status().epoch == 6


def test_tasks_are_answered_to_the_owner_with_their_tags() -> None:
    talk = Talk()
    ((datagram, host),) = talk.say(Kind.TASKS, SESSION, 0, talk.task(3) + talk.task(250), WHOLE)
    length = talk.shell.answer_lengths[0]
    step = -(-length // 4) * 4
    tags = [header(datagram.body[k : k + 2])[1] for k in range(0, len(datagram.body), step)]
    assert (datagram.session, datagram.number, host, tags) == (SESSION, 0, HOST, [3, 250])
    ((datagram, _),) = talk.say(Kind.TASKS, SESSION, 1, talk.task(), WHOLE)
    assert datagram.number == 1
    status = talk.status()
    assert (status.taken, status.told) == (2, 2)


def test_an_unknown_function_is_answered() -> None:
    talk = Talk()
    ((datagram, _),) = talk.say(Kind.TASKS, SESSION, 0, bytes([31 | 1 << 5, 0, 0, 0]), WHOLE)
    assert header(datagram.body) == (31, 1, Flag.FUNCTION)


@pytest.mark.parametrize(
    ("counter", "kind", "session", "number", "body", "marks", "sender"),
    [
        ("rejected", Kind.TASKS, SESSION + 1, 0, "task", WHOLE, HOST),
        ("rejected", Kind.TASKS, 0, 0, "task", WHOLE, HOST),
        ("rejected", Kind.TASKS, SESSION, 0, "task", WHOLE, OTHER),
        ("rejected", Kind.TASKS, SESSION, 0, "", WHOLE, HOST),
        ("rejected", Kind.TASKS, SESSION, 0, "cut", WHOLE, HOST),
        ("rejected", Kind.TASKS, SESSION, 0, "task", Mark.BEGINS, HOST),
        ("rejected", Kind.TASKS, SESSION, 0, "task", Mark.ENDS, HOST),
        ("rejected", Kind.HELLO, SESSION, 0, "task", 0, HOST),
        ("rejected", Kind.OPEN, SESSION, 0, "task", 0, OTHER),
        ("rejected", Kind.HELLO, SESSION, 0, "", 0, HOST),
        ("rejected", Kind.OPEN, SESSION, 0, "short", 0, OTHER),
        ("rejected", Kind.HELLO, SESSION, 0, "long", 0, HOST),
        ("rejected", 0, SESSION, 0, "", 0, HOST),
        ("rejected", 4, SESSION, 0, "", 0, HOST),
        ("repeated", Kind.TASKS, SESSION, (1 << 32) - 1, "task", WHOLE, HOST),
        ("repeated", Kind.TASKS, SESSION, 1 << 31, "task", WHOLE, HOST),
    ],
)
def test_what_is_no_task_is_dropped_and_counted(
    counter: str, kind: int, session: int, number: int, body: str, marks: int, sender: str
) -> None:
    talk = Talk()
    task = talk.task()
    bodies = {"task": task, "cut": task + task[:4], "": b""}
    bodies |= {"short": bytes(STATUS_BYTES - 4), "long": bytes(STATUS_BYTES + 4)}
    assert talk.say(kind, session, number, bodies[body], marks, sender) == []
    status = talk.status()
    counts = {name: getattr(status, name) for name in ("damaged", "rejected", "repeated")}
    assert counts.pop(counter) == 1
    assert not any(counts.values())
    assert (status.taken, status.overrun) == (0, 0)


def test_what_is_not_whole_is_counted_as_damaged() -> None:
    talk = Talk()
    data = datagram_bytes(Kind.TASKS, SESSION, 0, talk.task(), WHOLE)
    for damaged in (data[:-1], data[4:], b"", b"\0" + data[1:]):
        assert talk.hear(damaged) == []
    assert talk.status().damaged == 4


def test_another_version_is_rejected() -> None:
    talk = Talk()
    data = bytearray(request_bytes(Kind.HELLO, SESSION, 0))
    data[1] = DATAGRAM_VERSION - 1
    assert talk.hear(with_check_sum(bytes(data[:-4]))) == []
    assert talk.status().rejected == 1


def test_gaps_are_losses_and_what_comes_again_is_not_taken() -> None:
    talk = Talk()
    for number, taken in ((3, 4), (3, 4), (1, 4), (4, 5)):
        talk.say(Kind.TASKS, SESSION, number, talk.task(), WHOLE)
        assert talk.shell.taken == taken
    status = talk.status()
    assert (status.told, status.repeated, status.rejected) == (2, 2, 0)


def test_another_host_gets_the_device_when_its_owner_says_nothing() -> None:
    talk = Talk()

    def opened(session: int) -> int:
        ((datagram, host),) = talk.say(Kind.OPEN, session, 1, sender=OTHER)
        assert host == OTHER
        return datagram.session

    assert opened(78) == SESSION
    talk.time = 0.9 * OWNED_SECONDS
    talk.status()
    talk.time = 1.8 * OWNED_SECONDS
    assert opened(78) == SESSION
    assert opened(0) == SESSION
    talk.time = 2.0 * OWNED_SECONDS
    assert opened(78) == 78
    # opened once more it changes nothing
    talk.say(Kind.TASKS, 78, 0, talk.task(), WHOLE, OTHER)
    talk.time = 9.0
    assert opened(78) == 78
    assert talk.shell.taken == 1
    assert talk.say(Kind.TASKS, SESSION, 0, talk.task(), WHOLE) == []


def long_bodies(seed: int) -> list[tuple[bytes, int]]:
    """The bodies of a long task between two short ones."""
    random = np.random.default_rng(seed)
    packets: list[bytes] = []
    for name in ("short", "shrinks", "short"):
        raw = random.integers(0, 100, (1, len(LONG.functions[name].operands)))
        packets += task_packets(LONG, name, raw)
    bodies = [(bytes(body), marks) for body, marks in join_packets(packets)]
    assert [marks for _, marks in bodies] == [WHOLE, Mark.BEGINS, *[0] * 3, Mark.ENDS, WHOLE]
    assert len(bodies[2][0]) == BODY_BYTES
    return bodies


def test_a_long_task_is_taken_when_all_of_it_came() -> None:
    talk = Talk(long_shell())
    answers = []
    for number, (body, marks) in enumerate(long_bodies(1)):
        answers.append(len(talk.say(Kind.TASKS, SESSION, number, body, marks)))
    assert answers == [1, 0, 0, 0, 0, 1, 1]
    assert talk.status().told == 3


@pytest.mark.parametrize("missing", range(1, 6))
def test_a_long_task_of_which_a_part_is_missing_is_none(missing: int) -> None:
    talk = Talk(long_shell())
    answered = 0
    for number, (body, marks) in enumerate(long_bodies(1)):
        if number != missing:
            answered += len(talk.say(Kind.TASKS, SESSION, number, body, marks))
    assert answered == 2
    status = talk.status()
    # the parts behind it are no continuation of what came before
    assert (status.taken, status.told, status.rejected) == (7, 2, 5 - missing)


def test_a_request_between_the_parts_of_a_task_ends_it() -> None:
    talk = Talk(long_shell())
    answered = 0
    for number, (body, marks) in enumerate(long_bodies(1)):
        if number == 3:
            talk.status()
        answered += len(talk.say(Kind.TASKS, SESSION, number, body, marks))
    assert answered == 2
    assert (talk.status().taken, talk.status().rejected) == (7, 3)


def test_a_part_may_be_followed_by_whole_tasks() -> None:
    talk = Talk(long_shell())
    short, *parts, last = long_bodies(1)
    tail, _ = parts.pop()
    bodies = [*parts, (tail + short[0] + last[0], Mark.ENDS)]
    answers = []
    for number, (body, marks) in enumerate(bodies):
        answers.append(talk.say(Kind.TASKS, SESSION, number, body, marks))
    assert [len(answer) for answer in answers] == [0, 0, 0, 0, 1]
