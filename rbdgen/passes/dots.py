"""Passes: sums of products become dots, exact inside and rounded once; and dots become sums of products again.

A dot takes the maximal tree of sums, differences and negations over products that nothing else uses, within one
submodule. Its terms stand in the order in which they can be made, so that hardware that adds one after the other waits
for none.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from rbdgen.ir.builder import Builder
from rbdgen.ir.fixed import Constant, FixedGraph, Format, exact_sum
from rbdgen.ir.graph import Graph, Node
from rbdgen.ir.terms import SUMS, Terms

SUMMING = ("add", "sub", "neg")
"""Operations that are absorbed."""
STEPS = {"mul": 1.0, "dot": 1.3, "scale": 0.7, "add": 0.3, "sub": 0.3, "neg": 0.3}
"""How long operations take, in products, to put terms in order; others with arguments take as long as a product."""


@dataclass(frozen=True)
class _Term:
    """A term of a dot: ``sign`` times 2^``places`` times the product of ``args``, one or two nodes."""

    sign: int
    places: int
    args: tuple[int, ...]


def fuse_dots(graph: Graph) -> Graph:
    """The graph with a dot in place of every sum of two or more terms of which one is a product."""
    absorbed = _absorbed(graph)
    builder = Builder()
    new: list[int] = []
    arrivals: list[float] = []
    for i, node in graph:
        terms = _terms(graph, i, absorbed) if node.op in SUMMING and i not in absorbed else []
        with builder.submodule(node.owner):
            if _is_dot(terms):
                made = _dot(builder, sorted(terms, key=lambda t: _arrival(t, arrivals)), new)
            else:
                made = builder.copied(node, tuple(new[a] for a in node.args))
        new.append(made)
        before = max((arrivals[a] for a in node.args), default=0.0)
        arrivals.append(before + (STEPS.get(node.op, 1.0) if node.args else 0.0))
    outputs = {name: new[i] for name, i in graph.outputs.items()}
    return builder.graph(outputs)


def _is_dot(terms: Sequence[_Term]) -> bool:
    """Whether terms make a dot: a product among others, or a negative one."""
    products = [term for term in terms if len(term.args) == 2]
    if not products:
        return False
    return len(terms) > 1 or products[0].sign < 0


def _arrival(term: _Term, arrivals: Sequence[float]) -> float:
    """When the last argument of a term is there."""
    return max(arrivals[a] for a in term.args)


def _absorbed(graph: Graph) -> frozenset[int]:
    """The sums, products and shifts that only one sum of their own submodule uses, once."""
    found: set[int] = set()
    for i in reversed(range(len(graph.nodes))):
        node = graph.nodes[i]
        if node.op not in (*SUMMING, "mul", "shift") or i in graph.results:
            continue
        users = graph.users[i]
        if len(users) != 1:
            continue
        user = graph.nodes[users[0]]
        within = user.op in SUMMING or (user.op == "shift" and users[0] in found)
        if within and user.owner == node.owner and user.args.count(i) == 1:
            found.add(i)
    return frozenset(found)


def _terms(graph: Graph, root: int, absorbed: Collection[int]) -> list[_Term]:
    """What the sum ``root`` adds up, from the left."""
    terms = []
    waiting = [(1, 0, root)]
    while waiting:
        sign, places, i = waiting.pop()
        node = graph.nodes[i]
        inside = i == root or i in absorbed
        if inside and node.op in SUMMING:
            for own, a in reversed(node.addends):
                waiting.append((sign * own, places, a))
        elif inside and node.op == "shift":
            waiting.append((sign, places + node.attr, node.args[0]))
        elif inside and node.op == "mul":
            terms.append(_Term(sign, places, node.args))
        else:
            terms.append(_Term(sign, places, (i,)))
    return terms


def _dot(builder: Builder, terms: Sequence[_Term], new: Sequence[int]) -> int:
    """A dot of terms whose nodes have ``new`` numbers."""
    products, addends = [], []
    for term in terms:
        args = [new[a] for a in term.args]
        if term.places:
            args[0] = builder.shift(args[0], term.places)
        kind = products if len(args) == 2 else addends
        kind.append((term.sign, args))
    ordered = [*products, *addends]
    signs = Terms(tuple(sign for sign, _ in products), tuple(sign for sign, _ in addends))
    return builder.dot(tuple(a for _, args in ordered for a in args), signs)


def shape_dots(
    fixed: FixedGraph,
    longest: Callable[[str], int],
    arrivals: Sequence[float],
    step: float,
) -> FixedGraph:
    """The same bits with dots of at most so many products as are ``longest`` for their submodule, and one addend; of
    0 products: with products and sums in their place.

    A dot that is longer is a sum of several that are exact. ``arrivals``: when each node's value is there; what is
    there first is added first, each sum taking a ``step``.
    """
    copy = _Copy(fixed)
    for i, node in fixed.graph:
        if node.op == "dot":
            copy.shape(i, node, longest(node.owner), arrivals, step)
        else:
            copy.keep(i, node)
    return copy.fixed()


@dataclass(order=True)
class _Part:
    """A sum of some terms: when it is there, its ``node``, and its ``sign``."""

    arrival: float
    node: int
    sign: int


class _Copy:
    """A copy of a fixed-point graph in which dots are shaped."""

    def __init__(self, source: FixedGraph) -> None:
        self.source = source
        self.nodes: list[Node] = []
        self.formats: list[Format] = []
        self.constants: dict[int, Constant] = {}
        self.points: dict[int, int] = {}
        self.truncated: set[int] = set()
        self.index: dict[tuple[Node, Format, bool], int] = {}
        self.number: list[int] = []

    def fixed(self) -> FixedGraph:
        """The copy."""
        outputs = {name: self.number[i] for name, i in self.source.graph.outputs.items()}
        return FixedGraph(
            Graph(tuple(self.nodes), outputs),
            tuple(self.formats),
            self.constants,
            frozenset(self.truncated),
            self.source.saturate,
            self.points,
        )

    def keep(self, i: int, node: Node) -> None:
        """A node as it is."""
        args = tuple(self.number[a] for a in node.args)
        copied = Node(node.op, args, node.attr, node.owner)
        number = self._add(copied, self.source.formats[i], i in self.source.truncated)
        if i in self.source.constants:
            self.constants[number] = self.source.constants[i]
        if i in self.source.points:
            self.points[number] = self.source.points[i]
        self.number.append(number)

    def shape(
        self, i: int, node: Node, longest: int, arrivals: Sequence[float], step: float
    ) -> None:
        """A dot as a tree of sums over shorter ones, or over products."""
        terms = node.terms
        if len(terms.products) <= longest and len(terms.addends) <= 1:
            self.keep(i, node)
            return
        parts, addends = self._products(i, node, longest, arrivals)
        for sign, a in addends:
            addend = self._dropped(i, self.number[a], node.owner)
            parts.append(_Part(arrivals[a], addend, sign))
        heapq.heapify(parts)
        while len(parts) > 2:
            first, second = heapq.heappop(parts), heapq.heappop(parts)
            op, args, sign = _joined(first, second)
            total = self._exactly(op, args, node.owner)
            heapq.heappush(parts, _Part(second.arrival + step, total, sign))
        op, args = "neg", (parts[0].node,)
        if len(parts) == 2:
            op, args, sign = _joined(heapq.heappop(parts), heapq.heappop(parts))
            if sign < 0:
                total = self._exactly(op, args, node.owner)
                op, args = "neg", (total,)
        rounded = Node(op, args, None, node.owner)
        number = self._add(rounded, self.source.formats[i], i in self.source.truncated)
        self.number.append(number)

    def _products(
        self, i: int, node: Node, longest: int, arrivals: Sequence[float]
    ) -> tuple[list[_Part], list[tuple[int, int]]]:
        """The products of a dot, several in one dot where they may be, and the addends that are left."""
        parts: list[_Part] = []
        addends = sorted(node.addends, key=lambda addend: arrivals[addend[1]])
        products = node.products
        count = max(longest, 1)
        groups = [products[begin : begin + count] for begin in range(0, len(products), count)]
        for group in groups:
            arrival = max(arrivals[a] for _, *factors in group for a in factors)
            if not longest:
                ((sign, one, other),) = group
                product = self._product(i, (self.number[one], self.number[other]), node.owner)
                parts.append(_Part(arrival + 1.0, product, sign))
                continue
            own, addends = addends[:1], addends[1:]
            part = self._partial(i, group, own, node.owner)
            parts.append(_Part(arrival + len(group), part, 1))
        return parts, addends

    def _partial(
        self,
        i: int,
        products: Sequence[tuple[int, int, int]],
        addends: Sequence[tuple[int, int]],
        owner: str,
    ) -> int:
        """A dot of some terms of dot ``i``, exact at its binary point."""
        args = [self.number[a] for _, *factors in products for a in factors]
        args += [self.number[a] for _, a in addends]
        signs = Terms(tuple(p[0] for p in products), tuple(sign for sign, _ in addends))
        point = self.source.points.get(i)
        fmt = _exact_format(signs, [self.formats[a] for a in args], point)
        number = self._add(Node("dot", tuple(args), signs, owner), fmt)
        self.points[number] = fmt.frac
        return number

    def _product(self, i: int, args: tuple[int, ...], owner: str) -> int:
        """A product of dot ``i`` without what is below the dot's binary point."""
        formats = [self.formats[a] for a in args]
        exact, _, _ = exact_sum(SUMS["mul"], formats)
        point = min(exact, self.source.points.get(i, exact))
        fmt = _exact_format(SUMS["mul"], formats, point)
        return self._add(Node("mul", args, None, owner), fmt, point < exact)

    def _dropped(self, i: int, a: int, owner: str) -> int:
        """An addend of dot ``i`` without what is below the dot's binary point."""
        own = self.formats[a]
        point = self.source.points.get(i, own.frac)
        if own.frac <= point:
            return a
        fmt = Format(max(1, own.width - (own.frac - point)), point)
        return self._add(Node("round", (a,), point, owner), fmt, True)

    def _exactly(self, op: str, args: tuple[int, ...], owner: str) -> int:
        """A sum that rounds nothing and cannot overflow."""
        fmt = _exact_format(SUMS[op], [self.formats[a] for a in args])
        return self._add(Node(op, args, None, owner), fmt)

    def _add(self, node: Node, fmt: Format, truncated: bool = False) -> int:
        """The number of a node, which is made where there is none yet."""
        key = node, fmt, truncated
        if key not in self.index:
            self.index[key] = len(self.nodes)
            if truncated:
                self.truncated.add(len(self.nodes))
            self.nodes.append(node)
            self.formats.append(fmt)
        return self.index[key]


def _exact_format(terms: Terms, args: Sequence[Format], point: int | None = None) -> Format:
    """The format of a sum at a binary point, by default the exact one's."""
    frac, low, high = exact_sum(terms, args, point)
    width = max((-low - 1).bit_length(), high.bit_length()) + 1
    return Format(width, frac)


def _joined(one: _Part, other: _Part) -> tuple[str, tuple[int, int], int]:
    """The operation that adds two parts, its arguments, and the sign of its result."""
    if one.sign == other.sign:
        first, second = sorted((one.node, other.node))
        return "add", (first, second), one.sign
    positive, negative = (one, other) if one.sign > 0 else (other, one)
    return "sub", (positive.node, negative.node), 1
