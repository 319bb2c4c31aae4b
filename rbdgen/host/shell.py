"""The model of a board's shell: what the RTL between the byte link and the accelerator does, in this process.

It keeps the protocol byte for byte. It has no time: everything that was written is answered at the next reading,
functions in any order, as the RTL may.
"""

from __future__ import annotations

from dataclasses import dataclass

from rbdgen.host.accelerator import AcceleratorModel
from rbdgen.protocol.frames import (
    FRAME_BYTES,
    NONCE_BYTES,
    PROTOCOL_VERSION,
    Deframer,
    Frame,
    Kind,
    Status,
    frame_bytes,
)
from rbdgen.protocol.tasks import TaskFormat, split_header

MINIMUM_BUFFER = 2048
"""Bytes: one block memory of the smallest devices."""


def buffer_bytes(tasks: TaskFormat) -> int:
    """Bytes of frames that a shell keeps: room for four of the longest tasks, a power of two."""
    longest = max(map(tasks.task.packet_bytes, tasks.task_words.values())) + FRAME_BYTES
    return max(MINIMUM_BUFFER, 1 << (4 * longest - 1).bit_length())


def capacity(tasks: TaskFormat) -> int:
    """What a shell promises of its buffer: all but what two hellos take and the place that a full one leaves free."""
    return buffer_bytes(tasks) - 2 * (FRAME_BYTES + NONCE_BYTES) - 1


def error_bytes(tasks: TaskFormat) -> int:
    """Length of a task of a function that the accelerator does not have, and of its answer: one word."""
    return tasks.task.packet_bytes(0)


@dataclass
class ShellModel(AcceleratorModel):
    """A shell and its accelerator; a :class:`rbdgen.host.transport.Transport`."""

    def reset(self) -> None:
        """Become what a board is after its reset."""
        super().reset()
        self.epoch: int | None = None
        self.deframer = Deframer(buffer_bytes(self.tasks) - FRAME_BYTES)
        self.lengths = {
            code: self.tasks.task.packet_bytes(n) for code, n in self.tasks.task_words.items()
        }
        self.accepted = self.rejected = 0
        self.output = bytearray()

    def write(self, data: bytes) -> None:
        for frame in self.deframer.feed(data):
            self.take(frame)

    def read(self) -> bytes:
        self.finish()
        data, self.output = bytes(self.output), bytearray()
        return data

    def close(self) -> None:
        """There is nothing to let go of."""

    def take(self, frame: Frame) -> None:
        """Keep a task, answer a hello."""
        known = self.fits(frame)
        self.accepted += known
        self.rejected += not known
        if not known:
            return
        if frame.kind == Kind.TASK:
            self.keep(frame.payload)
            return
        self.finish()
        nonce = int.from_bytes(frame.payload, "little")
        if self.epoch is None:
            self.epoch = nonce
        counters = (self.accepted, self.deframer.damaged, 0, self.rejected)
        room = capacity(self.tasks)
        status = Status(nonce, PROTOCOL_VERSION, self.identity, self.epoch, room, *counters)
        self.output += frame_bytes(Kind.HELLO, status.pack())

    def fits(self, frame: Frame) -> bool:
        """Whether a frame is a task or hello of this device: kind and length are right."""
        if frame.kind == Kind.HELLO:
            return len(frame.payload) == NONCE_BYTES
        if frame.kind != Kind.TASK or not frame.payload:
            return False
        code, *_ = split_header(frame.payload[0])
        return len(frame.payload) == self.lengths.get(code, error_bytes(self.tasks))

    def finish(self) -> None:
        """Answer all tasks."""
        self.work()
        answers, self.answers = self.answers, []
        for packet in answers:
            self.output += frame_bytes(Kind.TASK, packet)
