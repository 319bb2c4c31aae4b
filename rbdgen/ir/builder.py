"""Makes graphs: hash-consing, and the simplifications that are always right.

Every node is simplified as it is made: constants are folded, zeros and ±1 pruned, negations moved towards
the results, powers of two become shifts. A pass that rebuilds a graph through a :class:`Builder` gets
all of these for free. Simplifications that depend on ranges or use counts are passes of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rbdgen.ir.graph import INPUT_OWNER, Graph, Node


class Builder:
    """Builds one graph. ``owner`` is the submodule that new nodes belong to."""

    def __init__(self, owner: str = INPUT_OWNER) -> None:
        self.owner = owner
        self.nodes: list[Node] = []
        self._index: dict[Node, int] = {}

    @contextmanager
    def submodule(self, owner: str) -> Iterator[None]:
        """New nodes within the context belong to ``owner``."""
        before, self.owner = self.owner, owner
        try:
            yield
        finally:
            self.owner = before

    def _node(self, op: str, args: tuple[int, ...] = (), attr: object = None, owner: str | None = None) -> int:
        node = Node(op, args, attr, self.owner if owner is None else owner)
        if node not in self._index:
            self._index[node] = len(self.nodes)
            self.nodes.append(node)
        return self._index[node]

    def _find(self, op: str, args: tuple[int, ...], attr: object = None) -> int | None:
        return self._index.get(Node(op, args, attr, self.owner))

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
        x, y = self._value(a), self._value(b)
        if x is not None and y is not None:
            return self.const(x + y)
        if x == 0:
            return b
        if y == 0:
            return a
        na, nb = self._negated(a), self._negated(b)
        if na is not None and nb is not None:
            return self.neg(self.add(na, nb))
        if nb is not None:
            return self.sub(a, nb)
        if na is not None:
            return self.sub(b, na)
        merged = self._merged(a, b, 1.0)
        return self._node("add", (min(a, b), max(a, b))) if merged is None else merged

    def _multiple(self, i: int) -> tuple[int, float]:
        """Node ``i`` as a multiple of another: that node and the factor."""
        node = self.nodes[i]
        if node.op == "scale":
            return node.args[0], node.attr
        return (node.args[0], math.ldexp(1.0, node.attr)) if node.op == "shift" else (i, 1.0)

    def _offset(self, i: int) -> tuple[int, float, float] | None:
        """Node ``i`` as ± another plus a constant: that node, its sign and the constant; None for other nodes."""
        node = self.nodes[i]
        if node.op not in ("add", "sub"):
            return None
        x, y = (self._value(a) for a in node.args)
        sign = 1.0 if node.op == "add" else -1.0
        if y is not None:
            return node.args[0], 1.0, sign * y
        return None if x is None else (node.args[1], sign, x)

    def _merged(self, a: int, b: int, sign: float) -> int | None:
        """a + sign · b, where both are multiples of one node, or one a constant and the other has one; else None."""
        (x, f), (y, g) = self._multiple(a), self._multiple(b)
        if x == y:
            return self.scale(x, f + sign * g)
        c, d = self._value(a), self._value(b)
        one = self._offset(a) if d is not None else self._offset(b) if c is not None else None
        if one is None:
            return None
        base, own, offset = one
        if d is not None:
            total, positive = offset + sign * d, own > 0
        else:
            assert c is not None
            total, positive = c + sign * offset, sign * own > 0
        constant = self.const(total)
        return self.add(base, constant) if positive else self.sub(constant, base)

    def sub(self, a: int, b: int) -> int:
        """a − b."""
        x, y = self._value(a), self._value(b)
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
        na, nb = self._negated(a), self._negated(b)
        if na is not None and nb is not None:
            return self.sub(nb, na)
        if nb is not None:
            return self.add(a, nb)
        if na is not None:
            return self.neg(self.add(na, b))
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
        return self._node("neg", (a,)) if na is None else na

    def mul(self, a: int, b: int) -> int:
        """a · b; by a constant it becomes a scale."""
        x, y = self._value(a), self._value(b)
        if x is not None and y is not None:
            return self.const(x * y)
        if x is not None:
            return self.scale(b, x)
        if y is not None:
            return self.scale(a, y)
        na, nb = self._negated(a), self._negated(b)
        if na is not None and nb is not None:
            return self.mul(na, nb)
        if na is not None:
            return self.neg(self.mul(na, b))
        if nb is not None:
            return self.neg(self.mul(a, nb))
        for one, other in ((a, b), (b, a)):  # a shift is wiring: move it behind the product
            node = self.nodes[one]
            if node.op == "shift":
                return self.shift(self.mul(node.args[0], other), node.attr)
        return self._node("mul", (min(a, b), max(a, b)))

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
            return self.scale(node.args[0], math.ldexp(factor, node.attr))
        if node.op == "neg":
            return self.neg(self.scale(node.args[0], factor))
        if factor < 0:
            return self.neg(self.scale(a, -factor))
        mantissa, exponent = math.frexp(factor)
        if mantissa == 0.5:
            return self.shift(a, exponent - 1)
        return self._node("scale", (a,), float(factor))

    def constant_product(self, a: int, factor: float) -> int:
        """``factor`` · a as a product with a constant, by a multiplier."""
        return self._node("mul", (a, self.const(factor)))

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
            return self.scale(node.args[0], math.ldexp(node.attr, places))
        if node.op == "neg":
            return self.neg(self.shift(node.args[0], places))
        return self._node("shift", (a,), places)

    def sin(self, a: int) -> int:
        """Sine of radians."""
        x = self._value(a)
        return self._node("sin", (a,)) if x is None else self.const(math.sin(x))

    def cos(self, a: int) -> int:
        """Cosine of radians."""
        x = self._value(a)
        return self._node("cos", (a,)) if x is None else self.const(math.cos(x))

    def reciprocal(self, a: int) -> int:
        """1 / a of a positive number."""
        x = self._value(a)
        return self._node("reciprocal", (a,)) if x is None else self.const(1.0 / x)

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

    def make(self, op: str, args: tuple[int, ...], attr: object) -> int:
        """Any operation by its name."""
        if op in ("add", "sub", "neg", "mul", "sin", "cos", "reciprocal", "normalise", "rescale"):
            return getattr(self, op)(*args)
        if op in ("scale", "shift", "round"):
            return getattr(self, op)(args[0], attr)
        if op in ("input", "const"):
            return getattr(self, op)(attr)
        return self.table(op, args[0], attr)  # type: ignore[arg-type]

    def graph(self, outputs: dict[str, int]) -> Graph:
        """The graph of ``outputs``: nodes that no result needs are left out; operands are all kept."""
        live = set(outputs.values())
        for i in range(len(self.nodes) - 1, -1, -1):
            if i in live:
                live.update(self.nodes[i].args)
        keep = [i for i, n in enumerate(self.nodes) if i in live or n.op == "input"]
        number = {old: new for new, old in enumerate(keep)}
        nodes = tuple(
            Node(n.op, tuple(number[a] for a in n.args), n.attr, n.owner) for n in (self.nodes[i] for i in keep)
        )
        return Graph(nodes, {name: number[i] for name, i in outputs.items()})


Rule = Callable[[Builder, int, Node, tuple[int, ...]], int | None]
"""What to make of old node number and node, with its arguments' new numbers; None: the same operation."""


