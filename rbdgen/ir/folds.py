"""Folds: operations that one piece of hardware executes in turn for branches that are alike.

A folded unit has ``k`` turns within one initiation interval, one for each branch: the operation of the first, the
template, has a counterpart in each of the others, and its operator does all of them, a k-th of the interval apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.graph import Graph, Node
from rbdgen.ir.number_formats import Format

Corresponds = Callable[[int, int], bool]
"""Whether a second argument does for the first, by their node numbers."""


@dataclass(frozen=True)
class Turn:
    """One branch's operation: its ``node``, its ``args`` in the order of the template's, and which of them are
    ``negated`` (sums: as signs in the sum, those of products at their first factors; constant factors: beside the
    template's)."""

    node: int
    args: tuple[int, ...]
    negated: tuple[bool, ...]

    @classmethod
    def arranged(cls, number: int, node: Node, order: Sequence[int]) -> Turn:
        """The turn of a node whose arguments stand in this ``order``."""
        signs = [1] * len(node.args)
        if node.terms.reorderable:
            own = node.terms.signs()
            factors = node.terms.factors
            for position, k in enumerate(order):
                if position >= factors:
                    signs[position] = own[k]
                elif position % 2 == 0:
                    # a product's sign stands at its first factor, whichever of the two that is now
                    first_factor = k - k % 2
                    signs[position] = own[first_factor]
        args = tuple(node.args[k] for k in order)
        negated = tuple(sign < 0 for sign in signs)
        return cls(number, args, negated)


@dataclass(frozen=True)
class Folds:
    """``turns`` of every template node, the template's own first; ``units``: the number of turns by folded unit."""

    turns: Mapping[int, tuple[Turn, ...]] = field(default_factory=dict)
    units: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def members(self) -> dict[int, tuple[int, int]]:
        """For every folded node its template and the number of its turn."""
        found: dict[int, tuple[int, int]] = {}
        for template, turns in self.turns.items():
            for k, turn in enumerate(turns):
                found[turn.node] = template, k
        return found

    def template(self, node: int) -> int:
        """The node whose operator executes ``node``."""
        # what is not folded is its own template
        template, _ = self.members.get(node, (node, 0))
        return template

    def interval(self, unit: str, ii: int) -> int:
        """Cycles between two turns of a unit."""
        return ii // self.units.get(unit, 1)

    def inside(self, graph: Graph, template: int, position: int) -> bool:
        """Whether an argument is made by the same operator of the same unit in the same turn, whatever the turn, so
        that it needs no choice."""
        arguments = [turn.args[position] for turn in self.turns[template]]
        makers = [self.members.get(a) for a in arguments]
        if makers[0] is None:
            return False
        source, _ = makers[0]
        unit = graph.nodes[template].owner
        if graph.nodes[source].owner != unit:
            return False
        in_turn = [(source, k) for k in range(len(makers))]
        return makers == in_turn

    def signed(self, i: int) -> tuple[int, ...]:
        """Positions of the arguments of folded node ``i`` that have one sign in one turn and another in another."""
        turns = self.turns.get(self.template(i), ())
        if not turns:
            return ()
        positions = []
        for position in range(len(turns[0].negated)):
            signs = {turn.negated[position] for turn in turns}
            if len(signs) > 1:
                positions.append(position)
        return tuple(positions)

    def arguments(self, fixed: FixedGraph, i: int) -> tuple[Format, ...]:
        """Formats of what the operator of node ``i`` takes: its template's, which are those of all turns."""
        template = fixed.graph.nodes[self.template(i)]
        return tuple(fixed.formats[a] for a in template.args)

    def factors(self, fixed: FixedGraph, i: int, product: int = 0) -> tuple[int, int]:
        """The arguments of a node's product by position, the wider first."""
        position = 2 * product
        first, second = self.arguments(fixed, i)[position : position + 2]
        if second.width > first.width:
            return position + 1, position
        return position, position + 1

    def factor_widths(self, fixed: FixedGraph, i: int, product: int = 0) -> tuple[int, int]:
        """Widths of the arguments of a node's product in bits, the wider first."""
        position = 2 * product
        first, second = self.arguments(fixed, i)[position : position + 2]
        widths = first.width, second.width
        return max(widths), min(widths)


NO_FOLDS = Folds()


def arrangement(
    wanted: Sequence[int],
    node: Node,
    corresponds: Corresponds,
) -> tuple[int, ...] | None:
    """The order of a node's arguments in which they do for the ``wanted`` ones, those of a node with as many products
    and addends; None where there is none. Of several products or addends that do, each takes the first."""
    if not node.terms.reorderable:
        same = tuple(range(len(node.args)))
        if _does(wanted, node, same, corresponds):
            return same
        return None
    factors = node.terms.factors
    left: list[tuple[int, ...]] = [(k, k + 1) for k in range(0, factors, 2)]
    left += [(k,) for k in range(factors, len(node.args))]
    order: list[int] = []
    for size in [len(term) for term in left]:
        begin = len(order)
        own = wanted[begin : begin + size]
        terms = [term for term in left if len(term) == size]
        found = _first(own, node, terms, corresponds)
        if found is None:
            return None
        # each term does for one only; its factors may have been found in either order
        left = [term for term in left if term[0] not in found]
        order += found
    return tuple(order)


def _first(
    wanted: Sequence[int],
    node: Node,
    terms: Sequence[tuple[int, ...]],
    corresponds: Corresponds,
) -> tuple[int, ...] | None:
    """The arguments of the first of a node's ``terms`` that do for the wanted ones; factors in either order."""
    for term in terms:
        for order in (term, term[::-1]):
            if _does(wanted, node, order, corresponds):
                return order
    return None


def _does(
    wanted: Sequence[int],
    node: Node,
    order: Sequence[int],
    corresponds: Corresponds,
) -> bool:
    """Whether a node's arguments in this order do for the wanted ones."""
    pairs = zip(wanted, order, strict=True)
    return all(corresponds(a, node.args[k]) for a, k in pairs)


def alike_terms(node: Node, arguments: Sequence[object]) -> tuple[object, ...]:
    """Equal for operations that may correspond to each other: what a node does, but for signs and constants, to
    ``arguments``, which stand for its own."""
    if not node.terms.reorderable:
        return node.name, tuple(arguments)
    # signs are chosen by the turn: a difference corresponds to a sum
    op = "sum" if node.terms.adds_two else node.name
    factors = node.terms.factors
    products = []
    for k in range(0, factors, 2):
        # by text: what stands for arguments need not be of one type
        pair = sorted(arguments[k : k + 2], key=str)
        products.append(tuple(pair))
    products.sort(key=str)
    addends = sorted(arguments[factors:], key=str)
    return op, tuple(products), tuple(addends)


def with_owners(fixed: FixedGraph, owners: Mapping[int, str]) -> FixedGraph:
    """The same graph with other owners for some nodes."""
    nodes = []
    for i, node in fixed.graph:
        if i in owners:
            node = replace(node, owner=owners[i])
        nodes.append(node)
    graph = Graph(tuple(nodes), fixed.graph.outputs)
    return replace(fixed, graph=graph)
