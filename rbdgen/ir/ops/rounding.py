"""Operation ``round``: its argument with only attribute bits behind the binary point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rbdgen.ir.exactness import Span
from rbdgen.ir.ops.operation import (
    Array,
    Arrays,
    Dtype,
    Exact,
    Fault,
    Formats,
    Operation,
    Passed,
    Spans,
    Values,
    ValuesOf,
)

if TYPE_CHECKING:
    from rbdgen.ir.fixed import FixedGraph
    from rbdgen.ir.graph import Node


class Round(Operation):
    """A narrower view of a signal; without formats, the signal itself."""

    name = "round"
    attribute = int
    traced = False
    any_time = True

    def value(self, node: Node, x: Values, dtype: Dtype) -> Any:
        return x[0]

    def exact(self, fixed: FixedGraph, i: int, node: Node, args: Formats) -> Exact:
        (fmt,) = args
        return fmt.frac, fmt.minimum, fmt.maximum

    def raw(self, fixed: FixedGraph, i: int, node: Node, x: Arrays) -> Array:
        return x[0]

    def format_fault(self, fixed: FixedGraph, i: int, node: Node) -> Fault:
        fault = super().format_fault(fixed, i, node)
        fmt = fixed.formats[i]
        if fault is None and fmt.frac != node.attr:
            return f"binary point must be {node.attr}, not {fmt.frac}"
        return fault

    def span(self, node: Node, spans: Spans) -> Span:
        return spans[node.args[0]]

    def passed_on(self, node: Node, here: Array, at: ValuesOf) -> Passed:
        return [(node.args[0], here)]


OPERATIONS = (Round(),)
