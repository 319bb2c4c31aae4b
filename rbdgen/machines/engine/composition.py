"""One function's graph: the passes of a task one behind the other, with operands that it has not as zeros.

Bits are those of :class:`rbdgen.tracing.execute.BitTrueModel`, which runs pass by pass: what both passes have in common
is there once, and terms that are zero are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rbdgen.errors import UnsupportedError
from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.graph import Graph, Node
from rbdgen.ir.number_formats import Format
from rbdgen.ir.programs import cone
from rbdgen.ir.terms import Terms, gathered
from rbdgen.machines.engine.core import Core, aligning_point
from rbdgen.tracing.execute import pass_sources
from rbdgen.tracing.network import PREFIX, Network

ZERO = -1
"""The number of a value that is always zero."""


@dataclass(frozen=True)
class Composition:
    """A ``function`` as one fixed-point graph: its ``operands`` by word, in the order of the protocol, are inputs of
    that name, as are loaded parameters, and its ``results`` outputs."""

    function: str
    fixed: FixedGraph
    operands: tuple[str, ...]
    results: tuple[str, ...]


def compose(
    network: Network,
    fixed: FixedGraph,
    function: str,
    core: Core,
) -> Composition:
    """The graph of a function. UnsupportedError for one that repeats, and for one without results."""
    if function == network.repeated_name:
        raise UnsupportedError(
            f"function {function!r}: programs of engines have no loops; leave it out"
        )
    made = _Composer(fixed, core)
    program = network.entry(function)
    given = [w.name for w in network.operand_words(function)]
    # parameters hold for all passes
    parameters = {}
    for name in network.programs.parameters:
        parameters[name] = made.input(name, fixed.formats[fixed.graph.inputs[name]])
    operands = parameters | dict.fromkeys(network.programs.operands, ZERO)
    prefix = PREFIX[program]
    for name, owner in network.programs.operands.items():
        plain = name.removeprefix(prefix)
        if owner == program and plain in given:
            operands[name] = made.input(plain, fixed.formats[fixed.graph.inputs[name]])
    for sources in pass_sources(network, fixed.graph, function):
        wanted = [source for source in sources.values() if source is not None]
        found = made.copied(operands, wanted)
        operands = parameters | dict.fromkeys(network.programs.operands, ZERO)
        for name, source in sources.items():
            if source is not None:
                target = fixed.formats[fixed.graph.inputs[name]]
                operands[name] = made.handed_on(found[source], target, name)
    names = [w.name for w in network.result_words(function)]
    if not names:
        raise UnsupportedError(
            f"function {function!r}: all of its results are zero for this robot, and engines give no answer without "
            "words; leave it out, or take --machine pipeline"
        )
    found = made.copied(operands, names)
    return Composition(function, made.graph(found), tuple(given), tuple(names))


class _Composer:
    """Makes the graph: ``nodes``, each with its format and adding point, found again by all of these."""

    def __init__(self, fixed: FixedGraph, core: Core) -> None:
        self.fixed = fixed
        self.core = core
        self.nodes: list[Node] = []
        self.formats: list[Format] = []
        self.points: dict[int, int] = {}
        self.index: dict[tuple[object, ...], int] = {}

    def _node(
        self,
        node: Node,
        fmt: Format,
        point: int | None = None,
    ) -> int:
        if node.terms.count:
            node = _in_order(node)
        key = node.op, node.args, node.attr, fmt, point
        if key not in self.index:
            self.index[key] = len(self.nodes)
            if point is not None:
                self.points[len(self.nodes)] = point
            self.nodes.append(node)
            self.formats.append(fmt)
        return self.index[key]

    def input(self, name: str, fmt: Format) -> int:
        """An operand, or a parameter."""
        return self._node(Node("input", (), name, "input"), fmt)

    def handed_on(
        self,
        i: int,
        target: Format,
        name: str,
    ) -> int:
        """A result of one pass as an operand of the next."""
        if i == ZERO or self.formats[i] == target:
            return i
        if not self.nodes[i].is_const:
            raise UnsupportedError(
                f"operand {name!r}: must have the format of what is handed on to it"
            )
        own = self.formats[i]
        raw = int(target.convert(own.quantise(self.nodes[i].attr), own)[0])
        return self._constant(raw, target.frac)

    def _constant(self, raw: int, frac: int) -> int:
        """A constant in the format that just holds it."""
        if not raw:
            return ZERO
        fmt = Format(abs(raw).bit_length() + 1, frac)
        return self._node(Node("const", (), math.ldexp(raw, -frac), ""), fmt)

    def copied(self, operands: Mapping[str, int], results: Iterable[str]) -> dict[str, int]:
        """The nodes of ``results`` for these operands."""
        graph = self.fixed.graph
        names = list(results)
        made: dict[int, int] = {}
        for i in cone(graph, names):
            made[i] = self._copy(i, graph.nodes[i], operands, made)
        return {name: made[graph.outputs[name]] for name in names}

    def _copy(
        self,
        i: int,
        node: Node,
        operands: Mapping[str, int],
        made: Mapping[int, int],
    ) -> int:
        fixed = self.fixed
        if node.is_input:
            return operands[node.attr]
        fmt, point = fixed.formats[i], fixed.points.get(i)
        if node.is_const:
            # constants that round to one word are one
            rounded = float(fmt.real(fmt.quantise(node.attr)))
            return self._node(Node("const", (), rounded, node.owner), fmt) if node.attr else ZERO
        args = tuple(made[a] for a in node.args)
        if ZERO not in args:
            return self._node(Node(node.op, args, node.attr, node.owner), fmt, point)
        if node.terms.count:
            return self._sum(node, args, fmt, point)
        if node.op == "round" or node.is_shift:
            return ZERO
        raise UnsupportedError(f"operation {node.op!r}: of a value that is always zero")

    def _sum(self, node: Node, args: tuple[int, ...], fmt: Format, point: int | None) -> int:
        """A sum without its terms that are zero."""
        own = Node("sum", args, node.terms, node.owner)
        products = [p for p in own.products if ZERO not in p[1:]]
        addends = [a for a in own.addends if a[1] != ZERO]
        if not products and not addends:
            return ZERO
        if not products and len(addends) == 1:
            sign, a = addends[0]
            return self._moved(sign, a, node, fmt, point)
        left, terms = gathered(products, addends)
        return self._node(Node("sum", left, terms, node.owner), fmt, point)

    def _moved(
        self,
        sign: int,
        a: int,
        node: Node,
        fmt: Format,
        point: int | None,
    ) -> int:
        """A sum of which one addend is left: that addend, or a product by one, or a sum with zero, of another point."""
        assert point is not None
        own = self.formats[a]
        if sign > 0 and own == fmt and point >= own.frac:
            return a
        try:
            frac = aligning_point(self.core, own.frac, point)
        except ValueError:
            # two addends of one point are moved by other distances
            zero = self._node(Node("const", (), 0.0, ""), Format(2, own.frac))
            both = Terms(addends=(sign, sign))
            return self._node(Node("sum", (a, zero), both, node.owner), fmt, point)
        one = self._node(Node("const", (), 1.0, ""), Format(frac + 2, frac))
        return self._node(Node("sum", (a, one), Terms(products=(sign,)), node.owner), fmt, point)

    def graph(self, results: Mapping[str, int]) -> FixedGraph:
        """The graph of these results."""
        outputs = {}
        for name, i in results.items():
            if i == ZERO:
                i = self._node(Node("const", (), 0.0, ""), Format(2, 0))
            outputs[name] = i
        # nodes that only a pass needed whose results nobody takes
        needed = set(cone(Graph(tuple(self.nodes), outputs), outputs))
        number: dict[int, int] = {}
        nodes, formats, points = [], [], {}
        for i, node in enumerate(self.nodes):
            if i not in needed and not node.is_input:
                continue
            number[i] = len(nodes)
            args = tuple(number[a] for a in node.args)
            nodes.append(Node(node.op, args, node.attr, node.owner))
            formats.append(self.formats[i])
            if i in self.points:
                points[number[i]] = self.points[i]
        named = {name: number[i] for name, i in outputs.items()}
        graph = Graph(tuple(nodes), named)
        return FixedGraph(graph, tuple(formats), {}, frozenset(), self.fixed.overflow, points)


def _in_order(node: Node) -> Node:
    """A sum with its terms in ascending order, so that equal ones are found to be: it is exact, whatever the order."""
    products = sorted((sign, min(a, b), max(a, b)) for sign, a, b in node.products)
    left, terms = gathered(products, sorted(node.addends))
    return Node(node.op, left, terms, node.owner)
