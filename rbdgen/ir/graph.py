"""The scalar graph: hash-consed nodes in topological order, each owned by one submodule.

One :class:`Graph` holds a whole network. A submodule is the set of nodes with one ``owner``; an edge
between two owners is a link between two submodules, so that constants, zeros and dead values are seen
across submodules by every pass. :func:`ports` gives one submodule's ports. Not here: how nodes are
simplified while they are made (:mod:`rbdgen.ir.builder`), and numbers (:mod:`rbdgen.ir.interpret`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rbdgen.ir.terms import NO_TERMS, SUMS, Terms

ARITY = {
    "input": 0,
    "const": 0,
    "add": 2,
    "sub": 2,
    "neg": 1,
    "abs": 1,
    "mul": 2,
    "dot": None,
    "scale": 1,
    "shift": 1,
    "sin": 1,
    "cos": 1,
    "table_sin": 1,
    "table_cos": 1,
    "residual": 1,
    "reciprocal": 1,
    "divide": 2,
    "normalise": 1,
    "table_reciprocal": 1,
    "rescale": 2,
    "round": 1,
}
"""Operations and their number of arguments (None: as the attribute says).

``input``: attribute is its name. ``const``: its value. ``add sub neg abs mul``: as named. ``dot``: a sum of products
and addends, exact inside; attribute are its :class:`~rbdgen.ir.terms.Terms`. ``scale``: times the constant attribute.
``shift``: times 2^attribute. ``sin cos``: of radians. ``table_sin table_cos residual``: of an angle in quarter turns,
attribute the number of address bits A per quarter; with m the middle of the angle's interval of width 2^−A, the tables
give the sine and cosine of m and the residual is angle − m. ``reciprocal``: of a positive number. ``divide``: y and a
positive x, y / x. ``normalise``: x · 2^−e in [1, 2), with e = floor(log2 x), of a positive x. ``table_reciprocal``: of
a number in [1, 2), the reciprocal of the middle of its interval. ``rescale``: of y and x: y · 2^−e with the e of x.
``round``: its argument with only attribute bits behind the binary point (without formats, its argument).
"""

OF_FLOATS = ("const", "scale")
OF_INTEGERS = ("shift", "table_sin", "table_cos", "table_reciprocal", "residual", "round")
"""Operations by the kind of their attribute."""
INPUT_OWNER = "input"
"""Owner of the task's operands."""
OUTPUT_OWNER = "output"
"""The pseudo-submodule that consumes the results; it owns no node."""


@dataclass(frozen=True, init=False)
class Node:
    """One operation: ``args`` are node numbers, ``attr`` belongs to the operation (see :data:`ARITY`)."""

    op: str
    args: tuple[int, ...]
    attr: Any
    owner: str

    def __init__(self, op: str, args: tuple[int, ...], attr: Any, owner: str) -> None:
        # compilers make millions of nodes, and this takes a third of the time of a frozen class's own way
        self.__dict__.update(op=op, args=args, attr=attr, owner=owner)

    @cached_property
    def terms(self) -> Terms:
        """What a sum or a product adds up; nothing for other operations."""
        return self.attr if self.op == "dot" else SUMS.get(self.op, NO_TERMS)

    @cached_property
    def products(self) -> tuple[tuple[int, int, int], ...]:
        """The sign and the two factors of every product."""
        found = []
        for k, sign in enumerate(self.terms.products):
            found.append((sign, self.args[2 * k], self.args[2 * k + 1]))
        return tuple(found)

    @cached_property
    def addends(self) -> tuple[tuple[int, int], ...]:
        """Every addend with its sign."""
        own = self.args[self.terms.factors :]
        return tuple(zip(self.terms.addends, own, strict=False))

    @property
    def factors(self) -> tuple[int, ...]:
        """The arguments that are multiplied."""
        return self.args[: self.terms.factors]


