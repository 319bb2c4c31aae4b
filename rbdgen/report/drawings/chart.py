"""The timing chart of a pipeline: one task of every function through the units, and their steady state, side by side.

A row is a unit. Bars say from when to when a task keeps it busy, columns on them how many of its multipliers start a
product in which cycle. Stairs above show the tasks that follow each other at full rate. Panels that do not fit beside
each other go on below, in a band of their own with the rows that they need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rbdgen.compiler import Design
from rbdgen.report.drawings.spans import Span, TaskTime
from rbdgen.report.drawings.structure import drawn_units, hue, submodule_kinds
from rbdgen.report.drawings.svg import SMALL, Canvas, bars, fitting, text_width
from rbdgen.report.drawings.unit_times import rows, steady_state, task_time

_ROW = 14
_BAR = _ROW - 2
"""Heights of a row, and of a bar in it."""
_LEFT = 16
_ABOVE = 94
"""From the baseline of a panel's title to its first row."""
_STAIRS = 56
"""Height of the stairs above the rows."""
_GAP = 28
_BAND_GAP = 44
_LABELS = 220.0
"""Most room for units' names."""
WIDTH = 1120
"""The chart is no wider, so that a page shows it without being scrolled."""
_CYCLE = 2.0, 14.0
"""Least and largest width of a cycle; a task that is longer than the chart is wide has narrower ones."""
_LEAST_PANEL = 64.0
_STEADY = 260.0, 26.0
"""Width of the steady state, and most that a cycle of it has."""
_SHARES = 80.0
"""Room for the shares at its right."""


_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 10**6)


def _round_step(least: float) -> int:
    """The first round number of at least that."""
    return next(step for step in _STEPS if step >= least)


def unit_chart(design: Design) -> str:
    """The chart as SVG."""
    return _Chart(design).draw()


@dataclass
class _Band:
    """Parts that stand side by side: tasks of functions, and perhaps the ``steady`` state."""

    tasks: list[TaskTime]
    steady: bool = False


