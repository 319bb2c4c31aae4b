"""The layout of a pipeline as a picture: the robot's tree above, below it a card for every body, with its submodules,
the units that execute them, and the FIFOs into these.

Lines between cards say how many words a task sends outward and back. Chains that are longer than the picture is wide go
on below, where a body says which one it follows. A unit that executes several submodules is drawn at the first; its
others, dashed, refer to it by a number (#).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from rbdgen.compiler import Design
from rbdgen.ir.graph import INPUT_OWNER
from rbdgen.machines.pipeline.queues import LOOPS, Queue, queues
from rbdgen.report.drawings.structure import (
    KINDS,
    DrawnUnit,
    banded_positions,
    drawn_units,
    exit_of,
    hue,
    submodule_bodies,
    submodule_kinds,
    words_between_bodies,
)
from rbdgen.report.drawings.svg import SMALL, Canvas, Point, fitting, number, text_width
from rbdgen.report.drawings.tree import INDENT, LEFT, ROOM, STUB, WIDTH, TreePicture

CELL = 112, 42
"""Width and height of a submodule."""
GAP = 5
IN_A_ROW = 2
"""Submodules beside each other in a card."""
CARD = IN_A_ROW * (CELL[0] + GAP) + GAP
"""Width of a card."""
TITLE = 22
"""Height of a card's title."""
_INSET = 8
_BASELINES = 16, 36
"""Of a submodule's two lines of text."""
_BAR = 21, 3
"""Where the bar of its multipliers' use is, and how high."""


