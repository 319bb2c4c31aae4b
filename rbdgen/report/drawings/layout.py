"""The layout as a picture: the robot's tree above, below it the pipeline with a card for every body.

Lines between cards say how many words a task sends outward and back. Chains that are longer than the picture is wide go
on below, where a body says which one it follows. A unit that executes several submodules is drawn at the first; its
others, dashed, refer to it by a number (#).
"""

from __future__ import annotations

from collections.abc import Sequence

from rbdgen.compiler import Design
from rbdgen.report.drawings.cards import CARD, CELL, TITLE, Cards
from rbdgen.report.drawings.structure import (
    KINDS,
    Position,
    banded_positions,
    exit_of,
    hue,
    words_between_bodies,
)
from rbdgen.report.drawings.svg import SMALL, Canvas, Point, fitting, text_width
from rbdgen.schedule.queues import LOOPS, Queue

WIDTH = 640
"""The picture is no wider, so that its text can be read where it is shown at 400 pixels."""
_LEFT = 16
_ROOM = WIDTH - 2 * _LEFT
_INDENT = 36
"""From the left to the first column, with room for the line that leads there."""
_CARDS, _CARD_STEP = 2, CARD + 60
"""Columns of cards, and from one to the next."""
_CARD_GAP = 30
"""From one row of cards to the next."""
_NODES, _NODE_STEP = 4, 150
"""Columns of the tree, and from one to the next."""
_NODE = 128, 34
"""Width and height of a body in the tree."""
_NODE_ROW = 54
_STUB = 10
"""Length of a line that goes on in another band."""
_COMMON = 288
"""Width of the cards for what belongs to no body."""


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"


def layout_picture(design: Design) -> str:
    """The picture as SVG."""
    return _Picture(design).draw()


