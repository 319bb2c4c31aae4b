"""Operations ``input``, an operand by its name, and ``const``, a constant by its value: nothing computes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rbdgen.ir.exactness import Span
from rbdgen.ir.ops.operation import (
    Args,
    Array,
    Arrays,
    Dtype,
    Fault,
    Operation,
    Passed,
    Spans,
    Values,
    ValuesOf,
)

if TYPE_CHECKING:
    from rbdgen.ir.builder import Builder
    from rbdgen.ir.fixed import FixedGraph
    from rbdgen.ir.graph import Node


class _Given(Operation):
    """Base of the two: nothing computes them, and nothing is passed on."""

    arity = 0
    is_given = True
    rounds = False
    any_time = True

    def passed_on(self, node: Node, here: Array, at: ValuesOf) -> Passed:
        return []


class Input(_Given):
    """An operand; its attribute is its name."""

    name = "input"
    attribute = str
    bit_cost = 3.0

    def attribute_fault(self, attr: Any) -> Fault:
        return None if isinstance(attr, str) else f"attribute must be a unique name, not {attr!r}"

    def made(self, builder: Builder, args: Args, attr: Any) -> int:
        return builder.input(attr)


class Const(_Given):
    """A constant; its attribute is its value."""

    name = "const"
    attribute = float

    def made(self, builder: Builder, args: Args, attr: Any) -> int:
        return builder.const(attr)

    def value(self, node: Node, x: Values, dtype: Dtype) -> Any:
        return np.asarray(node.attr, dtype)

    def raw(self, fixed: FixedGraph, i: int, node: Node, x: Arrays) -> Array:
        return fixed.formats[i].quantise(node.attr)

    def span(self, node: Node, spans: Spans) -> Span:
        return node.attr, node.attr


OPERATIONS = (Input(), Const())
