"""Every FIFO of an accelerator by its place in the hardware, and how deep it must be.

Bypass FIFOs between units are the plan's (:mod:`rbdgen.schedule.buffers`). Those around the pipelines follow from the
exits: a header waits while its task is in the pipeline; a lane keeps the results of one exit until they are sent, and
the feedback FIFOs tasks between their two passes, or between two evaluations of a roll-out. Credits let a task start
only if its exit has a place left, so that none of these is ever over its depth. Not here: how tasks are told when to
start (the hardware's top level).
"""

from __future__ import annotations

from dataclasses import dataclass

from rbdgen.host.tasks import HEADER_BITS, TaskFormat
from rbdgen.layout.network import DYNAMICS, FEEDBACK
from rbdgen.layout.rollout import AGAIN
from rbdgen.schedule.buffers import Plan, exit_unit, fifo_depth
from rbdgen.schedule.times import chain_length

LOOPS = (FEEDBACK, AGAIN)
"""Exits that lead back into the pipelines."""
ERROR_PLACES = 2
"""Places for answers to unknown functions."""
BLOCK_BITS = 400
"""Bits from which on a lane or the feedback is in block memory: that is slower, and what is narrow wastes it."""
MOST_BLOCK_BITS = 2304
"""Bits up to which the feedback is in block memory: its words are written at once, so that it is as wide."""


def lane_names(plan: Plan, tasks: TaskFormat) -> tuple[str, ...]:
    """The lanes by which results leave: exits that have the name of a function, of one that leaves there."""
    return tuple(e.name for e in plan.schedule.programs.exits if e.name in tasks.functions)


def header_places(plan: Plan, name: str) -> int:
    """Tasks that may be on their way to an exit at once."""
    return fifo_depth(0, plan.schedule.entry_cycles + plan.exits[name], plan.schedule.ii)


def exit_places(plan: Plan, tasks: TaskFormat, name: str) -> int:
    """Results of an exit that must find room to keep the pipeline full while the sink takes a beat in every cycle."""
    ii, last = plan.schedule.ii, plan.schedule.entry_cycles + plan.exits[name]
    if name in LOOPS:
        wait = ii + loop_cycles(plan, name) - 1
    else:
        wait = send_cycles(plan, tasks, name) + chosen_ahead(plan)
    return chain_length(0, last + 1 + wait, ii) + 1


def chosen_ahead(plan: Plan) -> bool:
    """Whether the choice among lanes is made in the cycle before, and a lane's place is given back in the cycle after:
    where values have a long way across the device, lanes have it as well."""
    return plan.schedule.device.link > 0


def in_block_memory(tasks: TaskFormat, function: str) -> bool:
    """Whether a function's results wait for the stream in block memory."""
    bits = HEADER_BITS + sum(word.format.width for word in tasks.functions[function].results)
    return bits >= BLOCK_BITS and tasks.result_beats(function) > 1


def loop_bits(plan: Plan, name: str) -> int:
    """Bits of an entry of the FIFO behind an exit that leads back into the pipelines."""
    fixed = plan.schedule.fixed
    results = next(e.results for e in plan.schedule.programs.exits if e.name == name)
    return HEADER_BITS + sum(fixed.formats[fixed.graph.outputs[r]].width for r in results)


def loop_in_block_memory(plan: Plan, name: str) -> bool:
    """Whether what leaves by an exit waits for its next pass in block memory, where it is there a cycle later."""
    return name == FEEDBACK and BLOCK_BITS <= loop_bits(plan, name) <= MOST_BLOCK_BITS


def loop_cycles(plan: Plan, name: str) -> int:
    """Cycles from the one in which a task leaves by an exit that leads back into the pipelines to the first in which it
    may be admitted again: one behind the writing, one more from block memory, and one where ways take time, as it is
    written from registers then."""
    return 1 + loop_in_block_memory(plan, name) + int(plan.schedule.device.link > 0)


def lane_memory(plan: Plan, tasks: TaskFormat, name: str) -> tuple[int, int]:
    """Width and depth of a lane's memory: a row for each beat, and a power of two of them for each result."""
    beats = tasks.result_beats(name)
    width = sum(tasks.result.columns([word.format.width for word in tasks.functions[name].results]))
    return width, beat_rows(beats, exit_places(plan, tasks, name))


def beat_rows(beats: int, places: int) -> int:
    """Rows of a memory that has a power of two of them for each result but the last, which are ``places``."""
    return ((places - 1) << (beats - 1).bit_length()) + beats


def send_cycles(plan: Plan, tasks: TaskFormat, function: str) -> int:
    """Cycles from a result in its lane to the last beat's offer: one per beat, and one more where they come from block
    memory, and where the lane is chosen ahead."""
    return tasks.result_beats(function) + in_block_memory(tasks, function) + chosen_ahead(plan)


@dataclass(frozen=True)
class Queue:
    """A FIFO as it is built: ``name`` is the path of its instance below the top level, ``kind`` is bypass, headers,
    feedback or lane. It takes ``words`` of tasks of ``program`` from ``source`` to ``sink``, and is ``depth`` entries
    deep."""

    name: str
    kind: str
    program: str
    source: str
    sink: str
    words: int
    depth: int


def queues(plan: Plan, tasks: TaskFormat) -> tuple[Queue, ...]:
    """All FIFOs of an accelerator."""
    found = [Queue(f"core.{f.name}", "bypass", f.program, f.source, f.sink, len(f.values), f.depth) for f in plan.fifos]
    program_of = {e.name: e.program for e in plan.schedule.programs.exits}
    for e in plan.schedule.programs.exits:
        after = e.name if e.name in LOOPS else f"lane_{e.name}"
        found.append(Queue(f"headers_{e.name}", "headers", e.program, "tasks", after, 1, header_places(plan, e.name)))
        names = (f"{after}.queue", "lane", "results")
        if e.name in LOOPS:
            names = (after, "feedback", program_of["dfd"] if e.name == FEEDBACK else DYNAMICS)
        name, kind, sink = names
        places = exit_places(plan, tasks, e.name)
        found.append(Queue(name, kind, e.program, exit_unit(e.name), sink, 1 + len(e.results), places))
    first = plan.schedule.programs.names[0]
    return (*found, Queue("lane_error.queue", "lane", first, "tasks", "results", 1, ERROR_PLACES))


def high_port(name: str) -> str:
    """The port at which a simulation shows a FIFO's high-water mark, by the FIFO's path."""
    return f"high_{name.replace('.', '__')}"


def fault_port(name: str) -> str:
    """The port at which a simulation shows whether a FIFO was ever written while full or read while empty."""
    return f"fault_{name.replace('.', '__')}"
