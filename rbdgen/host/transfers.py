"""Packets as transfers of an AXI stream, and back: each beat as wide as the stream.

Packets for one accelerator are whole rows of bytes; for several they stand in lanes (:mod:`rbdgen.host.lanes`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rbdgen.errors import ConfigError, LinkError
from rbdgen.host.lanes import results_in_lanes, task_transfer_in_lanes
from rbdgen.protocol.packets import by_length, code_of, packet_rows, row_packets
from rbdgen.protocol.registers import stream_bits
from rbdgen.protocol.tasks import Packing, Rows, TaskFormat


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
