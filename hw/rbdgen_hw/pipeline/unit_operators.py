# amaranth: UnusedElaboratable=no
"""The operators of a unit: one for each node of most operations, and shared multipliers and tables.

With an interval above one cycle, multipliers and tables take their operands through multiplexers that follow the phase.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from amaranth.hdl import Cat, Mux, ShapeLike, Signal, Value

from rbdgen.ir.number_formats import Format
from rbdgen.ir.ops import OPERATIONS
from rbdgen.machines.pipeline.buffers import Plan, UnitPlan
from rbdgen_hw.library import SharedComponent, instantiate
from rbdgen_hw.operators import (
    ARITHMETIC,
    SIDES,
    Multiplier,
    Normalise,
    ReciprocalTable,
    Rescale,
    Round,
    Scale,
    SineTable,
    Sum,
)
from rbdgen_hw.pipeline.phases import choose
from rbdgen_hw.pipeline.shared_multiplier import SharedMultiplier
from rbdgen_hw.pipeline.unit_values import UnitValues

TABLE_PORTS = {"table_sin": "sine", "table_cos": "cosine", "table_reciprocal": "reciprocal"}
"""A table's port that answers an operation."""
MEMORIES = {"sines": SineTable, "reciprocals": ReciprocalTable}
"""The table that has a memory of this kind."""


