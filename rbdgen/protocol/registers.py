"""Control registers of the AXI4-Lite shell, and its streams' layout: the one home for the RTL, drivers and benches.

All registers are 32 bits. Every beat of the accelerator's stream stands in the low bits of one beat of the AXI stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum, IntEnum, IntFlag

from rbdgen.protocol.frames import IDENTITY_BYTES
from rbdgen.protocol.tasks import Packing

VERSION = 2
"""Of registers and streams."""
ADDRESS_BITS = 8
MINIMUM_STREAM_BITS = 32


class Register(IntEnum):
    """Byte addresses; :mod:`rbdgen.protocol.registers` says what is there."""

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
    """Effects of a write to ``CONTROL``."""

    CLEAR = 1


class StreamError(IntFlag):
    """Faults of a host, and flags of results: the bits of ``ERRORS``."""

    OVERFLOW = 1
    RANGE = 2
    FUNCTION = 4
    LAST = 8


def function_bits(codes: Iterable[int]) -> int:
    """The value of ``FUNCTIONS`` where there are functions with these codes."""
    return sum(1 << code for code in codes)


def stream_bits(packing: Packing) -> int:
    """Width of an AXI stream: the next power of two, as AMD's DMA wants it."""
    return max(MINIMUM_STREAM_BITS, 1 << (packing.row_bits - 1).bit_length())


REGISTER_BITS = 32


class Access(Enum):
    """Accesses of a host, in the words of IP-XACT."""

    READ = "read-only"
    WRITE = "write-only"
    READ_WRITE = "read-write"


@dataclass(frozen=True)
class Field:
    """``width`` bits of a register, the lowest of which is ``low``."""

    name: str
    low: int
    width: int
    summary: str

    @property
    def mask(self) -> int:
        """The field's bits within its register."""
        return ((1 << self.width) - 1) << self.low


@dataclass(frozen=True)
class RegisterEntry:
    """A register: its ``name``, byte ``address``, and what it holds.

    ``reset`` is its value after a reset, None where that is the design's and no design is given. A ``constant``
    register always has that value; the others that can only be read change by themselves.
    """

    name: str
    address: int
    access: Access
    summary: str
    fields: tuple[Field, ...]
    reset: int | None = 0
    constant: bool = False


WHOLE = Field("VALUE", 0, REGISTER_BITS, "")
"""The only field of a register that is one number."""

_COUNTERS = {
    Register.CYCLES: "Cycles, lower half; reading it keeps the upper half for CYCLES_HIGH",
    Register.CYCLES_HIGH: "Cycles, upper half, as it was when CYCLES was read",
    Register.BUSY: "Cycles in which a task was in work",
    Register.TASKS: "Tasks that entered",
    Register.RESULTS: "Results that left",
    Register.OVERFLOWS: "Results with the flag OVERFLOW",
    Register.RANGES: "Results with the flag RANGE",
    Register.UNKNOWN: "Results with the flag FUNCTION",
    Register.IN_WORK: "Tasks whose results have not left",
}
_CONTROLS: dict[IntFlag, str] = {
    Control.CLEAR: "Write 1: counters and errors become zero, but not IN_WORK"
}
_ERRORS: dict[IntFlag, str] = {
    StreamError.OVERFLOW: "A result had the flag OVERFLOW",
    StreamError.RANGE: "A result had the flag RANGE",
    StreamError.FUNCTION: "A result had the flag FUNCTION",
    StreamError.LAST: "TLAST came in the middle of a task; it was ignored",
}


def register_map(
    functions: int | None = None, identity: bytes | None = None
) -> tuple[RegisterEntry, ...]:
    """All registers, by address: of a design whose ``FUNCTIONS`` and identity are given, or of any."""
    entries = [
        constant(Register.VERSION, "Version of registers and streams", VERSION),
        constant(
            Register.FUNCTIONS, "Bit n: there is a function whose code in headers is n", functions
        ),
        flags(Register.CONTROL, Access.WRITE, "Commands; reads as zero", _CONTROLS),
        flags(Register.ERRORS, Access.READ, "What happened since CLEAR, or a reset", _ERRORS),
    ]
    for register, summary in _COUNTERS.items():
        entries.append(number(register, Access.READ, summary))
    epoch = "Zero after a reset: a host that wrote a number knows by it that none came since"
    entries.append(number(Register.EPOCH, Access.READ_WRITE, epoch))
    entries += identity_words(Register.IDENTITY, identity)
    return tuple(entries)


def number(register: IntEnum, access: Access, summary: str) -> RegisterEntry:
    """A register that is one number, zero after a reset."""
    return RegisterEntry(register.name, int(register), access, summary, (WHOLE,))


def constant(register: IntEnum, summary: str, value: int | None) -> RegisterEntry:
    """A register that always reads as ``value``."""
    entry = number(register, Access.READ, summary)
    return replace(entry, reset=value, constant=True)


def flags(
    register: IntEnum, access: Access, summary: str, bits: Mapping[IntFlag, str]
) -> RegisterEntry:
    """A register of single bits, zero after a reset."""
    fields = []
    for bit, meaning in bits.items():
        low = bit.value.bit_length() - 1
        fields.append(Field(str(bit.name), low, 1, meaning))
    return RegisterEntry(register.name, int(register), access, summary, tuple(fields))


def identity_words(first: IntEnum, identity: bytes | None) -> list[RegisterEntry]:
    """The words of a design's identity, from the ``first`` on."""
    entries = []
    for number in range(IDENTITY_WORDS):
        # addresses count bytes
        at = 4 * number
        value = None
        if identity is not None:
            value = int.from_bytes(identity[at : at + 4], "little")
        summary = f"Bytes {at} to {at + 3} of the design's identity, the first one lowest"
        word = constant(first, summary, value)
        entries.append(replace(word, name=f"{word.name}{number}", address=word.address + at))
    return entries


def constants(entries: Iterable[RegisterEntry]) -> Iterator[tuple[RegisterEntry, int]]:
    """The registers that always read as the same, with what that is."""
    for entry in entries:
        if entry.constant and entry.reset is not None:
            yield entry, entry.reset


def c_macros(entries: Iterable[RegisterEntry], prefix: str) -> Iterator[str]:
    """The lines of C that name offsets, bits and the values of what never changes, all with the ``prefix``."""
    for entry in entries:
        yield f"/* {entry.summary} ({entry.access.value}). */"
        yield f"#define {prefix}_{entry.name}_OFFSET {entry.address:#04x}u"
        for _, value in constants([entry]):
            yield f"#define {prefix}_{entry.name}_VALUE {value:#010x}u"
        for field in entry.fields:
            # a register that is one field needs no mask
            if field is not WHOLE:
                yield f"#define {prefix}_{entry.name}_{field.name} {field.mask:#x}u /* {field.summary} */"
