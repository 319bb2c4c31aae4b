"""Datagrams of a link over UDP (Ethernet): the one home of their format, for the host, its model of the shell, and RTL.

All numbers are words of 32 bits, lowest byte first. A datagram is a whole number of words: ``kind``, version, marks and
a constant, the session, a number, the body, and the CRC-32 of all that. The body of TASKS is packets
(:mod:`rbdgen.protocol.packets`), each padded with zeros to whole words: of tasks to the device, of results to the host.
A packet that does not fit any more goes into the next datagram; only what is longer than a whole one is cut, and goes
on there: such bodies are marked.

Datagrams may be lost, come twice and in another order. TASKS are numbered from 0 in each direction of a session, so
that each is taken once at most; a device takes none whose number is below one that it took. Whatever is not whole, or
of another session, is dropped and counted.

A request for a status, OPEN or HELLO, has a body as long as the answer's, and gets none otherwise: whoever sends one in
another's name cannot have more sent to it than was sent. What the body holds means nothing.

The host opens a session by OPEN. The device answers OPEN and HELLO by HELLO, with its :class:`Status`, once everything
that it accepted before is answered and sent. So of tasks below what the host knew of ``taken`` when it sent a HELLO,
those that are in no result datagram below ``told`` of its answer are lost.
"""

from __future__ import annotations

import struct
import zlib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import NamedTuple

import numpy as np

from rbdgen.protocol.frames import CRC_BYTES, IDENTITY_BYTES
from rbdgen.protocol.packets import code_of, packet_rows
from rbdgen.protocol.tasks import FUNCTION_BITS, Packing, TaskFormat

DEFAULT_PORT = 21058
"""UDP port of a device (0x5242, "RB"), which is registered for nothing else."""
MAGIC = 0x52
"""Highest byte of the first word ("R")."""
DATAGRAM_VERSION = 2
WORD_BYTES = 4
HEAD_BYTES = 3 * WORD_BYTES
"""Bytes before the body: kind and marks, session, number."""
OVERHEAD_BYTES = HEAD_BYTES + CRC_BYTES
"""Bytes of a datagram beside its body."""
MOST_BYTES = 1472
"""Of a datagram: what Ethernet carries without fragments, 1,500 bytes less the headers of IP and UDP."""
BODY_BYTES = MOST_BYTES - OVERHEAD_BYTES
"""The most of a body."""

_HEAD = struct.Struct("<4B2I")
_CRC = struct.Struct("<I")
_CODES = bytes(byte & (1 << FUNCTION_BITS) - 1 for byte in range(256))
"""The function code by the first byte of a packet."""
_WRAP = 1 << 32
_WHOLE = zlib.crc32(bytes(CRC_BYTES))
"""The CRC-32 of anything with its own CRC-32 behind it is that of four zeros."""


class Kind(IntEnum):
    """Kinds of datagrams."""

    TASKS = 1
    """Packets of tasks, or of results."""
    HELLO = 2
    """Asks for a status, or is one."""
    OPEN = 3
    """Asks for the session that it names, and a status."""


class Mark(IntFlag):
    """Marks of how the body of TASKS lies among packets."""

    BEGINS = 1
    """It begins with a new packet."""
    ENDS = 2
    """Its last packet ends in it."""


WHOLE = Mark.BEGINS | Mark.ENDS
"""The marks of a body of whole packets."""


class Datagram(NamedTuple):
    """A datagram that came whole; ``kind`` and ``version`` are any bytes. ``number``: of TASKS its own, of HELLO and
    OPEN the host's nonce. ``session`` is 0 where there is none."""

    kind: int
    version: int
    marks: int
    session: int
    number: int
    body: bytes


def datagram_bytes(
    kind: int, session: int, number: int, body: bytes | memoryview = b"", marks: int = 0
) -> bytes:
    """The datagram with this ``body``, which is whole words."""
    head = _HEAD.pack(kind, DATAGRAM_VERSION, marks, MAGIC, session, number)
    data = b"".join((head, body))
    return data + _CRC.pack(zlib.crc32(data))