class Cards:
    """Draws a design's cards on ``canvas``, and knows its submodules and units."""

    def __init__(self, design: Design, canvas: Canvas) -> None:
        self.design = design
        self.canvas = canvas
        self.units = drawn_units(design)
        self.bodies = submodule_bodies(design)
        self.kinds = submodule_kinds(design)
        self.executing: dict[str, list[DrawnUnit]] = defaultdict(list)
        for unit in self.units:
            for submodule in unit.submodules:
                self.executing[submodule].append(unit)
        self.sources = {INPUT_OWNER: "in"}
        self.numbers: dict[str, int] = {}
        for unit in self.units:
            first = unit.submodules[0]
            self.sources[unit.name] = self.kinds.get(first, "")
            if len(unit.submodules) > 1:
                self.numbers[unit.name] = len(self.numbers) + 1
        self.queues: dict[str, list[Queue]] = defaultdict(list)
        for queue in queues(design.plan, design.tasks):
            # others lead into no unit, and are asked for by their own names
            sink = queue.sink if queue.kind == "bypass" else queue.name
            self.queues[sink].append(queue)

    def grid(self) -> list[str]:
        """The kinds that bodies have, in the order of their cells, which is the same in all cards."""
        present = set()
        for submodule, body in self.bodies.items():
            if body is not None and submodule in self.executing:
                present.add(self.kinds[submodule])
        known = [kind for kind in KINDS if kind in present]
        others = sorted(present - KINDS.keys())
        return known + others

    def height(self) -> float:
        """The height of every card."""
        rows = math.ceil(len(self.grid()) / IN_A_ROW)
        return TITLE + rows * (CELL[1] + GAP) + GAP

    def card(self, x: float, y: float, body: int) -> None:
        """The card of a body: the submodules that it has, each in its kind's place."""
        canvas = self.canvas
        name = self.design.robot.bodies[body].name
        short = fitting(name, CARD - 2 * _INSET)
        canvas.rect(x, y, CARD, self.height(), "card", "", 8)
        canvas.text(x + _INSET, y + 16, short, "strong", name)
        width, height = CELL
        grid = self.grid()
        for submodule, owner in self.bodies.items():
            if owner == body and submodule in self.executing:
                number = grid.index(self.kinds[submodule])
                row, column = divmod(number, IN_A_ROW)
                left = x + GAP + column * (width + GAP)
                top = y + TITLE + row * (height + GAP)
                self.cell(left, top, submodule)

    def cell(self, x: float, y: float, submodule: str) -> None:
        """A submodule: the units whose first one it is, and references to those that are drawn elsewhere."""
        own = []
        others = []
        for unit in self.executing[submodule]:
            if unit.submodules[0] == submodule:
                own.append(unit)
            else:
                others.append(unit)
        lines = [self.described(unit) for unit in own]
        lines += [f"{submodule}: executed by {unit.name}" for unit in others]
        title = "\n".join(lines)
        self._frame(x, y, submodule, bool(others), title)
        self._multipliers(x, y, submodule, own, title)
        fifos: list[Queue] = []
        for unit in own:
            fifos += self.queues.get(unit.name, [])
        left = x + _INSET
        line = y + _BASELINES[1]
        # both would stand in the same line
        if others and not fifos:
            elsewhere = ", ".join(f"#{self.numbers[unit.name]}" for unit in others)
            text = f"on {elsewhere}"
            if own:
                text += " and own"
            self.canvas.text(left, line, text, "small faint", title)
        self.fifo_row(left, line, CELL[0] - 14, fifos)

    def _frame(self, x: float, y: float, submodule: str, guest: bool, title: str) -> None:
        """A cell's box and kind; dashed for a guest, which others' units execute, at least in part."""
        canvas = self.canvas
        kind = self.kinds[submodule]
        colour = f"hue{hue(kind)}"
        line = y + _BASELINES[0]
        if guest:
            canvas.rect(x, y, *CELL, "guest", title, 5)
            canvas.text(x + _INSET, line, kind, f"strong {colour}", title)
        else:
            canvas.rect(x, y, *CELL, "box", title, 5)
            canvas.rect(x, y + 4, 3, CELL[1] - 8, colour)
            canvas.text(x + _INSET, line, kind, "strong", title)

    def _multipliers(
        self, x: float, y: float, submodule: str, own: Sequence[DrawnUnit], title: str
    ) -> None:
        """A cell's numbers of units that are drawn elsewhere too, its multipliers, and how busy they are."""
        canvas = self.canvas
        line = y + _BASELINES[0]
        multipliers = sum(unit.multipliers for unit in own)
        count = f"{multipliers} mul"
        numbers = []
        for unit in own:
            if unit.name in self.numbers:
                numbers.append(str(self.numbers[unit.name]))
        if numbers:
            room = CELL[0] - 44
            if multipliers:
                room -= text_width(count)
            text = fitting(f"#{','.join(numbers)}", room, SMALL)
            canvas.text(x + 32, line, text, "small", title)
        if not multipliers:
            return
        right = x + CELL[0] - 6
        canvas.text(right, line, count, "end", title)
        slots = multipliers * self.design.options.ii
        share = sum(unit.products for unit in own) / slots
        left = x + _INSET
        width = CELL[0] - 14
        top = y + _BAR[0]
        height = _BAR[1]
        colour = f"hue{hue(self.kinds[submodule])}"
        busy = f"{share:.0%} of its multipliers' slots used"
        canvas.rect(left, top, width, height, "idle", busy)
        canvas.rect(left, top, width * share, height, colour, busy)

    def described(self, unit: DrawnUnit) -> str:
        """A unit in words."""
        runs = f"; {self.work(unit)}" if unit.name in self.numbers else ""
        return f"{unit.name}: {unit.multipliers} multipliers for {unit.products} multiplications per task{runs}"

    def work(self, unit: DrawnUnit) -> str:
        """The work of a unit with several submodules."""
        turns = f"works in {unit.turns} turns, " if unit.turns > 1 else ""
        return f"{turns}executes {', '.join(unit.submodules)}"

    def fifo_row(self, x: float, y: float, room: float, fifos: Sequence[Queue]) -> None:
        """The FIFOs into a unit, each as an icon with its depth and where it comes from; a summary if they are many."""
        entries = [f"{fifo.depth} {self.sources.get(fifo.source, fifo.source)}" for fifo in fifos]
        details = [
            f"FIFO from {fifo.source}: {fifo.depth} entries of {fifo.words} words" for fifo in fifos
        ]
        needed = sum(18 + text_width(entry, SMALL) for entry in entries)
        if needed > room:
            deepest = max(fifo.depth for fifo in fifos)
            entries = [f"{len(fifos)} FIFOs, to {deepest}"]
            details = ["; ".join(details)]
        for entry, detail in zip(entries, details, strict=True):
            self.icon(x, y)
            self.canvas.text(x + 14, y, entry, "small", detail)
            x += 18 + text_width(entry, SMALL)

    def icon(self, x: float, y: float) -> None:
        """The symbol of a FIFO on the line y."""
        left = number(x)
        right = number(x + 11)
        top = number(y - 8)
        bars = ""
        for offset in (4, 7.5, 11):
            bars += f"M{number(x + offset)} {top}v8"
        self.canvas.path(f"M{left} {top}H{right}M{left} {number(y)}H{right}{bars}", "queue")


_CARDS, _CARD_STEP = 2, CARD + 60
"""Columns of cards, and from one to the next."""
_CARD_GAP = 30
"""From one row of cards to the next."""
_COMMON = 288
"""Width of the cards for what belongs to no body."""


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"


def unit_layout(design: Design) -> str:
    """The picture of a pipeline's layout as SVG."""
    return _Picture(design).draw()


