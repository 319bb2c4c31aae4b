"""Tasks and results as beats of an AXI stream: packets (:mod:`rbdgen.protocol.packets`), each beat as wide as that.

A batch of tasks is one transfer; its results come in one transfer, those of each function in the order of their tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from rbdgen.errors import LinkError
from rbdgen.host.link import Counters, Progress
from rbdgen.host.transport import Transport
from rbdgen.protocol.frames import IDENTITY_BYTES
from rbdgen.protocol.packets import header
from rbdgen.protocol.registers import stream_bits
from rbdgen.protocol.tasks import Packing, TaskFormat

DEFAULT_BATCH = 4096
"""Tasks per transfer."""


def packet_beats(packet: bytes, packing: Packing) -> bytes:
    """A packet's beats, each as wide as the stream."""
    size, width = packing.beat_bytes, stream_bits(packing) // 8
    return b"".join(packet[k : k + size].ljust(width, b"\0") for k in range(0, len(packet), size))


def result_packets(data: bytes, tasks: TaskFormat) -> list[bytes]:
    """The packets of a transfer of results. LinkError unless the last is whole."""
    packing, width = tasks.result, stream_bits(tasks.result) // 8
    lengths = {f.code: packing.packet_bytes(len(f.results)) for f in tasks.functions.values()}
    packets, start = [], 0
    while start < len(data):
        code = data[start] & 15
        length = lengths.get(code, packing.packet_bytes(0))
        beats = -(-length // packing.beat_bytes)
        whole = b"".join(data[start + k * width :][: packing.beat_bytes] for k in range(beats))
        if start + beats * width > len(data):
            raise LinkError(
                f"device: a transfer of {len(data)} bytes ends inside a result; reset it"
            )
        packets.append(whole[:length])
        start += beats * width
    return packets


@dataclass
class StreamLink:
    """A device behind AXI streams, for :class:`rbdgen.host.driver.Driver`. ``transfer`` sends the beats of a batch, and
    returns those of its results, as many bytes as it is told."""

    tasks: TaskFormat
    transfer: Callable[[bytes, int], bytes]
    transport: Transport
    batch: int = DEFAULT_BATCH
    attempts: int = 1
    counters: Counters = field(default_factory=Counters)

    def exchange(
        self, packets: Sequence[bytes], progress: Progress = lambda done, total: None
    ) -> list[bytes | None]:
        """Each task packet's result packet. LinkError where they do not belong together."""
        results: list[bytes | None] = []
        for k in range(0, len(packets), self.batch):
            results += self._one(packets[k : k + self.batch])
            progress(len(results), len(packets))
        return results

    def _one(self, packets: Sequence[bytes]) -> list[bytes]:
        names = {f.code: f.name for f in self.tasks.functions.values()}
        width = stream_bits(self.tasks.result) // 8
        size = width * sum(self.tasks.result_beats(names[header(p)[0]]) for p in packets)
        data = self.transfer(b"".join(packet_beats(p, self.tasks.task) for p in packets), size)
        queues: dict[int, list[bytes]] = {}
        answers = result_packets(data, self.tasks)
        for packet in reversed(answers):
            queues.setdefault(header(packet)[0], []).append(packet)
        self.counters.sent += len(packets)
        if len(answers) != len(packets):
            raise LinkError(
                f"device: answered {len(answers)} of {len(packets)} tasks of a batch; reset it"
            )
        try:
            return [queues[header(p)[0]].pop() for p in packets]
        except (KeyError, IndexError):
            raise LinkError(
                "device: answered other functions than it was asked; reset it"
            ) from None


def check_identity(words: Sequence[int], identity: bytes, name: str) -> None:
    """LinkError unless the identity registers are those of the accelerator called ``name``."""
    found = np.array(words, "<u4").tobytes()[:IDENTITY_BYTES]
    if found != identity:
        raise LinkError(
            f"device: holds design {found.hex()}, not {identity.hex()} ({name}); load that bitstream, or use the "
            "manifest of the design that it holds"
        )
