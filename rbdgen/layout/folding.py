"""Folding: branches of a robot that are alike, and which of their operations correspond to each other.

Branches of one body are alike if their joints are of the same types in the same arrangement. The same text was traced
for each, so that most of what it left for one branch has a counterpart in the others: the same operation on
counterparts. A sum may correspond to a difference, and a constant factor to its negative: mirrored branches differ in
signs. What has no counterpart in every branch, or one in another format, is not folded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.folds import NO_FOLDS, SUMS, Folds, Turn, with_owners
from rbdgen.ir.graph import Graph
from rbdgen.ir.programs import timeless_nodes
from rbdgen.layout.network import PREFIX, Network
from rbdgen.model.robot import Robot

Fits = Callable[[Folds, int], bool]
"""Whether the operator of a node, which does its turns in these folds, leaves time for the choice of its arguments."""
CONSTANT = -2
"""What an argument that is a constant is matched by: all are alike."""


def alike_branches(robot: Robot) -> list[list[list[int]]]:
    """Groups of branches that are alike: each branch is the list of its bodies, depth first. Largest branches first;
    no body is in two groups."""
    groups: list[list[list[int]]] = []
    taken: set[int] = set()
    for parent in range(-1, len(robot.bodies)):
        shapes: dict[object, list[list[int]]] = defaultdict(list)
        for child in [j for j, b in enumerate(robot.bodies) if b.parent == parent]:
            if child not in taken:
                branch = _subtree(robot, child)
                shapes[_shape(robot, child)].append(branch)
        for branches in shapes.values():
            if len(branches) > 1:
                groups.append(branches)
                taken.update(b for branch in branches for b in branch)
    return groups


def _subtree(robot: Robot, root: int) -> list[int]:
    return [root, *(b for child in robot.children[root] for b in _subtree(robot, child))]


def _shape(robot: Robot, root: int) -> object:
    return type(robot.bodies[root].joint), tuple(_shape(robot, child) for child in robot.children[root])


def _operand_counterparts(network: Network, bodies: Mapping[int, int]) -> dict[str, str]:
    """Each operand's counterpart by name, where bodies have theirs (the others are their own)."""
    robot = network.robot
    q, v = {}, {}
    for a, b in bodies.items():
        for slices, target in ((robot.q_slices, q), (robot.v_slices, v)):
            target |= dict(zip(range(*slices[a].indices(9999)), range(*slices[b].indices(9999)), strict=True))
    names = {}
    for vector, words in network.operands.items():
        by_index = {w.index: w.name for w in words}
        moves = q if vector == "q" else bodies if vector == "f_ext" else v
        for word in words:
            if vector == "base":
                continue
            first = word.index[:1] if vector == "f_ext" else word.index
            index = tuple(moves.get(k, k) for k in first) + word.index[len(first) :]
            if vector == "minv":
                index = tuple(sorted(index, reverse=True))
            if index in by_index:
                names[word.name] = by_index[index]
    return {p + a: p + b for p in PREFIX.values() for a, b in names.items()} | {
        p.word.name: q2.word.name
        for p in network.parameters
        for q2 in network.parameters
        if bodies.get(p.body) == q2.body and p.entry == q2.entry
    }


def _match(graph: Graph, template: set[str], owners: Mapping[str, str], operands: Mapping[str, str]) -> dict[int, int]:
    """Counterparts of one branch's nodes in another, and of what else depends on the branches' operands."""
    found: dict[int, int] = {}
    index: dict[object, list[int]] = defaultdict(list)
    for i, node in graph:
        if node.op != "const":
            args = tuple(sorted(_argument(graph, a) for a in node.args))
            index[node.owner, _operation(graph, i), args].append(i)
    used: set[int] = set()
    for i, node in graph:
        if node.op == "const":
            continue
        if node.op == "input":
            found[i] = graph.inputs.get(operands.get(node.attr, node.attr), -1)
            continue
        args = [found.get(a, _argument(graph, a)) for a in node.args]
        inside = node.owner in template
        if not inside and args == [_argument(graph, a) for a in node.args]:
            found[i] = i  # no part of a branch: its own counterpart
            continue
        owner = owners.get(node.owner) if inside else node.owner
        candidates = [c for c in index.get((owner, _operation(graph, i), tuple(sorted(args))), ()) if c not in used]
        found[i] = -1
        if candidates and -1 not in args:
            found[i] = min(candidates, key=lambda c: (graph.nodes[c].op != node.op, c))
            used.add(found[i])
    return {i: c for i, c in found.items() if c >= 0}


def _argument(graph: Graph, a: int) -> int:
    return CONSTANT if graph.nodes[a].op == "const" else a


def _operation(graph: Graph, i: int) -> tuple[object, ...]:
    node = graph.nodes[i]
    if node.op in SUMS:
        return ("sum",)
    if node.op == "scale":
        return ("scale", round(abs(node.attr), 9))
    return node.op, node.attr


