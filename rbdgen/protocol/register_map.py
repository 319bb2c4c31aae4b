"""What is in the control registers of the AXI4-Lite shell: access, bits, values after a reset, meaning.

The one description that the IP core's files and the documentation are made of; addresses are those of
:class:`rbdgen.protocol.registers.Register`. All are 32 bits. Counters start again at 2³².
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from rbdgen.protocol.registers import (
    IDENTITY_WORDS,
    VERSION,
    Control,
    Register,
    StreamError,
)

REGISTER_BITS = 32


class Access(Enum):
    """What a host may do, in the words of IP-XACT."""

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
_CONTROLS = {Control.CLEAR: "Write 1: counters and errors become zero, but not IN_WORK"}
_ERRORS = {
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
        _constant(Register.VERSION, "Version of registers and streams", VERSION),
        _constant(
            Register.FUNCTIONS, "Bit n: there is a function whose code in headers is n", functions
        ),
        _flags(Register.CONTROL, Access.WRITE, "Commands; reads as zero", _CONTROLS),
        _flags(Register.ERRORS, Access.READ, "What happened since CLEAR, or a reset", _ERRORS),
    ]
    for register, summary in _COUNTERS.items():
        entries.append(_number(register, Access.READ, summary))
    epoch = "Zero after a reset: a host that wrote a number knows by it that none came since"
    entries.append(_number(Register.EPOCH, Access.READ_WRITE, epoch))
    entries += _identity(identity)
    return tuple(entries)


def _number(register: Register, access: Access, summary: str) -> RegisterEntry:
    """A register that is one number, zero after a reset."""
    return RegisterEntry(register.name, int(register), access, summary, (WHOLE,))


def _constant(register: Register, summary: str, value: int | None) -> RegisterEntry:
    """A register that always reads as ``value``."""
    entry = _number(register, Access.READ, summary)
    return replace(entry, reset=value, constant=True)


def _flags(
    register: Register,
    access: Access,
    summary: str,
    bits: Mapping[Control, str] | Mapping[StreamError, str],
) -> RegisterEntry:
    """A register of single bits, zero after a reset."""
    fields = []
    for bit, meaning in bits.items():
        low = bit.value.bit_length() - 1
        fields.append(Field(str(bit.name), low, 1, meaning))
    return RegisterEntry(register.name, int(register), access, summary, tuple(fields))


def _identity(identity: bytes | None) -> list[RegisterEntry]:
    """The words of a design's identity."""
    entries = []
    for number in range(IDENTITY_WORDS):
        at = 4 * number
        value = None
        if identity is not None:
            value = int.from_bytes(identity[at : at + 4], "little")
        summary = f"Bytes {at} to {at + 3} of the design's identity, the first one lowest"
        word = _constant(Register.IDENTITY, summary, value)
        entries.append(replace(word, name=f"{word.name}{number}", address=word.address + at))
    return entries
