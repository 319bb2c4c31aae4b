"""A device behind AXI streams, made of the model of a shell: whole batches of beats in and out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

from rbdgen.host.beats import beats_of, packet_of, stream_beats, stream_bytes
from rbdgen.host.shell import ShellModel


@dataclass
class DmaModel:
    """Answers by ``shell``; ``sent`` are the batches that came."""

    shell: ShellModel
    sent: list[bytes] = field(default_factory=list)

    def transfer(self, data: bytes, size: int) -> bytes:
        """The answers to the tasks in ``data``, whole beats of the AXI stream."""
        self.sent.append(data)
        shell = self.shell
        tasks = shell.tasks
        rows = tasks.read_tasks(stream_beats(data, tasks.task))
        for row in rows:
            for beats in row:
                code, _, _ = tasks.header(beats[0])
                packet = packet_of(beats, tasks.task, tasks.task_words[code])
                shell.pending.setdefault(code, []).append(packet)
        names = {f.code: f.name for f in tasks.functions.values()}
        answers: dict[int, list[bytes]] = {}
        for code, packets in shell.pending.items():
            answers[code] = shell.results(names[code], packets)
        shell.pending = {}
        if tasks.replicas > 1:
            return self._rows(rows, answers)
        # one accelerator may answer functions in any order
        packets = list(chain.from_iterable(answers.values()))
        return self._stream([[packet] for packet in packets])

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

    def read(self) -> bytes:
        """No bytes come by themselves."""
        return b""

    def write(self, data: bytes) -> None:
        """Bytes alone go nowhere."""
