# amaranth: UnusedElaboratable=no
"""A unit: the hardware of one submodule, or of several branches in turn, from the schedule and the plan of its taps.

Values stand in register chains that advance once per initiation interval (:mod:`rbdgen_hw.pipeline.unit_values`),
between operators (:mod:`rbdgen_hw.pipeline.unit_operators`). Nothing stalls inside. A folded unit is the module of its
first branch's nodes, at a fraction of the initiation interval: registers advance once per turn, and what comes from
outside is chosen by the turn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence

from amaranth.hdl import Const, Module, Mux, Shape, ShapeLike, Signal, Value, signed
from amaranth.lib.wiring import In, Member, Out

from rbdgen.ir.fixed import Format
from rbdgen.ir.terms import ADDITION
from rbdgen.machines.pipeline.buffers import Plan, UnitPlan, uses
from rbdgen.machines.pipeline.schedule import chain_length
from rbdgen_hw.library import SharedComponent
from rbdgen_hw.operators import SIDES, Sum
from rbdgen_hw.pipeline.phases import choose
from rbdgen_hw.pipeline.unit_operators import UnitOperators
from rbdgen_hw.pipeline.unit_values import (
    input_port,
    overflow_port,
    overflow_reports,
    report_times,
    tap_name,
)

Readings = dict[int, list[int]]
"""The cycles in which each value is read."""


class FoldedUnit(UnitOperators):
    """Writes a unit whose operators execute several turns."""

    def __init__(
        self,
        plan: Plan,
        unit: UnitPlan,
        ports: SharedComponent,
        platform: object,
    ) -> None:
        super().__init__(plan, unit, ports, platform)
        self.folds = self.schedule.folds
        self.turns = self.folds.turns
        """Nodes that an operator executes in turn, by the one that it has in the first turn."""
        self.step = self.folds.interval(unit.name, self.ii)
        """Cycles from a turn to the next."""
        self.kept: dict[int, list[Signal]] = {}
        """Registers of values that the unit makes in one turn and uses in another."""
        self.choices: dict[Hashable, tuple[Value, Sequence[Value]]] = {}
        """Values chosen by the turn, with what they are chosen from, which keeps that's identities."""
        executed = [i for i in unit.nodes if i in self.turns]
        self.executed = tuple(executed)

    def build(self) -> Module:
        """The unit's module."""
        m = self.m
        self.arrive()
        for i in self.executed:
            self.make(i)
        self._keep_values()
        self.operators()
        for tap in self.unit.outputs:
            name = tap_name(self.plan, tap.node, tap.cycle)
            port = getattr(self.ports, name)
            template = self.folds.template(tap.node)
            made = self.wires[template]
            m.d.comb += port.eq(made)
        self.report_overflows()
        return m

    def _keep_values(self) -> None:
        """Registers of what is read later than it is made or arrives."""
        inside, outside = self._readings()
        for node in sorted(outside):
            last = max(outside[node])
            self._keep_outside(node, last)
        for i in self.executed:
            made = self.made[i]
            last = max(inside[i], default=made)
            length = chain_length(made, last, self.step)
            strobe = self.in_turn(made)
            self.chains[i] = self.registers(i, "", length, strobe)

    def _readings(self) -> tuple[Readings, Readings]:
        """When each value is read: those of the turn itself by their node in the first turn, in that one's time, and
        all others."""
        inside: Readings = defaultdict(list)
        outside: Readings = defaultdict(list)
        for i in self.executed:
            for position, read in enumerate(self.schedule.read_cycles(i)):
                own = self.folds.inside(self.graph, i, position)
                for k, turn in enumerate(self.turns[i]):
                    node = turn.args[position]
                    if own:
                        template = self.folds.template(node)
                        inside[template].append(read)
                    elif self._waits(node):
                        outside[node].append(read + k * self.step)
        return inside, outside

    def _waits(self, node: int) -> bool:
        """Whether a value is there at some time only."""
        return not self.nodes[node].is_const and node not in self.schedule.timeless

    def _keep_outside(self, node: int, last: int) -> None:
        """Keep a value that a turn does not make itself until the cycle ``last``."""
        own = self.nodes[node].owner == self.unit.name
        if node not in self.folds.members or not own:
            made = self.made[node]
            length = chain_length(made, last, self.ii)
            self.chain(node, length)
            return
        # another turn's value: kept as if it came from outside
        finish = self.finish(node)
        length = chain_length(finish, last, self.ii)
        strobe = self.phases.at(finish)
        template = self.folds.template(node)
        prefix = f"kept{node}_"
        self.kept[node] = self.registers(template, prefix, length, strobe)

    def turn_phases(self, cycle: int) -> list[int]:
        """The phases of ``cycle`` in all turns, the first turn's first."""
        last = cycle + self.ii
        cycles = range(cycle, last, self.step)
        return [now % self.ii for now in cycles]

    def start_phases(self, i: int, later: int = 0) -> list[int]:
        start = self.start(i)
        return self.turn_phases(start + later)

    def in_turn(self, cycle: int) -> Value:
        """High in the phases of ``cycle`` in all turns."""
        if self.step == 1:
            return Const(1)
        phases = self.turn_phases(cycle)
        return self.phases.during(phases)

    def may_overflow(self, i: int) -> bool:
        nodes = [turn.node for turn in self.turns[i]]
        return any(map(self.fixed.may_overflow, nodes))

    def operation(self, i: int) -> tuple[str, tuple[Format, ...]]:
        op, formats = super().operation(i)
        signed_args = self.folds.signed(i)
        if self.nodes[i].terms.adds_two and signed_args:
            # with signs that depend on the turn a difference is a sum
            return ADDITION.name, formats
        # a factor that is negated in some turn is a bit longer
        wider = list(formats)
        for k in signed_args:
            fmt = formats[k]
            width = fmt.width + 1
            wider[k] = Format(width, fmt.frac)
        return op, tuple(wider)

    def sum(self, i: int, op: str, formats: tuple[Format, ...]) -> Sum:
        m = self.m
        signed_args = self.folds.signed(i)
        rounding = self.rounding(i)
        operator = Sum(op, formats, rounding, signed_args)
        for position in signed_args:
            negative = self.negative(i, position)
            port = getattr(operator, f"minus_{SIDES[position]}")
            m.d.comb += port.eq(negative)
        return operator

    def negative(self, i: int, position: int) -> Value:
        """Whether an argument counts negatively in the turn that is executed when node ``i`` starts."""
        flags = []
        for turn in self.turns[i]:
            negated = turn.negated[position]
            flags.append(Const(int(negated)))
        name = f"{self.label(i)}_{SIDES[position]}_negative"
        start = self.start(i)
        return self.by_turn(start, flags, 1, name)

    def argument(self, i: int, position: int) -> Value:
        m = self.m
        name = f"{self.label(i)}_{_side(position)}"
        if self.folds.inside(self.graph, i, position):
            first = self.turns[i][0]
            node = self.folds.template(first.args[position])
            value = self.passed(node, self.read_cycle(i, position), self.step)
        else:
            value = self._outside_argument(i, position, name)
        has_sign = position in self.folds.signed(i)
        if i not in self.fixed.constants or not has_sign:
            return value
        # the lowest number has no negative of its own width
        width = len(value) + 1
        signed_value = Signal(signed(width), name=f"{name}_signed")
        negative = self.negative(i, position)
        chosen = Mux(negative, -value, value)
        m.d.comb += signed_value.eq(chosen)
        return signed_value

    def _outside_argument(self, i: int, position: int, name: str) -> Value:
        """An argument that no turn makes itself, chosen by the turn."""
        start = self.read_cycle(i, position)
        fmt = self.formats(i)[position]
        values = []
        for k, turn in enumerate(self.turns[i]):
            node = turn.args[position]
            value = self.outside(node, start + k * self.step)
            values.append(value)
        shape = signed(fmt.width)
        return self.by_turn(start, values, shape, name)

    def outside(self, node: int, cycle: int) -> Value:
        """A value that the turn does not make itself, as it stands in ``cycle``."""
        if node not in self.kept:
            return self.read(node, cycle)
        finish = self.finish(node)
        length = chain_length(finish, cycle, self.ii)
        return self.kept[node][length - 1]

    def by_turn(
        self,
        start: int,
        values: Sequence[Value],
        shape: ShapeLike,
        name: str,
    ) -> Value:
        """The value of the turn that begins in ``start``. Operations that read the same values at the same times have
        one choice in common."""
        phases = self.turn_phases(start)
        known = [_identity(value) for value in values]
        width = Shape.cast(shape).width
        key = tuple(phases), tuple(known), width
        if key not in self.choices:
            alone = [[phase] for phase in phases]
            cases = zip(alone, values, strict=True)
            chosen = choose(self.m, self.phases, cases, shape, name)
            self.choices[key] = chosen, values
        return self.choices[key][0]

    def overflow(self, i: int, operator: SharedComponent) -> None:
        for turn in self.turns[i]:
            super().overflow(turn.node, operator)


