"""Words as whole matrices: the bits that Python's whole numbers give word by word, and the values of each format."""

from __future__ import annotations

import numpy as np
import pytest

from rbdgen.errors import ConfigError
from rbdgen.ir.number_formats import Format
from rbdgen.protocol.packets import BitFields
from rbdgen.protocol.tasks import Columns, FunctionFormat, OperandWord


@pytest.mark.parametrize("seed", range(20))
def test_words_are_packed_at_their_bits(seed: int) -> None:
    random = np.random.default_rng(seed)
    widths = random.integers(1, 64, 40).tolist()
    gaps = random.integers(0, 3, 40) * random.integers(0, 50, 40)
    begins, at = [], 0
    for width, gap in zip(widths, gaps.tolist(), strict=True):
        begins.append(at + gap)
        at += gap + width
    length = -(-at // 8) + seed % 3
    fields = BitFields(begins, widths, length)
    words = random.integers(-(1 << 62), 1 << 62, (7, 40))
    rows = fields.pack(words)
    for row, own in zip(rows, words.tolist(), strict=True):
        whole = 0
        for word, begin, width in zip(own, begins, widths, strict=True):
            whole |= (word & ((1 << width) - 1)) << begin
        assert row.tobytes() == whole.to_bytes(length, "little")
    masks = np.array([(1 << width) - 1 for width in widths], np.uint64)
    assert np.array_equal(fields.unpack(rows) & masks, words.astype(np.uint64) & masks)
    assert fields.pack(words[:0]).shape == (0, length)
    assert fields.unpack(rows[:0]).shape == (0, 40)


def test_columns_are_their_formats() -> None:
    random = np.random.default_rng(1)
    formats = [
        Format(int(w), int(f))
        for w, f in zip(random.integers(1, 63, 60), random.integers(-70, 90, 60), strict=True)
    ]
    columns = Columns(formats)
    ends = np.array([fmt.maximum * fmt.resolution for fmt in formats])
    values = random.uniform(-1.5, 1.5, (50, 60)) * ends
    values[0], values[1] = ends, -2 * ends
    raw = columns.quantise(values)
    for k, fmt in enumerate(formats):
        assert np.array_equal(raw[:, k], fmt.quantise(values[:, k]))
        assert np.array_equal(columns.real(raw)[:, k], fmt.real(raw[:, k]))
    above = random.integers(0, 1 << 63, raw.shape, np.uint64)
    masks = np.array([(1 << fmt.width) - 1 for fmt in formats], np.uint64)
    words = raw.astype(np.uint64) & masks | above & ~masks
    assert np.array_equal(columns.signed(words), raw)


def test_the_first_operand_that_is_not_finite_is_named() -> None:
    fmt = Format(18, 10)
    words = tuple(OperandWord(f"x{k}", fmt, (-5, 5)) for k in range(3))
    function = FunctionFormat("f", 0, words, ())
    values = [np.zeros(4), np.array([0, 1, -np.inf, np.nan]), np.full(4, np.nan)]
    with pytest.raises(ConfigError, match=r"^operand x1: must be finite, not -inf$"):
        function.quantise(values)
    raw = function.quantise([np.zeros(2), np.array([0.0, 1.0]), np.zeros(2)])
    assert function.out_of_range(raw).tolist() == [False, True]
