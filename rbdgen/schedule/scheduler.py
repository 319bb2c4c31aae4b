"""The modulo schedule of a whole network: a cycle and an offset in it for every node, and shared operators.

All submodules are scheduled together against one time axis, cycle 0 being the one in which a task's operands stand at
its program's inputs; each program takes a new task every ``ii`` cycles at most, all in the same phase, so that programs
can share operators. Each submodule is a unit with its own multipliers:
ceil(n/ii) of them for n products. As no value is fed back, such a schedule always exists (Rau 1994, without the
recurrences): an operation waits at most ii − 1 cycles for a free slot. A folded unit (:mod:`rbdgen.ir.folds`) executes
alike branches or columns in turn, each a fraction of the interval after the one before; all turns follow from the
first. Not here: registers and FIFOs (:mod:`rbdgen.schedule.buffers`), and the proof that a schedule is right
(:mod:`rbdgen.schedule.check`).
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rbdgen.devices.device import Device
from rbdgen.errors import ConfigError
from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.folds import NO_FOLDS, Folds
from rbdgen.ir.programs import Programs, single_program, timeless_nodes
from rbdgen.schedule.binding import Product, bind
from rbdgen.schedule.delays import TABLES, Delays, Operators, Slot
from rbdgen.schedule.lifetimes import shorten_lifetimes
from rbdgen.schedule.schedule import Schedule

MAX_II = 4096


def _priorities(fixed: FixedGraph, device: Device) -> list[float]:
    """Longest delay from each node's start to a result, ns."""
    graph, operators = fixed.graph, Operators(fixed, device)
    remaining = [0.0] * len(graph.nodes)
    for i in reversed(range(len(graph.nodes))):
        delays = operators.delays(i)
        own = delays.after + device.period * delays.cycles
        behind = 0.0
        for user in graph.users[i]:
            behind = max(behind, remaining[user])
        remaining[i] = own + behind
    return remaining


