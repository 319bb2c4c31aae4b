"""The model of an accelerator, and of a board's shell between it and a byte link, in this process.

The accelerator answers task packets by a function that it is given, such as a design's bit-true model. The shell keeps
the protocol byte for byte. Neither has time: everything that was written is answered at the next reading, functions in
any order, as the RTL may. With Ethernet it is :mod:`rbdgen.shells.datagram_shell`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rbdgen.protocol.datagrams import result_lengths, task_lengths
from rbdgen.protocol.frames import (
    FRAME_BYTES,
    NONCE_BYTES,
    PROTOCOL_VERSION,
    Deframer,
    Frame,
    Kind,
    Status,
    buffer_bytes,
    capacity,
    frame_bytes,
)
from rbdgen.protocol.packets import (
    header,
    packet_rows,
    read_parameters,
    read_tasks,
    result_rows,
    row_packets,
)
from rbdgen.protocol.tasks import CALIBRATE, Flag, TaskFormat, join_header, split_header

Compute = Callable[[str, Sequence[np.ndarray]], tuple[Sequence[np.ndarray], np.ndarray]]
"""Raw results, one (n,) array per result word, and overflow (n,), of a function and its raw operands."""

Load = Callable[[int, int], None]
"""Takes a parameter's number and raw value, which is inside its range."""

Forget = Callable[[], None]
"""Gives all parameters their nominal values again."""


@dataclass
class AcceleratorModel:
    """An accelerator that holds the design with this ``identity``. ``load`` takes parameters, if it can."""

    identity: bytes
    tasks: TaskFormat
    compute: Compute
    load: Load | None = None
    forget: Forget = lambda: None

    in_process: ClassVar[bool] = True
    """Unlike a board it is copied by a fork (:mod:`rbdgen.host.driver`)."""

    def __post_init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Become what a board is after its reset."""
        self.forget()
        self.measure()
        self.pending: dict[int, list[bytes]] = {}
        """Tasks by their functions' codes."""
        self.answers: list[bytes] = []
        """Result packets that were not sent yet."""

    def measure(self) -> None:
        """Find how long packets are, by their codes: bytes of tasks (``lengths``) and of results."""
        self.lengths = task_lengths(self.tasks)
        self.answer_lengths = result_lengths(self.tasks)

    def keep(self, packet: bytes) -> None:
        """Take a task; one that loads a parameter is done when all before it are answered."""
        code = header(packet)[0]
        loads = self.load is not None and bool(self.tasks.parameters)
        # the RTL lets all tasks before it leave the pipelines first
        if loads and code == CALIBRATE:
            self.work()
            self.answers.append(self.loaded(packet))
        else:
            self.pending.setdefault(code, []).append(packet)

    def work(self) -> None:
        """Answer all tasks, function by function."""
        for code, packets in self.pending.items():
            names = [f.name for f in self.tasks.functions.values() if f.code == code]
            self.answers += self.results(names[0], packets) if names else self.errors(packets)
        self.pending = {}

    def results(self, function: str, packets: Sequence[bytes]) -> list[bytes]:
        """Result packets of tasks of one function."""
        tag, raw = read_tasks(self.tasks, function, packet_rows(packets))
        values, overflow = self.compute(function, raw)
        outside = self.tasks.functions[function].out_of_range(raw)
        flags = np.where(overflow, Flag.OVERFLOW, 0) | np.where(outside, Flag.RANGE, 0)
        answers = result_rows(self.tasks, function, tag, flags, values)
        return row_packets(answers)

    def loaded(self, packet: bytes) -> bytes:
        """Load a parameter, unless its number or value is not one of its range; the answer."""
        rows = np.frombuffer(packet, np.uint8)[None]
        (number,), (value,) = read_parameters(self.tasks, rows)
        words = self.tasks.parameters
        # a number beyond the parameters is answered like a value beyond its range
        legal = False
        if number < len(words):
            low, high = words[number].codes
            legal = bool(low <= value <= high)
        if legal and self.load is not None:
            self.load(int(number), int(value))
        return self.answer(packet, 0 if legal else Flag.RANGE)

    def answer(self, packet: bytes, flags: int) -> bytes:
        """An answer to a task without result words."""
        code, tag, _ = header(packet)
        word = join_header(code, tag, flags)
        length = self.tasks.result.packet_bytes(0)
        return word.to_bytes(length, "little")

    def errors(self, packets: Sequence[bytes]) -> list[bytes]:
        """Answers to tasks of a function that there is not."""
        return [self.answer(packet, Flag.FUNCTION) for packet in packets]


@dataclass
class ShellModel(AcceleratorModel):
    """A shell and its accelerator; a :class:`rbdgen.host.transport.Transport`."""

    def reset(self) -> None:
        """Become what a board is after its reset."""
        super().reset()
        self.epoch: int | None = None
        self.deframer = Deframer(buffer_bytes(self.tasks) - FRAME_BYTES)
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
        # counted in the status, by which a host tells its own faults from the line's
        self.rejected += not known
        if not known:
            return
        if frame.kind == Kind.TASK:
            self.keep(frame.payload)
            return
        self.finish()
        nonce = int.from_bytes(frame.payload, "little")
        # the first hello after a reset names the epoch
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
        return len(frame.payload) == self.lengths[code]

    def finish(self) -> None:
        """Answer all tasks."""
        self.work()
        answers, self.answers = self.answers, []
        for packet in answers:
            self.output += frame_bytes(Kind.TASK, packet)
