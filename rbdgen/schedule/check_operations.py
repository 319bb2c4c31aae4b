"""Checks of single operations: how long each takes, that its arguments are there, and what folded ones have in common.

Nothing here is shared with the scheduler.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rbdgen.ir.fixed import ROUNDED
from rbdgen.schedule.buffers import Plan

EPSILON = 1e-9
"""How far sums of delays may be apart, ns: they are rounded."""
PERIOD_EPSILON = 1e-6
"""How far beyond the period a sum of delays may be, ns."""
TABLES = ("table_sin", "table_cos", "table_reciprocal")


@dataclass(frozen=True)
class OperationTiming:
    """What an operator must take: ``latency`` cycles; ``first``, ns before its first register; ``delay``, ns behind the
    last one, or in all without registers; ``flag``, ns from there to an overflow's register."""

    latency: int = 0
    first: float = 0.0
    delay: float = 0.0
    flag: float = 0.0


class OperationCheck:
    """The operations of a plan, and by what rules each must run."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.schedule = plan, plan.schedule
        self.fixed, self.device = plan.schedule.fixed, plan.schedule.device
        self.nodes, self.slots = plan.schedule.fixed.graph.nodes, plan.schedule.slots
        self.turn_of: dict[int, tuple[int, int]] = {}
        """Template and turn of every folded node."""
        for template, turns in plan.schedule.folds.turns.items():
            for k, turn in enumerate(turns):
                self.turn_of[turn.node] = (template, k)
        self.last_units = last_units(plan)

    def is_shared(self, i: int) -> bool:
        """Whether the operators of a node's unit execute several operations."""
        unit = self.nodes[i].owner
        turns = self.schedule.folds.units.get(unit, 1)
        return self.schedule.ii // turns > 1

    def check(self, i: int) -> None:
        """ValueError where node ``i`` breaks a rule of its own."""
        timing = self._timing(i)
        self._check_latency(i, timing)
        self._check_period(i, timing)
        node = self.nodes[i]
        for a in node.args:
            self._check_folded_argument(i, a)
            self._check_argument(i, a, timing)
        if node.op == "mul":
            self._check_multiplier(i)
            self._check_factors(i, timing)
        if node.op in TABLES:
            self._check_table(i)

    def _check_latency(self, i: int, timing: OperationTiming) -> None:
        """An operation takes the cycles of its operator's registers."""
        slot = self.slots[i]
        taken = slot.finish - slot.start
        if taken != timing.latency or slot.start < 0:
            raise ValueError(
                f"{_name(self.plan, i)}: must take {timing.latency} cycles, not {slot.start} to {slot.finish}"
            )

    def _check_period(self, i: int, timing: OperationTiming) -> None:
        """A result is ready within its cycle, and not before its operator can have made it."""
        ready, period = self.slots[i].ready, self.device.period
        late = ready + timing.flag > period + PERIOD_EPSILON
        if late or ready < timing.delay - EPSILON:
            raise ValueError(
                f"{_name(self.plan, i)}: must be ready within {period} ns, not at {ready}"
            )

    def _begin(self, i: int, timing: OperationTiming) -> float:
        """When an operator without registers begins, ns into its cycle."""
        if timing.latency:
            return 0.0
        return self.slots[i].ready - timing.delay

    def _check_folded_argument(self, i: int, a: int) -> None:
        """A folded operation reads registers, except for what its unit makes in the same turn."""
        if i not in self.turn_of or self._always_there(a):
            return
        if self._made_in_the_same_turn(i, a):
            return
        if self.slots[a].finish >= self.slots[i].start:
            raise ValueError(
                f"{_name(self.plan, i)}: argument %{a} of a folded unit must come from a register"
            )

    def _check_argument(self, i: int, a: int, timing: OperationTiming) -> None:
        """An argument is there in time, with the routing from another unit."""
        slot, made = self.slots[i], self.slots[a]
        routing = self.device.routing
        node, argument = self.nodes[i], self.nodes[a]
        if argument.op == "const" or argument.owner == node.owner:
            routing = 0.0
        # what has registers leaves time for what is before the first of them
        latest = self._begin(i, timing)
        if timing.latency:
            latest = self.device.period - timing.first
        arrives = routing
        if made.finish == slot.start:
            arrives += made.ready
        if made.finish > slot.start or arrives > latest + EPSILON:
            raise ValueError(
                f"{_name(self.plan, i)}: argument %{a} must be there at its start, is ready in cycle {made.finish}"
            )

    def _check_multiplier(self, i: int) -> None:
        """A product is bound to a multiplier that its unit has."""
        owner = self.nodes[i].owner
        number = self.schedule.binding[i]
        if number >= self.schedule.multipliers[owner]:
            raise ValueError(
                f"{_name(self.plan, i)}: multiplier {number} of {owner} does not exist"
            )

    def _check_factors(self, i: int, timing: OperationTiming) -> None:
        """A shared multiplier reads registers, and has time for the choice among them."""
        if not self.is_shared(i):
            return
        registered = all(self._is_registered(i, a) for a in self.nodes[i].args)
        begin = self._begin(i, timing)
        chosen = timing.latency > 0 or begin >= self.device.select - EPSILON
        if not registered or not chosen:
            raise ValueError(
                f"{_name(self.plan, i)}: operands of a shared multiplier must come from registers"
            )

    def _is_registered(self, i: int, a: int) -> bool:
        """Whether an argument is read from a register."""
        if self._always_there(a):
            return True
        return self.slots[a].finish < self.slots[i].start

    def _check_table(self, i: int) -> None:
        """A table access is bound to a table that its unit has."""
        owner = self.nodes[i].owner
        number = self.schedule.binding[i]
        if number >= self.schedule.tables[owner]:
            raise ValueError(f"{_name(self.plan, i)}: table {number} of {owner} does not exist")

    def _always_there(self, a: int) -> bool:
        """Whether a value is there in every cycle, or from the task's start."""
        if self.nodes[a].op in ("const", "input"):
            return True
        return self.plan.programs[a] is None

    def _made_in_the_same_turn(self, i: int, a: int) -> bool:
        """Whether an argument of a folded operation is made by its own unit in the same turn with one operator,
        whatever the turn."""
        if a not in self.turn_of:
            return False
        if self.nodes[a].owner != self.nodes[i].owner:
            return False
        template, own = self.turn_of[i]
        maker, _ = self.turn_of[a]
        turns = self.schedule.folds.turns[template]
        expected = [(maker, k) for k in range(len(turns))]
        for position, argument in enumerate(turns[own].args):
            arguments = [turn.args[position] for turn in turns]
            makers = [self.turn_of.get(other) for other in arguments]
            if argument == a and makers == expected:
                return True
        return False

    def _timing(self, i: int) -> OperationTiming:
        """What the operator of node ``i`` must take, with its signs and its overflow."""
        timing = self._with_sign(i, self._plain_timing(i))
        if self.nodes[i].op not in ROUNDED:
            return timing
        if not self.fixed.may_overflow(i):
            return timing
        if self.fixed.saturate:
            return replace(timing, delay=timing.delay + self.device.limit)
        return replace(timing, flag=self.device.flag)

    def _plain_timing(self, i: int) -> OperationTiming:
        device, node = self.device, self.nodes[i]
        if node.op in ("add", "sub", "neg"):
            return OperationTiming(delay=device.add)
        if node.op == "round" and i not in self.fixed.truncated:
            return OperationTiming(delay=device.add)
        if node.op == "scale":
            return self._scale_timing(i)
        if node.op == "mul":
            latency = device.multiply_cycles
            if latency and node.owner in self.last_units:
                latency += device.factor_registers
            return OperationTiming(latency, delay=device.multiply)
        if node.op in ("normalise", "rescale"):
            latency = device.shift_cycles
            part = device.shift / (latency + 1)
            return OperationTiming(latency, first=part, delay=part)
        if node.op in TABLES:
            choice = device.select if self.is_shared(i) else 0.0
            return OperationTiming(
                device.table_cycles, device.address + choice, device.table_output
            )
        return OperationTiming()

    def _scale_timing(self, i: int) -> OperationTiming:
        """A constant factor is a tree of sums, with registers between levels: the first share of the levels is the
        longest, the last the shortest."""
        slot = self.slots[i]
        latency = slot.finish - slot.start
        terms = len(self.fixed.constants[i].digits)
        levels = 0
        while (1 << levels) < terms:
            levels += 1
        if levels == 0:
            return OperationTiming(latency)
        shortest = levels // (latency + 1)
        longest = -(-levels // (latency + 1))
        device = self.device
        return OperationTiming(
            latency,
            first=device.add + (longest - 1) * device.level,
            delay=device.add + (shortest - 1) * device.level,
        )

    def _with_sign(self, i: int, timing: OperationTiming) -> OperationTiming:
        """The same with what an argument's sign takes, where that differs by turn: it is inverted before a sum, or
        takes a level more before a constant factor."""
        if i not in self.turn_of:
            return timing
        template, _ = self.turn_of[i]
        turns = self.schedule.folds.turns[template]
        if len({turn.negated for turn in turns}) == 1:
            return timing
        sum_of_two = self.nodes[i].op in ("add", "sub")
        sign = self.device.select if sum_of_two else self.device.level
        delay = timing.delay if timing.latency else timing.delay + sign
        return replace(timing, first=timing.first + sign, delay=delay)


def last_units(plan: Plan) -> set[str]:
    """Units that no other unit reads and that read a factor of each of their products from another one."""
    nodes = plan.schedule.fixed.graph.nodes
    multiplying, own_only, read = set(), set(), set()
    for node in nodes:
        arguments = [nodes[a] for a in node.args]
        sources = {argument.owner for argument in arguments if argument.op != "const"}
        read |= sources - {node.owner}
        if node.op == "mul":
            multiplying.add(node.owner)
            if sources <= {node.owner}:
                own_only.add(node.owner)
    return multiplying - own_only - read


def check_turns(plan: Plan) -> None:
    """A folded unit's turns are the same operations, evenly spaced."""
    seen: set[int] = set()
    for template, turns in plan.schedule.folds.turns.items():
        _check_turn_count(plan, template)
        for k, turn in enumerate(turns):
            if turn.node in seen:
                raise ValueError(f"{_name(plan, template)}: %{turn.node} must have one turn only")
            seen.add(turn.node)
            _check_turn_time(plan, template, k)
            _check_turn_operation(plan, template, k)
            _check_turn_arguments(plan, template, k)


def _check_turn_count(plan: Plan, template: int) -> None:
    """A node has at most as many turns as its unit, whose number divides the interval, and is the first itself."""
    schedule = plan.schedule
    turns = schedule.folds.turns[template]
    unit = schedule.fixed.graph.nodes[template].owner
    count = schedule.folds.units.get(unit, 0)
    enough = 0 < len(turns) <= count and schedule.ii % count == 0
    if not enough or turns[0].node != template:
        raise ValueError(
            f"{_name(plan, template)}: must have no more turns than its unit, and that a divisor of {schedule.ii}"
        )


def _check_turn_time(plan: Plan, template: int, k: int) -> None:
    """Turns are as far apart as their number in the interval says."""
    schedule = plan.schedule
    unit = schedule.fixed.graph.nodes[template].owner
    interval = schedule.ii // schedule.folds.units[unit]
    first = schedule.slots[template]
    turn = schedule.folds.turns[template][k]
    slot = schedule.slots[turn.node]
    step = k * interval
    expected = replace(first, start=first.start + step, finish=first.finish + step)
    if slot != expected:
        raise ValueError(f"{_name(plan, template)}: turn {k} must be {step} cycles after the first")


def _check_turn_operation(plan: Plan, template: int, k: int) -> None:
    """A turn has the unit, the format and the operator of the first."""
    schedule, fixed = plan.schedule, plan.schedule.fixed
    nodes = fixed.graph.nodes
    i = schedule.folds.turns[template][k].node
    if nodes[i].owner != nodes[template].owner:
        raise ValueError(f"{_name(plan, template)}: turn {k} must be in the unit of the first")
    if fixed.formats[i] != fixed.formats[template]:
        raise ValueError(
            f"{_name(plan, template)}: turn {k} must have the format {fixed.formats[template]}"
        )
    if schedule.binding.get(i) != schedule.binding.get(template):
        raise ValueError(f"{_name(plan, template)}: turn {k} must use the operator of the first")


def _check_turn_arguments(plan: Plan, template: int, k: int) -> None:
    """A turn has its node's arguments, in the order of the first turn's, and subtracts what the node does."""
    turn = plan.schedule.folds.turns[template][k]
    node = plan.schedule.fixed.graph.nodes[turn.node]
    if k == 0 and turn.args != node.args:
        raise ValueError(f"{_name(plan, template)}: turn 0 must have its arguments in their order")
    if sorted(turn.args) != sorted(node.args):
        raise ValueError(
            f"{_name(plan, template)}: turn {k} must have the arguments of %{turn.node}"
        )
    if node.op in ("add", "sub"):
        signed = zip(turn.args, turn.negated, strict=True)
        subtracted = {a for a, negated in signed if negated}
        expected = {node.args[1]} if node.op == "sub" else set()
        if subtracted != expected:
            raise ValueError(
                f"{_name(plan, template)}: turn {k} must subtract what %{turn.node} does"
            )


def _name(plan: Plan, i: int) -> str:
    """What an error calls node ``i``."""
    return f"node %{i} ({plan.schedule.fixed.graph.nodes[i].op})"
