"""The values of a unit: wires for what is made or arrives, and registers for what is read later."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Shape, Signal, Value, signed

from rbdgen.ir.number_formats import Format
from rbdgen.schedule.buffers import Plan, UnitPlan
from rbdgen.schedule.schedule import chain_length
from rbdgen_hw.library import SharedComponent
from rbdgen_hw.operators import Rounding
from rbdgen_hw.phases import Phases
from rbdgen_hw.unit_ports import input_port, label


def shifted(value: Value, bits: int) -> Value:
    """``value`` times 2 to the ``bits``, so many bits wider."""
    if isinstance(value, Const):
        width = len(value) + bits
        return Const(value.value << bits, signed(width))
    if not bits:
        return value
    return Cat(Const(0, bits), value).as_signed()


class UnitValues:
    """The module of one unit, with its values by node. ``ports``: the component, as its user sees it."""

    def __init__(
        self, plan: Plan, unit: UnitPlan, ports: SharedComponent, platform: object
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

    def registers(self, node: int, prefix: str, length: int, strobe: Value) -> list[Signal]:
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
        """How the operator of node ``i`` rounds."""
        formats = self.formats(i)
        exact = self.fixed.exact(i, formats)
        return Rounding(
            exact[0],
            self.fixed.formats[i],
            saturates=self.may_overflow(i),
            truncates=self.truncates(i),
            wraps=not self.fixed.saturate,
        )
