"""Diagrams of a report as plain geometry: robot tree, layout, Gantt charts, cells of a grid. Templates draw them.

Lengths are in pixels, from the top left corner. Plots with axes are in :mod:`rbdgen.report.plots`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ROW = 15
"""Height of a row of a Gantt chart."""
LABEL = 190
"""Width of the rows' names."""
CHIP, GAP = (51, 18), 3
"""Size of a unit in the layout picture, and the space between two."""
CARD_GAP = 22, 12
"""Space between bodies of the layout picture, across and down."""
SHORT = 24
"""Longest name that is written in full."""
LETTER, LINE = 6.6, 13
"""Width of a letter and height of a line, roughly."""
LEVELS = 9
"""Shades of a grid's cells."""


def shortened(name: str, longest: int = SHORT) -> str:
    """A name that fits: its middle left out if it is longer."""
    if len(name) <= longest:
        return name
    half = (longest - 1) // 2
    return f"{name[:half]}…{name[-half:]}"


@dataclass(frozen=True)
class Box:
    """A rectangle with a name; ``kind`` chooses the colour, ``title`` is said in full when pointed at."""

    x: float
    y: float
    width: float
    height: float
    text: str
    title: str
    kind: str = ""


@dataclass(frozen=True)
class Link:
    """A line from the right edge of one box to the left edge of another."""

    x1: float
    y1: float
    x2: float
    y2: float
    title: str = ""

    @property
    def path(self) -> str:
        """The line as a curve."""
        middle = (self.x1 + self.x2) / 2
        return f"M{self.x1:g} {self.y1:g}C{middle:g} {self.y1:g} {middle:g} {self.y2:g} {self.x2:g} {self.y2:g}"


@dataclass(frozen=True)
class Diagram:
    """Boxes and lines in an area; ``cards`` are boxes behind the boxes."""

    width: float
    height: float
    cards: tuple[Box, ...]
    boxes: tuple[Box, ...]
    links: tuple[Link, ...]


def _placed(tree: Sequence[Mapping[str, str]]) -> tuple[dict[str, int], dict[str, float], list[str]]:
    """Depth and row of every link, leaves in consecutive rows and parents in the middle of their children; and the
    links, parents first."""
    children: dict[str, list[str]] = defaultdict(list)
    links = {row["link"] for row in tree}
    roots = list(dict.fromkeys(row["parent"] for row in tree if row["parent"] not in links))
    for row in tree:
        children[row["parent"]].append(row["link"])
    depth, order = dict.fromkeys(roots, 0), list(roots)
    for link in order:
        for child in children[link]:
            depth[child] = depth[link] + 1
            order.append(child)
    rows: dict[str, float] = {}
    leaves = 0

    def place(link: str) -> None:
        nonlocal leaves
        # an explicit stack: chains may be longer than Python's recursion limit
        stack = [(link, False)]
        while stack:
            name, done = stack.pop()
            if not children[name]:
                rows[name] = leaves
                leaves += 1
            elif done:
                rows[name] = (rows[children[name][0]] + rows[children[name][-1]]) / 2
            else:
                stack.append((name, True))
                stack += [(child, False) for child in reversed(children[name])]

    for root in roots:
        place(root)
    return depth, rows, order


def tree_diagram(report: Mapping[str, Any]) -> Diagram:
    """The robot's links as boxes, root at the left, joined by their joints."""
    tree = report["tree"]
    depth, rows, order = _placed(tree)
    joint = {row["link"]: row for row in tree}
    width, height, across, down = 116.0, 34.0, 138.0, 44.0
    boxes, links = [], []
    for link in order:
        x, y = depth[link] * across, rows[link] * down
        row = joint.get(link)
        title = f"{link}: base" if row is None else f"{link}: {row['joint']} ({row['type']})"
        boxes.append(Box(x, y, width, height, shortened(link, 17), title, "base" if row is None else row["type"]))
        if row is not None:
            parent = row["parent"]
            ends = depth[parent] * across + width, rows[parent] * down + height / 2, x, y + height / 2
            links.append(Link(*ends, title=f"{row['joint']} ({row['type']})"))
    return _diagram([], boxes, links)


