"""A device behind AXI streams, made of the model of a shell: whole batches of beats in and out."""

from __future__ import annotations

from dataclasses import dataclass, field

from rbdgen.host.beats import packet_beats
from rbdgen.host.shell import ShellModel, error_bytes
from rbdgen.protocol.registers import stream_bits


@dataclass
class DmaModel:
    """Answers by ``shell``; ``sent`` are the batches that came."""

    shell: ShellModel
    sent: list[bytes] = field(default_factory=list)

    def transfer(self, data: bytes, size: int) -> bytes:
        """The answers to the tasks in ``data``, whole beats of the AXI stream."""
        self.sent.append(data)
        shell, packing = self.shell, self.shell.tasks.task
        width, start = stream_bits(packing) // 8, 0
        while start < len(data):
            length = shell.lengths.get(data[start] & 15, error_bytes(shell.tasks))
            beats = -(-length // packing.beat_bytes)
            offsets = range(start, start + beats * width, width)
            packet = b"".join(data[offset : offset + packing.beat_bytes] for offset in offsets)
            packet = packet[:length]
            shell.pending.setdefault(packet[0] & 15, []).append(packet)
            start += beats * width
        names = {f.code: f.name for f in shell.tasks.functions.values()}
        answers: list[bytes] = []
        for code, packets in shell.pending.items():
            answers += shell.results(names[code], packets)
        shell.pending = {}
        return b"".join(packet_beats(packet, shell.tasks.result) for packet in answers)

    def close(self) -> None:
        """Nothing is open."""

    def read(self) -> bytes:
        """No bytes come by themselves."""
        return b""

    def write(self, data: bytes) -> None:
        """Bytes alone go nowhere."""
