"""The structure of a design that the pictures show: its units with their submodules, the words between bodies, the
bodies' positions.

Not here: shapes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from rbdgen.compiler import Design
from rbdgen.ir.graph import OUTPUT_OWNER
from rbdgen.report.drawings.svg import HUES

KINDS = {
    "Sc": "sines and cosines",
    "Wr": "rotations into the base's coordinates",
    "Rf": "RNEA, forward",
    "Rb": "RNEA, backward",
    "Mb": "mass matrix, backward",
    "Mf": "mass matrix, forward",
    "Mi": "inverse of the mass matrix",
    "Df": "derivatives, forward",
    "Db": "derivatives, backward",
    "Mx": "products with the inverse",
    "Ce": "constraints, eliminated",
    "Cs": "constraint forces",
    "Ab": "articulated bodies",
    "Ac": "accelerations by articulated bodies",
}
"""Kinds of submodules in the order in which they are drawn."""


def hue(kind: str) -> int:
    """The colour of a kind of submodule."""
    return list(KINDS).index(kind) % HUES if kind in KINDS else 0


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
    graph = design.fixed.graph
    schedule = design.plan.schedule
    order = {}
    for k, submodule in enumerate(design.network.submodules):
        order[submodule.name] = k

    def key(owner: str) -> tuple[int, str]:
        return order.get(owner, len(order)), owner

    found = []
    for unit in design.plan.units:
        nodes = [graph.nodes[i] for i in unit.nodes]
        owners = {node.owner for node in nodes}
        if not owners:
            continue
        products = sum(len(node.products) for node in nodes)
        submodules = tuple(sorted(owners, key=key))
        multipliers = schedule.multipliers.get(unit.name, 0)
        turns = schedule.folds.units.get(unit.name, 1)
        found.append(DrawnUnit(unit.name, submodules, multipliers, products, turns))
    return tuple(found)


def submodule_bodies(design: Design) -> dict[str, int | None]:
    """The body of every submodule; None for those of the whole robot."""
    return {s.name: s.body for s in design.network.submodules}


def submodule_kinds(design: Design) -> dict[str, str]:
    """The kind of every submodule."""
    return {s.name: s.kind for s in design.network.submodules}


def words_between_bodies(design: Design) -> Counter[tuple[int, int]]:
    """Words that pass from one body's submodules to another's, by bodies (source, target)."""
    graph = design.fixed.graph
    bodies = submodule_bodies(design)
    words: set[tuple[int, int, int]] = set()
    for _, node in graph:
        target = bodies.get(node.owner)
        if target is None:
            continue
        for argument in node.args:
            given = graph.nodes[argument]
            source = bodies.get(given.owner)
            if not given.is_const and source is not None and source != target:
                # a word that several operations read passes once
                words.add((source, target, argument))
    return Counter((source, target) for source, target, _ in words)


def exit_of(unit: str) -> str | None:
    """The exit whose results a unit collects; None for units that compute."""
    prefix = f"{OUTPUT_OWNER}_"
    return unit.removeprefix(prefix) if unit.startswith(prefix) else None


def forest_positions(parents: Sequence[int]) -> list[tuple[int, float]]:
    """Column and row of every node of a forest, each after its parent; a root's parent is −1. Columns count from the
    roots, each leaf has a row of its own, and a node stands between its first and its last child."""
    columns: list[int] = []
    children: dict[int, list[int]] = defaultdict(list)
    for node, parent in enumerate(parents):
        columns.append(0 if parent < 0 else columns[parent] + 1)
        children[parent].append(node)
    rows: dict[int, float] = {}
    leaves = 0
    waiting = children[-1][::-1]
    while waiting:
        node = waiting.pop()
        waiting += children[node][::-1]
        if not children[node]:
            rows[node] = float(leaves)
            leaves += 1
    # children come after their parents: from behind, theirs are known first
    for node in reversed(range(len(parents))):
        if children[node]:
            first = children[node][0]
            last = children[node][-1]
            rows[node] = (rows[first] + rows[last]) / 2
    return [(columns[node], rows[node]) for node in range(len(parents))]


@dataclass(frozen=True)
class Position:
    """Where a node stands in a picture that is no wider than so many columns. ``begins``: its parent stands in the band
    above it, so that no line leads to it."""

    column: int
    row: float
    begins: bool


def banded_positions(parents: Sequence[int], most: int) -> list[Position]:
    """Positions in at most ``most`` columns: a forest is cut into bands of so many columns, which stand below each
    other. Where a band has a single column, its nodes stand side by side."""
    depths = [column for column, _ in forest_positions(parents)]
    positions: dict[int, Position] = {}
    top = 0.0
    for first in range(0, max(depths) + 1, most):
        columns = range(first, first + most)
        band = [node for node, depth in enumerate(depths) if depth in columns]
        inside = _in_band(band, parents, most)
        for node, (column, row) in zip(band, inside, strict=True):
            begins = depths[node] == first and first > 0
            positions[node] = Position(column, top + row, begins)
        lowest = max(positions[node].row for node in band)
        top = lowest + 1
    return [positions[node] for node in range(len(parents))]


def _in_band(band: Sequence[int], parents: Sequence[int], most: int) -> list[tuple[int, float]]:
    """Columns and rows of the nodes of one band, which count from its upper left."""
    number = {node: k for k, node in enumerate(band)}
    own_parents = [number.get(parents[node], -1) for node in band]
    positions = forest_positions(own_parents)
    if any(column > 0 for column, _ in positions):
        return positions
    beside: list[tuple[int, float]] = []
    for k in range(len(band)):
        row, column = divmod(k, most)
        beside.append((column, float(row)))
    return beside
