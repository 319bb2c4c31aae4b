"""An independent checker of schedules and plans: it recomputes every rule and shares no code with the scheduler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rbdgen.ir.programs import Exit
from rbdgen.schedule.beats import Beat
from rbdgen.schedule.buffers import Plan
from rbdgen.schedule.check_connections import ConnectionCheck
from rbdgen.schedule.check_operations import OperationCheck, check_turns


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
