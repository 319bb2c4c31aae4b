"""The timing chart of an engine: one task of every function on the lanes, and the words that its values take.

A row is a lane; marks say in which cycles it has a slot, and of which kind. The curve below shows how many words of the
banks the task's values take. At the right stands what share of a lane's cycles tasks take that follow each other.
"""

from __future__ import annotations

from collections import defaultdict

from rbdgen.compiler import Design
from rbdgen.machines.engine.program import Routine
from rbdgen.report.drawings.lane_times import KINDS, SPECIAL, calls, lane, slots, words_alive
from rbdgen.report.drawings.svg import SMALL, Canvas, bars, number, text_width

WIDTH = 1120
"""The chart is no wider, so that a page shows it without being scrolled."""
_LEFT = 16
_LABELS = 92
_SHARES = 56
_ROW = 14
_BAR = _ROW - 3
_CURVE = 44
"""Height of the curve of words."""
_GAP = 34
"""Between two functions."""
_WIDEST = 14.0
"""Most pixels of a cycle."""
_TICK = 60.0
"""Least pixels between two numbers of cycles."""
_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10**6)


def lane_chart(design: Design) -> str:
    """The chart as SVG."""
    return _Chart(design).draw()


class _Chart:
    def __init__(self, design: Design) -> None:
        self.design = design
        self.canvas = Canvas()
        self.lanes = design.engine.program.core.lanes

    def draw(self) -> str:
        design, canvas = self.design, self.canvas
        device = design.machine.device
        facts = [
            f"{self.lanes} lanes, a slot a cycle each",
            f"{device.name}, a cycle is {device.period:g} ns",
            "cycle 0 is that of the program's first word for a task",
            "the curve: words of all banks that a task's values take",
        ]
        canvas.text(_LEFT, 34, f"{design.robot.name}: timing", "head")
        bottom = canvas.paragraph(_LEFT, 56, facts, WIDTH - 2 * _LEFT, "faint")
        bottom = self.legend(bottom + 22)
        for routine in design.engine.program.routines.values():
            bottom = self.panel(bottom + _GAP, routine)
        return canvas.document(f"{design.robot.name}: timing chart", " · ".join(facts))

    def legend(self, y: float) -> float:
        """What colours mean."""
        x = float(_LEFT)
        for k, kind in enumerate((*KINDS, SPECIAL)):
            self.canvas.rect(x, y - 9, 10, 10, f"hue{k}")
            self.canvas.text(x + 15, y, kind, "small faint")
            x += 15 + text_width(kind, SMALL) + 16
        return y

    def panel(self, top: float, routine: Routine) -> float:
        """A function's task; the lower end."""
        canvas, schedule = self.canvas, routine.schedule
        room = WIDTH - 2 * _LEFT - _LABELS - _SHARES
        scale = min(room / schedule.end, _WIDEST)
        x, width = _LEFT + _LABELS, schedule.end * scale
        interval, stages = routine.interval, routine.stages
        tasks = "1 task" if stages == 1 else f"{stages} tasks"
        canvas.text(_LEFT, top, routine.function, "strong")
        said = f"{schedule.end} cycles, a task every {interval}: up to {tasks} at once"
        canvas.text(_LEFT + text_width(routine.function) + 12, top, said, "small faint")
        first = top + 28
        rows = self.lanes + 1
        curve = first + rows * _ROW + 6
        self.cycles(x, first, curve + _CURVE, scale, schedule.end)
        canvas.rect(x, first - 2, width, rows * _ROW + 3, "card")
        self.slots(x, first, scale, routine)
        self.curve(x, curve, scale, routine)
        return curve + _CURVE

    def cycles(
        self,
        x: float,
        first: float,
        bottom: float,
        scale: float,
        end: int,
    ) -> None:
        """Upright lines at round cycles, with their numbers."""
        step = next(s for s in _STEPS if s * scale >= _TICK)
        for cycle in range(0, end + 1, step):
            left = x + cycle * scale
            self.canvas.line([(left, first - 6), (left, bottom)], "line")
            self.canvas.text(left, first - 8, str(cycle), "small faint middle")

    def slots(
        self,
        x: float,
        first: float,
        scale: float,
        routine: Routine,
    ) -> None:
        """The slots of all lanes, and the special unit's calls."""
        canvas = self.canvas
        found: dict[tuple[int, str], list[int]] = defaultdict(list)
        for row, cycle, kind in slots(routine):
            found[row, kind].append(cycle)
        for row in range(self.lanes):
            base = first + row * _ROW + _BAR + 1
            canvas.text(x - 8, base - 2, lane(row), "small end")
            busy = 0
            for k, kind in enumerate(KINDS):
                own = sorted(found[row, kind])
                busy += len(own)
                cells = [(x + cycle * scale, scale, _BAR) for cycle in own]
                if cells:
                    canvas.path(bars(cells, base), f"hue{k}", f"{lane(row)}: {len(own)} {kind}")
            share = f"{busy / routine.interval:.0%}"
            canvas.text(x + routine.schedule.end * scale + 8, base - 2, share, "small faint")
        y = first + self.lanes * _ROW
        canvas.text(x - 8, y + _BAR - 1, SPECIAL, "small end")
        for begin, last, what in calls(routine):
            width = max((last - begin + 1) * scale - 1, 1)
            said = f"{what}: cycles {begin} to {last}"
            canvas.rect(x + begin * scale, y + 1, width, _BAR, f"hue{len(KINDS)}", said)

    def curve(
        self,
        x: float,
        top: float,
        scale: float,
        routine: Routine,
    ) -> None:
        """Words that values take, by cycle."""
        canvas = self.canvas
        alive = words_alive(routine)
        most = max(*alive, 1)
        base = top + _CURVE
        commands = f"M{number(x)} {number(base)}"
        for cycle, words in enumerate(alive):
            commands += f"V{number(base - _CURVE * words / most)}H{number(x + (cycle + 1) * scale)}"
        canvas.path(f"{commands}V{number(base)}z", "pale0", f"at most {most} words")
        canvas.line([(x, base), (x + len(alive) * scale, base)], "line")
        canvas.text(x - 8, top + 10, f"{most} words", "small faint end")
        canvas.text(x - 8, base, "0", "small faint end")
