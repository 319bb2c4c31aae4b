"""The timing chart: one task of every function through the units, and the units' steady state, side by side.

A row is a unit. Bars say from when to when a task keeps it busy, columns on them how many of its multipliers start a
product in which cycle. Stairs above show the tasks that follow each other at full rate.
"""

from __future__ import annotations

from rbdgen.compiler import Design
from rbdgen.report.drawings.structure import KINDS, drawn_units, submodule_kinds
from rbdgen.report.drawings.svg import HUES, SMALL, Canvas, bars, fitting, text_width
from rbdgen.report.drawings.timing import TaskTime, rows, steady_state, task_time

_ROW = 14
_LEFT, _TOP = 16, 178
_STAIRS = 56
"""Height of the stairs above the rows."""
_GAP = 28
_SPREAD = 1500
"""Width that the functions' cycles are spread over, as far as a cycle's width allows."""
_CYCLE = 1.5, 14.0
"""Least and largest width of a cycle."""


def timing_chart(design: Design) -> str:
    """The chart as SVG."""
    return _Chart(design).draw()


class _Chart:
    def __init__(self, design: Design) -> None:
        self.design, self.canvas = design, Canvas()
        self.ii = design.options.ii
        self.names = rows(design)
        self.row = {name: k for k, name in enumerate(self.names)}
        self.units = {u.name: u for u in drawn_units(design)}
        self.kinds = submodule_kinds(design)
        self.labels = min(220.0, max(text_width(n, SMALL) for n in self.names) + 12)
        self.tasks = [task_time(design, f) for f in design.network.functions]
        cycles = sum(t.last - t.first + 1 for t in self.tasks)
        self.scale = min(max(_SPREAD / cycles, _CYCLE[0]), _CYCLE[1])

    def draw(self) -> str:
        design, canvas = self.design, self.canvas
        device = design.plan.schedule.device
        facts = (
            f"II {self.ii}: a task every {'cycle' if self.ii == 1 else f'{self.ii} cycles'} · {device.name}, a cycle "
            f"is {device.period:g} ns · cycles count from the one after a task's last beat was accepted · bars: from "
            "first to last operation, columns: multipliers that start a product"
        )
        canvas.text(_LEFT, 34, f"{design.robot.name}: timing", "head")
        canvas.text(_LEFT, 56, facts, "faint")
        for name, k in self.row.items():
            y = _TOP + k * _ROW
            unit = self.units.get(name)
            title = f"{name}: {unit.multipliers} multipliers" if unit else ""
            canvas.text(_LEFT + self.labels - 8, y + 10, fitting(name, self.labels - 8, SMALL), "small end", title)
        x = _LEFT + self.labels
        for task in self.tasks:
            x = self.panel(x, task) + _GAP
        self.steady(x)
        return canvas.document(f"{design.robot.name}: timing chart", facts)

    @property
    def bottom(self) -> float:
        return _TOP + len(self.names) * _ROW

    def frame(self, x: float, width: float) -> None:
        """The background of a panel's rows."""
        self.canvas.rect(x, _TOP - 2, width, self.bottom - _TOP + 4, "card")
        lines = "".join(f"M{x:.2f} {_TOP + k * _ROW}h{width:.2f}" for k in range(5, len(self.names), 5))
        if lines:
            self.canvas.path(lines, "line")

    def panel(self, x: float, task: TaskTime) -> float:
        """One function's task; the right end of its panel."""
        canvas, scale = self.canvas, self.scale
        width = max((task.last - task.first + 1) * scale, 64.0)
        canvas.text(x, 84, task.function, "strong")
        canvas.text(x + text_width(task.function) + 12, 84, f"{task.last + 1} cycles", "small faint")
        self.stairs(x, width, task)
        self.frame(x, width)

        def at(cycle: float) -> float:
            return x + (cycle - task.first) * scale

        step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 10**6) if s * scale >= 26)
        for cycle in range(0, task.last + 2, step):
            canvas.line([(at(cycle), _TOP - 6), (at(cycle), self.bottom + 2)], "line")
            if at(cycle) + 8 < x + width or not cycle:
                canvas.text(at(cycle), _TOP - 9, str(cycle), "small faint middle")
        for span in task.spans:
            y = _TOP + self.row[span.row] * _ROW
            unit = self.units.get(span.row)
            kind = self.kinds.get(span.submodule, "")
            hue = list(KINDS).index(kind) % HUES if kind in KINDS else 0
            name = span.submodule if span.submodule != span.row else ""
            title = f"{span.row}{f' for {name}' if name else ''}: cycles {span.first} to {span.last}"
            busy = [(c, n) for c, n in span.products if unit and unit.multipliers]
            if busy:
                title += f", {sum(n for _, n in busy)} multiplications"
            kind_class = f"pale{hue}" if unit else "idle"
            canvas.rect(at(span.first), y + 1, (span.last - span.first + 1) * scale, _ROW - 2, kind_class, title)
            if unit and busy:
                cells = ((at(c), scale, (_ROW - 2) * n / unit.multipliers) for c, n in busy)
                canvas.path(bars(cells, y + _ROW - 1), f"hue{hue}", title)
        return x + width

    def stairs(self, x: float, width: float, task: TaskTime) -> None:
        """The tasks that start during one of them, at full rate, each a line."""
        steps = range(0, task.last - task.first + 1, self.design.interval(task.function))
        height = min(_STAIRS / max(len(steps), 1), 7.0)
        top = _TOP - 26 - _STAIRS
        for k, cycle in enumerate(steps):
            length = (task.last - task.first + 1 - cycle) * self.scale
            left = x + cycle * self.scale
            self.canvas.rect(left, top + k * height, length, max(height - 1, 0.6), "hue0" if not k else "pale0")
        text = f"at full rate {len(steps)} {'task is' if len(steps) == 1 else 'tasks are'} in flight"
        self.canvas.rect(x, top, width, _STAIRS, "cover", text)

    def steady(self, x: float) -> None:
        """Of every unit the share of its multipliers in use, by cycle of the interval."""
        canvas, shares = self.canvas, steady_state(self.design)
        cell = min(max(260 / self.ii, 1.0), 26.0)
        width = max(cell * self.ii, 26.0)
        canvas.text(x, 84, "steady state", "strong")
        canvas.text(x, 100, "multipliers in use, by", "small faint")
        canvas.text(x, 114, f"cycle of the interval ({self.ii})", "small faint")
        self.frame(x, width)
        step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 10**6) if s * cell >= 22)
        for phase in range(0, self.ii, step):
            canvas.text(x + (phase + 0.5) * cell, _TOP - 9, str(phase), "small faint middle")
        for name, busy in shares.items():
            y = _TOP + (self.row[name] + 1) * _ROW - 1
            kind = self.kinds.get(self.units[name].submodules[0], "")
            hue = list(KINDS).index(kind) % HUES if kind in KINDS else 0
            cells = ((x + p * cell, cell, (_ROW - 2) * share) for p, share in enumerate(busy) if share)
            canvas.path(bars(cells, y), f"hue{hue}", f"{name}: {self.units[name].multipliers} multipliers")
            canvas.text(x + width + 8, y - 2, f"{sum(busy) / self.ii:.0%}", "small faint")
        schedule = self.design.plan.schedule
        total = sum(schedule.multipliers.values())
        canvas.text(x + width + 8, _TOP - 9, f"{schedule.utilization:.0%} of {total}", "small strong")
