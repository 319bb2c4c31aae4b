"""A modulo schedule: when every operation runs, on which shared operator, and what follows from that."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from rbdgen.devices.device import Device
from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.folds import Folds
from rbdgen.ir.programs import Programs, timeless_nodes
from rbdgen.machines.pipeline.delays import Operators, Slot


def chain_length(first: int, last: int, ii: int) -> int:
    """Registers, moving every ``ii`` cycles, that keep a value from cycle ``first`` readable until cycle ``last``: 0
    for the ii − 1 cycles before ``first``, too."""
    return -(-(last - first) // ii)


@dataclass(frozen=True)
class Schedule:
    """A schedule of ``fixed`` for ``device`` at initiation interval ``ii``.

    ``slots`` by node; ``binding`` gives the number of the shared operator within its unit for products and
    tables (a table operator answers the sine and the cosine of one angle at once); ``multipliers`` and ``tables`` the
    number of operators by unit; ``crossed`` the products, as nodes and numbers within them, whose wider factor goes to
    their multiplier's second input; ``orders`` in which order the products of a node are made that one multiplier makes
    one after the other;
    ``exits`` the cycle in which each exit's results are all there.
    """

    fixed: FixedGraph
    programs: Programs
    folds: Folds
    device: Device
    ii: int
    slots: tuple[Slot, ...]
    binding: dict[int, int]
    multipliers: dict[str, int]
    tables: dict[str, int]
    exits: dict[str, int]
    crossed: frozenset[tuple[int, int]] = frozenset()
    orders: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    @property
    def length(self) -> int:
        """Cycles from operands to the last result of all."""
        return 1 + max(self.exits.values())

    @property
    def entry_cycles(self) -> int:
        """Cycles from a task's admission to cycle 0."""
        return self.device.entry_cycles(self.ii)

    def width(self, i: int) -> int:
        """Bits of the value of node ``i``."""
        return self.fixed.formats[i].width

    def in_time(self, i: int) -> bool:
        """See :meth:`rbdgen.machines.pipeline.delays.Operators.in_time`."""
        return self.operators.in_time(i)

    def read_cycles(self, i: int) -> tuple[int, ...]:
        """The cycle in which each argument of node ``i`` is read: factors one product after the other, and what an
        accumulator starts from when, or shortly before, the first of them arrives there."""
        start = self.slots[i].start
        arguments = len(self.fixed.graph.nodes[i].args)
        if i not in self.orders:
            return (start,) * arguments
        arrives = start + self.operators.starting(i)
        cycles = [arrives] * arguments
        for number, k in enumerate(self.orders[i]):
            first = 2 * k
            cycles[first] = start + number
            cycles[first + 1] = start + number
        return tuple(cycles)

    def factors(self, i: int, product: int = 0) -> tuple[int, int]:
        """The arguments of a product by position, in the order of its multiplier's inputs."""
        wider, other = self.folds.factors(self.fixed, i, product)
        if (i, product) in self.crossed:
            return other, wider
        return wider, other

    def factor_widths(self, i: int, product: int = 0) -> tuple[int, int]:
        """Widths of a product's arguments in bits, in the order of its multiplier's inputs."""
        formats = self.folds.arguments(self.fixed, i)
        first, second = self.factors(i, product)
        return formats[first].width, formats[second].width

    def multiplier(self, i: int) -> tuple[str, int]:
        """The multiplier that makes the products of node ``i``: its unit, and its number there."""
        unit = self.fixed.graph.nodes[i].owner
        return unit, self.binding[i]

    @cached_property
    def products(self) -> dict[tuple[str, int], tuple[int, ...]]:
        """The nodes whose products each multiplier makes; of folded ones the first turn's."""
        found: dict[tuple[str, int], list[int]] = defaultdict(list)
        for i, node in self.fixed.graph:
            if node.products and self.folds.template(i) == i:
                multiplier = self.multiplier(i)
                found[multiplier].append(i)
        ordered = sorted(found.items())
        return {multiplier: tuple(nodes) for multiplier, nodes in ordered}

    def input_widths(self, nodes: Iterable[int]) -> tuple[int, int]:
        """Bits of the inputs of a multiplier that makes the products of ``nodes``."""
        firsts = []
        seconds = []
        for i in nodes:
            node = self.fixed.graph.nodes[i]
            for k in range(len(node.products)):
                first, second = self.factor_widths(i, k)
                firsts.append(first)
                seconds.append(second)
        return max(firsts), max(seconds)

    @cached_property
    def blocks(self) -> int:
        """Multiplier blocks of the device that all multipliers take, by the widths of their inputs."""
        total = 0
        for nodes in self.products.values():
            widths = self.input_widths(nodes)
            total += self.device.blocks(*widths)
        return total

    def read(self, a: int, cycle: int) -> Hashable:
        """Multiplexer input that node ``a`` takes in ``cycle``: a register's, or the one of all constants."""
        node = self.fixed.graph.nodes[a]
        if node.is_const:
            return "const"
        # what never changes within a task needs no chain, however late it is read
        if a in self.timeless:
            return a, 0
        registers = chain_length(self.stands(a), cycle, self.ii)
        return a, registers

    def stands(self, a: int) -> int:
        """The last cycle in which the value of node ``a`` can be read without a register that keeps it: that in which
        it is made. Operands stand in registers from cycle 0 on until the next task's may come."""
        node = self.fixed.graph.nodes[a]
        if node.is_input:
            return self.ii - 1
        return self.slots[a].finish

    def kept_registers(self, a: int, own: int, firsts: Sequence[int]) -> int:
        """Registers of the chain of node ``a`` that its own unit keeps for others: ``own`` is how many that unit reads,
        ``firsts`` are the first that each other one reads. None are kept twice, and no register of a folded unit's,
        which has another value a turn later."""
        if a in self.folds.members:
            return 0
        node = self.fixed.graph.nodes[a]
        least = self.device.connection_registers
        # operands are in registers already
        if node.is_input:
            least = 0
        twice = 0
        # as far as two others wait, one chain serves both
        if len(firsts) > 1:
            twice = sorted(firsts)[-2]
        return max(own, twice, least)

    @cached_property
    def operators(self) -> Operators:
        """The operators, with their delays."""
        return Operators(self.fixed, self.device, self.folds, self.ii)

    @cached_property
    def timeless(self) -> frozenset[int]:
        """Nodes that can be read at any time, without registers."""
        return timeless_nodes(self.fixed.graph, self.programs)

    @cached_property
    def utilization(self) -> float:
        """Share of the multipliers' slots that carry a product, at a task every ``ii`` cycles."""
        slots = self.ii * sum(self.multipliers.values())
        if not slots:
            return 1.0
        return self.fixed.graph.products() / slots
