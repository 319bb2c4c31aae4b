"""Fixed-point formats: where a number's binary point is, and how many bits it has."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

BITS = 63
"""Bits of an exact result: the models compute in 64-bit integers."""


@dataclass(frozen=True, order=True)
class Format:
    """A signed two's complement number: value = raw · 2^−``frac``, ``width`` bits with the sign.

    ``frac`` may be negative or larger than ``width``.
    """

    width: int
    frac: int

    def __post_init__(self) -> None:
        if self.width < 1:
            raise ValueError(f"width must be at least 1, not {self.width!r}")

    @property
    def minimum(self) -> int:
        """Smallest raw value."""
        return -(1 << (self.width - 1))

    @property
    def maximum(self) -> int:
        """Largest raw value."""
        return (1 << (self.width - 1)) - 1

    @property
    def head(self) -> int:
        """Bits before the binary point, without the sign."""
        return self.width - 1 - self.frac

    @property
    def resolution(self) -> float:
        """Value of one unit in the last place."""
        return math.ldexp(1.0, -self.frac)

    def __str__(self) -> str:
        # without a minus, which no identifier may have
        return f"s{self.width}.{self.frac}".replace("-", "m")

    def quantise(self, value: np.ndarray | float) -> np.ndarray:
        """Nearest raw values (half up), saturated; int64."""
        scaled = np.ldexp(np.asarray(value, float), self.frac)
        return nearest_raw(scaled, self.minimum, self.maximum)

    def wrap(self, raw: np.ndarray) -> np.ndarray:
        """Raw values of any size cut to the width: what two's complement leaves of them."""
        mask = (1 << self.width) - 1
        return ((raw - self.minimum) & mask) + self.minimum

    def convert(self, raw: np.ndarray, source: Format) -> tuple[np.ndarray, np.ndarray]:
        """Raw values of another format in this one, rounded half up and saturated; and which were saturated."""
        drop = source.frac - self.frac
        if drop > 0:
            half = 1 << (drop - 1)
            exact = (raw + half) >> drop
        else:
            exact = np.left_shift(raw, -drop)
        value = np.clip(exact, self.minimum, self.maximum)
        return value, value != exact

    def real(self, raw: np.ndarray) -> np.ndarray:
        """Values of raw numbers, float64."""
        return np.ldexp(np.asarray(raw, float), -self.frac)


def nearest_raw(
    scaled: np.ndarray, minimum: int | np.ndarray, maximum: int | np.ndarray
) -> np.ndarray:
    """The raw values nearest to these (half up), saturated to a format's ends, or to those of each column; int64."""
    nearest = np.floor(scaled + 0.5)
    # float64 has the powers of two at both ends, but not the largest value of a long word
    clipped = np.minimum(np.maximum(nearest, minimum), np.negative(minimum))
    return np.minimum(clipped.astype(np.int64), maximum)


class ExactWidthError(ValueError):
    """The exact result of an operation has more bits than the representation holds."""
