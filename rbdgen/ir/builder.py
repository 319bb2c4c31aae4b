"""Makes graphs: hash-consing, and the simplifications that are always right.

Every node is simplified as it is made: constants are folded, zeros and ±1 pruned, negations moved towards
the results, powers of two become shifts. A pass that rebuilds a graph through a :class:`Builder` gets
all of these for free. Simplifications that depend on ranges or use counts are passes of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

from rbdgen.ir.graph import INPUT_OWNER, Graph, Index, MatrixProduct, Node
from rbdgen.ir.ops import OPERATIONS
from rbdgen.ir.terms import (
    ADDITION,
    DIFFERENCE,
    NEGATION,
    PRODUCT,
    Terms,
    multiple_of,
)

Args = tuple[int, ...]
"""Numbers of nodes."""


class Builder:
    """Builds one graph. ``owner`` is the submodule that new nodes belong to; matrices' products of at least
    ``whole_from`` multiplications stay whole (None: none does), and ``sides`` are their factors by name."""

    def __init__(self, owner: str = INPUT_OWNER, whole_from: int | None = None) -> None:
        self.owner = owner
        self.whole_from = whole_from
        self.products: list[MatrixProduct] = []
        self.sides: dict[str, int] = {}
        self.nodes: list[Node] = []
        self._index: dict[Node, int] = {}

    @contextmanager
    def submodule(self, owner: str) -> Iterator[None]:
        """New nodes within the context belong to ``owner``."""
        before = self.owner
        self.owner = owner
        try:
            yield
        finally:
            self.owner = before

    def node(self, op: str, args: Args, attr: object = None, owner: str | None = None) -> int:
        """The node of this operation as it is, which is made where there is none yet."""
        # owners count: submodules share values, not operations
        node = self.described(op, args, attr, owner)
        made = len(self.nodes)
        number = self._index.setdefault(node, made)
        if number == made:
            self.nodes.append(node)
        return number

    def described(self, op: str, args: Args, attr: object = None, owner: str | None = None) -> Node:
        """A node of this operation that is not in the graph; ``owner``: another one than of new nodes."""
        return Node(op, args, attr, self.owner if owner is None else owner)

    def value(self, i: int) -> float | None:
        """The value of a constant node, else None."""
        node = self.nodes[i]
        return node.attr if node.is_const else None

    def negated(self, i: int) -> int | None:
        """The node that ``i`` is the negation of, else None."""
        node = self.nodes[i]
        return node.args[0] if node.terms.is_negation else None

    def input(self, name: str) -> int:
        """The operand ``name``."""
        return self.node("input", (), name, INPUT_OWNER)

    def const(self, value: float) -> int:
        """A constant; constants are nobody's, so that they are never ports."""
        # zero has one form: −0.0 + 0.0 is 0.0
        return self.node("const", (), float(value) + 0.0, "")

    def add(self, a: int, b: int) -> int:
        """a + b."""
        x = self.value(a)
        y = self.value(b)
        if x is not None and y is not None:
            return self.const(x + y)
        if x == 0:
            return b
        if y == 0:
            return a
        na = self.negated(a)
        nb = self.negated(b)
        if na is not None and nb is not None:
            total = self.add(na, nb)
            return self.neg(total)
        if nb is not None:
            return self.sub(a, nb)
        if na is not None:
            return self.sub(b, na)
        merged = self._merged(a, b, 1.0)
        if merged is not None:
            return merged
        # one node, whatever the order that a text has them in
        ordered = min(a, b), max(a, b)
        return self.node("sum", ordered, ADDITION)

    def _multiple(self, i: int) -> tuple[int, float]:
        """Node ``i`` as a multiple of another: that node and the factor."""
        node = self.nodes[i]
        if node.terms.multiple is not None:
            return node.args[0], node.terms.multiple
        if node.op == "shift":
            return node.args[0], math.ldexp(1.0, node.attr)
        return i, 1.0

    def _offset(self, i: int) -> tuple[int, float, float] | None:
        """Node ``i`` as ± another plus a constant: that node, its sign and the constant; None for other nodes."""
        node = self.nodes[i]
        if not node.terms.adds_two:
            return None
        one, other = node.args
        sign = float(node.terms.addends[1])
        value = self.value(other)
        if value is not None:
            return one, 1.0, sign * value
        value = self.value(one)
        return None if value is None else (other, sign, value)

    def _merged(self, a: int, b: int, sign: float) -> int | None:
        """a + sign · b, where both are multiples of one node, or one a constant and the other has one; else None."""
        x, f = self._multiple(a)
        y, g = self._multiple(b)
        if x == y:
            return self.scale(x, f + sign * g)
        c = self.value(a)
        d = self.value(b)
        if d is not None:
            offset = self._offset(a)
            if offset is None:
                return None
            base, own, value = offset
            total = value + sign * d
            return self._plus_constant(base, own, total)
        if c is not None:
            offset = self._offset(b)
            if offset is None:
                return None
            base, own, value = offset
            total = c + sign * value
            return self._plus_constant(base, sign * own, total)
        return None

    def _plus_constant(self, base: int, sign: float, value: float) -> int:
        """± ``base`` plus a constant."""
        constant = self.const(value)
        if sign > 0:
            return self.add(base, constant)
        return self.sub(constant, base)

    def sub(self, a: int, b: int) -> int:
        """a − b."""
        x = self.value(a)
        y = self.value(b)
        if x is not None and y is not None:
            return self.const(x - y)
        if y == 0:
            return a
        if x == 0:
            return self.neg(b)
        if a == b:
            return self.const(0.0)
        merged = self._merged(a, b, -1.0)
        if merged is not None:
            return merged
        na = self.negated(a)
        nb = self.negated(b)
        if na is not None and nb is not None:
            return self.sub(nb, na)
        if nb is not None:
            return self.add(a, nb)
        if na is not None:
            total = self.add(na, b)
            return self.neg(total)
        # what has the other sign shares the subtraction, and its negation moves on
        reverse = self._index.get(self.described("sum", (b, a), DIFFERENCE))
        if reverse is not None:
            return self.neg(reverse)
        return self.node("sum", (a, b), DIFFERENCE)

    def neg(self, a: int) -> int:
        """−a."""
        x = self.value(a)
        if x is not None:
            return self.const(-x)
        na = self.negated(a)
        if na is not None:
            return na
        return self.node("sum", (a,), NEGATION)

    def mul(self, a: int, b: int) -> int:
        """a · b; by a constant it becomes a scale."""
        x = self.value(a)
        y = self.value(b)
        if x is not None and y is not None:
            return self.const(x * y)
        if x is not None:
            return self.scale(b, x)
        if y is not None:
            return self.scale(a, y)
        na = self.negated(a)
        nb = self.negated(b)
        if na is not None and nb is not None:
            return self.mul(na, nb)
        if na is not None:
            product = self.mul(na, b)
            return self.neg(product)
        if nb is not None:
            product = self.mul(a, nb)
            return self.neg(product)
        for one, other in ((a, b), (b, a)):
            node = self.nodes[one]
            if node.op == "shift":
                # a shift is wiring: move it behind the product
                product = self.mul(node.args[0], other)
                return self.shift(product, node.attr)
        ordered = min(a, b), max(a, b)
        return self.node("sum", ordered, PRODUCT)

    def scale(self, a: int, factor: float) -> int:
        """``factor`` · a, for a constant factor; kept positive, powers of two become shifts."""
        x = self.value(a)
        if x is not None:
            return self.const(x * factor)
        if factor == 0:
            return self.const(0.0)
        node = self.nodes[a]
        if node.terms.multiple is not None:
            return self.scale(node.args[0], factor * node.terms.multiple)
        if node.op == "shift":
            moved = math.ldexp(factor, node.attr)
            return self.scale(node.args[0], moved)
        if node.terms.is_negation:
            positive = self.scale(node.args[0], factor)
            return self.neg(positive)
        if factor < 0:
            positive = self.scale(a, -factor)
            return self.neg(positive)
        mantissa, exponent = math.frexp(factor)
        if mantissa == 0.5:
            return self.shift(a, exponent - 1)
        return self.node("sum", (a,), multiple_of(factor))

    def constant_product(self, a: int, factor: float) -> int:
        """``factor`` · a as a product with a constant, by a multiplier."""
        constant = self.const(factor)
        return self.node("sum", (a, constant), PRODUCT)

    def shift(self, a: int, places: int) -> int:
        """2^places · a."""
        if places == 0:
            return a
        x = self.value(a)
        if x is not None:
            return self.const(math.ldexp(x, places))
        node = self.nodes[a]
        if node.op == "shift":
            return self.shift(node.args[0], places + node.attr)
        if node.terms.multiple is not None:
            moved = math.ldexp(node.terms.multiple, places)
            return self.scale(node.args[0], moved)
        if node.terms.is_negation:
            positive = self.shift(node.args[0], places)
            return self.neg(positive)
        return self.node("shift", (a,), places)

    def sum(self, args: Args, terms: Terms) -> int:
        """The sum of ``terms``: simplified, unless it is a dot."""
        if terms.multiple is not None:
            return self.scale(args[0], terms.multiple)
        simplified = {
            ADDITION: self.add,
            DIFFERENCE: self.sub,
            NEGATION: self.neg,
            PRODUCT: self.mul,
        }
        made = simplified.get(terms)
        if made is None:
            return self.node("sum", args, terms)
        return made(*args)

    def copied(self, node: Node, args: Args) -> int:
        """A node of another graph with other arguments, as it is: nothing is simplified."""
        return self.node(node.op, args, node.attr, node.owner)

    def negated_matrix_product(
        self, left: Mapping[Index, int], right: Mapping[Index, int]
    ) -> Mapping[Index, int] | None:
        """−(left · right) as a whole, by entry; None where it is too small for that."""
        # entries that are missing are zero: only those with an inner index in common are multiplied
        columns: dict[int, set[int]] = {}
        for k, j in right:
            columns.setdefault(k, set()).add(j)
        multiplications = sum(len(columns.get(k, ())) for _, k in left)
        if self.whole_from is None or multiplications < self.whole_from:
            return None
        made: dict[Index, str] = {}
        number = len(self.products)
        for i, k in left:
            for j in columns.get(k, ()):
                made[i, j] = f"product{number}_{i}_{j}"
        factors = []
        for side, entries in (("left", left), ("right", right)):
            names = {(i, j): f"{side}{number}_{i}_{j}" for i, j in entries}
            self.sides |= {names[index]: node for index, node in entries.items()}
            factors.append(names)
        self.products.append(MatrixProduct(factors[0], factors[1], made))
        # in order, whatever the order that the factors' entries were made in
        return {index: self.input(name) for index, name in sorted(made.items())}

    def make(self, op: str, args: Args, attr: object = None) -> int:
        """Any operation by its name, simplified."""
        return OPERATIONS[op].made(self, args, attr)

    def graph(self, outputs: dict[str, int], spared: Collection[str] = ()) -> Graph:
        """The graph of ``outputs``: nodes that no result needs are left out; operands are all kept but for those of
        these ``spared`` names."""
        live = set(outputs.values())
        for i in reversed(range(len(self.nodes))):
            if i in live:
                live.update(self.nodes[i].args)
        number: dict[int, int] = {}
        nodes: list[Node] = []
        for i, node in enumerate(self.nodes):
            is_kept = node.is_input and node.attr not in spared
            if i not in live and not is_kept:
                continue
            number[i] = len(nodes)
            args = tuple([number[a] for a in node.args])
            # most nodes stay as they are, and making one takes time
            if args != node.args:
                node = Node(node.op, args, node.attr, node.owner)
            nodes.append(node)
        results = {name: number[i] for name, i in outputs.items()}
        return Graph(tuple(nodes), results)


