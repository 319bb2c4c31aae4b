"""Frames on a byte link (UART): the one home of their constants, for the host, its model of the shell, and the RTL.

A frame is ``kind`` (1 byte), ``length`` of the payload (2 bytes), payload, and CRC-32 of all that (4 bytes), numbers
lowest byte first. On the wire it stands between two flags; a flag or escape inside is sent as the escape and the byte
with bit 5 inverted (the asynchronous framing of RFC 1662). A flag always ends what came before it and begins anew, so
that after any garbage the next frame whose own bytes are whole is received. Whatever is not a whole frame is dropped,
never guessed at.

The host sends tasks and hellos; the device answers tasks by results, and a hello, once all tasks before it are
answered, by its :class:`Status`. So a hello's answer proves that a task sent before it and not answered is lost.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field
from dataclasses import fields as dataclass_fields
from enum import IntEnum
from typing import NamedTuple

from rbdgen.protocol.tasks import TaskFormat

FLAG = 0x7E
ESCAPE = 0x7D
ESCAPE_BIT = 0x20
FILLER = FLAG
"""What a side sends between frames where it must send something, as on a link that the other side clocks."""
PROTOCOL_VERSION = 2
LENGTH_BYTES = 2
CRC_BYTES = 4
HEAD_BYTES = 1 + LENGTH_BYTES
"""Bytes before the payload: kind and length."""
FRAME_BYTES = HEAD_BYTES + CRC_BYTES
"""Bytes of a frame beside its payload, flags and escapes not counted."""
FLAG_BYTES = 2
"""Flags of a frame on the wire, one on either side."""
SPECIAL_BYTES = 2
"""Of the 256 bytes that there are, those that are sent as two: the flag and the escape."""
IDENTITY_BYTES = 16
"""Of the SHA-256 that is a design's identity (:func:`rbdgen.host.manifest.identity_of`)."""
NONCE_BYTES = 4

_FLAG, _ESCAPE = bytes([FLAG]), bytes([ESCAPE])
_ESCAPED = (
    (_ESCAPE, bytes([ESCAPE, ESCAPE ^ ESCAPE_BIT])),
    (_FLAG, bytes([ESCAPE, FLAG ^ ESCAPE_BIT])),
)
"""Bytes that are escaped, each with its escape: the escape itself first, so that those which the other brings are not
escaped again."""
_PLAIN = {escaped[1:]: plain for plain, escaped in _ESCAPED}
_HEAD = struct.Struct("<BH")
_WHOLE = zlib.crc32(bytes(CRC_BYTES))
"""The CRC-32 of anything with its own CRC-32 behind it is that of four zeros."""


class Kind(IntEnum):
    """Kinds of frames: a task or its result; a hello or its answer."""

    TASK = 1
    HELLO = 2


class Frame(NamedTuple):
    """A frame's ``kind`` (any byte) and payload."""

    kind: int
    payload: bytes


def head_bytes(kind: int, length: int) -> bytes:
    """What comes before a payload of so many bytes."""
    return _HEAD.pack(kind, length)


def frame_bytes(kind: int, payload: bytes | bytearray) -> bytes:
    """The frame on the wire, flags included."""
    body = head_bytes(kind, len(payload)) + payload
    body += zlib.crc32(body).to_bytes(CRC_BYTES, "little")
    for plain, escaped in _ESCAPED:
        body = body.replace(plain, escaped)
    return _FLAG + body + _FLAG


def _parse(chunk: bytes) -> Frame | None:
    """The frame between two flags, if it is whole."""
    body = _unescaped(chunk)
    if body is None or len(body) < FRAME_BYTES:
        return None
    kind, length = _HEAD.unpack_from(body)
    if length != len(body) - FRAME_BYTES or zlib.crc32(body) != _WHOLE:
        return None
    return Frame(kind, body[HEAD_BYTES:-CRC_BYTES])


def _unescaped(chunk: bytes) -> bytes | None:
    """The bytes that were escaped to become ``chunk``, if any were."""
    first, *others = chunk.split(_ESCAPE)
    if not others:
        return chunk
    parts = [first]
    for other in others:
        plain = _PLAIN.get(other[:1])
        # nothing but flags and escapes is escaped
        if plain is None:
            return None
        parts += plain, other[1:]
    return b"".join(parts)


