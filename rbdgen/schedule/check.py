"""An independent checker of schedules and plans: it recomputes every rule and shares no code with the scheduler."""

from __future__ import annotations

from collections import Counter

from rbdgen.ir.fixed import ROUNDED
from rbdgen.ir.graph import INPUT_OWNER
from rbdgen.ir.programs import Exit
from rbdgen.schedule.buffers import Plan


def check_plan(plan: Plan) -> None:
    """Raise ValueError naming the node, unit or FIFO that breaks a rule.

    Arguments are there before they are used, within a cycle as well; chained delays fit the period; no shared
    operator is used twice in one phase; every value that a unit reads arrives before, by a link that exists; FIFOs
    are written before they are read and are deep enough for a task every ii cycles.
    """
    schedule = plan.schedule
    graph, device, ii = schedule.fixed.graph, schedule.device, schedule.ii
    if len(schedule.slots) != len(graph.nodes):
        raise ValueError(f"schedule: must have {len(graph.nodes)} slots, not {len(schedule.slots)}")
    _check_turns(plan)
    places = {turn.node: (t, k) for t, members in schedule.folds.turns.items() for k, turn in enumerate(members)}
    units = schedule.folds.units
    busy: Counter[tuple[str, str, int, int]] = Counter()
    lookups: set[tuple[str, int, int]] = set()
    last = _last_units(plan) if device.multiply_cycles and device.link else set()
    for i, node in graph:
        slot, where = schedule.slots[i], f"node %{i} ({node.op})"
        delay, latency, first = 0.0, 0, 0.0
        if node.op in ("add", "sub", "neg") or (node.op == "round" and i not in schedule.fixed.truncated):
            delay = device.add
        elif node.op == "scale":
            levels = 0
            while (1 << levels) < len(schedule.fixed.constants[i].digits):
                levels += 1
            latency = slot.finish - slot.start
            # registers between levels: the first share of the levels is the longest, the last the shortest
            delay = 0.0 if levels == 0 else device.add + (levels // (latency + 1) - 1) * device.level
            first = 0.0 if levels == 0 else device.add + (-(-levels // (latency + 1)) - 1) * device.level
        elif node.op == "mul":
            delay, latency = device.multiply, device.multiply_cycles
            latency += node.owner in last
        elif node.op in ("normalise", "rescale"):
            latency = device.shift_cycles
            delay = first = device.shift / (latency + 1)
        elif node.op in ("table_sin", "table_cos", "table_reciprocal"):
            delay, latency, first = device.table_output, device.table_cycles, device.address
            first += device.select if ii // units.get(node.owner, 1) > 1 else 0.0
        turns = schedule.folds.turns[places[i][0]] if i in places else ()
        if len({turn.negated for turn in turns}) > 1:
            # the argument's sign is applied first: inverted before a sum, or a level more before a constant factor
            sign = device.select if node.op in ("add", "sub") else device.level
            first, delay = first + sign, delay + (0.0 if latency else sign)
        flag = 0.0
        if node.op in ROUNDED and schedule.fixed.may_overflow(i):
            delay += device.limit if schedule.fixed.saturate else 0.0
            flag = 0.0 if schedule.fixed.saturate else device.flag
        if slot.finish - slot.start != latency or slot.start < 0:
            raise ValueError(f"{where}: must take {latency} cycles, not {slot.start} to {slot.finish}")
        begin = 0.0 if latency else slot.ready - delay
        if begin < -1e-9 or slot.ready < delay - 1e-9 or slot.ready + flag > device.period + 1e-6:
            raise ValueError(f"{where}: must be ready within {device.period} ns, not at {slot.ready}")
        inside = _made_in_the_same_turn(plan, places, i)
        for a in node.args:
            made = schedule.slots[a]
            link = 0.0 if graph.nodes[a].op == "const" or graph.nodes[a].owner == node.owner else device.link
            if i in places and a not in inside and not _always_there(plan, a) and made.finish >= slot.start:
                raise ValueError(f"{where}: argument %{a} of a folded unit must come from a register")
            # what has registers leaves time for what is before the first of them
            limit = begin if not latency else device.period - first
            late = made.finish > slot.start or (made.finish == slot.start and made.ready + link > limit + 1e-9)
            if late or link > limit + 1e-9:
                raise ValueError(f"{where}: argument %{a} must be there at its start, is ready in cycle {made.finish}")
        if node.op == "mul":
            busy[node.owner, "mul", schedule.binding[i], slot.start % ii] += 1
            if schedule.binding[i] >= schedule.multipliers[node.owner]:
                raise ValueError(f"{where}: multiplier {schedule.binding[i]} of {node.owner} does not exist")
            registered = all(_always_there(plan, a) or schedule.slots[a].finish < slot.start for a in node.args)
            shared = ii // units.get(node.owner, 1) > 1
            if shared and (not registered or (not latency and begin < device.select - 1e-9)):
                raise ValueError(f"{where}: operands of a shared multiplier must come from registers")
        if (
            node.op in ("table_sin", "table_cos", "table_reciprocal")
            and (node.owner, node.args[0], slot.start) not in lookups
        ):
            lookups.add((node.owner, node.args[0], slot.start))
            busy[node.owner, "table", schedule.binding[i], slot.start % ii] += 1
            if schedule.binding[i] >= schedule.tables[node.owner]:
                raise ValueError(f"{where}: table {schedule.binding[i]} of {node.owner} does not exist")
    for (owner, kind, number, phase), count in busy.items():
        if count > 1:
            raise ValueError(f"unit {owner}: {kind} {number} is used {count} times in phase {phase}")
    for e in schedule.programs.exits:
        for name in e.results:
            if schedule.slots[graph.outputs[name]].finish > schedule.exits[e.name]:
                raise ValueError(f"result {name}: must be there in cycle {schedule.exits[e.name]}")
        _check_beats(plan, e)
    _check_links(plan)


def _last_units(plan: Plan) -> set[str]:
    """Units that no other unit reads and that read a factor of each of their products from another one."""
    graph = plan.schedule.fixed.graph
    nodes = [node for _, node in graph]
    reads = [(n, {nodes[a].owner for a in n.args if nodes[a].op != "const"}) for n in nodes]
    found = {n.owner for n in nodes if n.op == "mul"}
    found -= {n.owner for n, owners in reads if n.op == "mul" and owners <= {n.owner}}
    return found - {owner for n, owners in reads for owner in owners if owner != n.owner}


def _check_beats(plan: Plan, e: Exit) -> None:
    """A result's beats are taken after it is complete or before they are sent, and not while another's are."""
    schedule, beats = plan.schedule, plan.beats[e.name]
    first, cycles = beats[0].cycle, [beat.cycle for beat in beats]
    if sorted(r for beat in beats for r in beat.results) != sorted(e.results):
        raise ValueError(f"exit {e.name}: must take each of its results in one beat")
    if first < schedule.exits[e.name] or any(cycle > first + k for k, cycle in enumerate(cycles)):
        raise ValueError(f"exit {e.name}: must take beats when they are there and before they are sent, not {cycles}")
    if len(set(cycles)) < len(cycles) or max(cycles) - min(cycles) >= schedule.ii:
        raise ValueError(f"exit {e.name}: must take its beats in {schedule.ii} cycles, one in each, not {cycles}")
    graph = schedule.fixed.graph
    for beat in beats if len(beats) > 1 else ():
        for i in (graph.outputs[r] for r in beat.results):
            if graph.nodes[i].op != "const" and schedule.slots[i].finish >= beat.cycle:
                raise ValueError(f"exit {e.name}: %{i} must be in a register when it is taken in cycle {beat.cycle}")


def _always_there(plan: Plan, a: int) -> bool:
    """Whether a value is there in every cycle, or from the task's start."""
    return plan.schedule.fixed.graph.nodes[a].op in ("const", "input") or plan.programs[a] is None


def _made_in_the_same_turn(plan: Plan, places: dict[int, tuple[int, int]], i: int) -> set[int]:
    """The arguments of a folded operation that its own unit makes in the same turn with one operator, whatever the
    turn; ``places``: template and turn by node."""
    if i not in places:
        return set()
    nodes = plan.schedule.fixed.graph.nodes
    turns = plan.schedule.folds.turns[places[i][0]]
    found = set()
    for position, a in enumerate(turns[places[i][1]].args):
        makers = {places.get(turn.args[position], (-1, k)) for k, turn in enumerate(turns)}
        maker = places.get(a, (-1, 0))[0]
        if makers == {(maker, k) for k in range(len(turns))} and maker >= 0 and nodes[a].owner == nodes[i].owner:
            found.add(a)
    return found


def _check_turns(plan: Plan) -> None:
    """A folded unit's turns are the same operations, evenly spaced."""
    schedule = plan.schedule
    graph, fixed, ii = schedule.fixed.graph, schedule.fixed, schedule.ii
    seen: set[int] = set()
    for template, members in schedule.folds.turns.items():
        first, where = schedule.slots[template], f"node %{template} ({graph.nodes[template].op})"
        count = schedule.folds.units.get(graph.nodes[template].owner, 0)
        if not 0 < len(members) <= count or ii % count or members[0].node != template:
            raise ValueError(f"{where}: must have no more turns than its unit, and that a divisor of {ii}")
        for k, turn in enumerate(members):
            slot, node = schedule.slots[turn.node], graph.nodes[turn.node]
            step = k * (ii // count)
            if turn.node in seen:
                raise ValueError(f"{where}: %{turn.node} must have one turn only")
            seen.add(turn.node)
            if (slot.start, slot.finish, slot.ready) != (first.start + step, first.finish + step, first.ready):
                raise ValueError(f"{where}: turn {k} must be {step} cycles after the first")
            if k == 0 and turn.args != node.args:
                raise ValueError(f"{where}: turn 0 must have its arguments in their order")
            subtracted = {a for a, minus in zip(turn.args, turn.negated, strict=True) if minus}
            if node.op in ("add", "sub") and subtracted != ({node.args[1]} if node.op == "sub" else set()):
                raise ValueError(f"{where}: turn {k} must subtract what %{turn.node} does")
            if sorted(turn.args) != sorted(node.args) or node.owner != graph.nodes[template].owner:
                raise ValueError(f"{where}: turn {k} must have the arguments and the unit of %{turn.node}")
            if fixed.formats[turn.node] != fixed.formats[template]:
                raise ValueError(f"{where}: turn {k} must have the format {fixed.formats[template]}")
            if schedule.binding.get(turn.node) != schedule.binding.get(template):
                raise ValueError(f"{where}: turn {k} must use the operator of the first")


def _since(made: int, cycle: int, ii: int) -> int:
    """The first cycle in which what stands in ``cycle`` of a value made in cycle ``made`` stands there."""
    return cycle - (cycle - made - 1) % ii if cycle > made else cycle


def _made(plan: Plan, node: int) -> int:
    """The cycle after which a value stands in registers; operands come from one."""
    operand = plan.schedule.fixed.graph.nodes[node].op == "input" and plan.schedule.ii > 1
    return -1 if operand else plan.schedule.slots[node].finish


def _check_links(plan: Plan) -> None:
    schedule = plan.schedule
    graph, ii = schedule.fixed.graph, schedule.ii
    by_fifo = {(f.sink, v): f for f in plan.fifos for v in f.values}
    offered = {(u.name, t.node, t.cycle) for u in plan.units for t in u.outputs}
    for fifo in plan.fifos:
        where = f"FIFO {fifo.source} to {fifo.sink}"
        if fifo.read <= fifo.write:
            raise ValueError(f"{where}: must be read after cycle {fifo.write}, not in {fifo.read}")
        # entries alive at once: tasks start at least ii cycles apart; one more, as a full FIFO takes no entry
        alive = sum(1 for k in range(fifo.read - fifo.write + 1) if fifo.write + k * ii <= fifo.read)
        if fifo.depth < alive:
            raise ValueError(f"{where}: must be {alive} entries deep, not {fifo.depth}")
        if {plan.programs[v] for v in fifo.values} != {fifo.program}:
            raise ValueError(f"{where}: must carry values of program {fifo.program} only")
        for v in fifo.values:
            if schedule.slots[v].finish > fifo.write:
                raise ValueError(f"{where}: %{v} must be there when it is written in cycle {fifo.write}")
            if fifo.source != INPUT_OWNER and (fifo.source, v, fifo.write) not in offered:
                raise ValueError(f"{where}: {fifo.source} must offer %{v} in cycle {fifo.write}")
    for unit in plan.units:
        arrival = {t.node: t.cycle for t in unit.inputs}
        # what arrives in a register is there since the register last moved
        stands = {
            node: cycle if (unit.name, node) in by_fifo else _since(_made(plan, node), cycle, ii)
            for node, cycle in arrival.items()
        }
        reads = [(a, schedule.slots[i].start) for i in unit.nodes for a in graph.nodes[i].args]
        reads += [(t.node, t.cycle) for t in unit.outputs]
        for tap in unit.outputs:
            turn = tap.node in schedule.folds.members and tap.node in unit.nodes
            if turn and tap.cycle != schedule.slots[tap.node].finish:
                raise ValueError(
                    f"unit {unit.name}: %{tap.node} leaves a turn when it is made, not in cycle {tap.cycle}"
                )
        for node, cycle in reads:
            if graph.nodes[node].op == "const" or node in unit.nodes:
                continue
            if node not in arrival or stands[node] > cycle:
                raise ValueError(f"unit {unit.name}: reads %{node} in cycle {cycle}, before it arrives")
        for node, cycle in arrival.items():
            source, fifo = graph.nodes[node].owner, by_fifo.get((unit.name, node))
            if fifo is not None and fifo.read != cycle:
                raise ValueError(f"unit {unit.name}: %{node} must arrive when its FIFO is read, in cycle {fifo.read}")
            direct = source == INPUT_OWNER and (cycle + 1) % ii == 0
            if fifo is None and not direct and (source, node, cycle) not in offered:
                raise ValueError(f"unit {unit.name}: {source} must offer %{node} in cycle {cycle}")