def layout_diagram(report: Mapping[str, Any]) -> Diagram:
    """The units in the places of their bodies, each with its multipliers; lines where bodies exchange values."""
    tree = report["tree"]
    depth, rows, order = _placed(tree)
    units: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    known = set(order)
    for unit in report["submodules"]:
        body = unit.get("body")
        units[body if body in known else order[0]].append(unit)
    columns = 2
    deepest = max((math.ceil(len(units[link]) / columns) for link in order), default=1)
    card = columns * (CHIP[0] + GAP) + GAP, 20 + deepest * (CHIP[1] + GAP) + GAP
    across, down = card[0] + CARD_GAP[0], card[1] + CARD_GAP[1]
    cards, boxes, links = [], [], []
    for link in order:
        x, y = depth[link] * across, rows[link] * down
        cards.append(Box(x, y, card[0], card[1], shortened(link, 16), link, "card"))
        for k, unit in enumerate(units[link]):
            left = x + GAP + (k % columns) * (CHIP[0] + GAP)
            top = y + 20 + (k // columns) * (CHIP[1] + GAP)
            title = f"{unit['name']}: {unit['multipliers']} multipliers, cycles {unit['first_cycle']} to "
            title += f"{unit['last_cycle']}"
            boxes.append(
                Box(left, top, *CHIP, f"{unit['kind']} {unit['multipliers'] or ''}".strip(), title, unit["kind"])
            )
    body_of = {unit["name"]: link for link in order for unit in units[link]}
    fifos: dict[tuple[str, str], int] = defaultdict(int)
    for f in report["fifos"]:
        ends = body_of.get(f["source"]), body_of.get(f["sink"])
        if None not in ends:
            fifos[ends] += 1  # type: ignore[index]
    for row in tree:
        parent, link = row["parent"], row["link"]
        ends = depth[parent] * across + card[0], rows[parent] * down + card[1] / 2
        count = fifos[parent, link] + fifos[link, parent]
        title = f"{parent} and {link}" + (f": {count} bypass FIFOs" if count else "")
        links.append(Link(*ends, depth[link] * across, rows[link] * down + card[1] / 2, title=title))
    return _diagram(cards, boxes, links)


def _diagram(cards: Sequence[Box], boxes: Sequence[Box], links: Sequence[Link]) -> Diagram:
    every = [*cards, *boxes]
    width = max((b.x + b.width for b in every), default=0.0)
    height = max((b.y + b.height for b in every), default=0.0)
    return Diagram(width + 2, height + 2, tuple(cards), tuple(boxes), tuple(links))


@dataclass(frozen=True)
class Tick:
    """A mark on the axis of cycles; its text is ``level`` lines lower, where marks are close."""

    x: float
    text: str
    level: int = 0


@dataclass(frozen=True)
class Gantt:
    """Rows of bars over cycles. ``names`` are boxes of the rows' names; ``exits`` mark where results leave."""

    title: str
    width: float
    height: float
    names: tuple[Box, ...]
    bars: tuple[Box, ...]
    starts: tuple[tuple[int, str], ...]
    """Cells over the bars, by shade: the cycles in which products start."""
    ticks: tuple[Tick, ...]
    exits: tuple[Tick, ...]
    exit_y: float
    """Base line of the first line of the exits' names."""


def _scale(cycles: int) -> float:
    """Pixels per cycle."""
    return max(3.0, min(26.0, 720.0 / max(cycles, 1)))


def _step(cycles: int, scale: float) -> int:
    """Cycles between two labels of an axis."""
    return next(
        n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10**9) if n * scale >= 22 or n > cycles
    )


def _ticks(cycles: int, scale: float) -> tuple[Tick, ...]:
    return tuple(Tick(LABEL + k * scale, str(k)) for k in range(0, cycles + 1, _step(cycles, scale)))


def _spread(marks: Sequence[tuple[float, str]]) -> tuple[Tick, ...]:
    """Marks from left to right, with texts that do not overlap."""
    ends: list[float] = []
    result = []
    for x, text in marks:
        half = len(text) * LETTER / 2
        level = next((k for k, end in enumerate(ends) if x - half > end), len(ends))
        ends[level : level + 1] = [x + half]
        result.append(Tick(x, text, level))
    return tuple(result)


def cell_paths(cells: Sequence[tuple[float, float, float, float, int]]) -> tuple[tuple[int, str], ...]:
    """Rectangles (x, y, width, height, shade) as one path per shade, ascending."""
    by_level: dict[int, list[str]] = defaultdict(list)
    for x, y, width, height, level in cells:
        by_level[level].append(f"M{x:g} {y:g}h{width:g}v{height:g}h{-width:g}z")
    return tuple((level, "".join(by_level[level])) for level in sorted(by_level))


def _level(share: float) -> int:
    """The shade of a share of one."""
    return max(1, min(LEVELS, math.ceil(share * LEVELS)))


