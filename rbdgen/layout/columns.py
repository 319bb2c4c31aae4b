"""Columns: parts of one submodule that are alike, made by one piece of hardware in turn.

A submodule does the same for every column of a matrix, or for every body behind it. What belongs to one column hangs
together; columns are connected only by what all of them read. Those of which the same is left, in the same formats, are
one column in hardware: between its operations there are neither multiplexers nor registers for each of them, only what
comes from outside is chosen by the turn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass

import networkx as nx

from rbdgen.devices.fabric import LUT4
from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.folds import NO_FOLDS, Folds, Rate, Turn, alike_terms, arrangement, with_owners
from rbdgen.ir.graph import Graph
from rbdgen.ir.programs import timeless_nodes
from rbdgen.layout.folding import Fits, Turns
from rbdgen.layout.network import Network

FOLDED = ("add", "sub", "neg", "mul", "dot", "scale")
"""Operations of columns; what else there is comes to them from outside."""
SHARED = 4
"""A value that so many operations of its submodule read belongs to no column."""
LEAST_USE = 2 / 3
"""Share of a unit's turns that must be taken where no divisor of the interval is the number of columns."""
LEAST_SAVED = 3
"""Sums that folding must save for each column beyond the first, to be worth equal formats and the time it takes."""
MULTIPLEXER, SIGN = LUT4.multiplexer, LUT4.sign
"""Look-up tables per bit of an input of a choice beyond the first, and of a sign that is chosen; a sum takes one."""


@dataclass(frozen=True)
class Column:
    """One column's ``nodes``, in the order of the first one's, with their arguments in the ``orders`` of the first
    one's."""

    nodes: tuple[int, ...]
    orders: tuple[tuple[int, ...], ...]

    def turn(self, graph: Graph, k: int) -> Turn:
        """The column's turn of the k-th operation."""
        i = self.nodes[k]
        return Turn.arranged(i, graph.nodes[i], self.orders[k])


@dataclass(frozen=True)
class Group:
    """Columns of the submodule ``owner`` that are made in turn, in ``turns`` of them; the last turns may be idle."""

    owner: str
    turns: int
    columns: tuple[Column, ...]


class _Columns:
    """The columns of a graph and what they look like."""

    def __init__(
        self, graph: Graph, excluded: Collection[int], marks: Callable[[int], Hashable]
    ) -> None:
        self.graph = graph
        self.outside = set(excluded)
        for i, node in graph:
            shared = self._own_users(i) >= SHARED
            if shared or node.op not in FOLDED:
                self.outside.add(i)
        self.reads: dict[int, frozenset[int]] = {}
        self.shapes: dict[int, int] = {}
        """For every node of a column a number; the same for what is alike up to there."""
        known: dict[Hashable, int] = {}
        for i, _ in graph:
            if i not in self.outside:
                key = (marks(i), *self._looks(i))
                number = known.setdefault(key, len(known))
                self.shapes[i] = number

    def _own_users(self, i: int) -> int:
        """How many operations of its own submodule read a node."""
        nodes = self.graph.nodes
        owner = nodes[i].owner
        users = self.graph.users[i]
        return sum(nodes[user].owner == owner for user in users)

    def _looks(self, i: int) -> tuple[Hashable, ...]:
        """A node's operation and what its arguments look like, its terms in any order."""
        node = self.graph.nodes[i]
        factor = node.attr if node.op == "scale" else None
        below = [self.shape(a, node.owner) for a in node.args]
        return factor, *alike_terms(node, below)

    def within(self, a: int, owner: str) -> bool:
        """Whether an argument of a node of ``owner`` belongs to the node's column."""
        if a in self.outside:
            return False
        return self.graph.nodes[a].owner == owner

    def shape(self, a: int, owner: str) -> Hashable:
        """What an argument of a node of ``owner`` looks like."""
        if self.within(a, owner):
            return self.shapes[a]
        if self.graph.nodes[a].op == "const":
            return "const"
        return "value"

    def connected(self) -> list[list[int]]:
        """The nodes of every column."""
        links = nx.Graph()
        links.add_nodes_from(self.shapes)
        for i in self.shapes:
            node = self.graph.nodes[i]
            for a in node.args:
                if self.within(a, node.owner):
                    links.add_edge(a, i)
        columns = nx.connected_components(links)
        return sorted(sorted(members) for members in columns)

    def given(self, i: int, owner: str) -> frozenset[int]:
        """What node ``i`` of a column, or an argument, reads from outside."""
        if not self.within(i, owner):
            return frozenset((i,))
        if i not in self.reads:
            reads: set[int] = set()
            for a in self.graph.nodes[i].args:
                reads |= self.given(a, owner)
            self.reads[i] = frozenset(reads)
        return self.reads[i]

    def roots(self, members: Collection[int]) -> list[int]:
        """The nodes that no other of their column reads."""
        inside = set(members)
        return [i for i in members if inside.isdisjoint(self.graph.users[i])]

    def aligned(self, template: Column, members: Sequence[int]) -> Column | None:
        """A column in the order of another with the same shapes; None where they do not correspond after all."""
        pairing = _Pairing(self, template)
        ends: dict[int, list[int]] = defaultdict(list)
        for i in self.roots(members):
            ends[self.shapes[i]].append(i)
        for i in self.roots(template.nodes):
            alike = ends[self.shapes[i]]
            if not alike:
                return None
            end = alike.pop(0)
            if not pairing.match(i, end):
                return None
        found = pairing.found
        others = set(found.values())
        if not len(found) == len(others) == len(members):
            return None
        nodes = tuple(found[i] for i in template.nodes)
        orders = tuple(pairing.orders[i] for i in nodes)
        return Column(nodes, orders)

    def columns(self, portion: Sequence[Sequence[int]]) -> tuple[Column, ...]:
        """Columns from the nodes of each, in the order of the first one's; without those that do not correspond."""
        orders = tuple(tuple(range(len(self.graph.nodes[i].args))) for i in portion[0])
        first = Column(tuple(portion[0]), orders)
        columns = [first]
        for members in portion[1:]:
            column = self.aligned(first, members)
            if column is not None:
                columns.append(column)
        return tuple(columns)

    def saved(self, group: Group) -> float:
        """What folding saves, in units of a sum: sums, less the choice of what they read from outside."""
        first = group.columns[0]
        total = 0.0
        for k, i in enumerate(first.nodes):
            if self.graph.nodes[i].products:
                continue  # the operands of products are chosen anyway
            total += len(group.columns) - 1
            turns = _turns(self.graph, group, k)
            signs = {turn.negated for turn in turns}
            if len(signs) > 1:
                by_position = zip(*signs, strict=True)
                total -= SIGN * sum(map(any, by_position))
            for position, a in enumerate(turns[0].args):
                if not self.within(a, group.owner):
                    sources = {turn.args[position] for turn in turns}
                    total -= MULTIPLEXER * (len(sources) - 1)
        return total


