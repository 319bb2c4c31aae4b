"""Packets as bytes: many tasks of one function at once into rows of bytes for a byte link, and rows of results back.

The layout is that of :class:`rbdgen.protocol.tasks.TaskFormat`; every beat starts a new byte, lowest byte first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rbdgen.protocol.tasks import (
    CALIBRATE,
    OperandWord,
    Packing,
    Results,
    ResultWord,
    TaskFormat,
    join_header,
    split_header,
)

HEADER_BYTES = 2
"""Bytes of a packet in which its header is."""


def task_rows(
    tasks: TaskFormat, function: str, tag: np.ndarray, raw: Sequence[np.ndarray]
) -> np.ndarray:
    """Tasks with tags (n,) and raw operands, one (n,) array per word, as bytes (n, length)."""
    code = tasks.functions[function].code
    header = join_header(code, np.asarray(tag, np.int64))
    words = np.stack([header, *raw], axis=1)
    return _rows(words, tasks.task)


def result_rows(
    tasks: TaskFormat, function: str, tag: np.ndarray, flags: np.ndarray, raw: Sequence[np.ndarray]
) -> np.ndarray:
    """Results with tags and flags (n,) and raw values, one (n,) array per word, as bytes (n, length)."""
    code = tasks.functions[function].code
    header = join_header(code, np.asarray(tag, np.int64), np.asarray(flags, np.int64))
    words = np.stack([header, *raw], axis=1)
    return _rows(words, tasks.result)


def parameter_rows(tasks: TaskFormat, number: np.ndarray, raw: np.ndarray) -> np.ndarray:
    """Tasks that load parameters, by their numbers and raw values (n,), as bytes (n, length)."""
    header = np.full(len(number), CALIBRATE, np.int64)
    words = np.stack([header, number, raw], axis=1)
    return _rows(words, tasks.task)


def read_parameters(tasks: TaskFormat, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and raw values (n,) from the bytes (n, length) of tasks that load parameters."""
    words = _words(rows, tasks.task, 2)
    number = words[:, 1]
    widths = [word.format.width for word in tasks.parameters]
    raw = []
    for k, value in zip(number, words[:, 2], strict=True):
        # there may be no such parameter
        width = widths[k] if k < len(widths) else tasks.task.places[2 % tasks.task.words_per_beat]
        raw.append(_signed(value, width))
    return number, np.array(raw)


def set_tag(packet: bytearray, tag: int) -> None:
    """Put ``tag`` into a packet's header."""
    code, _, flags = header(packet)
    word = join_header(code, tag, flags)
    packet[:HEADER_BYTES] = word.to_bytes(HEADER_BYTES, "little")


def header(packet: bytes | bytearray) -> tuple[int, int, int]:
    """Function code, tag and flags of a packet of at least two bytes."""
    word = int.from_bytes(packet[:HEADER_BYTES], "little")
    return split_header(word)


def read_tasks(
    tasks: TaskFormat, function: str, rows: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Tags (n,) and raw operands from the bytes (n, length) of tasks of one function."""
    f = tasks.functions[function]
    words = _words(rows, tasks.task, len(f.operands))
    _, tag, _ = split_header(words[:, 0])
    return tag, _values(words, f.operands)


def read_results(tasks: TaskFormat, function: str, rows: np.ndarray) -> Results:
    """Results of one function from their bytes (n, length)."""
    f = tasks.functions[function]
    words = _words(rows, tasks.result, len(f.results))
    _, tag, flags = split_header(words[:, 0])
    return Results(tag, flags, _values(words, f.results))


def _values(
    words: np.ndarray, known: Sequence[OperandWord] | Sequence[ResultWord]
) -> list[np.ndarray]:
    """The signed values behind the headers of packets, an array (n,) per word."""
    columns = words.T[1:]
    return [_signed(x, word.format.width) for x, word in zip(columns, known, strict=True)]


def _rows(words: np.ndarray, packing: Packing) -> np.ndarray:
    """Words (n, k), header first, as bytes (n, length)."""
    count, used = words.shape
    beats = packing.beats(used - 1)
    padded = np.zeros((count, beats * packing.words_per_beat), np.int64)
    padded[:, :used] = words
    by_beat = padded.reshape(count, beats, packing.words_per_beat)
    parts = []
    for k, width in enumerate(packing.places):
        bits = by_beat[:, :, k, None] >> np.arange(width) & 1
        parts.append(bits.astype(np.uint8))
    of_beats = np.concatenate(parts, axis=-1)
    packed = np.packbits(of_beats, axis=-1, bitorder="little")
    rows = packed.reshape(count, beats * packing.beat_bytes)
    length = packing.packet_bytes(used - 1)
    return rows[:, :length]


def _words(rows: np.ndarray, packing: Packing, values: int) -> np.ndarray:
    """The inverse of :func:`_rows`: unsigned words (n, 1 + values)."""
    count = len(rows)
    beats = packing.beats(values)
    padded = np.zeros((count, beats * packing.beat_bytes), np.uint8)
    padded[:, : packing.packet_bytes(values)] = rows
    of_beats = padded.reshape(count, beats, packing.beat_bytes)
    bits = np.unpackbits(of_beats, axis=-1, bitorder="little")
    used = bits[:, :, : packing.beat_bits].astype(np.int64)
    columns = []
    for width, offset in zip(packing.places, packing.offsets, strict=True):
        part = used[:, :, offset : offset + width]
        columns.append(part @ (1 << np.arange(width)))
    words = np.stack(columns, axis=-1).reshape(count, beats * packing.words_per_beat)
    return words[:, : 1 + values]


def _signed(words: np.ndarray, width: int) -> np.ndarray:
    low = words & ((1 << width) - 1)
    negative = low >> (width - 1) != 0
    return np.where(negative, low - (1 << width), low)
