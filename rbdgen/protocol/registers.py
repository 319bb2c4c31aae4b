"""Control registers of the AXI4-Lite shell, and its streams' layout: the one home for the RTL, drivers and benches.

All registers are 32 bits. Every beat of the accelerator's stream stands in the low bits of one beat of the AXI stream.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag

from rbdgen.protocol.frames import IDENTITY_BYTES
from rbdgen.protocol.tasks import Packing

VERSION = 2
"""Of registers and streams."""
ADDRESS_BITS = 8
MINIMUM_STREAM_BITS = 32


class Register(IntEnum):
    """Byte addresses. Counters start again at 2³²; reading ``CYCLES`` keeps its upper half for ``CYCLES_HIGH``."""

    VERSION = 0x00
    FUNCTIONS = 0x04
    """Bit n: there is a function with code n."""
    CONTROL = 0x08
    """Write: bits of :class:`Control`. Reads as zero."""
    ERRORS = 0x0C
    """Bits of :class:`StreamError` that happened since they were cleared."""
    CYCLES = 0x10
    CYCLES_HIGH = 0x14
    BUSY = 0x18
    """Cycles in which a task was in work."""
    TASKS = 0x1C
    RESULTS = 0x20
    OVERFLOWS = 0x24
    """Results with the flag OVERFLOW."""
    RANGES = 0x28
    """Results with the flag RANGE."""
    UNKNOWN = 0x2C
    """Results with the flag FUNCTION."""
    IN_WORK = 0x30
    """Tasks whose results have not left."""
    EPOCH = 0x34
    """Read and write: zero after a reset. A host that writes a number knows by it that none came since."""
    IDENTITY = 0x40
    """First of the words of the identity, lowest bytes first."""


IDENTITY_WORDS = IDENTITY_BYTES // 4


class Control(IntFlag):
    """What a write to ``CONTROL`` does."""

    CLEAR = 1
    """Counters and errors become zero."""


class StreamError(IntFlag):
    """What a host did wrong, or what results said."""

    OVERFLOW = 1
    RANGE = 2
    FUNCTION = 4
    LAST = 8
    """TLAST came in the middle of a task; it was ignored."""


def stream_bits(packing: Packing) -> int:
    """Width of an AXI stream: the next power of two, as AMD's DMA wants it."""
    return max(MINIMUM_STREAM_BITS, 1 << (packing.row_bits - 1).bit_length())
