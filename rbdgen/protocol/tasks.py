"""The stream protocol: how tasks and results are laid out in beats. The one home of header and word positions.

A task is a header word and one word per operand of its function; a result is a header word and one word per result of
the function. Words are packed into beats, lowest word in the lowest bits, each place of a beat as wide as the widest
word that ever stands there; unused words of a last beat are zero. A header holds the function code, the task's tag and,
in results, the status flags. Values are signed, in their word's low bits. A task of a function that the accelerator
does not have is one beat, and so is its result.

A calibratable accelerator also takes tasks of code :data:`CALIBRATE`: two words, a parameter's number and its value.
They wait until all tasks before them have left the pipelines, and are answered by a header.

Several accelerators behind one stream (``--replicas``) take their tasks side by side: a beat of that stream has a lane
for each, which is a beat of one accelerator and above it a bit that says that there is one. Packets that begin in the
same beat are a row. Rows follow each other; a row has as many beats as its longest packet. Its results are a row again,
in the same lanes, and rows of results come in the order of the rows of tasks. A task that loads a parameter is a row of
its own, in lane 0, and reaches all accelerators.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntFlag
from functools import cached_property
from itertools import accumulate, zip_longest
from typing import Any

import numpy as np

from rbdgen.errors import ConfigError
from rbdgen.ir.number_formats import Format, nearest_raw


class Columns:
    """Words of these formats, one after the other: matrices (n, k) have a column for each."""

    def __init__(self, formats: Sequence[Format]) -> None:
        widths, minima, maxima, scales = [], [], [], []
        for fmt in formats:
            widths.append(fmt.width)
            minima.append(fmt.minimum)
            maxima.append(fmt.maximum)
            scales.append(math.ldexp(1.0, fmt.frac))
        self.minima = np.array(minima, np.int64)
        self.maxima = np.array(maxima, np.int64)
        # products with powers of two are exact
        self.scales = np.array(scales)
        self.resolutions = 1.0 / self.scales
        self.above = 64 - np.array(widths, np.int64)
        """Bits of a number of 64 bits above a word."""

    def quantise(self, values: np.ndarray) -> np.ndarray:
        """Nearest raw numbers (n, k), as :meth:`rbdgen.ir.number_formats.Format.quantise` gives."""
        return nearest_raw(values * self.scales, self.minima, self.maxima)

    def real(self, raw: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Values of raw numbers (n, k), float64; in ``out`` where that is given."""
        return np.multiply(raw, self.resolutions, out=out)

    def signed(self, words: np.ndarray) -> np.ndarray:
        """Raw numbers (n, k) in the low bits of words of 64 bits, int64."""
        # the word's highest bit is its sign, which a shift to the right carries down
        lifted = words.astype(np.int64) << self.above
        return lifted >> self.above


FUNCTION_BITS = 5
TAG_BITS = 8
FLAG_BITS = 3
HEADER_BITS = FUNCTION_BITS + TAG_BITS + FLAG_BITS
"""Header, from bit 0: function code, tag, flags."""

NUMBER_BITS = 16
"""Of a parameter's number in a task that loads it."""
CALIBRATE = 15
"""Code of a task that loads a parameter."""
LOADED = 2
"""Words of such a task: a parameter's number, and its value."""
LOAD = (1 << FUNCTION_BITS) - 1
"""Code of a packet that writes into an engine (:mod:`rbdgen.protocol.loading`)."""
LOAD_WORDS = 11
"""Words of such a packet behind its header."""
CODES = tuple(code for code in range(LOAD) if code != CALIBRATE)
"""Codes that functions may have."""


def join_header(code: Any, tag: Any, flags: Any = 0) -> Any:
    """A header word, or an array of them, from function codes, tags and flags."""
    return code | tag << FUNCTION_BITS | flags << (FUNCTION_BITS + TAG_BITS)


def split_header(word: Any) -> tuple[Any, Any, Any]:
    """Function code, tag and flags of a header word, or of an array of them."""
    code = word & ((1 << FUNCTION_BITS) - 1)
    tag = word >> FUNCTION_BITS & ((1 << TAG_BITS) - 1)
    flags = word >> (FUNCTION_BITS + TAG_BITS) & ((1 << FLAG_BITS) - 1)
    return code, tag, flags


class Flag(IntFlag):
    """Status of a result."""

    OVERFLOW = 1
    """A value inside overflowed: the result is not to be trusted."""
    RANGE = 2
    """An operand was outside its declared range; a parameter that was is not loaded."""
    FUNCTION = 4
    """The accelerator has no such function; there are no result words."""


