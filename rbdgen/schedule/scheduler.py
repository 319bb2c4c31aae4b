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
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

from rbdgen.errors import ConfigError
from rbdgen.ir.fixed import ROUNDED, FixedGraph
from rbdgen.ir.folds import NO_FOLDS, SUMS, Folds
from rbdgen.ir.programs import Programs, single_program, timeless_nodes
from rbdgen.schedule.binding import Product, bind
from rbdgen.schedule.device import Device

MAX_II = 4096
TABLES = ("table_sin", "table_cos", "table_reciprocal")


@dataclass(frozen=True)
class Slot:
    """When a node runs: it starts in cycle ``start`` and its result is there in cycle ``finish``, ``ready`` ns into it.

    Results can be read in the cycle ``finish`` itself (chaining) and, from registers, later.
    """

    start: int
    finish: int
    ready: float


def chain_length(first: int, last: int, ii: int) -> int:
    """Registers, moving every ``ii`` cycles, that keep a value from cycle ``first`` readable until cycle ``last``: 0
    for the ii − 1 cycles before ``first``, too."""
    return -(-(last - first) // ii)


@dataclass(frozen=True)
class Schedule:
    """A schedule of ``fixed`` for ``device`` at initiation interval ``ii``.

    ``slots`` by node; ``binding`` gives the number of the shared operator within its unit for products and
    tables (a table operator answers the sine and the cosine of one angle at once); ``multipliers`` and ``tables`` the
    number of operators by unit; ``crossed`` the products whose wider factor goes to their multiplier's second input;
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
    crossed: frozenset[int] = frozenset()

    @property
    def length(self) -> int:
        """Cycles from operands to the last result of all."""
        return 1 + max(self.exits.values())

    @property
    def entry_cycles(self) -> int:
        """Cycles from a task's admission to cycle 0: where choices follow the phase, one, in which all of the device
        learns that it starts."""
        return int(self.ii > 1)

    def factors(self, i: int) -> tuple[int, int]:
        """The arguments of a product by position, in the order of its multiplier's inputs."""
        a, b = self.folds.factors(self.fixed, i)
        return (b, a) if i in self.crossed else (a, b)

    def factor_widths(self, i: int) -> tuple[int, int]:
        """Widths of a product's arguments in bits, in the order of its multiplier's inputs."""
        formats = self.folds.arguments(self.fixed, i)
        a, b = (formats[k].width for k in self.factors(i))
        return a, b

    def multiplier(self, i: int) -> tuple[str, int]:
        """Which multiplier makes the product ``i``: its unit, and its number there."""
        return self.fixed.graph.nodes[i].owner, self.binding[i]

    @cached_property
    def products(self) -> dict[tuple[str, int], tuple[int, ...]]:
        """The products of every multiplier; of folded ones the first turn's."""
        found: dict[tuple[str, int], list[int]] = defaultdict(list)
        for i, node in self.fixed.graph:
            if node.op == "mul" and self.folds.template(i) == i:
                found[self.multiplier(i)].append(i)
        return {multiplier: tuple(nodes) for multiplier, nodes in sorted(found.items())}

    def input_widths(self, nodes: Iterable[int]) -> tuple[int, int]:
        """Bits of the inputs of a multiplier that makes the products ``nodes``."""
        first, second = (max(widths) for widths in zip(*map(self.factor_widths, nodes), strict=True))
        return first, second

    def ways(self, nodes: Iterable[int]) -> dict[int, tuple[int, int, bool]]:
        """How the results of a multiplier that makes the products ``nodes`` are rounded: bits dropped of its output,
        bits left, and whether what is dropped is cut. Its factors stand at the upper ends of its inputs: zeros below
        take nothing of a choice of factors, copies of the sign above would."""
        nodes, found = list(nodes), {}
        outputs = sum(self.input_widths(nodes))
        for i in nodes:
            result = self.fixed.formats[i]
            drop = self.fixed.exact(i, self.folds.arguments(self.fixed, i))[0] - result.frac
            moved = outputs - sum(self.factor_widths(i))
            found[i] = drop + moved, result.width, i in self.fixed.truncated or not drop
        return found

    @cached_property
    def blocks(self) -> int:
        """Multiplier blocks of the device that all multipliers take, by the widths of their inputs."""
        return sum(self.device.blocks(*self.input_widths(nodes)) for nodes in self.products.values())

    def read(self, a: int, cycle: int) -> Hashable:
        """What input of a multiplexer node ``a`` takes in ``cycle``: a register's, or the one of all constants."""
        if self.fixed.graph.nodes[a].op == "const":
            return "const"
        return a, 0 if a in self.timeless else chain_length(self.slots[a].finish, cycle, self.ii)

    @cached_property
    def timeless(self) -> frozenset[int]:
        """Nodes that can be read at any time, without registers."""
        return timeless_nodes(self.fixed.graph, self.programs)

    @cached_property
    def utilization(self) -> float:
        """Share of the multipliers' slots that carry a product, at a task every ``ii`` cycles."""
        slots = self.ii * sum(self.multipliers.values())
        return self.fixed.graph.count("mul") / slots if slots else 1.0


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
        first = self.before if self.cycles else self.before + self.flag
        return offset + first <= device.period + 1e-9 and self.after + self.flag <= device.period + 1e-9

    def slot(self, cycle: int, offset: float) -> Slot:
        """The slot of an operation that starts ``offset`` ns into ``cycle``."""
        return Slot(cycle, cycle + self.cycles, self.after if self.cycles else offset + self.after)


def operator_delays(fixed: FixedGraph, device: Device, i: int, folds: Folds = NO_FOLDS) -> Delays:
    """The delays of the operator of node ``i``; of a folded one those of its hardest turn, signs included."""
    delays, sign = _delays(fixed, device, i, folds), sign_delay(fixed, device, i, folds)
    return replace(delays, before=delays.before + sign, after=delays.after + (0.0 if delays.cycles else sign))


def reads_far(fixed: FixedGraph, i: int, a: int) -> bool:
    """Whether the argument ``a`` of node ``i`` comes from another unit."""
    nodes = fixed.graph.nodes
    return nodes[a].op != "const" and nodes[a].owner != nodes[i].owner


def reach(fixed: FixedGraph, device: Device, i: int, folds: Folds, chosen: bool) -> float:
    """When arguments that come from registers are at the operator of node ``i``, ns; ``chosen``: by a multiplexer."""
    members = folds.turns.get(folds.template(i))
    reads = [(t.node, a) for t in members for a in t.args] if members else [(i, a) for a in fixed.graph.nodes[i].args]
    far = any(reads_far(fixed, node, a) for node, a in reads)
    return max(device.select if chosen else 0.0, device.link if far else 0.0)


def sign_delay(fixed: FixedGraph, device: Device, i: int, folds: Folds) -> float:
    """How long it takes to give an argument the sign of its turn: an exclusive or before a sum, whose carry does the
    rest, and a sum before a constant factor."""
    if not folds.signed(i):
        return 0.0
    return device.select if fixed.graph.nodes[i].op in SUMS else device.level


def _delays(fixed: FixedGraph, device: Device, i: int, folds: Folds) -> Delays:
    op = fixed.graph.nodes[i].op
    overflows = op in ROUNDED and fixed.may_overflow(_hardest_turn(fixed, folds, i))
    limit, flag = (device.limit, 0.0) if fixed.saturate else (0.0, device.flag)
    limit, flag = (limit, flag) if overflows else (0.0, 0.0)
    if op == "mul" and device.multiply_cycles:
        return Delays(0.0, device.multiply_cycles, device.multiply + limit, flag)
    if op == "scale":
        stages = scale_stages(fixed, device, i, folds)
        first, last = (device.add + device.level * (n - 1) if n else 0.0 for n in (stages[0], stages[-1]))
        return Delays(first + (limit if len(stages) == 1 else 0.0), len(stages) - 1, last + limit, flag)
    if op in TABLES:
        return Delays(device.address, device.table_cycles, device.table_output)
    if op in ("normalise", "rescale") and device.shift_cycles:
        half = device.shift / (device.shift_cycles + 1)
        return Delays(half, device.shift_cycles, half + limit, flag)
    whole = limit
    if op in ("add", "sub", "neg") or (op == "round" and i not in fixed.truncated):
        whole += device.add
    elif op == "mul":
        whole += device.multiply
    elif op in ("normalise", "rescale"):
        whole += device.shift
    return Delays(whole, 0, whole, flag)


def _hardest_turn(fixed: FixedGraph, folds: Folds, i: int) -> int:
    """The turn that an operator is made for: of a folded one the first that may overflow, if there is one."""
    return next((turn.node for turn in folds.turns.get(folds.template(i), ()) if fixed.may_overflow(turn.node)), i)


def scale_stages(fixed: FixedGraph, device: Device, i: int, folds: Folds = NO_FOLDS) -> tuple[int, ...]:
    """Levels of the sum that a constant factor is, between registers: as few stages as fit the period, with room for a
    choice of the argument, its way and its sign, each with as many levels as another, give or take one."""
    i = _hardest_turn(fixed, folds, i)
    levels = max(len(fixed.constants[i].digits) - 1, 0).bit_length()
    limit = (device.limit if fixed.saturate else device.flag) if fixed.may_overflow(i) else 0.0
    room = device.period - max(device.select, device.link) - sign_delay(fixed, device, i, folds) - limit - device.add
    stages = max(1, -(-levels // (1 + max(0, int(room / device.level + 1e-9)))))
    return tuple(levels // stages + (k < levels % stages) for k in range(stages))


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

    def exits(self) -> dict[str, int]:
        """When each exit's results are taken: never in cycle 0, as what waits for it in a FIFO comes out of it a cycle
        after it went in; and from registers, where an overflow has a way of its own to its register."""
        outputs, later = self.fixed.graph.outputs, int(self.device.flag > 0)
        return {
            e.name: max([1, *(self._slot(outputs[r]).finish for r in e.results)]) + later for e in self.programs.exits
        }

    def sink(self) -> None:
        """Move cheap operations later where that keeps fewer bits in registers; products of shared multipliers stay."""
        graph, formats = self.fixed.graph, self.fixed.formats
        leave: dict[int, int] = {}
        exits, fixed_nodes = self.exits(), self.timeless | self.folds.members.keys()
        for e in self.programs.exits:
            for i in (graph.outputs[r] for r in e.results):
                leave[i] = min(leave.get(i, exits[e.name]), exits[e.name])
        for i in range(len(graph.nodes) - 1, -1, -1):
            node, slot = graph.nodes[i], self._slot(i)
            if not node.args or node.op in TABLES or (node.op == "mul" and self.ii > 1) or i in fixed_nodes:
                continue
            uses = [self._slot(u).start - 1 for u in graph.users[i]] + ([leave[i]] if i in leave else [])
            room = min(uses, default=slot.finish) - slot.finish
            if room <= 0:
                continue
            held = sum(formats[a].width for a in set(node.args) if self._last_use(a) <= slot.start)
            if held > formats[i].width:
                continue
            start = slot.start + room
            same = [self._arrival(i, a) for a in node.args if self._slot(a).finish == start]
            delays, offset = operator_delays(self.fixed, self.device, i), max([self._reach(i), *same])
            if delays.fit(self.device, offset):
                self.slots[i] = delays.slot(start, offset)

    def _last_use(self, a: int) -> int:
        return max((self._slot(u).start for u in self.fixed.graph.users[a]), default=0)


def check_interval(ii: int) -> None:
    """ConfigError unless ``ii`` is a supported initiation interval."""
    if not 1 <= ii <= MAX_II:
        raise ConfigError(f"ii: must be 1 to {MAX_II} cycles, not {ii}")


def schedule(
    fixed: FixedGraph, device: Device, ii: int, programs: Programs | None = None, folds: Folds = NO_FOLDS
) -> Schedule:
    """The schedule; ConfigError where ``ii`` or the device's period is out of reach. ``programs``: default, one.

    The number of turns of every folded unit must divide ``ii``.
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
    work.sink()
    slots = tuple(s for s in work.slots if s is not None)
    multipliers = {unit: m.count for unit, m in work.multipliers.items()}
    return _bound(
        Schedule(fixed, programs, folds, device, ii, slots, work.binding, multipliers, work.tables, work.exits())
    )


def spread(schedule: Schedule, extra: int) -> Schedule:
    """``schedule`` with the products of shared multipliers on up to ``extra`` multipliers more than need be, so that
    less is chosen before each. A unit gets as many of them as it has, if there are enough."""
    graph, folds = schedule.fixed.graph, schedule.folds
    shared = {n.owner for _, n in graph if n.op == "mul" and folds.interval(n.owner, schedule.ii) > 1}
    counts = {unit: n for unit, n in schedule.multipliers.items() if unit in shared}
    total = sum(counts.values())
    return _bound(schedule, {unit: n * min(extra, total) // total for unit, n in counts.items()})


def _bound(schedule: Schedule, extra: Mapping[str, int] = MappingProxyType({})) -> Schedule:
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
        places = bind(phases, schedule.device, extra.get(unit, 0))
        multipliers[unit] = 1 + max(place.number for place in places.values())
        for i, place in places.items():
            turns = (i, *(t.node for t in folds.turns.get(i, ())))
            binding |= dict.fromkeys(turns, place.number)
            crossed |= set(turns) if place.crossed else set()
    return replace(schedule, binding=binding, crossed=frozenset(crossed), multipliers=multipliers)
