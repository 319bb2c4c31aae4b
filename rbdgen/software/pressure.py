"""Whether a function's values fit into the registers of a GPU's thread: an estimate from its graph."""

from __future__ import annotations

from collections.abc import Sequence

from rbdgen.ir.graph import Graph
from rbdgen.software.program import Program, Straight

REGISTERS = 255
"""Of 32 bits that a thread may have (CUDA C++ Programming Guide, table of technical specifications)."""
OTHERS = 30
"""Registers that addresses and the like take."""


def most_alive(graph: Graph, order: Sequence[int]) -> int:
    """Results of operations that are alive at once at most, computed in this order."""
    last: dict[int, int] = {}
    for i in order:
        last |= dict.fromkeys(graph.nodes[i].args, i)
    ends: dict[int, int] = {}
    for a, i in last.items():
        if not graph.nodes[a].is_given:
            ends[i] = ends.get(i, 0) + 1
    alive = most = 0
    for i in order:
        alive += (i in last) - ends.get(i, 0)
        most = max(most, alive)
    return most


def depth_first(graph: Graph, roots: Sequence[int]) -> list[int]:
    """The operations that these nodes need: all for the first, then what more the second needs, and so on."""
    order: list[int] = []
    seen: set[int] = set()
    waiting = [(root, False) for root in reversed(roots)]
    while waiting:
        i, ready = waiting.pop()
        node = graph.nodes[i]
        if i in seen or node.is_given:
            continue
        if ready:
            seen.add(i)
            order.append(i)
            continue
        waiting.append((i, True))
        waiting += [(a, False) for a in reversed(node.args)]
    return order


def pressure(straight: Straight) -> int:
    """Values that must be alive at once: the least of some orders."""
    graph = straight.graph
    roots = [i for _, i in straight.writes]
    given = [i for i, node in graph if not node.is_given]
    orders = (given, depth_first(graph, roots), depth_first(graph, roots[::-1]))
    return min(most_alive(graph, order) for order in orders)


def spills(program: Program, bits: int) -> bool:
    """Whether a plain kernel for numbers of so many bits is expected to keep values in memory."""
    if program.local:
        return True
    straights = [step for step in program.steps if isinstance(step, Straight)]
    most = max((pressure(straight) for straight in straights), default=0)
    return most * bits // 32 + OTHERS > REGISTERS
