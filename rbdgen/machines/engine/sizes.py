"""Memories: as large as programs need, or whether those of a core are large enough."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from rbdgen.errors import ConfigError
from rbdgen.ir.graph import Graph
from rbdgen.machines.engine.allocation import Constants, needed_words, place_constants
from rbdgen.machines.engine.core import CIRCLING, LANES, ROOM, Core, RoomError
from rbdgen.machines.engine.jobs import Work
from rbdgen.machines.engine.placing import Schedule
from rbdgen.machines.engine.special import is_special

ROWS = 512
"""Words by which memories grow: those of a block memory of 36 bits."""
MOST_WORDS, MOST_DEPTH = 4096, 1 << 16
"""Words of a bank, and of a program, that there may be at most."""


def needed_core(
    core: Core, schedules: Mapping[str, Schedule], parameters: Iterable[str] = ()
) -> Core:
    """The core with memories as large as these schedules and parameters need. ConfigError where there are none that
    do."""
    constants = constants_of(schedules, core, parameters)
    needed = max(needed_words(schedule) for schedule in schedules.values())
    words = max(constants.words + needed, ROWS)
    depth = _rows(sum(schedule.interval for schedule in schedules.values()))
    most_lanes = max(LANES)
    for name, count, most, more in (
        ("bank", words, MOST_WORDS, LANES[most_lanes] / core.banks),
        ("program", depth, MOST_DEPTH, most_lanes / core.lanes),
    ):
        if count > most:
            # with more lanes a program is shorter, and values are in more banks
            remedies = [f"--lanes {most_lanes}"] if count < most * more else []
            remedies += ["fewer functions"] if len(schedules) > 1 else []
            raise ConfigError(
                f"{', '.join(schedules)}: {count} words of each {name} are needed, and there can be {most}; "
                f"{' or '.join([*remedies, 'C (rbdgen emit)'])} would do"
            )
    # all tasks that are under way have room, and one more, so that none waits for it
    results = max((s.stages + 1) * (len(s.work.results) + 1) for s in schedules.values())
    operands = sum(len(s.work.inputs) for s in schedules.values())
    # of those that repeat, all that circle and one that enters
    repeating = [s.work for s in schedules.values() if s.work.repeats]
    for work in repeating:
        results = max(results, (CIRCLING + 1) * (len(work.results) + 1))
    kept = max((CIRCLING * work.staying for work in repeating), default=0)
    return replace(
        core,
        # a power of two, as addresses wrap around
        words=1 << (words - 1).bit_length(),
        depth=depth,
        results=_rows(results),
        limits=_rows(2 * operands) // 2,
        kept=_rows(kept),
    )


def check_least(graph: Graph, functions: Iterable[str], lanes: int, times: int = 1) -> None:
    """ConfigError where the programs of an engine's ``graph`` are too long on so many ``lanes``, however they are
    scheduled, and were it so many ``times`` smaller."""
    slots = least_slots(graph) // times
    words = -(-slots // lanes)
    if words <= MOST_DEPTH:
        return
    enough = max(LANES) > lanes and slots <= MOST_DEPTH * max(LANES)
    more = f"--lanes {max(LANES)}, " if enough else ""
    raise ConfigError(
        f"{', '.join(functions)}: at least {slots} products and sums, {words} words of program on {lanes} lanes, and "
        f"there can be {MOST_DEPTH}; {more}fewer functions, weighted sums of second derivatives (hid, hfd), or C "
        "(rbdgen emit) would do"
    )


def check_traced(graph: Graph, functions: Iterable[str], lanes: int) -> None:
    """The same of a graph as it was traced, of which simplification leaves no less than a :data:`LEFT` part: what is
    as large as that would take minutes to be simplified."""
    check_least(graph, functions, lanes, LEFT)


LEFT = 4
"""By how many times at most a graph becomes smaller by simplification: by 1.2 to 2.1 times in second derivatives and
others of arms, a quadruped and a humanoid."""


def least_slots(graph: Graph) -> int:
    """Slots that a graph takes at least: one for each product, and one for two addends of a sum."""
    slots = 0
    for node in graph.nodes:
        if node.terms.count and not is_special(node):
            slots += len(node.products) + (len(node.addends) + 1) // 2
    return slots


def _rows(count: int) -> int:
    """So many words in whole block memories."""
    return -(-count // ROWS) * ROWS


def constants_of(
    schedules: Mapping[str, Schedule], core: Core, parameters: Iterable[str], first: int = 0
) -> Constants:
    """Places of all parameters and constants, zero among them, from a ``first`` word of each bank on."""
    read = [x for schedule in schedules.values() for x in schedule.work.constants]
    return place_constants([*parameters, 0, *read], core, first)


def check_sizes(core: Core, schedules: Mapping[str, Schedule], first: int = 0) -> None:
    """ConfigError where program memory, from its ``first`` word on, or the room for results is too small."""
    depth = first + sum(schedule.interval for schedule in schedules.values())
    if depth > core.depth:
        needed = _rows(depth)
        raise RoomError(
            f"program: {depth} words are needed, {depth - core.depth} more than there are; an engine with {needed} "
            "would do, or fewer functions",
            depth=depth,
        )
    for name, schedule in schedules.items():
        operands = len(schedule.work.inputs)
        if core.lean and operands + ROOM >= core.waiting:
            raise RoomError(
                f"function {name!r}: a task has {operands} operands, and there is room for "
                f"{core.waiting - ROOM - 1} in words that wait; an engine that is not lean would do",
                waiting=operands + ROOM + 1,
            )
        count = len(schedule.work.results) + 1
        # tasks start where there is room for a word more
        lacking = count + 1 - core.results
        if lacking > 0:
            needed = needed_core(core, schedules).results
            raise RoomError(
                f"function {name!r}: its results need {count + 1} words, {lacking} more than there are; an engine with "
                f"{needed} would do",
                results=count + 1,
            )
        if schedule.work.repeats:
            _check_kept(core, name, schedule.work)


def _check_kept(core: Core, name: str, work: Work) -> None:
    """ConfigError where an engine has no room for what tasks of a function that repeats keep."""
    needed = CIRCLING * work.staying
    if needed > core.kept:
        raise RoomError(
            f"function {name!r}: repeats, and its tasks keep {needed} words from step to step, {needed - core.kept} "
            f"more than there are; an engine with {_rows(needed)} would do",
            kept=needed,
        )
    waiting = (CIRCLING + 1) * (len(work.results) + 1)
    if waiting > core.results:
        raise RoomError(
            f"function {name!r}: repeats, and the results of all steps under way need {waiting} words, "
            f"{waiting - core.results} more than there are; an engine with {_rows(waiting)} would do",
            results=waiting,
        )
