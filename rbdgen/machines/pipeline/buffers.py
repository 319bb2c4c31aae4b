"""Registers inside units, and bypass FIFOs between them, that carry values through time.

A value can be read in the cycle in which it is made; later it stands in a chain of registers that advances every ``ii``
cycles, at the phase of its making. Registers that several units would have alike are those of the unit that makes the
value; each unit has the rest of the chain for itself. Where values wait long from one unit to another, they do so in a
bypass FIFO: one entry per task, written when the last of its values is there and read the cycle before the first is
used.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from rbdgen.ir.graph import INPUT_OWNER, OUTPUT_OWNER, ports
from rbdgen.ir.programs import node_exits, node_programs
from rbdgen.machines.pipeline.beats import Beat, exit_beats
from rbdgen.machines.pipeline.schedule import Schedule, chain_length

FIFO_MINIMUM = 4
"""Values wait in a FIFO where they would cross at least this many registers each."""


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
        last = 0
        for e in self.schedule.programs.exits:
            if e.program == program:
                cycles = [beat.cycle for beat in self.beats[e.name]]
                last = max(last, *cycles)
        return 1 + last


def exit_unit(name: str) -> str:
    """Name of the unit that collects an exit's results."""
    return f"{OUTPUT_OWNER}_{name}"


def uses(schedule: Schedule, unit: UnitPlan) -> dict[int, list[int]]:
    """For each node that has a time the cycles in which ``unit`` reads it, outputs included, ascending."""
    graph = schedule.fixed.graph
    reads: dict[int, set[int]] = defaultdict(set)
    for i in unit.nodes:
        for a, cycle in zip(graph.nodes[i].args, schedule.read_cycles(i), strict=True):
            if graph.nodes[a].is_const or a in schedule.timeless:
                continue
            reads[a].add(cycle)
    for tap in unit.outputs:
        if tap.node not in schedule.timeless:
            reads[tap.node].add(tap.cycle)
    return {node: sorted(cycles) for node, cycles in reads.items()}


def fifo_depth(write: int, read: int, ii: int) -> int:
    """Entries of a FIFO that every task writes in cycle ``write`` and reads in cycle ``read``: those that are in it
    when one is written, and that one; a full FIFO takes no entry, even while it is read."""
    return (read - write) // ii + 1


def make_plan(
    schedule: Schedule, sent: Mapping[str, Sequence[Sequence[str]]] = MappingProxyType({})
) -> Plan:
    """Decide FIFOs and taps for all units. ``sent``: for exits whose results are not sent at once, those that are sent
    in each beat, in at most ii of them."""
    graph = schedule.fixed.graph
    programs = node_programs(graph, schedule.programs)
    beats = {}
    for e in schedule.programs.exits:
        parts = sent.get(e.name, [e.results])
        beats[e.name] = exit_beats(schedule, e, parts)
    drafts = [*_draft_units(schedule), *_draft_exits(schedule, beats)]
    fifos = []
    for draft in drafts:
        fifos += _fifos(schedule, draft, programs)
    units = _connected(schedule, drafts, fifos)
    return Plan(
        schedule=schedule,
        units=units,
        fifos=tuple(fifos),
        beats=beats,
        register_bits=_register_bits(schedule, units, fifos),
        fifo_bits=_fifo_bits(schedule, fifos),
        programs=programs,
        reaches=node_exits(graph, schedule.programs),
    )


def _draft_units(schedule: Schedule) -> Iterator[UnitPlan]:
    """The units with what they read, as if all of it came as it is made."""
    graph = schedule.fixed.graph
    for owner in graph.owners:
        # operands stand in registers around the units
        if owner != INPUT_OWNER:
            port = ports(graph, owner)
            inputs = _as_made(schedule, port.inputs)
            yield UnitPlan(owner, port.nodes, inputs, ())


def _as_made(schedule: Schedule, nodes: Iterable[int]) -> tuple[Tap, ...]:
    """Values as they can be read without a register that keeps them."""
    return tuple(Tap(i, schedule.stands(i)) for i in nodes)


