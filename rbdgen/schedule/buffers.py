"""What carries values through time: registers inside units, and FIFOs on long links between them.

A value can be read in the cycle in which it is made; later it stands in a chain of registers that advances every ``ii``
cycles, at the phase of its making. Registers that several units would have alike are those of the unit that makes the
value; each unit has the rest of the chain for itself. A link whose values wait long becomes a bypass FIFO: one entry
per task, written when the last of its values is there and read the cycle before the first is used. Results that are
sent in several beats are taken beat by beat, each in a cycle of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from rbdgen.ir.graph import INPUT_OWNER, OUTPUT_OWNER, ports
from rbdgen.ir.programs import Exit, node_exits, node_programs
from rbdgen.schedule.times import Schedule, chain_length

FIFO_MINIMUM = 4
"""A link becomes a FIFO where its values would cross at least this many registers each."""


@dataclass(frozen=True, order=True)
class Tap:
    """The value of ``node`` as it can be read in ``cycle``: as it is made, from a FIFO, or in a register of its chain,
    and then in the ii − 1 cycles before, too."""

    node: int
    cycle: int


@dataclass(frozen=True)
class Fifo:
    """A bypass FIFO from unit ``source`` to unit ``sink``: written in cycle ``write`` and read in ``read``.

    All ``values`` are of one ``program``. They are node numbers in the order of the entry's words; ``depth`` entries
    suffice at any rate up to one task every ii cycles, as both ends run at fixed times of the task.
    """

    program: str
    source: str
    sink: str
    values: tuple[int, ...]
    write: int
    read: int
    depth: int

    @property
    def name(self) -> str:
        """Its name in the hardware."""
        return f"bypass_{self.program}_{self.source}_{self.sink}"


@dataclass(frozen=True)
class UnitPlan:
    """One unit's interface in time: ``inputs`` says when each value arrives, ``outputs`` what leaves it when.

    ``nodes`` are the operations that it executes.
    """

    name: str
    nodes: tuple[int, ...]
    inputs: tuple[Tap, ...]
    outputs: tuple[Tap, ...]


@dataclass(frozen=True)
class Beat:
    """Results that leave by an exit together, and the ``cycle`` in which they are taken."""

    results: tuple[str, ...]
    cycle: int


@dataclass(frozen=True)
class Plan:
    """The structure to build: units (the last ones, ``output_<exit>``, only collect results), FIFOs, cost in bits.

    ``beats`` says by exit what is taken when, in the order in which it is sent: the first when all results of the exit
    are there, each other one at most as many cycles later as it is sent later, and all within ii cycles. ``programs``
    gives each node's program, ``reaches`` the exits whose results depend on it.
    """

    schedule: Schedule
    units: tuple[UnitPlan, ...]
    fifos: tuple[Fifo, ...]
    beats: Mapping[str, tuple[Beat, ...]]
    register_bits: int
    fifo_bits: int
    programs: tuple[str | None, ...]
    reaches: tuple[tuple[str, ...], ...]

    @property
    def exits(self) -> dict[str, int]:
        """The cycle in which the first beat of each exit's results is taken."""
        return {name: beats[0].cycle for name, beats in self.beats.items()}

    def length(self, program: str) -> int:
        """Cycles from a program's operands to its last results."""
        exits = (e.name for e in self.schedule.programs.exits if e.program == program)
        return 1 + max(beat.cycle for name in exits for beat in self.beats[name])


def exit_unit(name: str) -> str:
    """Name of the unit that collects an exit's results."""
    return f"{OUTPUT_OWNER}_{name}"


def uses(schedule: Schedule, unit: UnitPlan) -> dict[int, list[int]]:
    """For each node that has a time the cycles in which ``unit`` reads it, outputs included, ascending."""
    graph = schedule.fixed.graph
    reads: dict[int, set[int]] = defaultdict(set)
    for i in unit.nodes:
        for a in graph.nodes[i].args:
            if graph.nodes[a].op != "const" and a not in schedule.timeless:
                reads[a].add(schedule.slots[i].start)
    for tap in unit.outputs:
        if tap.node not in schedule.timeless:
            reads[tap.node].add(tap.cycle)
    return {node: sorted(cycles) for node, cycles in reads.items()}


