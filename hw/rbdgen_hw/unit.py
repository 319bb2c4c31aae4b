# amaranth: UnusedElaboratable=no
"""A unit: the hardware of one submodule, from the schedule and the plan of its taps.

Values stand in register chains that advance once per initiation interval; with an interval above one cycle the unit's
multipliers and tables take their operands through multiplexers that follow the phase. Nothing stalls inside.

A folded unit is built for its first branch or column and runs faster: its registers advance once per turn, and what
comes from outside is chosen by the turn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence

from amaranth.hdl import Cat, Const, Module, Mux, ShapeLike, Signal, Value, signed
from amaranth.hdl import Shape as Bits
from amaranth.lib.wiring import In, Out

from rbdgen.ir.fixed import ROUNDED, Format
from rbdgen.ir.folds import SUMS
from rbdgen.schedule.buffers import Plan, UnitPlan, uses
from rbdgen.schedule.delays import TABLES, scale_stages
from rbdgen.schedule.times import chain_length
from rbdgen_hw.choice import choose
from rbdgen_hw.library import Shape, place
from rbdgen_hw.operators import (
    Normalise,
    Product,
    ReciprocalTable,
    Rescale,
    Round,
    Rounding,
    Scale,
    SineTable,
    Sum,
)
from rbdgen_hw.phases import Phases

TABLE_PORTS = {"table_sin": "sine", "table_cos": "cosine", "table_reciprocal": "reciprocal"}
"""A table's port that answers an operation."""


def label(plan: Plan, node: int) -> str:
    """A node's name in the hardware: its operand's or result's name, else its operation and number. An acceleration or
    torque can be both an operand and a result of the same name."""
    graph = plan.schedule.fixed.graph
    if graph.nodes[node].op == "input":
        return graph.nodes[node].attr
    names = [name for name, i in graph.outputs.items() if i == node]
    if not names:
        return f"{graph.nodes[node].op}{node}"
    return f"{names[0]}_result" if names[0] in graph.inputs else names[0]


def tap_name(plan: Plan, node: int, cycle: int) -> str:
    """Name of the output port that offers ``node`` in ``cycle``."""
    return f"{label(plan, node)}_at{cycle}"


def overflow_port(cycle: int, exits: tuple[str, ...]) -> str:
    """Name of the port that reports in ``cycle`` what saturated on the way to ``exits``."""
    return f"overflow{cycle}_{'_'.join(exits)}"


def overflow_reports(plan: Plan, unit: UnitPlan) -> dict[tuple[int, tuple[str, ...]], int]:
    """The cycles in which something in a unit may saturate, each with the exits whose results depend on it, and when
    that is reported: two cycles later, but never after the results have left."""
    fixed, slots, reports = plan.schedule.fixed, plan.schedule.slots, {}
    for i in unit.nodes:
        if fixed.graph.nodes[i].op in (*ROUNDED, "normalise") and fixed.may_overflow(i):
            cycle, exits = slots[i].finish, plan.reaches[i]
            reports[cycle, exits] = min([cycle + 2, *(plan.exits[e] for e in exits)])
    return reports


class Unit(Shape):
    """Ports: ``i_<value>`` for what arrives, ``<value>_at<cycle>`` for what leaves, ``waits`` (the pipelines stay in
    phase 0 if they are in it; if ii > 1), and ``overflow<c>_<exits>`` high in cycle c of a task (at that phase) in
    which something saturated shortly before that the results of these exits depend on."""

    def __init__(self, plan: Plan, unit: UnitPlan) -> None:
        self.plan, self.unit = plan, unit
        self.shape_name = unit.name
        schedule = plan.schedule
        fixed = schedule.fixed
        ports: dict = {}
        if schedule.ii > 1:
            ports["waits"] = In(1)
        for tap in unit.inputs:
            ports[f"i_{label(plan, tap.node)}"] = In(signed(fixed.formats[tap.node].width))
        for tap in unit.outputs:
            ports[tap_name(plan, tap.node, tap.cycle)] = Out(signed(fixed.formats[tap.node].width))
        self.reports = overflow_reports(plan, unit)
        for cycle, exits in sorted({(report, exits) for (_, exits), report in self.reports.items()}):
            ports[overflow_port(cycle, exits)] = Out(1)
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        folded = self.unit.name in self.plan.schedule.folds.units
        return (_FoldedBuilder if folded else _UnitBuilder)(self, platform).build()