@dataclass
class Deframer:
    """Finds frames in a stream of bytes; ``damaged`` counts what was not one. No frame's payload exceeds ``limit``."""

    limit: int
    damaged: int = 0
    _rest: bytes = field(default=b"", repr=False)

    @property
    def unframed(self) -> bool:
        """Whether bytes came since the last flag."""
        return bool(self._rest)

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that ``data`` completes, in order."""
        *chunks, rest = (self._rest + data).split(_FLAG)
        # more than the longest frame, every byte escaped, is no frame: keep just enough to know that
        self._rest = rest[: 2 * (self.limit + FRAME_BYTES) + 1]
        frames = []
        # two flags one behind the other have nothing between them
        for chunk in filter(None, chunks):
            frame = _parse(chunk)
            if frame is None or len(frame.payload) > self.limit:
                self.damaged += 1
            else:
                frames.append(frame)
        return frames


@dataclass(frozen=True)
class Status:
    """A device's answer to a hello.

    ``nonce`` is the hello's; ``identity`` the design's; ``epoch`` the nonce of the first hello that it accepted since
    its reset, so that another epoch tells of a reset; ``capacity`` how many bytes of frames (``FRAME_BYTES`` and
    payload each) it keeps for sure. Then what it received since its reset: frames ``accepted``, frames ``damaged`` on
    the way, frames dropped for want of room (``overrun``), and frames that were whole but no task or hello of this
    device (``rejected``). The counters start again at 2³². They are there for whoever looks into a model: hardware
    says zeros, and no host asks, as it counts on its own side.

    Nonce and version come first in every version of the protocol.
    """

    nonce: int
    version: int
    identity: bytes
    epoch: int
    capacity: int
    accepted: int
    damaged: int
    overrun: int
    rejected: int

    LAYOUT = f"<IB{IDENTITY_BYTES}s6I"
    """Of the payload, for :mod:`struct`, in the order of the fields."""

    def pack(self) -> bytes:
        """The payload of the answer."""
        fields = (getattr(self, f.name) for f in dataclass_fields(self))
        return struct.pack(self.LAYOUT, *fields)

    @classmethod
    def unpack(cls, payload: bytes) -> Status | None:
        """The status in an answer's payload; None if it has another length."""
        if len(payload) != STATUS_BYTES:
            return None
        return cls(*struct.unpack(cls.LAYOUT, payload))


def read_version(payload: bytes) -> tuple[int, int] | None:
    """Nonce and version in the answer of a device of any version to a hello; None if it is too short."""
    return struct.unpack_from("<IB", payload) if len(payload) > NONCE_BYTES else None


STATUS_BYTES = struct.calcsize(Status.LAYOUT)
"""Length of a hello's answer."""

IDENTITY_OFFSET = NONCE_BYTES + 1
EPOCH_OFFSET = IDENTITY_OFFSET + IDENTITY_BYTES
"""In it, of the identity and of the epoch; nonce and version are at the beginning."""

SMALLEST_BUFFER, MINIMUM_BUFFER = 1024, 2048
"""Bytes: one block memory of the smallest devices."""


def buffer_bytes(tasks: TaskFormat) -> int:
    """Bytes of frames that a shell keeps: room for four of the longest tasks, or for one of the longest that there may
    be, where programs come over the link; a power of two."""
    room = tasks.resident
    words = [room.operands] if room else list(tasks.task_words.values())
    longest = max(map(tasks.task.packet_bytes, words)) + FRAME_BYTES
    whole = longest + 2 * (FRAME_BYTES + NONCE_BYTES) + 1 if room else 4 * longest
    # an engine for small devices has no memories for more than it needs
    least = SMALLEST_BUFFER if room else MINIMUM_BUFFER
    return max(least, 1 << (whole - 1).bit_length())


def capacity(tasks: TaskFormat) -> int:
    """The share of its buffer that a shell promises: all but what two hellos take and the place that a full one leaves
    free."""
    return buffer_bytes(tasks) - 2 * (FRAME_BYTES + NONCE_BYTES) - 1


def error_bytes(tasks: TaskFormat) -> int:
    """Length of a task of a function that the accelerator does not have, and of its answer: one word."""
    return tasks.task.packet_bytes(0)
