"""What the special unit computes: sines and cosines of an angle, the reciprocal of a positive number as a mantissa
and a power of two, with the formats that its multiplier of 18 x 18 bits has, and the sign of a number.

Each call is a few nodes of the graph that belong to a submodule of their own, so that every model of the graph has the
unit's very bits. An angle is in quarter turns; the middle m of its table interval leaves the residual r, and with
u = r·π/2, S = sin m and C = cos m: sin = S + u (C − u/2 S), cos = C − u (S + u/2 C). Of x = m·2^e, with c the middle of
the interval of m in [1, 2), R = 1/c and u = (m − c) R: 1/m = R (1 − u + u²) = R − R (u − u²).

A lean unit has S, C and r, and R, m − c and 2^−e; lanes do the rest, by the same series.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from rbdgen.ir.builder import Args, Builder, rebuild
from rbdgen.ir.graph import Graph, Node
from rbdgen.ir.number_formats import Format
from rbdgen.ir.terms import PRODUCT, Terms
from rbdgen.machines.engine.core import (
    ANGLE_POINT,
    COSINE,
    INVERSE_STEPS,
    LEAN_CALL,
    LEAN_INVERSE,
    LEAN_SINES,
    MANTISSA,
    POWER,
    SIGNED,
    SINE,
    SINE_STEPS,
    Core,
)

ADDRESS_BITS = 10
"""Bits of an address of either table."""
FACTOR = 18
"""Bits of the factors of the unit's multiplier."""
SHORT = FACTOR - 2
"""Binary point of factors up to 2."""
TABLE_BITS = 32
"""Bits of the tables' entries, with a sign."""
SINE_POINT, RECIPROCAL_POINT = TABLE_BITS - 2, TABLE_BITS - 1
"""Binary points of the tables' entries."""
STEP_POINT = 27
"""Binary point of u."""
MANTISSA_POINT = 27
"""Binary point of the distance of x's mantissa from the middle of its interval, which half of an interval fits."""
EXACT = 34
"""Binary point at which the unit adds where no table's entry is added."""
QUARTER = math.floor(math.pi / 2 * 2**SHORT + 0.5) / 2**SHORT
"""π/2 as the unit multiplies by it."""
LEAN_ADDRESS_BITS = 7
"""The same of a lean unit's. What the series leave out is then 4e-8 of a sine and 6e-8 of a reciprocal at most."""
SINES, INVERSE, SIGN = "Sincos", "Inverse", "Sign"
"""Names of the calls' submodules, before their numbers."""
LEAN = "Lean"
"""Before the names of a lean unit's."""
TIMES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    SINES: (SINE_STEPS, (SINE, COSINE)),
    INVERSE: (INVERSE_STEPS, (MANTISSA, POWER)),
    SIGN: ((), (SIGNED,)),
    LEAN + SINES: (LEAN_CALL, LEAN_SINES),
    LEAN + INVERSE: (LEAN_CALL, LEAN_INVERSE),
    LEAN + SIGN: (LEAN_CALL, (SIGNED,)),
}
"""Of each kind of call the cycles after its argument in which it takes the multiplier, and those of its results."""
PLUS = Terms(products=(1,), addends=(1,))
MINUS = Terms(products=(-1,), addends=(1,))


def is_special(node: Node) -> bool:
    """Whether a node is computed by the special unit."""
    return node.owner.startswith(tuple(TIMES))


