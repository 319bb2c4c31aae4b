"""The layout as a picture: the robot's tree above, below it the pipeline with a card for every body in its column.

A card holds the body's units: multipliers, how busy they are, and the FIFOs that lead into them with their depths.
Lines between cards say how many words a task sends outward and back. A unit that executes several submodules is drawn
at the first; its others, dashed, refer to it by a number (#).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from rbdgen.compiler import Design
from rbdgen.ir.graph import INPUT_OWNER
from rbdgen.report.drawings.structure import (
    KINDS,
    DrawnUnit,
    body_links,
    drawn_units,
    exit_of,
    submodule_bodies,
    submodule_kinds,
    tree_places,
)
from rbdgen.report.drawings.svg import HUES, SMALL, Canvas, fitting, number, text_width
from rbdgen.schedule.queues import LOOPS, Queue, queues

_CELL = 112, 42
_GAP = 5
_CARD = 2 * _CELL[0] + 3 * _GAP
_STEP = _CARD + 60
"""From one column of cards to the next."""
_TITLE = 22
"""Height of a card's title."""
_LEFT = 16
_NODE = 168, 34, 46
"""Width and height of a body in the tree, and from one row to the next."""
_COMMON = 288
"""Width of the cards for what belongs to no body."""


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"


def layout_picture(design: Design) -> str:
    """The picture as SVG."""
    return _Picture(design).draw()


