"""The directory of an engine whose programs come over its link: what is there, and where, in words that a host wrote.

A slot is :data:`SLOT_WORDS` words of 16 bits; one that begins with an identity of zeros is free.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import astuple, dataclass

from rbdgen.protocol.frames import IDENTITY_BYTES
from rbdgen.protocol.loading import DIRECTORY_WORDS, TOLD_BITS

SLOT_WORDS = 32
SLOTS = DIRECTORY_WORDS // SLOT_WORDS
"""Programs that can be there at once, at most."""
IDENTITY_WORDS = 8 * IDENTITY_BYTES // TOLD_BITS
"""Of a slot its first words, which are its program's identity."""
NAME_BYTES = 30
FREE = bytes(IDENTITY_BYTES)
"""The identity of a free slot."""
_SLOT = struct.Struct(f"<{IDENTITY_BYTES}s{NAME_BYTES}s9H")
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
        return (
            (self.first_code, self.first_code + self.codes),
            (self.word, self.word + self.depth),
            (self.constant, self.constant + self.constants),
            (self.limit, self.limit + self.limits),
        )

    def clashes(self, other: Extent) -> bool:
        """Whether both cannot be there at once."""
        meet = (
            begin < last and first < end
            for (begin, end), (first, last) in zip(self.spans, other.spans, strict=True)
        )
        return self.rotating != other.rotating or any(meet)


@dataclass(frozen=True)
class Entry:
    """A program that is there: the ``identity`` of its manifest, the robot's name as far as there is room for it, and
    what it takes."""

    identity: bytes
    robot: str
    extent: Extent

    def words(self) -> list[int]:
        """The words of its slot."""
        # a name is cut between characters
        name = self.robot.encode()[:NAME_BYTES].decode(errors="ignore").encode()
        packed = _SLOT.pack(self.identity, name, *astuple(self.extent))
        return list(struct.unpack(f"<{SLOT_WORDS}H", packed))


def read_slot(words: Sequence[int]) -> Entry | None:
    """The program in a slot; None where it is free."""
    identity, name, *extent = _SLOT.unpack(struct.pack(f"<{SLOT_WORDS}H", *words))
    if identity == FREE:
        return None
    return Entry(identity, name.rstrip(b"\0").decode(errors="replace"), Extent(*extent))
