"""The stream protocol: how tasks and results are laid out in beats. The one home of header and word positions.

A task is a header word and one word per operand; a result is a header word and one word per result. Words are packed
into beats, lowest word in the lowest bits; unused words of a last beat are zero. A header holds the
function code, the task's tag and, in results, the status flags. Values are signed, in their word's low bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntFlag

import numpy as np

from rbdgen.errors import ConfigError
from rbdgen.ir.fixed import Format

FUNCTION_BITS = 4
TAG_BITS = 8
FLAG_BITS = 4
HEADER_BITS = FUNCTION_BITS + TAG_BITS + FLAG_BITS
"""Header, from bit 0: function code, tag, flags."""


class Flag(IntFlag):
    """Status of a result."""

    OVERFLOW = 1
    """A value inside saturated: the result is not to be trusted."""
    RANGE = 2
    """An operand was outside its declared range."""
    FUNCTION = 4
    """The accelerator has no such function; the result words mean nothing."""


@dataclass(frozen=True)
class Packing:
    """``words`` words of ``word_bits`` in beats of ``words_per_beat``."""

    words: int
    word_bits: int
    words_per_beat: int

    @property
    def beats(self) -> int:
        """Beats per packet."""
        return -(-self.words // self.words_per_beat)

    @property
    def beat_bits(self) -> int:
        """Width of the stream's payload."""
        return self.word_bits * self.words_per_beat


@dataclass(frozen=True)
class TaskFormat:
    """Layout of one accelerator's streams: formats and declared codes of operands, formats of results, packing.

    ``operand_codes`` are the raw values of each operand's declared limits, inclusive.
    """

    operands: tuple[Format, ...]
    operand_codes: tuple[tuple[int, int], ...]
    results: tuple[Format, ...]
    task: Packing
    result: Packing

    def quantise(self, values: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Raw operands from values of shape (n,), one array per operand; what does not fit becomes the format's end,
        which is outside the declared range. ConfigError on NaN or infinity."""
        for k, v in enumerate(values):
            if not np.all(np.isfinite(v)):
                raise ConfigError(f"operand word {k}: must be finite, not {np.asarray(v)[~np.isfinite(v)][0]}")
        return [f.quantise(v) for f, v in zip(self.operands, values, strict=True)]

    def out_of_range(self, raw: Sequence[np.ndarray]) -> np.ndarray:
        """Which tasks have an operand outside its declared range, shape (n,)."""
        outside = [(r < low) | (r > high) for r, (low, high) in zip(raw, self.operand_codes, strict=True)]
        return np.any(outside, axis=0)

    def pack(self, function: np.ndarray, tag: np.ndarray, raw: Sequence[np.ndarray]) -> list[int]:
        """Beats of n tasks from function codes (n,), tags (n,) and raw operands."""
        header = (np.asarray(function) & ((1 << FUNCTION_BITS) - 1)) | (
            (np.asarray(tag) & ((1 << TAG_BITS) - 1)) << FUNCTION_BITS
        )
        return _pack([header, *raw], self.task)

    def unpack(self, beats: Sequence[int]) -> Results:
        """Results from beats. ConfigError unless they are whole results."""
        if len(beats) % self.result.beats:
            raise ConfigError(f"beats: must be a multiple of {self.result.beats}, not {len(beats)}")
        words = _unpack(beats, self.result)
        header = words[0]
        values = []
        for fmt, word in zip(self.results, words[1:], strict=True):
            low = word & ((1 << fmt.width) - 1)
            values.append(np.where(low > fmt.maximum, low - (1 << fmt.width), low))
        tag = (header >> FUNCTION_BITS) & ((1 << TAG_BITS) - 1)
        return Results(
            header & ((1 << FUNCTION_BITS) - 1),
            tag,
            header >> (FUNCTION_BITS + TAG_BITS) & ((1 << FLAG_BITS) - 1),
            values,
        )


@dataclass(frozen=True)
class Results:
    """Unpacked results: ``function``, ``tag``, ``flags`` (n,), and raw ``values``, one (n,) array per result word."""

    function: np.ndarray
    tag: np.ndarray
    flags: np.ndarray
    values: list[np.ndarray]


def packing(values: int, word_bits: int, ii: int) -> Packing:
    """The narrowest beat that carries a header and ``values`` words within ``ii`` beats."""
    words = 1 + values
    return Packing(words, word_bits, -(-words // ii))


def task_format(
    operands: Sequence[Format], declared: Sequence[tuple[float, float]], results: Sequence[Format], ii: int
) -> TaskFormat:
    """The layout for these formats; ``declared`` are the operands' limits as real numbers."""
    word_bits = max([HEADER_BITS, *(f.width for f in [*operands, *results])])
    codes = tuple((int(f.quantise(lo)), int(f.quantise(hi))) for f, (lo, hi) in zip(operands, declared, strict=True))
    return TaskFormat(
        tuple(operands),
        codes,
        tuple(results),
        packing(len(operands), word_bits, ii),
        packing(len(results), word_bits, ii),
    )


def _pack(words: Sequence[np.ndarray], layout: Packing) -> list[int]:
    mask = (1 << layout.word_bits) - 1
    columns = [(np.asarray(w, np.int64) & mask).tolist() for w in words]
    columns += [[0] * len(columns[0])] * (layout.beats * layout.words_per_beat - layout.words)
    beats = []
    for task in zip(*columns, strict=True):
        for start in range(0, len(task), layout.words_per_beat):
            beat = 0
            for word in reversed(task[start : start + layout.words_per_beat]):
                beat = beat << layout.word_bits | word
            beats.append(beat)
    return beats


def _unpack(beats: Sequence[int], layout: Packing) -> list[np.ndarray]:
    mask = (1 << layout.word_bits) - 1
    words = [[beat >> (k * layout.word_bits) & mask for k in range(layout.words_per_beat)] for beat in beats]
    flat = np.array(words, np.int64).reshape(-1, layout.beats * layout.words_per_beat)
    return [flat[:, k] for k in range(layout.words)]