class _Picture:
    def __init__(self, design: Design) -> None:
        self.design = design
        self.canvas = Canvas()
        self.cards = Cards(design, self.canvas)

    def draw(self) -> str:
        canvas = self.canvas
        robot = self.design.robot
        canvas.text(_LEFT, 34, f"{robot.name}: layout", "head")
        facts = self.facts()
        bottom = canvas.paragraph(_LEFT, 56, facts, _ROOM, "faint")
        bottom = self.tree(bottom + 44)
        bottom = self.common(bottom + 44)
        bottom = self.pipeline(bottom + 32)
        self.legend(bottom + 34)
        return canvas.document(f"{robot.name}: robot tree and pipeline", " · ".join(facts))

    def facts(self) -> list[str]:
        """What is to be known of the design, in a few words each."""
        design = self.design
        schedule = self.design.plan.schedule
        ii = design.options.ii
        device = schedule.device
        every = "cycle" if ii == 1 else f"{ii} cycles"
        count = sum(schedule.multipliers.values())
        return [
            ", ".join(design.network.functions),
            f"II {ii}: a task every {every}",
            design.options.precision_text,
            f"{count} multipliers, {schedule.utilization:.0%} of their slots used",
            _counted(len(design.plan.fifos), "bypass FIFO"),
            f"{device.name}, {device.megahertz:g} MHz",
        ]

    def tree(self, top: float) -> float:
        """The robot's tree with its base; its lower end."""
        canvas = self.canvas
        robot = self.design.robot
        canvas.text(_LEFT, top - 16, "Robot", "strong")
        # the base is the tree's root: bodies count from 1
        parents = [-1]
        names = [robot.base_name]
        for body in robot.bodies:
            parents.append(body.parent + 1)
            names.append(body.name)
        positions = banded_positions(parents, _NODES)
        corners = [self.node_corner(top, position) for position in positions]
        for node, parent in enumerate(parents):
            if parent >= 0:
                self.branch(corners[parent], corners[node], positions[node], names[parent])
        self.node(corners[0], names[0], "base", f"{names[0]}: the base", "card")
        for body, corner in zip(robot.bodies, corners[1:], strict=True):
            kind = type(body.joint).__name__.lower()
            room = _NODE[0] - 22 - text_width(kind, SMALL)
            joint = fitting(body.joint_name, room, SMALL)
            title = f"{body.name}, carried by {body.joint_name} ({kind})"
            if body.mimic:
                title += f", which follows {body.mimic.joint}"
            self.node(corner, body.name, f"{joint} · {kind}", title, "box")
        lowest = max(y for _, y in corners)
        return lowest + _NODE[1]

    def node_corner(self, top: float, position: Position) -> Point:
        """The upper left of a body in the tree."""
        x = _LEFT + _INDENT / 2 + position.column * _NODE_STEP
        y = top + position.row * _NODE_ROW
        return x, y

    def node(self, corner: Point, name: str, below: str, title: str, kind: str) -> None:
        """A body in the tree: its name, and in the line below it what carries it."""
        x, y = corner
        width, height = _NODE
        left = x + 8
        short = fitting(name, width - 16)
        self.canvas.rect(x, y, width, height, kind, title, 6)
        self.canvas.text(left, y + 15, short, "strong", title)
        self.canvas.text(left, y + 28, below, "small faint")

    def branch(self, parent: Point, child: Point, position: Position, name: str) -> None:
        """A line between two bodies of the tree, given by their corners; where the child is in another band, the
        beginning and the end of it, and the parent's name."""
        width, height = _NODE
        start_x = parent[0] + width
        start_y = parent[1] + height / 2
        end_x = child[0]
        end_y = child[1] + height / 2
        if position.begins:
            self.canvas.line([(start_x, start_y), (start_x + _STUB, start_y)], "connection")
            self.canvas.line([(end_x - _STUB, end_y), (end_x, end_y)], "connection")
            self.follows(end_x, child[1] - 4, name, width)
        else:
            self.elbow((start_x, start_y), (end_x, end_y), _STUB)

    def elbow(self, start: Point, end: Point, room: float, title: str = "") -> None:
        """A line from left to right with an upright piece so far before its end."""
        bend = end[0] - room
        corners = [start, (bend, start[1]), (bend, end[1]), end]
        self.canvas.line(corners, "connection", title)

    def follows(self, x: float, y: float, parent: str, width: float) -> None:
        """A note above a body whose parent is in another band."""
        text = fitting(f"after {parent}", width, SMALL)
        self.canvas.text(x, y, text, "small faint")

    def pipeline(self, top: float) -> float:
        """Cards of all bodies and lines between them; the lower end."""
        parents = [body.parent for body in self.design.robot.bodies]
        positions = banded_positions(parents, _CARDS)
        height = self.cards.height()
        corners = []
        for position in positions:
            x = _LEFT + _INDENT + position.column * _CARD_STEP
            y = top + position.row * (height + _CARD_GAP)
            corners.append((x, y))
        words = words_between_bodies(self.design)
        roots = []
        for body, parent in enumerate(parents):
            x, y = corners[body]
            if parent < 0:
                roots.append((x, y + height / 2))
                continue
            between = corners[parent], corners[body]
            begins = positions[body].begins
            self.connect(*between, words.get((parent, body), 0), True, begins)
            self.connect(*between, words.get((body, parent), 0), False, begins)
            if begins:
                name = self.design.robot.bodies[parent].name
                self.follows(x, y - 5, name, CARD)
        self.spine(top - 32, roots)
        for body, (x, y) in enumerate(corners):
            self.cards.card(x, y, body)
        lowest = max(y for _, y in corners)
        return lowest + height

    def spine(self, top: float, roots: Sequence[Point]) -> None:
        """The line on which tasks come to the robot's roots, and results leave them."""
        canvas = self.canvas
        x = _LEFT + 8
        lowest = max(y for _, y in roots)
        canvas.line([(x, top), (x, lowest)], "connection")
        for end, y in roots:
            canvas.line([(x, y), (end - 2, y)], "connection")
            canvas.arrow(end, y, 1)
            canvas.arrow(x, y, -1)

    def connect(self, parent: Point, child: Point, words: int, outward: bool, begins: bool) -> None:
        """A line between two cards, given by their corners, with its words per task, if there are any; where they are
        in two bands, the beginning and the end of it."""
        if not words:
            return
        canvas = self.canvas
        level = self.cards.height() * (0.35 if outward else 0.65)
        start = parent[0] + CARD, parent[1] + level
        end = child[0], child[1] + level
        direction = "outward" if outward else "towards the base"
        title = f"{words} words per task {direction}"
        if begins:
            after = start[0] + _STUB, start[1]
            before = end[0] - _INDENT + _STUB, end[1]
            canvas.line([start, after], "connection", title)
            canvas.line([before, end], "connection", title)
        else:
            self.elbow(start, end, 26 if outward else 36, title)
        if outward:
            canvas.arrow(*end, 1)
        else:
            canvas.arrow(*start, -1)
        baseline = end[1] - 4 if outward else end[1] + 11
        canvas.text(end[0] - 24, baseline, str(words), "small faint", title)

    def common(self, top: float) -> float:
        """What belongs to no body: the task stream with units, beside it the results; the lower end."""
        self.canvas.text(_LEFT, top - 14, "Pipeline", "strong")
        left = self.entry(top)
        right = self.results(WIDTH - _LEFT - _COMMON, top)
        spine = _LEFT + 8
        if right > left:
            self.canvas.line([(spine, left), (spine, right)], "connection")
        return max(left, right)

    def entry(self, top: float) -> float:
        """The task stream and the units that belong to no body; the lower end."""
        canvas = self.canvas
        tasks = self.design.tasks
        canvas.rect(_LEFT, top, _COMMON, 46, "card", "", 8)
        canvas.text(_LEFT + 8, top + 17, "Tasks", "strong")
        beats = [tasks.task_beats(function) for function in tasks.functions]
        fewest = min(beats)
        most = max(beats)
        spread = _counted(most, "beat")
        if fewest < most:
            spread = f"{fewest} to {spread}"
        text = f"{spread} of {tasks.task.beat_bits} bits"
        canvas.text(_LEFT + 8, top + 34, text, "small faint")
        y = top + 46
        for submodule in self.cards.executing:
            if self.cards.bodies.get(submodule) is None:
                y += 10
                self.cards.cell(_LEFT, y, submodule)
                kind = self.cards.kinds.get(submodule, "")
                beside = _LEFT + CELL[0] + 10
                canvas.text(beside, y + 16, KINDS.get(kind, ""), "small faint")
                y += CELL[1]
        return y

    def results(self, x: float, y: float) -> float:
        """The lanes that results leave by, and the feedback; the lower end."""
        canvas = self.canvas
        design = self.design
        exits = design.plan.schedule.programs.exits
        height = TITLE + 4 + 17 * len(exits) + 22
        canvas.rect(x, y, _COMMON, height, "card", "", 8)
        canvas.text(x + 8, y + 17, "Results", "strong")
        canvas.text(x + _COMMON - 8, y + 17, "depth", "small faint end")
        for k, leaving in enumerate(exits):
            self.exit(x, y + TITLE + 15 + 17 * k, leaving.name)
        text = f"beats of {design.tasks.result.beat_bits} bits"
        canvas.text(x + 8, y + height - 8, text, "small faint")
        return y + height

    def exit(self, x: float, line: float, name: str) -> None:
        """One exit of the pipeline: whose results leave by it, when, and what they wait in."""
        canvas = self.canvas
        design = self.design
        functions = []
        for function in design.tasks.functions:
            if design.network.exit(function).name == name:
                functions.append(function)
        leaving = ", ".join(functions) or name
        canvas.text(x + 8, line, leaving)
        cycle = design.plan.exits[name]
        canvas.text(x + 72, line, f"at cycle {cycle}", "small faint")
        waits = self.waits(name)
        bypass = [queue for queue in waits if queue.kind == "bypass"]
        if bypass:
            self.cards.fifo_row(x + 140, line, 100, bypass)
        lane = waits[0]
        self.cards.icon(x + _COMMON - 38, line)
        right = x + _COMMON - 8
        title = f"{lane.name}: {lane.depth} entries"
        canvas.text(right, line, str(lane.depth), "small end", title)

    def waits(self, name: str) -> list[Queue]:
        """The FIFOs of an exit: that of its lane first, then those into the unit that collects its results."""
        lane = name if name in LOOPS else f"lane_{name}.queue"
        found = list(self.cards.queues.get(lane, ()))
        for unit in self.design.plan.units:
            if exit_of(unit.name) == name:
                found += self.cards.queues.get(unit.name, ())
                break
        return found

    def legend(self, y: float) -> None:
        """What the colours and signs mean, and what the numbered units execute."""
        canvas = self.canvas
        cards = self.cards
        y = self.colours(y) + 20
        cards.icon(_LEFT, y)
        signs = [
            "FIFO into a unit: depth in entries, and where it comes from",
            "mul: multipliers, with the share of their slots in use",
            "#: executes several submodules",
            "numbers at lines: words per task",
        ]
        y = canvas.paragraph(_LEFT + 17, y, signs, _ROOM - 17, "small faint")
        for unit in cards.units:
            if unit.name in cards.numbers:
                y += 16
                number = cards.numbers[unit.name]
                text = f"#{number} {unit.name} {cards.work(unit)}"
                short = fitting(text, _ROOM, SMALL)
                canvas.text(_LEFT, y, short, "small", text)

    def colours(self, y: float) -> float:
        """The kinds of submodules by colour; the last line's baseline."""
        canvas = self.canvas
        x = float(_LEFT)
        kinds = self.cards.kinds
        present = {kinds.get(submodule) for submodule in self.cards.executing}
        for kind, meaning in KINDS.items():
            if kind not in present:
                continue
            text = f"{kind}  {meaning}"
            room = 26 + text_width(text, SMALL)
            if x + room > _LEFT + _ROOM:
                x, y = float(_LEFT), y + 18
            canvas.rect(x, y - 9, 10, 10, f"hue{hue(kind)}")
            canvas.text(x + 15, y, text, "small")
            x += room
        return y