@dataclass(frozen=True)
class Graph:
    """Nodes in topological order and named results. Immutable: passes make new graphs.

    ``outputs`` maps result names to node numbers, in the order of the result words.
    """

    nodes: tuple[Node, ...]
    outputs: dict[str, int]

    @cached_property
    def inputs(self) -> dict[str, int]:
        """Operand names to node numbers, in the order of the operand words."""
        return {n.attr: i for i, n in enumerate(self.nodes) if n.op == "input"}

    @cached_property
    def results(self) -> frozenset[int]:
        """The nodes that are results."""
        return frozenset(self.outputs.values())

    @cached_property
    def users(self) -> tuple[tuple[int, ...], ...]:
        """For each node the nodes that use it, ascending; results are not counted."""
        users: list[list[int]] = [[] for _ in self.nodes]
        for i, node in enumerate(self.nodes):
            for a in dict.fromkeys(node.args):
                users[a].append(i)
        return tuple(tuple(u) for u in users)

    @cached_property
    def owners(self) -> tuple[str, ...]:
        """Submodules in order of first appearance, the operands' owner first."""
        owners = {INPUT_OWNER: None}
        for node in self.nodes:
            if node.op != "const":
                owners[node.owner] = None
        return tuple(owners)

    @cached_property
    def owned(self) -> dict[str, tuple[int, ...]]:
        """The numbers of each owner's nodes."""
        found: dict[str, list[int]] = {}
        for i, node in enumerate(self.nodes):
            found.setdefault(node.owner, []).append(i)
        return {owner: tuple(nodes) for owner, nodes in found.items()}

    @cached_property
    def last(self) -> frozenset[str]:
        """The submodules that no other reads, and all of whose products take a factor from another."""
        found: set[str] = set()
        read: set[str] = set()
        inner: set[str] = set()
        for node in self.nodes:
            read |= self._sources(node, node.args)
            for _, *factors in node.products:
                kind = found if self._sources(node, factors) else inner
                kind.add(node.owner)
        return frozenset(found - read - inner)

    def _sources(self, node: Node, args: Iterable[int]) -> set[str]:
        """The other submodules that make some of a node's arguments."""
        makers = [self.nodes[a] for a in args]
        owners = {maker.owner for maker in makers if maker.op != "const"}
        return owners - {node.owner}

    def __iter__(self) -> Iterator[tuple[int, Node]]:
        return iter(enumerate(self.nodes))

    def count(self, op: str, owner: str | None = None) -> int:
        """Number of nodes with this operation (of one owner)."""
        return sum(n.op == op for n in self._of(owner))

    def _of(self, owner: str | None) -> Sequence[Node]:
        """The nodes of all or one owner."""
        return self.nodes if owner is None else [self.nodes[i] for i in self.owned.get(owner, ())]

    def multiplications(self, owner: str | None = None) -> dict[str, int]:
        """Number of products of two ``variable`` values, and of ``constant`` factors, of all or one owner."""
        constant = variable = 0
        for node in self._of(owner):
            for _, *factors in node.products:
                if any(self.nodes[a].op == "const" for a in factors):
                    constant += 1
                else:
                    variable += 1
        return {"variable": variable, "constant": self.count("scale", owner) + constant}

    def additions(self, owner: str | None = None) -> int:
        """Number of sums of two terms, differences, negations and magnitudes of all or one owner, those in dots among
        them."""
        total = self.count("abs", owner)
        for node in self._of(owner):
            if node.op == "mul":
                continue
            terms = len(node.products) + len(node.addends)
            total += max(terms - 1, 1) if terms else 0
        return total

    def products(self, owner: str | None = None) -> int:
        """Number of products of all or one owner, those in dots among them."""
        return sum(len(node.terms.products) for node in self._of(owner))


@dataclass(frozen=True)
class Ports:
    """One submodule's ports: node numbers of values that come from other submodules, and that leave it."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    nodes: tuple[int, ...] = field(repr=False)


def ports(graph: Graph, owner: str) -> Ports:
    """The ports of the submodule ``owner`` (constants have no ports)."""
    nodes: list[int] = []
    used: set[int] = set()
    outputs: list[int] = []
    for i, node in graph:
        if node.owner != owner or node.op == "const":
            continue
        nodes.append(i)
        used.update(node.args)
        used_by = {graph.nodes[u].owner for u in graph.users[i]}
        if i in graph.results or used_by - {owner}:
            outputs.append(i)
    inputs = []
    for a in sorted(used):
        source = graph.nodes[a]
        if source.owner != owner and source.op != "const":
            inputs.append(a)
    return Ports(tuple(inputs), tuple(outputs), tuple(nodes))


def verify(graph: Graph) -> None:
    """Check the graph's invariants; raises ValueError naming the node that breaks one.

    Known operations with the right number of arguments, arguments before users, attributes of the right
    kind, a submodule for all arithmetic, unique operand names, no two equal nodes, results that
    exist, no submodule cycle that is not acyclic node by node (which the order already guarantees).
    """
    seen: dict[Node, int] = {}
    names: set[str] = set()
    for i, node in graph:
        fault = _shape_fault(i, node) or _attribute_fault(node, names)
        if fault is None and node in seen:
            fault = f"must be unique, equals %{seen[node]}"
        if fault is not None:
            raise ValueError(f"node %{i} ({node.op}): {fault}")
        seen[node] = i
        if node.op == "input":
            names.add(node.attr)
    for name, i in graph.outputs.items():
        if not 0 <= i < len(graph.nodes):
            raise ValueError(f"result {name!r}: must be a node of the graph, not %{i}")


def _shape_fault(i: int, node: Node) -> str | None:
    """What is wrong with the operation or the arguments of node ``i``."""
    if node.op not in ARITY:
        return f"operation must be one of {', '.join(ARITY)}, not {node.op!r}"
    arity = ARITY[node.op]
    if arity is None:
        if not isinstance(node.attr, Terms):
            return f"attribute must be terms, not {node.attr!r}"
        arity = node.attr.arguments
    if len(node.args) != arity:
        return f"must have {arity} arguments, not {len(node.args)}"
    if any(not 0 <= a < i for a in node.args):
        return f"arguments must be earlier nodes, not {node.args}"
    return None


def _attribute_fault(node: Node, names: set[str]) -> str | None:
    """What is wrong with a node's attribute, or with an operand's owner; ``names``: of the operands before it."""
    if node.op in OF_FLOATS and not isinstance(node.attr, float):
        return f"attribute must be a float, not {node.attr!r}"
    if node.op in OF_INTEGERS and not isinstance(node.attr, int):
        return f"attribute must be an integer, not {node.attr!r}"
    if node.op == "input":
        if not isinstance(node.attr, str) or node.attr in names:
            return f"attribute must be a unique name, not {node.attr!r}"
        if node.owner != INPUT_OWNER:
            return f"owner must be {INPUT_OWNER!r}, not {node.owner!r}"
    elif node.op != "const" and node.owner in (None, "", INPUT_OWNER, OUTPUT_OWNER):
        return f"owner must be a submodule, not {node.owner!r}: no hardware would compute it"
    return None