def shifted(value: Value, places: int) -> Value:
    """``value`` times 2 to the ``places``, so many bits wider."""
    if isinstance(value, Const):
        return Const(value.value << places, signed(len(value) + places))
    return Cat(Const(0, places), value).as_signed() if places else value


class _UnitBuilder:
    """Builds one unit's module: wires for what is made, registers for what is read later, operators between them."""

    def __init__(self, unit: Unit, platform: object) -> None:
        self.unit, self.platform = unit, platform
        self.m = Module()
        self.plan = unit.plan
        self.schedule = unit.plan.schedule
        self.fixed = self.schedule.fixed
        self.graph = self.fixed.graph
        self.ii = self.schedule.ii
        self.shift_cycles = self.schedule.device.shift_cycles
        self.phases = Phases(self.m, self.ii, unit.waits if self.ii > 1 else Const(0))
        self.wires: dict[int, Value] = {}
        self.made: dict[int, int] = {}
        self.chains: dict[int, list[Signal]] = {}
        self.overflows: dict[tuple[int, tuple[str, ...]], list[Value]] = defaultdict(list)
        self.flags: dict[int, Signal] = {}
        """Whether an operator saturated a cycle ago, by the identity of its port (the operator's may be gone)."""
        self.executed = unit.unit.nodes
        """The nodes that have operators."""

    def read(self, node: int, cycle: int) -> Value:
        """The value of ``node`` as it stands in ``cycle``."""
        if self.graph.nodes[node].op == "const":
            fmt = self.fixed.formats[node]
            return Const(int(fmt.quantise(self.graph.nodes[node].attr)), signed(fmt.width))
        if node in self.schedule.timeless:
            return self.wires[node]
        return self.passed(node, cycle, self.ii)

    def passed(self, node: int, cycle: int, interval: int) -> Value:
        """The value of ``node`` behind the registers that it has passed in ``cycle``, one per ``interval``."""
        count = chain_length(self.made[node], cycle, interval)
        return self.chains[node][count - 1] if count else self.wires[node]

    def build(self) -> Module:
        unit = self.unit
        reads = uses(self.schedule, unit.unit)
        for tap in unit.unit.inputs:
            self.wires[tap.node] = getattr(unit, f"i_{label(self.plan, tap.node)}")
            self.made[tap.node] = tap.cycle
        for i in unit.unit.nodes:
            self.made[i] = self.schedule.slots[i].finish
            self.wires[i] = Signal(signed(self.fixed.formats[i].width), name=label(self.plan, i))
        for node, cycles in reads.items():
            self.chain(node, chain_length(self.made[node], cycles[-1], self.ii))
        self.operators()
        for tap in unit.unit.outputs:
            port = getattr(unit, tap_name(self.plan, tap.node, tap.cycle))
            self.m.d.comb += port.eq(self.read(tap.node, tap.cycle))
        self.report_overflows()
        return self.m

    def chain(self, node: int, length: int) -> None:
        """Registers that keep ``node`` readable for ``length`` intervals. Units that keep the same value have registers
        of their own: a strobe that all of them share would have the whole device to cross."""
        self.chains[node] = self.registers(node, "", length, self.phases.at(self.made[node]))

    def registers(self, node: int, prefix: str, length: int, strobe: Value) -> list[Signal]:
        """``length`` registers behind ``node`` that advance with ``strobe``."""
        if not length:
            return []
        name, width = label(self.plan, node), self.fixed.formats[node].width
        chain = [Signal(signed(width), name=f"{prefix}{name}_r{k}", reset_less=True) for k in range(length)]
        moves = [r.eq(source) for r, source in zip(chain, [self.wires[node], *chain], strict=False)]
        if isinstance(strobe, Const):
            self.m.d.sync += moves
        else:
            with self.m.If(strobe):
                self.m.d.sync += moves
        return chain

    def rounding(self, i: int) -> Rounding:
        fixed = self.fixed
        return Rounding(
            *(fixed.exact(i, self.formats(i))[0], fixed.formats[i], self.may_overflow(i)),
            *(self.truncates(i), not fixed.saturate),
        )

    def argument(self, i: int, position: int) -> Value:
        """An argument of node ``i`` as it stands when the node starts."""
        return self.read(self.graph.nodes[i].args[position], self.schedule.slots[i].start)

    def formats(self, i: int) -> tuple[Format, ...]:
        """Formats of the arguments of the operator of node ``i``."""
        return self.schedule.folds.arguments(self.fixed, i)

    def truncates(self, i: int) -> bool:
        """Whether the operator of node ``i`` drops bits without rounding."""
        return i in self.fixed.truncated

    def operation(self, i: int) -> tuple[str, tuple[Format, ...]]:
        """What an operator of node ``i`` does, and its arguments' formats."""
        return self.graph.nodes[i].op, self.formats(i)

    def may_overflow(self, i: int) -> bool:
        """Whether the operator of node ``i`` can saturate."""
        return self.fixed.may_overflow(i)

    def operators(self) -> None:
        """Instances of all operators, shared ones once."""
        products: dict[int, list[int]] = defaultdict(list)
        lookups: dict[int, list[int]] = defaultdict(list)
        for i in self.executed:
            node = self.graph.nodes[i]
            args = [self.argument(i, k) for k in range(len(node.args))] if node.op not in ("mul", *TABLES) else []
            op, formats = self.operation(i)
            if node.op == "mul":
                products[self.schedule.binding[i]].append(i)
            elif node.op in TABLES:
                lookups[self.schedule.binding[i]].append(i)
            elif node.op == "shift":
                self.m.d.comb += self.wires[i].eq(args[0])
            elif node.op == "residual":
                self.residual(i, args[0], formats[0])
            elif node.op == "normalise":
                self.simple(i, Normalise(formats[0], self.fixed.formats[i], self.shift_cycles), args)
            elif node.op == "rescale":
                self.simple(i, Rescale(formats[0], formats[1], self.rounding(i), self.shift_cycles), args)
            elif node.op == "scale":
                self.simple(i, self.constant(i, formats[0]), args)
            else:
                self.simple(i, self.sum(i, op, formats), args)
        for number, nodes in sorted(products.items()):
            self.multiplier(number, nodes)
        for number, nodes in sorted(lookups.items()):
            self.table(number, nodes)

    def sum(self, i: int, op: str, formats: tuple[Format, ...]) -> Sum:
        """The operator of a sum."""
        return Sum(op, formats, self.rounding(i))

    def constant(self, i: int, arg: Format) -> Scale:
        """The operator of a constant factor."""
        stages = scale_stages(self.fixed, self.schedule.device, i, self.schedule.folds)
        return Scale(arg, self.fixed.constants[i], self.rounding(i), stages)

    def simple(self, i: int, shape: Shape, args: list[Value]) -> None:
        """An operator of its own for node ``i``."""
        place(self.m, self.platform, f"op_{label(self.plan, i)}", shape)
        self.m.d.comb += [getattr(shape, port).eq(arg) for port, arg in zip("ab", args, strict=False)]
        self.m.d.comb += self.wires[i].eq(shape.y)
        self.overflow(i, shape)

    def overflow(self, i: int, shape: Shape) -> None:
        """Count an operator's overflow when it makes node ``i``."""
        if not hasattr(shape, "overflow") or not self.fixed.may_overflow(i):
            return
        now = cycle = self.schedule.slots[i].finish
        exits = self.plan.reaches[i]
        value: Value = shape.overflow
        if self.unit.reports[cycle, exits] == cycle + 2:
            # an operator is slow enough without all that its flag is collected with
            if id(value) not in self.flags:
                self.flags[id(value)] = flag = Signal(name=f"overflowed_{label(self.plan, i)}", reset_less=True)
                self.m.d.sync += flag.eq(value)
            value, now = self.flags[id(value)], cycle + 1
        self.overflows[cycle, exits].append(value & self.phases.at(now))

    def residual(self, i: int, angle: Value, fmt: Format) -> None:
        """The angle's bits below the table's, around the interval's middle: only the top one is inverted."""
        bits = fmt.frac - self.graph.nodes[i].attr
        low = Signal(bits, name=f"{label(self.plan, i)}_low")
        self.m.d.comb += [low.eq(angle), self.wires[i].eq(Cat(low[:-1], ~low[-1]).as_signed())]

    def select(self, nodes: list[int], values: list[Value], shape: ShapeLike, name: str) -> Value:
        """The value of the node whose turn it is: ``values`` belong to the phases in which ``nodes`` start."""
        if len(nodes) == 1:
            return values[0]
        cases = ((self.start_phases(i), value) for i, value in zip(nodes, values, strict=True))
        return choose(self.m, self.phases, cases, shape, name)

    def start_phases(self, i: int) -> list[int]:
        """The phases in which node ``i`` starts."""
        return [self.schedule.slots[i].start % self.ii]

    def multiplier(self, number: int, nodes: list[int]) -> None:
        """One multiplier for ``nodes``, with factors at the upper ends of its inputs, and a rounding for each way in
        which they round (:meth:`rbdgen.schedule.times.Schedule.ways`)."""
        widths = self.schedule.input_widths(nodes)
        last = self.graph.nodes[nodes[0]].owner in self.graph.last
        product = Product(widths[0], widths[1], self.schedule.device.product_cycles(last))
        name = label(self.plan, nodes[0]) if len(nodes) == 1 else f"shared{number}"
        place(self.m, self.platform, f"multiplier_{name}", product)
        for side, port in ((0, product.a), (1, product.b)):
            values = [self.argument(i, self.schedule.factors(i)[side]) for i in nodes]
            # what occurs more than once stays one object, and so one input of the choice
            moved = {id(value): shifted(value, widths[side] - len(value)) for value in values}
            values = [moved[id(value)] for value in values]
            self.m.d.comb += port.eq(self.select(nodes, values, signed(widths[side]), f"{name}_{'ab'[side]}"))
        rounds: dict[tuple[int, int, bool], Round] = {}
        ways = self.schedule.ways(nodes)
        for i, way in ways.items():
            if way not in rounds:
                drop, width, truncates = way
                # a wider shared product never changes a result, only whether the formats alone rule saturation out
                alike = [self.rounding(k) for k in nodes if ways[k] == way]
                saturates = any(r.saturates for r in alike)
                shared = Rounding(drop, Format(width, 0), saturates, truncates, alike[0].wraps)
                rounds[way] = Round(sum(widths), shared)
                place(self.m, self.platform, f"round_{name}_{len(rounds) - 1}", rounds[way])
                self.m.d.comb += rounds[way].x.eq(product.p)
            self.m.d.comb += self.wires[i].eq(rounds[way].y)
            self.overflow(i, rounds[way])

    def table(self, number: int, nodes: list[int]) -> None:
        """One table for the angles of ``nodes``."""
        fmt, bits = self.fixed.formats[nodes[0]], self.graph.nodes[nodes[0]].attr
        sine = self.graph.nodes[nodes[0]].op != "table_reciprocal"
        table = (SineTable if sine else ReciprocalTable)(bits, fmt, self.schedule.device.table_cycles)
        index_bits = bits + 2 if sine else bits
        place(self.m, self.platform, f"table{number}", table)
        first = {self.graph.nodes[i].args[0]: i for i in reversed(nodes)}
        places = []
        for angle, i in first.items():
            value = Signal(index_bits, name=f"{label(self.plan, angle)}_place")
            step = self.fixed.formats[angle].frac - bits
            self.m.d.comb += value.eq(self.argument(i, 0) >> step)
            places.append(value)
        selected = self.select(list(first.values()), places, index_bits, f"table{number}_place")
        self.m.d.comb += table.place.eq(selected)
        for i in nodes:
            self.m.d.comb += self.wires[i].eq(getattr(table, TABLE_PORTS[self.graph.nodes[i].op]))

    def report_overflows(self) -> None:
        """Drive the overflow ports: from registers, except for what happens in the last cycle itself."""
        ports: dict[str, list[Value]] = defaultdict(list)
        for (cycle, exits), report in self.unit.reports.items():
            happened = Cat(*self.overflows[cycle, exits]).any()
            port = overflow_port(report, exits)
            if report > cycle:
                held = Signal(name=f"held_{port}", reset_less=True)
                self.m.d.sync += held.eq(happened)
                happened = held
            ports[port].append(happened)
        for port, values in ports.items():
            self.m.d.comb += getattr(self.unit, port).eq(Cat(*values).any())