class _Calls:
    """Puts calls into a graph that is being built; a call for an argument is made once."""

    kinds = ""
    """Before the names of submodules."""

    def __init__(self) -> None:
        self.sines: dict[int, tuple[int, int]] = {}
        self.inverses: dict[int, tuple[int, int]] = {}
        self.signs: dict[int, int] = {}

    def sine_and_cosine(self, builder: Builder, radians: int) -> tuple[int, int]:
        """The nodes of an angle's sine and cosine."""
        if radians not in self.sines:
            turn = builder.constant_product(radians, 2 / math.pi)
            with builder.submodule(f"{self.kinds}{SINES}{len(self.sines)}"):
                self.sines[radians] = self._sine_and_cosine(builder, turn)
        return self.sines[radians]

    def _sine_and_cosine(self, builder: Builder, turn: int) -> tuple[int, int]:
        rest = builder.node("residual", (turn,), ADDRESS_BITS)
        step = builder.constant_product(rest, QUARTER)
        half = builder.node("shift", (step,), -1)
        sine = builder.node("table_sin", (turn,), ADDRESS_BITS)
        cosine = builder.node("table_cos", (turn,), ADDRESS_BITS)
        short_sine = builder.node("round", (sine,), SHORT)
        short_cosine = builder.node("round", (cosine,), SHORT)
        to_cosine = builder.node("sum", (half, short_sine, cosine), MINUS)
        to_sine = builder.node("sum", (half, short_cosine, sine), PLUS)
        return (
            builder.node("sum", (step, to_cosine, sine), PLUS),
            builder.node("sum", (step, to_sine, cosine), MINUS),
        )

    def inverse(self, builder: Builder, x: int) -> tuple[int, int]:
        """The nodes of 1/m and of 2^−e, of x = m·2^e."""
        if x not in self.inverses:
            with builder.submodule(f"{self.kinds}{INVERSE}{len(self.inverses)}"):
                self.inverses[x] = self._inverse(builder, x)
        return self.inverses[x]

    def reciprocal(self, builder: Builder, x: int) -> int:
        """The node of 1/x."""
        return builder.node("sum", self.inverse(builder, x), PRODUCT)

    def quotient(self, builder: Builder, y: int, x: int) -> int:
        """The node of y/x: y by the mantissa of 1/x, then by its power of two."""
        mantissa, power = self.inverse(builder, x)
        return builder.node("sum", (builder.mul(y, mantissa), power), PRODUCT)

    def magnitude(self, builder: Builder, x: int) -> int:
        """The node of |x|: x times its sign."""
        if x not in self.signs:
            with builder.submodule(f"{self.kinds}{SIGN}{len(self.signs)}"):
                self.signs[x] = builder.node("sign", (x,))
        return builder.node("sum", (x, self.signs[x]), PRODUCT)

    def _inverse(self, builder: Builder, x: int) -> tuple[int, int]:
        m = builder.node("normalise", (x,))
        rest = builder.node("residual", (m,), ADDRESS_BITS)
        distance = builder.node("round", (rest,), MANTISSA_POINT)
        table = builder.node("table_reciprocal", (m,), ADDRESS_BITS)
        short = builder.node("round", (table,), FACTOR - 1)
        step = builder.node("sum", (distance, short), PRODUCT)
        change = builder.node("sum", (step, step, step), MINUS)
        mantissa = builder.node("sum", (short, change, table), MINUS)
        power = builder.node("rescale", (builder.const(1.0), x))
        return mantissa, power


class _LeanCalls(_Calls):
    """The same for a lean unit, beside what lanes make of what it looks up."""

    kinds = LEAN

    def sine_and_cosine(self, builder: Builder, radians: int) -> tuple[int, int]:
        if radians not in self.sines:
            turn = builder.constant_product(radians, 2 / math.pi)
            with builder.submodule(f"{LEAN}{SINES}{len(self.sines)}"):
                sine = builder.node("table_sin", (turn,), LEAN_ADDRESS_BITS)
                cosine = builder.node("table_cos", (turn,), LEAN_ADDRESS_BITS)
                rest = builder.node("residual", (turn,), LEAN_ADDRESS_BITS)
            step = builder.constant_product(rest, math.pi / 2)
            # half of its square
            half = builder.mul(builder.constant_product(rest, math.pi**2 / 8), rest)
            series = Terms(products=(1, -1), addends=(1,)), Terms(products=(-1, -1), addends=(1,))
            self.sines[radians] = (
                builder.node("sum", (step, cosine, half, sine, sine), series[0]),
                builder.node("sum", (step, sine, half, cosine, cosine), series[1]),
            )
        return self.sines[radians]

    def inverse(self, builder: Builder, x: int) -> tuple[int, int]:
        if x not in self.inverses:
            with builder.submodule(f"{LEAN}{INVERSE}{len(self.inverses)}"):
                m = builder.node("normalise", (x,))
                table = builder.node("table_reciprocal", (m,), LEAN_ADDRESS_BITS)
                power = builder.node("rescale", (builder.const(1.0), x))
                rest = builder.node("residual", (m,), LEAN_ADDRESS_BITS)
                distance = builder.node("round", (rest,), ANGLE_POINT)
            step = builder.mul(distance, table)
            change = builder.node("sum", (step, step, step), MINUS)
            mantissa = builder.node("sum", (table, change, table), MINUS)
            self.inverses[x] = mantissa, power
        return self.inverses[x]