def task_gantts(report: Mapping[str, Any]) -> tuple[Gantt, ...]:
    """One chart for each program: when each unit works for a single task that starts in cycle 0."""
    kinds = {unit["name"]: unit["kind"] for unit in report["submodules"]}
    multipliers = {unit["name"]: unit["multipliers"] for unit in report["submodules"]}
    charts = []
    for program in dict.fromkeys(row["program"] for row in report["activity"]):
        rows = [row for row in report["activity"] if row["program"] == program]
        leaving = [e for e in report["exits"] if e["program"] == program]
        cycles = 1 + max([row["last_cycle"] for row in rows] + [e["cycle"] for e in leaving])
        scale = _scale(cycles)
        names, bars, cells = [], [], []
        for k, row in enumerate(rows):
            unit, y = row["unit"], 18.0 + k * ROW
            kind = kinds.get(unit, "")
            names.append(Box(0, y, LABEL - 8, ROW, shortened(unit, 28), unit, kind))
            width = (row["last_cycle"] - row["first_cycle"] + 1) * scale
            title = f"{unit}: cycles {row['first_cycle']} to {row['last_cycle']}"
            bars.append(Box(LABEL + row["first_cycle"] * scale, y + 2, width, ROW - 4, "", title, kind))
            most = max(multipliers.get(unit, 0), *(n for _, n in row["products"]), 1)
            cells += [(LABEL + c * scale, y + 2, scale, ROW - 4, _level(n / most)) for c, n in row["products"]]
        out = defaultdict(list)
        for e in leaving:
            out[e["cycle"]].append(e["name"])
        marks = _spread([(LABEL + (c + 1) * scale, ", ".join(mine)) for c, mine in sorted(out.items())])
        foot = 18.0 + len(rows) * ROW + 17
        height = foot + 3 + LINE * max((m.level for m in marks), default=0)
        size = LABEL + cycles * scale + 60
        paths = cell_paths(cells)
        charts.append(
            Gantt(program, size, height, tuple(names), tuple(bars), paths, _ticks(cycles, scale), marks, foot)
        )
    return tuple(charts)


@dataclass(frozen=True)
class Grid:
    """A grid of shaded cells with named rows."""

    title: str
    width: float
    height: float
    names: tuple[Box, ...]
    cells: tuple[tuple[int, str], ...]
    ticks: tuple[Tick, ...]
    frame: Box


def steady_grid(report: Mapping[str, Any]) -> Grid:
    """The share of each unit's multipliers that start a product in each cycle of the interval, at full rate: the work
    of all tasks in flight, folded onto one interval."""
    ii = report["ii"]
    scale = _scale(ii)
    load: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for row in report["activity"]:
        for cycle, count in row["products"]:
            load[row["unit"]][cycle % ii] += count
    names, cells = [], []
    units = [unit for unit in report["submodules"] if unit["multipliers"]]
    for k, unit in enumerate(units):
        y, mine = 18.0 + k * ROW, load[unit["name"]]
        share = sum(mine.values()) / (ii * unit["multipliers"])
        title = f"{unit['name']}: {unit['multipliers']} multipliers, {share:.0%} of their cycles used"
        names.append(Box(0, y, LABEL - 8, ROW, shortened(unit["name"], 28), title, unit["kind"]))
        cells += [
            (LABEL + c * scale, y + 2, scale, ROW - 4, _level(n / unit["multipliers"])) for c, n in sorted(mine.items())
        ]
    height = 18.0 + len(units) * ROW
    frame = Box(LABEL, 18, ii * scale, height - 18, "", "")
    return Grid("", LABEL + ii * scale + 60, height + 6, tuple(names), cell_paths(cells), _ticks(ii, scale), frame)


@dataclass(frozen=True)
class ErrorGrid:
    """Errors of one vector or matrix by entry: cells shaded by decades between ``least`` and ``largest``."""

    vector: str
    size: int
    rows: int
    columns: int
    width: float
    height: float
    cells: tuple[tuple[int, str], ...]
    least: float
    largest: float
    rms: float


def error_grid(vector: str, errors: Mapping[str, Any]) -> ErrorGrid:
    """A grid of the largest error of each entry; entries without error stay empty."""
    rows = errors["max"] if errors["max"] and isinstance(errors["max"][0], list) else [errors["max"]]
    squares = [x for row in errors["rms"] for x in (row if isinstance(row, list) else [row])]
    values = [x for row in rows for x in row if x > 0]
    largest, least = max(values, default=0.0), min(values, default=0.0)
    # at most four decades are told apart; what is smaller is as pale as can be
    span = min(4.0, math.log10(largest / least)) if values and largest > least else 1.0
    size = 18 if len(rows) <= 16 else 9
    cells = [
        (j * size, i * size, size - 1, size - 1, _level(1 + math.log10(x / largest) / span) if x < largest else LEVELS)
        for i, row in enumerate(rows)
        for j, x in enumerate(row)
        if x > 0
    ]
    columns = max((len(row) for row in rows), default=0)
    rms = math.sqrt(sum(x * x for x in squares) / len(squares)) if squares else 0.0
    area = columns * size, len(rows) * size
    return ErrorGrid(vector, size, len(rows), columns, *area, cell_paths(cells), least, largest, rms)
