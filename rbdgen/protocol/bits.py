"""Words at any bits of rows of bytes: all rows at once, by lanes of 64 bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

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
        doubled = lanes << np.uint64(1)
        high = doubled.take(self.lane + 1, axis=1) << self.unshift
        return low | high
