"""Cards of the layout's picture: a body's submodules with the units that execute them, and the FIFOs into these."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from rbdgen.compiler import Design
from rbdgen.ir.graph import INPUT_OWNER
from rbdgen.report.drawings.structure import (
    KINDS,
    DrawnUnit,
    drawn_units,
    hue,
    submodule_bodies,
    submodule_kinds,
)
from rbdgen.report.drawings.svg import SMALL, Canvas, fitting, number, text_width
from rbdgen.schedule.queues import Queue, queues

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
        """What a unit with several submodules does."""
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
