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
from dataclasses import dataclass, replace
from itertools import zip_longest
from types import MappingProxyType

from rbdgen.schedule.delays import TABLES, Delays, Slot
from rbdgen.schedule.schedule import Schedule, chain_length

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
    return replace(schedule, slots=tuple(work.slots))


@dataclass(frozen=True)
class _Argument:
    """What an operation waits for: node ``number``; the delay of its ``routing`` in the cycle in which it is made, ns;
    and the ``cycles`` later that it is read at the earliest: 1 if only from a register."""

    number: int
    routing: float
    cycles: int


class _Multipliers:
    """Which products a unit's multipliers make in every phase, by their numbers of blocks."""

    def __init__(self, interval: int) -> None:
        self.interval = interval
        self.phases: dict[int, list[int]] = defaultdict(list)
        """Blocks of the products that are made in a phase, most first."""
        self.most: list[int] = []
        """Blocks of each multiplier, most first."""

    def add(self, start: int, blocks: int) -> None:
        """A product that starts in cycle ``start``."""
        row = self.phases[start % self.interval]
        row.append(blocks)
        row.sort(reverse=True)

    def remove(self, start: int, blocks: int) -> None:
        """Take a product out again."""
        self.phases[start % self.interval].remove(blocks)

    def settle(self, extra: int) -> None:
        """There are as many multipliers as the products so far need, each as large as the largest of a phase there;
        and ``extra`` ones as small as the smallest."""
        for row in self.phases.values():
            pairs = zip_longest(row, self.most, fillvalue=0)
            self.most = [max(pair) for pair in pairs]
        self.most += self.most[-1:] * extra

    def free(self, start: int, blocks: int) -> bool:
        """Whether a product of so many blocks can start in cycle ``start`` as well."""
        row = [*self.phases[start % self.interval], blocks]
        row.sort(reverse=True)
        if len(row) > len(self.most):
            return False
        pairs = zip(row, self.most, strict=False)
        return all(size <= most for size, most in pairs)


