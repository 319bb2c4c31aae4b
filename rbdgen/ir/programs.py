"""Several programs in one graph: what starts together, and where results leave.

A program is a part of the graph that is connected to no other: its tasks start with its operands and run through
it in a fixed time. Programs may share submodules, and with them operators. An exit is a set of results that leave
a program together; a program has one for each kind of answer it gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rbdgen.ir.graph import Graph, Node


@dataclass(frozen=True)
class Exit:
    """Results of the graph, by name, that leave ``program`` together; ``into`` the program whose operands they are
    next,
    or for good."""

    name: str
    program: str
    results: tuple[str, ...]
    into: str | None = None


@dataclass(frozen=True)
class Programs:
    """``operands`` maps each operand of the graph to its program; ``exits`` covers every result; ``parameters`` are the
    inputs that belong to no task: they stay as they are while tasks run."""

    operands: Mapping[str, str]
    exits: tuple[Exit, ...]
    parameters: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The programs."""
        return tuple(dict.fromkeys(e.program for e in self.exits))


def single_program(graph: Graph) -> Programs:
    """All operands start one program, ``main``, and all results leave it together, at exit ``results``."""
    operands = dict.fromkeys(graph.inputs, "main")
    leaving = Exit("results", "main", tuple(graph.outputs))
    return Programs(operands, (leaving,))


def node_programs(graph: Graph, programs: Programs) -> tuple[str | None, ...]:
    """Each node's program. None: constants, and sums of parameters, which are everybody's. ValueError for a node that
    mixes two programs."""
    reached = _reached_programs(graph, programs)
    found: list[str | None] = []
    for i, node in graph:
        mine = {found[a] for a in node.args}
        # constants, and sums of parameters, go with any program
        mine.discard(None)
        operand = node.is_input and node.attr not in programs.parameters
        if operand:
            mine = {programs.operands[node.attr]}
        elif not mine and not _any_time(node):
            mine = reached[i]  # computed anew by every task that needs it
        if len(mine) > 1:
            names = sorted(map(str, mine))
            raise ValueError(f"node %{i} ({node.name}): must belong to one program, not {names}")
        found.append(next(iter(mine), None))
    return tuple(found)


def _any_time(node: Node) -> bool:
    """Whether a node of parameters alone takes no operator's turn, so that its result can be read at any time."""
    if node.terms.count:
        # a product takes a multiplier's turn
        return not node.terms.products
    return node.operation.any_time


def _reached_programs(graph: Graph, programs: Programs) -> list[set[str]]:
    """For each node the programs whose results depend on it."""
    reached: list[set[str]] = [set() for _ in graph.nodes]
    for leaving in programs.exits:
        for result in leaving.results:
            i = graph.outputs[result]
            reached[i].add(leaving.program)
    for i in reversed(range(len(graph.nodes))):
        for a in graph.nodes[i].args:
            reached[a] |= reached[i]
    return reached


def timeless_nodes(graph: Graph, programs: Programs) -> frozenset[int]:
    """Parameters, and what depends on parameters alone: values that can be read at any time."""
    timeless = []
    for i, program in enumerate(node_programs(graph, programs)):
        if program is None and not graph.nodes[i].is_const:
            timeless.append(i)
    return frozenset(timeless)


def cone(graph: Graph, results: Iterable[str]) -> tuple[int, ...]:
    """The nodes that these results depend on, themselves included, ascending."""
    needed = {graph.outputs[name] for name in results}
    for i in reversed(range(len(graph.nodes))):
        if i in needed:
            needed.update(graph.nodes[i].args)
    return tuple(sorted(needed))


def node_exits(graph: Graph, programs: Programs) -> tuple[tuple[str, ...], ...]:
    """For each node the exits whose results depend on it, in the programs' order."""
    found: list[list[str]] = [[] for _ in graph.nodes]
    for leaving in programs.exits:
        for i in cone(graph, leaving.results):
            found[i].append(leaving.name)
    return tuple(tuple(names) for names in found)
