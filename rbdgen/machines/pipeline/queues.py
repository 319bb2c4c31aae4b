"""Every FIFO of an accelerator by its path in the hardware, and how deep it must be.

Bypass FIFOs between units are the plan's (:mod:`rbdgen.machines.pipeline.buffers`). Those around the pipelines follow
from the exits: a header waits while its task is in the pipeline; a lane keeps the results of one exit until they are
sent, and the feedback FIFOs tasks between their two passes, or between two evaluations of a roll-out. Credits let a
task start only if its exit has room left, so that none of these is ever over its depth. Not here: how tasks are told
when to start (the hardware's top level).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rbdgen.ir.programs import Exit
from rbdgen.machines.pipeline.buffers import Plan, exit_unit, fifo_depth
from rbdgen.machines.pipeline.schedule import chain_length
from rbdgen.protocol.tasks import HEADER_BITS, TaskFormat
from rbdgen.tracing.network import AGAIN, FEEDBACK

LOOPS = (FEEDBACK, AGAIN)
"""Exits that lead back into the pipelines."""
ERROR_DEPTH = 2
"""Answers to unknown functions that may wait."""
BLOCK_BITS = 400
"""Bits from which on a lane or the feedback is in block memory: that is slower, and what is narrow wastes it."""
MOST_BLOCK_BITS = 2304
"""Bits up to which the feedback is in block memory: its words are written at once, so that it is as wide."""


def lane_names(plan: Plan, tasks: TaskFormat) -> tuple[str, ...]:
    """The lanes by which results leave: exits that have the name of a function, of one that leaves there."""
    exits = plan.schedule.programs.exits
    return tuple(e.name for e in exits if e.name in tasks.functions)


def header_depth(plan: Plan, name: str) -> int:
    """Headers that wait at once for their tasks to leave by an exit."""
    schedule = plan.schedule
    leaves = schedule.entry_cycles + plan.exits[name]
    # a header is written at its task's admission
    return fifo_depth(0, leaves, schedule.ii)


def exit_depth(plan: Plan, tasks: TaskFormat, name: str) -> int:
    """Results of an exit that must find room at once, so that the pipeline stays full while the sink takes a beat in
    every cycle."""
    ii = plan.schedule.ii
    leaves = plan.schedule.entry_cycles + plan.exits[name]
    if name in LOOPS:
        wait = ii + loop_cycles(plan, name) - 1
    else:
        # a credit that is given back a cycle later keeps its place for that cycle
        wait = send_cycles(plan, tasks, name) + chosen_ahead(plan)
    return chain_length(0, leaves + 1 + wait, ii) + 1


def chosen_ahead(plan: Plan) -> bool:
    """Whether the choice among lanes is made in the cycle before, and a lane's credit is given back in the cycle after:
    where it is made from registers."""
    return plan.schedule.device.lane_registers > 0


def in_block_memory(tasks: TaskFormat, function: str) -> bool:
    """Whether a function's results wait for the stream in block memory."""
    words = tasks.functions[function].results
    bits = HEADER_BITS + sum(word.format.width for word in words)
    return bits >= BLOCK_BITS and tasks.result_beats(function) > 1


def loop_bits(plan: Plan, name: str) -> int:
    """Bits of an entry of the FIFO behind an exit that leads back into the pipelines."""
    fixed = plan.schedule.fixed
    bits = HEADER_BITS
    for e in plan.schedule.programs.exits:
        if e.name == name:
            nodes = [fixed.graph.outputs[result] for result in e.results]
            bits += sum(fixed.formats[i].width for i in nodes)
    return bits


def loop_in_block_memory(plan: Plan, name: str) -> bool:
    """Whether what leaves by an exit waits for its next pass in block memory, where it is there a cycle later."""
    if name != FEEDBACK:
        return False
    return BLOCK_BITS <= loop_bits(plan, name) <= MOST_BLOCK_BITS


def loop_cycles(plan: Plan, name: str) -> int:
    """Cycles from the one in which a task leaves by an exit that leads back into the pipelines to the first in which it
    may be admitted again: one behind the writing, one more from block memory, and one where it is written from
    registers."""
    device = plan.schedule.device
    return 1 + loop_in_block_memory(plan, name) + device.loop_registers


def lane_memory(plan: Plan, tasks: TaskFormat, name: str) -> tuple[int, int]:
    """Width and depth of a lane's memory: a row for each beat, and a power of two of them for each result."""
    widths = [word.format.width for word in tasks.functions[name].results]
    rows = beat_rows(tasks.result_beats(name), exit_depth(plan, tasks, name))
    return sum(tasks.result.columns(widths)), rows


def beat_rows(beats: int, results: int) -> int:
    """Rows of a memory for so many ``results``, a power of two of them for each but the last."""
    shift = (beats - 1).bit_length()
    return ((results - 1) << shift) + beats


def send_cycles(plan: Plan, tasks: TaskFormat, function: str) -> int:
    """Cycles from a result in its lane to the last beat's offer: one per beat, and one more where they come from block
    memory, and where the lane is chosen ahead."""
    beats = tasks.result_beats(function)
    return beats + in_block_memory(tasks, function) + chosen_ahead(plan)


@dataclass(frozen=True)
class Queue:
    """A FIFO as it is built: ``name`` is the path of its instance below the top level, ``kind`` is bypass, headers,
    feedback, lane or rows. It takes ``words`` of tasks of ``program`` from ``source`` to ``sink``, and is ``depth``
    entries deep."""

    name: str
    kind: str
    program: str
    source: str
    sink: str
    words: int
    depth: int

    def inside(self, instance: str) -> Queue:
        """The same FIFO within an accelerator that is an ``instance`` of a larger whole."""
        return replace(self, name=f"{instance}.{self.name}")


def queues(plan: Plan, tasks: TaskFormat) -> tuple[Queue, ...]:
    """All FIFOs of one accelerator."""
    found = []
    for fifo in plan.fifos:
        found.append(
            Queue(
                name=f"core.{fifo.name}",
                kind="bypass",
                program=fifo.program,
                source=fifo.source,
                sink=fifo.sink,
                words=len(fifo.values),
                depth=fifo.depth,
            )
        )
    for e in plan.schedule.programs.exits:
        found.append(_header_queue(plan, e))
        found.append(_result_queue(plan, tasks, e))
    # answers to unknown functions are of no program
    first = plan.schedule.programs.names[0]
    errors = Queue("lane_error.queue", "lane", first, "tasks", "results", 1, ERROR_DEPTH)
    return (*found, errors)


def _header_queue(plan: Plan, e: Exit) -> Queue:
    """Where the headers of tasks wait that will leave by an exit."""
    return Queue(
        name=f"headers_{e.name}",
        kind="headers",
        program=e.program,
        source="tasks",
        sink=e.name if e.name in LOOPS else f"lane_{e.name}",
        words=1,
        depth=header_depth(plan, e.name),
    )


def _result_queue(plan: Plan, tasks: TaskFormat, e: Exit) -> Queue:
    """Where an exit's results wait: a lane, or a FIFO that leads back into the pipelines."""
    lane = Queue(
        name=f"lane_{e.name}.queue",
        kind="lane",
        program=e.program,
        source=exit_unit(e.name),
        sink="results",
        words=1 + len(e.results),
        depth=exit_depth(plan, tasks, e.name),
    )
    if e.into is None:
        return lane
    return replace(lane, name=e.name, kind="feedback", sink=e.into)
