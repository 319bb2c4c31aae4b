"""Folding: branches of a robot that are alike, and which of their operations correspond to each other.

Branches of one body are alike if their joints are of the same types in the same arrangement. The same text was traced
for each, so that most of what it left for one branch has a counterpart in the others: the same operation on
counterparts. A sum may correspond to a difference, and a constant factor to its negative: mirrored branches differ in
signs. What has no counterpart in every branch, or one in another format, is not folded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from rbdgen.functions.quantities import BASE, F_EXT, MINV
from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.folds import NO_FOLDS, Folds, Turn, alike_terms, arrangement, with_owners
from rbdgen.ir.graph import Graph
from rbdgen.ir.programs import timeless_nodes
from rbdgen.model.robot import Robot
from rbdgen.setting import INTEGER, SWITCH, StageOptions, setting
from rbdgen.tracing.network import PREFIX, Network

MAX_II = 4096
"""The longest interval: tasks that come less often than that are not worth a pipeline."""


@dataclass(frozen=True)
class FoldOptions(StageOptions):
    """Options of how often tasks come, and of whether branches that are alike share hardware in turn."""

    ii: int = setting(
        1,
        INTEGER,
        "rate",
        "initiation interval: cycles between tasks",
        otherwise="1, or what a budget allows",
        least=1,
        most=MAX_II,
        metavar="CYCLES",
        basic=True,
    )
    fold: bool = setting(
        True,
        SWITCH,
        "sharing",
        "branches that are alike share hardware in turn, where their number divides the interval",
        otherwise="yes",
    )


Fits = Callable[[Folds, int], bool]
"""Whether the operator of a node, which does its turns in these folds, leaves time for the choice of its arguments."""
Turns = dict[int, tuple[Turn, ...]]
"""The turns of each template."""
CONSTANT = -2
"""Stands for any argument that is a constant: all are alike."""
UNMATCHED = -1
"""Stands for the counterpart of a node that has none."""


def alike_branches(robot: Robot) -> list[list[list[int]]]:
    """Groups of branches that are alike: each branch is the list of its bodies, depth first. Largest branches first;
    no body is in two groups."""
    groups: list[list[list[int]]] = []
    taken: set[int] = set()
    # parents come before their children, so that whole branches are found before their parts
    for parent in range(-1, len(robot.bodies)):
        shapes: dict[object, list[list[int]]] = defaultdict(list)
        for child, body in enumerate(robot.bodies):
            if body.parent == parent and child not in taken:
                shape = _shape(robot, child)
                shapes[shape].append(_subtree(robot, child))
        for branches in shapes.values():
            if len(branches) == 1:
                continue
            groups.append(branches)
            taken.update(*branches)
    return groups


def _subtree(robot: Robot, root: int) -> list[int]:
    """A body and all behind it, depth first."""
    bodies = [root]
    for child in robot.children[root]:
        bodies += _subtree(robot, child)
    return bodies


def _shape(robot: Robot, root: int) -> object:
    """Equal for branches that are alike."""
    body = robot.bodies[root]
    children = [_shape(robot, child) for child in robot.children[root]]
    # a joint that follows another has no operands of its own
    return type(body.joint), body.mimic is None, *children


def _moved(slices: Sequence[slice], bodies: Mapping[int, int]) -> dict[int, int]:
    """Indices of a vector that ``slices`` divides among the bodies, with those of the bodies' counterparts."""
    moved: dict[int, int] = {}
    for body, other in bodies.items():
        mine, theirs = slices[body], slices[other]
        indices = range(mine.start, mine.stop)
        others = range(theirs.start, theirs.stop)
        moved.update(zip(indices, others, strict=True))
    return moved


def _moved_index(vector: str, index: tuple[int, ...], moved: Mapping[int, int]) -> tuple[int, ...]:
    """An operand's index after its bodies or coordinates were ``moved``."""
    if vector == F_EXT.name:
        # the second is the component of a body's wrench
        body, component = index
        return moved.get(body, body), component
    found = [moved.get(k, k) for k in index]
    if vector == MINV.name:
        # operands are the lower triangle
        found.sort(reverse=True)
    return tuple(found)


def _operand_counterparts(network: Network, bodies: Mapping[int, int]) -> dict[str, str]:
    """Each operand's counterpart by name, where bodies have theirs (the others are their own)."""
    robot = network.robot
    velocities = _moved(robot.v_slices, bodies)
    positions = _moved(robot.q_slices, bodies)
    moved = {"q": positions, F_EXT.name: bodies}
    names = {}
    for vector, words in network.operands.items():
        # all branches have the same base
        if vector == BASE.name:
            continue
        by_index = {w.index: w.name for w in words}
        moves = moved.get(vector, velocities)
        for word in words:
            index = _moved_index(vector, word.index, moves)
            if index in by_index:
                names[word.name] = by_index[index]
    found = _parameter_counterparts(network, bodies)
    for prefix in PREFIX.values():
        for name, other in names.items():
            found[prefix + name] = prefix + other
    return found


