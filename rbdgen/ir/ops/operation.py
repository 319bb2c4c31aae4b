"""Base of all operations: how one is described to graphs, to their passes and to both interpreters.

An operation is one file of this folder, with a subclass and its instance in ``OPERATIONS``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rbdgen.ir.exactness import Span
from rbdgen.ir.number_formats import BITS, ExactWidthError, Format

if TYPE_CHECKING:
    from rbdgen.ir.builder import Builder
    from rbdgen.ir.fixed import FixedGraph
    from rbdgen.ir.graph import Node

Args = tuple[int, ...]
"""Numbers of nodes."""
Numbers = Sequence[int]
Reals = Sequence[float]
"""Whole numbers and numbers by node."""
Formats = Sequence[Format]
Spans = Sequence[Span]
"""Formats of arguments, and spans by node."""
Values = Sequence[Any]
"""Values of arguments, arrays or scalars."""
Dtype = type[np.floating]
"""Floating-point type of values."""
Array = np.ndarray
Arrays = Sequence[np.ndarray]
"""Raw values (int64) by state, or numbers by node or state; those of arguments."""
ValuesOf = Callable[[int], np.ndarray]
"""Values by node."""
Bits = int | None
"""Numbers of bits, or nothing where others decide."""
Fault = str | None
"""Remark on what is wrong, if anything is."""
Exact = tuple[int, int, int]
"""Of a result before rounding: binary point, and bounds of its raw value there."""
Passed = list[tuple[int, np.ndarray]]
"""Arguments with the derivatives that a node passes on to them."""


class Operation:
    """One operation. Subclasses say what differs from one of a single argument whose result is rounded; what they do
    not say is refused here, by name."""

    name: str
    arity: int | None = 1
    """Number of arguments; None: as the attribute says."""
    attribute: type | None = None
    """Type of a node's attribute."""
    traced = True
    """Texts of algorithms make it."""
    lowered = True
    """Fixed-point graphs have it."""
    is_given = False
    """Nothing computes it: operands and constants."""
    rounds = True
    """Its exact result is rounded, and saturated to the node's format."""
    is_partial = False
    """It has no result for some arguments, which overflow (:meth:`lost`)."""
    is_addition = False
    """One carry chain makes it."""
    is_paired = False
    """Another operation of the same argument comes with it at no further cost."""
    looks_up = False
    """A table answers it."""
    memory = ""
    """Of a table: what is kept in it. Operations with the same may share one."""
    is_addressed = False
    """It takes the upper bits of its argument as an address, or leaves them out."""
    is_bent = False
    """Its slope depends on its argument's sign."""
    moves_by_data = False
    """It moves by as many places as a value says: a shifter in hardware."""
    is_wiring = False
    """No logic makes it: bits of its argument at other places."""
    any_time = False
    """Of parameters alone, its result can be read at any time: it takes no operator's turn."""
    aligns = False
    """Its exact result has the binary point of its finest argument."""
    keeps_point = False
    """A user with so many bits behind the point asks its argument for as many."""

    bit_cost = 1.0
    """Adders, multiplexers and registers per bit of its signal, as word lengths weigh them."""

    # graphs

    def arguments(self, node: Node) -> int:
        """Number of arguments that a node must have."""
        assert self.arity is not None
        return self.arity

    def attribute_fault(self, attr: Any) -> Fault:
        """Remark on an attribute that is of the wrong kind."""
        if self.attribute is None or isinstance(attr, self.attribute):
            return None
        kind = {float: "a float", int: "an integer"}.get(self.attribute, "terms")
        return f"attribute must be {kind}, not {attr!r}"

    def made(self, builder: Builder, args: Args, attr: Any) -> int:
        """The node of this operation in a graph that is being built, simplified. Constants are folded."""
        values = [builder.value(a) for a in args]
        known = [np.float64(x) for x in values if x is not None]
        if len(known) == len(args) and self.traced:
            node = builder.described(self.name, args, attr)
            return builder.const(float(self.value(node, known, np.float64)))
        return builder.node(self.name, args, attr)

    # numbers

    def value(self, node: Node, x: Values, dtype: Dtype) -> Any:
        """Float64 (or ``dtype``) value from the arguments' ``x``."""
        raise ValueError(f"node ({self.name}): no float64 meaning")

    def exact(self, fixed: FixedGraph, i: int, node: Node, args: Formats) -> Exact:
        """Binary point and bounds of the exact result for arguments of these formats."""
        fmt = fixed.formats[i]
        return fmt.frac, fmt.minimum, fmt.maximum

    def raw(self, fixed: FixedGraph, i: int, node: Node, x: Arrays) -> Array:
        """Array values from the arguments' ``x`` (int64): exact ones, but for bits that :meth:`taken_off` names."""
        raise ValueError(f"node %{i} ({self.name}): no fixed-point meaning")

    def lost(self, node: Node, x: Arrays) -> Array | None:
        """The tasks in which it has no result, which overflow; None where that cannot be."""
        return None

    def taken_off(self, fixed: FixedGraph, i: int, node: Node) -> int:
        """Low bits that :meth:`raw` has dropped already, as 64-bit arithmetic has no room for them."""
        return 0

    def format_fault(self, fixed: FixedGraph, i: int, node: Node) -> Fault:
        """Remark on a format that the node cannot have. ExactWidthError where its exact result is too wide."""
        if not self.rounds:
            return None
        fmt = fixed.formats[i]
        frac, low, high = fixed.exact(i)
        if frac < fmt.frac:
            return f"binary point must be at most {frac}, not {fmt.frac}"
        # low bits that are taken off on the way need no room
        extra = min(self.taken_off(fixed, i, node), fixed.dropped_bits(i))
        bits = max(-low, high).bit_length()
        if bits > BITS + extra:
            raise ExactWidthError(
                f"node %{i} ({node.name}): exact result must fit 63 bits, needs {bits + 1}"
            )
        return None

    def wired_format(self, node: Node, source: Format) -> Format:
        """The one format that wiring makes of its argument's."""
        raise ValueError(f"({self.name}): no wiring")

    def cost_of_bit(self, node: Node) -> float:
        """Cost of a bit of a node's signal (:attr:`bit_cost`)."""
        return self.bit_cost

    # analyses

    def head(self, node: Node, heads: Numbers) -> Bits:
        """Bits before the point, without the sign, where they follow from the arguments' alone; else None."""
        return None

    def frac(self, node: Node, fracs: Numbers, word: int) -> Bits:
        """Bits behind the point where they follow from the arguments' or the word alone; else None."""
        return None

    def exact_frac(self, node: Node, heads: Numbers, fracs: Numbers, exponent: int) -> Bits:
        """Bits behind the point of the exact result; None where it may have any number. ``exponent``: that of a
        constant factor."""
        return max(fracs[a] for a in node.args) if self.aligns else None

    def span(self, node: Node, spans: Spans) -> Span:
        """Lowest and highest value for arguments of those ``spans`` (by node)."""
        raise ValueError(f"({self.name}): no bound")

    def passed_on(self, node: Node, here: Array, at: ValuesOf) -> Passed:
        """Derivatives with respect to arguments that are no factors, for that of the result (``here``); ``at``: values
        by node."""
        raise ValueError(f"({self.name}): no derivative")

    def arriving(self, node: Node, deviations: Reals, largest: Array, own: float) -> Reals:
        """Deviations of the arguments' errors as they show in the result. ``largest`` magnitudes are by node, ``own``
        is the result's."""
        return [deviations[a] for a in node.args]


def in_proportion(node: Node, deviations: Reals, largest: Array, own: float) -> Reals:
    """The first argument's error in proportion to what becomes of the argument."""
    source = float(largest[node.args[0]])
    if not source:
        return [0.0]
    return [deviations[node.args[0]] * own / source]
