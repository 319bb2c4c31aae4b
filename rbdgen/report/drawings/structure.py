"""What the pictures show of a design: its units with their submodules, the words between bodies, the bodies' places.

Not here: shapes and colours.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from rbdgen.compiler import Design
from rbdgen.ir.graph import OUTPUT_OWNER
from rbdgen.model.robot import Robot

KINDS = {
    "Sc": "sines and cosines",
    "Rf": "RNEA, forward",
    "Rb": "RNEA, backward",
    "Mb": "mass matrix, backward",
    "Mf": "mass matrix, forward",
    "Mi": "inverse of the mass matrix",
    "Df": "derivatives, forward",
    "Db": "derivatives, backward",
    "Mx": "products with the inverse",
}
"""Kinds of submodules in the order in which they are drawn."""


@dataclass(frozen=True)
class DrawnUnit:
    """A unit and the ``submodules`` that it executes, by name, in the network's order, all or a part of each;
    ``products`` is how many multiplications its ``multipliers`` do per task. A folded unit takes several
    ``turns``."""

    name: str
    submodules: tuple[str, ...]
    multipliers: int
    products: int
    turns: int


def drawn_units(design: Design) -> tuple[DrawnUnit, ...]:
    """The units that compute, in the plan's order; those that only collect results are left out."""
    graph, schedule = design.fixed.graph, design.plan.schedule
    order = {s.name: k for k, s in enumerate(design.network.submodules)}
    found = []
    for unit in design.plan.units:
        owners = {graph.nodes[i].owner for i in unit.nodes}
        if not owners:
            continue
        products = sum(graph.nodes[i].op == "mul" for i in unit.nodes)
        submodules = tuple(sorted(owners, key=lambda o: (order.get(o, len(order)), o)))
        multipliers, turns = schedule.multipliers.get(unit.name, 0), schedule.folds.units.get(unit.name, 1)
        found.append(DrawnUnit(unit.name, submodules, multipliers, products, turns))
    return tuple(found)


def submodule_bodies(design: Design) -> dict[str, int | None]:
    """The body of every submodule; None for those of the whole robot."""
    return {s.name: s.body for s in design.network.submodules}


def submodule_kinds(design: Design) -> dict[str, str]:
    """The kind of every submodule."""
    return {s.name: s.kind for s in design.network.submodules}


def body_links(design: Design) -> Counter[tuple[int, int]]:
    """Words that pass from one body's submodules to another's, by bodies (source, target)."""
    graph, bodies = design.fixed.graph, submodule_bodies(design)
    words: set[tuple[int, int, int]] = set()
    for _, node in graph:
        target = bodies.get(node.owner)
        for a in node.args:
            source = bodies.get(graph.nodes[a].owner)
            if graph.nodes[a].op != "const" and source is not None and target is not None and source != target:
                words.add((source, target, a))
    return Counter((source, target) for source, target, _ in words)


def exit_of(unit: str) -> str | None:
    """The exit whose results a unit collects; None for units that compute."""
    return unit.removeprefix(f"{OUTPUT_OWNER}_") if unit.startswith(f"{OUTPUT_OWNER}_") else None


def tree_places(robot: Robot) -> list[tuple[int, float]]:
    """Column and row of every body: columns count joints from the base, each leaf has a row of its own, a body stands
    between its first and its last child."""
    columns: list[int] = []
    children: dict[int, list[int]] = defaultdict(list)
    for k, body in enumerate(robot.bodies):
        columns.append(0 if body.parent < 0 else columns[body.parent] + 1)
        children[body.parent].append(k)
    rows: dict[int, float] = {}
    waiting = children[-1][::-1]
    while waiting:
        k = waiting.pop()
        waiting += children[k][::-1]
        if not children[k]:
            rows[k] = float(len(rows))
    for k in range(len(robot.bodies) - 1, -1, -1):
        if children[k]:
            rows[k] = (rows[children[k][0]] + rows[children[k][-1]]) / 2
    return [(columns[k], rows[k]) for k in range(len(robot.bodies))]
