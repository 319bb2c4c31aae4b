"""The scalar graph: hash-consed nodes in topological order, each owned by one submodule.

One :class:`Graph` holds a whole network. A submodule is the set of nodes with one ``owner``; an edge
between two owners is a link between two submodules, so that constants, zeros and dead values are seen
across submodules by every pass. :func:`ports` gives one submodule's ports. Not here: how nodes are
simplified while they are made (:mod:`rbdgen.ir.builder`), and numbers (:mod:`rbdgen.ir.interpret`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rbdgen.ir.ops import OPERATIONS, Operation
from rbdgen.ir.terms import NO_TERMS, Terms

Index = tuple[int, int]
"""Row and column."""


@dataclass(frozen=True)
class MatrixProduct:
    """−(left · right).

    ``left`` and ``right`` are names of a graph's results by entry; those that are missing are zero. ``entries`` are
    names of its inputs, which stand for the product's."""

    left: Mapping[Index, str]
    right: Mapping[Index, str]
    entries: Mapping[Index, str]


def shape(entries: Mapping[Index, object]) -> Index:
    """Rows and columns that hold these entries."""
    rows = 1 + max(i for i, _ in entries)
    columns = 1 + max(j for _, j in entries)
    return rows, columns


INPUT_OWNER = "input"
"""Owner of the task's operands."""
OUTPUT_OWNER = "output"
"""The pseudo-submodule that consumes the results; it owns no node."""


