"""Shorter lifetimes: operations moved in time so that fewer bits wait in registers.

A list schedule makes everything as early as it can be made, and what is made early waits: a product for the other one
of its sum, a sum for the last of a long one, while what they were made of often waits for somebody else anyway. That
registers are few if lifetimes are short is Huff's lifetime-sensitive modulo scheduling (PLDI 1993). Here operations of
a finished schedule move at random between what they read and what reads them, as long as that costs few bits, and ever
fewer (threshold accepting, Dueck & Scheuer 1990).

No result comes later by that. A unit has as many and as wide multipliers as before, or as many more as it is given.
Folded operations and tables stay.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from rbdgen.machines.pipeline.delays import Delays, Slot
from rbdgen.machines.pipeline.multipliers import Run, UnitMultipliers, product_runs
from rbdgen.machines.pipeline.schedule import Schedule, chain_length

TRIES, MOST_TRIES = 150, 400_000
"""Moves that are tried for every operation, and in all."""
TOLERANCE = 12.0
"""Bits of registers by which a move may make things worse at first."""
LAST = 0.25
"""Share of moves to the last cycle that is possible."""


def shorten_lifetimes(
    schedule: Schedule, extra: Mapping[str, int] = MappingProxyType({})
) -> Schedule:
    """``schedule`` with other slots, so that values wait in fewer bits of registers. ``extra``: how many multipliers
    more than in it a unit may have; they are as small as its smallest. The products have no multipliers yet."""
    work = _Lifetimes(schedule, extra)
    work.move()
    multipliers = dict(schedule.multipliers)
    for unit, own in work.multipliers.items():
        multipliers[unit] = len(own.sizes)
    return replace(
        schedule,
        slots=tuple(work.slots),
        binding=work.binding,
        multipliers=multipliers,
    )


@dataclass(frozen=True)
class _Argument:
    """Argument that an operation waits for: node ``number``; the delay of its ``routing`` in the cycle in which it is
    made, ns; and how many ``cycles`` later the operation starts at the earliest: 1 if it reads registers only, fewer
    for what is read later than at its start."""

    number: int
    routing: float
    cycles: int


class _Lifetimes:
    """The slots of a schedule while they move."""

    def __init__(self, schedule: Schedule, extra: Mapping[str, int]) -> None:
        self.schedule = schedule
        self.ii = schedule.ii
        self.fixed = schedule.fixed
        self.folds = schedule.folds
        self.graph = schedule.fixed.graph
        self.nodes = self.graph.nodes
        self.device = schedule.device
        self.operators = schedule.operators
        self.slots = list(schedule.slots)
        self.leaves = self._leaves()
        """The last cycle in which a result may be made."""
        everything = range(len(self.nodes))
        self.shared = [self._is_shared(i) for i in everything]
        """Whether a multiplexer chooses what an operation reads."""
        self.movable = [i for i in everything if self._is_movable(i)]
        self.delays: dict[int, Delays] = {}
        self.reach: dict[int, float] = {}
        """When what comes from registers is at an operator, ns."""
        self.args: dict[int, list[_Argument]] = {}
        self.offsets: list[dict[int, tuple[int, int]]] = []
        """Cycles from each operation's start to when it reads an argument first and last."""
        for i in everything:
            offsets = self._read_offsets(i)
            self.offsets.append(offsets)
        for i in self.movable:
            self.args[i] = self._arguments(i)
            self.delays[i] = self.operators.delays(i)
            self.reach[i] = self.operators.reach(i, self.shared[i])
        self.readers = self._readers()
        self.widths = [fmt.width for fmt in self.fixed.formats]
        inputs = [node.is_input for node in self.nodes]
        self.stands = [schedule.stands(i) if inputs[i] else None for i in everything]
        """Until when operands stand in registers of their own, by node."""
        self.bits: list[int | None] = [None] * len(self.nodes)
        """Bits of the registers in which each value waits, where they are known."""
        self.runs = self._shared_runs()
        """The products of operations that share multipliers, and their blocks."""
        self.binding = dict(schedule.binding)
        self.multipliers: dict[str, UnitMultipliers] = {}
        self._fill_multipliers(extra)

    def _leaves(self) -> dict[int, int]:
        """The cycle by which each result must be made: results that registers of a flag follow leave later."""
        leaves: dict[int, int] = {}
        for e in self.schedule.programs.exits:
            exit_cycle = self.schedule.exits[e.name]
            complete = exit_cycle - self.device.flag_registers
            for name in e.results:
                i = self.graph.outputs[name]
                cycle = max(complete, self.slots[i].finish)
                before = leaves.get(i, cycle)
                leaves[i] = min(before, cycle)
        return leaves

    def _is_shared(self, i: int) -> bool:
        return self.schedule.in_time(i)

    def _read_offsets(self, i: int) -> dict[int, tuple[int, int]]:
        """Cycles from an operation's start to when it reads each argument first and last."""
        start = self.slots[i].start
        found: dict[int, tuple[int, int]] = {}
        args = self.nodes[i].args
        cycles = self.schedule.read_cycles(i)
        for a, cycle in zip(args, cycles, strict=True):
            offset = cycle - start
            first, last = found.get(a, (offset, offset))
            found[a] = min(first, offset), max(last, offset)
        return found

    def _is_movable(self, i: int) -> bool:
        """Whether an operation has arguments and readers, and is not one of those that stay."""
        node = self.nodes[i]
        if not node.args or node.operation.looks_up:
            return False
        if i in self.schedule.timeless or i in self.folds.members:
            return False
        return bool(self.graph.users[i]) or i in self.leaves

    def _arguments(self, i: int) -> list[_Argument]:
        """The arguments that an operation waits for: all that have a time."""
        found = []
        for a in dict.fromkeys(self.nodes[i].args):
            argument = self.nodes[a]
            if argument.is_const or a in self.schedule.timeless:
                continue
            # all that is chosen comes from registers, and operands are in one
            later = int(self.shared[i] and not argument.is_input)
            first, _ = self.offsets[i][a]
            routing = self.operators.routing(i, a)
            found.append(_Argument(a, routing, later - first))
        return found

    def _readers(self) -> list[list[tuple[bool, list[tuple[int, int, int]]]]]:
        """The operations that read each value, by unit: whether it is the one that makes it, and of each operation when
        after its start it reads the value first and last."""
        by_unit: list[dict[str, list[tuple[int, int, int]]]] = []
        for _ in self.nodes:
            by_unit.append(defaultdict(list))
        for i, node in self.graph:
            for a in dict.fromkeys(node.args):
                by_unit[a][node.owner].append((i, *self.offsets[i][a]))
        found = []
        for a, units in enumerate(by_unit):
            owner = self.nodes[a].owner
            found.append([(unit == owner, users) for unit, users in units.items()])
        return found

    def _shared_runs(self) -> dict[int, Run]:
        runs = product_runs(self.fixed, self.folds, self.device)
        return {i: run for i, run in runs.items() if self.shared[i]}

    def _fill_multipliers(self, extra: Mapping[str, int]) -> None:
        """Take the phases of all products on the multipliers of their units, which have up to ``extra`` more."""
        runs: dict[str, list[Run]] = defaultdict(list)
        for i, run in self.runs.items():
            runs[self.nodes[i].owner].append(run)
        for unit, own in runs.items():
            interval = self.folds.interval(unit, self.ii)
            count = self.schedule.multipliers[unit]
            multipliers = UnitMultipliers(interval, own)
            while len(multipliers.sizes) < count:
                smallest = min(multipliers.sizes)
                multipliers.grow(smallest)
            self.multipliers[unit] = multipliers
        for i, run in self.runs.items():
            _, blocks = run
            number = self.binding[i]
            multipliers = self.multipliers[self.nodes[i].owner]
            # sizes are of a packing of their own, and the binding is the scheduler's
            multipliers.enlarge(number, blocks)
            multipliers.take(number, self.slots[i].start, run)
        for unit, multipliers in self.multipliers.items():
            smallest = min(multipliers.sizes)
            for _ in range(extra.get(unit, 0)):
                multipliers.grow(smallest)

    def move(self) -> None:
        """Move operations as long as the tolerance lasts."""
        count = len(self.movable)
        tries = min(TRIES * count, MOST_TRIES)
        # a fixed seed: the same design gives the same hardware
        draw = random.Random(1).random
        for n in range(tries):
            drawn = int(draw() * count)
            i = self.movable[drawn]
            slot = self.slots[i]
            duration = slot.finish - slot.start
            first = self._first_start(i)
            last = self._last_finish(i) - duration
            if draw() < LAST:
                start = last
            else:
                choices = last + 1 - first
                start = first + int(draw() * choices)
            if start != slot.start and first <= start:
                tolerance = TOLERANCE * (1 - n / tries)
                self._try(i, start, tolerance)

    def _first_start(self, i: int) -> int:
        """The first cycle in which the arguments of operation ``i`` are there."""
        first = 0
        for argument in self.args[i]:
            made = self.slots[argument.number].finish
            first = max(first, made + argument.cycles)
        return first

    def _last_finish(self, i: int) -> int:
        """The last cycle in which operation ``i`` may be over."""
        uses = []
        for user in self.graph.users[i]:
            offset, _ = self.offsets[user][i]
            uses.append(self.slots[user].start + offset)
        if i in self.leaves:
            uses.append(self.leaves[i])
        return min(uses)

    def _try(self, i: int, start: int, tolerance: float) -> None:
        """Move operation ``i`` to ``start``, if it can be there and costs no more than ``tolerance``."""
        changes = self._changes(i, start)
        if changes is None:
            return
        touched = [i, *(argument.number for argument in self.args[i])]
        before = sum(map(self._bits_now, touched))
        old = {k: self.slots[k] for k in changes}
        self._apply(changes)
        after = [self._bits(k) for k in touched]
        if sum(after) - before > tolerance:
            self._apply(old)
            return
        for k in changes:
            self.bits[k] = None
            for argument in self.args[k]:
                self.bits[argument.number] = None
        for k, bits in zip(touched, after, strict=True):
            self.bits[k] = bits
        if self.shared[i]:
            self._rebind(i, old[i].start, start)

    def _rebind(self, i: int, before: int, start: int) -> None:
        """Take the phases of products that start elsewhere, where a multiplier is free."""
        run = self.runs[i]
        multipliers = self.multipliers[self.nodes[i].owner]
        multipliers.release(self.binding[i], before, run)
        # every run has a multiplier already, so that none needs room kept
        number = multipliers.find(start, run, careful=False)
        assert number is not None
        multipliers.take(number, start, run)
        self.binding[i] = number

    def _apply(self, changes: Mapping[int, Slot]) -> None:
        for k, slot in changes.items():
            self.slots[k] = slot

    def _changes(self, i: int, start: int) -> dict[int, Slot] | None:
        """The slots that change where operation ``i`` starts in ``start``: its own, and those of what then runs behind
        it in the same cycle. None if it cannot."""
        if self.shared[i] and not self._free(i, start):
            return None
        changes: dict[int, Slot] = {}
        todo = [i]
        while todo:
            k = todo.pop(0)
            now = self.slots[k]
            begin = start if k == i else now.start
            slot = self._slot(k, begin, changes)
            if slot is None:
                return None
            if slot == now or slot == changes.get(k):
                continue
            changes[k] = slot
            for user in self.graph.users[k]:
                offset, _ = self.offsets[user][k]
                # when within its cycle a value is ready matters to what reads it in that cycle only
                if self.slots[user].start + offset != slot.finish:
                    continue
                # what has a choice before it, or is the same in several turns, reads registers
                if user not in self.delays or self.shared[user]:
                    return None
                todo.append(user)
        return changes

    def _free(self, i: int, start: int) -> bool:
        """Whether a multiplier of the unit is free for the products of node ``i`` from cycle ``start`` on."""
        multipliers = self.multipliers[self.nodes[i].owner]
        bound = self.binding[i]
        before = self.slots[i].start
        run = self.runs[i]
        # its own phases are in nobody's way
        multipliers.release(bound, before, run)
        number = multipliers.find(start, run, careful=False)
        multipliers.take(bound, before, run)
        return number is not None

    def _slot(self, i: int, start: int, changes: Mapping[int, Slot]) -> Slot | None:
        """The slot of operation ``i`` if it starts in ``start``; None where its delay does not fit."""
        offset = self.reach[i]
        for argument in self.args[i]:
            now = self.slots[argument.number]
            made = changes.get(argument.number, now)
            if made.finish == start and not self.shared[i]:
                arrives = made.ready + argument.routing
                offset = max(offset, arrives)
        delays = self.delays[i]
        if not delays.fit(self.device, offset):
            return None
        return delays.slot(start, offset)

    def _bits_now(self, a: int) -> int:
        """The same as :meth:`_bits`, which is kept until a slot that it depends on changes."""
        known = self.bits[a]
        if known is None:
            known = self.bits[a] = self._bits(a)
        return known

    def _bits(self, a: int) -> int:
        """Bits of the registers in which a value waits, in the unit that makes it and in those that read it
        (:mod:`rbdgen.machines.pipeline.buffers`)."""
        ii = self.ii
        slots = self.slots
        made = self.stands[a]
        if made is None:
            made = slots[a].finish
        own = 0
        firsts = []
        lasts = 0
        for inside, users in self.readers[a]:
            latest = max([slots[user].start + last for user, _, last in users])
            length = chain_length(made, latest, ii)
            if inside:
                own = length
            else:
                earliest = min([slots[user].start + first for user, first, _ in users])
                firsts.append(chain_length(made, earliest, ii))
                lasts += length
        if a in self.leaves:
            length = chain_length(made, self.leaves[a], ii)
            firsts.append(length)
            lasts += length
        kept = self.schedule.kept_registers(a, own, firsts)
        longest = own
        before = 0
        # what the maker keeps is in no reader's registers again
        for first in firsts:
            cut = min(first, kept)
            longest = max(longest, cut)
            before += cut
        return (longest + lasts - before) * self.widths[a]