def _parameter_counterparts(network: Network, bodies: Mapping[int, int]) -> dict[str, str]:
    """Each loaded parameter's counterpart by name: the same entry of the counterpart of its body."""
    by_entry = {}
    for p in network.parameters:
        by_entry[p.body, p.entry] = p.word.name
    found = {}
    for p in network.parameters:
        if p.body not in bodies:
            continue
        key = bodies[p.body], p.entry
        other = by_entry.get(key)
        if other is not None:
            found[p.word.name] = other
    return found


def _by_operation(graph: Graph) -> dict[object, list[int]]:
    """Nodes other than constants by owner, operation and arguments, their terms in any order."""
    nodes: dict[object, list[int]] = defaultdict(list)
    for i, node in graph:
        if not node.is_const:
            args = _arguments(graph, i)
            key = node.owner, _attribute(graph, i), alike_terms(node, args)
            nodes[key].append(i)
    return nodes


def _match(
    graph: Graph, template: set[str], owners: Mapping[str, str], operands: Mapping[str, str]
) -> dict[int, int]:
    """Counterparts of one branch's nodes in another, and of what else depends on the branches' operands."""
    by_operation = _by_operation(graph)
    found: dict[int, int] = {}
    used: set[int] = set()
    for i, node in graph:
        if node.is_const:
            continue
        if node.is_input:
            name = operands.get(node.attr, node.attr)
            found[i] = graph.inputs.get(name, UNMATCHED)
            continue
        own = _arguments(graph, i)
        args = [found.get(a, a) for a in own]
        inside = node.owner in template
        if not inside and args == own:
            found[i] = i  # no part of a branch: its own counterpart
            continue
        owner = node.owner
        if inside:
            owner = owners.get(node.owner)
        key = owner, _attribute(graph, i), alike_terms(node, args)
        alike = by_operation.get(key, ())
        candidates = [c for c in alike if c not in used]
        if not candidates:
            found[i] = UNMATCHED
            continue
        # a sum is better matched by a sum than by a difference
        same = [c for c in candidates if graph.nodes[c].name == node.name]
        counterpart = min(same or candidates)
        found[i] = counterpart
        used.add(counterpart)
    for i, counterpart in list(found.items()):
        if counterpart == UNMATCHED:
            del found[i]
    return found


def _argument(graph: Graph, a: int) -> int:
    if graph.nodes[a].is_const:
        return CONSTANT
    return a


def _arguments(graph: Graph, i: int) -> list[int]:
    return [_argument(graph, a) for a in graph.nodes[i].args]


def _attribute(graph: Graph, i: int) -> object:
    """A node's attribute as far as counterparts have it in common."""
    node = graph.nodes[i]
    if node.terms.multiple is not None:
        # mirrored branches differ in signs; mantissas are compared bit for bit afterwards
        return round(abs(node.terms.multiple), 9)
    return None if node.terms.count else node.attr


def _turn(fixed: FixedGraph, match: Mapping[int, int], template: int, node: int) -> Turn | None:
    """A counterpart as a turn of its template; None where their hardware would differ."""
    graph = fixed.graph
    formats = fixed.formats
    own = graph.nodes[template]
    other = graph.nodes[node]

    def corresponds(mine: int, theirs: int) -> bool:
        wanted = match.get(mine, _argument(graph, mine))
        return wanted == _argument(graph, theirs) and formats[mine] == formats[theirs]

    if template == node:
        order = tuple(range(len(own.args)))
    else:
        order = arrangement(own.args, other, corresponds)
    if order is None or not _same_format(fixed, template, node):
        return None
    turn = Turn.arranged(node, other, order)
    if template not in fixed.constants:
        return turn
    factor = fixed.constants[template]
    constant = fixed.constants[node]
    if factor.exponent != constant.exponent:
        return None
    if abs(factor.mantissa) != abs(constant.mantissa):
        return None
    return replace(turn, negated=(factor.mantissa != constant.mantissa,))


def _same_format(fixed: FixedGraph, a: int, b: int) -> bool:
    """Whether two nodes have the same format, add at the same binary point, and both or neither are truncated."""
    if fixed.formats[a] != fixed.formats[b] or fixed.points.get(a) != fixed.points.get(b):
        return False
    return (a in fixed.truncated) == (b in fixed.truncated)