def _draft_exits(schedule: Schedule, beats: Mapping[str, Sequence[Beat]]) -> Iterator[UnitPlan]:
    """The units that collect results: what they read, and when they offer it."""
    graph = schedule.fixed.graph
    for name, parts in beats.items():
        collected: dict[Tap, None] = {}
        for beat in parts:
            for result in beat.results:
                i = graph.outputs[result]
                # constants are wired to where they are needed
                if not graph.nodes[i].is_const:
                    collected[Tap(i, beat.cycle)] = None
        nodes = dict.fromkeys(tap.node for tap in collected)
        inputs = _as_made(schedule, nodes)
        yield UnitPlan(exit_unit(name), (), inputs, tuple(collected))


@dataclass(frozen=True)
class _Wait:
    """A value that could be written to a FIFO in cycle ``write``, and must be read in cycle ``read``."""

    node: int
    write: int
    read: int


def _fifos(schedule: Schedule, unit: UnitPlan, programs: Sequence[str | None]) -> list[Fifo]:
    """FIFOs into ``unit``: per program and source, of the values that wait long."""
    fifos = []
    for (program, source), waits in _waits(schedule, unit, programs).items():
        together = _together(waits, schedule.ii)
        if not together:
            continue
        write = max(wait.write for wait in together)
        read = min(wait.read for wait in together)
        fifo = Fifo(
            program=program,
            source=source,
            sink=unit.name,
            values=tuple(sorted(wait.node for wait in together)),
            write=write,
            read=read,
            depth=fifo_depth(write, read, schedule.ii),
        )
        fifos.append(fifo)
    return fifos


def _waits(
    schedule: Schedule, unit: UnitPlan, programs: Sequence[str | None]
) -> dict[tuple[str, str], list[_Wait]]:
    """The values that wait long for ``unit``, by program and source."""
    reads = uses(schedule, unit)
    waits: dict[tuple[str, str], list[_Wait]] = defaultdict(list)
    for tap in unit.inputs:
        # the turns of a folded unit follow each other too fast for one FIFO
        if tap.node in schedule.timeless or tap.node in schedule.folds.members:
            continue
        before = reads[tap.node][0] - 1
        if chain_length(tap.cycle, before, schedule.ii) < FIFO_MINIMUM:
            continue
        program = programs[tap.node]
        assert program is not None
        source = schedule.fixed.graph.nodes[tap.node].owner
        waits[program, source].append(_Wait(tap.node, tap.cycle, before))
    return waits


def _together(waits: Sequence[_Wait], ii: int) -> list[_Wait]:
    """Those of the values that wait long even if all of them are written and read at once."""
    left = list(waits)
    while left:
        write = max(wait.write for wait in left)
        read = min(wait.read for wait in left)
        if chain_length(write, read, ii) >= FIFO_MINIMUM:
            break
        # the value with the shortest wait is what keeps the others from waiting in memory
        shortest = min(left, key=lambda wait: (wait.read - wait.write, wait.node))
        left.remove(shortest)
    return left


def _connected(
    schedule: Schedule, drafts: Sequence[UnitPlan], fifos: Sequence[Fifo]
) -> tuple[UnitPlan, ...]:
    """The units with what arrives when it does, and all that others take of them."""
    graph = schedule.fixed.graph
    arrivals: dict[tuple[str, int], int] = {}
    taken: dict[str, set[Tap]] = defaultdict(set)
    for fifo in fifos:
        for value in fifo.values:
            arrivals[fifo.sink, value] = fifo.read
            taken[fifo.source].add(Tap(value, fifo.write))
    direct = _direct_arrivals(schedule, drafts, fifos)
    for (sink, node), cycle in direct.items():
        arrivals[sink, node] = cycle
        source = graph.nodes[node].owner
        taken[source].add(Tap(node, cycle))
    units = []
    for draft in drafts:
        inputs = []
        for tap in draft.inputs:
            cycle = arrivals[draft.name, tap.node]
            inputs.append(Tap(tap.node, cycle))
        # units of exits already offer what they collect, each beat in its cycle
        outputs = draft.outputs or tuple(sorted(taken[draft.name]))
        units.append(replace(draft, inputs=tuple(inputs), outputs=outputs))
    return tuple(units)


