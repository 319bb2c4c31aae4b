"""Model of what a plan takes of a device: multiplier blocks, look-up tables, registers and block memories.

Counts follow from the operators' widths, by the factors of the device's fabric. What place and route uses is a
measurement, and another thing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate

from rbdgen.devices.device import Resources
from rbdgen.ir.graph import Node
from rbdgen.machines.pipeline.accumulators import Accumulator
from rbdgen.machines.pipeline.buffers import Fifo, Plan
from rbdgen.machines.pipeline.operators import OPERATORS
from rbdgen.machines.pipeline.queues import (
    LOOPS,
    exit_depth,
    in_block_memory,
    lane_memory,
    lane_names,
    loop_bits,
    loop_in_block_memory,
)
from rbdgen.machines.pipeline.replicas import surroundings
from rbdgen.protocol.tasks import TaskFormat


def estimate(plan: Plan, tasks: TaskFormat) -> Resources:
    """The model's figures for ``plan`` and the results of its ``tasks``: of all accelerators behind the stream, and of
    what stands around several of them. ConfigError for so many rows of tasks under way that they cannot be numbered."""
    return _Model(plan, tasks).all_resources()


@dataclass(frozen=True)
class _Store:
    """A FIFO around the pipelines: bits and number of its rows, and whether it is in block memory."""

    bits: int
    rows: int
    in_block_memory: bool


class _Model:
    """A plan's parts, and what each of them takes."""

    def __init__(self, plan: Plan, tasks: TaskFormat) -> None:
        schedule = plan.schedule
        self.plan = plan
        self.tasks = tasks
        self.schedule = schedule
        self.fixed = schedule.fixed
        self.folds = schedule.folds
        self.graph = schedule.fixed.graph
        self.formats = schedule.fixed.formats
        self.fabric = schedule.device.fabric
        self.accumulators: list[Accumulator] = []
        for nodes in schedule.products.values():
            if schedule.in_time(nodes[0]):
                self.accumulators.append(Accumulator(schedule, nodes))
        self.templates = [i for i, _ in self.graph if self.folds.template(i) == i]
        """Nodes that have operators of their own, or share a multiplier."""

    def _width(self, i: int) -> int:
        """Bits of a value."""
        return self.formats[i].width

    def all_resources(self) -> Resources:
        """All that the accelerators take, and what stands around them."""
        one = self.resources()
        replicas = self.tasks.replicas
        around = surroundings(self.plan, self.tasks)
        luts = self.fabric.multiplexer * around.chosen
        luts += sum(self._fifo(rows, bits) for rows, bits in around.fifos)
        memories = sum(self._block_memories(bits, rows) for rows, bits in around.memories)
        return Resources(
            replicas * one.multipliers,
            replicas * one.luts + round(luts),
            replicas * one.registers + around.registers,
            replicas * one.memories + memories,
        )

    def resources(self) -> Resources:
        """All that one accelerator takes."""
        luts = self._logic()
        memories = sum(self.schedule.tables.values())
        luts += sum(map(self._bypass, self.plan.fifos))
        for store in self._stores():
            if store.in_block_memory:
                memories += self._block_memories(store.bits, store.rows)
            else:
                luts += self._fifo(store.rows, store.bits)
        registers = self.plan.register_bits + self._entry_registers()
        registers += sum(map(self._inside, self.templates))
        registers += sum(map(self._accumulator_registers, self.accumulators))
        # a register that no table feeds may keep one out of its place
        luts += self.fabric.apart * registers
        blocks = self.schedule.blocks
        return Resources(blocks, round(luts), registers, memories)

    def _logic(self) -> float:
        """Look-up tables of operators and of the choices before them."""
        luts = float(self.fabric.control)
        for i in self.templates:
            if not self.schedule.in_time(i):
                luts += self._operator(i) + self._turns(i)
        for accumulator in self.accumulators:
            luts += self._accumulator(accumulator)
        return luts

    def _accumulator(self, accumulator: Accumulator) -> float:
        """Look-up tables of a shared multiplier's choices and of its accumulator."""
        fabric = self.fabric
        adder = fabric.adder * accumulator.width + fabric.carry
        more_places = len(accumulator.drops) - 1
        luts = fabric.accumulator * accumulator.width + fabric.carry
        luts += fabric.multiplexer * accumulator.width * more_places
        for side in (0, 1):
            factors = self._factors(accumulator, side)
            luts += self._choice(factors)
        starts = self._starts(accumulator)
        if starts:
            # one input more, as a sum that goes on takes itself
            luts += self._choice(starts) + max(starts.values())
        if accumulator.starts_from_sum:
            luts += adder
        beyond = {}
        for i in accumulator.nodes:
            if self.fixed.may_overflow(i):
                tap = accumulator.tap(i)
                width = self._width(i)
                # results at the same bits of an accumulator share a check for overflow
                beyond[tap, width] = max(1, accumulator.width - tap - width)
        per_bit = fabric.saturation if self.fixed.saturates else fabric.flag
        return luts + per_bit * sum(beyond.values())

    def _factors(self, accumulator: Accumulator, side: int) -> dict[Hashable, int]:
        """Values that are chosen among before one of a multiplier's inputs, with the widths."""
        found: dict[Hashable, int] = {}
        for i in accumulator.nodes:
            node = self.graph.nodes[i]
            for k in range(len(node.products)):
                positions = self.schedule.factors(i, k)
                lift = accumulator.lifts(i, k)[side]
                for read, width in self._read(i, positions[side]).items():
                    # all constants before an input are one input of its multiplexer
                    key = read if read == "const" else (read, lift)
                    found[key] = max(found.get(key, 0), width + lift)
        return found

    def _starts(self, accumulator: Accumulator) -> dict[Hashable, int]:
        """The values that sums start from, with the widths."""
        found: dict[Hashable, int] = {}
        for i in accumulator.nodes:
            position = accumulator.start(i).position
            if position is not None:
                found |= self._read(i, position)
        return found

    def _read(self, i: int, position: int) -> dict[Hashable, int]:
        """Values that a node reads in a position, in all of its turns, with the widths."""
        cycle = self.schedule.read_cycles(i)[position]
        turns = self.folds.turns.get(i)
        # what is made in the same turn comes from one operator, whatever the turn
        if turns is None or self.folds.inside(self.graph, i, position):
            a = self.graph.nodes[i].args[position]
            read = self.schedule.read(a, cycle)
            return {read: self._width(a)}
        found: dict[Hashable, int] = {}
        offset = cycle - self.schedule.slots[i].start
        for turn in turns:
            a = turn.args[position]
            start = self.schedule.slots[turn.node].start
            read = self.schedule.read(a, start + offset)
            found[read] = self._width(a)
        return found

    def _choice(self, widths: Mapping[Hashable, int]) -> float:
        """Look-up tables of a multiplexer with inputs of these widths."""
        bits = widths.values()
        return self.fabric.multiplexer * (sum(bits) - max(bits))

    def _accumulator_registers(self, accumulator: Accumulator) -> int:
        """Bits of an accumulator, and of the registers before it."""
        before = self.schedule.device.aligning_cycles
        if self._starts(accumulator):
            before += self.schedule.operators.starting_cycles
        return accumulator.width * (1 + before)

    def _stores(self) -> Iterator[_Store]:
        """The lanes of results, and the FIFOs that lead back into the pipelines."""
        plan = self.plan
        tasks = self.tasks
        for name in lane_names(plan, tasks):
            bits, rows = lane_memory(plan, tasks, name)
            yield _Store(bits, rows, in_block_memory(tasks, name))
        for e in self.schedule.programs.exits:
            if e.name not in LOOPS:
                continue
            yield _Store(
                bits=loop_bits(plan, e.name),
                rows=exit_depth(plan, tasks, e.name),
                in_block_memory=loop_in_block_memory(plan, e.name),
            )

    def _block_memories(self, bits: int, rows: int) -> int:
        """Block memories for so many rows of so many bits: side by side, and one after another."""
        columns = -(-bits // self.fabric.memory_width)
        stacked = -(-rows // self.fabric.memory_rows)
        return columns * stacked

    def _bypass(self, fifo: Fifo) -> float:
        """Look-up tables of a FIFO between units."""
        width = sum(map(self._width, fifo.values))
        return self._fifo(fifo.depth, width)

    def _fifo(self, depth: int, bits: int) -> float:
        """Look-up tables of a FIFO in distributed memory."""
        rows = -(-depth // self.fabric.fifo_depth)
        return self.fabric.fifo * rows * bits

    def _entry_registers(self) -> int:
        """Bits of the task register and the stream's, and of the operands that enter."""
        tasks = self.tasks
        beats = max(tasks.task_beats(name) for name in tasks.functions)
        task_bits = beats * tasks.task.beat_bits
        # a stream register has two words
        result_bits = 2 * tasks.result.beat_bits
        total = task_bits + result_bits
        if self.schedule.entry_cycles:
            for name in self.schedule.programs.operands:
                operand = self.graph.inputs[name]
                total += self._width(operand)
        return total

    def _inside(self, i: int) -> int:
        """Bits of the registers within the operator of node ``i``."""
        node = self.graph.nodes[i]
        if node.operation.moves_by_data:
            argument = self._width(node.args[-1])
            width = argument + self._width(i)
            return self.schedule.device.shift_cycles * width
        if i in self.fixed.constants:
            return self._inside_multiple(i)
        return 0

    def _inside_multiple(self, i: int) -> int:
        """The same for a constant factor: what is made before a register and used behind it."""
        graph = self.fixed.constants[i].graph
        node = self.graph.nodes[i]
        argument = self._width(node.args[0])
        stages = self.schedule.operators.scale_stages(i)
        total = 0
        for level in accumulate(stages[:-1]):
            for k in graph.crossing(level):
                total += argument + graph.growth(k)
        return total

    def _operator(self, i: int) -> float:
        """Look-up tables of one operation's own hardware."""
        node = self.graph.nodes[i]
        fmt = self.formats[i]
        operation = node.operation
        if not operation.rounds and not operation.is_partial:
            return OPERATORS[node.op].tables(self.fabric, 0, 0, fmt.width)
        arguments = self.folds.arguments(self.fixed, i)
        frac, low, high = self.fixed.exact(i, arguments)
        exact = max(low.bit_length(), high.bit_length()) + 1
        drop = frac - fmt.frac
        rounded = exact - drop
        total = self._computation(i, node, exact)
        if drop > 0 and i not in self.fixed.truncated:
            total += self._rounding(node, rounded)
        if not self.fixed.may_overflow(i):
            return total
        if self.fixed.saturates:
            return total + self.fabric.saturation * fmt.width
        beyond = max(rounded - fmt.width, 1)
        return total + self.fabric.flag * beyond

    def _rounding(self, node: Node, bits: int) -> float:
        """Look-up tables that round an operation's result to so many bits."""
        adder = self.fabric.adder * bits + self.fabric.carry
        if node.terms.adds_two:
            return self.fabric.rounding * adder
        return adder

    def _computation(self, i: int, node: Node, exact: int) -> float:
        """Look-up tables of an exact result of so many bits, before it is rounded."""
        argument = self._width(node.args[-1])
        if i in self.fixed.constants:
            graph = self.fixed.constants[i].graph
            count = len(graph.additions)
            bits = count * argument + sum(graph.adder_growths)
            return self.fabric.adder * bits + self.fabric.carry * count
        # products are in multiplier blocks
        if node.products:
            return 0.0
        return OPERATORS[node.op].tables(self.fabric, exact, argument, self._width(i))

    def _turns(self, i: int) -> float:
        """Look-up tables that choose the arguments of a folded operation, and their signs, by turn."""
        turns = self.folds.turns.get(i, ())
        if not turns:
            return 0.0
        total = 0.0
        for position, a in enumerate(turns[0].args):
            width = self._width(a)
            if not self.folds.inside(self.graph, i, position):
                inputs = {turn.args[position] for turn in turns}
                further = len(inputs) - 1
                total += self.fabric.multiplexer * width * further
            if position in self.folds.signed(i):
                total += self.fabric.sign * width
        return total
