"""Packets side by side in the lanes of a stream, where several accelerators are behind it: rows of them as transfers.

The rows are those of :meth:`rbdgen.protocol.tasks.TaskFormat.task_rows`, made of whole matrices of words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from rbdgen.errors import ConfigError
from rbdgen.protocol.bits import BitFields
from rbdgen.protocol.packets import by_length, code_of, packet_rows, row_packets
from rbdgen.protocol.registers import stream_bits
from rbdgen.protocol.tasks import CALIBRATE, FUNCTION_BITS, Packing

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
