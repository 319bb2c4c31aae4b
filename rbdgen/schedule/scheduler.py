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

from rbdgen.errors import ConfigError
from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.folds import NO_FOLDS, Folds
from rbdgen.ir.programs import Programs, single_program, timeless_nodes
from rbdgen.schedule.binding import Product, bind
from rbdgen.schedule.delays import TABLES, Delays, Slot, operator_delays, reach, reads_far
from rbdgen.schedule.device import Device
from rbdgen.schedule.lifetimes import shorten_lifetimes
from rbdgen.schedule.times import Schedule

MAX_II = 4096


def _priorities(fixed: FixedGraph, device: Device) -> list[float]:
    """Longest delay from each node's start to a result, ns."""
    graph = fixed.graph
    rest = [0.0] * len(graph.nodes)
    for i in range(len(graph.nodes) - 1, -1, -1):
        delays = operator_delays(fixed, device, i)
        own = delays.after + device.period * delays.cycles
        rest[i] = own + max((rest[u] for u in graph.users[i]), default=0.0)
    return rest


class _Multipliers:
    """The slots of a unit's multipliers: ``interval`` of each, for products that take so many blocks (``costs``).

    As few multipliers are large as the large products need: those of a size and beyond need ceil(n / interval). A
    product takes a slot of a larger multiplier only as long as that leaves enough for the larger ones that are still to
    come, so that each finds one whatever their order.
    """

    def __init__(self, costs: Sequence[int], interval: int) -> None:
        self.sizes = sorted(set(costs))
        upwards = {size: sum(cost >= size for cost in costs) for size in self.sizes}
        needed = {size: -(-n // interval) for size, n in upwards.items()}
        self.count = needed[self.sizes[0]]
        self.spare = {size: needed[size] * interval - n for size, n in upwards.items()}
        """Slots of multipliers of a size and beyond that smaller products may take."""
        larger = [*(needed[size] for size in self.sizes[1:]), 0]
        alone = {size: needed[size] - n for size, n in zip(self.sizes, larger, strict=True)}
        self.free = [dict(alone) for _ in range(interval)]
        """Multipliers of each size that are free in each phase."""

    def take(self, cost: int, phase: int) -> int | None:
        """Take a slot of the smallest multiplier that is free in ``phase`` for a product; returns how many products
        were there before, None if there is no slot."""
        free = self.free[phase]
        found = next((size for size in self.sizes if size >= cost and free[size]), None)
        passed = [size for size in self.sizes if found is not None and cost < size <= found]
        if found is None or not all(self.spare[size] for size in passed):
            return None
        before = self.count - sum(free.values())
        free[found] -= 1
        for size in passed:
            self.spare[size] -= 1
        return before


class _Scheduler:
    def __init__(self, fixed: FixedGraph, device: Device, ii: int, programs: Programs, folds: Folds) -> None:
        self.fixed, self.device, self.ii, self.programs, self.folds = fixed, device, ii, programs, folds
        graph = fixed.graph
        templates = [(i, n) for i, n in graph if folds.template(i) == i]
        self.costs = {i: device.blocks(*folds.factor_widths(fixed, i)) for i, n in templates if n.op == "mul"}
        costs: dict[str, list[int]] = defaultdict(list)
        for i, cost in self.costs.items():
            costs[graph.nodes[i].owner].append(cost)
        self.multipliers = {owner: _Multipliers(own, folds.interval(owner, ii)) for owner, own in costs.items()}
        angles = {(n.owner, n.args[0]) for _, n in templates if n.op in TABLES}
        self.tables = {o: -(-n // folds.interval(o, ii)) for o, n in Counter(owner for owner, _ in angles).items()}
        self.timeless = timeless_nodes(graph, programs)
        self.slots: list[Slot | None] = [None] * len(graph.nodes)
        self.binding: dict[int, int] = {}
        self.busy: Counter[tuple[str, int]] = Counter()
        self.lookups: dict[tuple[str, int], tuple[int, int]] = {}

    def _slot(self, i: int) -> Slot:
        slot = self.slots[i]
        assert slot is not None
        return slot

    def _earliest(self, i: int) -> tuple[int, float]:
        """Cycle and offset at which node ``i``'s arguments are all there, for every turn of a folded one."""
        graph, times = self.fixed.graph, [(0, 0.0)]
        if i not in self.folds.turns:
            times += [(self._slot(a).finish, self._arrival(i, a)) for a in graph.nodes[i].args]
            cycle, offset = max(times)
            return cycle, max(offset, reach(self.fixed, self.device, i, self.folds, chosen=False))
        step = self.folds.interval(graph.nodes[i].owner, self.ii)
        inside = [self.folds.inside(graph, i, position) for position in range(len(graph.nodes[i].args))]
        for k, turn in enumerate(self.folds.turns[i]):
            for position, a in enumerate(turn.args):
                if inside[position]:
                    slot = self._slot(self.folds.template(a))
                    times.append((slot.finish, slot.ready))
                elif graph.nodes[a].op in ("const", "input") or a in self.timeless:
                    times.append((0, self._reach(i)))
                else:
                    # what comes from outside comes from registers, so that no path runs through a turn into another
                    times.append((max(self._slot(a).finish + 1 - k * step, 0), self._reach(i)))
        return max(times)

    def _reach(self, i: int) -> float:
        """When arguments from registers are at node ``i``'s operator."""
        interval = self.folds.interval(self.fixed.graph.nodes[i].owner, self.ii)
        shared = self.fixed.graph.nodes[i].op in ("mul", *TABLES) and interval > 1
        return reach(self.fixed, self.device, i, self.folds, shared or i in self.folds.turns)

    def _arrival(self, i: int, a: int) -> float:
        """When the argument ``a`` is at node ``i`` in the cycle in which it is made."""
        return self._slot(a).ready + (self.device.link if reads_far(self.fixed, i, a) else 0.0)

    def place(self, i: int) -> None:
        """Give node ``i`` its slot: the earliest that its arguments, its delay and its operator allow."""
        node = self.fixed.graph.nodes[i]
        delays = operator_delays(self.fixed, self.device, i, self.folds)
        cycle, offset = self._earliest(i)
        if node.op == "mul":
            slot = self._place_product(i, cycle, offset, delays)
        elif node.op in TABLES:
            slot = delays.slot(self._lookup(i, cycle, offset, delays), 0.0)
        elif delays.fit(self.device, offset):
            slot = delays.slot(cycle, offset)
        else:
            slot = delays.slot(cycle + 1, self._reach(i))
        self.slots[i] = slot
        step = self.folds.interval(node.owner, self.ii)
        for k, turn in enumerate(self.folds.turns.get(i, ())):
            self.slots[turn.node] = Slot(slot.start + k * step, slot.finish + k * step, slot.ready)
            if i in self.binding:
                self.binding[turn.node] = self.binding[i]

    def _place_product(self, i: int, cycle: int, offset: float, delays: Delays) -> Slot:
        node = self.fixed.graph.nodes[i]
        interval = self.folds.interval(node.owner, self.ii)
        if interval > 1:
            # a shared multiplier takes its operands from registers only, so that no path runs from one
            # product of a multiplier through another product back into it
            sources = [a for a in node.args if self.fixed.graph.nodes[a].op != "input" and a not in self.timeless]
            if i in self.folds.turns:  # the other turns' arguments have been seen to
                sources = [a for a in sources if self.fixed.graph.nodes[a].owner == node.owner]
            cycle = max([cycle if i in self.folds.turns else 0] + [self._slot(a).finish + 1 for a in sources])
            offset = self._reach(i)
        while True:
            if delays.fit(self.device, offset):
                number = self.multipliers[node.owner].take(self.costs[i], cycle % interval)
                if number is not None:
                    self.binding[i] = number
                    return delays.slot(cycle, offset)
            cycle, offset = cycle + 1, self._reach(i)

    def _lookup(self, i: int, cycle: int, offset: float, delays: Delays) -> int:
        """The cycle of a table access; sine and cosine of one angle are one access."""
        node = self.fixed.graph.nodes[i]
        angle, interval = (node.owner, node.args[0]), self.folds.interval(node.owner, self.ii)
        if angle not in self.lookups:
            if not delays.fit(self.device, offset + (self.device.select if interval > 1 else 0.0)):
                cycle += 1
            while self.busy[node.owner, cycle % interval] >= self.tables[node.owner]:
                cycle += 1
            key = (node.owner, cycle % interval)
            self.lookups[angle] = (cycle, self.busy[key])
            self.busy[key] += 1
        cycle, self.binding[i] = self.lookups[angle]
        return cycle

    def run(self) -> None:
        """Place all nodes, those with the longest way to a result first."""
        graph = self.fixed.graph
        priority = _priorities(self.fixed, self.device)
        template = [self.folds.template(i) for i in range(len(graph.nodes))]
        needs: dict[int, set[int]] = {}
        for i, node in graph:
            needs.setdefault(template[i], set()).update(template[a] for a in node.args)
            priority[template[i]] = max(priority[template[i]], priority[i])
        users: dict[int, list[int]] = defaultdict(list)
        for i, arguments in needs.items():
            for a in arguments:
                users[a].append(i)
        waiting = {i: len(arguments) for i, arguments in needs.items()}
        ready = [(-priority[i], i) for i, n in waiting.items() if not n]
        heapq.heapify(ready)
        while ready:
            _, i = heapq.heappop(ready)
            self.place(i)
            for user in users[i]:
                waiting[user] -= 1
                if not waiting[user]:
                    heapq.heappush(ready, (-priority[user], user))

    def more(self, spare: int | None) -> dict[str, int]:
        """How many multipliers more than the fewest every unit that shares its own may have, if all of them may take
        ``spare`` blocks more: as many as it has, or its part of that."""
        own = {unit: m for unit, m in self.multipliers.items() if self.folds.interval(unit, self.ii) > 1}
        total = sum(m.count * m.sizes[0] for m in own.values())
        blocks = total if spare is None else max(0, min(spare, total))
        return {unit: m.count * blocks // total for unit, m in own.items()}

    def exits(self) -> dict[str, int]:
        """When each exit's results are taken: never in cycle 0, as what waits for it in a FIFO comes out of it a cycle
        after it went in; and from registers, where an overflow has a way of its own to its register."""
        outputs, later = self.fixed.graph.outputs, self.device.flag_cycles
        return {
            e.name: max([1, *(self._slot(outputs[r]).finish for r in e.results)]) + later for e in self.programs.exits
        }


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
) -> Schedule:
    """The schedule; ConfigError where ``ii`` or the device's period is out of reach. ``programs``: default, one.

    The number of turns of every folded unit must divide ``ii``. ``spare``: how many blocks of the device multipliers
    may take beyond the fewest, so that less waits in registers and less is chosen before each (None: any number). Each
    unit gets up to as many multipliers more as it has.
    """
    programs = programs or single_program(fixed.graph)
    check_interval(ii)
    for i, node in fixed.graph:
        chosen = ii > 1 and (node.op in ("mul", *TABLES) or i in folds.members)
        delays, offset = operator_delays(fixed, device, i, folds), reach(fixed, device, i, folds, chosen)
        if not delays.fit(device, offset):
            longest = max(delays.before + offset, delays.after) + delays.flag
            raise ConfigError(
                f"device {device.name}: a {node.op} takes {longest:g} ns, more than the period of {device.period:g} "
                "ns; use a slower clock or a shorter word"
            )
    work = _Scheduler(fixed, device, ii, programs, folds)
    work.run()
    slots = tuple(s for s in work.slots if s is not None)
    multipliers = {unit: m.count for unit, m in work.multipliers.items()}
    times = Schedule(fixed, programs, folds, device, ii, slots, work.binding, multipliers, work.tables, work.exits())
    more = work.more(spare)
    return _bound(shorten_lifetimes(times, more), more)


def _bound(schedule: Schedule, extra: Mapping[str, int]) -> Schedule:
    """``schedule`` with the products of shared multipliers in their places (:mod:`rbdgen.schedule.binding`), on up to
    ``extra`` more by unit."""
    fixed, folds = schedule.fixed, schedule.folds
    units: dict[str, dict[int, list[Product]]] = defaultdict(lambda: defaultdict(list))
    for i, node in fixed.graph:
        interval = folds.interval(node.owner, schedule.ii)
        if node.op == "mul" and folds.template(i) == i and interval > 1:
            start = schedule.slots[i].start
            a, b = (schedule.read(node.args[k], start) for k in folds.factors(fixed, i))
            units[node.owner][start % interval].append(Product(i, folds.factor_widths(fixed, i), (a, b)))
    binding, crossed, multipliers = dict(schedule.binding), set(), dict(schedule.multipliers)
    for unit, phases in units.items():
        most = schedule.multipliers[unit] + extra.get(unit, 0)
        places = bind(phases, schedule.device, most - max(map(len, phases.values())))
        multipliers[unit] = 1 + max(place.number for place in places.values())
        for i, place in places.items():
            turns = (i, *(t.node for t in folds.turns.get(i, ())))
            binding |= dict.fromkeys(turns, place.number)
            crossed |= set(turns) if place.crossed else set()
    return replace(schedule, binding=binding, crossed=frozenset(crossed), multipliers=multipliers)