class _Pairing:
    """Nodes of a template column with those of another column, ``found`` from its last operations backwards.

    ``orders`` are those of the arguments of the other column's nodes that correspond to the template's.
    """

    def __init__(self, columns: _Columns, template: Column) -> None:
        self.columns = columns
        nodes = columns.graph.nodes
        self.wanted = {i: nodes[i].args for i in template.nodes}
        self.found: dict[int, int] = {}
        self.orders: dict[int, tuple[int, ...]] = {}

    def match(self, mine: int, theirs: int) -> bool:
        """Whether a node of the template, with all that is before it in its column, corresponds to one of the other."""
        columns = self.columns
        if mine in self.found:
            return self.found[mine] == theirs
        if columns.shapes[mine] != columns.shapes[theirs]:
            return False
        self.found[mine] = theirs
        node = columns.graph.nodes[theirs]
        wanted = self.wanted[mine]
        order = arrangement(wanted, node, self._rate(node.owner))
        if order is None:
            return False
        self.orders[theirs] = order
        pairs = [(a, node.args[k]) for a, k in zip(wanted, order, strict=True)]
        inside = [(a, b) for a, b in pairs if columns.within(a, node.owner)]
        return all(self.match(a, b) for a, b in inside)

    def _rate(self, owner: str) -> Rate:
        """What arguments of the owner's nodes correspond to each other: those that look alike. What both read is best
        read by the same operation."""
        columns = self.columns

        def rate(mine: int, theirs: int) -> float | None:
            if columns.shape(mine, owner) != columns.shape(theirs, owner):
                return None
            both = columns.given(mine, owner) & columns.given(theirs, owner)
            return len(both)

        return rate


def _portions(count: int, ii: int) -> Iterator[tuple[int, int]]:
    """How many of ``count`` columns to fold together, and in how many turns, until none is left; all of them where
    the interval is not known yet (1)."""
    if ii == 1:
        yield count, count
        return
    divisors = [d for d in range(2, ii + 1) if ii % d == 0]
    while count > 1:
        turns = _turns_for(count, divisors)
        if turns is None:
            return
        yield min(count, turns), turns
        count -= min(count, turns)


def _turns_for(count: int, divisors: Sequence[int]) -> int | None:
    """Of the interval's ``divisors``, ascending, in how many turns to make columns of which ``count`` are left."""
    enough = next((d for d in divisors if d >= count), None)
    if enough is not None and count >= LEAST_USE * enough:
        return enough
    fewer = [d for d in divisors if d <= count]
    return fewer[-1] if fewer else None