def read_datagram(data: bytes) -> Datagram | None:
    """The datagram in a UDP payload; None unless it is whole: its length, constant and check sum are right."""
    size = len(data)
    if not OVERHEAD_BYTES <= size <= MOST_BYTES or size % WORD_BYTES:
        return None
    kind, version, marks, magic, session, number = _HEAD.unpack_from(data)
    if magic != MAGIC or zlib.crc32(data) != _WHOLE:
        return None
    return Datagram(kind, version, marks, session, number, data[HEAD_BYTES:-CRC_BYTES])


def following(number: int) -> int:
    """The number behind ``number``."""
    return (number + 1) % _WRAP


def ahead(number: int, other: int) -> int:
    """By how much ``number`` is ahead of the ``other`` one; less than 0 where it is behind."""
    # numbers start again behind the last: the shorter way round counts
    distance = (number - other) % _WRAP
    return distance if distance < _WRAP // 2 else distance - _WRAP


@dataclass(frozen=True)
class Status:
    """A device's answer to a hello: the body of its HELLO, which repeats the nonce and names the device's session.

    ``identity`` is the design's. ``epoch``: the nonce of the first HELLO or OPEN that it accepted since its reset.
    ``capacity``: how many bytes of TASKS it keeps for sure, each with ``OVERHEAD_BYTES`` and its body. ``taken``: the
    number of the next TASKS that it expects; ``told``: that of the next which it will send. Then datagrams since its
    reset: ``accepted``; ``damaged`` (not whole); dropped for want of room (``overrun``); ``rejected`` (whole, but of
    another version, session or sender, of no kind, or with a body that is none); and ``repeated`` (below ``taken``).
    The counters start again at 2³².
    """

    identity: bytes
    epoch: int
    capacity: int
    taken: int
    told: int
    accepted: int
    damaged: int
    overrun: int
    rejected: int
    repeated: int

    LAYOUT = f"<{IDENTITY_BYTES}s9I"
    """Of the body, for :mod:`struct`, in the order of the fields."""

    def pack(self) -> bytes:
        """The body of the answer."""
        return struct.pack(self.LAYOUT, *vars(self).values())

    @classmethod
    def unpack(cls, body: bytes) -> Status | None:
        """The status in an answer's body; None if it has another length."""
        if len(body) != STATUS_BYTES:
            return None
        return cls(*struct.unpack(cls.LAYOUT, body))


STATUS_BYTES = struct.calcsize(Status.LAYOUT)
"""Length of a status, and of the body of a request for one."""


def request_bytes(kind: Kind, session: int, nonce: int) -> bytes:
    """The datagram that asks for a status, HELLO or OPEN."""
    return datagram_bytes(kind, session, nonce, bytes(STATUS_BYTES))


