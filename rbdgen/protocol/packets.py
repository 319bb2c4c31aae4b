"""Packets as bytes: many tasks of one function at once into rows of bytes for a byte link, and rows of results back.

The layout is that of :class:`rbdgen.protocol.tasks.TaskFormat`; every beat starts a new byte, lowest byte first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from rbdgen.ir.number_formats import Format
from rbdgen.protocol.tasks import (
    CALIBRATE,
    FUNCTION_BITS,
    TAG_BITS,
    Columns,
    Packing,
    Results,
    TaskFormat,
    join_header,
    split_header,
)

LANE = 64
"""Bits of a lane; no word has more."""


class BitFields:
    """Words that begin at these bits of a row of ``length`` bytes, in ascending order, of these ``widths`` in bits.

    They do not overlap. Bits outside all words are zero where rows are made, and ignored where they are read.
    """

    def __init__(self, begins: Sequence[int], widths: Sequence[int], length: int) -> None:
        begin = np.array(begins, np.int64)
        width = np.array(widths, np.int64)
        masks = [(1 << bits) - 1 for bits in widths]
        self.length = length
        self.lanes = -(-8 * length // LANE)
        self.lane, shift = np.divmod(begin, LANE)
        self.shift = shift.astype(np.uint64)
        self.unshift = (LANE - 1 - shift).astype(np.uint64)
        self.masks = np.array(masks, np.uint64)
        # a lane gets the words that begin in it, and what is left of the one before
        self.filled, self.firsts = np.unique(self.lane, return_index=True)
        self.crossing = np.flatnonzero(shift + width > LANE)

    def pack(self, words: np.ndarray) -> np.ndarray:
        """The low bits of whole numbers (n, k) as rows of bytes (n, length)."""
        low = words.astype(np.uint64) & self.masks
        lanes = np.zeros((len(words), self.lanes), "<u8")
        shifted = low << self.shift
        lanes[:, self.filled] = np.bitwise_or.reduceat(shifted, self.firsts, axis=1)
        if self.crossing.size:
            # in two steps: a shift by 64 places has no meaning
            halved = low >> np.uint64(1)
            over = halved >> self.unshift
            behind = self.lane[self.crossing] + 1
            lanes[:, behind] |= over[:, self.crossing]
        rows = lanes.view(np.uint8)
        return rows[:, : self.length]

    def unpack(self, rows: np.ndarray) -> np.ndarray:
        """From rows of bytes (n, length) numbers (n, k) of 64 bits, of which a word is the low ones. Those above it are
        any."""
        # a lane more, so that every word has one behind its own
        padded = np.zeros((len(rows), 8 * (self.lanes + 1)), np.uint8)
        padded[:, : self.length] = rows
        lanes = padded.view("<u8")
        low = lanes.take(self.lane, axis=1) >> self.shift
        # in two steps here as well
        doubled = lanes << np.uint64(1)
        high = doubled.take(self.lane + 1, axis=1) << self.unshift
        return low | high


HEADER_BYTES = 2
"""Bytes of a packet in which its header is."""
TAG_MASK = join_header(0, (1 << TAG_BITS) - 1)
"""Of a header's bits those of the tag."""


def task_rows(
    tasks: TaskFormat, function: str, tag: np.ndarray, raw: Sequence[np.ndarray]
) -> np.ndarray:
    """Tasks with tags (n,) and raw operands, one (n,) array per word, as bytes (n, length)."""
    code = tasks.functions[function].code
    header = join_header(code, np.asarray(tag, np.int64))
    words = np.stack([header, *raw], axis=1)
    return _fields(tasks.task, len(raw)).pack(words)


def task_packets(tasks: TaskFormat, function: str, raw: np.ndarray) -> list[bytes]:
    """Tasks with raw operands (n, k), one after the other; their tags are zero."""
    count, used = raw.shape
    words = np.empty((count, 1 + used), np.int64)
    words[:, 0] = tasks.functions[function].code
    words[:, 1:] = raw
    return row_packets(_fields(tasks.task, used).pack(words))


def row_packets(rows: np.ndarray) -> list[bytes]:
    """Rows of bytes (n, length), each by itself."""
    length = rows.shape[1]
    whole = rows.tobytes()
    begins = range(0, len(whole), length)
    return [whole[begin : begin + length] for begin in begins]


