"""One function's graph: the passes of a task one behind the other, with operands that it has not as zeros.

Bits are those of :class:`rbdgen.tracing.execute.BitTrueModel`, which runs pass by pass: what both passes have in common
is there once, and terms that are zero are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rbdgen.errors import UnsupportedError
from rbdgen.functions.quantities import STEPS, WEIGHTS
from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.graph import Graph, Node
from rbdgen.ir.number_formats import Format
from rbdgen.ir.programs import cone
from rbdgen.ir.terms import Terms, gathered
from rbdgen.machines.engine.core import Core, aligning_point
from rbdgen.machines.engine.special import is_special
from rbdgen.tracing.execute import begin_operands, pass_sources
from rbdgen.tracing.network import PREFIX, Network

ZERO = -1
"""The number of a value that is always zero."""


@dataclass(frozen=True)
class Composition:
    """A ``function`` as one fixed-point graph: its ``operands`` by word, in the order of the protocol, are inputs of
    that name, as are loaded parameters, and its ``results`` outputs. Of a function that repeats it is a step: its
    results are the first operands of the next, all others stay, and the operand at ``count_at`` says how many steps
    there are."""

    function: str
    fixed: FixedGraph
    operands: tuple[str, ...]
    results: tuple[str, ...]
    count_at: int | None = None


def compose(
    network: Network,
    fixed: FixedGraph,
    function: str,
    core: Core,
) -> Composition:
    """The graph of a function."""
    made = _Composer(fixed, core)
    program = network.entry(function)
    given = [w.name for w in network.operand_words(function)]
    # parameters hold for all passes
    parameters = {}
    for name in network.programs.parameters:
        parameters[name] = made.input(name, made.format_of(name))
    operands = parameters | dict.fromkeys(network.programs.operands, ZERO)
    prefix = PREFIX[program]
    for name, owner in network.programs.operands.items():
        plain = name.removeprefix(prefix)
        if owner == program and plain in given:
            operands[name] = made.input(plain, made.format_of(name))
    for begin, state in begin_operands(network, function):
        operands[begin] = made.handed_on(operands[state], made.format_of(begin), begin)
    for number, sources in enumerate(pass_sources(network, fixed.graph, function)):
        operands |= made.weights(network, function, number)
        wanted = [source for source in sources.values() if source is not None]
        found = made.copied(operands, wanted)
        operands = parameters | dict.fromkeys(network.programs.operands, ZERO)
        for name, source in sources.items():
            if source is not None:
                operands[name] = made.handed_on(found[source], made.format_of(name), name)
    if function == network.repeated_name:
        operands |= made.weights(network, function, len(network.options.weights) - 1)
    names = [w.name for w in network.result_words(function)]
    found = made.copied(operands, names)
    count_at = None
    if function == network.repeated_name:
        count_at = [w.vector for w in network.operand_words(function)].index(STEPS.name)
    return Composition(function, made.graph(found), tuple(given), tuple(names), count_at)


class _Composer:
    """Makes the graph: ``nodes``, each with its format and adding point, found again by all of these."""

    def __init__(self, fixed: FixedGraph, core: Core) -> None:
        self.fixed = fixed
        self.core = core
        self.nodes: list[Node] = []
        self.formats: list[Format] = []
        self.points: dict[int, int] = {}
        self.index: dict[tuple[object, ...], int] = {}
        self.passes = 0

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

    def format_of(self, operand: str) -> Format:
        """The format of an operand or a parameter."""
        return self.fixed.formats[self.fixed.graph.inputs[operand]]

    def weights(self, network: Network, function: str, number: int) -> dict[str, int]:
        """The weights of a step's evaluation, as operands."""
        if function != network.repeated_name:
            return {}
        found = {}
        # a step of a single evaluation has none among its operands
        words = network.operands.get(WEIGHTS, ())
        for word, weight in zip(words, network.options.weights[number], strict=False):
            fmt = self.format_of(word.name)
            found[word.name] = self._constant(int(fmt.quantise(weight)), fmt.frac)
        return found

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
        # calls of the special unit in one pass are others than those in the next
        self.passes += 1
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
            owner = f"{node.owner}_{self.passes}" if is_special(node) else node.owner
            return self._node(Node(node.op, args, node.attr, owner), fmt, point)
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
