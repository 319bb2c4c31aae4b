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
        if a == b:
            return self.scale(a, 2.0)
        return self._node("add", (min(a, b), max(a, b)))

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

    def table(self, op: str, a: int, address_bits: int) -> int:
        """``table_sin``, ``table_cos`` or ``residual`` of an angle in quarter turns."""
        return self._node(op, (a,), address_bits)

    def make(self, op: str, args: tuple[int, ...], attr: object) -> int:
        """Any operation by its name."""
        if op in ("add", "sub", "neg", "mul", "sin", "cos"):
            return getattr(self, op)(*args)
        if op in ("scale", "shift"):
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
