"""The host's end of AXI streams: a batch of tasks is one transfer, and its results come in one.

Each beat is as wide as the stream. Packets for one accelerator are whole rows of bytes; those for several stand side by
side in lanes, in the rows of :meth:`rbdgen.protocol.tasks.TaskFormat.task_rows`. Results of each function come in the
order of their tasks.
"""

from __future__ import annotations

import secrets
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

import numpy as np

from rbdgen.errors import ConfigError, LinkError
from rbdgen.host.exchanges import Counters, DeviceResetError, Progress
from rbdgen.host.manifest import Manifest
from rbdgen.protocol.frames import IDENTITY_BYTES
from rbdgen.protocol.packets import BitFields, by_length, code_of, packet_rows, row_packets
from rbdgen.protocol.registers import IDENTITY_WORDS, VERSION, Register, stream_bits
from rbdgen.protocol.tasks import CALIBRATE, FUNCTION_BITS, Packing, Rows, TaskFormat

CODE_MASK = np.uint64((1 << FUNCTION_BITS) - 1)
"""Of a header's bits those of the function's code."""


@lru_cache(maxsize=64)
def _stream_fields(packing: Packing) -> BitFields:
    """The words of each lane of a beat of the stream, and behind them the bit that says that there is something."""
    begins, widths = [], []
    for lane in range(packing.lanes):
        first = lane * packing.lane_bits
        begins += [first + offset for offset in packing.offsets]
        begins.append(first + packing.beat_bits)
        widths += [*packing.places, 1]
    return BitFields(begins, widths, stream_bits(packing) // 8)


@lru_cache(maxsize=256)
def _packet_fields(packing: Packing, beats: int) -> BitFields:
    """All words of a packet of so many whole beats."""
    begins, widths = [], []
    for beat in range(beats):
        first = 8 * beat * packing.beat_bytes
        begins += [first + offset for offset in packing.offsets]
        widths += packing.places
    return BitFields(begins, widths, beats * packing.beat_bytes)


def task_transfer_in_lanes(
    packets: Sequence[bytes], packing: Packing, answers: Mapping[int, int]
) -> tuple[bytes, int]:
    """The transfer of tasks, and how many beats their results have. ``answers``: a result's beats by function code, one
    for all others."""
    begins, lanes = np.zeros((2, len(packets)), np.int64)
    begin = end = lane = size = answered = answer = 0
    for number, packet in enumerate(packets):
        code = code_of(packet)
        # a task that loads a parameter is a row of its own
        if lane == size or code == CALIBRATE:
            answered += answer
            begin, lane, answer = end, 0, 0
            size = 1 if code == CALIBRATE else packing.lanes
        begins[number], lanes[number] = begin, lane
        lane += 1
        # a row is as long as its longest packet
        end = max(end, begin - (-len(packet) // packing.beat_bytes))
        answer = max(answer, answers.get(code, 1))
    used = packing.words_per_beat
    words = np.zeros((end, packing.lanes, used + 1), np.int64)
    for length, numbers in by_length(packets).items():
        beats = -(-length // packing.beat_bytes)
        rows = np.zeros((len(numbers), beats * packing.beat_bytes), np.uint8)
        rows[:, :length] = packet_rows([packets[number] for number in numbers])
        own = _packet_fields(packing, beats).unpack(rows)
        at = begins[numbers, None] + np.arange(beats)
        beside = lanes[numbers, None]
        words[at, beside, :used] = own.reshape(len(numbers), beats, used)
        words[at, beside, used] = 1
    data = _stream_fields(packing).pack(words.reshape(end, packing.lanes * (used + 1)))
    return data.tobytes(), answered + answer


def results_in_lanes(
    data: bytes, packing: Packing, answers: Mapping[int, int], lengths: Mapping[int, int]
) -> list[bytes]:
    """The packets of a transfer of results, row by row. ``answers`` and ``lengths``: a result's beats and bytes by
    function code. ConfigError unless the last row is whole."""
    used = packing.words_per_beat
    rows = np.frombuffer(data, np.uint8).reshape(-1, stream_bits(packing) // 8)
    words = _stream_fields(packing).unpack(rows).reshape(len(rows), packing.lanes, used + 1)
    codes = (words[:, :, 0] & CODE_MASK).tolist()
    there = (words[:, :, used] & np.uint64(1)).tolist()
    begins: list[int] = []
    lanes: list[int] = []
    # packets of one function have one length, and are cut out together
    of_code: dict[int, list[int]] = {}
    begin = 0
    while begin < len(rows):
        end = begin + 1
        for lane in np.flatnonzero(there[begin]).tolist():
            code = codes[begin][lane]
            end = max(end, begin + answers.get(code, 1))
            of_code.setdefault(code, []).append(len(begins))
            begins.append(begin)
            lanes.append(lane)
        if end > len(rows):
            raise ConfigError("beats: the last row of results must be whole")
        begin = end
    packets = [b""] * len(begins)
    for code, numbers in of_code.items():
        beats = answers.get(code, 1)
        at = np.array(begins)[numbers, None] + np.arange(beats)
        own = words[at, np.array(lanes)[numbers, None], :used].reshape(len(numbers), -1)
        whole = _packet_fields(packing, beats).pack(own)
        length = lengths.get(code, packing.packet_bytes(0))
        for number, packet in zip(numbers, row_packets(whole[:, :length]), strict=True):
            packets[number] = packet
    return packets


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


def task_transfer(packets: Sequence[bytes], tasks: TaskFormat) -> tuple[bytes, int]:
    """The transfer of tasks, and the length of that of their results."""
    width = stream_bits(tasks.result) // 8
    beats = _result_beats(tasks)
    if tasks.replicas > 1:
        data, answered = task_transfer_in_lanes(packets, tasks.task, beats)
    else:
        data = _widened(packets, tasks.task)
        answered = sum(beats.get(code_of(packet), 1) for packet in packets)
    return data, width * answered


def result_packets(data: bytes, tasks: TaskFormat) -> list[bytes]:
    """The packets of a transfer of results. LinkError unless the last is whole."""
    cut_off = f"device: a transfer of {len(data)} bytes ends inside a result; reset it"
    if len(data) % (stream_bits(tasks.result) // 8):
        raise LinkError(cut_off)
    try:
        if tasks.replicas > 1:
            return results_in_lanes(data, tasks.result, _result_beats(tasks), _result_bytes(tasks))
        return _in_row(data, tasks)
    except ConfigError:
        raise LinkError(cut_off) from None


def _result_beats(tasks: TaskFormat) -> dict[int, int]:
    """Beats of results by their functions' codes. All others have one."""
    return {f.code: tasks.result_beats(name) for name, f in tasks.functions.items()}


def _result_bytes(tasks: TaskFormat) -> dict[int, int]:
    """Bytes of result packets by their functions' codes."""
    return {f.code: tasks.result_bytes(name) for name, f in tasks.functions.items()}


def _widened(packets: Sequence[bytes], packing: Packing) -> bytes:
    """The beats of packets, one packet after the other, each beat as wide as the stream."""
    width, size = stream_bits(packing) // 8, packing.beat_bytes
    parts = [b""] * len(packets)
    for length, places in by_length(packets).items():
        count, beats = len(places), -(-length // size)
        # a packet's last beat may be short; what is behind its end must be zero
        rows = np.zeros((count, beats * size), np.uint8)
        rows[:, :length] = packet_rows([packets[place] for place in places])
        wide = np.zeros((count, beats, width), np.uint8)
        wide[:, :, :size] = rows.reshape(count, beats, size)
        for place, part in zip(places, row_packets(wide.reshape(count, -1)), strict=True):
            parts[place] = part
    return b"".join(parts)


def _in_row(data: bytes, tasks: TaskFormat) -> list[bytes]:
    """The packets of results of one accelerator. ConfigError unless the last is whole."""
    width, size = stream_bits(tasks.result) // 8, tasks.result.beat_bytes
    beats, lengths = _result_beats(tasks), _result_bytes(tasks)
    shortest = tasks.result.packet_bytes(0)
    parts, start = [], 0
    while start < len(data):
        end = start + width * beats.get(code_of(data[start : start + 1]), 1)
        parts.append(data[start:end])
        start = end
    if start > len(data):
        raise ConfigError("beats: the last result must be whole")
    packets = [b""] * len(parts)
    for places in by_length(parts).values():
        count = len(places)
        wide = packet_rows([parts[place] for place in places]).reshape(count, -1, width)
        narrow = row_packets(wide[:, :, :size].reshape(count, -1))
        for place, packet in zip(places, narrow, strict=True):
            packets[place] = packet[: lengths.get(code_of(packet), shortest)]
    return packets


DEFAULT_BATCH = 4096
"""Tasks per transfer."""
MOST_EPOCH = (1 << 32) - 1
"""The largest number that ``EPOCH`` holds."""


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
        """The number that was last written to ``EPOCH``."""
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
        # any number but zero, which a reset leaves: so both a reset and another host show
        self.written = 1 + secrets.randbelow(MOST_EPOCH)
        self.device.write_register(Register.EPOCH, self.written)

    def _check(self, epoch: int | None) -> None:
        """See whether the device was reset."""
        if self.device.read_register(Register.EPOCH) != self.written:
            self._meet()
        if epoch is not None and epoch != self.written:
            raise DeviceResetError

    def _one(self, packets: Sequence[bytes]) -> list[bytes]:
        sent, size = task_transfer(packets, self.tasks)
        answers = result_packets(self.device.transfer(sent, size), self.tasks)
        self.counters.sent += len(packets)
        if len(answers) != len(packets):
            raise LinkError(
                f"device: answered {len(answers)} of {len(packets)} tasks of a batch; reset it"
            )
        # only tasks of one function keep their order
        queues: defaultdict[int, deque[bytes]] = defaultdict(deque)
        for packet in answers:
            queues[code_of(packet)].append(packet)
        try:
            return [queues[code_of(packet)].popleft() for packet in packets]
        except IndexError:
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
