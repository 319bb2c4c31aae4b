"""Tasks and results as beats of an AXI stream: packets (:mod:`rbdgen.protocol.packets`), each beat as wide as that.

A batch of tasks is one transfer; its results come in one transfer, those of each function in the order of their tasks.
Where several accelerators are behind the stream, a beat has as many tasks side by side as there are.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from rbdgen.errors import ConfigError, LinkError
from rbdgen.host.link import Counters, DeviceResetError, Progress
from rbdgen.host.manifest import Manifest
from rbdgen.protocol.frames import IDENTITY_BYTES
from rbdgen.protocol.packets import header
from rbdgen.protocol.registers import IDENTITY_WORDS, VERSION, Register, stream_bits
from rbdgen.protocol.tasks import Packing, Rows, TaskFormat

DEFAULT_BATCH = 4096
"""Tasks per transfer."""
MOST_EPOCH = (1 << 32) - 1
"""The largest number that ``EPOCH`` holds."""


def beats_of(packet: bytes, packing: Packing) -> list[int]:
    """A packet's beats."""
    size = packing.beat_bytes
    return [int.from_bytes(packet[k : k + size], "little") for k in range(0, len(packet), size)]


def packet_of(beats: Sequence[int], packing: Packing, values: int) -> bytes:
    """A packet of so many values from its beats."""
    whole = b"".join(beat.to_bytes(packing.beat_bytes, "little") for beat in beats)
    return whole[: packing.packet_bytes(values)]


def stream_bytes(rows: Rows, packing: Packing) -> bytes:
    """The bytes of a transfer, each beat as wide as the stream."""
    width = stream_bits(packing) // 8
    return b"".join(beat.to_bytes(width, "little") for beat in rows.beats)


def stream_beats(data: bytes, packing: Packing) -> list[int]:
    """The beats of a transfer, of what is whole of it."""
    width = stream_bits(packing) // 8
    starts = range(0, len(data) - width + 1, width)
    return [int.from_bytes(data[start : start + width], "little") for start in starts]


def task_stream(packets: Sequence[bytes], tasks: TaskFormat) -> bytes:
    """The transfer of tasks."""
    rows = tasks.task_rows([beats_of(packet, tasks.task) for packet in packets])
    return stream_bytes(rows, tasks.task)


def result_packets(data: bytes, tasks: TaskFormat) -> list[bytes]:
    """The packets of a transfer of results. LinkError unless the last is whole."""
    packing = tasks.result
    values = {f.code: len(f.results) for f in tasks.functions.values()}
    cut_off = f"device: a transfer of {len(data)} bytes ends inside a result; reset it"
    if len(data) % (stream_bits(packing) // 8):
        raise LinkError(cut_off)
    try:
        rows = tasks.read_results(stream_beats(data, packing))
    except ConfigError:
        raise LinkError(cut_off) from None
    packets = []
    for beats in rows.packets:
        code, _, _ = tasks.header(beats[0])
        packets.append(packet_of(beats, packing, values.get(code, 0)))
    return packets


def result_bytes(data: bytes, tasks: TaskFormat) -> int:
    """Length of the transfer of results of a transfer of tasks: a row of results for each row of tasks."""
    beats = tasks.answer_beats(stream_beats(data, tasks.task))
    return beats * stream_bits(tasks.result) // 8


class StreamDevice(Protocol):
    """A device behind AXI streams, with registers beside them (:mod:`rbdgen.protocol.registers`)."""

    def transfer(self, data: bytes, size: int) -> bytes:
        """Send the beats of a batch of tasks, and receive those of its results, ``size`` bytes. LinkError where they do
        not come."""
        ...

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
class StreamLink:
    """A device behind AXI streams, for :class:`rbdgen.host.driver.Driver`, if it is the manifest's; else a LinkError.
    ``batch`` tasks make a transfer."""

    manifest: Manifest
    device: StreamDevice
    batch: int = DEFAULT_BATCH
    attempts: int = 1
    counters: Counters = field(default_factory=Counters)

    def __post_init__(self) -> None:
        self.tasks = self.manifest.tasks
        self._meet()

    @property
    def epoch(self) -> int:
        """What was last written to ``EPOCH``."""
        return self.written

    def exchange(
        self,
        packets: Sequence[bytes],
        progress: Progress = lambda done, total: None,
        epoch: int | None = None,
    ) -> list[bytes | None]:
        """Each task packet's result packet. LinkError where they do not belong together; DeviceResetError where they
        are not all of the ``epoch`` that is given."""
        results: list[bytes | None] = []
        for k in range(0, len(packets), self.batch):
            try:
                results += self._one(packets[k : k + self.batch])
            finally:
                # a reset explains what else is wrong
                self._check(epoch)
            progress(len(results), len(packets))
        return results

    def close(self) -> None:
        """Let go of the device."""
        self.device.close()

    def _meet(self) -> None:
        """See that the device is the manifest's, and write down that this host met it."""
        found = self.device.read_register(Register.VERSION)
        if found != VERSION:
            raise LinkError(
                f"device: has registers of version {found}, this host knows version {VERSION}; build the bitstream "
                "with this version of rbdgen"
            )
        addresses = [Register.IDENTITY + 4 * k for k in range(IDENTITY_WORDS)]
        words = [self.device.read_register(address) for address in addresses]
        check_identity(words, self.manifest.identity, self.manifest.name)
        self.written = 1 + secrets.randbelow(MOST_EPOCH)
        self.device.write_register(Register.EPOCH, self.written)

    def _check(self, epoch: int | None) -> None:
        """See whether the device was reset."""
        if self.device.read_register(Register.EPOCH) != self.written:
            self._meet()
        if epoch is not None and epoch != self.written:
            raise DeviceResetError

    def _one(self, packets: Sequence[bytes]) -> list[bytes]:
        sent = task_stream(packets, self.tasks)
        data = self.device.transfer(sent, result_bytes(sent, self.tasks))
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