def fifo_depth(write: int, read: int, ii: int) -> int:
    """Entries of a FIFO that every task writes in cycle ``write`` and reads in cycle ``read``: those that are in it
    when one is written, and that one; a full FIFO takes no entry, even while it is read."""
    return (read - write) // ii + 1


def make_plan(schedule: Schedule, sent: Mapping[str, Sequence[Sequence[str]]] = MappingProxyType({})) -> Plan:
    """Decide FIFOs and taps for all units. ``sent``: for exits whose results are not sent at once, those that are sent
    in each beat, in at most ii of them."""
    graph = schedule.fixed.graph
    programs = node_programs(graph, schedule.programs)
    draft = []
    for owner in graph.owners:
        port = ports(graph, owner)
        if owner != INPUT_OWNER:
            draft.append(UnitPlan(owner, port.nodes, tuple(Tap(i, schedule.stands(i)) for i in port.inputs), ()))
    beats = {e.name: _beats(schedule, e, sent.get(e.name, [e.results])) for e in schedule.programs.exits}
    for name, parts in beats.items():
        taken_at = ((graph.outputs[r], part.cycle) for part in parts for r in part.results)
        collected = tuple(dict.fromkeys(Tap(i, cycle) for i, cycle in taken_at if graph.nodes[i].op != "const"))
        arrive = tuple(Tap(i, schedule.stands(i)) for i in dict.fromkeys(tap.node for tap in collected))
        draft.append(UnitPlan(exit_unit(name), (), arrive, collected))
    fifos = [fifo for unit in draft for fifo in _fifos(schedule, unit, programs)]
    arrivals = {(f.sink, v): f.read for f in fifos for v in f.values}
    taken: dict[str, set[Tap]] = defaultdict(set)
    for f in fifos:
        taken[f.source].update(Tap(v, f.write) for v in f.values)
    direct = _shared_registers(schedule, draft, fifos)
    for (_, node), cycle in direct.items():
        taken[graph.nodes[node].owner].add(Tap(node, cycle))
    arrivals |= direct
    units = []
    for unit in draft:
        inputs = tuple(Tap(t.node, arrivals[unit.name, t.node]) for t in unit.inputs)
        outputs = unit.outputs or tuple(sorted(taken[unit.name]))
        units.append(UnitPlan(unit.name, unit.nodes, inputs, outputs))
    registers = sum(_register_bits(schedule, unit) for unit in units)
    operands = {t for unit in units for t in unit.inputs if graph.nodes[t.node].owner == INPUT_OWNER}
    for node in {t.node for t in operands}:
        length = chain_length(schedule.stands(node), max(t.cycle for t in operands if t.node == node), schedule.ii)
        registers += schedule.fixed.formats[node].width * length
    bits = sum(f.depth * sum(schedule.fixed.formats[v].width for v in f.values) for f in fifos)
    reaches = node_exits(graph, schedule.programs)
    return Plan(schedule, tuple(units), tuple(fifos), beats, registers, bits, programs, reaches)


def _beats(schedule: Schedule, e: Exit, sent: Sequence[Sequence[str]]) -> tuple[Beat, ...]:
    """When each beat of an exit's results is taken: from registers where there are several, and in an order in which
    few registers are needed until then."""
    graph, ii, count = schedule.fixed.graph, schedule.ii, len(sent)
    made: list[list[tuple[int, int]]] = []
    for part in sent:
        nodes = [graph.outputs[r] for r in part if graph.nodes[graph.outputs[r]].op != "const"]
        made.append([(schedule.slots[i].finish, schedule.fixed.formats[i].width) for i in nodes])
    ready = [max((finish for finish, _ in values), default=0) + 1 for values in made]
    first = max(schedule.exits[e.name], ready[0]) if count > 1 else schedule.exits[e.name]

    def bits(k: int, cycle: int) -> int:
        return sum(width * chain_length(finish, cycle, ii) for finish, width in made[k])

    best = {k: first + k for k in range(count)}
    for last in range(first, first + count):
        cycles = {0: first}
        for cycle in range(last - ii + 1, last + 1):
            able = [k for k in range(1, count) if k not in cycles and ready[k] <= cycle != first]
            urgent = [k for k in able if cycle == first + k]
            if able:
                cycles[max(urgent or able, key=lambda k: (bits(k, last) - bits(k, cycle), -k))] = cycle
        kept = len(cycles) == count and all(cycle <= first + k for k, cycle in cycles.items())
        if kept and sum(bits(*place) for place in cycles.items()) < sum(bits(*place) for place in best.items()):
            best = cycles
    return tuple(Beat(tuple(part), best[k]) for k, part in enumerate(sent))