class _FoldedBuilder(_UnitBuilder):
    """Builds a unit whose operators serve several branches or columns in turn: the module of the first one's nodes, at
    a fraction of the initiation interval."""

    def __init__(self, unit: Unit, platform: object) -> None:
        super().__init__(unit, platform)
        self.folds = self.schedule.folds
        self.step = self.folds.interval(unit.unit.name, self.ii)
        self.kept: dict[int, list[Signal]] = {}
        """Registers of values that the unit makes in one turn and uses in another."""
        self.choices: dict[Hashable, tuple[Value, Sequence[Value]]] = {}
        """What is chosen by the turn, with what it is chosen from, which keeps that's identities."""
        self.longer: dict[tuple[int, int], tuple[Value, Value]] = {}
        """Values with more bits behind the binary point, with what they are made of."""
        self.executed = tuple(i for i in unit.unit.nodes if i in self.folds.turns)

    def turn_phases(self, cycle: int) -> list[int]:
        """The phases of ``cycle`` in all turns, the first turn's first."""
        return [(cycle + k * self.step) % self.ii for k in range(self.ii // self.step)]

    def start_phases(self, i: int) -> list[int]:
        return self.turn_phases(self.schedule.slots[i].start)

    def in_turn(self, cycle: int) -> Value:
        """High in the phases of ``cycle`` in all turns."""
        return Const(1) if self.step == 1 else self.phases.during(self.turn_phases(cycle))

    def build(self) -> Module:
        unit, slots = self.unit, self.schedule.slots
        outside: dict[int, list[int]] = defaultdict(list)
        uses_inside: dict[int, list[int]] = defaultdict(list)
        for tap in unit.unit.inputs:
            self.wires[tap.node] = getattr(unit, f"i_{label(self.plan, tap.node)}")
            self.made[tap.node] = tap.cycle
        for i in self.executed:
            self.made[i] = slots[i].finish
            self.wires[i] = Signal(signed(self.fixed.formats[i].width), name=label(self.plan, i))
            inside = [self.folds.inside(self.graph, i, k) for k in range(len(self.graph.nodes[i].args))]
            for turn in self.folds.turns[i]:
                for position, a in enumerate(turn.args):
                    if inside[position]:
                        uses_inside[self.folds.template(a)].append(slots[i].start)
                    elif self.graph.nodes[a].op != "const" and a not in self.schedule.timeless:
                        outside[a].append(slots[turn.node].start)
        members = self.folds.members
        for node in sorted(outside):
            if node in members and self.graph.nodes[node].owner == unit.unit.name:
                # another turn's value: kept as if it came from outside
                length = chain_length(slots[node].finish, max(outside[node]), self.ii)
                strobe = self.phases.at(slots[node].finish)
                self.kept[node] = self.registers(self.folds.template(node), f"kept{node}_", length, strobe)
            else:
                self.chain(node, chain_length(self.made[node], max(outside[node]), self.ii))
        for i in self.executed:
            length = chain_length(self.made[i], max(uses_inside[i]), self.step) if uses_inside[i] else 0
            self.chains[i] = self.registers(i, "", length, self.in_turn(self.made[i]))
        self.operators()
        for tap in unit.unit.outputs:
            port = getattr(unit, tap_name(self.plan, tap.node, tap.cycle))
            self.m.d.comb += port.eq(self.wires[self.folds.template(tap.node)])
        self.report_overflows()
        return self.m

    def may_overflow(self, i: int) -> bool:
        return any(self.fixed.may_overflow(turn.node) for turn in self.folds.turns[i])

    def truncates(self, i: int) -> bool:
        return any(turn.node in self.fixed.truncated for turn in self.folds.turns[i])

    def operation(self, i: int) -> tuple[str, tuple[Format, ...]]:
        op, formats = super().operation(i)
        signed_args = self.folds.signed(i)
        if op in SUMS and signed_args:
            return "add", formats
        wider = (Format(f.width + (k in signed_args), f.frac) for k, f in enumerate(formats))
        return op, tuple(wider)

    def sum(self, i: int, op: str, formats: tuple[Format, ...]) -> Sum:
        sum_ = Sum(op, formats, self.rounding(i), self.folds.signed(i))
        for side in sum_.minus:
            self.m.d.comb += getattr(sum_, f"minus_{side}").eq(self.negative(i, "ab".index(side)))
        return sum_

    def negative(self, i: int, position: int) -> Value:
        """Whether an argument counts negatively in the turn that has its turn when node ``i`` starts."""
        flags = [Const(int(turn.negated[position])) for turn in self.folds.turns[i]]
        name = f"{label(self.plan, i)}_{'ab'[position]}_negative"
        return self.by_turn(self.schedule.slots[i].start, flags, 1, name)

    def argument(self, i: int, position: int) -> Value:
        start, turns = self.schedule.slots[i].start, self.folds.turns[i]
        name = f"{label(self.plan, i)}_{'ab'[position]}"
        if self.folds.inside(self.graph, i, position):
            a = self.folds.template(turns[0].args[position])
            value = self.passed(a, start, self.step)
        else:
            fmt = self.formats(i)[position]
            values = [self.outside(turn.args[position], start + k * self.step) for k, turn in enumerate(turns)]
            places = [fmt.frac - self.fixed.formats[turn.args[position]].frac for turn in turns]
            value = self.by_turn(start, list(map(self.moved, values, places)), signed(fmt.width), name)
        if self.graph.nodes[i].op not in SUMS and position in self.folds.signed(i):
            signed_value = Signal(signed(len(value) + 1), name=f"{name}_signed")
            self.m.d.comb += signed_value.eq(Mux(self.negative(i, position), -value, value))
            return signed_value
        return value

    def outside(self, node: int, cycle: int) -> Value:
        """A value that the turn does not make itself, as it stands in ``cycle``."""
        if node not in self.kept:
            return self.read(node, cycle)
        return self.kept[node][chain_length(self.schedule.slots[node].finish, cycle, self.ii) - 1]

    def moved(self, value: Value, places: int) -> Value:
        """``value`` with so many bits more behind the binary point; the same object for the same value."""
        if not places or isinstance(value, Const):
            return shifted(value, places)
        if (id(value), places) not in self.longer:
            self.longer[id(value), places] = shifted(value, places), value
        return self.longer[id(value), places][0]

    def by_turn(self, start: int, values: Sequence[Value], shape: ShapeLike, name: str) -> Value:
        """The value of the turn that has its turn in ``start``. Operations that read the same values at the same times
        have one choice in common."""
        phases = self.turn_phases(start)[: len(values)]
        known = [("const", v.value) if isinstance(v, Const) else ("signal", id(v)) for v in values]
        key = tuple(phases), tuple(known), Bits.cast(shape).width
        if key not in self.choices:
            cases = (([phase], value) for phase, value in zip(phases, values, strict=True))
            self.choices[key] = choose(self.m, self.phases, cases, shape, name), values
        return self.choices[key][0]

    def overflow(self, i: int, shape: Shape) -> None:
        for turn in self.folds.turns[i]:
            super().overflow(turn.node, shape)
