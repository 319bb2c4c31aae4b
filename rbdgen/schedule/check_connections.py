"""Checks of what goes from unit to unit: FIFOs, and that all that a unit reads is offered to it and has arrived.

Nothing here is shared with what makes plans.
"""

from __future__ import annotations

from rbdgen.ir.graph import INPUT_OWNER
from rbdgen.schedule.buffers import Fifo, Plan, UnitPlan
from rbdgen.schedule.check_operations import OperationCheck


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
