"""Shorter lifetimes: operations moved in time so that fewer bits wait in registers.

A list schedule makes everything as early as it can be made, and what is made early waits: a product for the other one
of its sum, a sum for the last of a long one, while what they were made of often waits for somebody else anyway. That
registers are few if lifetimes are short is Huff's lifetime-sensitive modulo scheduling (PLDI 1993). Here operations of
a finished schedule move at random between what they read and what reads them, as long as that costs few bits, and ever
fewer (threshold accepting, Dueck & Scheuer 1990).

No result comes later by that. A unit has as many and as wide multipliers as before, or as many more as it is given:
then both products of a sum can be made at once. Folded operations and tables stay.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from itertools import zip_longest
from types import MappingProxyType

from rbdgen.schedule.delays import TABLES, Delays, Slot, operator_delays, reach, reads_far
from rbdgen.schedule.times import Schedule, chain_length

TRIES, MOST_TRIES = 150, 400_000
"""Moves that are tried for every operation, and in all."""
TOLERANCE = 12.0
"""Bits of registers by which a move may make things worse at first."""
LAST = 0.25
"""Share of moves to the last cycle that is possible."""


def shorten_lifetimes(schedule: Schedule, extra: Mapping[str, int] = MappingProxyType({})) -> Schedule:
    """``schedule`` with other slots, so that values wait in fewer bits of registers. ``extra``: how many multipliers
    more than in it a unit may have; they are as small as its smallest. The products have no multipliers yet."""
    work = _Lifetimes(schedule, extra)
    work.move()
    return replace(schedule, slots=tuple(work.slots))


class _Lifetimes:
    """The slots of a schedule while they move."""

    def __init__(self, schedule: Schedule, extra: Mapping[str, int]) -> None:
        self.schedule, self.fixed, self.ii = schedule, schedule.fixed, schedule.ii
        self.graph, self.device, self.folds = schedule.fixed.graph, schedule.device, schedule.folds
        self.slots = list(schedule.slots)
        graph, members = self.graph, self.folds.members
        self.leaves: dict[int, int] = {}
        """The last cycle in which a result may be made."""
        for e in schedule.programs.exits:
            for i in (graph.outputs[r] for r in e.results):
                # results that registers of an overflow follow are made before they leave
                cycle = max(schedule.exits[e.name] - self.device.flag_cycles, self.slots[i].finish)
                self.leaves[i] = min(self.leaves.get(i, cycle), cycle)
        self.waits = [n.op != "const" and i not in schedule.timeless for i, n in graph]
        """Whether values take registers while they wait."""
        still = schedule.timeless | members.keys()
        used = [i for i, _ in graph if graph.users[i] or i in self.leaves]
        nodes = graph.nodes
        self.movable = [i for i in used if nodes[i].args and nodes[i].op not in TABLES and i not in still]
        self.shared = [n.op == "mul" and self.folds.interval(n.owner, self.ii) > 1 for _, n in graph]
        self.delays: dict[int, Delays] = {}
        self.reach: dict[int, float] = {}
        """When what comes from registers is at an operator, ns."""
        self.args: dict[int, list[tuple[int, float, bool]]] = {}
        """What an operation waits for, how long that is on its way in the cycle in which it is made, ns, and whether it
        is read a cycle later at the earliest, from a register: all that is chosen is, but operands are in one."""
        for i in self.movable:
            args = [a for a in dict.fromkeys(nodes[i].args) if self.waits[a]]
            ways = [self.device.link if reads_far(self.fixed, i, a) else 0.0 for a in args]
            after = [self.shared[i] and nodes[a].op != "input" for a in args]
            self.args[i] = list(zip(args, ways, after, strict=True))
            self.delays[i] = operator_delays(self.fixed, self.device, i, self.folds)
            self.reach[i] = reach(self.fixed, self.device, i, self.folds, self.shared[i])
        self.readers: dict[int, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        """The operations that read a value, by unit."""
        for i, node in graph:
            for a in dict.fromkeys(node.args):
                self.readers[a][node.owner].append(i)
        self.blocks = {
            i: self.device.blocks(*self.folds.factor_widths(self.fixed, i)) for i, n in graph if n.op == "mul"
        }
        self.phases: dict[tuple[str, int], list[int]] = defaultdict(list)
        """Multiplier blocks of the products that a unit makes in a phase, most first."""
        for i, blocks in self.blocks.items():
            if self.folds.template(i) == i:
                self._phase(i, self.slots[i].start).append(blocks)
        self.most: dict[str, list[int]] = defaultdict(list)
        """Blocks of each of a unit's multipliers, most first."""
        for (owner, _), row in self.phases.items():
            row.sort(reverse=True)
            self.most[owner] = [max(pair) for pair in zip_longest(row, self.most[owner], fillvalue=0)]
        for owner, most in self.most.items():
            most += most[-1:] * extra.get(owner, 0)

    def _phase(self, i: int, cycle: int) -> list[int]:
        owner = self.graph.nodes[i].owner
        return self.phases[owner, cycle % self.folds.interval(owner, self.ii)]

    def move(self) -> None:
        """Move operations as long as the tolerance lasts."""
        tries = min(TRIES * len(self.movable), MOST_TRIES)
        draw = random.Random(1).random
        for n in range(tries):
            i = self.movable[int(draw() * len(self.movable))]
            slot = self.slots[i]
            first = max([self.slots[a].finish + after for a, _, after in self.args[i]], default=0)
            uses = [self.slots[u].start for u in self.graph.users[i]]
            if i in self.leaves:
                uses.append(self.leaves[i])
            last = min(uses) - (slot.finish - slot.start)
            start = last if draw() < LAST else first + int(draw() * (last + 1 - first))
            if start != slot.start and first <= start:
                self._try(i, start, TOLERANCE * (1 - n / tries))

    def _try(self, i: int, start: int, tolerance: float) -> None:
        """Move operation ``i`` to ``start``, if it can be there and costs no more than ``tolerance``."""
        changes = self._changes(i, start)
        if changes is None:
            return
        around = [i, *(a for a, _, _ in self.args[i])]
        now, old = sum(map(self._bits, around)), {k: self.slots[k] for k in changes}
        self._apply(changes)
        if sum(map(self._bits, around)) - now > tolerance:
            self._apply(old)
        elif self.shared[i]:
            self._phase(i, old[i].start).remove(self.blocks[i])
            row = self._phase(i, start)
            row.append(self.blocks[i])
            row.sort(reverse=True)

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
            slot = self._slot(k, start if k == i else self.slots[k].start, changes)
            if slot is None:
                return None
            if slot == self.slots[k] or slot == changes.get(k):
                continue
            changes[k] = slot
            for u in self.graph.users[k]:
                if self.slots[u].start == slot.finish:
                    # what has a choice before it, or is the same in several turns, reads registers
                    if u not in self.delays or self.shared[u]:
                        return None
                    todo.append(u)
        return changes

    def _free(self, i: int, start: int) -> bool:
        """Whether a multiplier of the unit is free for a product in the phase of ``start``."""
        owner = self.graph.nodes[i].owner
        if (start - self.slots[i].start) % self.folds.interval(owner, self.ii) == 0:
            return True
        row, most = sorted([*self._phase(i, start), self.blocks[i]], reverse=True), self.most[owner]
        return len(row) <= len(most) and all(b <= m for b, m in zip(row, most, strict=False))

    def _slot(self, i: int, start: int, changes: Mapping[int, Slot]) -> Slot | None:
        """The slot of operation ``i`` if it starts in ``start``; None where its delay does not fit."""
        offset = self.reach[i]
        for a, way, _ in self.args[i]:
            made = changes.get(a, self.slots[a])
            if made.finish == start:
                offset = max(offset, made.ready + way)
        delays = self.delays[i]
        return delays.slot(start, offset) if delays.fit(self.device, offset) else None

    def _bits(self, a: int) -> int:
        """Bits of the registers in which a value waits, in the unit that makes it and in those that read it
        (:mod:`rbdgen.schedule.buffers`)."""
        owner, operand = self.graph.nodes[a].owner, self.graph.nodes[a].op == "input"
        finish = self.schedule.stands(a) if operand else self.slots[a].finish
        own, waits = 0, []
        for unit, users in self.readers[a].items():
            cycles = [self.slots[u].start for u in users]
            last = chain_length(finish, max(cycles), self.ii)
            if unit == owner:
                own = last
            else:
                waits.append((chain_length(finish, min(cycles), self.ii), last))
        if a in self.leaves:
            waits.append((chain_length(finish, self.leaves[a], self.ii),) * 2)
        kept = max(own, sorted([0, *(first for first, _ in waits)])[-2] if waits else 0)
        if waits and self.device.link and not operand:
            kept = max(kept, 1)
        if a in self.folds.members:
            kept = 0
        total = max([own, *(min(first, kept) for first, _ in waits)])
        total += sum(last - min(first, kept) for first, last in waits)
        return total * self.fixed.formats[a].width