class _Lifetimes:
    """The slots of a schedule while they move."""

    def __init__(self, schedule: Schedule, extra: Mapping[str, int]) -> None:
        self.schedule, self.ii = schedule, schedule.ii
        self.fixed, self.folds = schedule.fixed, schedule.folds
        self.graph = schedule.fixed.graph
        self.nodes = self.graph.nodes
        self.device, self.operators = schedule.device, schedule.operators
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
        for i in self.movable:
            self.args[i] = self._arguments(i)
            self.delays[i] = self.operators.delays(i)
            self.reach[i] = self.operators.reach(i, self.shared[i])
        self.readers = self._readers()
        """The operations that read a value, by unit."""
        self.blocks = self._blocks()
        """Multiplier blocks of every product."""
        self.multipliers: dict[str, _Multipliers] = {}
        self._fill_multipliers(extra)

    def _leaves(self) -> dict[int, int]:
        """The cycle by which each result must be made: results that registers of a flag follow leave later."""
        leaves: dict[int, int] = {}
        for e in self.schedule.programs.exits:
            complete = self.schedule.exits[e.name] - self.device.flag_registers
            for name in e.results:
                i = self.graph.outputs[name]
                cycle = max(complete, self.slots[i].finish)
                leaves[i] = min(leaves.get(i, cycle), cycle)
        return leaves

    def _is_shared(self, i: int) -> bool:
        node = self.nodes[i]
        if node.op != "mul":
            return False
        return self.folds.interval(node.owner, self.ii) > 1

    def _is_movable(self, i: int) -> bool:
        """Whether an operation has arguments and readers, and is not one of those that stay."""
        node = self.nodes[i]
        if not node.args or node.op in TABLES:
            return False
        if i in self.schedule.timeless or i in self.folds.members:
            return False
        return bool(self.graph.users[i]) or i in self.leaves

    def _arguments(self, i: int) -> list[_Argument]:
        """What an operation waits for: all that has a time."""
        found = []
        for a in dict.fromkeys(self.nodes[i].args):
            op = self.nodes[a].op
            if op == "const" or a in self.schedule.timeless:
                continue
            # all that is chosen comes from registers, and operands are in one
            cycles = int(self.shared[i] and op != "input")
            routing = self.operators.routing(i, a)
            found.append(_Argument(a, routing, cycles))
        return found

    def _readers(self) -> dict[int, dict[str, list[int]]]:
        readers: dict[int, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for i, node in self.graph:
            for a in dict.fromkeys(node.args):
                readers[a][node.owner].append(i)
        return readers

    def _blocks(self) -> dict[int, int]:
        blocks = {}
        for i, node in self.graph:
            if node.op == "mul":
                widths = self.folds.factor_widths(self.fixed, i)
                blocks[i] = self.device.blocks(*widths)
        return blocks

    def _fill_multipliers(self, extra: Mapping[str, int]) -> None:
        """Give every unit the multipliers that its products need, and up to ``extra`` more."""
        for i, blocks in self.blocks.items():
            if self.folds.template(i) != i:
                continue
            unit = self.nodes[i].owner
            if unit not in self.multipliers:
                interval = self.folds.interval(unit, self.ii)
                self.multipliers[unit] = _Multipliers(interval)
            start = self.slots[i].start
            self.multipliers[unit].add(start, blocks)
        for unit, multipliers in self.multipliers.items():
            multipliers.settle(extra.get(unit, 0))

    def move(self) -> None:
        """Move operations as long as the tolerance lasts."""
        tries = min(TRIES * len(self.movable), MOST_TRIES)
        draw = random.Random(1).random
        for n in range(tries):
            i = self.movable[int(draw() * len(self.movable))]
            slot = self.slots[i]
            first = self._first_start(i)
            last = self._last_finish(i) - (slot.finish - slot.start)
            if draw() < LAST:
                start = last
            else:
                start = first + int(draw() * (last + 1 - first))
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
        users = self.graph.users[i]
        uses = [self.slots[user].start for user in users]
        if i in self.leaves:
            uses.append(self.leaves[i])
        return min(uses)

    def _try(self, i: int, start: int, tolerance: float) -> None:
        """Move operation ``i`` to ``start``, if it can be there and costs no more than ``tolerance``."""
        changes = self._changes(i, start)
        if changes is None:
            return
        touched = [i, *(argument.number for argument in self.args[i])]
        before = sum(map(self._bits, touched))
        old = {k: self.slots[k] for k in changes}
        self._apply(changes)
        if sum(map(self._bits, touched)) - before > tolerance:
            self._apply(old)
        elif self.shared[i]:
            multipliers = self.multipliers[self.nodes[i].owner]
            multipliers.remove(old[i].start, self.blocks[i])
            multipliers.add(start, self.blocks[i])

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
            slot = self._slot(k, now.start if k != i else start, changes)
            if slot is None:
                return None
            if slot == now or slot == changes.get(k):
                continue
            changes[k] = slot
            for user in self.graph.users[k]:
                if self.slots[user].start != slot.finish:
                    continue
                # what has a choice before it, or is the same in several turns, reads registers
                if user not in self.delays or self.shared[user]:
                    return None
                todo.append(user)
        return changes

    def _free(self, i: int, start: int) -> bool:
        """Whether a multiplier of the unit is free for product ``i`` in the phase of ``start``."""
        multipliers = self.multipliers[self.nodes[i].owner]
        moved = start - self.slots[i].start
        if moved % multipliers.interval == 0:
            return True
        return multipliers.free(start, self.blocks[i])

    def _slot(self, i: int, start: int, changes: Mapping[int, Slot]) -> Slot | None:
        """The slot of operation ``i`` if it starts in ``start``; None where its delay does not fit."""
        offset = self.reach[i]
        for argument in self.args[i]:
            now = self.slots[argument.number]
            made = changes.get(argument.number, now)
            if made.finish == start:
                offset = max(offset, made.ready + argument.routing)
        delays = self.delays[i]
        if not delays.fit(self.device, offset):
            return None
        return delays.slot(start, offset)

    def _bits(self, a: int) -> int:
        """Bits of the registers in which a value waits, in the unit that makes it and in those that read it
        (:mod:`rbdgen.schedule.buffers`)."""
        node, ii = self.nodes[a], self.ii
        made = self.slots[a].finish
        if node.op == "input":
            made = self.schedule.stands(a)
        own = 0
        firsts, lasts = [], []
        for unit, users in self.readers[a].items():
            starts = [self.slots[user].start for user in users]
            last = chain_length(made, max(starts), ii)
            if unit == node.owner:
                own = last
            else:
                firsts.append(chain_length(made, min(starts), ii))
                lasts.append(last)
        if a in self.leaves:
            length = chain_length(made, self.leaves[a], ii)
            firsts.append(length)
            lasts.append(length)
        kept = self.schedule.kept_registers(a, own, firsts)
        before = [min(first, kept) for first in firsts]
        longest = max([own, *before])
        total = longest + sum(lasts) - sum(before)
        return total * self.fixed.formats[a].width
