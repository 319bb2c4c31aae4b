"""Costs of word lengths and errors of rounding: the numbers that the search weighs against each other.

Rounding to f bits half up leaves noise of variance 4^−f / 12, truncation a mean of −2^−f / 2 as well. The cost is
multiplier blocks first (factors are cut to what fills the device's blocks), then bits of adders and registers.
"""

from __future__ import annotations

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
