"""Columns: parts of one submodule that are alike, made by one piece of hardware in turn.

A submodule does the same for every column of a matrix, or for every body behind it. What belongs to one column hangs
together; columns are connected only by what all of them read. Those of which the same is left, in the same formats, are
one column in hardware: between its operations there are neither multiplexers nor registers for each of them, only what
comes from outside is chosen by the turn.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass

import networkx as nx

from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.folds import NO_FOLDS, SUMS, Folds, Turn, with_owners
from rbdgen.ir.graph import Graph
from rbdgen.ir.programs import timeless_nodes
from rbdgen.layout.folding import Fits
from rbdgen.layout.network import Network

FOLDED = ("add", "sub", "neg", "mul", "scale")
"""Operations of columns; what else there is comes to them from outside."""
SHARED = 4
"""A value that so many operations of its submodule read belongs to no column."""
LEAST_USE = 2 / 3
"""Share of a unit's turns that must be taken where no divisor of the interval is the number of columns."""
LEAST_SAVED = 3
"""Sums that folding must save for each column beyond the first, to be worth equal formats and the time it takes."""
MULTIPLEXER, SIGN = 0.62, 1.0
"""Look-up tables per bit of an input of a choice beyond the first, and of a sign that is chosen; a sum takes one."""


@dataclass(frozen=True)
class Column:
    """One column's ``nodes``, in the order of the first one's, with their ``args`` in the order of the first one's."""

    nodes: tuple[int, ...]
    args: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Group:
    """Columns of the submodule ``owner`` that are made in turn, in ``turns`` of them; the last turns may be idle."""

    owner: str
    turns: int
    columns: tuple[Column, ...]


class _Columns:
    """The columns of a graph and what they look like."""

    def __init__(self, graph: Graph, excluded: Collection[int], marks: Callable[[int], Hashable]) -> None:
        self.graph, self.marks = graph, marks
        self.outside = set(excluded)
        for i, node in graph:
            own = sum(graph.nodes[u].owner == node.owner for u in graph.users[i])
            if node.op not in FOLDED or own >= SHARED:
                self.outside.add(i)
        self.reads: dict[int, frozenset[int]] = {}
        self.shapes: dict[int, int] = {}
        """For every node of a column a number; the same for what is alike up to there."""
        known: dict[Hashable, int] = {}
        for i, node in graph:
            if i not in self.outside:
                below = [self.shape(a, node.owner) for a in node.args]
                # a sum corresponds to a difference: signs come by turn as well
                op = "sum" if node.op in SUMS else node.op
                key = op, node.attr if node.op == "scale" else None, marks(i), *sorted(below, key=str)
                self.shapes[i] = known.setdefault(key, len(known))

    def within(self, a: int, owner: str) -> bool:
        """Whether an argument of a node of ``owner`` belongs to the node's column."""
        return a not in self.outside and self.graph.nodes[a].owner == owner

    def shape(self, a: int, owner: str) -> Hashable:
        """What an argument of a node of ``owner`` looks like."""
        if self.within(a, owner):
            return self.shapes[a]
        return "const" if self.graph.nodes[a].op == "const" else "value"

    def connected(self) -> list[list[int]]:
        """The nodes of every column."""
        links = nx.Graph()
        for i in self.shapes:
            links.add_node(i)
            node = self.graph.nodes[i]
            links.add_edges_from((a, i) for a in node.args if self.within(a, node.owner))
        return sorted(sorted(members) for members in nx.connected_components(links))

    def given(self, i: int, owner: str) -> frozenset[int]:
        """What node ``i`` of a column, or an argument, reads from outside."""
        if not self.within(i, owner):
            return frozenset((i,))
        if i not in self.reads:
            self.reads[i] = frozenset(x for a in self.graph.nodes[i].args for x in self.given(a, owner))
        return self.reads[i]

    def roots(self, members: Collection[int]) -> list[int]:
        """The nodes that no other of their column reads."""
        return [i for i in members if not any(u in members for u in self.graph.users[i])]

    def aligned(self, template: Column, members: Sequence[int]) -> Column | None:
        """A column in the order of another with the same shapes; None where they do not correspond after all."""
        graph, owner = self.graph, self.graph.nodes[members[0]].owner
        found: dict[int, int] = {}
        order: dict[int, tuple[int, ...]] = {}
        args_of = dict(zip(template.nodes, template.args, strict=True))

        def match(mine: int, theirs: int) -> bool:
            if mine in found:
                return found[mine] == theirs
            if self.shapes[mine] != self.shapes[theirs]:
                return False
            found[mine] = theirs
            wanted, args = args_of[mine], graph.nodes[theirs].args
            ways = [
                w
                for w in (args, args[::-1])
                if [self.shape(a, owner) for a in w] == [self.shape(a, owner) for a in wanted]
            ]
            if not ways:
                return False
            # what both read is best read by the same operation
            order[theirs] = max(ways, key=lambda w: sum(map(self._common, wanted, w, [owner] * len(w))))
            pairs = zip(wanted, order[theirs], strict=True)
            return all(not self.within(a, owner) or match(a, b) for a, b in pairs)

        ends: dict[int, list[int]] = defaultdict(list)
        for i in self.roots(members):
            ends[self.shapes[i]].append(i)
        for i in self.roots(template.nodes):
            if not ends[self.shapes[i]] or not match(i, ends[self.shapes[i]].pop(0)):
                return None
        if len(found) != len(members) or len(set(found.values())) != len(members):
            return None
        nodes = tuple(found[i] for i in template.nodes)
        return Column(nodes, tuple(order[i] for i in nodes))

    def _common(self, a: int, b: int, owner: str) -> int:
        return len(self.given(a, owner) & self.given(b, owner))

    def saved(self, group: Group) -> float:
        """What folding saves, in units of a sum: sums, less the choice of what they read from outside."""
        total = 0.0
        for k, i in enumerate(group.columns[0].nodes):
            op = self.graph.nodes[i].op
            if op == "mul":
                continue  # the operands of products are chosen anyway
            total += len(group.columns) - 1
            signs = {t.negated for t in _turns(self.graph, group, k)}
            if len(signs) > 1:
                total -= SIGN * sum(map(any, zip(*signs, strict=True)))
            for position, a in enumerate(group.columns[0].args[k]):
                if not self.within(a, group.owner):
                    total -= MULTIPLEXER * (len({c.args[k][position] for c in group.columns}) - 1)
        return total