def _turn(fixed: FixedGraph, match: Mapping[int, int], template: int, node: int) -> Turn | None:
    """A counterpart as a turn of its template; None where their hardware would differ."""
    graph, formats = fixed.graph, fixed.formats
    own, other = graph.nodes[template], graph.nodes[node]
    wanted = [match.get(a, _argument(graph, a)) for a in own.args]
    args, signs = list(other.args), [False, other.op == "sub"][: len(other.args)]
    if [_argument(graph, a) for a in args] != wanted:
        args, signs = args[::-1], signs[::-1]
    if formats[node] != formats[template] or (node in fixed.truncated) != (template in fixed.truncated):
        return None
    if any(formats[a] != formats[b] for a, b in zip(own.args, args, strict=True)):
        return None
    if own.op == "scale":
        mine, theirs = fixed.constants[template], fixed.constants[node]
        if mine.exponent != theirs.exponent or abs(mine.mantissa) != abs(theirs.mantissa):
            return None
        signs = [mine.mantissa != theirs.mantissa]
    return Turn(node, tuple(args), tuple(signs))


def _matches(
    network: Network, graph: Graph, branches: Sequence[Sequence[int]]
) -> tuple[set[str], list[dict[int, int]]]:
    """The submodules of the first branch, and the counterparts of its nodes in each of the others."""
    names = {(s.kind, s.body): s.name for s in network.submodules}
    kinds = list(dict.fromkeys(s.kind for s in network.submodules))
    template = {names[k, b] for k in kinds for b in branches[0] if (k, b) in names}
    matches: list[dict[int, int]] = []
    for branch in branches[1:]:
        bodies = dict(zip(branches[0], branch, strict=True))
        places = [(k, a, b) for k in kinds for a, b in bodies.items() if (k, a) in names and (k, b) in names]
        owners = {names[k, a]: names[k, b] for k, a, b in places}
        matches.append(_match(graph, template, owners, _operand_counterparts(network, bodies)))
    return template, matches


def counterparts(network: Network, graph: Graph, ii: int) -> list[tuple[int, ...]]:
    """Nodes of alike branches that one operator could do in turn at this interval, if their formats were equal."""
    found = []
    for branches in alike_branches(network.robot):
        if ii % len(branches) == 0:
            _, matches = _matches(network, graph, branches)
            for i, node in graph:
                members = (i, *(m.get(i, i) for m in matches))
                if node.op != "const" and len(set(members)) == len(members):
                    found.append(members)
    return found


def _fold_group(network: Network, fixed: FixedGraph, branches: Sequence[Sequence[int]]) -> dict[int, tuple[Turn, ...]]:
    """The turns of every node of the first branch that has counterparts in all others."""
    graph = fixed.graph
    template, matches = _matches(network, graph, branches)
    identity = {i: i for i, _ in graph}
    folded = {}
    for i, node in graph:
        if node.owner in template and node.op != "const" and all(i in m for m in matches):
            turns = [_turn(fixed, m, i, m[i]) for m in (identity, *matches)]
            if None not in turns and len({t.node for t in turns if t}) == len(turns):
                folded[i] = tuple(t for t in turns if t is not None)
    return folded


def _ordered(graph: Graph, folds: Folds) -> set[int]:
    """Templates that stand in the way of any order: all turns of a node must wait for all turns of what it needs."""
    needs: dict[int, set[int]] = defaultdict(set)
    for i, node in graph:
        needs[folds.template(i)].update(folds.template(a) for a in node.args)
    users: dict[int, list[int]] = defaultdict(list)
    for i, args in needs.items():
        for a in args:
            users[a].append(i)
    waiting = {i: len(args) for i, args in needs.items()}
    ready = [i for i, n in waiting.items() if not n]
    while ready:
        for user in users[ready.pop()]:
            waiting[user] -= 1
            if not waiting[user]:
                ready.append(user)
    return {i for i, n in waiting.items() if n} & folds.turns.keys()


def fold_branches(
    network: Network, fixed: FixedGraph, ii: int, fits: Fits = lambda folds, node: True
) -> tuple[FixedGraph, Folds]:
    """The graph with what is alike in branches owned by folded units, named after the first branch's submodule and the
    number of branches, and the folds.

    Branches are folded where their number divides ``ii``, of their operations those that fit.
    """
    turns: dict[int, tuple[Turn, ...]] = {}
    for branches in alike_branches(network.robot):
        if ii % len(branches) == 0:
            turns |= _fold_group(network, fixed, branches)
    timeless = timeless_nodes(fixed.graph, network.programs)
    turns = {i: members for i, members in turns.items() if not any(t.node in timeless for t in members)}
    folds = Folds(turns)
    turns = {i: members for i, members in turns.items() if fits(folds, i)}
    while turns:
        folds = Folds(turns)
        cyclic = _ordered(fixed.graph, folds)
        if not cyclic:
            break
        turns = {i: t for i, t in turns.items() if i not in cyclic}
    if not turns:
        return fixed, NO_FOLDS
    owners, units = {}, {}
    for i, members in turns.items():
        name = f"{fixed.graph.nodes[i].owner}_x{len(members)}"
        units[name] = len(members)
        owners |= {turn.node: name for turn in members}
    return with_owners(fixed, owners), Folds(turns, units)
