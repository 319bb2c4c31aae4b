"""Costs of word lengths and errors of rounding: the numbers that the search weighs against each other.

Rounding to f bits half up leaves noise of variance 4^−f / 12, truncation a mean of −2^−f / 2 as well. The cost is
multiplier blocks first (factors are cut to what fills the device's blocks), then bits of adders and registers. A
device's blocks, and the ways in which a product is built of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

BLOCK_COST = 400.0
"""Bits of adders and registers that one multiplier block is worth."""
RESULT_COST = 2.0
"""Bits of adders and registers that one bit of a result is worth: its place in FIFOs and on the link. What a bit of
another signal costs is said by the operation that makes it (:meth:`rbdgen.ir.ops.operation.Operation.cost_of_bit`)."""
EVEN, DOWN = 1 / 12, 1 / 3
"""Mean square error of rounding half up and of truncation, in squares of the last place."""


def rounding_cost(widths: np.ndarray) -> np.ndarray:
    """Bits of the adders that round half up to so many bits."""
    return widths.astype(float)


LONGEST_FACTOR, LONGEST_FACTORS = 38, 74
"""Bits of a product's factor, and of both together: twice 37."""
MOST_BLOCKS = 3
"""Blocks side by side in one direction."""


class Multipliers(Protocol):
    """A device's multiplier blocks: bits of a block's two inputs, and how many blocks a product takes."""

    @property
    def shape(self) -> tuple[int, int]:
        """Bits of one block's two inputs."""
        ...

    def blocks(self, a: int, b: int) -> int:
        """Blocks of one signed a × b bit product."""
        ...


@dataclass(frozen=True, order=True)
class MultiplierShape:
    """Shape of a multiplier: its widest factors in bits, and its number of ``blocks``."""

    first: int
    second: int
    blocks: int

    @property
    def width(self) -> int:
        """Bits of both factors together."""
        return self.first + self.second

    def replaces(self, other: MultiplierShape) -> bool:
        """Whether this does all that ``other`` does with no more blocks."""
        as_wide = self.first >= other.first and self.second >= other.second
        return self != other and as_wide and self.blocks <= other.blocks


def multiplier_shapes(device: Multipliers) -> list[MultiplierShape]:
    """The shapes to build a multiplier, none better than another in all, with factors of at most
    :data:`LONGEST_FACTORS` bits together."""
    found: dict[tuple[int, int], int] = {}
    for across, down in _block_grids(*device.shape):
        for widths in _widths_within(across, down):
            blocks = device.blocks(*widths)
            found[widths] = min(blocks, found.get(widths, blocks))
    shapes = [MultiplierShape(*widths, blocks) for widths, blocks in sorted(found.items())]
    needed = []
    for shape in shapes:
        # every shape is tried for all products: one that another replaces would never be taken
        if not any(other.replaces(shape) for other in shapes):
            needed.append(shape)
    return needed


def _block_grids(n: int, m: int) -> Iterator[tuple[int, int]]:
    """Bits of both inputs of grids of n × m bit blocks; each further signed block adds a bit less than it has."""
    # a block's wider input may take either factor
    for one, other in ((n, m), (m, n)):
        for a in range(MOST_BLOCKS):
            for b in range(MOST_BLOCKS):
                yield one + a * (one - 1), other + b * (other - 1)


def _widths_within(across: int, down: int) -> list[tuple[int, int]]:
    """The factors that a grid takes, where both together may be too long for exact arithmetic."""
    firsts = [across]
    if across + down > LONGEST_FACTORS:
        least = min(down, LONGEST_FACTORS - LONGEST_FACTOR)
        firsts = list(range(min(across, LONGEST_FACTOR), least, -1))
    widths = []
    for first in firsts:
        second = min(down, LONGEST_FACTORS - first, LONGEST_FACTOR)
        widths.append((min(first, LONGEST_FACTOR), second))
    return widths
