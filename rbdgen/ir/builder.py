"""Makes graphs: hash-consing, and the simplifications that are always right.

Every node is simplified as it is made: constants are folded, zeros and ±1 pruned, negations moved towards
the results, powers of two become shifts. A pass that rebuilds a graph through a :class:`Builder` gets
all of these for free. Simplifications that depend on ranges or use counts are passes of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rbdgen.ir.graph import INPUT_OWNER, Graph, Node
from rbdgen.ir.products import Index, MatrixProduct
from rbdgen.ir.terms import Terms

Args = tuple[int, ...]
"""Numbers of nodes."""
OF_ARGUMENTS = (
    "add",
    "sub",
    "neg",
    "abs",
    "mul",
    "sin",
    "cos",
    "reciprocal",
    "divide",
    "normalise",
    "rescale",
)
"""Operations without an attribute."""
WITH_ATTRIBUTE = ("scale", "shift", "round")
"""Operations of one argument and an attribute."""


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

    def _node(self, op: str, args: Args, attr: object = None, owner: str | None = None) -> int:
        """The node of this operation, which is made where there is none yet."""
        if owner is None:
            owner = self.owner
        node = Node(op, args, attr, owner)
        made = len(self.nodes)
        number = self._index.setdefault(node, made)
        if number == made:
            self.nodes.append(node)
        return number

    def _find(self, op: str, args: Args) -> int | None:
        """The node of this operation; None where there is none."""
        node = Node(op, args, None, self.owner)
        return self._index.get(node)

    def _value(self, i: int) -> float | None:
        """The value of a constant node, else None."""
        node = self.nodes[i]
        return node.attr if node.op == "const" else None

    def _negated(self, i: int) -> int | None:
        """What node ``i`` is the negation of, else None."""
        node = self.nodes[i]
        return node.args[0] if node.op == "neg" else None

    def input(self, name: str) -> int:
        """The operand ``name``."""
        return self._node("input", (), name, INPUT_OWNER)

    def const(self, value: float) -> int:
        """A constant; constants are nobody's, so that they are never ports."""
        return self._node("const", (), float(value) + 0.0, "")

    def add(self, a: int, b: int) -> int:
        """a + b."""
        x = self._value(a)
        y = self._value(b)
        if x is not None and y is not None:
            return self.const(x + y)
        if x == 0:
            return b
        if y == 0:
            return a
        na = self._negated(a)
        nb = self._negated(b)
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
        ordered = min(a, b), max(a, b)
        return self._node("add", ordered)

    def _multiple(self, i: int) -> tuple[int, float]:
        """Node ``i`` as a multiple of another: that node and the factor."""
        node = self.nodes[i]
        if node.op == "scale":
            return node.args[0], node.attr
        if node.op == "shift":
            return node.args[0], math.ldexp(1.0, node.attr)
        return i, 1.0

    def _offset(self, i: int) -> tuple[int, float, float] | None:
        """Node ``i`` as ± another plus a constant: that node, its sign and the constant; None for other nodes."""
        node = self.nodes[i]
        if node.op not in ("add", "sub"):
            return None
        one, other = node.args
        sign = 1.0 if node.op == "add" else -1.0
        value = self._value(other)
        if value is not None:
            return one, 1.0, sign * value
        value = self._value(one)
        return None if value is None else (other, sign, value)

    def _merged(self, a: int, b: int, sign: float) -> int | None:
        """a + sign · b, where both are multiples of one node, or one a constant and the other has one; else None."""
        x, f = self._multiple(a)
        y, g = self._multiple(b)
        if x == y:
            return self.scale(x, f + sign * g)
        c = self._value(a)
        d = self._value(b)
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
        x = self._value(a)
        y = self._value(b)
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
        na = self._negated(a)
        nb = self._negated(b)
        if na is not None and nb is not None:
            return self.sub(nb, na)
        if nb is not None:
            return self.add(a, nb)
        if na is not None:
            total = self.add(na, b)
            return self.neg(total)
        reverse = self._find("sub", (b, a))
        if reverse is not None:
            return self.neg(reverse)
        return self._node("sub", (a, b))

    def neg(self, a: int) -> int:
        """−a."""
        x = self._value(a)
        if x is not None:
            return self.const(-x)
        na = self._negated(a)
        if na is not None:
            return na
        return self._node("neg", (a,))

    def abs(self, a: int) -> int:
        """|a|; positive factors stand outside."""
        node = self.nodes[a]
        match node.op:
            case "const":
                return self.const(math.fabs(node.attr))
            case "abs":
                return a
            case "neg":
                return self.abs(node.args[0])
            case "scale" | "shift":
                size = self.abs(node.args[0])
                return self.make(node.op, (size,), node.attr)
            case _:
                return self._node("abs", (a,))

    def mul(self, a: int, b: int) -> int:
        """a · b; by a constant it becomes a scale."""
        x = self._value(a)
        y = self._value(b)
        if x is not None and y is not None:
            return self.const(x * y)
        if x is not None:
            return self.scale(b, x)
        if y is not None:
            return self.scale(a, y)
        na = self._negated(a)
        nb = self._negated(b)
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
        return self._node("mul", ordered)

    def scale(self, a: int, factor: float) -> int:
        """``factor`` · a, for a constant factor; kept positive, powers of two become shifts."""
        x = self._value(a)
        if x is not None:
            return self.const(x * factor)
        if factor == 0:
            return self.const(0.0)
        node = self.nodes[a]
        if node.op == "scale":
            return self.scale(node.args[0], factor * node.attr)
        if node.op == "shift":
            moved = math.ldexp(factor, node.attr)
            return self.scale(node.args[0], moved)
        if node.op == "neg":
            positive = self.scale(node.args[0], factor)
            return self.neg(positive)
        if factor < 0:
            positive = self.scale(a, -factor)
            return self.neg(positive)
        mantissa, exponent = math.frexp(factor)
        if mantissa == 0.5:
            return self.shift(a, exponent - 1)
        return self._node("scale", (a,), float(factor))

    def constant_product(self, a: int, factor: float) -> int:
        """``factor`` · a as a product with a constant, by a multiplier."""
        constant = self.const(factor)
        return self._node("mul", (a, constant))

    def shift(self, a: int, places: int) -> int:
        """2^places · a."""
        if places == 0:
            return a
        x = self._value(a)
        if x is not None:
            return self.const(math.ldexp(x, places))
        node = self.nodes[a]
        if node.op == "shift":
            return self.shift(node.args[0], places + node.attr)
        if node.op == "scale":
            moved = math.ldexp(node.attr, places)
            return self.scale(node.args[0], moved)
        if node.op == "neg":
            positive = self.shift(node.args[0], places)
            return self.neg(positive)
        return self._node("shift", (a,), places)

    def sin(self, a: int) -> int:
        """Sine of radians."""
        x = self._value(a)
        if x is not None:
            return self.const(math.sin(x))
        return self._node("sin", (a,))

    def cos(self, a: int) -> int:
        """Cosine of radians."""
        x = self._value(a)
        if x is not None:
            return self.const(math.cos(x))
        return self._node("cos", (a,))

    def reciprocal(self, a: int) -> int:
        """1 / a of a positive number."""
        x = self._value(a)
        if x is not None:
            return self.const(1.0 / x)
        return self._node("reciprocal", (a,))

    def divide(self, y: int, x: int) -> int:
        """y / x of a positive x."""
        value = self._value(x)
        if value is not None:
            return self.scale(y, 1.0 / value)
        negative = self._negated(y)
        if negative is not None:
            quotient = self.divide(negative, x)
            return self.neg(quotient)
        return self._node("divide", (y, x))

    def table(self, op: str, a: int, address_bits: int) -> int:
        """``table_sin``, ``table_cos`` or ``residual`` of an angle in quarter turns; ``table_reciprocal`` or
        ``residual`` of a number in [1, 2)."""
        return self._node(op, (a,), address_bits)

    def normalise(self, a: int) -> int:
        """``a`` moved by a power of two into [1, 2)."""
        return self._node("normalise", (a,))

    def round(self, a: int, frac: int) -> int:
        """``a`` with ``frac`` bits behind the binary point."""
        return self._node("round", (a,), frac)

    def rescale(self, y: int, x: int) -> int:
        """``y`` times the power of two that normalises ``x``."""
        return self._node("rescale", (y, x))

    def dot(self, args: Args, terms: Terms) -> int:
        """The sum of products and addends; see :class:`rbdgen.ir.terms.Terms`."""
        return self._node("dot", args, terms)

    def copied(self, node: Node, args: Args) -> int:
        """A node of another graph with other arguments, as it is: nothing is simplified."""
        return self._node(node.op, args, node.attr, node.owner)

    def negated_matrix_product(
        self, left: Mapping[Index, int], right: Mapping[Index, int]
    ) -> Mapping[Index, int] | None:
        """−(left · right) as a whole, by entry; None where it is too small for that."""
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
        return {index: self.input(name) for index, name in sorted(made.items())}

    def make(self, op: str, args: Args, attr: object) -> int:
        """Any operation by its name."""
        if op in OF_ARGUMENTS:
            return getattr(self, op)(*args)
        if op in WITH_ATTRIBUTE:
            return getattr(self, op)(args[0], attr)
        if op in ("input", "const"):
            return getattr(self, op)(attr)
        if isinstance(attr, Terms):
            return self.dot(args, attr)
        return self.table(op, args[0], attr)  # type: ignore[arg-type]

    def graph(self, outputs: dict[str, int]) -> Graph:
        """The graph of ``outputs``: nodes that no result needs are left out; operands are all kept."""
        live = set(outputs.values())
        for i in reversed(range(len(self.nodes))):
            if i in live:
                live.update(self.nodes[i].args)
        number: dict[int, int] = {}
        nodes: list[Node] = []
        for i, node in enumerate(self.nodes):
            if i in live or node.op == "input":
                number[i] = len(nodes)
                args = tuple([number[a] for a in node.args])
                copy = node if args == node.args else Node(node.op, args, node.attr, node.owner)
                nodes.append(copy)
        results = {name: number[i] for name, i in outputs.items()}
        return Graph(tuple(nodes), results)


Rule = Callable[[Builder, int, Node, Args], int | None]
"""What to make of old node number and node, with its arguments' new numbers; None: the same operation."""


def rebuild(graph: Graph, rule: Rule | None = None) -> Graph:
    """A copy of ``graph`` made node by node through ``rule`` and the builder's simplifications."""
    builder = Builder()
    new: list[int] = []
    for i, node in graph:
        args = tuple([new[a] for a in node.args])
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

    def absolute(self) -> Expr:
        """Its magnitude."""
        size = self.builder.abs(self.node)
        return Expr(self.builder, size)

    def sin(self) -> Expr:
        """Sine of this angle in radians."""
        sine = self.builder.sin(self.node)
        return Expr(self.builder, sine)

    def cos(self) -> Expr:
        """Cosine of this angle in radians."""
        cosine = self.builder.cos(self.node)
        return Expr(self.builder, cosine)

    def reciprocal(self) -> Expr:
        """1 / this, which must be positive."""
        inverse = self.builder.reciprocal(self.node)
        return Expr(self.builder, inverse)

    def divide(self, y: Expr | float) -> Expr:
        """``y`` divided by this, which must be positive."""
        quotient = self.builder.divide(self._lift(y), self.node)
        return Expr(self.builder, quotient)

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
