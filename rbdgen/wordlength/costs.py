"""What word lengths cost and what rounding leaves: the numbers that the search weighs against each other.

Rounding to f bits half up leaves noise of variance 4^−f / 12, truncation a mean of −2^−f / 2 as well. The cost is
multiplier blocks first (factors are cut to what fills the device's blocks), then bits of adders and registers.
"""

from __future__ import annotations

import numpy as np

from rbdgen.ir.graph import Node

BLOCK_COST = 400.0
"""Bits of adders and registers that one multiplier block is worth."""
BIT_COST = {
    "input": 3.0,
    "const": 1.0,
    "sum": 2.0,
    "abs": 2.0,
    "shift": 1.0,
    "round": 1.0,
    "table_sin": 1.0,
    "table_cos": 1.0,
    "table_reciprocal": 1.0,
    "residual": 1.0,
    "normalise": 8.0,
    "rescale": 8.0,
}
"""Adders, multiplexers and registers per bit of a signal, by the operation that makes it."""
PRODUCT_BIT_COST, MULTIPLE_BIT_COST = 1.0, 3.0
"""The same of products, whose multiplier counts by itself, and of multiples by constants."""
RESULT_COST = 2.0
"""The same per bit of a result: its place in FIFOs and on the link."""
EVEN, DOWN = 1 / 12, 1 / 3
"""Mean square error of rounding half up and of truncation, in squares of the last place."""


def bit_cost(node: Node) -> float:
    """What a bit of a node's signal costs."""
    if node.terms.is_product:
        return PRODUCT_BIT_COST
    return BIT_COST[node.op] if node.terms.multiple is None else MULTIPLE_BIT_COST


def rounding_cost(widths: np.ndarray) -> np.ndarray:
    """Bits of the adders that round half up to so many bits."""
    return widths.astype(float)
