"""The modulo schedule of a whole network: a cycle and an offset in it for every node, and shared operators.

All submodules are scheduled together against one time axis, cycle 0 being the one in which a task's operands stand at
its program's inputs; each program takes a new task every ``ii`` cycles at most, all in the same phase, so that programs
can share operators. Each submodule is a unit with its own multipliers, as many as its products fill. Those of a dot are
made by one of them in successive cycles, with an accumulator behind it. As no value is fed back, such a schedule always
exists (Rau 1994, without the recurrences): an operation waits at most ii − 1 cycles for free slots, else its unit gets
another multiplier. A folded unit (:mod:`rbdgen.ir.folds`) executes alike branches in turn, each a fraction of the
interval after the one before; all turns follow from the first. Not here: registers and FIFOs
(:mod:`rbdgen.machines.pipeline.buffers`), and the proof that a schedule is right
(:mod:`rbdgen.machines.pipeline.check`).
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Sequence

from rbdgen.devices.device import Device
from rbdgen.errors import ConfigError
from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.folds import NO_FOLDS, Folds, Turn
from rbdgen.ir.programs import Programs, single_program, timeless_nodes
from rbdgen.machines.pipeline.binding import bind_products
from rbdgen.machines.pipeline.deadlines import Deadlines
from rbdgen.machines.pipeline.delays import Delays, Operators, Slot
from rbdgen.machines.pipeline.lifetimes import shorten_lifetimes
from rbdgen.machines.pipeline.multipliers import Run, UnitMultipliers, product_runs
from rbdgen.machines.pipeline.schedule import Schedule
from rbdgen.tracing.folding import MAX_II

USED = 0.94
"""Share of all multipliers' phases that is used at least where units have more than they need."""
PATIENCE = 2
"""Cycles in which products wait for a free multiplier, and angles for a table, before there is one more."""
MORE_TABLES = 2
"""Multiple of the tables it needs that a unit has at most, so that angles wait less."""
TableKind = tuple[str, bool]
"""Tables by their unit, and whether they are of reciprocals: no table has those and sines."""


