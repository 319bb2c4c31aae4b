"""Several accelerators behind one stream: what stands around them, and how deep it must be.

Rows of tasks are dealt to the accelerators lane by lane (:mod:`rbdgen.protocol.tasks`), and their results put back into
rows. A result finds a place that was kept for it when its task came, so that accelerators never wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rbdgen.errors import ConfigError
from rbdgen.machines.pipeline.buffers import Plan
from rbdgen.machines.pipeline.queues import (
    Queue,
    beat_rows,
    lane_names,
    loop_cycles,
    queues,
    send_cycles,
)
from rbdgen.protocol.tasks import (
    FUNCTION_BITS,
    HEADER_BITS,
    TAG_BITS,
    TaskFormat,
)
from rbdgen.tracing.network import FEEDBACK

MOST_ROWS = 1 << TAG_BITS
"""Rows that may be under way: inside, a task's tag is the number of its place."""
DEALING_CYCLES = 1
"""From a row to its accelerators: a register that cuts the way to them."""
COLLECTING_CYCLES = 2
"""From an accelerator's last beat to the row's first: into a memory, and out of it."""
CREDIT_CYCLES = 2
"""From a row that has left to the next that may come, and one for the row that comes while it leaves."""


def around_cycles(tasks: TaskFormat, function: str) -> int:
    """Cycles that several accelerators behind one stream add to a task: a result is sent when all of it is there."""
    if tasks.replicas == 1:
        return 0
    again = tasks.result_beats(function) - 1
    return DEALING_CYCLES + COLLECTING_CYCLES + again


def row_depth(plan: Plan, tasks: TaskFormat) -> int:
    """Rows that may be under way, a power of two: as many as keep all accelerators full. ConfigError where those are
    more than tags can number."""
    ii = plan.schedule.ii
    entry = plan.schedule.entry_cycles
    longest = 0
    for name in lane_names(plan, tasks):
        leaves = entry + plan.exits[name] + 1 + send_cycles(plan, tasks, name)
        longest = max(longest, leaves + around_cycles(tasks, name))
    if FEEDBACK in plan.exits:
        # a task of two passes goes through twice, and waits for an interval between them
        longest += entry + plan.exits[FEEDBACK] + loop_cycles(plan, FEEDBACK) + ii
    inside = most_task_beats(tasks) + longest + CREDIT_CYCLES
    rows = -(-inside // ii) + 1
    depth = 1 << (rows - 1).bit_length()
    if depth > MOST_ROWS:
        raise ConfigError(
            f"replicas: at an interval of {ii} cycles {rows} rows of tasks would be under way, and tags number "
            f"{MOST_ROWS}; use a longer --ii, a slower --clock or --replicas 1"
        )
    return depth


def most_task_beats(tasks: TaskFormat) -> int:
    """Beats of the longest task."""
    return max(map(tasks.task.beats, tasks.task_words.values()))


def most_result_beats(tasks: TaskFormat) -> int:
    """Beats of the longest result."""
    return max(map(tasks.result_beats, tasks.functions))


def result_lengths(tasks: TaskFormat) -> dict[int, int]:
    """Beats of results by their function's code; all others have one."""
    return {f.code: tasks.result_beats(f.name) for f in tasks.functions.values()}


def task_lengths(tasks: TaskFormat) -> dict[int, int]:
    """Beats of tasks by their function's code; all others have one."""
    return {code: tasks.task.beats(words) for code, words in tasks.task_words.items()}


def result_columns(tasks: TaskFormat) -> list[int]:
    """At each position in a beat the bits of the widest word of any result that stands there."""
    size = tasks.result.words_per_beat
    found = [0] * size
    for function in tasks.functions.values():
        widths = [word.format.width for word in function.results]
        for k, bits in enumerate(tasks.result.columns(widths)):
            found[k] = max(found[k], bits)
    return found


def row_entry_bits(tasks: TaskFormat) -> int:
    """Bits of what is kept of a row until its results have left: for each lane whether there is a task, its function's
    code and its tag; and whether it loads a parameter."""
    return tasks.replicas * (1 + FUNCTION_BITS + TAG_BITS) + bool(tasks.parameters)


def replica_name(number: int) -> str:
    """The instance of an accelerator among several."""
    return f"accelerator{number}"


def all_queues(plan: Plan, tasks: TaskFormat) -> tuple[Queue, ...]:
    """All FIFOs of a design, by their paths below its top level: those of every accelerator, and of several of them the
    one of the rows under way."""
    own = queues(plan, tasks)
    if tasks.replicas == 1:
        return own
    return (*_copies(own, tasks.replicas), _row_queue(plan, tasks))


def _copies(own: tuple[Queue, ...], replicas: int) -> Iterator[Queue]:
    """The FIFOs of each of several accelerators."""
    for k in range(replicas):
        for queue in own:
            yield queue.inside(replica_name(k))


def _row_queue(plan: Plan, tasks: TaskFormat) -> Queue:
    """Where rows wait for their results."""
    program = plan.schedule.programs.names[0]
    depth = row_depth(plan, tasks)
    return Queue("collector.rows", "rows", program, "tasks", "results", tasks.replicas, depth)


@dataclass(frozen=True)
class Surroundings:
    """Hardware around several accelerators, in bits: ``registers``, choices between two (``chosen``); rows and bits
    of each FIFO in distributed memory (``fifos``), and of each block memory (``memories``)."""

    registers: int
    chosen: int
    fifos: tuple[tuple[int, int], ...]
    memories: tuple[tuple[int, int], ...]


def surroundings(plan: Plan, tasks: TaskFormat) -> Surroundings:
    """The hardware around the accelerators of a design."""
    replicas = tasks.replicas
    if replicas == 1:
        return Surroundings(0, 0, (), ())
    depth = row_depth(plan, tasks)
    counters = 2 * depth.bit_length()
    # a stream register has two words and a choice between them; the load of a parameter comes from lane 0; and for each
    # place a register says whether its result is there
    chosen = tasks.task.beat_bits + 2 * TAG_BITS + 2 * depth
    if tasks.parameters:
        chosen += tasks.task.beat_bits
    registers = 2 * tasks.task.beat_bits + counters + HEADER_BITS + depth
    rows = beat_rows(most_result_beats(tasks), depth)
    memory = rows, sum(result_columns(tasks))
    under_way = depth, row_entry_bits(tasks)
    return Surroundings(
        replicas * registers,
        replicas * chosen,
        (under_way,),
        (memory,) * replicas,
    )
