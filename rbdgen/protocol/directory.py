"""The directory of an engine whose programs come over its link: what is there, and where, in words that a host wrote.

A slot is :data:`SLOT_WORDS` words of 16 bits; one that begins with an identity of zeros is free.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass

from rbdgen.protocol.frames import IDENTITY_BYTES
from rbdgen.protocol.loading import DIRECTORY_WORDS, TOLD_BITS

SLOT_WORDS = 32
SLOTS = DIRECTORY_WORDS // SLOT_WORDS
"""Programs that can be there at once, at most."""
IDENTITY_WORDS = 8 * IDENTITY_BYTES // TOLD_BITS
"""Of a slot its first words, which are its program's identity."""
NAME_BYTES = 26
"""Of a robot's name, as UTF-8."""
FREE = bytes(IDENTITY_BYTES)
"""The identity of a free slot."""
_SLOT = struct.Struct(f"<{IDENTITY_BYTES}s{NAME_BYTES}sI9H")
assert _SLOT.size == SLOT_WORDS * TOLD_BITS // 8


@dataclass(frozen=True)
class Extent:
    """What a program takes of an engine: so many function ``codes`` from the ``first_code`` on; words of program memory
    (``depth``, from ``word`` on), of each bank for its constants (``constants``, from ``constant`` on), limits of
    operands (``limits``, from ``limit`` on); and how many words rotate, which all programs have in common."""

    first_code: int
    codes: int
    word: int
    depth: int
    constant: int
    constants: int
    limit: int
    limits: int
    rotating: int

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """The first of each, and the one behind the last."""
        begins = self.first_code, self.word, self.constant, self.limit
        return tuple((begin, begin + size) for begin, size in zip(begins, self.sizes, strict=True))

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """How many of each."""
        return self.codes, self.depth, self.constants, self.limits

    def clashes(self, other: Extent) -> bool:
        """Whether both cannot be there at once."""
        meet = (
            begin < last and first < end
            for (begin, end), (first, last) in zip(self.spans, other.spans, strict=True)
        )
        return self.rotating != other.rotating or any(meet)


@dataclass(frozen=True)
class Entry:
    """A program that is there: the ``identity`` of its manifest, the robot's name (:func:`told_name`), what it takes,
    and a check of the ``values`` that its parameters were given since, 0 where it has its own."""

    identity: bytes
    robot: str
    extent: Extent
    values: int = 0

    def words(self) -> list[int]:
        """The words of its slot."""
        packed = _SLOT.pack(self.identity, self.robot.encode(), self.values, *astuple(self.extent))
        return list(struct.unpack(f"<{SLOT_WORDS}H", packed))


def told_name(robot: str) -> str:
    """A robot's name as far as a slot has room for it, cut between characters."""
    return robot.encode()[:NAME_BYTES].decode(errors="ignore")


def values_check(raw: Mapping[int, int]) -> int:
    """The check of raw values of parameters by their numbers."""
    told = b"".join(struct.pack("<Iq", *item) for item in sorted(raw.items()))
    return zlib.crc32(told) if raw else 0


def read_slot(words: Sequence[int]) -> Entry | None:
    """The program in a slot; None where it is free."""
    identity, name, values, *extent = _SLOT.unpack(struct.pack(f"<{SLOT_WORDS}H", *words))
    if identity == FREE:
        return None
    robot = name.rstrip(b"\0").decode(errors="replace")
    return Entry(identity, robot, Extent(*extent), values)
