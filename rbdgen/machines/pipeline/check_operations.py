"""Checks of single operations: how long each takes, that its arguments are there, and what folded ones have in common.

Nothing here is shared with the scheduler.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rbdgen.ir.constants import Constant
from rbdgen.machines.pipeline.buffers import Plan

EPSILON = 1e-9
"""Distance by which sums of delays may be apart, ns: they are rounded."""
PERIOD_EPSILON = 1e-6
"""Excess of a sum of delays over the period that is allowed, ns."""


@dataclass(frozen=True)
class OperationTiming:
    """Timing of an operator: ``latency`` cycles; ``first``, ns before its first register; ``delay``, ns behind the
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

    def accumulates(self, i: int) -> bool:
        """Whether a shared multiplier makes the products of a node, one a cycle."""
        return bool(self.nodes[i].products) and self.is_shared(i)

    def lag(self, i: int) -> int:
        """Cycles from a shared multiplier's factors to its accumulator."""
        device = self.device
        registers = device.multiply_cycles
        # one more on large devices, where these units need not be near what they read
        if registers and self.nodes[i].owner in self.last_units:
            registers += device.factor_registers
        # a multiplier's own registers stand behind the choice of its factors
        choice = 0.0 if device.multiply_cycles else max(device.select, device.routing)
        slowest = choice + device.multiply + device.select + device.add
        slowest += max(device.limit, device.flag)
        return registers + (1 if slowest > device.period else 0)

    def early(self) -> int:
        """Cycles between what a sum starts from and its accumulator."""
        device = self.device
        overflow = device.limit if self.fixed.saturates else device.flag
        whole = max(device.select, device.routing) + device.add + device.level + overflow
        behind = device.multiply_cycles or device.aligning_cycles
        return 1 if behind and whole > device.period else 0

    def reads(self, i: int) -> list[tuple[int, int]]:
        """The arguments of a node and the cycles in which it reads them: of products one after the other, and what is
        added to them when the first is accumulated, or a cycle before."""
        node, start = self.nodes[i], self.slots[i].start
        if not self.accumulates(i):
            return [(a, start) for a in node.args]
        found = []
        for number, k in enumerate(self.schedule.orders[i]):
            _, one, other = node.products[k]
            found += [(one, start + number), (other, start + number)]
        found += [(a, start + self.lag(i) - self.early()) for _, a in node.addends]
        return found

    def check(self, i: int) -> None:
        """ValueError where node ``i`` breaks a rule of its own."""
        timing = self._timing(i)
        self._check_latency(i, timing)
        self._check_period(i, timing)
        node = self.nodes[i]
        if node.products:
            self._check_multiplier(i)
        if self.accumulates(i):
            self._check_order(i)
            self._check_registered(i, timing)
        else:
            for a in node.args:
                self._check_folded_argument(i, a)
                self._check_argument(i, a, timing)
        if node.operation.looks_up:
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
        if argument.is_const or argument.owner == node.owner:
            routing = 0.0
        # what has registers leaves time for what is before the first of them
        latest = self._begin(i, timing)
        if timing.latency:
            latest = self.device.period - timing.first
        arrives = routing
        # what was made before this cycle comes from a register
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

    def _check_order(self, i: int) -> None:
        """The products of a node are made in some order, each of them once, and within an interval."""
        products = len(self.nodes[i].products)
        order = self.schedule.orders.get(i, ())
        unit = self.nodes[i].owner
        interval = self.schedule.ii // self.schedule.folds.units.get(unit, 1)
        if sorted(order) != list(range(products)) or products > interval:
            raise ValueError(
                f"{_name(self.plan, i)}: must make each of {products} products once in {interval} cycles, not {order}"
            )
        if len(self.nodes[i].addends) > 1:
            raise ValueError(f"{_name(self.plan, i)}: must start from one addend at most")

    def _check_registered(self, i: int, timing: OperationTiming) -> None:
        """A shared multiplier and its accumulator read registers, and have time for the choice among them."""
        registered = True
        for a, cycle in self.reads(i):
            if not self._always_there(a) and self.slots[a].finish >= cycle:
                registered = False
        begin = self._begin(i, timing)
        chosen = timing.latency > 0 or begin >= self.device.select - EPSILON
        if not registered or not chosen:
            raise ValueError(
                f"{_name(self.plan, i)}: operands of a shared multiplier must come from registers"
            )

    def _check_table(self, i: int) -> None:
        """A table access is bound to a table that its unit has."""
        owner = self.nodes[i].owner
        number = self.schedule.binding[i]
        if number >= self.schedule.tables[owner]:
            raise ValueError(f"{_name(self.plan, i)}: table {number} of {owner} does not exist")

    def _always_there(self, a: int) -> bool:
        """Whether a value is there in every cycle, or from the task's start."""
        if self.nodes[a].is_given:
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
        """The timing of the operator of node ``i``, with its signs and its overflow."""
        timing = self._with_sign(i, self._plain_timing(i))
        if not self.nodes[i].operation.rounds:
            return timing
        if not self.fixed.may_overflow(i):
            return timing
        if self.fixed.saturates:
            return replace(timing, delay=timing.delay + self.device.limit)
        return replace(timing, flag=self.device.flag)

    def _plain_timing(self, i: int) -> OperationTiming:
        device, node = self.device, self.nodes[i]
        if node.is_addition:
            return OperationTiming(delay=device.add)
        # truncation is wiring, rounding a sum
        if node.op == "round" and i not in self.fixed.truncated:
            return OperationTiming(delay=device.add)
        if node.terms.multiple is not None:
            return self._scale_timing(i)
        if self.accumulates(i):
            return self._accumulator_timing(i)
        if node.terms.is_product:
            latency = device.multiply_cycles
            if latency and node.owner in self.last_units:
                latency += device.factor_registers
            first = device.factor if latency else 0.0
            return OperationTiming(latency, first, device.multiply)
        if node.operation.moves_by_data:
            latency = device.shift_cycles
            # its registers part a shifter evenly
            part = device.shift / (latency + 1)
            return OperationTiming(latency, first=part, delay=part)
        if node.operation.looks_up:
            choice = device.select if self.is_shared(i) else 0.0
            return OperationTiming(
                device.table_cycles, device.address + choice, device.table_output
            )
        return OperationTiming()

    def _accumulator_timing(self, i: int) -> OperationTiming:
        """The last product is accumulated as many cycles later as there are others: in the cycle in which it is made,
        or from a register."""
        device = self.device
        latency = len(self.nodes[i].products) - 1 + self.lag(i)
        registers = device.multiply_cycles
        if registers and self.nodes[i].owner in self.last_units:
            registers += device.factor_registers
        first = device.factor if registers else 0.0
        choice = max(device.select, device.routing)
        delay = device.add
        if self.lag(i) == registers:
            delay += device.multiply + device.select
            if latency and not registers:
                delay += choice
        if self.nodes[i].addends:
            # what the sum starts from is a sum of two
            two = device.add if self.early() else device.add + device.level
            first = max(first, two)
            if len(self.nodes[i].products) == 1 and not self.early():
                delay = max(delay, two + (choice if latency else 0.0))
        return OperationTiming(latency, first, delay)

    def _scale_timing(self, i: int) -> OperationTiming:
        """A constant factor is a network of sums, with registers between levels: the first share of the levels is the
        longest, the last the shortest."""
        slot = self.slots[i]
        latency = slot.finish - slot.start
        levels = _levels_of(self.fixed.constants[i])
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
        if i not in self.turn_of or self.accumulates(i):
            return timing
        template, _ = self.turn_of[i]
        turns = self.schedule.folds.turns[template]
        # a sign that is the same in all turns is part of the operator
        if len({turn.negated for turn in turns}) == 1:
            return timing
        sum_of_two = self.nodes[i].terms.adds_two
        sign = self.device.select if sum_of_two else self.device.level
        # the sign stands before the first register
        delay = timing.delay if timing.latency else timing.delay + sign
        return replace(timing, first=timing.first + sign, delay=delay)


