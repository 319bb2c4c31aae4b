"""Assembly: the fixed-point graph of the word lengths that were chosen for a graph.

Wherever a user sees fewer bits than a node has, a node of its own rounds them away.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from rbdgen.errors import ConfigError
from rbdgen.ir.constants import Constant
from rbdgen.ir.fixed import FLAG, FixedGraph, shared_points, verify_fixed
from rbdgen.ir.graph import Graph, Node
from rbdgen.ir.number_formats import ExactWidthError, Format
from rbdgen.passes.formats import fraction_format, lone_zero
from rbdgen.passes.ranges import unproven
from rbdgen.wordlength.signals import Signals, WordLengthChoice

Cut = tuple[int, int, str]
"""Node that loses bits, those that it has behind the point then, and the submodule in which that is done."""


def assemble(
    signals: Signals,
    choice: WordLengthChoice,
    overflow: str = FLAG,
    declared: Mapping[str, float] | None = None,
) -> FixedGraph:
    """The graph of ``signals`` with the formats of ``choice``; bits that single users drop are dropped by nodes of
    their own.

    With operands' ``declared`` magnitudes, signals that have a bound get room for it, rounding errors included;
    ``signals`` has it from then on. ConfigError where a sum would have more bits than the representation holds.
    """
    while True:
        assembly = _Assembly(signals, choice)
        try:
            fixed = assembly.fixed(overflow)
        except ExactWidthError:
            raise ConfigError(
                "error: what is inverted spans more bits than a sum may have, 63; ask for a larger error, or give a "
                "word length, such as --word 30"
            ) from None
        missing = unproven(fixed, declared) if declared is not None else {}
        if not missing:
            return fixed
        origin = {new: old for old, new in enumerate(assembly.number)}
        for i in missing:
            # a rounding of its own has no signal: what it rounds gets the room
            while i not in origin:
                i = fixed.graph.nodes[i].args[0]
            signals.heads[origin[i]] += 1


class _Assembly:
    """Copies a graph and puts a ``round`` wherever a user sees fewer bits than a node has."""

    def __init__(self, signals: Signals, choice: WordLengthChoice) -> None:
        self.signals = signals
        self.choice = choice
        self.graph = signals.graph
        self.heads = signals.room(choice)
        self.fracs: list[int] = choice.fracs.tolist()
        self.views: list[int] = choice.views.tolist()
        self.nodes: list[Node] = []
        self.formats: list[Format] = []
        self.truncated: set[int] = set()
        self.constants: dict[int, Constant] = {}
        self.cuts: dict[Cut, int] = {}
        self.number: list[int] = []

    def fixed(self, overflow: str) -> FixedGraph:
        """The whole graph."""
        choice = self.choice
        for i, node in self.graph:
            args = self._arguments(i, node)
            new = Node(node.op, args, node.attr, node.owner)
            fmt = self._format(i, args)
            number = self._add(new, fmt, bool(choice.truncated[i]))
            self.number.append(number)
            if node.terms.multiple is not None:
                self.constants[number] = choice.constants[i]
        outputs = {}
        for name, i in self.graph.outputs.items():
            outputs[name] = self._result(name, i)
        graph = Graph(tuple(self.nodes), outputs)
        # one accumulator makes all turns of a folded dot, which therefore add at one point
        tied = []
        for members in self.signals.ties.formats:
            tied.append([self.number[i] for i in members])
        fixed = FixedGraph(
            graph,
            tuple(self.formats),
            self.constants,
            frozenset(self.truncated),
            overflow,
            shared_points(graph, self.formats, tied),
        )
        verify_fixed(fixed)
        return fixed

    def _add(self, node: Node, fmt: Format, truncated: bool) -> int:
        number = len(self.nodes)
        self.nodes.append(node)
        self.formats.append(fmt)
        if truncated:
            self.truncated.add(number)
        return number

    def _arguments(self, i: int, node: Node) -> tuple[int, ...]:
        """The new numbers of a node's arguments, as it sees them."""
        first = self.signals.sites.factors.get(i, 0)
        args = []
        for site, a in enumerate(node.factors, first):
            args.append(self._cut(a, site, node.owner))
        for a in node.args[len(node.factors) :]:
            args.append(self.number[a])
        return tuple(args)

    def _result(self, name: str, i: int) -> int:
        """The new number of a result, as it leaves."""
        site = self.signals.sites.results.get(name)
        # the format of a lone zero has a point that views know nothing of
        if site is None or lone_zero(self.graph, i):
            return self.number[i]
        return self._cut(i, site, self.graph.nodes[i].owner)

    def _format(self, i: int, args: tuple[int, ...]) -> Format:
        """The format of node ``i``, with the new numbers of its arguments."""
        node = self.graph.nodes[i]
        if node.operation.is_wiring:
            return node.operation.wired_format(node, self.formats[args[0]])
        head, frac = self.heads[i], self.fracs[i]
        if node.is_input:
            # one code beyond the declared range must remain, to tell a clamped operand from one at its limit
            magnitude = float(self.signals.magnitudes[i])
            limit = math.floor(math.ldexp(magnitude, frac))
            if limit + 1 >= (1 << (head + frac)) - 1:
                head += 1
        width = max(head + 1 + frac, 1)
        return fraction_format(width) if lone_zero(self.graph, i) else Format(width, frac)

    def _cut(self, i: int, site: int, owner: str) -> int:
        """Node ``i`` as the place ``site`` sees it."""
        frac = self.views[site]
        if frac >= self.fracs[i]:
            return self.number[i]
        # the graph knows a rounding by its bits only: where two users differ in the way, the first decides
        key = i, frac, owner
        if key not in self.cuts:
            number = self.number[i]
            fmt = self.formats[number]
            width = fmt.width - fmt.frac + frac
            narrow = Format(max(width, 1), frac)
            node = Node("round", (number,), frac, owner)
            truncated = bool(self.choice.truncated[site])
            self.cuts[key] = self._add(node, narrow, truncated)
        return self.cuts[key]