class _Picture(TreePicture):
    def __init__(self, design: Design) -> None:
        super().__init__(design)
        self.cards = Cards(design, self.canvas)

    def draw(self) -> str:
        canvas = self.canvas
        robot = self.design.robot
        canvas.text(LEFT, 34, f"{robot.name}: layout", "head")
        facts = self.facts()
        bottom = canvas.paragraph(LEFT, 56, facts, ROOM, "faint")
        bottom = self.tree(bottom + 44)
        bottom = self.common(bottom + 44)
        bottom = self.pipeline(bottom + 32)
        self.legend(bottom + 34)
        return canvas.document(f"{robot.name}: robot tree and pipeline", " · ".join(facts))

    def facts(self) -> list[str]:
        """Facts of the design, in a few words each."""
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

    def pipeline(self, top: float) -> float:
        """Cards of all bodies and lines between them; the lower end."""
        parents = [body.parent for body in self.design.robot.bodies]
        positions = banded_positions(parents, _CARDS)
        height = self.cards.height()
        corners = []
        for position in positions:
            x = LEFT + INDENT + position.column * _CARD_STEP
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
        # after the lines, whose ends they cover
        for body, (x, y) in enumerate(corners):
            self.cards.card(x, y, body)
        lowest = max(y for _, y in corners)
        return lowest + height

    def spine(self, top: float, roots: Sequence[Point]) -> None:
        """The line on which tasks come to the robot's roots, and results leave them."""
        canvas = self.canvas
        x = LEFT + 8
        lowest = max(y for _, y in roots)
        canvas.line([(x, top), (x, lowest)], "connection")
        for end, y in roots:
            # not up to the arrow's tip, which is thinner than the line
            canvas.line([(x, y), (end - 2, y)], "connection")
            canvas.arrow(end, y, 1)
            canvas.arrow(x, y, -1)

    def connect(self, parent: Point, child: Point, words: int, outward: bool, begins: bool) -> None:
        """A line between two cards, given by their corners, with its words per task, if there are any; where they are
        in two bands, the beginning and the end of it."""
        if not words:
            return
        canvas = self.canvas
        # one above the other, so that the two ways are two lines
        level = self.cards.height() * (0.35 if outward else 0.65)
        start = parent[0] + CARD, parent[1] + level
        end = child[0], child[1] + level
        direction = "outward" if outward else "towards the base"
        title = f"{words} words per task {direction}"
        if begins:
            after = start[0] + STUB, start[1]
            before = end[0] - INDENT + STUB, end[1]
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
        """Cards for what belongs to no body: the task stream with units, beside it the results; the lower end."""
        self.canvas.text(LEFT, top - 14, "Pipeline", "strong")
        left = self.entry(top)
        right = self.results(WIDTH - LEFT - _COMMON, top)
        spine = LEFT + 8
        if right > left:
            self.canvas.line([(spine, left), (spine, right)], "connection")
        return max(left, right)

    def entry(self, top: float) -> float:
        """The task stream and the units that belong to no body; the lower end."""
        canvas = self.canvas
        tasks = self.design.tasks
        canvas.rect(LEFT, top, _COMMON, 46, "card", "", 8)
        canvas.text(LEFT + 8, top + 17, "Tasks", "strong")
        beats = [tasks.task_beats(function) for function in tasks.functions]
        fewest = min(beats)
        most = max(beats)
        spread = _counted(most, "beat")
        if fewest < most:
            spread = f"{fewest} to {spread}"
        text = f"{spread} of {tasks.task.beat_bits} bits"
        canvas.text(LEFT + 8, top + 34, text, "small faint")
        y = top + 46
        for submodule in self.cards.executing:
            if self.cards.bodies.get(submodule) is None:
                y += 10
                self.cards.cell(LEFT, y, submodule)
                kind = self.cards.kinds.get(submodule, "")
                beside = LEFT + CELL[0] + 10
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
        """Meaning of the colours and signs, and what the numbered units execute."""
        canvas = self.canvas
        cards = self.cards
        y = self.colours(y) + 20
        cards.icon(LEFT, y)
        signs = [
            "FIFO into a unit: depth in entries, and where it comes from",
            "mul: multipliers, with the share of their slots in use",
            "#: executes several submodules",
            "numbers at lines: words per task",
        ]
        y = canvas.paragraph(LEFT + 17, y, signs, ROOM - 17, "small faint")
        for unit in cards.units:
            if unit.name in cards.numbers:
                y += 16
                number = cards.numbers[unit.name]
                text = f"#{number} {unit.name} {cards.work(unit)}"
                short = fitting(text, ROOM, SMALL)
                canvas.text(LEFT, y, short, "small", text)

    def colours(self, y: float) -> float:
        """The kinds of submodules by colour; the last line's baseline."""
        canvas = self.canvas
        x = float(LEFT)
        kinds = self.cards.kinds
        present = {kinds.get(submodule) for submodule in self.cards.executing}
        for kind, meaning in KINDS.items():
            if kind not in present:
                continue
            text = f"{kind}  {meaning}"
            room = 26 + text_width(text, SMALL)
            if x + room > LEFT + ROOM:
                x, y = float(LEFT), y + 18
            canvas.rect(x, y - 9, 10, 10, f"hue{hue(kind)}")
            canvas.text(x + 15, y, text, "small")
            x += room
        return y