Rule = Callable[[Builder, int, Node, Args], int | None]
"""The node for old node number and node, with its arguments' new numbers; None: the same operation."""


def rebuild(graph: Graph, rule: Rule | None = None) -> Graph:
    """A copy of ``graph`` made node by node through ``rule`` and the builder's simplifications."""
    builder = Builder()
    new: list[int] = []
    for i, node in graph:
        args = tuple([new[a] for a in node.args])
        # all that a rule makes belongs to the submodule of what it replaces
        builder.owner = node.owner
        made = rule(builder, i, node, args) if rule else None
        if made is None:
            made = builder.make(node.op, args, node.attr)
        new.append(made)
    outputs = {name: new[i] for name, i in graph.outputs.items()}
    return builder.graph(outputs)


class Expr:
    """A traced scalar: a node of a builder that behaves like a number (the tracer's abstract scalar)."""

    __slots__ = ("builder", "node")

    def __init__(self, builder: Builder, node: int) -> None:
        self.builder = builder
        self.node = node

    def _lift(self, other: Expr | float) -> int:
        return other.node if isinstance(other, Expr) else self.builder.const(other)

    def __add__(self, other: Expr | float) -> Expr:
        total = self.builder.add(self.node, self._lift(other))
        return Expr(self.builder, total)

    __radd__ = __add__

    def __sub__(self, other: Expr | float) -> Expr:
        difference = self.builder.sub(self.node, self._lift(other))
        return Expr(self.builder, difference)

    def __rsub__(self, other: Expr | float) -> Expr:
        difference = self.builder.sub(self._lift(other), self.node)
        return Expr(self.builder, difference)

    def __mul__(self, other: Expr | float) -> Expr:
        product = self.builder.mul(self.node, self._lift(other))
        return Expr(self.builder, product)

    __rmul__ = __mul__

    def __neg__(self) -> Expr:
        negative = self.builder.neg(self.node)
        return Expr(self.builder, negative)

    def apply(self, op: str, args: Sequence[Expr | float]) -> Expr:
        """Another operation of such numbers, by its name."""
        made = self.builder.make(op, tuple(self._lift(x) for x in args))
        return Expr(self.builder, made)

    def negated_matrix_product(
        self, left: Mapping[Index, Expr | float], right: Mapping[Index, Expr | float]
    ) -> dict[Index, Expr] | None:
        """−(left · right) as a whole; None where it is too small for that."""
        sides = []
        for entries in (left, right):
            sides.append({index: self._lift(x) for index, x in entries.items()})
        made = self.builder.negated_matrix_product(*sides)
        if made is None:
            return None
        return {index: Expr(self.builder, node) for index, node in made.items()}