class _Picture:
    def __init__(self, design: Design) -> None:
        self.design, self.canvas = design, Canvas()
        self.places = tree_places(design.robot)
        self.units = drawn_units(design)
        self.bodies, self.kinds = submodule_bodies(design), submodule_kinds(design)
        self.executing: dict[str, list[DrawnUnit]] = defaultdict(list)
        for unit in self.units:
            for submodule in unit.submodules:
                self.executing[submodule].append(unit)
        self.sources = {u.name: self.kinds.get(u.submodules[0], "") for u in self.units} | {INPUT_OWNER: "in"}
        shared = [unit for unit in self.units if len(unit.submodules) > 1]
        self.numbers = {unit.name: k + 1 for k, unit in enumerate(shared)}
        self.queues: dict[str, list[Queue]] = defaultdict(list)
        for queue in queues(design.plan, design.tasks):
            self.queues[queue.sink if queue.kind == "bypass" else queue.name].append(queue)

    def draw(self) -> str:
        design, canvas = self.design, self.canvas
        options, device, schedule = design.options, design.plan.schedule.device, design.plan.schedule
        count = sum(schedule.multipliers.values())
        facts = (
            f"{', '.join(design.network.functions)} · II {options.ii}: a task every "
            f"{'cycle' if options.ii == 1 else f'{options.ii} cycles'} · {options.word}-bit words · "
            f"{count} multipliers, {schedule.utilization:.0%} of their slots used · "
            f"{_counted(len(design.plan.fifos), 'bypass FIFO')} · "
            f"{device.name}, {device.megahertz:g} MHz"
        )
        canvas.text(_LEFT, 34, f"{design.robot.name}: layout", "head")
        canvas.text(_LEFT, 56, facts, "faint")
        bottom = self.tree(96)
        bottom = self.pipeline(bottom + 52)
        self.legend(bottom + 34)
        return canvas.document(f"{design.robot.name}: robot tree and pipeline", facts)

    def column(self, k: int) -> float:
        return _LEFT + _COMMON + 64 + k * _STEP

    def tree(self, top: float) -> float:
        """The robot's tree; its lower end."""
        canvas, robot = self.canvas, self.design.robot
        width, height, step = _NODE
        canvas.text(_LEFT, top - 14, "Robot", "strong")

        def middle(row: float) -> float:
            return top + row * step + height / 2

        roots = [self.places[k][1] for k, b in enumerate(robot.bodies) if b.parent < 0]
        base = (min(roots) + max(roots)) / 2
        for body, (column, row) in zip(robot.bodies, self.places, strict=True):
            x = self.column(column)
            if body.parent < 0:
                start, level = _LEFT + width, middle(base)
            else:
                start, level = self.column(column - 1) + width, middle(self.places[body.parent][1])
            bend = x - 22
            canvas.line([(start, level), (bend, level), (bend, middle(row)), (x, middle(row))], "link")
        canvas.rect(_LEFT, middle(base) - height / 2, width, height, "card", f"{robot.base_name}: the base", 6)
        canvas.text(_LEFT + 8, middle(base) - 2, fitting(robot.base_name, width - 16), "strong")
        canvas.text(_LEFT + 8, middle(base) + 12, "base", "small faint")
        for body, (column, row) in zip(robot.bodies, self.places, strict=True):
            x, y = self.column(column), middle(row) - height / 2
            kind = type(body.joint).__name__.lower()
            canvas.rect(x, y, width, height, "box", f"{body.name}, carried by {body.joint_name} ({kind})", 6)
            canvas.text(x + 8, y + 15, fitting(body.name, width - 16), "strong")
            joint = f"{fitting(body.joint_name, width - 22 - text_width(kind, SMALL), SMALL)} · {kind}"
            canvas.text(x + 8, y + 28, joint, "small faint")
        return top + (max(row for _, row in self.places) + 1) * step

    def grid(self) -> list[str]:
        """The kinds that bodies have, in the order of their cells, which is the same in all cards."""
        bodies = self.bodies.items()
        present = {self.kinds[name] for name, body in bodies if body is not None and name in self.executing}
        return [k for k in KINDS if k in present] + sorted(present - KINDS.keys())

    def pipeline(self, top: float) -> float:
        """Cards of all bodies, links between them, and what belongs to no body; the lower end."""
        canvas, robot = self.canvas, self.design.robot
        canvas.text(_LEFT, top - 14, "Pipeline", "strong")
        grid = self.grid()
        lines = math.ceil(len(grid) / 2)
        height = _TITLE + lines * (_CELL[1] + _GAP) + _GAP
        step = height + 26
        bottom = self.common(top)

        def upper(body: int) -> float:
            return top + self.places[body][1] * step

        words = body_links(self.design)
        for k, body in enumerate(robot.bodies):
            x = self.column(self.places[k][0])
            out, back = (words.get((body.parent, k), 0), words.get((k, body.parent), 0)) if body.parent >= 0 else (0, 0)
            if body.parent >= 0:
                start = self.column(self.places[body.parent][0]) + _CARD
                self.link(start, upper(body.parent) + height * 0.35, x, upper(k) + height * 0.35, out, True)
                self.link(start, upper(body.parent) + height * 0.65, x, upper(k) + height * 0.65, back, False)
            else:
                y = upper(k) + height * 0.5
                canvas.line([(_LEFT + _COMMON + 18, y), (x - 2, y)], "link")
                canvas.arrow(x, y, 1)
                canvas.arrow(_LEFT + _COMMON + 18, y, -1)
        roots = [upper(k) + height * 0.5 for k, b in enumerate(robot.bodies) if b.parent < 0]
        spine = _LEFT + _COMMON + 18
        canvas.line([(spine, min(*roots, top + 40)), (spine, max(roots))], "link")
        canvas.line([(_LEFT + _COMMON, top + 40), (spine, top + 40)], "link")
        for k, body in enumerate(robot.bodies):
            self.card(self.column(self.places[k][0]), upper(k), height, body.name, self.cells(k, grid))
            bottom = max(bottom, upper(k) + height)
        return bottom

    def cells(self, body: int, grid: Sequence[str]) -> list[str | None]:
        """The submodules of a body in the order of the cells; None where it has none."""
        mine = {self.kinds[name]: name for name, b in self.bodies.items() if b == body and name in self.executing}
        return [mine.get(kind) for kind in grid]

    def link(self, x: float, y: float, x2: float, y2: float, words: int, outward: bool) -> None:
        """A line between two cards with its words per task, if there are any."""
        if not words:
            return
        canvas, bend = self.canvas, x2 - (26 if outward else 36)
        title = f"{words} words per task {'outward' if outward else 'towards the base'}"
        canvas.line([(x, y), (bend, y), (bend, y2), (x2, y2)], "link", title)
        canvas.arrow(*((x2, y2, 1) if outward else (x, y, -1)))
        canvas.text(x2 - 24, y2 - 4 if outward else y2 + 11, str(words), "small faint", title)

    def card(self, x: float, y: float, height: float, name: str, cells: Sequence[str | None]) -> None:
        canvas = self.canvas
        canvas.rect(x, y, _CARD, height, "card", "", 8)
        canvas.text(x + 8, y + 16, fitting(name, _CARD - 16), "strong", name)
        for k, submodule in enumerate(cells):
            if submodule is not None:
                left = x + _GAP + (k % 2) * (_CELL[0] + _GAP)
                self.cell(left, y + _TITLE + (k // 2) * (_CELL[1] + _GAP), submodule)

    def cell(self, x: float, y: float, submodule: str) -> None:
        """A submodule: the units whose first one it is, and references to those that are drawn elsewhere."""
        canvas, kind = self.canvas, self.kinds[submodule]
        hue = list(KINDS).index(kind) % HUES if kind in KINDS else 0
        own = [u for u in self.executing[submodule] if u.submodules[0] == submodule]
        guest = [self.numbers[u.name] for u in self.executing[submodule] if u not in own]
        numbers = ",".join(str(self.numbers[u.name]) for u in own if u.name in self.numbers)
        lines = [self.described(u) for u in own]
        lines += [f"{submodule}: executed by {u.name}" for u in self.executing[submodule] if u not in own]
        title = "\n".join(lines)
        canvas.rect(x, y, *_CELL, "guest" if guest else "box", title, 5)
        if not guest:
            canvas.rect(x, y + 4, 3, _CELL[1] - 8, f"hue{hue}")
        canvas.text(x + 8, y + 16, kind, f"strong hue{hue}" if guest else "strong", title)
        multipliers = sum(u.multipliers for u in own)
        if numbers:
            room = _CELL[0] - 38 - (text_width(f"{multipliers} mul") if multipliers else 0)
            canvas.text(x + 32, y + 16, fitting(f"#{numbers}", room, SMALL), "small", title)
        if multipliers:
            share = sum(u.products for u in own) / (multipliers * self.design.options.ii)
            canvas.text(x + _CELL[0] - 6, y + 16, f"{multipliers} mul", "end", title)
            room = _CELL[0] - 14
            canvas.rect(x + 8, y + 21, room, 3, "idle")
            canvas.rect(x + 8, y + 21, room * share, 3, f"hue{hue}", f"{share:.0%} of its multipliers' slots used")
        fifos = [q for u in own for q in self.queues.get(u.name, ())]
        if guest and not fifos:
            elsewhere = f"on {', '.join(f'#{n}' for n in guest)}{' and own' if own else ''}"
            canvas.text(x + 8, y + 36, elsewhere, "small faint", title)
        self.fifo_row(x + 8, y + 36, _CELL[0] - 14, fifos)

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
        entries = [f"{f.depth} {self.sources.get(f.source, f.source)}" for f in fifos]
        details = [f"FIFO from {f.source}: {f.depth} entries of {f.words} words" for f in fifos]
        if sum(18 + text_width(e, SMALL) for e in entries) > room:
            entries = [f"{len(fifos)} FIFOs, to {max(f.depth for f in fifos)}"]
            details = ["; ".join(details)]
        for entry, detail in zip(entries, details, strict=True):
            self.icon(x, y)
            self.canvas.text(x + 14, y, entry, "small", detail)
            x += 18 + text_width(entry, SMALL)

    def icon(self, x: float, y: float) -> None:
        left, right, top = number(x), number(x + 11), number(y - 8)
        bars = "".join(f"M{number(x + d)} {top}v8" for d in (4, 7.5, 11))
        self.canvas.path(f"M{left} {top}H{right}M{left} {number(y)}H{right}{bars}", "queue")

    def common(self, top: float) -> float:
        """Task stream, units that belong to no body, feedback, result lanes; the lower end."""
        canvas, tasks, plan = self.canvas, self.design.tasks, self.design.plan
        rows: list[tuple[str, str, Sequence[Queue]]] = []
        y = top
        canvas.rect(_LEFT, y, _COMMON, 46, "card", "", 8)
        canvas.text(_LEFT + 8, y + 17, "Tasks", "strong")
        beats = sorted({tasks.task_beats(f) for f in tasks.functions})
        spread = _counted(beats[-1], "beat")
        if len(beats) > 1:
            spread = f"{beats[0]} to {spread}"
        canvas.text(_LEFT + 8, y + 34, f"{spread} of {tasks.task.beat_bits} bits", "small faint")
        y += 46 + 10
        for submodule in self.executing:
            if self.bodies.get(submodule) is None:
                self.cell(_LEFT, y, submodule)
                known = KINDS.get(self.kinds.get(submodule, ""), "")
                canvas.text(_LEFT + _CELL[0] + 10, y + 16, known, "small faint")
                y += _CELL[1] + 10
        for e in plan.schedule.programs.exits:
            collects = next((u.name for u in plan.units if exit_of(u.name) == e.name), "")
            place = e.name if e.name in LOOPS else f"lane_{e.name}.queue"
            waits = [*self.queues.get(place, ()), *self.queues.get(collects, ())]
            leave = [f for f in tasks.functions if self.design.network.exit(f).name == e.name]
            rows.append((", ".join(leave) or e.name, f"cycle {plan.exits[e.name]}", waits))
        height = _TITLE + 4 + 17 * len(rows) + 22
        canvas.rect(_LEFT, y, _COMMON, height, "card", "", 8)
        canvas.text(_LEFT + 8, y + 17, "Results", "strong")
        canvas.text(_LEFT + _COMMON - 8, y + 17, "places", "small faint end")
        for k, (name, when, waits) in enumerate(rows):
            line = y + _TITLE + 15 + 17 * k
            canvas.text(_LEFT + 8, line, name)
            canvas.text(_LEFT + 72, line, f"at {when}", "small faint")
            bypass = [q for q in waits if q.kind == "bypass"]
            if bypass:
                self.fifo_row(_LEFT + 140, line, 100, bypass)
            lane = waits[0]
            self.icon(_LEFT + _COMMON - 38, line)
            canvas.text(_LEFT + _COMMON - 8, line, str(lane.depth), "small end", f"{lane.name}: {lane.depth} entries")
        canvas.text(_LEFT + 8, y + height - 8, f"beats of {tasks.result.beat_bits} bits", "small faint")
        return y + height

    def legend(self, y: float) -> None:
        canvas, x = self.canvas, float(_LEFT)
        present = {self.kinds.get(s) for s in self.executing}
        limit = max(canvas.width, 900.0)
        entries = [(k, f"{k}  {text}") for k, text in KINDS.items() if k in present]
        for kind, text in entries:
            room = 26 + text_width(text, SMALL)
            if x + room > limit:
                x, y = float(_LEFT), y + 18
            canvas.rect(x, y - 9, 10, 10, f"hue{list(KINDS).index(kind) % HUES}")
            canvas.text(x + 15, y, text, "small")
            x += room
        y += 20
        self.icon(_LEFT, y)
        canvas.text(
            _LEFT + 17,
            y,
            "FIFO into a unit: depth in entries, and where it comes from · mul: multipliers, with the share of their "
            "slots in use · #: executes several submodules · numbers at lines: words per task",
            "small faint",
        )
        for unit in self.units:
            if unit.name in self.numbers:
                y += 16
                text = f"#{self.numbers[unit.name]} {unit.name} {self.work(unit)}"
                canvas.text(_LEFT, y, fitting(text, limit - _LEFT, SMALL), "small", text)
