"""Several programs in one graph: what starts together, and where results leave.

A program is a part of the graph that is connected to no other: its tasks start with its operands and run through
it in a fixed time. Programs may share submodules, and with them operators. An exit is a set of results that leave
a program together; a program has one for each kind of answer it gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rbdgen.ir.graph import Graph


@dataclass(frozen=True)
class Exit:
    """Results of the graph, by name, that leave ``program`` together."""

    name: str
    program: str
    results: tuple[str, ...]


@dataclass(frozen=True)
class Programs:
    """``operands`` maps each operand of the graph to its program; ``exits`` covers every result."""

    operands: Mapping[str, str]
    exits: tuple[Exit, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The programs."""
        return tuple(dict.fromkeys(e.program for e in self.exits))


def single_program(graph: Graph) -> Programs:
    """All operands start one program, ``main``, and all results leave it together, at exit ``results``."""
    return Programs(dict.fromkeys(graph.inputs, "main"), (Exit("results", "main", tuple(graph.outputs)),))


def node_programs(graph: Graph, programs: Programs) -> tuple[str | None, ...]:
    """Each node's program (None: constants, which are everybody's). ValueError for a node that mixes two."""
    found: list[str | None] = []
    for i, node in graph:
        mine = {found[a] for a in node.args} - {None}
        if node.op == "input":
            mine = {programs.operands[node.attr]}
        if len(mine) > 1:
            raise ValueError(f"node %{i} ({node.op}): must belong to one program, not {sorted(map(str, mine))}")
        found.append(next(iter(mine), None))
    return tuple(found)


def cone(graph: Graph, results: Iterable[str]) -> tuple[int, ...]:
    """The nodes that these results depend on, themselves included, ascending."""
    needed = {graph.outputs[r] for r in results}
    for i in range(len(graph.nodes) - 1, -1, -1):
        if i in needed:
            needed.update(graph.nodes[i].args)
    return tuple(sorted(needed))


def node_exits(graph: Graph, programs: Programs) -> tuple[tuple[str, ...], ...]:
    """For each node the exits whose results depend on it, in the programs' order."""
    found: list[list[str]] = [[] for _ in graph.nodes]
    for exit_ in programs.exits:
        for i in cone(graph, exit_.results):
            found[i].append(exit_.name)
    return tuple(map(tuple, found))
