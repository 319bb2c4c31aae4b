"""Where a graph needs more bits than its word: a wish that the choice of formats fulfils."""

from __future__ import annotations

from dataclasses import dataclass

from rbdgen.ir.graph import Graph
from rbdgen.ir.programs import cone


@dataclass(frozen=True)
class Precision:
    """What needs more bits than the word: of what ``results`` depend on, the ``operands``, the sums in submodules
    ``owners``, and reciprocals."""

    results: frozenset[str] = frozenset()
    operands: frozenset[str] = frozenset()
    owners: frozenset[str] = frozenset()

    def nodes(self, graph: Graph) -> frozenset[int]:
        """The nodes of ``graph`` that this names."""
        found = set()
        for i in cone(graph, self.results & graph.outputs.keys()):
            node = graph.nodes[i]
            own = node.owner in self.owners and node.op in ("add", "sub", "dot", "rescale")
            if own or (node.op == "input" and node.attr in self.operands):
                found.add(i)
        return frozenset(found)
