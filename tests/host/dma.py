"""A device behind AXI streams, made of the model of a shell: whole batches of beats in and out."""

from __future__ import annotations

from dataclasses import dataclass, field

from rbdgen.host.beats import packet_beats
from rbdgen.host.registers import stream_bits
from rbdgen.host.shell import ShellModel, error_bytes


@dataclass
class DmaModel:
    """Answers by ``shell``; ``sent`` are the batches that came."""

    shell: ShellModel
    sent: list[bytes] = field(default_factory=list)

    def transfer(self, data: bytes, size: int) -> bytes:
        self.sent.append(data)
        shell, packing = self.shell, self.shell.tasks.task
        width, start = stream_bits(packing) // 8, 0
        while start < len(data):
            length = shell.lengths.get(data[start] & 15, error_bytes(shell.tasks))
            beats = -(-length // packing.beat_bytes)
            packet = b"".join(data[start + k * width :][: packing.beat_bytes] for k in range(beats))[:length]
            shell.pending.setdefault(packet[0] & 15, []).append(packet)
            start += beats * width
        names = {f.code: f.name for f in shell.tasks.functions.values()}
        answers = [p for code, packets in shell.pending.items() for p in shell.results(names[code], packets)]
        shell.pending = {}
        return b"".join(packet_beats(p, shell.tasks.result) for p in answers)

    def close(self) -> None:
        pass

    def read(self) -> bytes:
        return b""

    def write(self, data: bytes) -> None:
        pass
