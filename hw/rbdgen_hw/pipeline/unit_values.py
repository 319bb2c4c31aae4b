"""The ports of a unit, by name, and its values: wires for what is made or arrives, and registers for what is read
later."""

from __future__ import annotations

from collections import defaultdict

from amaranth.hdl import Cat, Const, Module, Shape, Signal, Value, signed

from rbdgen.ir.number_formats import Format
from rbdgen.machines.pipeline.buffers import Plan, UnitPlan
from rbdgen.machines.pipeline.schedule import chain_length
from rbdgen_hw.library import SharedComponent
from rbdgen_hw.logic import any_of, registered
from rbdgen_hw.operators import Rounding
from rbdgen_hw.pipeline.phases import Phases

ReportTime = tuple[int, tuple[str, ...]]
"""A cycle of a task, and the exits by which the results leave that depend on what happens in it."""
FLAG_DELAY = 2
"""Cycles from an overflow to its report, where the results stay for so long."""


def label(plan: Plan, node: int) -> str:
    """A node's name in the hardware: its operand's or result's name, else its operation and number. An acceleration or
    torque can be both an operand and a result of the same name."""
    fixed = plan.schedule.fixed
    graph = fixed.graph
    if graph.nodes[node].is_input:
        return graph.nodes[node].attr
    for name, i in graph.outputs.items():
        if i == node:
            return f"{name}_result" if name in graph.inputs else name
    return f"{fixed.name(node)}{node}"


def input_port(plan: Plan, node: int) -> str:
    """Name of the input port at which ``node`` arrives."""
    return f"i_{label(plan, node)}"


def tap_name(plan: Plan, node: int, cycle: int) -> str:
    """Name of the output port that offers ``node`` in ``cycle``."""
    return f"{label(plan, node)}_at{cycle}"


def overflow_port(cycle: int, exits: tuple[str, ...]) -> str:
    """Name of the port that reports in ``cycle`` what saturated on the path to ``exits``."""
    return f"overflow{cycle}_{'_'.join(exits)}"


def overflow_reports(plan: Plan, unit: UnitPlan) -> dict[ReportTime, int]:
    """The cycles in which something in a unit may saturate, each with the exits whose results depend on it, and when
    that is reported: two cycles later, but never after the results have left."""
    fixed = plan.schedule.fixed
    slots = plan.schedule.slots
    reports = {}
    for i in unit.nodes:
        operation = fixed.graph.nodes[i].operation
        if not (operation.rounds or operation.is_partial) or not fixed.may_overflow(i):
            continue
        cycle = slots[i].finish
        exits = plan.reaches[i]
        leaves = [plan.exits[name] for name in exits]
        reports[cycle, exits] = min([cycle + FLAG_DELAY, *leaves])
    return reports


def report_times(
    reports: dict[ReportTime, int],
) -> list[ReportTime]:
    """When something is reported, and for which exits, from what :func:`overflow_reports` says; in order."""
    return sorted({(report, exits) for (_, exits), report in reports.items()})


def shifted(value: Value, bits: int) -> Value:
    """``value`` times 2 to the ``bits``, so many bits wider."""
    # it stays a constant, which choices treat apart
    if isinstance(value, Const):
        width = len(value) + bits
        return Const(value.value << bits, signed(width))
    if not bits:
        return value
    return Cat(Const(0, bits), value).as_signed()