class UnitOperators(UnitValues):
    """Writes the operators between a unit's values."""

    def __init__(
        self,
        plan: Plan,
        unit: UnitPlan,
        ports: SharedComponent,
        platform: object,
    ) -> None:
        super().__init__(plan, unit, ports, platform)
        self.shift_cycles = self.schedule.device.shift_cycles
        self.executed = unit.nodes
        """The nodes that have operators."""

    def operators(self) -> None:
        """Instances of all operators, shared ones once."""
        products: dict[int, list[int]] = defaultdict(list)
        lookups: dict[int, list[int]] = defaultdict(list)
        for i in self.executed:
            if self.nodes[i].products:
                products[self.schedule.binding[i]].append(i)
            elif self.nodes[i].operation.looks_up:
                lookups[self.schedule.binding[i]].append(i)
            else:
                self.own_operator(i)
        for number, nodes in sorted(products.items()):
            if self.schedule.in_time(nodes[0]):
                SharedMultiplier(self, number, nodes).build()
            else:
                # in space each multiplier makes one product
                self.multiplier(*nodes)
        for number, nodes in sorted(lookups.items()):
            self.table(number, nodes)

    def own_operator(self, i: int) -> None:
        """Writes the operator that makes node ``i`` alone."""
        positions = range(len(self.nodes[i].args))
        args = [self.argument(i, k) for k in positions]
        OPERATORS[self.nodes[i].op](self, i, args)

    def wire(self, i: int, args: Sequence[Value]) -> None:
        """The argument's bits: only the binary point moves."""
        (value,) = args
        self.m.d.comb += self.wires[i].eq(value)

    def adder(self, i: int, args: Sequence[Value]) -> None:
        """A sum without products, a magnitude or a rounding."""
        op, formats = self.operation(i)
        operator: SharedComponent
        if i in self.fixed.constants:
            operator = self.constant(i, formats[0])
        else:
            operator = self.sum(i, op, formats)
        self.simple(i, operator, args)

    def normalise(self, i: int, args: Sequence[Value]) -> None:
        """A move into [1, 2)."""
        _, (arg,) = self.operation(i)
        operator = Normalise(arg, self.fixed.formats[i], self.shift_cycles)
        self.simple(i, operator, args)

    def sign(self, i: int, args: Sequence[Value]) -> None:
        """1, or -1 of what is negative."""
        (value,) = args
        one = 1 << self.fixed.formats[i].frac
        self.m.d.comb += self.wires[i].eq(Mux(value[-1], -one, one))

    def rescale(self, i: int, args: Sequence[Value]) -> None:
        """A move by what normalises another value."""
        _, (arg, scale) = self.operation(i)
        operator = Rescale(arg, scale, self.rounding(i), self.shift_cycles)
        self.simple(i, operator, args)

    def elsewhere(self, i: int, args: Sequence[Value]) -> None:
        """Nothing of its own: operands and constants are there, tables are shared (:meth:`operators`)."""
        raise AssertionError(self.nodes[i].op)

    def operation(self, i: int) -> tuple[str, tuple[Format, ...]]:
        """Operation of the operator of node ``i``, and its arguments' formats."""
        return self.fixed.name(i), self.formats(i)

    def sum(self, i: int, op: str, formats: tuple[Format, ...]) -> Sum:
        """The operator of a sum."""
        rounding = self.rounding(i)
        return Sum(op, formats, rounding)

    def constant(self, i: int, arg: Format) -> Scale:
        """The operator of a constant factor."""
        schedule = self.schedule
        stages = schedule.operators.scale_stages(i)
        factor = self.fixed.constants[i]
        rounding = self.rounding(i)
        return Scale(arg, factor, rounding, stages)

    def simple(self, i: int, operator: SharedComponent, args: Sequence[Value]) -> None:
        """An operator of its own for node ``i``."""
        m = self.m
        name = f"op_{self.label(i)}"
        instantiate(m, self.platform, name, operator)
        for side, arg in zip(SIDES, args, strict=False):
            port = getattr(operator, side)
            m.d.comb += port.eq(arg)
        wire = self.wires[i]
        m.d.comb += wire.eq(operator.y)
        self.overflow(i, operator)

    def residual(self, i: int, args: Sequence[Value]) -> None:
        """The angle's bits below the table's, around the interval's middle: only the top one is inverted."""
        m = self.m
        (angle,) = args
        (fmt,) = self.formats(i)
        bits = fmt.frac - self.nodes[i].attr
        low = Signal(bits, name=f"{self.label(i)}_low")
        top = low[-1]
        centred = Cat(low[:-1], ~top)
        wire = self.wires[i]
        m.d.comb += [
            low.eq(angle),
            wire.eq(centred.as_signed()),
        ]

    def select(
        self,
        nodes: Sequence[int],
        values: Sequence[Value],
        shape: ShapeLike,
        name: str,
    ) -> Value:
        """The value of the node that starts now: ``values`` belong to the phases in which ``nodes`` start."""
        if len(nodes) == 1:
            return values[0]
        phases = [self.start_phases(i) for i in nodes]
        cases = zip(phases, values, strict=True)
        return choose(self.m, self.phases, cases, shape, name)

    def multiplier(self, i: int) -> None:
        """One multiplier for the product ``i``."""
        m = self.m
        widths = self.schedule.input_widths([i])
        last = self.nodes[i].owner in self.graph.last
        cycles = self.schedule.device.product_cycles(last)
        multiplier = Multiplier(*widths, cycles)
        name = self.label(i)
        instantiate(m, self.platform, f"multiplier_{name}", multiplier)
        for side, position in enumerate(self.schedule.factors(i)):
            port = getattr(multiplier, SIDES[side])
            m.d.comb += port.eq(self.argument(i, position))
        rounding = self.rounding(i)
        rounded = Round(len(multiplier.p), rounding)
        instantiate(m, self.platform, f"round_{name}", rounded)
        m.d.comb += rounded.x.eq(multiplier.p)
        wire = self.wires[i]
        m.d.comb += wire.eq(rounded.y)
        self.overflow(i, rounded)

    def table(self, number: int, nodes: list[int]) -> None:
        """One table for the angles of ``nodes``."""
        m = self.m
        first = nodes[0]
        fmt = self.fixed.formats[first]
        bits = self.nodes[first].attr
        cycles = self.schedule.device.table_cycles
        kind = MEMORIES[self.nodes[first].operation.memory]
        table = kind(bits, fmt, cycles)
        instantiate(m, self.platform, f"table{number}", table)
        width = len(table.place)
        # sine and cosine of one angle are looked up at once
        readers: dict[int, int] = {}
        # backwards, so that the first reader of an angle stays
        for i in reversed(nodes):
            angle = self.nodes[i].args[0]
            readers[angle] = i
        addresses = []
        for angle, i in readers.items():
            address = Signal(width, name=f"{self.label(angle)}_place")
            fmt = self.fixed.formats[angle]
            below = fmt.frac - bits
            argument = self.argument(i, 0)
            m.d.comb += address.eq(argument >> below)
            addresses.append(address)
        first_nodes = list(readers.values())
        chosen = self.select(first_nodes, addresses, width, f"table{number}_place")
        m.d.comb += table.place.eq(chosen)
        for i in nodes:
            port = TABLE_PORTS[self.nodes[i].op]
            answer = getattr(table, port)
            wire = self.wires[i]
            m.d.comb += wire.eq(answer)


OPERATORS = {
    **{name: UnitOperators.adder for name in ARITHMETIC if name in OPERATIONS},
    "input": UnitOperators.elsewhere,
    "const": UnitOperators.elsewhere,
    "sum": UnitOperators.adder,
    "shift": UnitOperators.wire,
    "residual": UnitOperators.residual,
    "sign": UnitOperators.sign,
    "normalise": UnitOperators.normalise,
    "rescale": UnitOperators.rescale,
    "table_sin": UnitOperators.elsewhere,
    "table_cos": UnitOperators.elsewhere,
    "table_reciprocal": UnitOperators.elsewhere,
}
"""Methods that make each operation of fixed-point graphs; a sum with products has a multiplier, or a share of one."""
