"""A session with a device over datagrams, on the host's side: which task is in which of them, and which are lost.

Nothing here waits or knows the time. A result's tag names its task, which is in flight from when its datagram is made
until it is answered or proved lost. Facts that make that certain, whatever is lost, comes twice or in another order:

- A datagram of results is taken once, by its number. A task is taken once by the device, by its datagram's number.
- The device takes none whose number is below the one that it expects. So a status proves that datagrams below its
  ``taken`` were taken before, or never will be.
- A HELLO that is sent when that is known is answered after everything below it. Of those tasks all that were taken are
  answered in datagrams below the answer's ``told``. The others are lost; and since results below that mark are dropped
  from then on, their tags are free.
- Where nothing else is there to be sent, a task of no function makes the device pass over what was lost last.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rbdgen.protocol.datagrams import (
    BODY_BYTES,
    OVERHEAD_BYTES,
    WHOLE,
    Datagram,
    Kind,
    Mark,
    Status,
    ahead,
    behind_whole,
    cut,
    datagram_bytes,
    packet_starts,
    padded,
    padded_stream,
    request_bytes,
    result_lengths,
    task_lengths,
)
from rbdgen.protocol.packets import TAG_MASK
from rbdgen.protocol.tasks import CALIBRATE, CODES, FUNCTION_BITS, TAG_BITS, TaskFormat, join_header

TAGS = 1 << TAG_BITS
PROBE_TAG = TAGS - 1
"""The tag of tasks of no function, for whose answers nobody waits; tasks in flight have the others."""
PROBE_ROOM = 256
"""Bytes of the device's room for tasks of no function."""
MOST_ANSWERS = 1 << 16
"""Bytes of results that may be on their way at once, so that a socket has room for them: under Linux for 90 datagrams
unless it is told otherwise."""
FREE = -1
"""In place of a task's index: the tag is free."""
ABANDONED = -2
"""In place of a task's index: nobody waits for its result any more, but it may still come."""
_NUMBERS = (1 << 32) - 1
_CODES = (1 << FUNCTION_BITS) - 1
_NEVER = 1 << 62
"""More than any datagram's number."""