class _Scheduler:
    """The slots of all nodes, and the operators that are taken, while nodes are scheduled one after another."""

    def __init__(
        self,
        operators: Operators,
        programs: Programs,
        priority: Sequence[float],
        hurry: bool,
    ) -> None:
        fixed = operators.fixed
        folds = operators.folds
        device = operators.device
        self.fixed = fixed
        self.device = device
        self.ii = operators.ii
        # a copy, in which folded nodes get the highest priority of their turns
        self.priority = list(priority)
        """The larger, the sooner a node is scheduled."""
        self.hurry = hurry
        """Whether units may have more multipliers and tables than they need, so that nothing waits long for one."""
        self.programs = programs
        self.folds = folds
        self.graph = fixed.graph
        self.nodes = fixed.graph.nodes
        self.operators = operators
        self.runs = product_runs(fixed, folds, device)
        """The products of every node that has any."""
        self.orders: dict[int, tuple[int, ...]] = {}
        """In which order products of a node are made that one multiplier makes."""
        self.multipliers = self._multipliers()
        self.spare = self._spare() if hurry else 0
        """Blocks of the multipliers that all units together may have beyond what they need, so that products wait
        less."""
        self.tables = self._tables()
        """Tables by unit and kind."""
        self.fewest_tables = dict(self.tables)
        self.timeless = timeless_nodes(fixed.graph, programs)
        self.slots: list[Slot | None] = [None] * len(fixed.graph.nodes)
        self.binding: dict[int, int] = {}
        self.busy: dict[TableKind, Counter[int]] = defaultdict(Counter)
        """Tables that are taken, by unit, kind and phase."""
        self.lookups: dict[tuple[TableKind, int], tuple[int, int]] = {}
        """Cycle and table of every angle, by unit and kind."""

    def _multipliers(self) -> dict[str, UnitMultipliers]:
        """As few multipliers as each unit's products need."""
        runs: dict[str, list[Run]] = defaultdict(list)
        for i, run in self.runs.items():
            runs[self.nodes[i].owner].append(run)
        found = {}
        for unit, own in runs.items():
            interval = self._interval(unit)
            found[unit] = UnitMultipliers(interval, own)
        return found

    def _spare(self) -> int:
        """As many blocks as there may be more multipliers of one block if :data:`USED` of all are to be used."""
        needed = 0.0
        count = 0
        for multipliers in self.multipliers.values():
            # nothing waits for a multiplier that is not shared
            if multipliers.interval > 1:
                needed += multipliers.products / multipliers.interval
                count += len(multipliers.sizes)
        return max(0, int(needed / USED) - count)

    def _tables(self) -> dict[TableKind, int]:
        """As few tables of each kind as the angles in each unit need."""
        angles: dict[TableKind, set[int]] = defaultdict(set)
        for i, node in self.graph:
            if node.operation.looks_up and self.folds.template(i) == i:
                kind = self._table_kind(i)
                angles[kind].add(node.args[0])
        tables = {}
        for kind, own in angles.items():
            unit, _ = kind
            interval = self._interval(unit)
            tables[kind] = -(-len(own) // interval)
        return tables

    def _table_kind(self, i: int) -> TableKind:
        """The tables that answer the access of node ``i``."""
        node = self.nodes[i]
        return node.owner, node.operation.memory == "reciprocals"

    def unit_tables(self) -> dict[str, int]:
        """Tables by unit."""
        counts: Counter[str] = Counter()
        for (unit, _), count in self.tables.items():
            counts[unit] += count
        return dict(counts)

    def numbered(self) -> dict[int, int]:
        """The binding of all nodes; a unit's tables of reciprocals have the numbers behind those of sines."""
        numbers = dict(self.binding)
        for i, number in self.binding.items():
            unit, of_reciprocals = self._table_kind(i)
            if of_reciprocals:
                numbers[i] = number + self.tables.get((unit, False), 0)
        return numbers

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
        node = self.nodes[i]
        step = self._interval(node.owner)
        registered = self._reach(i)
        times = [(0, 0.0)]
        for position in range(len(node.args)):
            inside = self.folds.inside(self.graph, i, position)
            for k, turn in enumerate(self.folds.turns[i]):
                a = turn.args[position]
                if inside:
                    slot = self._slot(self.folds.template(a))
                    times.append((slot.finish, slot.ready))
                elif a in self.timeless or self.nodes[a].is_given:
                    times.append((0, registered))
                else:
                    # what comes from outside comes from registers, so that no path runs through a turn into another
                    there = self._slot(a).finish + 1
                    cycle = max(there - k * step, 0)
                    times.append((cycle, registered))
        return max(times)

    def _reach(self, i: int) -> float:
        """When arguments from registers are at node ``i``'s operator."""
        node = self.nodes[i]
        chosen = i in self.folds.turns
        if node.products or node.operation.looks_up:
            chosen = chosen or self._interval(node.owner) > 1
        return self.operators.reach(i, chosen)

    def schedule_node(self, i: int) -> None:
        """Give node ``i`` its slot: the earliest that its arguments, its delay and its operator allow."""
        node = self.nodes[i]
        delays = self.operators.delays(i)
        cycle, offset = self._earliest(i)
        if self.operators.in_time(i):
            slot = self._run_slot(i, delays)
        elif node.products:
            slot = self._product_slot(i, cycle, offset, delays)
        elif node.operation.looks_up:
            cycle = self._lookup(i, cycle, offset, delays)
            slot = delays.slot(cycle, 0.0)
        elif delays.fit(self.device, offset):
            slot = delays.slot(cycle, offset)
        else:
            # too late in this cycle: in the next one arguments come from registers
            slot = delays.slot(cycle + 1, self._reach(i))
        self.slots[i] = slot
        if i in self.folds.turns:
            self._schedule_turns(i, slot)

    def _schedule_turns(self, i: int, first: Slot) -> None:
        """Give all turns of a folded node their slots, evenly spaced, on the operator of the first."""
        step = self._interval(self.nodes[i].owner)
        later = 0
        for turn in self.folds.turns[i]:
            self.slots[turn.node] = Slot(
                start=first.start + later,
                finish=first.finish + later,
                ready=first.ready,
            )
            later += step
            if i in self.binding:
                self.binding[turn.node] = self.binding[i]
            if i in self.orders:
                self.orders[turn.node] = self._turn_order(i, turn)

    def _turn_order(self, i: int, turn: Turn) -> tuple[int, ...]:
        """The products of a turn's node in the order of the first turn's."""
        left: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for number, (_, *factors) in enumerate(self.nodes[turn.node].products):
            # turns may have the same pairs in another order, and turned around
            pair = tuple(sorted(factors))
            left[pair].append(number)
        order = []
        for k in self.orders[i]:
            factors = turn.args[2 * k : 2 * k + 2]
            pair = tuple(sorted(factors))
            order.append(left[pair].pop(0))
        return tuple(order)

    def _product_slot(self, i: int, cycle: int, offset: float, delays: Delays) -> Slot:
        """The slot of a product that has a multiplier of its own, from ``cycle`` on."""
        if not delays.fit(self.device, offset):
            cycle += 1
            offset = self._reach(i)
        run = self.runs[i]
        multipliers = self.multipliers[self.nodes[i].owner]
        number = multipliers.find(cycle, run, careful=False)
        if number is None:
            _, blocks = run
            number = multipliers.grow(blocks)
        self._take(i, cycle, number)
        return delays.slot(cycle, offset)

    def _run_slot(self, i: int, delays: Delays) -> Slot:
        """The slot of the products of a node that one multiplier makes one after the other: as soon as factors are
        there and a multiplier is free for so long. A unit gets one more multiplier where none ever is."""
        first = self._run_start(i)
        reach = self._reach(i)
        run = self.runs[i]
        unit = self.nodes[i].owner
        multipliers = self.multipliers[unit]
        # after an interval all phases have been tried
        patience = self._interval(unit)
        _, blocks = run
        if blocks <= self.spare and multipliers.may_grow(USED):
            patience = min(PATIENCE, patience)
        for cycle in range(first, first + patience):
            number = multipliers.find(cycle, run)
            if number is not None:
                self._take(i, cycle, number)
                return delays.slot(cycle, reach)
        self.spare -= blocks
        number = multipliers.grow(blocks)
        self._take(i, first, number)
        return delays.slot(first, reach)

    def _take(self, i: int, cycle: int, number: int) -> None:
        """Bind the products of node ``i`` to a multiplier from ``cycle`` on."""
        multipliers = self.multipliers[self.nodes[i].owner]
        multipliers.take(number, cycle, self.runs[i])
        self.binding[i] = number

    def _run_start(self, i: int) -> int:
        """The first cycle in which node ``i`` can start, with the products that can be made first in front."""
        terms = self.nodes[i].terms
        ready = []
        for position in range(0, terms.factors, 2):
            one = self._registered(i, position)
            other = self._registered(i, position + 1)
            ready.append(max(one, other))
        order = sorted(range(len(ready)), key=ready.__getitem__)
        self.orders[i] = tuple(order)
        first = 0
        for number, k in enumerate(order):
            first = max(first, ready[k] - number)
        for position in range(terms.factors, terms.arguments):
            # what the accumulator starts from is read when, or shortly before, the first product arrives there
            there = self._registered(i, position)
            first = max(first, there - self.operators.starting(i))
        return first

    def _registered(self, i: int, position: int) -> int:
        """The first cycle in which an argument of node ``i`` comes from a register, in all of its turns: a shared
        multiplier takes no others, so that no path runs from one product of it through another back into it."""
        turns = self.folds.turns.get(i)
        if turns is None:
            return self._register_cycle(self.nodes[i].args[position])
        if self.folds.inside(self.graph, i, position):
            maker = self.folds.template(turns[0].args[position])
            return self._register_cycle(maker)
        step = self._interval(self.nodes[i].owner)
        cycle = 0
        for k, turn in enumerate(turns):
            # turn k starts k steps later, and may read what is there by then
            there = self._register_cycle(turn.args[position])
            cycle = max(cycle, there - k * step)
        return cycle

    def _register_cycle(self, a: int) -> int:
        """The first cycle in which the value of node ``a`` comes from a register."""
        if self.nodes[a].is_given or a in self.timeless:
            return 0
        return self._slot(a).finish + 1

    def _lookup(self, i: int, cycle: int, offset: float, delays: Delays) -> int:
        """The cycle of a table access; sine and cosine of one angle are one access."""
        node = self.nodes[i]
        kind = self._table_kind(i)
        angle = (kind, node.args[0])
        if angle not in self.lookups:
            interval = self._interval(node.owner)
            if interval > 1:
                offset += self.device.select
            if not delays.fit(self.device, offset):
                cycle += 1
            busy = self.busy[kind]
            cycle = self._table_cycle(kind, cycle)
            phase = cycle % interval
            # as many tables as are busy in a phase: the next one's number
            self.lookups[angle] = (cycle, busy[phase])
            busy[phase] += 1
        cycle, self.binding[i] = self.lookups[angle]
        return cycle

    def _table_cycle(self, kind: TableKind, first: int) -> int:
        """The first cycle in which a table is free; its unit gets one more where that is long after ``first``."""
        unit, _ = kind
        interval = self._interval(unit)
        busy = self.busy[kind]
        patience = interval
        if self.hurry and self.tables[kind] < MORE_TABLES * self.fewest_tables[kind]:
            patience = min(PATIENCE, patience)
        for cycle in range(first, first + patience):
            if busy[cycle % interval] < self.tables[kind]:
                return cycle
        self.tables[kind] += 1
        return first

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
        priority = self.priority
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
            counts[unit] = len(multipliers.sizes)
        return counts

    def extra_multipliers(self, spare: int | None) -> dict[str, int]:
        """Multipliers beyond the fewest that every unit that shares its own may have, if all of them may take
        ``spare`` blocks more: as many as it has, or its part of that."""
        counts = {}
        total = 0
        for unit, multipliers in self.multipliers.items():
            if self._interval(unit) > 1:
                count = len(multipliers.sizes)
                smallest = min(multipliers.sizes)
                counts[unit] = count
                total += count * smallest
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
    hurry: bool = False,
) -> Schedule:
    """The schedule; ConfigError where ``ii`` or the device's period is out of reach. ``programs``: default, one.

    The number of turns of every folded unit must divide ``ii``. ``spare``: how many blocks of the device multipliers
    may take beyond the fewest, so that less waits in registers and less is chosen before each (None: any number). Each
    unit gets up to as many multipliers more as it has. ``shorten``: operations are moved so that less waits in
    registers, and what goes first is chosen by trying (:mod:`rbdgen.machines.pipeline.deadlines`). ``hurry``: a unit
    gets another multiplier where products would wait long for one, as long as :data:`USED` of all are used, and another
    table where angles would.
    """
    programs = programs or single_program(fixed.graph)
    check_interval(ii)
    operators = Operators(fixed, device, folds, ii)
    for i in range(len(fixed.graph.nodes)):
        _check_period(operators, ii, i)

    def attempt(priority: Sequence[float]) -> _Scheduler:
        work = _Scheduler(operators, programs, priority, hurry)
        work.run()
        return work

    deadlines = Deadlines(operators, programs)
    # at an interval of one cycle no operation waits for another's operator
    work = deadlines.quickest(attempt, search=shorten and ii > 1)
    early = Schedule(
        fixed=fixed,
        programs=programs,
        folds=folds,
        device=device,
        ii=ii,
        slots=tuple(slot for slot in work.slots if slot is not None),
        binding=work.numbered(),
        multipliers=work.multiplier_counts(),
        tables=work.unit_tables(),
        exits=work.exits(),
        orders=work.orders,
    )
    extra = work.extra_multipliers(spare)
    most = {}
    for unit, count in early.multipliers.items():
        most[unit] = count + extra.get(unit, 0)
    if shorten:
        early = shorten_lifetimes(early, extra)
    # last, as slots decide which multipliers are free for a run
    return bind_products(early, most)


def _check_period(operators: Operators, ii: int, i: int) -> None:
    """ConfigError where the operator of node ``i`` takes longer than the device's period."""
    device = operators.device
    operation = operators.fixed.graph.nodes[i].operation
    folded = i in operators.folds.members
    shared = operators.in_time(i) or operation.looks_up or folded
    delays = operators.delays(i)
    offset = operators.reach(i, chosen=ii > 1 and shared)
    if delays.fit(device, offset):
        return
    first = delays.before + offset
    longest = max(first, delays.after) + delays.flag
    name = operators.fixed.name(i)
    raise ConfigError(
        f"device {device.name}: a {name} takes {longest:g} ns, more than the period of {device.period:g} "
        "ns; use a slower clock or a shorter word"
    )
