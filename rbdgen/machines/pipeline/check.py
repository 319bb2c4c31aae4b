"""An independent checker of schedules and plans: it recomputes every rule and shares no code with the scheduler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rbdgen.ir.graph import INPUT_OWNER
from rbdgen.ir.programs import Exit
from rbdgen.machines.pipeline.beats import Beat
from rbdgen.machines.pipeline.buffers import Fifo, Plan, UnitPlan
from rbdgen.machines.pipeline.check_operations import OperationCheck, check_turns


class ConnectionCheck:
    """The connections of a plan's units."""

    def __init__(self, plan: Plan) -> None:
        schedule = plan.schedule
        self.plan, self.schedule, self.ii = plan, schedule, schedule.ii
        self.nodes, self.slots = schedule.fixed.graph.nodes, schedule.slots
        self.operations = OperationCheck(plan)
        self.fifos: dict[tuple[str, int], Fifo] = {}
        """By the unit that reads and the value."""
        for fifo in plan.fifos:
            for value in fifo.values:
                self.fifos[fifo.sink, value] = fifo
        self.offered: set[tuple[str, int, int]] = set()
        """Values that units offer, and when."""
        for unit in plan.units:
            for tap in unit.outputs:
                self.offered.add((unit.name, tap.node, tap.cycle))

    def check(self) -> None:
        """ValueError where a FIFO or a unit breaks a rule."""
        for fifo in self.plan.fifos:
            self._check_order(fifo)
            self._check_depth(fifo)
            self._check_values(fifo)
        for unit in self.plan.units:
            self._check_turns_leave(unit)
            self._check_reads(unit)
            self._check_arrivals(unit)

    def _check_order(self, fifo: Fifo) -> None:
        """A FIFO is written before it is read."""
        if fifo.read <= fifo.write:
            raise ValueError(
                f"{_name(fifo)}: must be read after cycle {fifo.write}, not in {fifo.read}"
            )

    def _check_depth(self, fifo: Fifo) -> None:
        """A FIFO holds all entries that are alive at once if tasks start ii cycles apart: one more than those, as a
        full FIFO takes no entry."""
        alive, written = 0, fifo.write
        while written <= fifo.read:
            alive += 1
            written += self.ii
        if fifo.depth < alive:
            raise ValueError(f"{_name(fifo)}: must be {alive} entries deep, not {fifo.depth}")

    def _check_values(self, fifo: Fifo) -> None:
        """A FIFO carries values of one program, which are there and offered when it is written."""
        if {self.plan.programs[value] for value in fifo.values} != {fifo.program}:
            raise ValueError(f"{_name(fifo)}: must carry values of program {fifo.program} only")
        for value in fifo.values:
            if self.slots[value].finish > fifo.write:
                raise ValueError(
                    f"{_name(fifo)}: %{value} must be there when it is written in cycle {fifo.write}"
                )
            offered = (fifo.source, value, fifo.write) in self.offered
            # operands are no unit's that would offer them
            if fifo.source != INPUT_OWNER and not offered:
                raise ValueError(
                    f"{_name(fifo)}: {fifo.source} must offer %{value} in cycle {fifo.write}"
                )

    def _check_turns_leave(self, unit: UnitPlan) -> None:
        """Values that a folded unit makes leave it as they are made: its registers have others a turn later."""
        for tap in unit.outputs:
            folded = tap.node in self.schedule.folds.members and tap.node in unit.nodes
            if folded and tap.cycle != self.slots[tap.node].finish:
                raise ValueError(
                    f"unit {unit.name}: %{tap.node} leaves a turn when it is made, not in cycle {tap.cycle}"
                )

    def _check_reads(self, unit: UnitPlan) -> None:
        """Values that a unit reads of others have arrived."""
        there = self._there(unit)
        reads = [(tap.node, tap.cycle) for tap in unit.outputs]
        for i in unit.nodes:
            reads += self.operations.reads(i)
        for node, cycle in reads:
            # what a unit makes itself is checked operation by operation
            if self.nodes[node].is_const or node in unit.nodes:
                continue
            if node not in there or there[node] > cycle:
                raise ValueError(
                    f"unit {unit.name}: reads %{node} in cycle {cycle}, before it arrives"
                )

    def _there(self, unit: UnitPlan) -> dict[int, int]:
        """The first cycle in which each value that arrives can be read: what arrives in a register is there since that
        register last moved."""
        there = {}
        for tap in unit.inputs:
            there[tap.node] = tap.cycle
            made = self._made(tap.node)
            if (unit.name, tap.node) not in self.fifos and tap.cycle > made:
                since = (tap.cycle - made - 1) % self.ii
                there[tap.node] = tap.cycle - since
        return there

    def _made(self, node: int) -> int:
        """The cycle after which a value stands in registers; operands come from one."""
        if self.nodes[node].is_input and self.ii > 1:
            return -1
        return self.slots[node].finish

    def _check_arrivals(self, unit: UnitPlan) -> None:
        """Values arrive from a FIFO when that is read, or from the unit that offers them."""
        for tap in unit.inputs:
            fifo = self.fifos.get((unit.name, tap.node))
            if fifo is not None:
                if fifo.read != tap.cycle:
                    raise ValueError(
                        f"unit {unit.name}: %{tap.node} must arrive when its FIFO is read, in cycle {fifo.read}"
                    )
                continue
            source = self.nodes[tap.node].owner
            # operands are offered at the end of every interval
            operand = source == INPUT_OWNER and (tap.cycle + 1) % self.ii == 0
            if not operand and (source, tap.node, tap.cycle) not in self.offered:
                raise ValueError(
                    f"unit {unit.name}: {source} must offer %{tap.node} in cycle {tap.cycle}"
                )