@dataclass(frozen=True, init=False)
class Node:
    """One operation, by the name of its record in :mod:`rbdgen.ir.ops`: ``args`` are node numbers, ``attr`` is the
    operation's attribute."""

    op: str
    args: tuple[int, ...]
    attr: Any
    owner: str

    def __init__(self, op: str, args: tuple[int, ...], attr: Any, owner: str) -> None:
        # compilers make millions of nodes, and this takes a third of the time of a frozen class's own way
        self.__dict__.update(op=op, args=args, attr=attr, owner=owner)

    @cached_property
    def terms(self) -> Terms:
        """Terms of a sum; none for other operations."""
        return self.attr if self.op == "sum" else NO_TERMS

    @property
    def operation(self) -> Operation:
        """The operation's record."""
        return OPERATIONS[self.op]

    @property
    def name(self) -> str:
        """Name of the operation in hardware and in messages: a sum's by its terms."""
        return self.attr.name if self.op == "sum" else self.op

    @property
    def is_shift(self) -> bool:
        """A move of the binary point."""
        return self.op == "shift"

    @property
    def is_addition(self) -> bool:
        """One carry chain: a sum or difference of two, a negation or a magnitude."""
        return self.terms.adds or self.operation.is_addition

    @property
    def is_const(self) -> bool:
        """A constant, which is nobody's."""
        return self.op == "const"

    @property
    def is_input(self) -> bool:
        """An operand."""
        return self.op == "input"

    @property
    def is_given(self) -> bool:
        """An operand or a constant."""
        return self.operation.is_given

    @cached_property
    def products(self) -> tuple[tuple[int, int, int], ...]:
        """The sign and the two factors of every product."""
        found = []
        for k, sign in enumerate(self.terms.products):
            found.append((sign, self.args[2 * k], self.args[2 * k + 1]))
        return tuple(found)

    @cached_property
    def addends(self) -> tuple[tuple[int, int], ...]:
        """Every addend with its sign; none of a multiple by a constant, whose factor is no sign."""
        if self.terms.multiple is not None:
            return ()
        own = self.args[self.terms.factors :]
        signs = self.terms.signs()[self.terms.factors :]
        # other operations have arguments, but no terms
        return tuple(zip(signs, own, strict=bool(signs)))

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
        return {n.attr: i for i, n in enumerate(self.nodes) if n.is_input}

    @cached_property
    def operations(self) -> tuple[str, ...]:
        """Names of the operations that it has."""
        return tuple(dict.fromkeys(node.op for node in self.nodes))

    @cached_property
    def results(self) -> frozenset[int]:
        """The nodes that are results."""
        return frozenset(self.outputs.values())

    @cached_property
    def users(self) -> tuple[tuple[int, ...], ...]:
        """For each node the nodes that use it, ascending; results are not counted."""
        users: list[list[int]] = [[] for _ in self.nodes]
        for i, node in enumerate(self.nodes):
            # a square has its argument twice, and is one user
            for a in dict.fromkeys(node.args):
                users[a].append(i)
        return tuple(tuple(u) for u in users)

    @cached_property
    def owners(self) -> tuple[str, ...]:
        """Submodules in order of first appearance, the operands' owner first."""
        owners = {INPUT_OWNER: None}
        for node in self.nodes:
            if not node.is_const:
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
        owners = {maker.owner for maker in makers if not maker.is_const}
        return owners - {node.owner}

    def __iter__(self) -> Iterator[tuple[int, Node]]:
        return iter(enumerate(self.nodes))

    def count(self, name: str, owner: str | None = None) -> int:
        """Number of nodes of this name (:attr:`Node.name`; of one owner)."""
        return sum(n.name == name for n in self._of(owner))

    def _of(self, owner: str | None) -> Sequence[Node]:
        """The nodes of all or one owner."""
        return self.nodes if owner is None else [self.nodes[i] for i in self.owned.get(owner, ())]

    def multiplications(self, owner: str | None = None) -> dict[str, int]:
        """Number of products of two ``variable`` values, and of ``constant`` factors, of all or one owner."""
        constant = variable = 0
        for node in self._of(owner):
            constant += node.terms.multiple is not None
            for _, *factors in node.products:
                if any(self.nodes[a].is_const for a in factors):
                    constant += 1
                else:
                    variable += 1
        return {"variable": variable, "constant": constant}

    def additions(self, owner: str | None = None) -> int:
        """Number of sums of two terms, differences, negations and magnitudes of all or one owner, those in dots among
        them."""
        total = self.count("abs", owner)
        for node in self._of(owner):
            if node.terms.adds or node.terms.is_dot:
                total += max(node.terms.count - 1, 1)
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
        if node.owner != owner or node.is_const:
            continue
        nodes.append(i)
        used.update(node.args)
        used_by = {graph.nodes[u].owner for u in graph.users[i]}
        if i in graph.results or used_by - {owner}:
            outputs.append(i)
    inputs = []
    for a in sorted(used):
        source = graph.nodes[a]
        if source.owner != owner and not source.is_const:
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
        fault = _shape_fault(i, node) or _owner_fault(node, names)
        # equal nodes would be several pieces of hardware for one value
        if fault is None and node in seen:
            fault = f"must be unique, equals %{seen[node]}"
        if fault is not None:
            raise ValueError(f"node %{i} ({node.op}): {fault}")
        seen[node] = i
        if node.is_input:
            names.add(node.attr)
    for name, i in graph.outputs.items():
        if not 0 <= i < len(graph.nodes):
            raise ValueError(f"result {name!r}: must be a node of the graph, not %{i}")


def _shape_fault(i: int, node: Node) -> str | None:
    """Remark on what is wrong with the operation or the arguments of node ``i``."""
    if node.op not in OPERATIONS:
        return f"operation must be one of {', '.join(OPERATIONS)}, not {node.op!r}"
    fault = node.operation.attribute_fault(node.attr)
    if fault is not None:
        return fault
    arity = node.operation.arguments(node)
    if len(node.args) != arity:
        return f"must have {arity} arguments, not {len(node.args)}"
    if any(not 0 <= a < i for a in node.args):
        return f"arguments must be earlier nodes, not {node.args}"
    return None


def _owner_fault(node: Node, names: set[str]) -> str | None:
    """Remark on a node's owner, or on an operand's name, that is wrong; ``names``: of the operands before it."""
    if node.is_input:
        if node.attr in names:
            return f"attribute must be a unique name, not {node.attr!r}"
        if node.owner != INPUT_OWNER:
            return f"owner must be {INPUT_OWNER!r}, not {node.owner!r}"
    elif not node.is_const and node.owner in (None, "", INPUT_OWNER, OUTPUT_OWNER):
        return f"owner must be a submodule, not {node.owner!r}: no hardware would compute it"
    return None
