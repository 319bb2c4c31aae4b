"""Registers by which tasks enter an accelerator and results leave it, word by word, on the bus of a processor: the one
home for the RTL, firmware, descriptions of the IP core and docs.

A packet is written word by word into ``TASK``, its last word into ``TASK_LAST``; its result is read from ``RESULT``,
and the last word from ``RESULT_LAST``. An access waits for so many cycles as ``PATIENCE`` says where there is no room
for a word yet, or none there; then it is refused: the word was not taken, or zero was read. Whoever waits for
``STATUS`` before the first word of a result never meets that, nor, where accesses do not wait, does who waits before
every word. Registers are words: an access is of all 32 bits.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag

from rbdgen.errors import ConfigError
from rbdgen.protocol.registers import (
    REGISTER_BITS,
    Access,
    RegisterEntry,
    constant,
    flags,
    identity_words,
    number,
)
from rbdgen.protocol.tasks import TaskFormat

TASK_VERSION = 0x1_0002
"""What ``VERSION`` is where tasks come by registers; where they come by streams it is
:data:`rbdgen.protocol.registers.VERSION`."""
PATIENCE = {"axi-lite": 255, "wishbone": 255, "csr": 0}
"""Cycles for which an access waits, by the bus: that of LiteX's CSRs cannot be held."""
REGISTER_BUSES = tuple(PATIENCE)
"""Buses of processors on which these registers can stand."""
ROOM_BITS = 16
"""Of each half of ``CAPACITY``."""


class TaskRegister(IntEnum):
    """Byte addresses."""

    VERSION = 0x00
    CAPACITY = 0x04
    CONTROL = 0x08
    STATUS = 0x0C
    INTERRUPTS = 0x10
    TASKS = 0x14
    RESULTS = 0x18
    REFUSED = 0x1C
    EPOCH = 0x20
    PATIENCE = 0x24
    TASK = 0x30
    TASK_LAST = 0x34
    RESULT = 0x38
    RESULT_LAST = 0x3C
    IDENTITY = 0x40
    """First of the words of the identity, lowest bytes first."""


class Command(IntFlag):
    """Effects of a write to ``CONTROL``."""

    CLEAR = 1
    RESET = 2


class Status(IntFlag):
    """Bits of ``STATUS``; the first ones can raise an interrupt."""

    RESULT = 1
    REFUSED = 2
    ROOM = 4


INTERRUPTS = Status.RESULT | Status.REFUSED

_COMMANDS: dict[IntFlag, str] = {
    Command.CLEAR: "Write 1: TASKS, RESULTS, REFUSED and the bit REFUSED of STATUS become zero",
    Command.RESET: "Write 1: the accelerator is reset, and EPOCH with it; no program is there then",
}
_STATUS: dict[IntFlag, str] = {
    Status.RESULT: "A word of a result can be read",
    Status.REFUSED: "An access to TASK or RESULT was refused",
    Status.ROOM: "A word of a task is taken at once",
}
_ENABLES: dict[IntFlag, str] = {
    Status.RESULT: "Interrupt while there is a word of a result",
    Status.REFUSED: "Interrupt where an access was refused, until CLEAR",
}


def room_of(tasks: TaskFormat) -> int:
    """The value of ``CAPACITY``: words of the longest task in the low half, of the longest result in the high one,
    headers included."""
    words = [1 + n for n in tasks.task_words.values()]
    results = [1 + len(f.results) for f in tasks.functions.values()]
    if tasks.resident:
        words.append(1 + tasks.resident.operands)
        results.append(1 + tasks.resident.results)
    return max(words) | max(results) << ROOM_BITS


def check_words(name: str, tasks: TaskFormat) -> None:
    """ConfigError for packets that do not go word by word through registers."""
    if tasks.replicas > 1:
        raise ConfigError(
            f"{name}: has {tasks.replicas} accelerators side by side, and registers feed one; leave --replicas out, or "
            "take the core with AXI streams"
        )
    for what, packing in (("tasks", tasks.task), ("results", tasks.result)):
        if packing.words_per_beat > 1 or packing.beat_bits > REGISTER_BITS:
            raise ConfigError(
                f"{name}: {what} have beats of {packing.words_per_beat} words, {packing.beat_bits} bits together, and "
                f"a register takes one of {REGISTER_BITS}; give --machine engine, or take the core with AXI streams"
            )


def task_register_map(
    tasks: TaskFormat | None = None, identity: bytes | None = None, bus: str | None = None
) -> tuple[RegisterEntry, ...]:
    """All registers, by address: of a design whose ``tasks``, identity and bus are given, or of any."""
    room = None if tasks is None else room_of(tasks)
    patience = None if bus is None else PATIENCE[bus]
    read, write, both = Access.READ, Access.WRITE, Access.READ_WRITE
    capacity = "Words of the longest task (low half) and of the longest result (high half)"
    return (
        constant(TaskRegister.VERSION, "Version of these registers", TASK_VERSION),
        constant(TaskRegister.CAPACITY, capacity, room),
        flags(TaskRegister.CONTROL, write, "Commands; reads as zero", _COMMANDS),
        flags(TaskRegister.STATUS, read, "What there is now", _STATUS),
        flags(TaskRegister.INTERRUPTS, both, "Which bits of STATUS raise the interrupt", _ENABLES),
        number(TaskRegister.TASKS, read, "Tasks whose last word entered"),
        number(TaskRegister.RESULTS, read, "Results whose last word was read"),
        number(TaskRegister.REFUSED, read, "Accesses to TASK and RESULT that were refused"),
        number(
            TaskRegister.EPOCH,
            both,
            "Zero after a reset: firmware that wrote a number knows by it that none came since",
        ),
        constant(
            TaskRegister.PATIENCE, "Cycles for which an access waits before it is refused", patience
        ),
        number(TaskRegister.TASK, write, "A word of a task"),
        number(TaskRegister.TASK_LAST, write, "The last word of a task"),
        number(TaskRegister.RESULT, read, "The next word of a result, which is gone then"),
        number(TaskRegister.RESULT_LAST, read, "The same; it is the result's last one"),
        *identity_words(TaskRegister.IDENTITY, identity),
    )
