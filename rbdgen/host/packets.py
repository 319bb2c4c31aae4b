"""Packets as bytes: many tasks of one function at once into rows of bytes for a byte link, and rows of results back.

The layout is that of :class:`rbdgen.host.tasks.TaskFormat`; every beat starts a new byte, lowest byte first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rbdgen.host.tasks import (
    CALIBRATE,
    FLAG_BITS,
    FUNCTION_BITS,
    TAG_BITS,
    Packing,
    Results,
    TaskFormat,
)


def task_rows(tasks: TaskFormat, function: str, tag: np.ndarray, raw: Sequence[np.ndarray]) -> np.ndarray:
    """Tasks with tags (n,) and raw operands, one (n,) array per word, as bytes (n, length)."""
    header = tasks.functions[function].code | (np.asarray(tag, np.int64) << FUNCTION_BITS)
    return _rows(np.stack([header, *raw], axis=1), tasks.task)


def result_rows(
    tasks: TaskFormat, function: str, tag: np.ndarray, flags: np.ndarray, raw: Sequence[np.ndarray]
) -> np.ndarray:
    """Results with tags and flags (n,) and raw values, one (n,) array per word, as bytes (n, length)."""
    flags = np.asarray(flags, np.int64) << (FUNCTION_BITS + TAG_BITS)
    header = tasks.functions[function].code | (np.asarray(tag, np.int64) << FUNCTION_BITS) | flags
    return _rows(np.stack([header, *raw], axis=1), tasks.result)


def parameter_rows(tasks: TaskFormat, number: np.ndarray, raw: np.ndarray) -> np.ndarray:
    """Tasks that load parameters, by their numbers and raw values (n,), as bytes (n, length)."""
    header = np.full(len(number), CALIBRATE, np.int64)
    return _rows(np.stack([header, number, raw], axis=1), tasks.task)


def read_parameters(tasks: TaskFormat, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and raw values (n,) from the bytes (n, length) of tasks that load parameters."""
    words = _words(rows, tasks.task, 2)
    number = words[:, 1]
    widths = [w.format.width for w in tasks.parameters]
    raw = [
        _signed(x, widths[k] if k < len(widths) else tasks.task.word_bits)
        for k, x in zip(number, words[:, 2], strict=True)
    ]
    return number, np.array(raw)


def set_tag(packet: bytearray, tag: int) -> None:
    """Put ``tag`` into a packet's header."""
    mask = ((1 << TAG_BITS) - 1) << FUNCTION_BITS
    packet[:2] = (int.from_bytes(packet[:2], "little") & ~mask | tag << FUNCTION_BITS).to_bytes(2, "little")


def header(packet: bytes | bytearray) -> tuple[int, int, int]:
    """Function code, tag and flags of a packet of at least two bytes."""
    word = int.from_bytes(packet[:2], "little")
    tag = word >> FUNCTION_BITS & ((1 << TAG_BITS) - 1)
    return word & ((1 << FUNCTION_BITS) - 1), tag, word >> (FUNCTION_BITS + TAG_BITS) & ((1 << FLAG_BITS) - 1)


def read_tasks(tasks: TaskFormat, function: str, rows: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Tags (n,) and raw operands from the bytes (n, length) of tasks of one function."""
    f = tasks.functions[function]
    words = _words(rows, tasks.task, len(f.operands))
    tag = words[:, 0] >> FUNCTION_BITS & ((1 << TAG_BITS) - 1)
    return tag, [_signed(words[:, k], w.format.width) for k, w in enumerate(f.operands, 1)]


def read_results(tasks: TaskFormat, function: str, rows: np.ndarray) -> Results:
    """Results of one function from their bytes (n, length)."""
    f = tasks.functions[function]
    words = _words(rows, tasks.result, len(f.results))
    head = words[:, 0]
    tag = head >> FUNCTION_BITS & ((1 << TAG_BITS) - 1)
    flags = head >> (FUNCTION_BITS + TAG_BITS) & ((1 << FLAG_BITS) - 1)
    return Results(tag, flags, [_signed(words[:, k], w.format.width) for k, w in enumerate(f.results, 1)])


def _rows(words: np.ndarray, packing: Packing) -> np.ndarray:
    """Words (n, k), header first, as bytes (n, length)."""
    count, used = words.shape
    beats, per_beat = packing.beats(used - 1), packing.words_per_beat
    padded = np.zeros((count, beats * per_beat), np.int64)
    padded[:, :used] = words
    bits = (padded[:, :, None] >> np.arange(packing.word_bits) & 1).astype(np.uint8)
    rows = np.packbits(bits.reshape(count, beats, packing.beat_bits), axis=-1, bitorder="little")
    return rows.reshape(count, beats * packing.beat_bytes)[:, : packing.packet_bytes(used - 1)]


def _words(rows: np.ndarray, packing: Packing, values: int) -> np.ndarray:
    """The inverse of :func:`_rows`: unsigned words (n, 1 + values)."""
    count, beats = len(rows), packing.beats(values)
    padded = np.zeros((count, beats * packing.beat_bytes), np.uint8)
    padded[:, : packing.packet_bytes(values)] = rows
    bits = np.unpackbits(padded.reshape(count, beats, packing.beat_bytes), axis=-1, bitorder="little")[
        :, :, : packing.beat_bits
    ]
    words = bits.reshape(count, beats * packing.words_per_beat, packing.word_bits).astype(np.int64) @ (
        1 << np.arange(packing.word_bits)
    )
    return words[:, : 1 + values]


def _signed(words: np.ndarray, width: int) -> np.ndarray:
    low = words & ((1 << width) - 1)
    return np.where(low >> (width - 1) != 0, low - (1 << width), low)