def _direct_arrivals(
    schedule: Schedule, drafts: Sequence[UnitPlan], fifos: Sequence[Fifo]
) -> dict[tuple[str, int], int]:
    """When a value that comes without a FIFO arrives in a unit: at a register of the unit that makes it, as far along
    its chain as this unit needs it and the other one keeps it (:meth:`Schedule.kept_registers`)."""
    ii = schedule.ii
    own = _own_lengths(schedule, drafts, fifos)
    through = {(fifo.sink, value) for fifo in fifos for value in fifo.values}
    firsts: dict[int, dict[str, int]] = defaultdict(dict)
    for draft in drafts:
        reads = uses(schedule, draft)
        for tap in draft.inputs:
            if (draft.name, tap.node) in through:
                continue
            stands = schedule.stands(tap.node)
            first = reads[tap.node][0] if tap.node in reads else stands
            firsts[tap.node][draft.name] = chain_length(stands, first, ii)
    arrivals = {}
    for node, sinks in firsts.items():
        lengths = list(sinks.values())
        kept = schedule.kept_registers(node, own.get(node, 0), lengths)
        for sink, first in sinks.items():
            registers = min(first, kept)
            arrivals[sink, node] = schedule.stands(node) + ii * registers
    return arrivals


def _own_lengths(
    schedule: Schedule, drafts: Sequence[UnitPlan], fifos: Sequence[Fifo]
) -> dict[int, int]:
    """Registers of the chain of each value that the unit that makes it reads itself, or a FIFO does."""
    reads: dict[int, int] = {}
    for fifo in fifos:
        for value in fifo.values:
            reads[value] = max(fifo.write, reads.get(value, fifo.write))
    for draft in drafts:
        arriving = {tap.node for tap in draft.inputs}
        for node, cycles in uses(schedule, draft).items():
            if node not in arriving:
                reads[node] = max(cycles[-1], reads.get(node, cycles[-1]))
    lengths = {}
    for node, cycle in reads.items():
        length = chain_length(schedule.stands(node), cycle, schedule.ii)
        # the length of an operand that is read within its interval is negative: it needs none
        lengths[node] = max(0, length)
    return lengths


def operand_chains(
    schedule: Schedule, units: Iterable[UnitPlan], fifos: Iterable[Fifo]
) -> dict[int, int]:
    """By operand the registers in which it waits before units or FIFOs take it; what a unit takes from a FIFO passes
    none."""
    taken: list[tuple[int, int]] = []
    through: set[tuple[str, int]] = set()
    for fifo in fifos:
        for value in fifo.values:
            taken.append((value, fifo.write))
            through.add((fifo.sink, value))
    for unit in units:
        for tap in unit.inputs:
            if (unit.name, tap.node) not in through:
                taken.append((tap.node, tap.cycle))
    lengths: dict[int, int] = {}
    for node, cycle in taken:
        # what units make waits in their own registers
        if schedule.fixed.graph.nodes[node].is_input:
            length = chain_length(schedule.stands(node), cycle, schedule.ii)
            lengths[node] = max(length, lengths.get(node, 0))
    return lengths


def _register_bits(schedule: Schedule, units: Sequence[UnitPlan], fifos: Sequence[Fifo]) -> int:
    """Bits of the registers of all units, and of those that keep operands for several."""
    total = 0
    for unit in units:
        total += _unit_register_bits(schedule, unit)
    for node, length in operand_chains(schedule, units, fifos).items():
        total += schedule.width(node) * length
    return total


def _unit_register_bits(schedule: Schedule, unit: UnitPlan) -> int:
    folds = schedule.folds
    arrival = {tap.node: tap.cycle for tap in unit.inputs}
    total = 0
    for node, cycles in uses(schedule, unit).items():
        interval = schedule.ii
        if node in folds.members and node not in arrival:
            # all turns of what a folded unit makes are in the registers of the first
            if folds.template(node) != node:
                continue
            interval = folds.interval(unit.name, schedule.ii)
        made = arrival.get(node, schedule.stands(node))
        length = chain_length(made, cycles[-1], interval)
        total += schedule.width(node) * length
    return total


def _fifo_bits(schedule: Schedule, fifos: Sequence[Fifo]) -> int:
    total = 0
    for fifo in fifos:
        width = sum(map(schedule.width, fifo.values))
        total += fifo.depth * width
    return total
