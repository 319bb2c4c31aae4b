"""Sines and cosines: ``sin`` and ``cos`` of radians as algorithms have them, and the tables that hardware has.

``table_sin`` and ``table_cos`` take an angle in quarter turns, their attribute is the number of address bits A per
quarter: with m the middle of the angle's interval of width 2^−A, they give the sine and cosine of m.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from rbdgen.ir.exactness import Span
from rbdgen.ir.number_formats import Format
from rbdgen.ir.ops.lookup import Lookup, middle
from rbdgen.ir.ops.operation import (
    Array,
    Arrays,
    Bits,
    Dtype,
    Numbers,
    Operation,
    Spans,
    Values,
)

if TYPE_CHECKING:
    from rbdgen.ir.fixed import FixedGraph
    from rbdgen.ir.graph import Node


class Sinusoid(Operation):
    """Sine or cosine of radians."""

    lowered = False
    is_paired = True

    def __init__(self, name: str, function: Callable[[Any], Any]) -> None:
        self.name = name
        self.function = function

    def value(self, node: Node, x: Values, dtype: Dtype) -> Any:
        return self.function(x[0])


class SineLookup(Lookup):
    """Sine or cosine of an interval's middle, ``quarters`` of a turn ahead, from a table of the first quarter's
    sines."""

    memory = "sines"

    def __init__(self, name: str, quarters: int, function: Callable[[Any], Any]) -> None:
        self.name = name
        self.quarters = quarters
        self.function = function

    def value(self, node: Node, x: Values, dtype: Dtype) -> Any:
        return self.function(middle(x[0], node.attr) * (math.pi / 2))

    def raw(self, fixed: FixedGraph, i: int, node: Node, x: Arrays) -> Array:
        bits, fmt = node.attr, fixed.formats[i]
        size = 1 << bits
        place = self.place(fixed, node, x[0]) + self.quarters * size
        quadrant = (place >> bits) & 3
        index = place & (size - 1)
        # middles of intervals are mirrored into middles, so that one quarter does for all
        mirrored = np.where(quadrant & 1, size - 1 - index, index)
        table = np.array(sine_table(bits, fmt), np.int64)
        value = table[mirrored]
        return np.where(quadrant & 2, -value, value)

    def head(self, node: Node, heads: Numbers) -> Bits:
        return 1

    def span(self, node: Node, spans: Spans) -> Span:
        return -1.0, 1.0


@lru_cache(maxsize=64)
def sine_table(address_bits: int, fmt: Format) -> tuple[int, ...]:
    """Array sines of the middles of 2^address_bits equal intervals of the first quarter turn."""
    size = 1 << address_bits
    angles = (np.arange(size) + 0.5) / size * (math.pi / 2)
    raw = fmt.quantise(np.sin(angles))
    return tuple(raw.tolist())


OPERATIONS = (
    Sinusoid("sin", np.sin),
    Sinusoid("cos", np.cos),
    SineLookup("table_sin", 0, np.sin),
    SineLookup("table_cos", 1, np.cos),
)
