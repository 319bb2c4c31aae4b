"""Folds: operations that one piece of hardware executes in turn for branches that are alike.

A folded unit serves ``k`` branches within one initiation interval: the operation of the first branch, the template,
has a counterpart in each of the others, and its operator does all of them, a k-th of the interval apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.graph import Graph


@dataclass(frozen=True)
class Turn:
    """One branch's operation: its ``node``, its ``args`` in the order of the template's, and which of them are
    ``negated`` (sums: as signs in the sum; constant factors: beside the template's)."""

    node: int
    args: tuple[int, ...]
    negated: tuple[bool, ...]


@dataclass(frozen=True)
class Folds:
    """``turns`` of every template node, the template's own first; ``units``: the number of branches by folded unit."""

    turns: Mapping[int, tuple[Turn, ...]] = field(default_factory=dict)
    units: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def members(self) -> dict[int, tuple[int, int]]:
        """For every folded node its template and the number of its turn."""
        return {turn.node: (t, k) for t, turns in self.turns.items() for k, turn in enumerate(turns)}

    def template(self, node: int) -> int:
        """The node whose operator executes ``node``."""
        return self.members.get(node, (node, 0))[0]

    def interval(self, unit: str, ii: int) -> int:
        """Cycles between two turns of a unit."""
        return ii // self.units.get(unit, 1)

    def inside(self, graph: Graph, turn: Turn, k: int, position: int) -> bool:
        """Whether an argument of turn ``k`` is made by the same unit in the same turn, so that it needs no choice."""
        a = turn.args[position]
        return a in self.members and self.members[a][1] == k and graph.nodes[a].owner == graph.nodes[turn.node].owner


NO_FOLDS = Folds()


def with_owners(fixed: FixedGraph, owners: Mapping[int, str]) -> FixedGraph:
    """The same graph with other owners for some nodes."""
    nodes = tuple(replace(n, owner=owners[i]) if i in owners else n for i, n in fixed.graph)
    return replace(fixed, graph=Graph(nodes, fixed.graph.outputs))
