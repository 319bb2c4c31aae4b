"""What a plan takes of a device beside multiplier blocks: look-up tables, registers and block memories, modelled.

Counts follow from the operators' widths; the factors are fitted to syntheses for ECP5. What place and route uses is a
measurement, and another thing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from itertools import accumulate

from rbdgen.host.tasks import TaskFormat
from rbdgen.ir.fixed import ROUNDED, FixedGraph
from rbdgen.ir.folds import Folds
from rbdgen.layout.columns import MULTIPLEXER, SIGN
from rbdgen.schedule.buffers import Plan
from rbdgen.schedule.delays import TABLES, scale_stages
from rbdgen.schedule.queues import (
    LOOPS,
    exit_places,
    in_block_memory,
    lane_memory,
    lane_names,
    loop_bits,
    loop_in_block_memory,
)
from rbdgen.schedule.times import Schedule

SATURATION = 1.9
"""Look-up tables per bit of a result that can saturate."""
FLAG = 0.5
"""Look-up tables per bit that only an overflow's flag looks at."""
SHIFTER = 3.0
"""Look-up tables per bit and level of a shifter."""
CARRY = 3.0
"""Look-up tables of a sum beyond its bits."""
FIFO = 2.6
"""Look-up tables per bit of a FIFO in distributed memory of up to :data:`FIFO_DEPTH` entries."""
FIFO_DEPTH = 16
MEMORY_WIDTH = 36
"""Bits that a block memory reads at once."""
MEMORY_ROWS = 512
"""Rows of that width that a block memory has."""
CONTROL = 1200
"""Look-up tables of streams, phases and results, whatever the robot."""


@dataclass(frozen=True)
class Resources:
    """Multiplier blocks, look-up tables with four inputs, registers, and block memories."""

    multipliers: int
    luts: int
    registers: int
    memories: int

    def as_dict(self) -> dict[str, int]:
        """By name, as a board has them."""
        return asdict(self)


def estimate(plan: Plan, tasks: TaskFormat) -> Resources:
    """The model's figures for ``plan`` and the results of its ``tasks``."""
    schedule = plan.schedule
    fixed, folds = schedule.fixed, schedule.folds
    luts = float(CONTROL)
    for i, node in fixed.graph:
        if folds.template(i) == i:
            luts += _operator(fixed, folds, i) if node.op != "mul" else 0.0
            luts += _turns(schedule, i)
    for nodes in schedule.products.values():
        roundings: dict[tuple[int, int, bool], float] = {}
        for i, way in schedule.ways(nodes).items():
            roundings[way] = max(roundings.get(way, 0.0), _operator(fixed, folds, i))
        luts += sum(roundings.values())
        for side in (0, 1):
            args = [(fixed.graph.nodes[i].args[schedule.factors(i)[side]], schedule.slots[i].start) for i in nodes]
            inputs = {schedule.read(a, cycle): fixed.formats[a].width for a, cycle in args}
            luts += MULTIPLEXER * (sum(inputs.values()) - max(inputs.values()))
    luts += sum(_fifo(f.depth, sum(fixed.formats[v].width for v in f.values)) for f in plan.fifos)
    memories = sum(schedule.tables.values())
    stores = [(*lane_memory(plan, tasks, name), in_block_memory(tasks, name)) for name in lane_names(plan, tasks)]
    for e in schedule.programs.exits:
        if e.name in LOOPS:
            rows = exit_places(plan, tasks, e.name)
            stores.append((loop_bits(plan, e.name), rows, loop_in_block_memory(plan, e.name)))
    for bits, rows, block in stores:
        if block:
            memories += -(-bits // MEMORY_WIDTH) * -(-rows // MEMORY_ROWS)
        else:
            luts += _fifo(rows, bits)
    return Resources(schedule.blocks, round(luts), plan.register_bits + _other_registers(plan, tasks), memories)


def _other_registers(plan: Plan, tasks: TaskFormat) -> int:
    """Registers beside those that carry values from one operation to another: the task register and the stream's, the
    operands that enter, and those within operators."""
    schedule = plan.schedule
    fixed, programs = schedule.fixed, schedule.programs
    beats = max(tasks.task_beats(name) for name in tasks.functions)
    total = beats * tasks.task.beat_bits + 2 * tasks.result.beat_bits
    if schedule.entry_cycles:
        total += sum(fixed.formats[fixed.graph.inputs[name]].width for name in programs.operands)
    return total + sum(_inside(schedule, i) for i, _ in fixed.graph if schedule.folds.template(i) == i)


def _inside(schedule: Schedule, i: int) -> int:
    """Bits of the registers within the operator of node ``i``."""
    fixed, node = schedule.fixed, schedule.fixed.graph.nodes[i]
    width = fixed.formats[i].width
    if node.op in ("normalise", "rescale"):
        return schedule.device.shift_cycles * (fixed.formats[node.args[-1]].width + width)
    if node.op != "scale":
        return 0
    constant, argument = fixed.constants[i], fixed.formats[node.args[0]].width
    terms, total = len(constant.digits), 0
    stages = scale_stages(fixed, schedule.device, i, schedule.folds)
    for level in accumulate(stages[:-1]):
        # every sum so far spans its share of the constant's digits
        sums = -(-terms // (1 << level))
        total += sums * (argument + abs(constant.mantissa).bit_length() // sums)
    return total


def _fifo(depth: int, bits: int) -> float:
    """Look-up tables of a FIFO in distributed memory."""
    return FIFO * -(-depth // FIFO_DEPTH) * bits


def _operator(fixed: FixedGraph, folds: Folds, i: int) -> float:
    """Look-up tables of one operation's own hardware."""
    node, width = fixed.graph.nodes[i], fixed.formats[i].width
    if node.op not in (*ROUNDED, "normalise"):
        return 2.0 * width if node.op in TABLES else 0.0
    frac, low, high = fixed.exact(i, folds.arguments(fixed, i))
    exact, drop = max(low.bit_length(), high.bit_length()) + 1, frac - fixed.formats[i].frac
    total = 0.0
    if node.op in ("add", "sub", "neg"):
        total += exact + CARRY
    if node.op == "scale":
        argument = fixed.formats[node.args[0]].width
        total += (len(fixed.constants[i].digits) - 1) * (argument + 2 + CARRY)
    if node.op in ("normalise", "rescale"):
        argument = fixed.formats[node.args[-1]].width
        total += SHIFTER * (argument + width) * max(argument - 2, 1).bit_length() / 2
    if drop > 0 and i not in fixed.truncated:
        total += exact - drop + CARRY
    if fixed.may_overflow(i):
        total += SATURATION * width if fixed.saturate else FLAG * max(exact - drop - width, 1)
    return total


def _turns(schedule: Schedule, i: int) -> float:
    """Look-up tables that choose the arguments of a folded operation, and their signs, by turn."""
    turns, fixed = schedule.folds.turns.get(i, ()), schedule.fixed
    if not turns:
        return 0.0
    total = 0.0
    for position, a in enumerate(turns[0].args):
        if not schedule.folds.inside(fixed.graph, i, position):
            inputs = Counter(turn.args[position] for turn in turns)
            total += MULTIPLEXER * fixed.formats[a].width * (len(inputs) - 1)
        if position in schedule.folds.signed(i):
            total += SIGN * fixed.formats[a].width
    return total