def _portions(count: int, ii: int) -> Iterator[tuple[int, int]]:
    """How many of ``count`` columns to fold together, and in how many turns, until none is left; all of them where
    the interval is not known yet (1)."""
    if ii == 1:
        yield count, count
        return
    divisors = [d for d in range(2, ii + 1) if ii % d == 0]
    while count > 1 and divisors:
        enough = next((d for d in divisors if d >= count), None)
        if enough is None or count < LEAST_USE * enough:
            enough = max((d for d in divisors if d <= count), default=None)
        if enough is None:
            return
        yield min(count, enough), enough
        count -= min(count, enough)


def column_groups(
    graph: Graph, ii: int, excluded: Collection[int] = (), marks: Callable[[int], Hashable] = lambda i: None
) -> list[Group]:
    """The columns that are worth folding at an interval of ``ii`` cycles; 1: at any.

    ``excluded`` nodes are in no column; ``marks`` tell nodes apart that the graph does not, such as formats.
    """
    work = _Columns(graph, excluded, marks)
    alike: dict[tuple[str, tuple[int, ...]], list[list[int]]] = defaultdict(list)
    for members in work.connected():
        key = graph.nodes[members[0]].owner, tuple(sorted(work.shapes[i] for i in members))
        alike[key].append(members)
    groups = []
    for (owner, _), every in alike.items():
        begin = 0
        for count, turns in _portions(len(every), ii):
            portion = every[begin : begin + count]
            begin += count
            first = Column(tuple(portion[0]), tuple(graph.nodes[i].args for i in portion[0]))
            others = (work.aligned(first, members) for members in portion[1:])
            group = Group(owner, turns, (first, *(c for c in others if c is not None)))
            if len(group.columns) > 1 and work.saved(group) >= LEAST_SAVED * (len(group.columns) - 1):
                groups.append(group)
    return groups


def fold_columns(network: Network, fixed: FixedGraph, folds: Folds, ii: int, fits: Fits) -> tuple[FixedGraph, Folds]:
    """The graph and ``folds`` with columns folded as well: those of all submodules of a kind that take as many turns
    are a unit, named after the kind and the turns. Operations that do not fit are in none."""
    graph = fixed.graph
    excluded = timeless_nodes(graph, network.programs) | folds.members.keys()
    excluded |= {i for i, _ in graph if not fits(NO_FOLDS, i)}

    def marks(i: int) -> Hashable:
        rounds = fixed.dropped_bits(i) > 0 and i not in fixed.truncated
        return fixed.formats[i], rounds, fixed.constants.get(i)

    while True:
        groups = _orderly(graph, folds, column_groups(graph, ii, excluded, marks))
        columns = {i: _turns(graph, group, k) for group in groups for k, i in enumerate(group.columns[0].nodes)}
        # what fits by itself may not with the signs that its turns differ in
        every = Folds(columns)
        slow = {turn.node for i, members in columns.items() if not fits(every, i) for turn in members}
        if not slow:
            break
        excluded |= slow
    kinds = {s.name: s.kind for s in network.submodules}
    turns, units, owners = {**folds.turns, **columns}, dict(folds.units), {}
    for group in groups:
        name = f"{kinds[group.owner]}_columns_x{group.turns}"
        while name in kinds or name in folds.units:
            name += "_"
        units[name] = group.turns
        owners |= {i: name for column in group.columns for i in column.nodes}
    return with_owners(fixed, owners), Folds(turns, units)


def _turns(graph: Graph, group: Group, k: int) -> tuple[Turn, ...]:
    """The turns of the k-th node of the group's first column."""
    turns = []
    for column in group.columns:
        node, args = column.nodes[k], column.args[k]
        own = graph.nodes[node]
        minus = own.args[1] if own.op == "sub" else None
        signs = [False] * len(args)
        if minus is not None:
            signs[max(p for p, a in enumerate(args) if a == minus)] = True
        turns.append(Turn(node, args, tuple(signs)))
    return tuple(turns)


def _orderly(graph: Graph, folds: Folds, groups: list[Group]) -> list[Group]:
    """The groups without those of which one column needs another, by whatever way."""
    while True:
        turns = dict(folds.turns)
        place = {}
        for number, group in enumerate(groups):
            turns |= {i: _turns(graph, group, k) for k, i in enumerate(group.columns[0].nodes)}
            place |= dict.fromkeys(group.columns[0].nodes, number)
        every = Folds(turns)
        needs = nx.DiGraph((every.template(a), every.template(i)) for i, node in graph for a in node.args)
        circles = [c for c in nx.strongly_connected_components(needs) if len(c) > 1 or needs.has_edge(*[*c] * 2)]
        bad = Counter(place[i] for circle in circles for i in circle if i in place)
        if not bad:
            return groups
        groups = [group for number, group in enumerate(groups) if number not in bad]