def _name(fifo: Fifo) -> str:
    return f"FIFO {fifo.source} to {fifo.sink}"


def check_plan(plan: Plan) -> None:
    """Raise ValueError naming the node, unit or FIFO that breaks a rule.

    Arguments are there before they are used, within a cycle as well; chained delays fit the period; no shared
    operator is used twice in one phase; every value that a unit reads arrives before, from a unit or a FIFO that offers
    it; FIFOs are written before they are read and are deep enough for a task every ii cycles.
    """
    schedule = plan.schedule
    nodes = schedule.fixed.graph.nodes
    if len(schedule.slots) != len(nodes):
        raise ValueError(f"schedule: must have {len(nodes)} slots, not {len(schedule.slots)}")
    check_turns(plan)
    operations = OperationCheck(plan)
    for i in range(len(nodes)):
        operations.check(i)
    check_operators(plan)
    for e in schedule.programs.exits:
        check_exit(plan, e)
        check_beats(plan, e)
    ConnectionCheck(plan).check()


def check_operators(plan: Plan) -> None:
    """No multiplier and no table is used twice in one phase; sine and cosine of an angle are one use. No table has
    sines and reciprocals."""
    schedule = plan.schedule
    busy: Counter[tuple[str, str, int, int]] = Counter()
    lookups: set[tuple[str, int, int]] = set()
    kinds: dict[tuple[str, int], str] = {}
    for i, node in schedule.fixed.graph:
        start = schedule.slots[i].start
        for number in range(len(node.products)):
            # a task may come every interval, so that cycles that are an interval apart meet
            phase = (start + number) % schedule.ii
            busy[node.owner, "multiplier", schedule.binding[i], phase] += 1
        if node.operation.looks_up:
            number = schedule.binding[i]
            memory = node.operation.memory
            if kinds.setdefault((node.owner, number), memory) != memory:
                raise ValueError(f"unit {node.owner}: table {number} has sines and reciprocals")
            lookup = (node.owner, node.args[0], start)
            if lookup not in lookups:
                lookups.add(lookup)
                busy[node.owner, "table", number, start % schedule.ii] += 1
    for (owner, kind, number, phase), count in busy.items():
        if count > 1:
            raise ValueError(
                f"unit {owner}: {kind} {number} is used {count} times in phase {phase}"
            )


def check_exit(plan: Plan, e: Exit) -> None:
    """An exit's results are there when they leave."""
    schedule = plan.schedule
    for name in e.results:
        i = schedule.fixed.graph.outputs[name]
        if schedule.slots[i].finish > schedule.exits[e.name]:
            raise ValueError(f"result {name}: must be there in cycle {schedule.exits[e.name]}")


def check_beats(plan: Plan, e: Exit) -> None:
    """A result's beats are taken after it is complete or before they are sent, and not while another's are."""
    schedule, beats = plan.schedule, plan.beats[e.name]
    cycles = [beat.cycle for beat in beats]
    taken = sorted(result for beat in beats for result in beat.results)
    if taken != sorted(e.results):
        raise ValueError(f"exit {e.name}: must take each of its results in one beat")
    early = cycles[0] < schedule.exits[e.name]
    late = any(cycle > cycles[0] + k for k, cycle in enumerate(cycles))
    if early or late:
        raise ValueError(
            f"exit {e.name}: must take beats when they are there and before they are sent, not {cycles}"
        )
    together = len(set(cycles)) < len(cycles)
    # the next result's beats may follow an interval later
    if together or max(cycles) - min(cycles) >= schedule.ii:
        raise ValueError(
            f"exit {e.name}: must take its beats in {schedule.ii} cycles, one in each, not {cycles}"
        )
    if len(beats) > 1:
        check_registered(plan, e, beats)


def check_registered(plan: Plan, e: Exit, beats: Sequence[Beat]) -> None:
    """Beats are taken from registers, if there are several."""
    schedule, graph = plan.schedule, plan.schedule.fixed.graph
    for beat in beats:
        for name in beat.results:
            i = graph.outputs[name]
            if not graph.nodes[i].is_const and schedule.slots[i].finish >= beat.cycle:
                raise ValueError(
                    f"exit {e.name}: %{i} must be in a register when it is taken in cycle {beat.cycle}"
                )