CALLS: dict[str, Callable[[_Calls, Builder, Args], int]] = {
    "sin": lambda calls, builder, args: calls.sine_and_cosine(builder, args[0])[0],
    "cos": lambda calls, builder, args: calls.sine_and_cosine(builder, args[0])[1],
    "reciprocal": lambda calls, builder, args: calls.reciprocal(builder, args[0]),
    "abs": lambda calls, builder, args: calls.magnitude(builder, args[0]),
    "divide": lambda calls, builder, args: calls.quotient(builder, *args),
}
"""What the unit is called for, by operation."""


def call_special(graph: Graph, lean: bool = False) -> Graph:
    """The graph with calls of the special unit, or of a ``lean`` one, for its sines, cosines, reciprocals and
    magnitudes. A quotient is a product by a mantissa, then by a power of two."""
    calls = _LeanCalls() if lean else _Calls()

    def rule(builder: Builder, i: int, node: Node, args: Args) -> int | None:
        make = CALLS.get(node.op)
        return make(calls, builder, args) if make else builder.copied(node, args)

    return rebuild(graph, rule)


def is_angle(graph: Graph, i: int) -> bool:
    """Whether node ``i`` is an angle in quarter turns."""
    return any(graph.nodes[u].owner.startswith((SINES, LEAN + SINES)) for u in graph.users[i])


def _sum_format(graph: Graph, node: Node, core: Core) -> tuple[Format, int]:
    """The format of a sum inside a call, and its binary point: u or what follows from it, the slope by which u is
    multiplied, or a result."""
    first = graph.nodes[node.args[0]]
    if not node.addends or node.args[0] == node.args[1]:
        return Format(FACTOR, STEP_POINT), EXACT
    if first.is_shift:
        return Format(FACTOR, SHORT), SINE_POINT
    looked_up = graph.nodes[node.args[2]]
    point = EXACT if looked_up.operation.memory == "reciprocals" else SINE_POINT
    return Format(core.width, ANGLE_POINT), point


FORMATS: dict[str, Callable[[Graph, Node, Core], tuple[Format, int | None]]] = {
    "sign": lambda graph, node, core: (Format(core.width, ANGLE_POINT), None),
    "normalise": lambda graph, node, core: (Format(core.width, core.width - 2), None),
    "table_reciprocal": lambda graph, node, core: (Format(TABLE_BITS, RECIPROCAL_POINT), None),
    "table_sin": lambda graph, node, core: (Format(TABLE_BITS, SINE_POINT), None),
    "table_cos": lambda graph, node, core: (Format(TABLE_BITS, SINE_POINT), None),
    "round": lambda graph, node, core: (Format(FACTOR, node.attr), None),
    "sum": _sum_format,
}
"""Formats inside calls, by operation."""


def special_format(graph: Graph, i: int, core: Core) -> tuple[Format, int | None]:
    """The format of node ``i`` inside a call, and the binary point of a sum; not of wiring, whose format is its
    argument's, nor of the power of two, whose format is by its range."""
    node = graph.nodes[i]
    if node.owner.startswith(LEAN):
        return _lean_format(node, core), None
    return FORMATS[node.op](graph, node, core)


def _lean_format(node: Node, core: Core) -> Format:
    """The format of a node inside a call of a lean unit, which gives words as lanes take them."""
    return Format(core.width, core.width - 2 if node.op == "normalise" else ANGLE_POINT)