def column_groups(
    graph: Graph,
    ii: int,
    excluded: Collection[int] = (),
    marks: Callable[[int], Hashable] = lambda i: None,
) -> list[Group]:
    """The columns that are worth folding at an interval of ``ii`` cycles; 1: at any.

    ``excluded`` nodes are in no column; ``marks`` tell nodes apart that the graph does not, such as formats.
    """
    work = _Columns(graph, excluded, marks)
    alike: dict[Hashable, list[list[int]]] = defaultdict(list)
    for members in work.connected():
        owner = graph.nodes[members[0]].owner
        shapes = sorted(work.shapes[i] for i in members)
        key = owner, tuple(shapes)
        alike[key].append(members)
    groups = []
    for every in alike.values():
        first = every[0][0]
        owner = graph.nodes[first].owner
        begin = 0
        for count, turns in _portions(len(every), ii):
            end = begin + count
            portion = every[begin:end]
            begin = end
            group = Group(owner, turns, work.columns(portion))
            further = len(group.columns) - 1
            if not further:
                continue
            if work.saved(group) >= LEAST_SAVED * further:
                groups.append(group)
    return groups


def fold_columns(
    network: Network, fixed: FixedGraph, folds: Folds, ii: int, fits: Fits
) -> tuple[FixedGraph, Folds]:
    """The graph and ``folds`` with columns folded as well: those of all submodules of a kind that take as many turns
    are a unit, named after the kind and the turns. Operations that do not fit are in none."""
    graph = fixed.graph
    excluded = set(timeless_nodes(graph, network.programs))
    excluded.update(folds.members)
    for i, _ in graph:
        if not fits(NO_FOLDS, i):
            excluded.add(i)

    def marks(i: int) -> Hashable:
        rounds = fixed.dropped_bits(i) > 0 and i not in fixed.truncated
        constant = fixed.constants.get(i)
        return fixed.formats[i], fixed.points.get(i), rounds, constant

    while True:
        worthwhile = column_groups(graph, ii, excluded, marks)
        groups = _orderly(graph, folds, worthwhile)
        columns: Turns = {}
        for group in groups:
            columns |= _group_turns(graph, group)
        # what fits by itself may not with the signs that its turns differ in
        every = Folds(columns)
        slow: set[int] = set()
        for i, members in columns.items():
            if not fits(every, i):
                slow.update(turn.node for turn in members)
        if not slow:
            break
        excluded |= slow
    kinds = {s.name: s.kind for s in network.submodules}
    units = dict(folds.units)
    owners: dict[int, str] = {}
    for group in groups:
        name = f"{kinds[group.owner]}_columns_x{group.turns}"
        while name in kinds or name in folds.units:
            name += "_"
        units[name] = group.turns
        for column in group.columns:
            owners |= dict.fromkeys(column.nodes, name)
    turns = {**folds.turns, **columns}
    return with_owners(fixed, owners), Folds(turns, units)


def _group_turns(graph: Graph, group: Group) -> Turns:
    """The turns of every node of the group's first column."""
    turns = {}
    for k, i in enumerate(group.columns[0].nodes):
        turns[i] = _turns(graph, group, k)
    return turns


def _turns(graph: Graph, group: Group, k: int) -> tuple[Turn, ...]:
    """The turns of the k-th node of the group's first column."""
    return tuple(column.turn(graph, k) for column in group.columns)


def _needs(graph: Graph, folds: Folds) -> nx.DiGraph:
    """Which operator needs which, each by its template."""
    needs = nx.DiGraph()
    for i, node in graph:
        user = folds.template(i)
        for a in node.args:
            needs.add_edge(folds.template(a), user)
    return needs


def _orderly(graph: Graph, folds: Folds, groups: list[Group]) -> list[Group]:
    """The groups without those of which one column needs another, be it through other operations."""
    while True:
        turns = dict(folds.turns)
        group_of: dict[int, int] = {}
        for number, group in enumerate(groups):
            template = group.columns[0]
            turns |= _group_turns(graph, group)
            group_of |= dict.fromkeys(template.nodes, number)
        needs = _needs(graph, Folds(turns))
        bad: set[int] = set()
        for circle in nx.strongly_connected_components(needs):
            first = next(iter(circle))
            if len(circle) == 1 and not needs.has_edge(first, first):
                continue
            for i in circle:
                if i in group_of:
                    bad.add(group_of[i])
        if not bad:
            return groups
        left = []
        for number, group in enumerate(groups):
            if number not in bad:
                left.append(group)
        groups = left
