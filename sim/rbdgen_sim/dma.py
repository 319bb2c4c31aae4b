"""A device behind AXI streams, made of the model of a shell: whole batches of beats in and out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from rbdgen.host.shell import ShellModel
from rbdgen.host.stream_link import beats_of, packet_of, stream_beats, stream_bytes
from rbdgen.protocol.registers import VERSION, Register
from rbdgen.protocol.tasks import CALIBRATE


@dataclass
class DmaModel:
    """Answers by ``shell``, or by ``answers`` to the same batches; a :class:`rbdgen.host.stream_link.StreamDevice`.

    It records what came, for :func:`rbdgen_sim.axi.play`: the batches ``sent``, the ``epochs`` that stood after each of
    them, and by the next batch's number the ``written`` epochs and the ``resets``."""

    shell: ShellModel
    answers: list[bytes] | None = None
    sent: list[bytes] = field(default_factory=list)
    epochs: list[int] = field(default_factory=list)
    written: dict[int, int] = field(default_factory=dict)
    resets: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.registers: dict[int, int] = {Register.VERSION: VERSION, Register.EPOCH: 0}
        words = np.frombuffer(self.shell.identity, "<u4").tolist()
        self.registers |= {Register.IDENTITY + 4 * k: word for k, word in enumerate(words)}

    def reset(self) -> None:
        """Become what a board is after its reset."""
        self.shell.reset()
        self.registers[Register.EPOCH] = 0
        self.resets.append(len(self.sent))

    def read_register(self, address: int) -> int:
        """The register at ``address``."""
        return self.registers[address]

    def write_register(self, address: int, value: int) -> None:
        """Write the register at ``address``."""
        self.registers[address] = value
        self.written[len(self.sent)] = value

    def transfer(self, data: bytes, size: int) -> bytes:
        """The answers to the tasks in ``data``, whole beats of the AXI stream."""
        self.sent.append(data)
        self.epochs.append(self.registers[Register.EPOCH])
        if self.answers is not None:
            return self.answers.pop(0)
        shell = self.shell
        tasks = shell.tasks
        rows = tasks.read_tasks(stream_beats(data, tasks.task))
        answers: dict[int, list[bytes]] = {}
        for beats in chain.from_iterable(rows):
            code, _, _ = tasks.header(beats[0])
            packet = packet_of(beats, tasks.task, tasks.task_words[code])
            if code == CALIBRATE:
                # tasks before a parameter are answered with the old one
                self._answer(answers)
                answers.setdefault(code, []).append(shell.loaded(packet))
            else:
                shell.pending.setdefault(code, []).append(packet)
        self._answer(answers)
        if tasks.replicas > 1:
            return self._rows(rows, answers)
        # one accelerator may answer functions in any order
        packets = list(chain.from_iterable(answers.values()))
        return self._stream([[packet] for packet in packets])

    def _answer(self, answers: dict[int, list[bytes]]) -> None:
        """Answer the tasks that are pending."""
        names = {f.code: f.name for f in self.shell.tasks.functions.values()}
        for code, packets in self.shell.pending.items():
            answers.setdefault(code, []).extend(self.shell.results(names[code], packets))
        self.shell.pending = {}

    def _rows(self, rows: list[list[Sequence[int]]], answers: dict[int, list[bytes]]) -> bytes:
        """Answers in the rows of their tasks."""
        tasks = self.shell.tasks
        queues = {code: iter(packets) for code, packets in answers.items()}
        found = []
        for row in rows:
            found.append([next(queues[tasks.header(beats[0])[0]]) for beats in row])
        return self._stream(found)

    def _stream(self, rows: list[list[bytes]]) -> bytes:
        """Rows of answers as a transfer."""
        tasks = self.shell.tasks
        of_rows = []
        for row in rows:
            of_rows.append([beats_of(packet, tasks.result) for packet in row])
        return stream_bytes(tasks.result_rows(of_rows), tasks.result)

    def close(self) -> None:
        """Nothing is open."""
