"""The model of an accelerator behind a board's shell: it answers task packets by a function that it is given, such as a
design's bit-true model.

It has no time. What the shells make of it, for each kind of link, is in :mod:`rbdgen.host.shell` and
:mod:`rbdgen.host.datagram_shell`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rbdgen.protocol.packets import (
    header,
    packet_rows,
    read_parameters,
    read_tasks,
    result_rows,
    row_packets,
)
from rbdgen.protocol.tasks import CALIBRATE, Flag, TaskFormat, join_header

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

    def __post_init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Become what a board is after its reset."""
        self.forget()
        self.pending: dict[int, list[bytes]] = {}
        """Tasks by their functions' codes."""
        self.answers: list[bytes] = []
        """Result packets that were not sent yet."""

    def keep(self, packet: bytes) -> None:
        """Take a task; one that loads a parameter is done when all before it are answered."""
        code = header(packet)[0]
        loads = self.load is not None and bool(self.tasks.parameters)
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