def _levels_of(constant: Constant) -> int:
    """Number of sums in a row in the network of a constant factor. ValueError where that makes another one."""
    multiples = [1]
    levels = [0]
    for addition in constant.graph.additions:
        low, high = addition.low, addition.high
        multiples.append(addition.of(multiples))
        levels.append(1 + max(levels[low], levels[high]))
    if multiples[-1] != constant.mantissa:
        raise ValueError(f"a constant factor must be {constant.mantissa}, not {multiples[-1]}")
    return levels[-1]


def last_units(plan: Plan) -> set[str]:
    """Units that no other unit reads and that read a factor of each of their products from another one."""
    nodes = plan.schedule.fixed.graph.nodes
    multiplying, own_only, read = set(), set(), set()
    for node in nodes:
        arguments = [nodes[a] for a in node.args]
        sources = {argument.owner for argument in arguments if not argument.is_const}
        read |= sources - {node.owner}
        for _, *factors in node.products:
            multiplying.add(node.owner)
            makers = {nodes[a].owner for a in factors if not nodes[a].is_const}
            if makers <= {node.owner}:
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
    """A node has as many turns as its unit, whose number divides the interval, and is the first itself."""
    schedule = plan.schedule
    turns = schedule.folds.turns[template]
    unit = schedule.fixed.graph.nodes[template].owner
    count = schedule.folds.units.get(unit, 0)
    enough = len(turns) == count > 0 and schedule.ii % count == 0
    if not enough or turns[0].node != template:
        raise ValueError(
            f"{_name(plan, template)}: must have as many turns as its unit, and that a divisor of {schedule.ii}"
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
    """A turn has the unit, the format, the rounding and the operator of the first."""
    schedule, fixed = plan.schedule, plan.schedule.fixed
    nodes = fixed.graph.nodes
    i = schedule.folds.turns[template][k].node
    if nodes[i].owner != nodes[template].owner:
        raise ValueError(f"{_name(plan, template)}: turn {k} must be in the unit of the first")
    if fixed.formats[i] != fixed.formats[template]:
        raise ValueError(
            f"{_name(plan, template)}: turn {k} must have the format {fixed.formats[template]}"
        )
    if (i in fixed.truncated) != (template in fixed.truncated):
        raise ValueError(f"{_name(plan, template)}: turn {k} must drop bits as the first does")
    if schedule.binding.get(i) != schedule.binding.get(template):
        raise ValueError(f"{_name(plan, template)}: turn {k} must use the operator of the first")


def _check_turn_arguments(plan: Plan, template: int, k: int) -> None:
    """A turn has its node's arguments, in the order and the formats of the first turn's, and subtracts what the node
    does."""
    fixed = plan.schedule.fixed
    turn = plan.schedule.folds.turns[template][k]
    node = fixed.graph.nodes[turn.node]
    if k == 0 and turn.args != node.args:
        raise ValueError(f"{_name(plan, template)}: turn 0 must have its arguments in their order")
    if sorted(turn.args) != sorted(node.args):
        raise ValueError(
            f"{_name(plan, template)}: turn {k} must have the arguments of %{turn.node}"
        )
    given = tuple(fixed.formats[a] for a in turn.args)
    wanted = tuple(fixed.formats[a] for a in fixed.graph.nodes[template].args)
    if given != wanted:
        raise ValueError(
            f"{_name(plan, template)}: turn {k} must have arguments in the formats of turn 0"
        )
    if node.terms.is_dot:
        _check_turn_terms(plan, template, k)
    if node.terms.adds_two:
        signed = zip(turn.args, turn.negated, strict=True)
        subtracted = {a for a, negated in signed if negated}
        expected = {a for sign, a in node.addends if sign < 0}
        if subtracted != expected:
            raise ValueError(
                f"{_name(plan, template)}: turn {k} must subtract what %{turn.node} does"
            )


def _check_turn_terms(plan: Plan, template: int, k: int) -> None:
    """A turn of a dot multiplies what its node does, with the same signs, and adds what that adds."""
    turn = plan.schedule.folds.turns[template][k]
    node = plan.schedule.fixed.graph.nodes[turn.node]
    factors = 2 * len(node.products)
    # terms may stand in any order, and so may a product's factors
    wanted = sorted((sign, *sorted(pair)) for sign, *pair in node.products)
    found = []
    for p in range(0, factors, 2):
        sign = -1 if turn.negated[p] else 1
        found.append((sign, *sorted(turn.args[p : p + 2])))
    added = sorted(
        (-1 if turn.negated[p] else 1, turn.args[p]) for p in range(factors, len(turn.args))
    )
    if sorted(found) != wanted or added != sorted(node.addends):
        raise ValueError(f"{_name(plan, template)}: turn {k} must have the terms of %{turn.node}")


def _name(plan: Plan, i: int) -> str:
    """The name of node ``i`` in errors."""
    return f"node %{i} ({plan.schedule.fixed.name(i)})"
