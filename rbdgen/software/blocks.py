"""A straight step in blocks that a compiler takes in its stride: what each computes, reads and leaves to others.

Compilers need more than proportional time for long functions, and give up vectorising loops of a thousand references
to memory. A value that a later block needs waits in a numbered slot.
"""

from __future__ import annotations

from dataclasses import dataclass

from rbdgen.ir.graph import Graph
from rbdgen.software.program import Place, Straight

LONGEST = 1200
"""Operations of a block at most."""
MOST_REFERENCES = 700
"""Entries of arrays that a block reads or writes at most."""


@dataclass(frozen=True)
class Block:
    """Operations ``nodes`` in their order; ``takes`` and ``leaves``: values in slots by node; ``writes`` results."""

    nodes: tuple[int, ...]
    takes: dict[int, int]
    leaves: dict[int, int]
    writes: tuple[tuple[Place, int], ...]


@dataclass(frozen=True)
class Blocks:
    """The blocks of ``straight``, one after the other, and how many ``slots`` they need."""

    straight: Straight
    blocks: tuple[Block, ...]
    slots: int


def cut(straight: Straight, longest: int = LONGEST) -> Blocks:
    """Cut a step into blocks, in the order of its graph."""
    return _Cutting(straight, longest).blocks()


class _Cutting:
    """Cuts a step into blocks."""

    def __init__(self, straight: Straight, longest: int) -> None:
        self.straight = straight
        self.graph = straight.graph
        self.written = written_places(straight)
        self.parts = _parts(self.graph, self.written, longest)
        self.block_of = {i: number for number, part in enumerate(self.parts) for i in part}
        self.last = self._last_blocks()
        self.slots = _Slots()

    def _last_blocks(self) -> dict[int, int]:
        """For each node the last block that takes its value."""
        last: dict[int, int] = {}
        for i, number in self.block_of.items():
            for a in self.graph.nodes[i].args:
                last[a] = max(last.get(a, 0), number)
        return last

    def blocks(self) -> Blocks:
        """All blocks; what is no operation is written by one of its own."""
        blocks = [self._block(number, part) for number, part in enumerate(self.parts)]
        plain = []
        for place, i in self.straight.writes:
            if self.graph.nodes[i].is_given:
                plain.append((place, i))
        if plain:
            blocks.append(Block((), {}, {}, tuple(plain)))
        return Blocks(self.straight, tuple(blocks), self.slots.most)

    def _block(self, number: int, part: tuple[int, ...]) -> Block:
        needed: set[int] = set()
        for i in part:
            needed.update(self.graph.nodes[i].args)
        takes = {}
        for a in sorted(needed):
            # operands and constants are in no block: they are read or written where they are needed
            if self.block_of.get(a, number) < number:
                takes[a] = self.slots.number[a]
        # a block reads slots before it writes any, so that it can leave values where it found some
        for a in takes:
            if self.last[a] == number:
                self.slots.release(a)
        leaves = {}
        writes = []
        for i in part:
            if self.last.get(i, number) > number:
                leaves[i] = self.slots.take(i)
            writes += [(place, i) for place in self.written.get(i, ())]
        return Block(part, takes, leaves, tuple(writes))


def written_places(straight: Straight) -> dict[int, list[Place]]:
    """For each operation the places that it is written to."""
    places: dict[int, list[Place]] = {}
    for place, i in straight.writes:
        if not straight.graph.nodes[i].is_given:
            places.setdefault(i, []).append(place)
    return places


def _parts(graph: Graph, written: dict[int, list[Place]], longest: int) -> list[tuple[int, ...]]:
    """The operations of each block."""
    order = [i for i in _angles_first(graph) if not graph.nodes[i].is_given]
    parts: list[tuple[int, ...]] = []
    part: list[int] = []
    references = 0
    inside: set[int] = set()
    for i in order:
        # a value is read once in a block, however often it is used
        new = len(written.get(i, ())) + sum(a not in inside for a in set(graph.nodes[i].args))
        if part and (len(part) >= longest or references + new > MOST_REFERENCES):
            parts.append(tuple(part))
            part, references, inside = [], 0, set()
        part.append(i)
        references += new
        inside.add(i)
        inside.update(graph.nodes[i].args)
    if part:
        parts.append(tuple(part))
    return parts


def _angles_first(graph: Graph) -> list[int]:
    """All nodes in order, the cosine and the sine of an angle one behind the other: they are computed together."""
    partners: dict[int, list[int]] = {}
    for i, node in graph:
        if node.operation.is_paired:
            partners.setdefault(node.args[0], []).append(i)
    order: list[int] = []
    for i, node in graph:
        if node.operation.is_paired:
            pair = partners[node.args[0]]
            if i == pair[0]:
                order += pair
        else:
            order.append(i)
    return order


class _Slots:
    """Gives out slots, and takes them back."""

    def __init__(self) -> None:
        self.number: dict[int, int] = {}
        self.free: list[int] = []
        self.most = 0

    def take(self, node: int) -> int:
        """A slot for a node's value."""
        if not self.free:
            self.free.append(self.most)
            self.most += 1
        self.number[node] = self.free.pop()
        return self.number[node]

    def release(self, node: int) -> None:
        """The slot of a node is free."""
        self.free.append(self.number[node])