def packet_rows(packets: Sequence[bytes]) -> np.ndarray:
    """Packets of one length as rows of bytes (n, length)."""
    whole = np.frombuffer(b"".join(packets), np.uint8)
    return whole.reshape(len(packets), -1)


def by_length(packets: Sequence[bytes]) -> dict[int, list[int]]:
    """The numbers of packets by their length."""
    found: dict[int, list[int]] = {}
    for number, packet in enumerate(packets):
        found.setdefault(len(packet), []).append(number)
    return found


def result_rows(
    tasks: TaskFormat, function: str, tag: np.ndarray, flags: np.ndarray, raw: Sequence[np.ndarray]
) -> np.ndarray:
    """Results with tags and flags (n,) and raw values, one (n,) array per word, as bytes (n, length)."""
    code = tasks.functions[function].code
    tags = np.asarray(tag, np.int64)
    bits = np.asarray(flags, np.int64)
    header = join_header(code, tags, bits)
    words = np.stack([header, *raw], axis=1)
    return _fields(tasks.result, len(raw)).pack(words)


def parameter_rows(tasks: TaskFormat, number: np.ndarray, raw: np.ndarray) -> np.ndarray:
    """Tasks that load parameters, by their numbers and raw values (n,), as bytes (n, length)."""
    header = np.full(len(number), CALIBRATE, np.int64)
    words = np.stack([header, number, raw], axis=1)
    return _fields(tasks.task, 2).pack(words)


def read_parameters(tasks: TaskFormat, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and raw values (n,) from the bytes (n, length) of tasks that load parameters."""
    words = _fields(tasks.task, 2).unpack(rows)
    places = tasks.task.places
    most = (1 << places[1 % len(places)]) - 1
    number = words[:, 1] & np.uint64(most)
    # where there is no such parameter, the value is as wide as its place
    unknown = Format(places[2 % len(places)], 0)
    known = dict(enumerate(word.format for word in tasks.parameters))
    formats = [known.get(n, unknown) for n in number.tolist()]
    raw = Columns(formats).signed(words[:, 2])
    return number.astype(np.int64), raw


def set_tag(packet: bytearray, tag: int) -> None:
    """Put ``tag`` into a packet's header."""
    word = int.from_bytes(packet[:HEADER_BYTES], "little")
    word = word & ~TAG_MASK | tag << FUNCTION_BITS
    packet[:HEADER_BYTES] = word.to_bytes(HEADER_BYTES, "little")


def code_of(packet: bytes | bytearray) -> int:
    """Function code of a packet."""
    return packet[0] & ((1 << FUNCTION_BITS) - 1)


def header(packet: bytes | bytearray) -> tuple[int, int, int]:
    """Function code, tag and flags of a packet of at least two bytes."""
    word = int.from_bytes(packet[:HEADER_BYTES], "little")
    return split_header(word)


def read_tasks(
    tasks: TaskFormat, function: str, rows: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Tags (n,) and raw operands from the bytes (n, length) of tasks of one function."""
    f = tasks.functions[function]
    header, raw = _read(tasks.task, f.operand_columns, rows)
    _, tag, _ = split_header(header)
    return tag, list(np.ascontiguousarray(raw.T))


def read_results(tasks: TaskFormat, function: str, rows: np.ndarray) -> Results:
    """Results of one function from their bytes (n, length)."""
    tag, flags, raw = result_matrix(tasks, function, rows)
    return Results(tag, flags, list(np.ascontiguousarray(raw.T)))


def result_matrix(
    tasks: TaskFormat, function: str, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tags (n,), flags (n,) and raw values (n, k) of one function's results from their bytes (n, length)."""
    f = tasks.functions[function]
    header, raw = _read(tasks.result, f.result_columns, rows)
    _, tag, flags = split_header(header)
    return tag, flags, raw


def _read(packing: Packing, columns: Columns, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Headers (n,) and the raw values (n, k) behind them."""
    words = _fields(packing, len(columns.above)).unpack(rows)
    header = words[:, 0].astype(np.int64)
    return header, columns.signed(words[:, 1:])


@lru_cache(maxsize=256)
def _fields(packing: Packing, values: int) -> BitFields:
    """Where the header and ``values`` words of a packet are in its bytes."""
    begins, widths, offsets = [], [], packing.offsets
    for k in range(1 + values):
        beat, place = divmod(k, packing.words_per_beat)
        begins.append(8 * beat * packing.beat_bytes + offsets[place])
        widths.append(packing.places[place])
    return BitFields(begins, widths, packing.packet_bytes(values))
