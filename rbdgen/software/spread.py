"""A straight step spread over warps: which warp computes what, in phases between which they wait for each other.

A block of a GPU takes 32 states, one per lane, and its warps share the work on them, so that threads of a warp never
part. In a phase a warp reads what it made itself, and what any warp made in phases before; the values that cross lie
in shared memory, in numbered slots. So does what a warp itself needs much later, since registers are few.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rbdgen.ir.graph import Graph
from rbdgen.software.blocks import Block, written_places
from rbdgen.software.program import Straight

QUANTA = (48, 96, 192)
"""Lengths of a phase that are tried, in operations."""
BARRIER = 24
"""Cost of waiting for all warps, in operations."""
HERE = 4
"""Worth of an argument that a warp has already, when it chooses, in operations; one that it has not costs twice as
much."""
NEAREST = 2 * HERE
"""The most that this can be worth."""
COSTS = {"sin": 40, "cos": 0, "reciprocal": 12, "divide": 12}
"""Operations that take longer than a sum or a product; the cosine comes with the sine."""
KEPT = {64: 60, 32: 120}
"""Values of so many bits that a warp keeps in registers from one phase to the next at most."""
LOOKED_AT = 24
"""Operations among which a warp chooses."""


@dataclass(frozen=True)
class Spread:
    """Work of each warp on ``straight``: ``phases[p][w]`` in phase p by warp w. ``slots``: values that lie in shared
    memory at once at most. ``cost``: an estimate of the time, in operations: of each phase what its slowest warp does.
    ``work``: what all warps do."""

    straight: Straight
    phases: tuple[tuple[Block, ...], ...]
    slots: int
    cost: int
    work: int

    def crossings(self) -> int:
        """Values that are written into slots."""
        return sum(len(part.leaves) for phase in self.phases for part in phase)


class Spreading:
    """Spreads a straight step. What warps do does not depend on the type of numbers, only where values wait does."""

    def __init__(self, straight: Straight) -> None:
        self.straight = straight
        self._assigned: dict[tuple[int, int], _Assigning] = {}

    def over(self, warps: int, quantum: int, bits: int) -> Spread:
        """The step over so many warps, in phases of so many operations at most, with numbers of so many bits."""
        key = warps, quantum
        if key not in self._assigned:
            self._assigned[key] = _Assigning(self.straight.graph, warps, quantum)
        return _Placing(self._assigned[key], self.straight, bits).spread()


class _Assigning:
    """Gives every operation a phase and a warp."""

    def __init__(self, graph: Graph, warps: int, quantum: int) -> None:
        self.graph = graph
        self.warps = warps
        self.quantum = quantum
        self.phase: dict[int, int] = {}
        self.warp: dict[int, int] = {}
        self.order: list[int] = []
        self.loads: list[list[int]] = []
        self.partners = _partners(graph)
        self.heights = _heights(graph)
        self.held: list[set[int]] = [set() for _ in range(warps)]
        self.made = {i: self._made_arguments(i) for i in self._operations()}
        self.missing = {i: len(made) for i, made in self.made.items()}
        self.common = sorted(self._rank(i) for i, missing in self.missing.items() if not missing)
        self.own: list[list[tuple[int, int]]] = []
        self.later: list[tuple[int, int]] = []
        while self.common:
            self._do_phase()

    def _operations(self) -> Iterator[int]:
        """All operations; of a sine and a cosine the first."""
        for i, node in self.graph:
            if not node.is_given and self.partners.get(i, i) >= i:
                yield i

    def _made_arguments(self, i: int) -> tuple[int, ...]:
        nodes = self.graph.nodes
        return tuple(a for a in dict.fromkeys(nodes[i].args) if not nodes[a].is_given)

    def _rank(self, i: int) -> tuple[int, int]:
        """The most urgent come first."""
        return -self.heights[i], i

    def _do_phase(self) -> None:
        """All that warps do until they wait for each other."""
        number = len(self.loads)
        loads = [0] * self.warps
        self.own = [[] for _ in range(self.warps)]
        self.later = []
        active = set(range(self.warps))
        while active:
            # who has done least is next, so that all come to the barrier at about the same time
            w = min(active, key=lambda k: (loads[k], k))
            i = self._choice(w) if loads[w] < self.quantum else None
            if i is None:
                active.discard(w)
                continue
            # sine and cosine are one computation
            for k in dict.fromkeys((i, self.partners.get(i, i))):
                loads[w] += COSTS.get(self.graph.nodes[k].op, 1)
                self._give(k, number, w)
        self.loads.append(loads)
        waiting = [pair for own in self.own for pair in own]
        self.common = sorted([*self.common, *waiting, *self.later])

    def _choice(self, w: int) -> int | None:
        """The operation that a warp does next, taken from the lists; None where it has to wait."""
        best: tuple[tuple[int, int, int], list[tuple[int, int]], int] | None = None
        for ready in (self.own[w], self.common):
            for place, (rank, i) in enumerate(ready[:LOOKED_AT]):
                # ranks ascend, and arguments are worth so much at most: nothing better follows
                if best is not None and rank - NEAREST > best[0][0]:
                    break
                found = (rank + self._foreign(i, w), rank, i), ready, place
                if best is None or found[0] < best[0]:
                    best = found
        if best is None:
            return None
        (_, _, i), ready, place = best
        del ready[place]
        return i

    def _foreign(self, i: int, w: int) -> int:
        """Cost of bringing an operation's arguments to a warp, less what is there already."""
        held = self.held[w]
        cost = 0
        for a in self.made[i]:
            cost += -HERE if a in held else 2 * HERE
        return cost

    def _give(self, i: int, number: int, w: int) -> None:
        """Give an operation to a warp in this phase; see what can be done after it."""
        self.phase[i], self.warp[i] = number, w
        self.order.append(i)
        self.held[w].add(i)
        self.held[w].update(self.graph.nodes[i].args)
        for user in self.graph.users[i]:
            # of a sine and a cosine only the first one is given out
            if user not in self.missing:
                continue
            self.missing[user] -= 1
            if not self.missing[user]:
                insort(self._ready(user, number), self._rank(user))

    def _ready(self, user: int, number: int) -> list[tuple[int, int]]:
        """The list of those who can do an operation: any warp, one, or in this phase nobody."""
        args = self.graph.nodes[user].args
        makers = {self.warp[a] for a in args if self.phase.get(a) == number}
        if not makers:
            return self.common
        return self.own[makers.pop()] if len(makers) == 1 else self.later


