"""The host's end of a shell of registers (:mod:`rbdgen.protocol.task_registers`): an engine at the port of the
processor that this runs on, a task at a time, word by word. The bus waits for room, and for words of a result behind
the first.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from rbdgen.errors import LinkError
from rbdgen.host.exchanges import DEFAULT_SECONDS, Counters, DeviceResetError, Progress, Watch
from rbdgen.host.manifest import programs_tasks
from rbdgen.protocol.datagrams import result_lengths
from rbdgen.protocol.frames import IDENTITY_BYTES
from rbdgen.protocol.packets import code_of, header
from rbdgen.protocol.registers import IDENTITY_WORDS, REGISTER_BITS
from rbdgen.protocol.task_registers import TASK_VERSION, Command, Status, TaskRegister
from rbdgen.protocol.tasks import Flag, TaskFormat

WORD_BYTES = REGISTER_BITS // 8
MOST_EPOCH = (1 << REGISTER_BITS) - 1
"""The largest number that ``EPOCH`` holds."""


class RegisterDevice(Protocol):
    """Registers of 32 bits."""

    def read_register(self, address: int) -> int:
        """The register at ``address``."""
        ...

    def write_register(self, address: int, value: int) -> None:
        """Write the register at ``address``."""
        ...

    def close(self) -> None:
        """Let go of the device."""
        ...


@dataclass
class RegisterLink:
    """The engine behind the registers of a ``device``, for :class:`rbdgen.host.engine.Engine`. It is reset first: what
    was left in it is not known. A task whose result is not there after ``seconds`` is a LinkError."""

    device: RegisterDevice
    seconds: float = DEFAULT_SECONDS
    attempts: int = 1
    counters: Counters = field(default_factory=Counters)

    def __post_init__(self) -> None:
        self.learn(programs_tasks())
        self._meet()

    @property
    def epoch(self) -> int:
        """The number that was last written to ``EPOCH``."""
        return self.written

    def identified(self) -> bytes:
        """What the device says of itself."""
        return self.identity

    def learn(self, tasks: TaskFormat) -> None:
        """Packets are as long as these ``tasks`` say from now on."""
        self.lengths = result_lengths(tasks)

    def exchange(
        self,
        packets: Sequence[bytes],
        progress: Progress = lambda done, total: None,
        epoch: int | None = None,
    ) -> list[bytes | None]:
        """Each task packet's result packet. LinkError where none comes; DeviceResetError where they are not all of the
        ``epoch`` that is given."""
        results: list[bytes | None] = []
        self._check(epoch)
        for packet in packets:
            try:
                results.append(self._one(packet))
            except LinkError:
                # a reset explains what is wrong; else what is in the device is not known
                self._check(epoch)
                self._reset()
                raise
            progress(len(results), len(packets))
        self._check(epoch)
        return results

    def close(self) -> None:
        """Let go of the device."""
        self.device.close()

    def _meet(self) -> None:
        """See who the device is, reset it, and write down that this host met it."""
        found = self.device.read_register(TaskRegister.VERSION)
        if found != TASK_VERSION:
            raise LinkError(
                f"device: has registers of version {found:#x}, this host knows version {TASK_VERSION:#x}; build the "
                "bitstream with this version of rbdgen"
            )
        addresses = [TaskRegister.IDENTITY + WORD_BYTES * k for k in range(IDENTITY_WORDS)]
        words = [self.device.read_register(address) for address in addresses]
        self.identity = np.array(words, "<u4").tobytes()[:IDENTITY_BYTES]
        self._reset()
        # any number but zero, which a reset leaves: so both a reset and another host show
        self.written = 1 + secrets.randbelow(MOST_EPOCH)
        self.device.write_register(TaskRegister.EPOCH, self.written)
        self._wait(Status.ROOM)

    def _reset(self) -> None:
        self.device.write_register(TaskRegister.CONTROL, Command.RESET | Command.CLEAR)

    @property
    def _was_reset(self) -> bool:
        return self.device.read_register(TaskRegister.EPOCH) != self.written

    def _check(self, epoch: int | None) -> None:
        """See whether the device was reset."""
        if self._was_reset:
            self._meet()
        if epoch is not None and epoch != self.written:
            raise DeviceResetError

    def _one(self, packet: bytes) -> bytes:
        """The result packet of a task."""
        *words, last = np.frombuffer(packet, "<u4").tolist()
        for word in words:
            self.device.write_register(TaskRegister.TASK, word)
        self.device.write_register(TaskRegister.TASK_LAST, last)
        self.counters.sent += 1
        self._wait(Status.RESULT)
        count = self.lengths[code_of(packet)] // WORD_BYTES
        behind = [TaskRegister.RESULT] * (count - 1) + [TaskRegister.RESULT_LAST]
        result = self._words(behind[:1])
        if header(result)[2] & Flag.FUNCTION:
            # each word of the task was a task of its own
            self._reset()
            return result
        result += self._words(behind[1:])
        if self.device.read_register(TaskRegister.STATUS) & Status.REFUSED:
            raise LinkError("device: refused words of a task or of its result; it was reset")
        return result

    def _words(self, registers: Sequence[TaskRegister]) -> bytes:
        """Words of a result."""
        words = [self.device.read_register(register) for register in registers]
        return np.array(words, "<u4").tobytes()

    def _wait(self, bit: Status) -> None:
        """Wait for a bit of ``STATUS``. LinkError where it does not come, soon where the device was reset."""
        watch = Watch(self.seconds)
        while not self.device.read_register(TaskRegister.STATUS) & bit:
            if watch.over or self._was_reset:
                raise LinkError(
                    f"device: no {str(bit.name).lower()} for {self.seconds:g} s; it was reset; try again, or load its "
                    "bitstream anew"
                )