@dataclass(frozen=True)
class OperandWord:
    """One operand: its word's name, format, and the raw values of its declared limits, inclusive."""

    name: str
    format: Format
    codes: tuple[int, int]


@dataclass(frozen=True)
class ResultWord:
    """One result: its word's name and format."""

    name: str
    format: Format


@dataclass(frozen=True)
class FunctionFormat:
    """The content of one function's tasks, in the order of the words."""

    name: str
    code: int
    operands: tuple[OperandWord, ...]
    results: tuple[ResultWord, ...]

    @cached_property
    def operand_columns(self) -> Columns:
        """Formats of operands."""
        return Columns([word.format for word in self.operands])

    @cached_property
    def result_columns(self) -> Columns:
        """Formats of results."""
        return Columns([word.format for word in self.results])

    @cached_property
    def limits(self) -> np.ndarray:
        """Raw values (2, k) of the declared limits of operands, the lower ones first."""
        codes = [word.codes for word in self.operands]
        return np.array(codes, np.int64).reshape(-1, 2).T

    def quantise(self, values: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Raw operands from values of shape (n,), one array per operand; what does not fit becomes the format's end,
        which is outside the declared range. ConfigError on NaN or infinity."""
        if not self.operands:
            return []
        rows = self.quantise_rows(np.stack(values, axis=-1))
        return list(np.ascontiguousarray(rows.T))

    def quantise_rows(self, values: np.ndarray) -> np.ndarray:
        """The same of a matrix (n, k) with a row for each task."""
        if not np.isfinite(values).all():
            raise self._not_finite(values)
        return self.operand_columns.quantise(values)

    def _not_finite(self, values: np.ndarray) -> ConfigError:
        """The complaint of a matrix (n, k) of values that are not all finite."""
        # operand by operand, so that the first in their order is named
        wrong = np.argwhere(~np.isfinite(values.T))
        number, row = wrong[0]
        word, value = self.operands[number], values[row, number]
        return ConfigError(f"operand {word.name}: must be finite, not {value}")

    def out_of_range(self, raw: Sequence[np.ndarray]) -> np.ndarray:
        """Whether tasks have an operand outside its declared range, shape (n,)."""
        if not raw:
            return np.zeros((), bool)
        rows = np.stack(raw, axis=-1)
        return np.any(self.outside(rows), axis=-1)

    def outside(self, raw: np.ndarray) -> np.ndarray:
        """Whether raw operands (n, k) are outside their declared ranges."""
        lower, upper = self.limits
        below = raw < lower
        above = raw > upper
        return below | above


@dataclass(frozen=True)
class Packing:
    """The words of a beat: so many bits at each of its ``places``, the lowest first; and ``lanes`` of beats side by
    side in a stream."""

    places: tuple[int, ...]
    lanes: int = 1

    @property
    def words_per_beat(self) -> int:
        """Words in a beat."""
        return len(self.places)

    @property
    def offsets(self) -> tuple[int, ...]:
        """The lowest bit of each place."""
        return tuple(accumulate(self.places[:-1], initial=0))

    def beats(self, values: int) -> int:
        """Beats of a packet with a header and ``values`` words."""
        return -(-(1 + values) // self.words_per_beat)

    def columns(self, widths: Sequence[int]) -> list[int]:
        """At each position in a beat the bits of the widest of a packet's words of these ``widths``, without the
        header, that stand there."""
        all_widths, size = [HEADER_BITS, *widths], self.words_per_beat
        return [max(all_widths[k::size]) for k in range(min(size, len(all_widths)))]

    @property
    def beat_bits(self) -> int:
        """Width of one accelerator's beat."""
        return sum(self.places)

    @property
    def lane_bits(self) -> int:
        """Width of a lane: a beat, and where there are several lanes a bit above it that says that there is one."""
        return self.beat_bits + (self.lanes > 1)

    @property
    def row_bits(self) -> int:
        """Width of the stream's payload."""
        return self.lanes * self.lane_bits

    @property
    def beat_bytes(self) -> int:
        """Bytes of a beat on a byte link, where every beat starts a new byte."""
        return -(-self.beat_bits // 8)

    def packet_bytes(self, values: int) -> int:
        """Bytes of a packet of a header and ``values`` words on a byte link: the last beat ends with the last word."""
        before = self.beats(values) - 1
        last = 1 + values - before * self.words_per_beat
        bits = sum(self.places[:last])
        return before * self.beat_bytes + -(-bits // 8)


@dataclass(frozen=True)
class Results:
    """Unpacked results of one function: ``tag`` and ``flags`` (n,), and raw ``values``, one (n,) array per word."""

    tag: np.ndarray
    flags: np.ndarray
    values: list[np.ndarray]


@dataclass(frozen=True)
class Port:
    """A port of an accelerator: its ``direction``, ``in`` or ``out``, and its width in bits."""

    direction: str
    width: int


@dataclass(frozen=True)
class Rows:
    """Packets in a stream: its ``beats``, the ``packets``, lane by lane in each row, and for each of them the number of
    the beat in which it ``ends``."""

    beats: list[int]
    packets: list[Sequence[int]]
    ends: list[int]


@dataclass(frozen=True)
class Room:
    """So many words of a task's operands and of a result, at most."""

    operands: int
    results: int


@dataclass(frozen=True)
class TaskFormat:
    """Layout of one accelerator's streams: ``functions`` by name, the packing of tasks and of results, and the
    ``parameters`` that can be loaded. ``resident``: the room for packets where programs come over its
    link."""

    functions: Mapping[str, FunctionFormat]
    task: Packing
    result: Packing
    parameters: tuple[OperandWord, ...] = ()
    resident: Room | None = None

    @property
    def task_words(self) -> dict[int, int]:
        """Words of a task by its code, of packets that load parameters or programs as well. All others have none."""
        words = {f.code: len(f.operands) for f in self.functions.values()}
        words |= {CALIBRATE: LOADED} if self.parameters and not self.resident else {}
        return words | ({LOAD: LOAD_WORDS} if self.resident else {})

    def task_beats(self, function: str) -> int:
        """Beats of a task of ``function``."""
        return self.task.beats(len(self.functions[function].operands))

    def result_beats(self, function: str) -> int:
        """Beats of a result of ``function``."""
        return self.result.beats(len(self.functions[function].results))

    def task_bytes(self, function: str) -> int:
        """Bytes of a task of ``function`` on a byte link."""
        return self.task.packet_bytes(len(self.functions[function].operands))

    def result_bytes(self, function: str) -> int:
        """Bytes of a result of ``function`` on a byte link."""
        return self.result.packet_bytes(len(self.functions[function].results))

    @property
    def ports(self) -> dict[str, Port]:
        """The accelerator's ports by name: clock, reset (synchronous, active high) and the two streams."""
        found = {"clk": Port("in", 1), "rst": Port("in", 1)}
        for name, payload, way, back in (
            ("in", self.task.row_bits, "in", "out"),
            ("out", self.result.row_bits, "out", "in"),
        ):
            found[f"{name}_valid"] = Port(way, 1)
            found[f"{name}_ready"] = Port(back, 1)
            found[f"{name}_payload"] = Port(way, payload)
        return found

    def sent(self, function: str) -> list[list[str]]:
        """The results of ``function`` by name, beat by beat; the first beat begins with the header."""
        names = [word.name for word in self.functions[function].results]
        size = self.result.words_per_beat
        # the header has the first place of the first beat
        return [
            names[max(k * size - 1, 0) : (k + 1) * size - 1]
            for k in range(self.result.beats(len(names)))
        ]

    def pack(self, function: str, tag: np.ndarray, raw: Sequence[np.ndarray]) -> list[list[int]]:
        """Beats of n tasks of one function, by task, from tags (n,) and raw operands."""
        code = self.functions[function].code
        header = join_header(code, _short_tag(tag))
        return _pack([header, *raw], self.task)

    def pack_calibration(
        self, tag: np.ndarray, number: np.ndarray, raw: np.ndarray
    ) -> list[list[int]]:
        """Beats of n tasks that load parameters, by task, from tags, the parameters' numbers and raw values (n,)."""
        header = join_header(CALIBRATE, _short_tag(tag))
        return _pack([header, np.asarray(number), np.asarray(raw)], self.task)

    def pack_results(
        self, function: str, tag: np.ndarray, flags: np.ndarray, raw: Sequence[np.ndarray]
    ) -> list[list[int]]:
        """Beats of n results of one function, by result, from tags, flags (n,) and raw values; bits above a value are
        zero, as hardware sends them."""
        fmt = self.functions[function]
        words = [join_header(fmt.code, _short_tag(tag), np.asarray(flags))]
        for result, value in zip(fmt.results, raw, strict=True):
            mask = (1 << result.format.width) - 1
            words.append(np.asarray(value, np.int64) & mask)
        return _pack(words, self.result)

    def header(self, beat: int) -> tuple[int, int, int]:
        """Function code, tag and flags of a packet from its first beat."""
        return split_header(beat)

    def packet_beats(self, code: int) -> int:
        """Beats of a result with this function code."""
        for function in self.functions.values():
            if function.code == code:
                return self.result_beats(function.name)
        # all others are answered by a header
        return 1

    @property
    def replicas(self) -> int:
        """Accelerators behind the stream."""
        return self.task.lanes

    def side_by_side(self, replicas: int) -> TaskFormat:
        """The same tasks for so many accelerators behind the stream."""
        task, result = (replace(own, lanes=replicas) for own in (self.task, self.result))
        return replace(self, task=task, result=result)

    def task_rows(
        self, packets: Sequence[Sequence[int]], sizes: Iterator[int] | None = None
    ) -> Rows:
        """Tasks as a stream, each row as full as it can be, or with as many tasks as the next of ``sizes`` says."""
        rows, row, size = [], [], 0
        for packet in packets:
            alone = self.header(packet[0])[0] == CALIBRATE
            if row and (alone or len(row) == size):
                rows.append(row)
                row = []
            if not row:
                size = next(sizes) if sizes else self.replicas
                size = 1 if alone else size
            row.append(packet)
        if row:
            rows.append(row)
        return _join(self.task, rows)

    def result_rows(self, rows: Sequence[Sequence[Sequence[int]]]) -> Rows:
        """Results as a stream, from those of each row."""
        return _join(self.result, rows)

    def read_tasks(self, beats: Sequence[int]) -> list[list[Sequence[int]]]:
        """The tasks of each row of a stream. ConfigError unless the last row is whole."""
        words = self.task_words

        def length(code: int) -> int:
            return self.task.beats(words.get(code, 0))

        return [row for row, _ in self._rows(self.task, beats, length)]

    def answer_beats(self, beats: Sequence[int]) -> int:
        """Beats of the results of all tasks in a stream. ConfigError unless its last row is whole."""
        total = 0
        for row in self.read_tasks(beats):
            codes = [self.header(task[0])[0] for task in row]
            total += max(map(self.packet_beats, codes))
        return total

    def read_results(self, beats: Sequence[int]) -> Rows:
        """The results in a stream. ConfigError unless the last row is whole."""
        packets: list[Sequence[int]] = []
        ends: list[int] = []
        for row, start in self._rows(self.result, beats, self.packet_beats):
            packets += row
            ends += [start + len(packet) - 1 for packet in row]
        return Rows(list(beats), packets, ends)

    def split(self, beats: Sequence[int]) -> list[Sequence[int]]:
        """The packets of a stream of results. ConfigError unless the last is whole."""
        return self.read_results(beats).packets

    def _rows(
        self, packing: Packing, beats: Sequence[int], length: Callable[[int], int]
    ) -> Iterator[tuple[list[Sequence[int]], int]]:
        """The packets of each row of a stream and the number of its first beat; ``length`` gives a packet's by its
        code."""
        start = 0
        while start < len(beats):
            # packets of a row begin in the same beat
            taken = _lanes(packing, beats[start])
            lengths = {k: length(self.header(first)[0]) for k, first in taken.items()}
            # a beat with nothing in it is a row of its own
            count = max(lengths.values(), default=1)
            if start + count > len(beats):
                lacking = start + count - len(beats)
                raise ConfigError(f"beats: the last result must be whole, lacks {lacking} beats")
            whole = [_lanes(packing, beat) for beat in beats[start : start + count]]
            row = []
            for k, beats_of_packet in lengths.items():
                row.append([lanes[k] for lanes in whole[:beats_of_packet]])
            yield row, start
            start += count

    def unpack(self, function: str, packets: Sequence[Sequence[int]]) -> Results:
        """Results of one function from its packets. ConfigError for a packet of another length."""
        count = self.result_beats(function)
        if any(len(p) != count for p in packets):
            raise ConfigError(f"results of {function}: must have {count} beats each")
        fmt = self.functions[function]
        words = _unpack([b for p in packets for b in p], self.result, count)
        values = []
        # words behind the last value are what fills its beat
        for result, word in zip(fmt.results, words[1:], strict=False):
            width, maximum = result.format.width, result.format.maximum
            low = word & ((1 << width) - 1)
            values.append(np.where(low > maximum, low - (1 << width), low))
        _, tag, flags = self.header(words[0])  # type: ignore[arg-type]
        return Results(np.asarray(tag), np.asarray(flags), values)


def task_format(
    functions: Sequence[FunctionFormat],
    task_beats: int,
    result_beats: int,
    parameters: Sequence[OperandWord] = (),
    replicas: int = 1,
) -> TaskFormat:
    """The layout for these functions: beats of as few words as carry any task and any result in so many of them, each
    place as wide as the widest word that stands there, with a lane for each of so many ``replicas`` of an
    accelerator."""
    tasks = [[w.format.width for w in f.operands] for f in functions]
    results = [[w.format.width for w in f.results] for f in functions]
    if parameters:
        # a parameter's number, and its value
        tasks.append([NUMBER_BITS, max(p.format.width for p in parameters)])
    return TaskFormat(
        functions={f.name: f for f in functions},
        task=Packing(_places(tasks, task_beats), replicas),
        result=Packing(_places(results, result_beats), replicas),
        parameters=tuple(parameters),
    )


def resident_format(
    width: int,
    room: Room,
    functions: Iterable[FunctionFormat] = (),
    parameters: Sequence[OperandWord] = (),
) -> TaskFormat:
    """The layout of an engine whose programs come over its link: a word of so many bits in each beat."""
    packing = Packing((width,))
    named = {f.name: f for f in functions}
    return TaskFormat(named, packing, packing, tuple(parameters), room)


def _places(packets: Iterable[Sequence[int]], beats: int) -> tuple[int, ...]:
    """Bits of each word of a beat, for packets with words of these widths behind their headers, in so many beats."""
    whole = [[HEADER_BITS, *widths] for widths in packets]
    size = -(-max(map(len, whole)) // beats)
    places = [0] * size
    for widths in whole:
        for k, bits in enumerate(widths):
            place = k % size
            places[place] = max(places[place], bits)
    return tuple(places)


def _join(packing: Packing, rows: Sequence[Sequence[Sequence[int]]]) -> Rows:
    """Rows of packets as a stream."""
    joined = Rows([], [], [])
    keep = 1 << packing.beat_bits if packing.lanes > 1 else 0
    for row in rows:
        start = len(joined.beats)
        for packet in row:
            joined.packets.append(packet)
            joined.ends.append(start + len(packet) - 1)
        for beats in zip_longest(*row):
            whole = 0
            for k, beat in enumerate(beats):
                if beat is not None:
                    whole |= (beat | keep) << k * packing.lane_bits
            joined.beats.append(whole)
    return joined


def _lanes(packing: Packing, beat: int) -> dict[int, int]:
    """The content of each lane of a stream's beat that has something in it."""
    if packing.lanes == 1:
        return {0: beat}
    mask = (1 << packing.beat_bits) - 1
    found = {}
    for k in range(packing.lanes):
        lane = beat >> k * packing.lane_bits
        if lane >> packing.beat_bits & 1:
            found[k] = lane & mask
    return found


def _short_tag(tag: np.ndarray) -> np.ndarray:
    """Tags as headers have room for them."""
    return np.asarray(tag) & ((1 << TAG_BITS) - 1)


def _pack(words: Sequence[np.ndarray], layout: Packing) -> list[list[int]]:
    size = layout.words_per_beat
    columns = []
    for k, word in enumerate(words):
        mask = (1 << layout.places[k % size]) - 1
        # negative numbers in two's complement, in as many bits as their place has
        masked = np.asarray(word, np.int64) & mask
        columns.append(masked.tolist())
    packets = []
    for task in zip(*columns, strict=True):
        beats = []
        for start in range(0, len(task), size):
            beat = 0
            # a last beat may have fewer words
            for word, offset in zip(task[start : start + size], layout.offsets, strict=False):
                beat |= word << offset
            beats.append(beat)
        packets.append(beats)
    return packets


def _unpack(beats: Sequence[int], layout: Packing, count: int) -> list[np.ndarray]:
    words: list[int] = []
    for beat in beats:
        for bits, offset in zip(layout.places, layout.offsets, strict=True):
            words.append(beat >> offset & ((1 << bits) - 1))
    flat = np.array(words, np.int64).reshape(-1, count * layout.words_per_beat)
    return [flat[:, k] for k in range(flat.shape[1])]