class _Placing:
    """Decides where values wait, and makes the parts."""

    def __init__(self, given: _Assigning, straight: Straight, bits: int) -> None:
        self.given = given
        self.straight = straight
        self.graph = straight.graph
        self.count = max(len(given.loads), 1)
        self.crossing = self._foreign_uses()
        for w in range(given.warps):
            self._spare(w, KEPT[bits])

    def _foreign_uses(self) -> set[int]:
        """The values that another warp reads."""
        found = set()
        for i in self.given.order:
            for a in self.graph.nodes[i].args:
                if a in self.given.warp and self.given.warp[a] != self.given.warp[i]:
                    found.add(a)
        return found

    def _uses(self, i: int, own: bool) -> list[int]:
        """The phases in which a value is read, by its own warp only or by all, but for the one that makes it."""
        phases = set()
        for user in self.graph.users[i]:
            mine = self.given.warp[user] == self.given.warp[i]
            if (mine or not own) and self.given.phase[user] > self.given.phase[i]:
                phases.add(self.given.phase[user])
        return sorted(phases)

    def _spare(self, w: int, most: int) -> None:
        """Let what a warp needs last wait in shared memory, where it would keep more than so many values."""
        kept: dict[int, list[int]] = {}
        made: dict[int, list[int]] = {}
        for i in self.given.order:
            if self.given.warp[i] == w and i not in self.crossing:
                made.setdefault(self.given.phase[i], []).append(i)
        for number in range(self.count):
            for i in made.get(number, ()):
                kept[i] = self._uses(i, own=True)
            kept = {i: uses for i, uses in kept.items() if uses and uses[-1] > number}
            last = {i: min(u for u in uses if u > number) for i, uses in kept.items()}
            # what is needed soonest stays in registers
            leaving = sorted(kept, key=lambda i: (last[i], i))[most:]
            for i in leaving:
                self.crossing.add(i)
                del kept[i]

    def spread(self) -> Spread:
        """The parts, with slots."""
        slots, most = self._slots()
        written = written_places(self.straight)
        nodes: dict[tuple[int, int], list[int]] = {}
        for i in self.given.order:
            nodes.setdefault((self.given.phase[i], self.given.warp[i]), []).append(i)
        phases = []
        cost = work = 0
        for number in range(self.count):
            parts = []
            for w in range(self.given.warps):
                part = self._part(tuple(nodes.get((number, w), ())), number, slots)
                writes = [(place, i) for i in part.nodes for place in written.get(i, ())]
                # operands and constants wait for nothing: one warp writes them
                if number == 0 and w == 0:
                    writes += self._plain()
                parts.append(Block(part.nodes, part.takes, part.leaves, tuple(writes)))
            costs = [self._cost(part) for part in parts]
            cost += BARRIER + max(costs)
            work += sum(costs)
            phases.append(tuple(parts))
        return Spread(self.straight, tuple(phases), most, cost, work)

    def _plain(self) -> list[tuple[tuple[str, int], int]]:
        """Writes of what is no operation."""
        nodes = self.graph.nodes
        return [(place, i) for place, i in self.straight.writes if nodes[i].is_given]

    def _cost(self, part: Block) -> int:
        own = sum(COSTS.get(self.graph.nodes[i].op, 1) for i in part.nodes)
        return own + len(part.takes) + len(part.leaves)

    def _part(self, nodes: tuple[int, ...], number: int, slots: dict[int, int]) -> Block:
        """A part without what it writes."""
        takes = {}
        for i in nodes:
            for a in self.graph.nodes[i].args:
                if a in slots and self.given.phase[a] < number:
                    takes[a] = slots[a]
        leaves = {i: slots[i] for i in nodes if i in slots}
        return Block(nodes, takes, leaves, ())

    def _slots(self) -> tuple[dict[int, int], int]:
        """A slot for each value that waits in shared memory, and how many there are. A slot is free again a phase after
        its last reader's."""
        ends: list[list[int]] = [[] for _ in range(self.count + 1)]
        free: list[int] = []
        slots: dict[int, int] = {}
        most = 0
        number = -1
        for i in self.given.order:
            while number < self.given.phase[i]:
                free += ends[number] if number >= 0 else []
                free.sort(reverse=True)
                number += 1
            if i not in self.crossing:
                continue
            if not free:
                free.append(most)
                most += 1
            slots[i] = free.pop()
            ends[self._uses(i, own=False)[-1]].append(slots[i])
        return slots, most


def _partners(graph: Graph) -> dict[int, int]:
    """The cosine of each sine, and the other way round."""
    angles: dict[int, list[int]] = {}
    for i, node in graph:
        if node.operation.is_paired:
            angles.setdefault(node.args[0], []).append(i)
    found = {}
    for pair in angles.values():
        if len(pair) == 2:
            found |= {pair[0]: pair[1], pair[1]: pair[0]}
    return found


def _heights(graph: Graph) -> list[int]:
    """For each node the time from its beginning to the end of all that needs it, with operations one by one."""
    heights = [0] * len(graph.nodes)
    for i in reversed(range(len(graph.nodes))):
        after = max(_all(heights, graph.users[i]), default=0)
        heights[i] = after + COSTS.get(graph.nodes[i].op, 1)
    return heights


def _all(values: list[int], numbers: Iterable[int]) -> list[int]:
    return [values[i] for i in numbers]