class UnitValues:
    """The module of one unit, with its values by node, and what overflows on the way to them. ``ports``: the component,
    as its user sees it."""

    def __init__(
        self,
        plan: Plan,
        unit: UnitPlan,
        ports: SharedComponent,
        platform: object,
    ) -> None:
        self.plan = plan
        self.unit = unit
        self.ports = ports
        self.platform = platform
        self.m = Module()
        self.schedule = plan.schedule
        self.fixed = self.schedule.fixed
        self.graph = self.fixed.graph
        self.nodes = self.graph.nodes
        self.ii = self.schedule.ii
        waits = ports.waits if self.ii > 1 else Const(0)
        self.phases = Phases(self.m, self.ii, waits)
        self.wires: dict[int, Value] = {}
        """Each value as it arrives or is made."""
        self.made: dict[int, int] = {}
        """The cycle of that."""
        self.chains: dict[int, list[Signal]] = {}
        """Registers behind it."""
        self.reports = overflow_reports(plan, unit)
        self.overflows: dict[ReportTime, list[Value]] = defaultdict(list)
        """Whether something saturated in a cycle on the path to these exits."""
        self.flags: dict[int, Signal] = {}
        """Whether an operator saturated a cycle ago, by the identity of its port (the operator's may be gone)."""

    def start(self, i: int) -> int:
        """The cycle in which node ``i`` takes its arguments."""
        return self.schedule.slots[i].start

    def finish(self, i: int) -> int:
        """The cycle in which the value of node ``i`` is there."""
        return self.schedule.slots[i].finish

    def label(self, i: int) -> str:
        """The name of node ``i``."""
        return label(self.plan, i)

    def shape(self, i: int) -> Shape:
        """The bits of node ``i``."""
        return signed(self.fixed.formats[i].width)

    def arrive(self) -> None:
        """Note what arrives at the ports."""
        for tap in self.unit.inputs:
            name = input_port(self.plan, tap.node)
            self.wires[tap.node] = getattr(self.ports, name)
            self.made[tap.node] = tap.cycle

    def make(self, i: int) -> None:
        """A wire for what node ``i`` makes."""
        self.made[i] = self.finish(i)
        shape = self.shape(i)
        self.wires[i] = Signal(shape, name=self.label(i))

    def read(self, node: int, cycle: int) -> Value:
        """The value of ``node`` as it stands in ``cycle``."""
        if self.nodes[node].is_const:
            fmt = self.fixed.formats[node]
            raw = fmt.quantise(self.nodes[node].attr)
            shape = self.shape(node)
            return Const(int(raw), shape)
        if node in self.schedule.timeless:
            return self.wires[node]
        return self.passed(node, cycle, self.ii)

    def passed(self, node: int, cycle: int, interval: int) -> Value:
        """The value of ``node`` behind the registers that it has passed in ``cycle``, one per ``interval``."""
        made = self.made[node]
        count = chain_length(made, cycle, interval)
        if count == 0:
            return self.wires[node]
        return self.chains[node][count - 1]

    def chain(self, node: int, length: int) -> None:
        """Registers that keep ``node`` readable for ``length`` intervals. Units that keep the same value have registers
        of their own: a strobe that all of them share would have the whole device to cross."""
        made = self.made[node]
        strobe = self.phases.at(made)
        self.chains[node] = self.registers(node, "", length, strobe)

    def registers(
        self,
        node: int,
        prefix: str,
        length: int,
        strobe: Value,
    ) -> list[Signal]:
        """``length`` registers behind ``node`` that advance with ``strobe``."""
        m = self.m
        if not length:
            return []
        name = f"{prefix}{self.label(node)}"
        shape = self.shape(node)
        chain: list[Signal] = []
        moves = []
        source = self.wires[node]
        for k in range(length):
            register = Signal(shape, name=f"{name}_r{k}", reset_less=True)
            chain.append(register)
            moves.append(register.eq(source))
            source = register
        # at an interval of one cycle there is no strobe to wait for
        if isinstance(strobe, Const):
            m.d.sync += moves
        else:
            with m.If(strobe):
                m.d.sync += moves
        return chain

    def argument(self, i: int, position: int) -> Value:
        """An argument of node ``i`` as it stands when the node starts."""
        node = self.nodes[i].args[position]
        return self.read(node, self.read_cycle(i, position))

    def read_cycle(self, i: int, position: int) -> int:
        """The cycle in which node ``i`` reads an argument."""
        return self.schedule.read_cycles(i)[position]

    def formats(self, i: int) -> tuple[Format, ...]:
        """Formats of the arguments of the operator of node ``i``."""
        return self.schedule.folds.arguments(self.fixed, i)

    def truncates(self, i: int) -> bool:
        """Whether the operator of node ``i`` drops bits without rounding."""
        return i in self.fixed.truncated

    def may_overflow(self, i: int) -> bool:
        """Whether the operator of node ``i`` can saturate."""
        return self.fixed.may_overflow(i)

    def rounding(self, i: int) -> Rounding:
        """Rounding of the operator of node ``i``."""
        formats = self.formats(i)
        exact = self.fixed.exact(i, formats)
        return Rounding(
            exact[0],
            self.fixed.formats[i],
            may_overflow=self.may_overflow(i),
            truncates=self.truncates(i),
            overflow=self.fixed.overflow,
        )

    def start_phases(self, i: int, later: int = 0) -> list[int]:
        """The phases so many cycles after those in which node ``i`` starts."""
        phase = (self.start(i) + later) % self.ii
        return [phase]

    def overflow(self, i: int, operator: SharedComponent) -> None:
        """Count an operator's overflow when it makes node ``i``."""
        if not hasattr(operator, "overflow"):
            return
        if not self.fixed.may_overflow(i):
            return
        now = self.finish(i)
        exits = self.plan.reaches[i]
        overflows = self.overflows[now, exits]
        flag: Value = operator.overflow
        if self.reports[now, exits] == now + FLAG_DELAY:
            # an operator is slow enough without all that its flag is collected with
            name = f"overflowed_{self.label(i)}"
            flag = self.flag_register(flag, name)
            now = now + 1
        # in other phases an operator's output is of other nodes, or of none
        phase = self.phases.at(now)
        overflows.append(flag & phase)

    def flag_register(self, flag: Value, name: str) -> Signal:
        """The register of an operator's flag, which it has once."""
        key = id(flag)
        if key not in self.flags:
            self.flags[key] = registered(self.m, flag, name, reset_less=True)
        return self.flags[key]

    def report_overflows(self) -> None:
        """Drive the overflow ports: from registers, except for what happens in the last cycle itself."""
        m = self.m
        reported: dict[str, list[Value]] = defaultdict(list)
        for (cycle, exits), report in self.reports.items():
            flags = self.overflows[cycle, exits]
            happened = any_of(flags)
            port = overflow_port(report, exits)
            if report > cycle:
                happened = registered(m, happened, f"held_{port}", reset_less=True)
            reported[port].append(happened)
        for name, flags in reported.items():
            port = getattr(self.ports, name)
            any_now = any_of(flags)
            m.d.comb += port.eq(any_now)
