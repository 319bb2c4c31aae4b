"""Formats of many words as columns of matrices: values to raw numbers and back, a row for each task."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

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
        """Nearest raw numbers (n, k), as :meth:`rbdgen.ir.fixed.Format.quantise` gives."""
        return nearest_raw(values * self.scales, self.minima, self.maxima)

    def real(self, raw: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Values of raw numbers (n, k), float64; in ``out`` where that is given."""
        return np.multiply(raw, self.resolutions, out=out)

    def signed(self, words: np.ndarray) -> np.ndarray:
        """Raw numbers (n, k) in the low bits of words of 64 bits, int64."""
        lifted = words.astype(np.int64) << self.above
        return lifted >> self.above