def padded(length: int) -> int:
    """Bytes of a packet of this ``length`` in a body."""
    return -(-length // WORD_BYTES) * WORD_BYTES


def task_lengths(tasks: TaskFormat) -> tuple[int, ...]:
    """Bytes of a task's packet by its function code; of an unknown function it is a header."""
    return _lengths(tasks.task, tasks.task_words)


def result_lengths(tasks: TaskFormat) -> tuple[int, ...]:
    """Bytes of a result's packet by its function code; of an unknown function it is a header."""
    return _lengths(tasks.result, {f.code: len(f.results) for f in tasks.functions.values()})


def _lengths(packing: Packing, words: Mapping[int, int]) -> tuple[int, ...]:
    codes = range(1 << FUNCTION_BITS)
    return tuple(packing.packet_bytes(words.get(code, 0)) for code in codes)


def behind_whole(ends: Sequence[int], first: int) -> int:
    """The number of the packet behind the last that goes into one datagram with the packet ``first``, where the
    padded packets of a stream end at these bytes: at least the next, which is cut if it does not fit."""
    begin = ends[first - 1] if first else 0
    behind = bisect_right(ends, begin + BODY_BYTES)
    return max(behind, first + 1)


def cut(body: memoryview) -> list[tuple[memoryview, int]]:
    """The bodies, and their marks, that packets go into: one, unless a packet is longer than a datagram."""
    if len(body) <= BODY_BYTES:
        return [(body, WHOLE)]
    starts = range(0, len(body), BODY_BYTES)
    parts = [(body[k : k + BODY_BYTES], 0) for k in starts]
    first, *middle, last = parts
    return [(first[0], Mark.BEGINS), *middle, (last[0], Mark.ENDS)]


def padded_stream(packets: Sequence[bytes]) -> tuple[bytearray, np.ndarray]:
    """Packets as they are in bodies, one behind the other, and where each ends (n,)."""
    lengths = np.array([len(packet) for packet in packets], np.int64)
    sizes = -(-lengths // WORD_BYTES) * WORD_BYTES
    # packets may be whole words already
    if np.array_equal(lengths, sizes):
        return bytearray(b"".join(packets)), np.cumsum(sizes)
    # most streams are of one function, whose packets are all as long
    if np.all(lengths == lengths[0]):
        rows = np.zeros((len(packets), sizes[0]), np.uint8)
        rows[:, : lengths[0]] = packet_rows(packets)
        return bytearray(rows), np.cumsum(sizes)
    pairs = zip(packets, sizes.tolist(), strict=True)
    return bytearray(b"".join([packet.ljust(size, b"\0") for packet, size in pairs])), np.cumsum(
        sizes
    )


def join_packets(packets: Sequence[bytes]) -> list[tuple[memoryview, int]]:
    """The bodies of the datagrams that packets go into, in order, and their marks."""
    stream, places = padded_stream(packets)
    ends: list[int] = places.tolist()
    whole = memoryview(stream)
    bodies, first, begin = [], 0, 0
    while first < len(packets):
        first = behind_whole(ends, first)
        end = ends[first - 1]
        bodies += cut(whole[begin:end])
        begin = end
    return bodies


def packet_starts(stream: bytes, lengths: Sequence[int]) -> tuple[np.ndarray, int]:
    """Where whole packets begin in bodies, one behind the other, by their ``lengths`` by function code; and where the
    packet begins that does not end there, or the end."""
    if not stream:
        return np.zeros(0, np.int64), 0
    length = padded(lengths[code_of(stream)])
    count = len(stream) // length
    # most bodies are of one function
    codes = stream[::length].translate(_CODES)
    if codes.count(codes[:1]) == len(codes):
        return np.arange(0, count * length, length), count * length
    found, start = [], 0
    while start < len(stream):
        end = start + padded(lengths[code_of(stream[start : start + 1])])
        if end > len(stream):
            break
        found.append(start)
        start = end
    return np.array(found, np.int64), start


def split_packets(stream: bytes, lengths: Sequence[int]) -> tuple[list[bytes], bytes]:
    """The whole packets in bodies, without their padding, and what is left of one that does not end there."""
    starts, rest = packet_starts(stream, lengths)
    packets = [stream[k : k + lengths[code_of(stream[k : k + 1])]] for k in starts.tolist()]
    return packets, stream[rest:]


MINIMUM_BUFFER = 16384
"""Bytes: room for 256 tasks of usual arms."""
REQUESTS = 16
"""For so many requests there is room beside what is promised."""


def buffer_bytes(tasks: TaskFormat) -> int:
    """Bytes of datagrams that a shell keeps: room for four of the longest tasks, or for one of the longest that there
    may be, where programs come over the link; a power of two."""
    room = tasks.resident
    lengths = [tasks.task.packet_bytes(room.operands)] if room else task_lengths(tasks)
    longest = max(map(padded, lengths))
    datagrams = -(-longest // BODY_BYTES)
    several = (1 if room else 4) * (longest + datagrams * OVERHEAD_BYTES)
    whole = several + REQUESTS * OVERHEAD_BYTES + WORD_BYTES
    return max(MINIMUM_BUFFER, 1 << (whole - 1).bit_length())


def capacity(tasks: TaskFormat) -> int:
    """The share of its buffer that a shell promises: all but what some requests take and the word that a full one
    leaves free."""
    return buffer_bytes(tasks) - REQUESTS * OVERHEAD_BYTES - WORD_BYTES