class _Chart:
    def __init__(self, design: Design) -> None:
        self.design = design
        self.canvas = Canvas()
        self.ii = design.options.ii
        self.names: Sequence[str] = rows(design)
        self.units = {u.name: u for u in drawn_units(design)}
        self.kinds = submodule_kinds(design)
        longest = max(text_width(name, SMALL) for name in self.names)
        self.labels = min(_LABELS, longest + 12)
        self.tasks = [task_time(design, f) for f in design.network.functions]
        room, widest = _STEADY
        self.cell = min(max(room / self.ii, 1.0), widest)
        self.scale = self.cycle_width()
        self.row: dict[str, int] = {}
        self.title = 0.0

    def cycle_width(self) -> float:
        """So wide that all panels stand side by side, if cycles can be told apart then."""
        narrowest, widest = _CYCLE
        room = WIDTH - 2 * _LEFT - self.labels
        beside = room - len(self.tasks) * _GAP - self.steady_width()
        cycles = sum(task.cycles for task in self.tasks)
        longest = max(task.cycles for task in self.tasks)
        return min(max(beside / cycles, narrowest), widest, room / longest)

    def panel_width(self, task: TaskTime) -> float:
        """Width of a task's panel."""
        return max(task.cycles * self.scale, _LEAST_PANEL)

    def steady_width(self) -> float:
        """Width of the steady state with its shares."""
        return max(self.cell * self.ii, 26.0) + _SHARES

    def bands(self) -> list[_Band]:
        """The panels, as many side by side as there is room for."""
        room = WIDTH - 2 * _LEFT - self.labels
        bands = [_Band([])]
        used = 0.0
        for task in self.tasks:
            width = self.panel_width(task)
            # a panel that is wider than all room has a band to itself
            if used and used + width > room:
                bands.append(_Band([]))
                used = 0.0
            bands[-1].tasks.append(task)
            used += width + _GAP
        if used + self.steady_width() > room:
            bands.append(_Band([]))
        bands[-1].steady = True
        return bands

    def draw(self) -> str:
        design = self.design
        canvas = self.canvas
        device = design.machine.device
        every = "cycle" if self.ii == 1 else f"{self.ii} cycles"
        facts = [
            f"II {self.ii}: a task every {every}",
            f"{device.name}, a cycle is {device.period:g} ns",
            "cycles count from the one after a task's last beat was accepted",
            "bars: from first to last operation, columns: multipliers that start a product",
        ]
        canvas.text(_LEFT, 34, f"{design.robot.name}: timing", "head")
        bottom = canvas.paragraph(_LEFT, 56, facts, WIDTH - 2 * _LEFT, "faint")
        self.title = bottom + 28
        for band in self.bands():
            self.band(band)
            self.title = self.bottom + _BAND_GAP
        return canvas.document(f"{design.robot.name}: timing chart", " · ".join(facts))

    def band(self, band: _Band) -> None:
        """A band's rows with their names, and its panels."""
        needed = {span.row for task in band.tasks for span in task.spans}
        names = self.names if band.steady else [name for name in self.names if name in needed]
        self.row = {name: k for k, name in enumerate(names)}
        right = _LEFT + self.labels - 8
        for name in names:
            unit = self.units.get(name)
            title = f"{name}: {unit.multipliers} multipliers" if unit else ""
            label = fitting(name, self.labels - 8, SMALL)
            baseline = self.top(name) + 10
            self.canvas.text(right, baseline, label, "small end", title)
        x = _LEFT + self.labels
        for task in band.tasks:
            x = self.panel(x, task) + _GAP
        if band.steady:
            self.steady(x)

    def top(self, name: str) -> float:
        """The upper end of a row."""
        return self.first + self.row[name] * _ROW

    @property
    def first(self) -> float:
        """The upper end of the first row."""
        return self.title + _ABOVE

    @property
    def bottom(self) -> float:
        """The lower end of the last row."""
        return self.first + len(self.row) * _ROW

    def frame(self, x: float, width: float) -> None:
        """The background of a panel's rows."""
        height = self.bottom - self.first + 4
        self.canvas.rect(x, self.first - 2, width, height, "card")
        lines = ""
        for k in range(5, len(self.row), 5):
            y = self.first + k * _ROW
            lines += f"M{x:.2f} {y}h{width:.2f}"
        if lines:
            self.canvas.path(lines, "line")

    def panel(self, x: float, task: TaskTime) -> float:
        """One function's task; the right end of its panel."""
        canvas = self.canvas
        scale = self.scale
        width = self.panel_width(task)
        canvas.text(x, self.title, task.function, "strong")
        beside = x + text_width(task.function) + 12
        canvas.text(beside, self.title, f"{task.last + 1} cycles", "small faint")
        self.stairs(x, width, task)
        self.frame(x, width)

        self.scale_of_cycles(x, width, task)
        for span in task.spans:
            begin = x + (span.first - task.first) * scale
            self.bar(begin, span)
            self.columns(x, task, span)
        return x + width

    def scale_of_cycles(self, x: float, width: float, task: TaskTime) -> None:
        """Upright lines at round cycles, with their numbers."""
        canvas = self.canvas
        # so far apart that numbers do not touch
        step = _round_step(26 / self.scale)
        for cycle in range(0, task.last + 2, step):
            left = x + (cycle - task.first) * self.scale
            canvas.line([(left, self.first - 6), (left, self.bottom + 2)], "line")
            # a number at the right end would stand outside of the panel
            if left + 8 < x + width or cycle == 0:
                canvas.text(left, self.first - 9, str(cycle), "small faint middle")

    def bar(self, x: float, span: Span) -> None:
        """A span of a task: from its first to its last cycle."""
        unit = self.units.get(span.row)
        style = f"pale{hue(self.kinds.get(span.submodule, ''))}" if unit else "idle"
        cycles = span.last - span.first + 1
        width = cycles * self.scale
        top = self.top(span.row) + 1
        title = self.described(span)
        self.canvas.rect(x, top, width, _BAR, style, title)

    def columns(self, x: float, task: TaskTime, span: Span) -> None:
        """Numbers of a unit's multipliers that start a product in each cycle of a span."""
        unit = self.units.get(span.row)
        if unit is None or not unit.multipliers or not span.products:
            return
        cells = []
        for cycle, count in span.products:
            left = x + (cycle - task.first) * self.scale
            height = _BAR * count / unit.multipliers
            cells.append((left, self.scale, height))
        style = f"hue{hue(self.kinds.get(span.submodule, ''))}"
        base = self.top(span.row) + _ROW - 1
        columns = bars(cells, base)
        self.canvas.path(columns, style, self.described(span))

    def described(self, span: Span) -> str:
        """A span in words."""
        unit = self.units.get(span.row)
        own = span.submodule in ("", span.row)
        name = span.row if own else f"{span.row} for {span.submodule}"
        title = f"{name}: cycles {span.first} to {span.last}"
        if unit is not None and unit.multipliers and span.products:
            title += f", {sum(count for _, count in span.products)} multiplications"
        return title

    def stairs(self, x: float, width: float, task: TaskTime) -> None:
        """The tasks that start during one of them, at full rate, each a line."""
        interval = self.design.interval(task.function)
        steps = range(0, task.cycles, interval)
        height = min(_STAIRS / max(len(steps), 1), 7.0)
        thickness = max(height - 1, 0.6)
        top = self.first - 26 - _STAIRS
        for k, cycle in enumerate(steps):
            length = (task.cycles - cycle) * self.scale
            left = x + cycle * self.scale
            level = top + k * height
            style = "pale0" if k else "hue0"
            self.canvas.rect(left, level, length, thickness, style)
        are = "task is" if len(steps) == 1 else "tasks are"
        text = f"at full rate {len(steps)} {are} in flight"
        # over all stairs, which are too thin to be pointed at
        self.canvas.rect(x, top, width, _STAIRS, "cover", text)

    def steady(self, x: float) -> None:
        """Of every unit the share of its multipliers in use, by cycle of the interval."""
        canvas = self.canvas
        shares = steady_state(self.design)
        cell = self.cell
        width = self.steady_width() - _SHARES
        canvas.text(x, self.title, "steady state", "strong")
        canvas.text(x, self.title + 16, "multipliers in use, by", "small faint")
        canvas.text(x, self.title + 30, f"cycle of the interval ({self.ii})", "small faint")
        self.frame(x, width)
        step = _round_step(22 / cell)
        for phase in range(0, self.ii, step):
            middle = x + (phase + 0.5) * cell
            canvas.text(middle, self.first - 9, str(phase), "small faint middle")
        right = x + width + 8
        for name, busy in shares.items():
            unit = self.units[name]
            base = self.top(name) + _ROW - 1
            cells = []
            for phase, share in enumerate(busy):
                if share:
                    left = x + phase * cell
                    cells.append((left, cell, _BAR * share))
            style = f"hue{hue(self.kinds.get(unit.submodules[0], ''))}"
            canvas.path(bars(cells, base), style, f"{name}: {unit.multipliers} multipliers")
            canvas.text(right, base - 2, f"{sum(busy) / self.ii:.0%}", "small faint")
        schedule = self.design.plan.schedule
        total = sum(schedule.multipliers.values())
        text = f"{schedule.utilization:.0%} of {total}"
        canvas.text(right, self.first - 9, text, "small strong")