class _UnitMultipliers:
    """The slots of a unit's multipliers: ``interval`` of each, for products that take so many blocks (``costs``).

    As few multipliers are large as the large products need: those of a size and beyond need ceil(n / interval). A
    product takes a slot of a larger multiplier only as long as that leaves enough for the larger ones that are still to
    come, so that each finds one whatever their order.
    """

    def __init__(self, costs: Sequence[int], interval: int) -> None:
        self.sizes = sorted(set(costs))
        self.count = 0
        """Multipliers of all sizes."""
        self.spare: dict[int, int] = {}
        """Slots of multipliers of a size and beyond that smaller products may take."""
        exactly: dict[int, int] = {}
        for size in reversed(self.sizes):
            products = len([cost for cost in costs if cost >= size])
            needed = -(-products // interval)
            self.spare[size] = needed * interval - products
            exactly[size] = needed - self.count
            self.count = needed
        self.free = [dict(exactly) for _ in range(interval)]
        """Multipliers of each size that are free in each phase."""

    def take(self, cost: int, phase: int) -> int | None:
        """Take a slot of the smallest multiplier that is free in ``phase`` for a product; returns how many products
        were there before, None if there is no slot."""
        free = self.free[phase]
        possible = [size for size in self.sizes if size >= cost and free[size]]
        if not possible:
            return None
        size = possible[0]
        larger = [other for other in self.sizes if cost < other <= size]
        if not all(self.spare[other] for other in larger):
            return None
        before = self.count - sum(free.values())
        free[size] -= 1
        for other in larger:
            self.spare[other] -= 1
        return before


class _Scheduler:
    """The slots of all nodes, and the operators that are taken, while nodes are scheduled one after another."""

    def __init__(
        self, fixed: FixedGraph, device: Device, ii: int, programs: Programs, folds: Folds
    ) -> None:
        self.fixed, self.device, self.ii = fixed, device, ii
        self.programs, self.folds = programs, folds
        self.graph, self.nodes = fixed.graph, fixed.graph.nodes
        self.operators = Operators(fixed, device, folds)
        self.costs = self._product_costs()
        """Multiplier blocks of every product."""
        self.multipliers = self._multipliers()
        self.tables = self._tables()
        """Tables by unit."""
        self.timeless = timeless_nodes(fixed.graph, programs)
        self.slots: list[Slot | None] = [None] * len(fixed.graph.nodes)
        self.binding: dict[int, int] = {}
        self.busy: dict[str, Counter[int]] = defaultdict(Counter)
        """Tables that are taken, by unit and phase."""
        self.lookups: dict[tuple[str, int], tuple[int, int]] = {}
        """Cycle and table of every angle, by unit."""

    def _product_costs(self) -> dict[int, int]:
        """Multiplier blocks of the products that have operators: of folded ones the first turn's."""
        costs = {}
        for i, node in self.graph:
            if node.op == "mul" and self.folds.template(i) == i:
                widths = self.folds.factor_widths(self.fixed, i)
                costs[i] = self.device.blocks(*widths)
        return costs

    def _multipliers(self) -> dict[str, _UnitMultipliers]:
        """As few multipliers as each unit's products need."""
        costs: dict[str, list[int]] = defaultdict(list)
        for i, cost in self.costs.items():
            costs[self.nodes[i].owner].append(cost)
        found = {}
        for unit, own in costs.items():
            found[unit] = _UnitMultipliers(own, self._interval(unit))
        return found

    def _tables(self) -> dict[str, int]:
        """As few tables as the angles in each unit need."""
        angles: dict[str, set[int]] = defaultdict(set)
        for i, node in self.graph:
            if node.op in TABLES and self.folds.template(i) == i:
                angles[node.owner].add(node.args[0])
        tables = {}
        for unit, own in angles.items():
            interval = self._interval(unit)
            tables[unit] = -(-len(own) // interval)
        return tables

    def _interval(self, unit: str) -> int:
        """Cycles between two executions of an operator of a unit."""
        return self.folds.interval(unit, self.ii)

    def _slot(self, i: int) -> Slot:
        slot = self.slots[i]
        assert slot is not None
        return slot

    def _earliest(self, i: int) -> tuple[int, float]:
        """Cycle and offset at which node ``i``'s arguments are all there, for every turn of a folded one."""
        if i in self.folds.turns:
            return self._earliest_folded(i)
        times = [(0, 0.0)]
        for a in self.nodes[i].args:
            slot = self._slot(a)
            arrives = slot.ready + self.operators.routing(i, a)
            times.append((slot.finish, arrives))
        cycle, offset = max(times)
        reach = self.operators.reach(i, chosen=False)
        return cycle, max(offset, reach)

    def _earliest_folded(self, i: int) -> tuple[int, float]:
        """The same for the first turn of a folded node, early enough for none of its turns."""
        step = self._interval(self.nodes[i].owner)
        registered = self._reach(i)
        times = [(0, 0.0)]
        for position in range(len(self.nodes[i].args)):
            inside = self.folds.inside(self.graph, i, position)
            for k, turn in enumerate(self.folds.turns[i]):
                a = turn.args[position]
                if inside:
                    slot = self._slot(self.folds.template(a))
                    times.append((slot.finish, slot.ready))
                elif a in self.timeless or self.nodes[a].op in ("const", "input"):
                    times.append((0, registered))
                else:
                    # what comes from outside comes from registers, so that no path runs through a turn into another
                    cycle = self._slot(a).finish + 1 - k * step
                    times.append((max(cycle, 0), registered))
        return max(times)

    def _reach(self, i: int) -> float:
        """When arguments from registers are at node ``i``'s operator."""
        node = self.nodes[i]
        chosen = i in self.folds.turns
        if node.op == "mul" or node.op in TABLES:
            chosen = chosen or self._interval(node.owner) > 1
        return self.operators.reach(i, chosen)

    def schedule_node(self, i: int) -> None:
        """Give node ``i`` its slot: the earliest that its arguments, its delay and its operator allow."""
        node = self.nodes[i]
        delays = self.operators.delays(i)
        cycle, offset = self._earliest(i)
        if node.op == "mul":
            slot = self._product_slot(i, cycle, offset, delays)
        elif node.op in TABLES:
            cycle = self._lookup(i, cycle, offset, delays)
            slot = delays.slot(cycle, 0.0)
        elif delays.fit(self.device, offset):
            slot = delays.slot(cycle, offset)
        else:
            slot = delays.slot(cycle + 1, self._reach(i))
        self.slots[i] = slot
        if i in self.folds.turns:
            self._schedule_turns(i, slot)

    def _schedule_turns(self, i: int, first: Slot) -> None:
        """Give all turns of a folded node their slots, evenly spaced, on the operator of the first."""
        step = self._interval(self.nodes[i].owner)
        later = 0
        for turn in self.folds.turns[i]:
            start, finish = first.start + later, first.finish + later
            self.slots[turn.node] = Slot(start, finish, first.ready)
            later += step
            if i in self.binding:
                self.binding[turn.node] = self.binding[i]

    def _product_slot(self, i: int, cycle: int, offset: float, delays: Delays) -> Slot:
        """The slot of a product, from ``cycle`` on, and the multiplier that makes it."""
        node = self.nodes[i]
        interval = self._interval(node.owner)
        if interval > 1:
            if i not in self.folds.turns:
                cycle = 0
            cycle = self._registered(i, cycle)
            offset = self._reach(i)
        multipliers = self.multipliers[node.owner]
        while True:
            if delays.fit(self.device, offset):
                number = multipliers.take(self.costs[i], cycle % interval)
                if number is not None:
                    self.binding[i] = number
                    return delays.slot(cycle, offset)
            cycle += 1
            offset = self._reach(i)

    def _registered(self, i: int, first: int) -> int:
        """The first cycle from ``first`` on in which the factors of product ``i`` come from registers: a shared
        multiplier takes no others, so that no path runs from one product of it through another back into it."""
        node = self.nodes[i]
        cycle = first
        for a in node.args:
            source = self.nodes[a]
            if source.op == "input" or a in self.timeless:
                continue
            # of a folded product, what comes from other units has been seen to, for all turns
            if i in self.folds.turns and source.owner != node.owner:
                continue
            cycle = max(cycle, self._slot(a).finish + 1)
        return cycle

    def _lookup(self, i: int, cycle: int, offset: float, delays: Delays) -> int:
        """The cycle of a table access; sine and cosine of one angle are one access."""
        node = self.nodes[i]
        angle = (node.owner, node.args[0])
        if angle not in self.lookups:
            interval = self._interval(node.owner)
            if interval > 1:
                offset += self.device.select
            if not delays.fit(self.device, offset):
                cycle += 1
            busy = self.busy[node.owner]
            while busy[cycle % interval] >= self.tables[node.owner]:
                cycle += 1
            phase = cycle % interval
            self.lookups[angle] = (cycle, busy[phase])
            busy[phase] += 1
        cycle, self.binding[i] = self.lookups[angle]
        return cycle

    def run(self) -> None:
        """Schedule all nodes, those that are farthest from a result first."""
        needs, priority = self._needs()
        users: dict[int, list[int]] = defaultdict(list)
        for i, arguments in needs.items():
            for a in arguments:
                users[a].append(i)
        waiting = {}
        ready = []
        for i, arguments in needs.items():
            waiting[i] = len(arguments)
            if not arguments:
                ready.append((-priority[i], i))
        heapq.heapify(ready)
        while ready:
            _, i = heapq.heappop(ready)
            self.schedule_node(i)
            for user in users[i]:
                waiting[user] -= 1
                if not waiting[user]:
                    heapq.heappush(ready, (-priority[user], user))

    def _needs(self) -> tuple[dict[int, set[int]], list[float]]:
        """For every node that has an operator what must be scheduled before it, and priorities: both those of all turns
        together."""
        priority = _priorities(self.fixed, self.device)
        template = [self.folds.template(i) for i in range(len(self.nodes))]
        needs: dict[int, set[int]] = {}
        for i, node in self.graph:
            first = template[i]
            arguments = needs.setdefault(first, set())
            arguments.update(template[a] for a in node.args)
            priority[first] = max(priority[first], priority[i])
        return needs, priority

    def multiplier_counts(self) -> dict[str, int]:
        """Multipliers by unit."""
        counts = {}
        for unit, multipliers in self.multipliers.items():
            counts[unit] = multipliers.count
        return counts

    def extra_multipliers(self, spare: int | None) -> dict[str, int]:
        """How many multipliers more than the fewest every unit that shares its own may have, if all of them may take
        ``spare`` blocks more: as many as it has, or its part of that."""
        counts = {}
        total = 0
        for unit, multipliers in self.multipliers.items():
            if self._interval(unit) > 1:
                counts[unit] = multipliers.count
                total += multipliers.count * multipliers.sizes[0]
        blocks = total
        if spare is not None:
            blocks = max(0, min(spare, total))
        return {unit: count * blocks // total for unit, count in counts.items()}

    def exits(self) -> dict[str, int]:
        """When each exit's results are taken: never in cycle 0, as what waits for it in a FIFO comes out of it a cycle
        after it went in; and from registers, as many as flags have on their path."""
        cycles = {}
        for e in self.programs.exits:
            complete = 1
            for name in e.results:
                slot = self._slot(self.graph.outputs[name])
                complete = max(complete, slot.finish)
            cycles[e.name] = complete + self.device.flag_registers
        return cycles


def check_interval(ii: int) -> None:
    """ConfigError unless ``ii`` is a supported initiation interval."""
    if not 1 <= ii <= MAX_II:
        raise ConfigError(f"ii: must be 1 to {MAX_II} cycles, not {ii}")


def schedule(
    fixed: FixedGraph,
    device: Device,
    ii: int,
    programs: Programs | None = None,
    folds: Folds = NO_FOLDS,
    spare: int | None = 0,
    shorten: bool = True,
) -> Schedule:
    """The schedule; ConfigError where ``ii`` or the device's period is out of reach. ``programs``: default, one.

    The number of turns of every folded unit must divide ``ii``. ``spare``: how many blocks of the device multipliers
    may take beyond the fewest, so that less waits in registers and less is chosen before each (None: any number). Each
    unit gets up to as many multipliers more as it has. ``shorten``: operations are moved so that less waits in
    registers.
    """
    programs = programs or single_program(fixed.graph)
    check_interval(ii)
    operators = Operators(fixed, device, folds)
    for i in range(len(fixed.graph.nodes)):
        _check_period(operators, ii, i)
    work = _Scheduler(fixed, device, ii, programs, folds)
    work.run()
    early = Schedule(
        fixed=fixed,
        programs=programs,
        folds=folds,
        device=device,
        ii=ii,
        slots=tuple(slot for slot in work.slots if slot is not None),
        binding=work.binding,
        multipliers=work.multiplier_counts(),
        tables=work.tables,
        exits=work.exits(),
    )
    extra = work.extra_multipliers(spare)
    if shorten:
        early = shorten_lifetimes(early, extra)
    return _bound(early, extra)


def _check_period(operators: Operators, ii: int, i: int) -> None:
    """ConfigError where the operator of node ``i`` takes longer than the device's period."""
    device = operators.device
    op = operators.fixed.graph.nodes[i].op
    shared = op in ("mul", *TABLES) or i in operators.folds.members
    delays = operators.delays(i)
    offset = operators.reach(i, chosen=ii > 1 and shared)
    if delays.fit(device, offset):
        return
    longest = max(delays.before + offset, delays.after) + delays.flag
    raise ConfigError(
        f"device {device.name}: a {op} takes {longest:g} ns, more than the period of {device.period:g} "
        "ns; use a slower clock or a shorter word"
    )


def _bound(schedule: Schedule, extra: Mapping[str, int]) -> Schedule:
    """``schedule`` with every product on one of its unit's multipliers (:mod:`rbdgen.schedule.binding`), of which there
    are up to ``extra`` more by unit."""
    binding, multipliers = dict(schedule.binding), dict(schedule.multipliers)
    crossed: set[int] = set()
    for unit, phases in _shared_products(schedule).items():
        most = schedule.multipliers[unit] + extra.get(unit, 0)
        fullest = max(map(len, phases.values()))
        bindings = bind(phases, schedule.device, most - fullest)
        numbers = [bound.number for bound in bindings.values()]
        multipliers[unit] = 1 + max(numbers)
        for i, bound in bindings.items():
            turns = schedule.folds.turns.get(i, ())
            nodes = [i, *(turn.node for turn in turns)]
            binding |= dict.fromkeys(nodes, bound.number)
            if bound.crossed:
                crossed.update(nodes)
    return replace(
        schedule,
        binding=binding,
        crossed=frozenset(crossed),
        multipliers=multipliers,
    )


def _shared_products(schedule: Schedule) -> dict[str, dict[int, list[Product]]]:
    """The products of units that share multipliers, by unit and phase."""
    fixed, folds = schedule.fixed, schedule.folds
    units: dict[str, dict[int, list[Product]]] = defaultdict(lambda: defaultdict(list))
    for i, node in fixed.graph:
        if node.op != "mul" or folds.template(i) != i:
            continue
        interval = folds.interval(node.owner, schedule.ii)
        if interval == 1:
            continue
        start = schedule.slots[i].start
        wider, other = folds.factors(fixed, i)
        read = (
            schedule.read(node.args[wider], start),
            schedule.read(node.args[other], start),
        )
        product = Product(i, folds.factor_widths(fixed, i), read)
        units[node.owner][start % interval].append(product)
    return units