def _shared_registers(
    schedule: Schedule, draft: Sequence[UnitPlan], fifos: Sequence[Fifo]
) -> dict[tuple[str, int], int]:
    """When a value that comes without a FIFO arrives in a unit: at a register of the unit that makes it, as far along
    its chain as that unit needs it, or at least two others do, or to its first register where links are long."""
    graph, ii = schedule.fixed.graph, schedule.ii
    through = {(f.sink, v) for f in fifos for v in f.values}
    own: dict[int, int] = defaultdict(int)
    first: dict[int, dict[str, int]] = defaultdict(dict)
    for f in fifos:
        for v in f.values:
            own[v] = max(own[v], chain_length(schedule.stands(v), f.write, ii))
    for unit in draft:
        reads = uses(schedule, unit)
        for node in (tap.node for tap in unit.inputs):
            cycles = reads.pop(node, [schedule.stands(node)])
            if (unit.name, node) not in through:
                first[node][unit.name] = chain_length(schedule.stands(node), cycles[0], ii)
        for node, cycles in reads.items():
            own[node] = max(own[node], chain_length(schedule.stands(node), cycles[-1], ii))
    arrivals = {}
    for node, sinks in first.items():
        # where the way to another unit is long, a value is sent from a register
        operand = graph.nodes[node].owner == INPUT_OWNER
        kept = max(own[node], sorted([0, *sinks.values()])[-2], int(schedule.device.link > 0 and not operand))
        if node in schedule.folds.members:
            kept = 0  # a folded unit's registers are another value a turn later
        for sink, position in sinks.items():
            arrivals[sink, node] = schedule.stands(node) + ii * min(position, kept)
    return arrivals


def _fifos(schedule: Schedule, unit: UnitPlan, programs: tuple[str | None, ...]) -> list[Fifo]:
    """FIFOs on the links into ``unit``: per program and source the values that wait long, if together they still do."""
    graph, ii = schedule.fixed.graph, schedule.ii
    reads = uses(schedule, unit)
    links: dict[tuple[str, str], list[tuple[int, int, int]]] = defaultdict(list)
    for tap in unit.inputs:
        if tap.node in schedule.timeless or tap.node in schedule.folds.members:
            continue  # (the turns of a folded unit follow each other too fast for one FIFO)
        first = reads[tap.node][0] - 1
        if chain_length(tap.cycle, first, ii) >= FIFO_MINIMUM:
            program = programs[tap.node]
            assert program is not None
            links[program, graph.nodes[tap.node].owner].append((tap.cycle, first, tap.node))
    fifos = []
    for (program, source), waits in links.items():
        while waits:
            write, read = max(w for w, _, _ in waits), min(r for _, r, _ in waits)
            if chain_length(write, read, ii) >= FIFO_MINIMUM:
                values = tuple(sorted(v for _, _, v in waits))
                fifos.append(Fifo(program, source, unit.name, values, write, read, fifo_depth(write, read, ii)))
                break
            # the value with the shortest wait is what keeps the others from waiting in memory
            waits.remove(min(waits, key=lambda w: (w[1] - w[0], w[2])))
    return fifos


def _register_bits(schedule: Schedule, unit: UnitPlan) -> int:
    arrival = {t.node: t.cycle for t in unit.inputs}
    folds, total = schedule.folds, 0
    for node, cycles in uses(schedule, unit).items():
        made = arrival.get(node, schedule.stands(node))
        own = node not in arrival and node in folds.members
        if not own or folds.template(node) == node:
            interval = folds.interval(unit.name, schedule.ii) if own else schedule.ii
            total += schedule.fixed.formats[node].width * chain_length(made, cycles[-1], interval)
    return total
