"""Passes: sums of products become dots, exact inside and rounded once; and dots become sums of products again.

A dot takes the maximal tree of sums, differences and negations over products that nothing else uses, within one
submodule. Its terms stand in the order in which they can be made, so that hardware that adds one after the other waits
for none.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from rbdgen.ir.builder import Builder
from rbdgen.ir.constants import Constant
from rbdgen.ir.exactness import exact_sum
from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.graph import Graph, Node
from rbdgen.ir.number_formats import Format
from rbdgen.ir.terms import ADDITION, DIFFERENCE, NEGATION, PRODUCT, Terms

PRODUCT_STEP, DOT_STEP, MULTIPLE_STEP, SUM_STEP = 1.0, 1.3, 0.7, 0.3
"""Durations of operations, in products, to put terms in order; others with arguments take as long as a product."""


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
        terms: list[_Term] = []
        if node.terms.adds and i not in absorbed:
            terms = _terms(graph, i, absorbed)
        with builder.submodule(node.owner):
            if _is_dot(terms):
                ordered = sorted(terms, key=lambda term: _latest(term.args, arrivals))
                made = _dot(builder, ordered, new)
            else:
                args = tuple(new[a] for a in node.args)
                made = builder.copied(node, args)
        new.append(made)
        arrival = 0.0
        if node.args:
            step = _step(node)
            arrival = _latest(node.args, arrivals) + step
        arrivals.append(arrival)
    outputs = {name: new[i] for name, i in graph.outputs.items()}
    return builder.graph(outputs)


def _step(node: Node) -> float:
    """Duration of an operation, in products."""
    terms = node.terms
    if terms.is_dot:
        return DOT_STEP
    if terms.multiple is not None:
        return MULTIPLE_STEP
    return SUM_STEP if node.is_addition else PRODUCT_STEP


def _is_dot(terms: Sequence[_Term]) -> bool:
    """Whether terms make a dot: a product among others, or a negative one."""
    products = [term for term in terms if len(term.args) == 2]
    if not products:
        return False
    # a lone product without a sign is one operation as it is
    return len(terms) > 1 or products[0].sign < 0


def _latest(args: Iterable[int], arrivals: Sequence[float]) -> float:
    """When the last of some arguments is there."""
    return max(arrivals[a] for a in args)


def _absorbed(graph: Graph) -> frozenset[int]:
    """The sums, products and shifts that only one sum of their own submodule uses, once."""
    found: set[int] = set()
    # users first: whether a shift is taken into a sum depends on what uses it
    for i in reversed(range(len(graph.nodes))):
        node = graph.nodes[i]
        users = graph.users[i]
        absorbs = node.terms.adds or node.terms.is_product or node.is_shift
        if not absorbs or i in graph.results or len(users) != 1:
            continue
        number = users[0]
        user = graph.nodes[number]
        within = user.terms.adds
        if user.is_shift:
            within = number in found
        # what is added twice would be made twice
        once = user.args.count(i) == 1
        if within and once and user.owner == node.owner:
            found.add(i)
    return frozenset(found)


def _terms(graph: Graph, root: int, absorbed: Collection[int]) -> list[_Term]:
    """The terms that the sum ``root`` adds up, from the left."""
    terms = []
    waiting = [(1, 0, root)]
    while waiting:
        sign, places, i = waiting.pop()
        node = graph.nodes[i]
        inside = i == root or i in absorbed
        if inside and node.terms.adds:
            # the stack turns the order around
            for own, a in reversed(node.addends):
                waiting.append((sign * own, places, a))
        elif inside and node.is_shift:
            moved = places + node.attr
            waiting.append((sign, moved, node.args[0]))
        elif inside and node.terms.is_product:
            terms.append(_Term(sign, places, node.args))
        else:
            terms.append(_Term(sign, places, (i,)))
    return terms


def _dot(builder: Builder, terms: Sequence[_Term], new: Sequence[int]) -> int:
    """A dot of terms whose nodes have ``new`` numbers."""
    factors: list[int] = []
    product_signs: list[int] = []
    addends: list[int] = []
    addend_signs: list[int] = []
    for term in terms:
        args = [new[a] for a in term.args]
        if term.places:
            # a product moves with either factor, which is wiring
            args[0] = builder.shift(args[0], term.places)
        if len(args) == 2:
            factors += args
            product_signs.append(term.sign)
        else:
            addends += args
            addend_signs.append(term.sign)
    signs = Terms(tuple(product_signs), tuple(addend_signs))
    return builder.sum((*factors, *addends), signs)


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
        if node.terms.is_dot:
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
        outputs = {}
        for name, i in self.source.graph.outputs.items():
            outputs[name] = self.number[i]
        return FixedGraph(
            graph=Graph(tuple(self.nodes), outputs),
            formats=tuple(self.formats),
            constants=self.constants,
            truncated=frozenset(self.truncated),
            overflow=self.source.overflow,
            points=self.points,
        )

    def keep(self, i: int, node: Node) -> None:
        """A node as it is."""
        source = self.source
        args = tuple(self.number[a] for a in node.args)
        copied = Node(node.op, args, node.attr, node.owner)
        truncated = i in source.truncated
        number = self._add(copied, source.formats[i], truncated)
        if i in source.constants:
            self.constants[number] = source.constants[i]
        if i in source.points:
            self.points[number] = source.points[i]
        self.number.append(number)

    def shape(
        self,
        i: int,
        node: Node,
        longest: int,
        arrivals: Sequence[float],
        step: float,
    ) -> None:
        """A dot as a tree of sums over shorter ones, or over products."""
        terms = node.terms
        if len(terms.products) <= longest and len(terms.addends) <= 1:
            self.keep(i, node)
            return
        parts, addends = self._products(i, node, longest, arrivals)
        for sign, a in addends:
            # as the dot would drop them itself: the bits stay the same
            addend = self._dropped(i, self.number[a], node.owner)
            parts.append(_Part(arrivals[a], addend, sign))
        heapq.heapify(parts)
        while len(parts) > 2:
            first = heapq.heappop(parts)
            second = heapq.heappop(parts)
            terms, args, sign = _joined(first, second)
            total = self._exactly(terms, args, node.owner)
            arrival = second.arrival + step
            heapq.heappush(parts, _Part(arrival, total, sign))
        terms, args = self._last_sum(parts, node.owner)
        rounded = Node("sum", args, terms, node.owner)
        truncated = i in self.source.truncated
        number = self._add(rounded, self.source.formats[i], truncated)
        self.number.append(number)

    def _last_sum(self, parts: list[_Part], owner: str) -> tuple[Terms, tuple[int, ...]]:
        """The sum that makes a dot of its last two parts, or of the negative one that is left; its arguments."""
        first = heapq.heappop(parts)
        if not parts:
            return NEGATION, (first.node,)
        second = heapq.heappop(parts)
        terms, args, sign = _joined(first, second)
        if sign > 0:
            return terms, args
        # half up of a negative is not the negative of half up: the sign comes before rounding
        total = self._exactly(terms, args, owner)
        return NEGATION, (total,)

    def _products(
        self,
        i: int,
        node: Node,
        longest: int,
        arrivals: Sequence[float],
    ) -> tuple[list[_Part], list[tuple[int, int]]]:
        """The products of a dot, several in one dot where they may be, and the addends that are left."""
        parts: list[_Part] = []
        addends = sorted(node.addends, key=lambda addend: arrivals[addend[1]])
        products = node.products
        count = max(longest, 1)
        for begin in range(0, len(products), count):
            group = products[begin : begin + count]
            arrival = _latest(_factors(group), arrivals)
            if longest:
                own = addends[:1]
                addends = addends[1:]
                partial = self._partial(i, group, own, node.owner)
                part = _Part(arrival + len(group), partial, 1)
            else:
                ((sign, one, other),) = group
                args = self.number[one], self.number[other]
                product = self._product(i, args, node.owner)
                part = _Part(arrival + 1.0, product, sign)
            parts.append(part)
        return parts, addends

    def _partial(
        self,
        i: int,
        products: Sequence[tuple[int, int, int]],
        addends: Sequence[tuple[int, int]],
        owner: str,
    ) -> int:
        """A dot of some terms of dot ``i``, exact at its binary point."""
        args = [self.number[a] for a in _factors(products)]
        args += [self.number[a] for _, a in addends]
        signs = Terms(
            products=tuple(sign for sign, _, _ in products),
            addends=tuple(sign for sign, _ in addends),
        )
        formats = [self.formats[a] for a in args]
        point = self.source.points.get(i)
        fmt = _exact_format(signs, formats, point)
        dot = Node("sum", tuple(args), signs, owner)
        number = self._add(dot, fmt)
        self.points[number] = fmt.frac
        return number

    def _product(self, i: int, args: tuple[int, ...], owner: str) -> int:
        """A product of dot ``i`` without what is below the dot's binary point."""
        terms = PRODUCT
        formats = [self.formats[a] for a in args]
        exact, _, _ = exact_sum(terms, formats)
        adding = self.source.points.get(i, exact)
        point = min(exact, adding)
        fmt = _exact_format(terms, formats, point)
        product = Node("sum", args, terms, owner)
        return self._add(product, fmt, truncated=point < exact)

    def _dropped(self, i: int, a: int, owner: str) -> int:
        """An addend of dot ``i`` without what is below the dot's binary point."""
        own = self.formats[a]
        point = self.source.points.get(i, own.frac)
        dropped = own.frac - point
        if dropped <= 0:
            return a
        width = max(1, own.width - dropped)
        upper = Node("round", (a,), point, owner)
        return self._add(upper, Format(width, point), truncated=True)

    def _exactly(self, terms: Terms, args: tuple[int, ...], owner: str) -> int:
        """A sum that rounds nothing and cannot overflow."""
        formats = [self.formats[a] for a in args]
        fmt = _exact_format(terms, formats)
        total = Node("sum", args, terms, owner)
        return self._add(total, fmt)

    def _add(self, node: Node, fmt: Format, truncated: bool = False) -> int:
        """The number of a node, which is made where there is none yet."""
        key = node, fmt, truncated
        if key in self.index:
            return self.index[key]
        number = len(self.nodes)
        self.index[key] = number
        self.nodes.append(node)
        self.formats.append(fmt)
        if truncated:
            self.truncated.add(number)
        return number


def _factors(products: Sequence[tuple[int, int, int]]) -> list[int]:
    """The factors of products, those of one after those of another."""
    found = []
    for _, one, other in products:
        found += [one, other]
    return found


def _exact_format(
    terms: Terms,
    args: Sequence[Format],
    point: int | None = None,
) -> Format:
    """The format of a sum at a binary point, by default the exact one's."""
    frac, low, high = exact_sum(terms, args, point)
    below_zero = (-low - 1).bit_length()
    above_zero = high.bit_length()
    return Format(1 + max(below_zero, above_zero), frac)


def _joined(one: _Part, other: _Part) -> tuple[Terms, tuple[int, int], int]:
    """The sum that adds two parts, its arguments, and the sign of its result."""
    if one.sign == other.sign:
        # either order is the same sum, which is then made once
        first, second = sorted((one.node, other.node))
        return ADDITION, (first, second), one.sign
    if one.sign > 0:
        return DIFFERENCE, (one.node, other.node), 1
    return DIFFERENCE, (other.node, one.node), 1
