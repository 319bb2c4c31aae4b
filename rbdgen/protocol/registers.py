"""Control registers of the AXI4-Lite shell, and its streams' layout: the one home for the RTL, drivers and benches.

All registers are 32 bits. Every beat of the accelerator's stream stands in the low bits of one beat of the AXI stream.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum, IntFlag

from rbdgen.protocol.frames import IDENTITY_BYTES
from rbdgen.protocol.tasks import Packing

VERSION = 2
"""Of registers and streams."""
ADDRESS_BITS = 8
MINIMUM_STREAM_BITS = 32


class Register(IntEnum):
    """Byte addresses; :mod:`rbdgen.protocol.register_map` says what is there."""

    VERSION = 0x00
    FUNCTIONS = 0x04
    CONTROL = 0x08
    ERRORS = 0x0C
    CYCLES = 0x10
    CYCLES_HIGH = 0x14
    BUSY = 0x18
    TASKS = 0x1C
    RESULTS = 0x20
    OVERFLOWS = 0x24
    RANGES = 0x28
    UNKNOWN = 0x2C
    IN_WORK = 0x30
    EPOCH = 0x34
    IDENTITY = 0x40
    """First of the words of the identity, lowest bytes first."""


IDENTITY_WORDS = IDENTITY_BYTES // 4


class Control(IntFlag):
    """What a write to ``CONTROL`` does."""

    CLEAR = 1


class StreamError(IntFlag):
    """What a host did wrong, or what results said: the bits of ``ERRORS``."""

    OVERFLOW = 1
    RANGE = 2
    FUNCTION = 4
    LAST = 8


def function_bits(codes: Iterable[int]) -> int:
    """What ``FUNCTIONS`` holds where there are functions with these codes."""
    return sum(1 << code for code in codes)


def stream_bits(packing: Packing) -> int:
    """Width of an AXI stream: the next power of two, as AMD's DMA wants it."""
    return max(MINIMUM_STREAM_BITS, 1 << (packing.row_bits - 1).bit_length())
