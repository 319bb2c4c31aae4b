"""Delays of operators on a device, and slots of operations that follow from them.

Operations chain within a cycle as long as their delays fit the period. What a multiplexer or the routing from another
unit takes comes before the operator and is not part of its delays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from rbdgen.devices.device import Device
from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.folds import NO_FOLDS, Folds
from rbdgen.machines.pipeline.operators import OPERATORS

TOLERANCE = 1e-9
"""Excess of a sum of delays over the period that is allowed, ns: sums are rounded."""


@dataclass(frozen=True)
class Slot:
    """When a node runs: it starts in cycle ``start`` and its result is there in cycle ``finish``, ``ready`` ns into it.

    Results can be read in the cycle ``finish`` itself (chaining) and, from registers, later.
    """

    start: int
    finish: int
    ready: float


@dataclass(frozen=True)
class Delays:
    """An operator's delays in ns, without its multiplexer: ``before`` its first register, the ``cycles`` that its
    registers take, and ``after`` the last; without registers both are the whole delay. ``flag``: how much later than
    the result an overflow is in its register."""

    before: float
    cycles: int
    after: float
    flag: float = 0.0

    def fit(self, device: Device, offset: float) -> bool:
        """Whether an operation can start ``offset`` ns into a cycle."""
        # without registers the flag comes behind the whole delay
        first = self.before if self.cycles else self.before + self.flag
        most = device.period + TOLERANCE
        return offset + first <= most and self.after + self.flag <= most

    def slot(self, cycle: int, offset: float) -> Slot:
        """The slot of an operation that starts ``offset`` ns into ``cycle``."""
        ready = self.after
        if self.cycles == 0:
            ready = offset + self.after
        return Slot(cycle, cycle + self.cycles, ready)


@dataclass(frozen=True)
class Operators:
    """The operators of ``fixed`` on ``device``, those of ``folds`` among them: how long they take."""

    fixed: FixedGraph
    device: Device
    folds: Folds = NO_FOLDS
    ii: int = 1

    def in_time(self, i: int) -> bool:
        """Whether the products of node ``i`` are made one after the other by one multiplier, with an accumulator behind
        it: those of units that share multipliers."""
        node = self.fixed.graph.nodes[i]
        return bool(node.products) and self.folds.interval(node.owner, self.ii) > 1

    def accumulating(self, i: int) -> int:
        """Cycles from when a product of node ``i`` takes its factors to when it is accumulated."""
        graph = self.fixed.graph
        last = graph.nodes[i].owner in graph.last
        return self.device.product_cycles(last) + self.device.aligning_cycles

    @cached_property
    def starting_cycles(self) -> int:
        """Cycles between what a sum starts from and its accumulator."""
        return self.device.starting_cycles(self.fixed.saturates)

    def starting(self, i: int) -> int:
        """Cycles from when the first product of node ``i`` takes its factors to when what is added to it is read."""
        return self.accumulating(i) - self.starting_cycles

    @cached_property
    def _known(self) -> dict[int, Delays]:
        """The delays that were asked for before."""
        return {}

    def delays(self, i: int) -> Delays:
        """The delays of the operator of node ``i``; of a folded one those of its hardest turn, signs included."""
        known = self._known
        if i not in known:
            known[i] = self._signed_delays(i)
        return known[i]

    def _signed_delays(self, i: int) -> Delays:
        """The same, worked out."""
        delays = self._unsigned_delays(i)
        sign = self.sign_delay(i)
        before = delays.before + sign
        after = delays.after
        # behind a register the sign is made already
        if delays.cycles == 0:
            after += sign
        return replace(delays, before=before, after=after)

    def routing(self, i: int, a: int) -> float:
        """The routing delay from the argument ``a`` to node ``i``, ns: none within a unit."""
        nodes = self.fixed.graph.nodes
        node, argument = nodes[i], nodes[a]
        if argument.is_const or argument.owner == node.owner:
            return 0.0
        return self.device.routing

    def reach(self, i: int, chosen: bool) -> float:
        """When arguments that come from registers are at the operator of node ``i``, ns; ``chosen``: by a
        multiplexer."""
        latest = self.device.select if chosen else 0.0
        template = self.folds.template(i)
        turns = self.folds.turns.get(template)
        if not turns:
            for a in self.fixed.graph.nodes[i].args:
                latest = max(latest, self.routing(i, a))
            return latest
        for turn in turns:
            for a in turn.args:
                latest = max(latest, self.routing(turn.node, a))
        return latest

    def sign_delay(self, i: int) -> float:
        """Delay of giving an argument the sign of its turn: an exclusive or before a sum, whose carry does the rest,
        and a sum before a constant factor."""
        if not self.folds.signed(i) or self.in_time(i):
            return 0.0
        if self.fixed.graph.nodes[i].terms.adds_two:
            return self.device.select
        return self.device.level

    def scale_stages(self, i: int) -> tuple[int, ...]:
        """Levels of the sums that a constant factor is, between registers: as few stages as fit the period, with room
        for a choice of the argument, its routing and its sign, each with as many levels as another, give or take
        one."""
        device = self.device
        hardest = self._hardest_turn(i)
        levels = self.fixed.constants[hardest].graph.depth
        limit = 0.0
        if self.fixed.may_overflow(hardest):
            limit = device.limit if self.fixed.saturates else device.flag
        before = device.reach
        sign = self.sign_delay(hardest)
        room = device.period - before - sign - limit - device.add
        # a rounded sum of delays must not cost a level
        further = max(0, int(room / device.level + TOLERANCE))
        stages = max(1, -(-levels // (1 + further)))
        least, longer = divmod(levels, stages)
        return tuple(least + (k < longer) for k in range(stages))

    def _unsigned_delays(self, i: int) -> Delays:
        """The delays of the operator of node ``i``, without signs."""
        device = self.device
        node = self.fixed.graph.nodes[i]
        limit, flag = self._overflow_delays(i)
        if self.in_time(i):
            return self._run_delays(i, limit, flag)
        if node.products and device.multiply_cycles:
            # a unit that no other reads may have a register more before its multipliers
            last = node.owner in self.fixed.graph.last
            cycles = device.product_cycles(last)
            sums = 0.0 if self.fixed.is_product(i) else device.add
            after = device.multiply + sums + limit
            return Delays(device.factor, cycles, after, flag)
        if i in self.fixed.constants:
            stages = self.scale_stages(i)
            first = self._tree(stages[0])
            last = self._tree(stages[-1])
            if len(stages) == 1:
                first += limit
            return Delays(first, len(stages) - 1, last + limit, flag)
        if node.operation.looks_up:
            return Delays(device.address, device.table_cycles, device.table_output)
        if node.operation.moves_by_data and device.shift_cycles:
            half = device.shift / (device.shift_cycles + 1)
            return Delays(half, device.shift_cycles, half + limit, flag)
        whole = self._combinational(i) + limit
        return Delays(whole, 0, whole, flag)

    def _run_delays(self, i: int, limit: float, flag: float) -> Delays:
        """The delays of products one after the other, and of their accumulator."""
        device = self.device
        node = self.fixed.graph.nodes[i]
        further = len(node.products) - 1
        cycles = further + self.accumulating(i)
        # what is added to a product may itself be a sum, with half of the result's last place
        start, only = 0.0, 0.0
        if node.addends:
            start = device.add
            if not self.starting_cycles:
                start += device.level
                only = start if not further else 0.0
        if cycles == 0:
            whole = max(device.multiply + device.select + device.add, only) + limit
            return Delays(whole, 0, whole, flag)
        last = device.add
        if not device.aligning_cycles:
            last += device.multiply + device.select
        if device.multiply_cycles:
            before = device.factor
        else:
            before = device.multiply + device.select
            if not device.aligning_cycles:
                before += device.add
                # the last product's factors come through a multiplexer as well
                last += device.reach
        if only:
            last = max(last, device.reach + only)
        return Delays(max(before, start), cycles, last + limit, flag)

    def _overflow_delays(self, i: int) -> tuple[float, float]:
        """Delays that overflow adds to the operator of node ``i``: saturation, or the path to its flag's register."""
        if not self.fixed.graph.nodes[i].operation.rounds:
            return 0.0, 0.0
        if not self.fixed.may_overflow(self._hardest_turn(i)):
            return 0.0, 0.0
        if self.fixed.saturates:
            return self.device.limit, 0.0
        return 0.0, self.device.flag

    def _tree(self, levels: int) -> float:
        """Delay of a tree of sums."""
        if levels == 0:
            return 0.0
        return self.device.add + self.device.level * (levels - 1)

    def _combinational(self, i: int) -> float:
        """Delay of an operator without registers, but for overflow."""
        node = self.fixed.graph.nodes[i]
        if node.products:
            own = self.device.multiply
            return own if self.fixed.is_product(i) else own + self.device.add
        # truncation is wiring
        if i in self.fixed.truncated and node.op == "round":
            return 0.0
        return OPERATORS[node.op].delay(self.device)

    def _hardest_turn(self, i: int) -> int:
        """The turn that an operator is made for: of a folded one the first that may overflow, if there is one."""
        template = self.folds.template(i)
        for turn in self.folds.turns.get(template, ()):
            if self.fixed.may_overflow(turn.node):
                return turn.node
        return i