class Batch:
    """Task packets with their ``indices``, to be sent in this order: ``first`` is the next. Their results have these
    ``lengths`` by function code."""

    def __init__(
        self, packets: Sequence[bytes], indices: Sequence[int], lengths: Sequence[int]
    ) -> None:
        stream, ends = padded_stream(packets)
        self.stream = memoryview(stream)
        self.indices = np.array(indices, np.int64)
        self.ends: list[int] = ends.tolist()
        """Where each packet ends in the stream."""
        self.sizes = np.diff(ends, prepend=0)
        self.headers = np.frombuffer(stream, "<u2")
        self.places = (ends - self.sizes) // 2
        # tags are filled in when a task departs: only then is it known which are free
        untagged = self.headers[self.places] & np.uint16(0xFFFF ^ TAG_MASK)
        self.untagged = untagged.astype(np.int64)
        codes = self.untagged & _CODES
        self.flights = np.stack([self.indices, codes, self.sizes, self.sizes], axis=1)
        """Of each packet what a session keeps of it while it is in flight, but for the datagram's number."""
        answers = np.array(lengths)[codes]
        # by the longest answer: which results come together is not known
        self.most = max(1, min(PROBE_TAG, MOST_ANSWERS // int(answers.max())))
        """Of them that may be in flight."""
        self.first = 0

    @property
    def begin(self) -> int:
        """Where the next packet begins."""
        return self.ends[self.first - 1] if self.first else 0

    @property
    def over(self) -> bool:
        """Whether all were sent."""
        return self.first == len(self.indices)

    def fitting(self, size: int) -> int:
        """Number of the next packets that have no more than ``size`` bytes."""
        return bisect_right(self.ends, self.begin + size) - self.first


class Asked(NamedTuple):
    """A HELLO that may yet be answered. When it was sent, the device was known to expect no number below ``taken``,
    TASKS below ``sent`` were on their way, and its results below ``told`` had come."""

    taken: int
    sent: int
    told: int


class Arrivals:
    """The bodies of numbered datagrams as streams of whole packets, of these ``lengths`` by function code."""

    def __init__(self, lengths: Sequence[int]) -> None:
        self.lengths = lengths
        self.base = 0
        """All below came, or are not taken any more."""
        self.seen: set[int] = set()
        """Numbers above that came."""
        self.held: dict[int, Datagram] = {}
        """Datagrams that go on with a packet of which the part before is missing, by their numbers."""
        self.rests: dict[int, bytes] = {}
        """Parts of packets, by the numbers of the datagrams that go on with them."""

    def take(self, datagram: Datagram) -> bytes | None:
        """The packets that are whole now; None where it came before, or is too late."""
        number = self.base + ahead(datagram.number, self.base & _NUMBERS)
        # networks deliver twice, and late
        if number < self.base or number in self.seen:
            return None
        self.seen.add(number)
        self._advance()
        # most datagrams neither begin nor end amid a packet
        if datagram.marks & WHOLE == WHOLE:
            return datagram.body
        self.held[number] = datagram
        return b"".join(self._continued(number))

    def forget(self, told: int) -> None:
        """Take nothing below ``told``, a number as it is sent, any more."""
        self.base = max(self.base, self.base + ahead(told, self.base & _NUMBERS))
        self.seen = {number for number in self.seen if number >= self.base}
        self.held = {k: datagram for k, datagram in self.held.items() if k >= self.base}
        # a rest at the mark itself is of a packet that began below it
        self.rests = {k: rest for k, rest in self.rests.items() if k > self.base}
        self._advance()

    def _advance(self) -> None:
        while self.base in self.seen:
            self.seen.remove(self.base)
            self.base += 1

    def _continued(self, number: int) -> list[bytes]:
        """The whole packets of datagrams that are held, from this one on, as far as their parts belong together."""
        found = []
        while number in self.held:
            body, begins = self.held[number].body, self.held[number].marks & Mark.BEGINS
            if not begins and number not in self.rests:
                break
            del self.held[number]
            stream = body if begins else self.rests.pop(number) + body
            _, rest = packet_starts(stream, self.lengths)
            found.append(stream[:rest])
            number += 1
            if rest < len(stream):
                self.rests[number] = stream[rest:]
        return found


class Session:
    """Session ``name`` with a device whose first ``status`` this is, and whose accelerator has these ``tasks``."""

    def __init__(self, name: int, status: Status, tasks: TaskFormat) -> None:
        self.name, self.epoch = name, status.epoch
        # room that is kept back for probes, which must get through when all else is full
        self.capacity = max(status.capacity - PROBE_ROOM, status.capacity // 2)
        self.arrivals = Arrivals(())
        self.learn(tasks)
        self.sent = 0
        """Number of the next TASKS."""
        self.taken = 0
        """The device is known to expect no number below."""
        self.nothing = memoryview(_task_of_no_function(tasks))
        self.probed: int | None = None
        """The count ``taken`` when the device was last sent a task of no function, since the last silence."""
        self.asked: dict[int, Asked] = {}
        """By the HELLO's nonce."""
        self.table = np.full((TAGS, 4), FREE)
        """By tag the task in flight, its function code, what it takes of the device's room, and the number of its last
        datagram."""
        # never free, so that no task is given this tag
        self.table[PROBE_TAG] = ABANDONED, FREE, 0, _NEVER
        self.index, self.code, self.cost, self.number = self.table.T
        self.room = self.capacity
        self.flights = 0
        """Tags that are not free."""

    def learn(self, tasks: TaskFormat) -> None:
        """Packets are as long as these ``tasks`` say from now on."""
        lengths = result_lengths(tasks)
        self.lengths = np.array(lengths)
        self.arrivals.lengths = lengths

    def depart(self, batch: Batch) -> tuple[list[bytes], int]:
        """The datagrams in which the next tasks are sent, one unless a task is longer than that, and how many tasks
        these are: none where it is better to wait."""
        count = self._count(batch)
        if not count:
            return [], 0
        begin, new = batch.begin, slice(batch.first, batch.first + count)
        end = batch.ends[new.stop - 1]
        tags = np.flatnonzero(self.index == FREE)[:count]
        untagged = batch.untagged[new]
        batch.headers[batch.places[new]] = untagged | tags << FUNCTION_BITS
        bodies = cut(batch.stream[begin:end])
        datagrams = [self._numbered(body, marks) for body, marks in bodies]
        overhead = OVERHEAD_BYTES * len(datagrams)
        # a task is taken with the last of its datagrams
        batch.flights[new, 3] = self.sent - 1
        # the first task of a datagram answers for its header, so that room adds up again
        batch.flights[batch.first, 2] += overhead
        self.table[tags] = batch.flights[new]
        self.flights += count
        self.room -= end - begin + overhead
        batch.first += count
        return datagrams, count

    def needs(self, batch: Batch) -> int:
        """Room of the device's that the next task alone takes."""
        size = int(batch.sizes[batch.first])
        return size + OVERHEAD_BYTES * -(-size // BODY_BYTES)

    def ask(self, nonce: int) -> bytes:
        """The HELLO with this nonce."""
        self.asked[nonce] = Asked(self.taken, self.sent, self.arrivals.base)
        return request_bytes(Kind.HELLO, self.name, nonce)

    def land(self, datagram: Datagram) -> tuple[list[int], list[bytes], int]:
        """The tasks that a datagram of results answers, by their indices, their packets, and how many of its packets
        answer none; -1 where it came before."""
        stream = self.arrivals.take(datagram)
        if stream is None:
            return [], [], -1
        starts, _ = packet_starts(stream, self.arrivals.lengths)
        headers = np.frombuffer(stream, "<u2")[starts // 2]
        codes = headers & _CODES
        tags = headers >> FUNCTION_BITS & (TAGS - 1)
        flights = self.table[tags]
        # where the tag's task has another code, nobody waits for this answer
        mine = (flights[:, 0] != FREE) & (flights[:, 1] == codes)
        stray = int(np.count_nonzero(~mine & (tags != PROBE_TAG)))
        if not mine.all():
            starts, tags, codes, flights = starts[mine], tags[mine], codes[mine], flights[mine]
        ends = starts + self.lengths[codes]
        cuts = zip(starts.tolist(), ends.tolist(), strict=True)
        packets = [stream[begin:end] for begin, end in cuts]
        self._free(tags)
        return flights[:, 0].tolist(), packets, stray

    def settle(self, nonce: int, status: Status) -> list[int] | None:
        """Tasks that the answer to the HELLO with this ``nonce`` proves lost, by index; None where it contradicts what
        was known before, so that this session is another one."""
        asked = self._answered(nonce)
        taken = self.sent + ahead(status.taken, self.sent & _NUMBERS)
        told = ahead(status.told, asked.told & _NUMBERS)
        # numbers only grow within a session
        if told < 0 or not asked.taken <= taken <= self.sent:
            return None
        self.taken = max(self.taken, taken)
        # what was taken has been answered below ``told``; it came, or is lost with its answer
        lost = np.flatnonzero((self.index != FREE) & (self.number < asked.taken))
        if not lost.size:
            return []
        # before tags become free: a late result must not answer their next tasks
        self.arrivals.forget(status.told)
        indices = self.index[lost].tolist()
        self._free(lost)
        return indices

    def probe(self, sent: int) -> list[bytes]:
        """Datagrams that make the device pass over datagrams that it still expects, after the answer to a HELLO that
        was sent at this number: nothing where others were sent since, or where it did not help since the last
        silence."""
        if sent != self.sent or self.taken == sent or self.taken == self.probed:
            return []
        self.probed = self.taken
        return [self._numbered(self.nothing, WHOLE)]

    def suspects(self, sent: int) -> bool:
        """Whether tasks that were sent before a HELLO, at this number, were taken or passed over and are not answered,
        and no HELLO is on its way whose answer proves what became of them."""
        if any(asked.taken >= self.taken for asked in self.asked.values()):
            return False
        limit = min(self.taken, sent)
        return bool(np.any((self.index != FREE) & (self.number < limit)))

    def abandon(self) -> list[int]:
        """Wait for nothing that is in flight any more; which tasks that were."""
        waiting = self.index >= 0
        indices = self.index[waiting].tolist()
        self.index[waiting] = ABANDONED
        return indices

    def _count(self, batch: Batch) -> int:
        """Number of tasks that go into the next datagram. One that is not full is sent only when the device has little
        to do, or when there are no more."""
        fitting = behind_whole(batch.ends, batch.first) - batch.first
        count = max(0, min(fitting, batch.most - self.flights))
        if self.needs(batch) > self.room:
            count = 0
        elif count > 1:
            count = min(count, batch.fitting(self.room - OVERHEAD_BYTES))
        if count == fitting:
            return count
        # a datagram that is not full has the same headers, and costs both ends as much
        busy = 2 * self.flights > batch.most or 2 * self.room < self.capacity
        return 0 if busy else count

    def _numbered(self, body: memoryview, marks: int) -> bytes:
        data = datagram_bytes(Kind.TASKS, self.name, self.sent & _NUMBERS, body, marks)
        self.sent += 1
        return data

    def _answered(self, nonce: int) -> Asked:
        """The HELLO with this nonce; those before it are not waited for any more."""
        # questions are answered in their order, so that earlier answers are lost
        for before in [*self.asked]:
            asked = self.asked.pop(before)
            if before == nonce:
                return asked
        raise KeyError(nonce)

    def _free(self, tags: np.ndarray) -> None:
        """A tag that is there twice, as no device sends it, is one."""
        if len(set(tags.tolist())) < len(tags):
            tags = np.unique(tags)
        self.room += int(self.cost[tags].sum())
        self.flights -= len(tags)
        self.index[tags] = FREE


def _task_of_no_function(tasks: TaskFormat) -> bytes:
    """The body of a datagram with a task that an accelerator with these ``tasks`` does not have."""
    known = {f.code for f in tasks.functions.values()}
    # the device answers it by an error, which nobody waits for; where programs come and go, no function ever has the
    # code of a task that loads a parameter
    code = max(code for code in CODES if code not in known)
    if tasks.resident:
        code = CALIBRATE
    word = join_header(code, PROBE_TAG)
    length = padded(task_lengths(tasks)[code])
    return word.to_bytes(length, "little")