def rebuild(graph: Graph, rule: Rule | None = None) -> Graph:
    """A copy of ``graph`` made node by node through ``rule`` and the builder's simplifications."""
    builder = Builder()
    new: list[int] = []
    for i, node in graph:
        args = tuple(new[a] for a in node.args)
        with builder.submodule(node.owner):
            made = rule(builder, i, node, args) if rule else None
            new.append(builder.make(node.op, args, node.attr) if made is None else made)
    return builder.graph({name: new[i] for name, i in graph.outputs.items()})


class Expr:
    """A traced scalar: a node of a builder that behaves like a number (the tracer's abstract scalar)."""

    __slots__ = ("builder", "node")

    def __init__(self, builder: Builder, node: int) -> None:
        self.builder = builder
        self.node = node

    def _lift(self, other: Expr | float) -> int:
        return other.node if isinstance(other, Expr) else self.builder.const(other)

    def __add__(self, other: Expr | float) -> Expr:
        return Expr(self.builder, self.builder.add(self.node, self._lift(other)))

    __radd__ = __add__

    def __sub__(self, other: Expr | float) -> Expr:
        return Expr(self.builder, self.builder.sub(self.node, self._lift(other)))

    def __rsub__(self, other: Expr | float) -> Expr:
        return Expr(self.builder, self.builder.sub(self._lift(other), self.node))

    def __mul__(self, other: Expr | float) -> Expr:
        return Expr(self.builder, self.builder.mul(self.node, self._lift(other)))

    __rmul__ = __mul__

    def __neg__(self) -> Expr:
        return Expr(self.builder, self.builder.neg(self.node))

    def sin(self) -> Expr:
        """Sine of this angle in radians."""
        return Expr(self.builder, self.builder.sin(self.node))

    def cos(self) -> Expr:
        """Cosine of this angle in radians."""
        return Expr(self.builder, self.builder.cos(self.node))

    def reciprocal(self) -> Expr:
        """1 / this, which must be positive."""
        return Expr(self.builder, self.builder.reciprocal(self.node))