def _matches(
    network: Network, graph: Graph, branches: Sequence[Sequence[int]]
) -> tuple[set[str], list[dict[int, int]]]:
    """The submodules of the first branch, and the counterparts of its nodes in each of the others."""
    names: dict[tuple[str, int], str] = {}
    for s in network.submodules:
        if s.body is not None:
            names[s.kind, s.body] = s.name
    first = [key for key in names if key[1] in branches[0]]
    template = {names[key] for key in first}
    matches: list[dict[int, int]] = []
    for branch in branches[1:]:
        bodies = dict(zip(branches[0], branch, strict=True))
        owners = {}
        for kind, body in first:
            other = names.get((kind, bodies[body]))
            if other is not None:
                owners[names[kind, body]] = other
        operands = _operand_counterparts(network, bodies)
        matches.append(_match(graph, template, owners, operands))
    return template, matches


def counterparts(network: Network, graph: Graph, ii: int) -> list[tuple[int, ...]]:
    """Nodes of alike branches that one operator could do in turn at this interval, if their formats were equal."""
    found = []
    for branches in alike_branches(network.robot):
        # turns are the interval divided by their number apart
        if ii % len(branches):
            continue
        _, matches = _matches(network, graph, branches)
        for i, node in graph:
            if node.is_const:
                continue
            members = [i]
            members += [match.get(i, i) for match in matches]
            if len(set(members)) == len(members):
                found.append(tuple(members))
    return found


def _fold_group(network: Network, fixed: FixedGraph, branches: Sequence[Sequence[int]]) -> Turns:
    """The turns of every node of the first branch that has counterparts in all others."""
    graph = fixed.graph
    template, matches = _matches(network, graph, branches)
    identity = {i: i for i, _ in graph}
    folded = {}
    for i, node in graph:
        if node.owner not in template:
            continue
        everywhere = all(i in match for match in matches)
        if node.is_const or not everywhere:
            continue
        turns = []
        for match in (identity, *matches):
            turn = _turn(fixed, match, i, match[i])
            if turn is not None:
                turns.append(turn)
        members = {turn.node for turn in turns}
        if len(members) == len(branches):
            folded[i] = tuple(turns)
    return folded


def _ordered(graph: Graph, folds: Folds) -> set[int]:
    """Templates that exclude any order: all turns of a node must wait for all turns of what it needs."""
    needs: dict[int, set[int]] = defaultdict(set)
    for i, node in graph:
        needed = needs[folds.template(i)]
        for a in node.args:
            needed.add(folds.template(a))
    users: dict[int, list[int]] = defaultdict(list)
    for i, args in needs.items():
        for a in args:
            users[a].append(i)
    waiting = {i: len(args) for i, args in needs.items()}
    ready = [i for i, n in waiting.items() if not n]
    while ready:
        done = ready.pop()
        for user in users[done]:
            waiting[user] -= 1
            if not waiting[user]:
                ready.append(user)
    never = {i for i, left in waiting.items() if left}
    return never & folds.turns.keys()


def _without_cycles(graph: Graph, turns: Turns) -> Turns:
    """The turns by template, without those by which an operation would wait for itself."""
    while turns:
        cyclic = _ordered(graph, Folds(turns))
        if not cyclic:
            break
        turns = {i: members for i, members in turns.items() if i not in cyclic}
    return turns


def fold_branches(
    network: Network, fixed: FixedGraph, ii: int, fits: Fits = lambda folds, node: True
) -> tuple[FixedGraph, Folds]:
    """The graph with what is alike in branches owned by folded units, named after the first branch's submodule and the
    number of branches, and the folds.

    Branches are folded where their number divides ``ii``, of their operations those that fit.
    """
    turns: Turns = {}
    for branches in alike_branches(network.robot):
        if ii % len(branches) == 0:
            turns |= _fold_group(network, fixed, branches)
    timeless = timeless_nodes(fixed.graph, network.programs)
    for i, members in list(turns.items()):
        # what depends on parameters alone belongs to no task, and has no turn
        if any(turn.node in timeless for turn in members):
            del turns[i]
    folds = Folds(turns)
    fitting: Turns = {}
    for i, members in turns.items():
        if fits(folds, i):
            fitting[i] = members
    turns = _without_cycles(fixed.graph, fitting)
    if not turns:
        return fixed, NO_FOLDS
    owners, units = {}, {}
    for i, members in turns.items():
        owner = fixed.graph.nodes[i].owner
        name = f"{owner}_x{len(members)}"
        units[name] = len(members)
        for turn in members:
            owners[turn.node] = name
    return with_owners(fixed, owners), Folds(turns, units)
