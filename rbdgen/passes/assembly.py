"""Assembly: the fixed-point graph of the word lengths that were chosen for a graph.

Wherever a user sees fewer bits than a node has, a node of its own rounds them away.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from rbdgen.ir.fixed import Constant, FixedGraph, Format, verify_fixed
from rbdgen.ir.graph import Graph, Node
from rbdgen.passes.sound import unproven
from rbdgen.passes.wordlength import Choice, WordLengths


def assemble(
    lengths: WordLengths, choice: Choice, saturate: bool = True, declared: Mapping[str, float] | None = None
) -> FixedGraph:
    """The graph of ``lengths`` with the formats of ``choice``; bits that single users drop are dropped by nodes of
    their own.

    With operands' ``declared`` magnitudes, signals that have a bound get room for it, rounding errors included;
    ``lengths`` has it from then on.
    """
    while True:
        assembly = _Assembly(lengths, choice)
        fixed = assembly.fixed(saturate)
        missing = unproven(fixed, declared) if declared is not None else {}
        origin = {new: old for old, new in enumerate(assembly.number)}
        if not missing:
            return fixed
        for i in missing:
            while i not in origin:
                i = fixed.graph.nodes[i].args[0]
            lengths.heads[origin[i]] += 1


class _Assembly:
    """Copies a graph and puts a ``round`` wherever a user sees fewer bits than a node has."""

    def __init__(self, lengths: WordLengths, choice: Choice) -> None:
        self.lengths, self.choice, self.graph = lengths, choice, lengths.graph
        self.nodes: list[Node] = []
        self.formats: list[Format] = []
        self.truncated: set[int] = set()
        self.constants: dict[int, Constant] = {}
        self.cuts: dict[tuple[int, int, bool, str], int] = {}
        self.number: list[int] = []
        self.heads = lengths.room(choice)

    def add(self, node: Node, fmt: Format, truncated: bool) -> int:
        self.nodes.append(node)
        self.formats.append(fmt)
        if truncated:
            self.truncated.add(len(self.nodes) - 1)
        return len(self.nodes) - 1

    def format(self, i: int, frac: int) -> Format:
        """The format of node ``i`` with ``frac`` bits behind the point."""
        op, magnitude, head = self.graph.nodes[i].op, float(self.lengths.magnitudes[i]), self.heads[i]
        if op == "input":
            # one code beyond the declared range must remain, to tell a clamped operand from one at its limit
            head += math.floor(math.ldexp(magnitude, frac)) + 1 >= (1 << (head + frac)) - 1
        return Format(max(head + 1 + frac, 1), frac)

    def cut(self, i: int, site: int, owner: str) -> int:
        """Node ``i`` as the place ``site`` sees it."""
        frac, down = self.choice.views[site], site in self.choice.truncated
        if frac >= self.choice.fracs[i]:
            return self.number[i]
        key = i, frac, down, owner
        if key not in self.cuts:
            fmt = self.formats[self.number[i]]
            narrow = Format(max(fmt.width - fmt.frac + frac, 1), frac)
            twin = next((n for k, n in self.cuts.items() if k[:2] == key[:2] and k[3] == owner), None)
            # the graph knows a rounding by its bits only: where two users differ in the way, the first decides
            self.cuts[key] = (
                self.add(Node("round", (self.number[i],), frac, owner), narrow, down) if twin is None else twin
            )
        return self.cuts[key]

    def fixed(self, saturate: bool) -> FixedGraph:
        choice, sites = self.choice, self.lengths.sites
        for i, node in self.graph:
            args = tuple(self.number[a] for a in node.args)
            if node.op == "mul":
                site = sites.factors[i]
                args = tuple(self.cut(a, site + side, node.owner) for side, a in enumerate(node.args))
            frac, down = choice.fracs[i], i in choice.truncated
            if node.op == "shift":
                source = self.formats[args[0]]
                fmt = Format(source.width, source.frac - node.attr)
            elif node.op == "residual":
                fmt = Format(self.formats[args[0]].frac - node.attr, self.formats[args[0]].frac)
            else:
                fmt = self.format(i, frac)
            self.number.append(self.add(Node(node.op, args, node.attr, node.owner), fmt, down))
            if node.op == "scale":
                self.constants[self.number[i]] = choice.constants[i]
        outputs = {}
        for name, i in self.graph.outputs.items():
            site = sites.results.get(name)
            outputs[name] = self.number[i] if site is None else self.cut(i, site, self.graph.nodes[i].owner)
        graph = Graph(tuple(self.nodes), outputs)
        fixed = FixedGraph(graph, tuple(self.formats), self.constants, frozenset(self.truncated), saturate)
        verify_fixed(fixed)
        return fixed