def _side(position: int) -> str:
    """The name of an argument."""
    return SIDES[position] if position < len(SIDES) else f"term{position}"


def _identity(value: Value) -> tuple[str, int]:
    """Key that two values have in common where they are the same one."""
    if isinstance(value, Const):
        return "const", value.value
    # == of two values is hardware
    return "signal", id(value)


class Unit(SharedComponent):
    """Ports: ``i_<value>`` for what arrives, ``<value>_at<cycle>`` for what leaves, ``waits`` (the pipelines stay in
    phase 0 if they are in it; if ii > 1), and ``overflow<c>_<exits>`` high in cycle c of a task (at that phase) in
    which something saturated shortly before that the results of these exits depend on."""

    def __init__(self, plan: Plan, unit: UnitPlan) -> None:
        self.plan = plan
        self.unit = unit
        self.module_name = unit.name
        formats = plan.schedule.fixed.formats
        ports: dict[str, Member] = {}
        if plan.schedule.ii > 1:
            ports["waits"] = In(1)
        for tap in unit.inputs:
            port = input_port(plan, tap.node)
            fmt = formats[tap.node]
            ports[port] = In(signed(fmt.width))
        for tap in unit.outputs:
            port = tap_name(plan, tap.node, tap.cycle)
            fmt = formats[tap.node]
            ports[port] = Out(signed(fmt.width))
        self.reports = overflow_reports(plan, unit)
        for cycle, exits in report_times(self.reports):
            ports[overflow_port(cycle, exits)] = Out(1)
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        if self.unit.name in self.plan.schedule.folds.units:
            return FoldedUnit(self.plan, self.unit, self, platform).build()
        return PlainUnit(self.plan, self.unit, self, platform).build()


class PlainUnit(UnitOperators):
    """Writes a unit with an operator or a slot of one for every node."""

    def build(self) -> Module:
        """The unit's module."""
        m = self.m
        self.arrive()
        for i in self.unit.nodes:
            self.make(i)
        for node, cycles in uses(self.schedule, self.unit).items():
            made = self.made[node]
            last = cycles[-1]
            length = chain_length(made, last, self.ii)
            self.chain(node, length)
        self.operators()
        for tap in self.unit.outputs:
            name = tap_name(self.plan, tap.node, tap.cycle)
            port = getattr(self.ports, name)
            value = self.read(tap.node, tap.cycle)
            m.d.comb += port.eq(value)
        self.report_overflows()
        return m
